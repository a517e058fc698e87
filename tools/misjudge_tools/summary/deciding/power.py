"""The section `power`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.power_values import PowerSection
from misjudge_tools.summary.judged import Judged


def power_section(of: Judged) -> PowerSection | NoData:
    """What an audit of this size can show, and how many pairs a wished precision takes."""
    return NoData(why="Nothing is counted yet.")

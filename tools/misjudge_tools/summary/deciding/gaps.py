"""The section `gaps`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.gaps_values import GapsSection
from misjudge_tools.summary.judged import Judged


def gaps_section(of: Judged) -> GapsSection | NoData:
    """Is the judge worse where the sides are near: near minus wide, for each gap."""
    return NoData(why="Nothing is counted yet.")

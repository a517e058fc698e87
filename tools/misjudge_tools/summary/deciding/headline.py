"""The section `headline`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.headline_values import HeadlineSection
from misjudge_tools.summary.judged import Judged


def headline_section(of: Judged) -> HeadlineSection | NoData:
    """The verdict in plain words, and the numbers that carry it."""
    return NoData(why="Nothing is counted yet.")

"""The section `three_way`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.three_way_values import ThreeWaySection
from misjudge_tools.summary.judged import Judged


def three_way_section(of: Judged) -> ThreeWaySection | NoData:
    """Satisfaction, success and human labels over time: where they disagree."""
    return NoData(why="Nothing is counted yet.")

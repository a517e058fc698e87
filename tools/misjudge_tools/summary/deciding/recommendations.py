"""The section `recommendations`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.recommendations_values import RecommendationsSection
from misjudge_tools.summary.judged import Judged


def recommendations_section(of: Judged) -> RecommendationsSection | NoData:
    """What to do, each with the numbers that say so."""
    return NoData(why="Nothing is counted yet.")

"""The section `bias`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.bias_values import BiasSection
from misjudge_tools.summary.judged import Judged


def bias_section(of: Judged) -> BiasSection | NoData:
    """What the judge likes that is not success: place, length, words, its own family, its own scores."""
    return NoData(why="Nothing is counted yet.")

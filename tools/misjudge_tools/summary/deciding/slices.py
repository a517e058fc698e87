"""The section `slices`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.slices_values import SlicesSection
from misjudge_tools.summary.judged import Judged


def slices_section(of: Judged) -> SlicesSection | NoData:
    """Where the judge is wrong: by category, turns, models, language."""
    return NoData(why="Nothing is counted yet.")

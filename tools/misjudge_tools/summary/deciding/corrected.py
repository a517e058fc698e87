"""The section `corrected`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.corrected_values import CorrectedSection
from misjudge_tools.summary.judged import Judged


def corrected_section(of: Judged) -> CorrectedSection | NoData:
    """What rests on a judge or a model's check, corrected by human labels."""
    return NoData(why="Nothing is counted yet.")

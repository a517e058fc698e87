"""The section `conflicts`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.conflicts_values import ConflictsSection
from misjudge_tools.summary.judged import Judged


def conflicts_section(of: Judged) -> ConflictsSection | NoData:
    """Pairs on which the judge and the evidence disagree, by their ids."""
    return NoData(why="Nothing is counted yet.")

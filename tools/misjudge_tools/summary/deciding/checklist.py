"""The section `checklist`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.checklist_values import ChecklistSection
from misjudge_tools.summary.judged import Judged


def checklist_section(of: Judged) -> ChecklistSection | NoData:
    """The eight points of a release, answered from what is stored."""
    return NoData(why="Nothing is counted yet.")

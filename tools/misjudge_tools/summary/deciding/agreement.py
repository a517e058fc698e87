"""The section `agreement`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.agreement_values import AgreementSection
from misjudge_tools.summary.judged import Judged


def agreement_section(of: Judged) -> AgreementSection | NoData:
    """How far judges and people agree beyond chance, and whether judges err together."""
    return NoData(why="Nothing is counted yet.")

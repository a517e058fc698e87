"""The section `drift`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.drift_values import DriftSection
from misjudge_tools.summary.judged import Judged


def drift_section(of: Judged) -> DriftSection | NoData:
    """What changed since a baseline audit, and what of it the judge did."""
    return NoData(why="Nothing is counted yet.")

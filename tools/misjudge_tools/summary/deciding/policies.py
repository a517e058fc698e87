"""The section `policies`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.policies_values import PoliciesSection
from misjudge_tools.summary.judged import Judged


def policies_section(of: Judged) -> PoliciesSection | NoData:
    """What it costs to trust the judge by this rule or that, and where it may be trusted."""
    return NoData(why="Nothing is counted yet.")

"""The section `cost`."""

from __future__ import annotations

from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.values import CostSection


def cost_section(of: Judged) -> CostSection | NoData:
    """What the audit cost."""
    return make.cost_section(of.uses)

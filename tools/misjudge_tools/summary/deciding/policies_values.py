"""What it costs to trust the judge by this rule or that, and where it may be trusted."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.stats.policies import Region
from misjudge_tools.stats.rates import Count, Rate, Share

Counted = Literal["pairs", "calls"]
MARGINS = "margin>="
"""How the name of a rule begins that goes by a lead in scores."""
ANY_MARGIN = f"{MARGINS}M"
"""The row that says why no margin was tried."""
Source = Literal["cascade run", "stored verdicts"]


class PolicyRow(Value):
    """One rule for when to take a verdict. `why`: its verdicts were not collected, and every other field is None.

    `misselection` is among what it decides, `coverage` the share that it decides of the `decidable` pairs it was tried
    on, over so many `tasks`; of `one_call` they count `calls`, since a call in random order is the mean of both orders.
    `margin` is a lead in scores, in points of its scale. `calls_per_pair` and the costs (USD) are of every pair,
    decided or not, reckoned from the mean cost of a call; `cost_per_right_pair` is that of the decidable ones for each
    of them that is decided and right. `source`: a cascade was run, or is worked out from what both judges said of all
    pairs.
    """

    policy: str
    margin: float | None = None
    source: Source | None = None
    counted: Counted = "pairs"
    decidable: Count | None = None
    coverage: Share | None = None
    misselection: Rate | None = None
    tasks: Count | None = None
    calls_per_pair: float | None = None
    cost_per_pair: float | None = None
    cost_per_right_pair: float | None = None
    why: str | None = None


class PoliciesSection(Value):
    """Rules that go by what production sees, never by gold or by the ability gap; and the trusted operating region.

    `one_call`: one call in random order; a tie and an unscored call decide nothing. `both_orders`: abstain when they
    disagree. `repeats`: abstain when an order is answered in two ways. `margin>=M`: both orders agree, and the lead in
    scores is at least M. `panel_majority`, `panel_unanimity`: what most or all judges say. `cascade`: this judge first,
    another judge or the panel where it is inconsistent, unscored or close. `why`: what is missing in every row, or
    of the region.
    """

    rows: tuple[PolicyRow, ...]
    region: Region | None
    why: dict[str, str] = Field(default_factory=dict)

"""What the counting of an audit gives: one named row a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from misjudge_storage.types import Form

PanelStatus = Literal["A", "B", "tie", "inconsistent", "split", "unscored"]
Favoured = Literal["A", "B", "tie", "unknown"]
LabellerKind = Literal["human", "label", "judge"]
"""Who labels: a person, a data set, or a judge by what its verdict on a pair decides."""
LengthBy = Literal["output_tokens", "transcript_characters"]
"""What the length of an episode is told by."""
BUCKET_CUTS: Mapping[str, str] = {
    "near": "up to 0.2",
    "small": "above 0.2 to 0.5",
    "medium": "above 0.5 to 1",
    "wide": "above 1",
}
"""Bucket of a gap of rewards or scores → what it holds."""


class Sums(NamedTuple):
    """Over the tasks with n > 0 observations, k of them counted: their number, Σk, Σn, Σk², Σk·n, Σn²."""

    clusters: int
    k: int
    n: int
    kk: int
    kn: int
    nn: int


class CrossSums(NamedTuple):
    """Over the tasks with observations of two kinds, k of n each: their number, Σk1·k2, Σk1·n2, Σn1·k2, Σn1·n2."""

    both: int
    kk: int
    kn: int
    nk: int
    nn: int


class Group(NamedTuple):
    """What is counted apart: a judge, a subset of tasks (None: tasks without one), and a bucket of a gap."""

    judge_id: str
    subset: str | None
    gap: str = ""
    bucket: str = ""


class GroupCounts(NamedTuple):
    """Pairs of a group by how they ended, and the sums of each measure by its name (see `MEASURES`).

    Gold says A or B of the `decidable` ones, tie of `gold_tie`, and nothing of `gold_unknown`.
    """

    pairs: int
    decidable: int
    gold_tie: int
    gold_unknown: int
    scored: int
    tie: int
    inconsistent: int
    unscored: int
    weak: int
    measures: Mapping[str, Sums]


class JudgeFacts(NamedTuple):
    """A judge of the audit, with its raw scale. `apart`: it applies rules, or may name no tie, so that it is no judge
    like the others.
    """

    judge_id: str
    label: str
    form: Form
    simulated: bool
    low: float | None
    high: float | None
    threshold: float | None
    better: str
    apart: bool = False


class ScoreCount(NamedTuple):
    """Trajectories with this mean satisfaction score by this judge, by success."""

    judge_id: str
    score: float
    failed: int
    succeeded: int


class SatisfactionSums(NamedTuple):
    """Failures by task: among all trajectories with score and outcome, and among the satisfied ones."""

    everyone: Sums
    satisfied: Sums


class AgentSatisfaction(NamedTuple):
    """Episodes of one agent with score and outcome that satisfied this judge, and how many of them failed."""

    judge_id: str
    agent: str
    satisfied: int
    satisfied_failed: int


class TrialCount(NamedTuple):
    """Tasks on which this agent had `trials` numbered trials, `successes` of them successful."""

    agent: str
    trials: int
    successes: int
    tasks: int


class Use(NamedTuple):
    """Calls of one role (and judge, where it is one's) with one source of prices: tokens, USD, calls that lack each."""

    role: str
    judge_id: str | None
    price_source: str | None
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    without_usage: int
    cost: float | None
    without_price: int


class StatedTokens(NamedTuple):
    """Episodes whose tokens the source states itself."""

    trajectories: int
    input_tokens: int | None
    output_tokens: int | None


class PairTotals(NamedTuple):
    """Pairs of the audit, whoever judged them, by what gold says of them."""

    pairs: int
    decidable: int
    gold_tie: int
    gold_unknown: int


class Provenance(NamedTuple):
    """Where the verdicts of a judge come from: asked for here, served from the cache, imported, or never asked for.

    The last are cells that ended before a call, such as at the end of a budget.
    """

    judge_id: str
    asked: int
    cached: int
    imported: int
    unasked: int


class UnfinishedRun(NamedTuple):
    """A run that ended before its plan was done: `done` of `total` cells are stored."""

    run_id: str
    state: str
    reason: str | None
    done: int
    total: int


class Ballot(NamedTuple):
    """What the judges of a panel say of one pair: how many of them each of the reduced verdicts.

    `lead` is the side that has the higher mean score over all of them, `unknown` where one gave no scores.
    """

    a: int
    b: int
    tie: int
    inconsistent: int
    unscored: int
    lead: Favoured = "unknown"


class PanelSize(NamedTuple):
    """Pairs that the whole panel judged, and the decidable ones among them."""

    pairs: int
    decidable: int


class Outcomes(NamedTuple):
    """Pairs by how they ended for a panel or a judge; `wrong` among the decidable ones that were decided, by task."""

    decided: int
    tie: int
    inconsistent: int
    split: int
    unscored: int
    wrong: Sums

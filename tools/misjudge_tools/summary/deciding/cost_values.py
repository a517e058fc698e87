"""What an audit cost, as values. Amounts are in USD; None is not known, never 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.types import Value


class StageCost(Value):
    """The calls of one role. `failed_calls` and `retries` are among the `calls`; `cached` replies are not, and cost
    nothing. `simulated_calls` of them asked no model.

    `cost` sums what has a price, by `price_basis`: whose price it is, a list price with the version of the list, or
    `imported` where the source states the cost. `cost_per_call` is over the calls that have one. `includes_retries`:
    each attempt is a call here, so that what a retry cost is in `cost`; None where the source states only costs.
    """

    stage: str
    calls: int
    failed_calls: int
    retries: int
    cached: int
    simulated_calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    cost_per_call: float | None
    price_basis: tuple[str, ...]
    calls_without_price: int
    calls_without_usage: int
    includes_retries: bool | None


class DearSession(Value):
    """What one judge was asked about one pair or trajectory, and what that cost."""

    of: Literal["pair", "trajectory"]
    id: str
    judge: str
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float


class Compared(Value):
    """A bill against what was reckoned here: `difference` = billed − estimated, `ratio` = billed / estimated.

    Of the calls here `calls_without_price` are not in `estimated`: with any, that is a lower bound, and the other two
    are upper ones.
    """

    billed: float | None
    estimated: float | None
    difference: float | None
    ratio: float | None
    calls_without_price: int = 0


class ModelBill(Compared):
    """One model. `calls` are those made here, `billed_calls` those of the bill where it states them."""

    model: str
    calls: int | None
    billed_calls: int | None
    only_in: Literal["bill", "audit"] | None


class Reconciliation(Value):
    """A provider's bill against the costs here, by model, the dearest of the bill first.

    `matched` adds up the models that are in both, `total` all. A bill may hold what other work cost; the days say of
    which time the bill and the calls are. `rows_left_out` of the bill's rows name no model or no cost.
    """

    models: tuple[ModelBill, ...]
    matched: Compared
    total: Compared
    rows: int
    rows_left_out: int
    bill_first_day: str | None
    bill_last_day: str | None
    calls_first_day: str | None
    calls_last_day: str | None


class CostSection(Value):
    """USD by role; None where no call of the role has a price, never 0 for an unknown one.

    `total_cost` sums what is known of all stages; `complete`: it leaves out no call of a model that replied. `tokens`
    sums those of all stages, in and out, as far as calls state them. `tokens_per_task` and `cost_per_task` are for each
    of the `tasks` of the audit. `judge_share` is `judge_cost` / `total_cost`. `cost_per_success` is `total_cost`,
    `rollout_cost_per_success` what agents and simulated users cost, for each of the `succeeded` trajectories.
    `cost_per_correct_selection` is what the judge of pairs cost for each of the decidable pairs that it got `right`:
    all its calls on pairs count, also those on pairs without gold. `at_least` names the costs that leave out calls
    without a price. `why` says why some of these are None.
    """

    by_role: dict[str, float | None]
    calls_without_price: dict[str, int]
    price_sources: dict[str, tuple[str, ...]]
    agent_cost: float | None = None
    user_sim_cost: float | None = None
    judge_cost: float | None = None
    total_cost: float | None = None
    complete: bool = False
    tasks: int | None = None
    tokens: int | None = None
    tokens_per_task: float | None = None
    cost_per_task: float | None = None
    judge_share: float | None = None
    succeeded: int | None = None
    cost_per_success: float | None = None
    rollout_cost_per_success: float | None = None
    right: int | None = None
    cost_per_correct_selection: float | None = None
    at_least: tuple[str, ...] = ()
    stages: tuple[StageCost, ...] = ()
    dearest: tuple[DearSession, ...] = ()
    reconciliation: Reconciliation | None = None
    why: dict[str, str] = Field(default_factory=dict)

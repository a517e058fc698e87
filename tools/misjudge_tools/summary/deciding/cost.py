"""The section `cost`: what an audit cost, by stage and for what came of it; and whether a bill says so too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar, get_args

from misjudge_storage.cost_counts import MOST_SESSIONS, CallGroup, Session, known_sum
from misjudge_storage.types import Role
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.cost_values import CostSection, DearSession, Reconciliation, StageCost
from misjudge_tools.summary.deciding.reconciling import reconciled
from misjudge_tools.summary.judged import Judged

IMPORTED = "imported"
"""The source of a price where a file states a cost, of one call or of several."""
NO_CALL = NoData(why="No call is logged.")
NO_ROLLOUT = NoData(why="No call of an agent or a simulated user has a known cost.")
NO_OUTCOME = NoData(why="Of no episode is it known whether it did its task.")
NO_SUCCESS = NoData(why="No episode did its task.")
NO_RIGHT = NoData(why="No decidable pair was decided rightly.")
NO_JUDGE_PRICE = NoData(why="No call of this judge of pairs has a known cost.")
NO_PAIRS = NoData(why="This judge judged no pair.")
SEVERAL = NoData(why="It is of one judge: see each under judges, or choose one with judge=LABEL.")
WHOLE_AUDIT = NoData(why="Agents, simulated users and a bill are those of the audit: see its summary of all judges.")
NOT_DEAR = NoData(why="No judge's call on a pair or trajectory has a known cost above 0.")

PER_RIGHT = "cost_per_correct_selection"
LEFT_OUT: Mapping[str, Collection[str]] = {
    "judge_cost": {"judge"},
    "total_cost": get_args(Role),
    "cost_per_task": get_args(Role),
    "cost_per_success": get_args(Role),
    "rollout_cost_per_success": {"agent", "user_sim"},
    PER_RIGHT: {"judge"},
}
"""Cost → the roles whose calls it adds up."""

T = TypeVar("T")


class _Costs(NamedTuple):
    """Whose calls, the cost of each stage by its role, their sum, and stages that replied at no known cost."""

    of: Judged
    groups: Sequence[CallGroup]
    by_stage: Mapping[str, float | None]
    total: float | None
    unknown: Sequence[str]


def cost_section(of: Judged) -> CostSection | NoData:
    """What the audit, or the calls of its judge, cost. Prices are those stored with each call."""
    groups = [group for group in of.counts.calls if of.owns(group.judge_id)]
    if not any(group.calls for group in groups):
        cached = sum(group.cached for group in groups)
        return NoData(why=f"No call was made: the cache held all {cached} replies.") if cached else NO_CALL
    stages = _stages(groups)
    total = known_sum(stage.cost for stage in stages)
    tokens = known_sum(number for stage in stages for number in (stage.input_tokens, stage.output_tokens))
    tasks = of.counts.tasks
    costs = _Costs(
        of, groups, {stage.stage: stage.cost for stage in stages}, total, [one.stage for one in stages if _unknown(one)]
    )
    why: dict[str, str] = {}
    found = CostSection(
        by_role={stage.stage: stage.cost for stage in stages if stage.calls},
        calls_without_price={stage.stage: stage.calls_without_price for stage in stages if stage.calls},
        price_sources={stage.stage: stage.price_basis for stage in stages if stage.calls},
        agent_cost=costs.by_stage.get("agent"),
        user_sim_cost=costs.by_stage.get("user_sim"),
        judge_cost=costs.by_stage.get("judge"),
        total_cost=total,
        complete=not any(group.without_price for group in groups if not group.simulated),
        tasks=tasks,
        tokens=tokens,
        tokens_per_task=None if tokens is None or not tasks else tokens / tasks,
        cost_per_task=None if total is None or not tasks else total / tasks,
        judge_share=_known(why, "judge_share", _judge_share(costs)),
        succeeded=_succeeded(of),
        cost_per_success=_known(why, "cost_per_success", _per_success(costs, _all_known(costs))),
        rollout_cost_per_success=_known(why, "rollout_cost_per_success", _per_success(costs, _rollout(costs))),
        right=_right(of),
        cost_per_correct_selection=_known(why, PER_RIGHT, _per_right(costs)),
        stages=stages,
        dearest=_known(why, "dearest", _dearest(of)) or (),
        reconciliation=_known(why, "reconciliation", _reconciliation(costs)),
        why=why,
    )
    bounds = [name for name in LEFT_OUT if getattr(found, name) is not None and _leaves_out(costs, name)]
    return found.model_copy(update={"at_least": tuple(bounds)})


def _known(why: dict[str, str], name: str, found: T | NoData) -> T | None:
    """What was found, None where it is not, which `why` then says."""
    if isinstance(found, NoData):
        why[name] = found.why
        return None
    return found


def _stages(groups: Sequence[CallGroup]) -> tuple[StageCost, ...]:
    """In the order of the roles."""
    by_role = {role: [group for group in groups if group.role == role] for role in get_args(Role)}
    return tuple(_stage(role, found) for role, found in by_role.items() if found)


def _stage(role: str, groups: Sequence[CallGroup]) -> StageCost:
    cost, priced = known_sum(group.cost for group in groups), sum(group.priced for group in groups)
    sources = {group.price_source for group in groups if group.calls and group.price_source is not None}
    return StageCost(
        stage=role,
        calls=sum(group.calls for group in groups),
        failed_calls=sum(group.failed for group in groups),
        retries=sum(group.retries for group in groups),
        cached=sum(group.cached for group in groups),
        simulated_calls=sum(group.calls for group in groups if group.simulated),
        input_tokens=known_sum(group.input_tokens for group in groups),
        output_tokens=known_sum(group.output_tokens for group in groups),
        cost=cost,
        cost_per_call=None if cost is None else cost / priced,
        price_basis=tuple(sorted(sources)),
        calls_without_price=sum(group.without_price for group in groups),
        calls_without_usage=sum(group.without_usage for group in groups),
        includes_retries=None if IMPORTED in sources else True,
    )


def _unknown(stage: StageCost) -> bool:
    """Whether models replied and no price of a call is known."""
    return stage.cost is None and stage.calls > stage.failed_calls + stage.simulated_calls


def _all_known(costs: _Costs) -> float | NoData:
    """The cost of all stages, each of which is known at least in part."""
    if costs.unknown or costs.total is None:
        named = ", ".join(costs.unknown) or "any stage"
        return NoData(why=f"The cost of {named} is not known. State the price of its model in misjudge.toml.")
    return costs.total


def _rollout(costs: _Costs) -> float | NoData:
    cost = known_sum(costs.by_stage.get(role) for role in ("agent", "user_sim"))
    return NO_ROLLOUT if cost is None else cost


def _judge_share(costs: _Costs) -> float | NoData:
    whole = _all_known(costs)
    if not costs.of.alone:
        return WHOLE_AUDIT
    if isinstance(whole, NoData):
        return whole
    if not whole:
        return NoData(why="Nothing was paid.")
    return (costs.by_stage.get("judge") or 0.0) / whole


def _succeeded(of: Judged) -> int | None:
    """Trajectories of the audit that did their task, None where that is known of none, or not said of this judge."""
    known = sum(agent.success.n for agent in of.counts.agents) if of.alone else 0
    return sum(agent.success.k for agent in of.counts.agents) if known else None


def _per_success(costs: _Costs, cost: float | NoData) -> float | NoData:
    if not costs.of.alone:
        return WHOLE_AUDIT
    succeeded = _succeeded(costs.of)
    if not succeeded:
        return NO_OUTCOME if succeeded is None else NO_SUCCESS
    return cost if isinstance(cost, NoData) else cost / succeeded


def _right(of: Judged) -> int | None:
    """Decidable pairs that the judge decided rightly."""
    if of.group is None:
        return None
    decided = of.group.measures["wrong_pairs"]
    return decided.n - decided.k


def _per_right(costs: _Costs) -> float | NoData:
    """Over all calls of the judge on pairs, whether gold is known of them or not."""
    of, right = costs.of, _right(costs.of)
    if of.paired is None or right is None:
        return SEVERAL if of.entry is None and of.counts.judges else NO_PAIRS
    if not right:
        return NO_RIGHT
    own: Collection[str | None] = {of.paired.judge_id, None}
    cost = known_sum(group.cost for group in costs.groups if group.role == "judge" and group.judge_id in own)
    return NO_JUDGE_PRICE if cost is None else cost / right


def _leaves_out(costs: _Costs, name: str) -> bool:
    """Whether calls that belong to this cost have no known price."""
    roles = LEFT_OUT[name]
    own = {costs.of.paired.judge_id, None} if name == PER_RIGHT and costs.of.paired else None
    return any(
        group.without_price
        for group in costs.groups
        if not group.simulated and group.role in roles and (own is None or group.judge_id in own)
    )


def _dearest(of: Judged) -> tuple[DearSession, ...] | NoData:
    labels = {judge.judge_id: judge.label for judge in of.counts.judges}
    mine = [session for session in of.counts.dearest if session.cost and of.owns(session.judge_id)][:MOST_SESSIONS]
    return tuple(_dear(session, labels) for session in mine) or NOT_DEAR


def _dear(session: Session, labels: Mapping[str, str]) -> DearSession:
    return DearSession(
        of="trajectory" if session.pair_id is None else "pair",
        id=session.pair_id or session.trajectory_id or "",
        judge=labels.get(session.judge_id or "", session.model),
        calls=session.calls,
        input_tokens=session.input_tokens,
        output_tokens=session.output_tokens,
        cost=session.cost,
    )


def _reconciliation(costs: _Costs) -> Reconciliation | NoData | None:
    """None where there is no bill."""
    of = costs.of
    if of.counts.bill is None:
        return None
    return reconciled(of.counts.bill, costs.groups) if of.alone and not of.beside else WHOLE_AUDIT

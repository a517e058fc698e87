"""`run_pair`: agents on tasks, checked by hard evidence and judged blind; run live on a suite, or recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import ValidationError

from misjudge_storage.errors import InvalidInput
from misjudge_storage.rows import audit_id, judge_fingerprint
from misjudge_storage.types import AskedForm, Check, Episode, Message, PairKey, Record, Task, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.rules import RULES, Rule
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.verifiers import Evidence, Outside, verify
from misjudge_tools.gateway.ways import asked_at
from misjudge_tools.judge import given_messages, refuse_same
from misjudge_tools.judging.choice import judge_of
from misjudge_tools.judging.prompt_warnings import prompt_warnings, user_warnings
from misjudge_tools.requests import RunPairRequest
from misjudge_tools.results import PairOutcome, RunPairResult, RunReport, SideOutcome
from misjudge_tools.runs import planning
from misjudge_tools.runs import report as runs
from misjudge_tools.runs.judges import asked_cascade, asked_judges, asked_orders
from misjudge_tools.runs.live_plan import live_plan
from misjudge_tools.runs.outcomes import SHOWN_OF_CHECKS, agent_outcomes, pair_outcome
from misjudge_tools.runs.plan import pair_cells
from misjudge_tools.runs.planning import Plan
from misjudge_tools.runs.reply_warnings import reply_warnings
from misjudge_tools.runs.rollout_plan import Cast, pair_id
from misjudge_tools.runs.spec import RunSpec, run_marks
from misjudge_tools.summary.kinship import asked_now, shared_warnings, stated_families
from misjudge_tools.summary.values import AgentOutcome

OPERATION = "run_pair"
LIVE_ONLY = ("suite", "agents", "tasks", "pairings", "trials", "user", "seed", "signals", "stop")
RECORDED_ONLY = (
    *("task_prompt", "success_criteria", "hard_constraints", "category", "trial", "checks"),
    *("success_a", "success_b", "success_source"),
)


class Compared(NamedTuple):
    """A planned comparison: its agents, its pairs and the seed of its audit."""

    plan: Plan
    agents: tuple[str, ...]
    pair_ids: tuple[str, ...]
    seed: int = 0


async def run_pair(request: RunPairRequest, deps: Deps) -> RunPairResult:
    """Run agents on tasks of a suite (or take two recorded trajectories), check who did the job, ask the judge in both
    orders.

    Raises InvalidInput, MissingKey, NotFound or Conflict before anything is asked.
    """
    compared = await compare(request, deps)
    return await (planned if request.dry_run else conduct)(request, deps, compared)


async def planned(request: RunPairRequest, deps: Deps, compared: Compared) -> RunPairResult:
    """What carrying it out asks of whom. Raises InvalidInput for a limit that cannot be kept."""
    run = await asyncio.to_thread(planning.planned_report, deps, OPERATION, request, compared.plan)
    return _result(deps, compared, run).model_copy(update={"pair": _given_pair(compared.plan)})


def _given_pair(plan: Plan) -> PairOutcome | None:
    """The pair that the request itself holds, with its checks and before any verdict."""
    given = next((record for record in plan.records if record.pair is not None), None)
    if given is None:
        return None
    a, b = (_given_side(episode) for episode in given.episodes)
    return PairOutcome(row=None, a=a, b=b)


def _given_side(episode: Episode) -> SideOutcome:
    outcome = next((check for check in episode.checks if check.scope == "outcome"), None)
    shown = tuple(check.model_dump(include=set(SHOWN_OF_CHECKS)) for check in episode.checks)
    return SideOutcome(
        agent=episode.trajectory.agent, end_reason=None, success=outcome.passed if outcome else None, checks=shown
    )


async def conduct(request: RunPairRequest, deps: Deps, compared: Compared) -> RunPairResult:
    """Store the plan and carry it out. Raises InvalidInput or Conflict before anything is asked."""
    stored = await asyncio.to_thread(planning.store_plan, deps, OPERATION, request, compared.plan, compared.seed)
    run = await runs.carry_out(deps, stored.run_id, request.wait_s)
    return await asyncio.to_thread(_stored_result, deps, compared, run)


async def compare(request: RunPairRequest, deps: Deps) -> Compared:
    """What the request asks for, checked as a whole. Asks nobody and stores nothing. Raises as `run_pair`."""
    if request.trajectory_a is None and request.trajectory_b is None:
        _refuse(request, RECORDED_ONLY, "belongs to recorded trajectories: give trajectory_a and trajectory_b")
        live = await asyncio.to_thread(live_plan, request, deps)
        pair_ids = tuple(str(row["pair_id"]) for row in live.plan.pairs)
        return Compared(live.plan, live.agents, pair_ids, live.seed)
    _refuse(request, LIVE_ONLY, "belongs to live agents: leave it out, or leave the trajectories out")
    return await _recorded(request, deps)


def _refuse(request: RunPairRequest, names: Sequence[str], why: str) -> None:
    """Raises InvalidInput for an argument that the other kind of comparison takes: ignored, it would mislead."""
    for name in names:
        if getattr(request, name) != RunPairRequest.model_fields[name].get_default():
            raise InvalidInput(f"{name} {why}.")


async def _recorded(request: RunPairRequest, deps: Deps) -> Compared:
    judges, cascade = asked_judges(request, "pairwise", deps), asked_cascade(request, "pairwise")
    record = await pair_record(request)
    assert record.pair is not None and record.pair.pair_id is not None
    identity, audit = record.pair.pair_id, audit_id(request.audit)
    with deps.store.read() as connection:
        orders = asked_orders(request, 0, [identity], connection, audit)
    judge_ids = [judge_fingerprint(judge_of(judge)) for judge in judges]
    cells = list(pair_cells(audit, judge_ids, [identity], request.repeats, orders))
    agents = tuple(episode.trajectory.agent for episode in record.episodes)
    spec = RunSpec(judges=judges, cascade=cascade, orders=request.orders)
    plan = planning.in_cascade(deps.store, request.audit, Plan(spec, cells, (record,)))
    return Compared(plan, agents, (identity,))


async def pair_record(request: RunPairRequest) -> Record:
    """Two recorded trajectories as a record: side A is agent_a. Raises InvalidInput."""
    sides = (request.trajectory_a, request.trajectory_b)
    task_id, prompt, agent_a, agent_b = request.task_id, request.task_prompt, request.agent_a, request.agent_b
    if None in sides or task_id is None or prompt is None or agent_a is None or agent_b is None:
        raise InvalidInput(
            "Two recorded trajectories are compared with trajectory_a, trajectory_b, task_id, task_prompt, agent_a and "
            "agent_b together. To run agents live, leave the trajectories out and name agents."
        )
    if request.checks and (request.success_a is not None or request.success_b is not None):
        raise InvalidInput("Give either checks or the known success_a and success_b, not both.")
    a, b = (given_messages(side) for side in sides if side is not None)
    refuse_same(a, b)
    if agent_a == agent_b:
        raise InvalidInput("agent_a and agent_b have the same name. Name two agents, or two versions of one.")
    task = Task(
        task_id=task_id,
        prompt=prompt,
        success_criteria=request.success_criteria,
        hard_constraints=request.hard_constraints,
        category=request.category,
    )
    rules = _rules(request)
    known = ((agent_a, a, request.success_a), (agent_b, b, request.success_b))
    episodes = [await _episode(request, rules, agent, messages, success) for agent, messages, success in known]
    key = PairKey(pair_id=pair_id(task_id, request.trial, agent_a, agent_b), trial=request.trial)
    return Record(line=1, task=task, episodes=tuple(episodes), pair=key)


def _rules(request: RunPairRequest) -> tuple[Rule, ...]:
    """The checks of the request. Raises InvalidInput."""
    try:
        return RULES.validate_python(request.checks)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        number, *place = [str(part) for part in problem["loc"]]
        raise InvalidInput(
            f"Check {int(number) + 1} cannot be used ({'.'.join(place) or 'kind'}: {problem['msg']}). A check is as "
            "{kind: contains, value: TEXT}; docs/suites.md has every kind."
        ) from None


async def _episode(
    request: RunPairRequest, rules: Sequence[Rule], agent: str, messages: Sequence[Message], success: bool | None
) -> Episode:
    assert request.task_id is not None
    trajectory = Trajectory(task_id=request.task_id, agent=agent, trial=request.trial, messages=tuple(messages))
    checks: tuple[Check, ...] = ()
    if success is not None:
        checks = (Check(verifier="given", source=request.success_source, passed=success),)
    elif rules:
        checks = await verify(rules, "all", Evidence(trajectory.messages or (), None, None, None), Outside(Allowed()))
    return Episode(trajectory=trajectory, checks=checks)


def _stored_result(deps: Deps, compared: Compared, run: RunReport) -> RunPairResult:
    audit = audit_id(run.audit)
    judges: dict[AskedForm, str] = {}
    for judge in compared.plan.spec.judges:  # the first one of each form
        judges.setdefault(judge.form, judge_fingerprint(judge_of(judge)))
    pair = None
    agents: tuple[AgentOutcome, ...] = ()
    with deps.store.read() as connection:
        if len(compared.pair_ids) == 1:
            plan = compared.plan
            cell_ids = [cell.cell_id for cell in (*plan.cells, *plan.possible) if cell.pair_id is not None]
            pair = pair_outcome(connection, run.audit, audit, compared.pair_ids[0], judges["pairwise"], cell_ids)
        if pair is None:
            agents = agent_outcomes(connection, audit, compared.agents, judges)
    return _result(deps, compared, run).model_copy(update={"pair": pair, "agents": agents})


def _result(deps: Deps, compared: Compared, run: RunReport) -> RunPairResult:
    marked = run_marks(compared.plan.spec)
    return RunPairResult(
        simulated=marked is not None,
        marked=marked,
        asked_at=_asked_at(deps, compared.plan),
        run=run,
        pairs=len(compared.pair_ids),
        warnings=(*reply_warnings(deps.store, run), *_warnings(deps, compared.plan)),
        next=f"summarize_audit(audit='{run.audit}')" if run.state == "done" else run.next,
    )


def _warnings(deps: Deps, plan: Plan) -> tuple[str, ...]:
    judges, user = plan.spec.judges, None if plan.cast is None else plan.cast.user
    asking = None if user is None else user.asking
    return (
        *prompt_warnings(judges),
        *(() if user is None else user_warnings(user.template)),
        *shared_warnings(asked_now(judges, None if asking is None else asking.choice), stated_families(deps.models)),
    )


def _asked_at(deps: Deps, plan: Plan) -> dict[str, str]:
    judge = {"judge": "; ".join(dict.fromkeys(asked_at(judge, deps.models) for judge in plan.spec.judges))}
    return judge if plan.cast is None else {**_cast_at(deps, plan.cast), **judge}


def _cast_at(deps: Deps, cast: Cast) -> dict[str, str]:
    asked = {f"agent {agent.name}": agent.asking for agent in cast.agents} | {"user_sim": cast.user.asking}
    return {
        name: "scripted or of your own, no model asked" if asking is None else asked_at(asking.choice, deps.models)
        for name, asking in asked.items()
    }

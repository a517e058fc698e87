"""The plan of a live comparison: agents on the tasks of a suite, their pairs, and who judges them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from misjudge_storage import judging_records
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.hashing import digest
from misjudge_storage.rows import Row, audit_id, judge_fingerprint
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import AskedForm, Record
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.casting import SCRIPTED_USER, CastAgent, Stage, cast_agents, cast_user
from misjudge_tools.episodes.naming import canonical_name, choose_agent
from misjudge_tools.episodes.settings import ChatAgent, RecordedAgent
from misjudge_tools.judging.choice import JudgingSpec, judge_of
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.requests import RunPairRequest
from misjudge_tools.runs.judges import asked_cascade, asked_judge, asked_judges, asked_orders
from misjudge_tools.runs.plan import OrdersOf, pair_cells, trajectory_cells
from misjudge_tools.runs.planning import Plan, in_cascade, in_stop
from misjudge_tools.runs.recorded import recorded_records, sides_of
from misjudge_tools.runs.rollout_plan import (
    Bucket,
    Cast,
    Pairing,
    Side,
    declared,
    pair_rows,
    rollout_cells,
    rollouts_of,
)
from misjudge_tools.runs.rollout_session import as_stored
from misjudge_tools.runs.spec import AgentSpec, RolloutSpec, RunSpec
from misjudge_tools.runs.stop_plan import asked_stop
from misjudge_tools.suites.loading import Suite, load_suite, tasks_in
from misjudge_tools.suites.model import SuiteTask
from misjudge_tools.suites.sentences import nearest

DEFAULT_SUITE = "support_desk"
SHOWN = 8
"""Names that an error lists."""


class LivePlan(NamedTuple):
    """A plan with what its answer needs: the names of its agents, and the seed of its audit."""

    plan: Plan
    agents: tuple[str, ...]
    seed: int


def live_plan(request: RunPairRequest, deps: Deps) -> LivePlan:
    """What a request of live agents asks for. Reads suite, recordings and store; asks nobody.

    Raises InvalidInput, MissingKey or NotFound.
    """
    judges = _judges(request, deps)
    names = _names(request)
    chosen = {name: choose_agent(name, deps.episodes, deps.models) for name in names}
    recordings = {name: agent for name, agent in chosen.items() if isinstance(agent, RecordedAgent)}
    live = [name for name in names if name not in recordings]
    seed = _seed(request, deps)
    recorded = recorded_records(recordings, deps.roots)
    if live or request.suite is not None:
        cast = _cast(request, deps, live, seed)
        records = _of_suite(cast, recorded)
    else:
        cast = None
        if request.user is not None or request.trials > 1:
            raise InvalidInput("All of these agents are recorded, and nothing is run anew: leave out user and trials.")
        records = _only_tasks(recorded, _wanted(request))
    pairings = _pairings(request, names, {} if cast is None else {agent.name: agent for agent in cast.agents})
    return LivePlan(_assembled(request, deps, judges, pairings, cast, records, seed), tuple(names), seed)


def _judges(request: RunPairRequest, deps: Deps) -> tuple[JudgingSpec, ...]:
    """The judge and the panel of the pairs, and the judge alone of each trajectory."""
    scored = (asked_judge(_shipped(request), form, deps) for form in dict.fromkeys(request.signals))
    return (*asked_judges(request, "pairwise", deps), *scored)


def _shipped(request: RunPairRequest) -> RunPairRequest:
    """The request with the shipped prompt: an own one of pairs cannot score a single trajectory."""
    return request.model_copy(update={"prompt": None})


def _names(request: RunPairRequest) -> list[str]:
    two = [name for name in (request.agent_a, request.agent_b) if name is not None]
    if request.agents and two:
        raise InvalidInput("Name the agents either as agents or as agent_a and agent_b, not both.")
    given = request.agents or two
    names = [canonical_name(name) for name in given]
    if len(names) < 2:
        raise InvalidInput(
            "Name two agents or more: agents=[…] (--agents a,b), as models, profiles, agents of misjudge.toml, or "
            "scripted ones such as diligent and flaky:0.9."
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"Agent {twice[0]!r} is named twice, and an agent is not compared with itself.")
    return names


def _seed(request: RunPairRequest, deps: Deps) -> int:
    """The seed of the stored audit, else that of the request."""
    try:
        with deps.store.read() as connection:
            stored = judging_records.read_audit(connection, request.audit).seed
    except NotFound:
        return request.seed or 0
    if request.seed is not None and request.seed != stored:
        raise InvalidInput(
            f"Audit {request.audit!r} has the seed {stored}, so seed={request.seed} would mix two random orders. "
            "Leave the seed out, or use another audit name."
        )
    return stored


def _cast(request: RunPairRequest, deps: Deps, live: Sequence[str], seed: int) -> Cast:
    suite = load_suite(request.suite or DEFAULT_SUITE, deps.episodes.allowed, deps.roots)
    stage = Stage(suite, request.language, seed)
    to_ask = not request.dry_run
    asking = any(isinstance(choose_agent(name, deps.episodes, deps.models), ChatAgent) for name in live)
    # Where no agent asks a model, no customer should either, unless one is asked for.
    named = request.user or (None if asking else SCRIPTED_USER)
    user = cast_user(named, request.language, deps.models, to_ask=to_ask)
    agents = cast_agents(live, stage, user, deps.episodes, deps.models, to_ask=to_ask)
    return Cast(stage, _in_random_order(seed, _chosen_tasks(request, suite)), agents, user, request.trials)


def _wanted(request: RunPairRequest) -> list[str] | None:
    """The ids of the tasks that are asked for, None for all. Raises InvalidInput."""
    if request.tasks is not None and request.task_id is not None:
        raise InvalidInput("Name the tasks either as tasks or as task_id, not both.")
    return [request.task_id] if request.task_id is not None else request.tasks


def _chosen_tasks(request: RunPairRequest, suite: Suite) -> tuple[SuiteTask, ...]:
    tasks = tasks_in(suite, request.language)
    wanted = _wanted(request)
    if wanted is None:
        return tasks
    by_id = {task.task_id: task for task in tasks}
    for task_id in wanted:
        if task_id not in by_id:
            raise InvalidInput(
                f"The suite {suite.name} has no task {task_id[:100]!r} in {request.language}. "
                f"It has: {_listed(by_id)}.{nearest(task_id, by_id)}"
            )
    return tuple(by_id[task_id] for task_id in dict.fromkeys(wanted))


def _listed(names: Iterable[str]) -> str:
    known = sorted(names)
    return ", ".join(known[:SHOWN]) + (f" and {len(known) - SHOWN} more" if len(known) > SHOWN else "")


def _in_random_order(seed: int, tasks: Sequence[SuiteTask]) -> tuple[SuiteTask, ...]:
    """As `plan.in_random_order`: the first part of a plan is a sample of its tasks."""
    return tuple(sorted(tasks, key=lambda task: digest("order", [seed, task.task_id])))


def _of_suite(cast: Cast, recorded: Sequence[Record]) -> list[Record]:
    """The tasks, and the recordings of them under the suite's own words. Raises InvalidInput for one that is of another
    task.
    """
    tasks = {task.task_id: as_stored(task) for task in cast.tasks}
    records = [Record(line=number, task=task) for number, task in enumerate(tasks.values(), 1)]
    for record in recorded:
        task = tasks.get(_task_id(record))
        if task is None:
            continue
        stated = "" if record.task is None else record.task.prompt.strip()
        if stated not in {"", task.prompt.strip()}:
            raise InvalidInput(
                f"The recording of task {task.task_id[:100]!r} states another prompt than the suite "
                f"{cast.stage.suite.name}, so it is of another task. Leave the prompt out where it is the same one."
            )
        records.append(record.model_copy(update={"task": task}))
    return records


def _task_id(record: Record) -> str:
    return "" if record.task is None else record.task.task_id


def _only_tasks(records: Sequence[Record], wanted: Sequence[str] | None) -> list[Record]:
    """The records of these tasks. Raises InvalidInput for a task of which there is none."""
    there = {_task_id(record) for record in records}
    for task_id in wanted or ():
        if task_id not in there:
            raise InvalidInput(f"No recording is of task {task_id[:100]!r}. There are: {_listed(there)}.")
    return [record for record in records if wanted is None or _task_id(record) in set(wanted)]


def _pairings(request: RunPairRequest, names: Sequence[str], cast: Mapping[str, CastAgent]) -> tuple[Pairing, ...]:
    if request.pairings is None:
        return tuple(Pairing(a, b, _known(a, b, cast)) for a, b in combinations(names, 2))
    pairings = [_pairing(text, names, cast) for text in request.pairings]
    if len({frozenset(pairing[:2]) for pairing in pairings}) < len(pairings):
        raise InvalidInput("Two pairings compare the same agents. Name each two agents once.")
    alone = sorted(set(names) - {name for pairing in pairings for name in pairing[:2]})
    if alone:
        raise InvalidInput(
            f"Agent {alone[0]!r} is in no pairing, so nothing would come of it. Pair it, or leave it out."
        )
    return tuple(pairings)


def _pairing(text: str, names: Sequence[str], cast: Mapping[str, CastAgent]) -> Pairing:
    """`a|b`, `a|b=near` or `a|b=wide`. Raises InvalidInput."""
    both, _, bucket = text.rpartition("=") if text.endswith(("=near", "=wide")) else (text, "", "")
    a, bar, b = both.partition("|")
    a, b = a.strip(), b.strip()
    for name in (a, b):
        if not bar or canonical_name(name) not in names:
            raise InvalidInput(
                f"Pairing {text[:100]!r} cannot be read: write agent|agent, agent|agent=near or agent|agent=wide, with "
                f"agents of this run ({', '.join(names)})."
            )
    a, b = canonical_name(a), canonical_name(b)
    if a == b:
        raise InvalidInput(f"Pairing {text[:100]!r} compares an agent with itself.")
    stated: Bucket | None = "near" if bucket == "near" else "wide" if bucket == "wide" else None
    return Pairing(a, b, stated or _known(a, b, cast))


def _known(a: str, b: str, cast: Mapping[str, CastAgent]) -> Bucket | None:
    return declared(cast[a], cast[b]) if a in cast and b in cast else None


def _assembled(
    request: RunPairRequest,
    deps: Deps,
    judges: tuple[JudgingSpec, ...],
    pairings: Sequence[Pairing],
    cast: Cast | None,
    records: Sequence[Record],
    seed: int,
) -> Plan:
    audit = audit_id(request.audit)
    made_here = {} if cast is None else rollouts_of(cast, audit)
    sides = sides_of(audit, records)
    sides += [
        Side(one.task.task_id, one.trial, one.agent.name, trajectory_id) for trajectory_id, one in made_here.items()
    ]
    pairs = pair_rows(audit, pairings, sides)
    if not pairs:
        raise InvalidInput(
            "No two of these agents have done the same task, so there is nothing to compare. Check the recordings' "
            "task ids against the suite's, and the pairings."
        )
    order = {task_id: digest("order", [seed, task_id]) for task_id in {side.task_id for side in sides}}
    made = {cell.cell_id: cell for cell in rollout_cells(made_here)}
    tasks = sorted(order, key=order.__getitem__)
    orders = _orders(request, deps, audit, seed, pairs, tasks)
    cells = list(_cells(audit, judges, request.repeats, pairs, sides, made, tasks, orders))
    rollouts = None if cast is None or not cast.agents else _spec(request, cast)
    spec = RunSpec(
        judges=judges,
        rollouts=rollouts,
        cascade=asked_cascade(request, "pairwise"),
        orders=request.orders,
        stop=asked_stop(request, "pairwise"),
    )
    plan = Plan(spec, cells, records, pairs, cast)
    return in_stop(deps.store, request.audit, in_cascade(deps.store, request.audit, plan))


def _orders(
    request: RunPairRequest, deps: Deps, audit: str, seed: int, pairs: Sequence[Row], tasks: Sequence[str]
) -> OrdersOf:
    place = {task_id: number for number, task_id in enumerate(tasks)}
    pair_ids = [row["pair_id"] for row in sorted(pairs, key=lambda row: place[row["task_id"]])]
    with deps.store.read() as connection:
        return asked_orders(request, seed, pair_ids, connection, audit)


def _cells(
    audit: str,
    judges: Sequence[JudgingSpec],
    repeats: int,
    pairs: Sequence[Row],
    sides: Sequence[Side],
    made: Mapping[str, PlannedCell],
    tasks: Sequence[str],
    orders: OrdersOf,
) -> Iterator[PlannedCell]:
    """By task: its rollouts, its pairs, then the scores of each trajectory that is in a pair."""
    by_form: dict[AskedForm, list[str]] = {}
    for judge in judges:
        by_form.setdefault(judge.form, []).append(judge_fingerprint(judge_of(judge)))
    paired = {side for row in pairs for side in (row["trajectory_a"], row["trajectory_b"])}
    of_task: dict[str, tuple[list[str], list[str]]] = {task_id: ([], []) for task_id in tasks}
    for row in pairs:
        of_task[row["task_id"]][0].append(row["pair_id"])
    for side in sides:
        of_task[side.task_id][1].append(side.trajectory_id)
    for pair_ids, trajectory_ids in of_task.values():
        yield from (made[one] for one in trajectory_ids if one in made)
        for form, judge_ids in by_form.items():
            if FORMS[form].compares:
                yield from pair_cells(audit, judge_ids, pair_ids, repeats, orders)
            else:
                scored = [one for one in trajectory_ids if one in paired]
                yield from trajectory_cells(audit, form, judge_ids, scored, repeats)


def _spec(request: RunPairRequest, cast: Cast) -> RolloutSpec:
    suite = cast.stage.suite
    return RolloutSpec(
        # Whoever resumes the run may work in another folder.
        suite=suite.name if suite.shipped else os.path.abspath(request.suite or DEFAULT_SUITE),
        digest=suite.digest,
        language=cast.stage.language,
        tasks=tuple(task.task_id for task in cast.tasks),
        agents=tuple(
            AgentSpec(name=agent.name, fingerprint=agent.fingerprint, simulated=agent.simulated)
            for agent in cast.agents
        ),
        trials=cast.trials,
        seed=cast.stage.seed,
        user=SCRIPTED_USER if cast.user.asking is None else _named(cast, request),
    )


def _named(cast: Cast, request: RunPairRequest) -> str | None:
    """The name by which another process finds the same simulated user."""
    return request.user or (None if cast.user.asking is None else cast.user.asking.choice.profile)

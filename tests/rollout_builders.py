"""Stored runs of live agents, and results of their rollouts as a worker stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

from builders import JUDGE, messages, passed
from misjudge_storage import leases
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest
from misjudge_storage.judging_records import CellResult, Kept, store_results
from misjudge_storage.leases import Lease
from misjudge_storage.planned_pairs import plan_pairs
from misjudge_storage.rows import Row, cell_id, check_row, log_row, pair_row, rollout_id, trajectory_row
from misjudge_storage.run_records import PlannedCell, create_run
from misjudge_storage.types import Check, Log, PairKey, Record, Task, Trajectory
from run_builders import ORDERS

Bucket = Literal["near", "wide"]


class RolloutRun(NamedTuple):
    """A queued run of agents on tasks `t0`, `t1`, …: rollouts first, then their pairs in both orders.

    `places` is agent and task of each rollout, by the id of its trajectory, which is that of its cell.
    """

    run_id: str
    audit_id: str
    places: Mapping[str, tuple[str, str]]
    cells: tuple[PlannedCell, ...]

    def trajectory(self, agent: str, task: str = "t0") -> str:
        """The trajectory that the agent makes of the task."""
        return next(one for one, place in self.places.items() if place == (agent, task))


def planned_pair(audit_id: str, pair_id: str, a: str, b: str, task: str = "t0", bucket: Bucket | None = None) -> Row:
    """A pair of two trajectories, as a run plans it."""
    return pair_row(audit_id, pair_id, task, PairKey(trial=0, ability_bucket=bucket), a, b)


def rollout_run(
    store: Store,
    agents: Sequence[str] = ("x", "y"),
    tasks: int = 1,
    audit: str = "demo",
    setup: str = "set-up",
    bucket: Bucket | None = None,
    made_elsewhere: Sequence[str] = (),
) -> RolloutRun:
    """Store a run that pairs each two agents. It has no cells for agents whose rollouts are `made_elsewhere`."""
    names = [f"t{n}" for n in range(tasks)]
    with store.write() as connection:
        audit_id = ensure_audit(connection, audit)
        ingest(connection, audit_id, "suite", [Record(line=1, task=Task(task_id=name)) for name in names])
        judge_id = ensure_judge(connection, audit_id, JUDGE)
        ids = {(agent, task): rollout_id(audit_id, task, agent, 0, setup) for task in names for agent in agents}
        pairs = [
            planned_pair(audit_id, f"{task}:{a}|{b}", ids[a, task], ids[b, task], task, bucket)
            for task in names
            for a, b in combinations(agents, 2)
        ]
        rollouts = [
            PlannedCell(trajectory, "rollout", f"agt_{agent}", None, None, None, 0)
            for (agent, _), trajectory in ids.items()
            if agent not in made_elsewhere
        ]
        cells = (*rollouts, *[cell for row in pairs for cell in _judging(audit_id, judge_id, row["pair_id"])])
        run_id = create_run(connection, audit_id, "run_pair", "{}", None, cells)
        plan_pairs(connection, run_id, pairs)
    return RolloutRun(run_id, audit_id, {trajectory: place for place, trajectory in ids.items()}, cells)


def _judging(audit_id: str, judge_id: str, pair_id: str) -> list[PlannedCell]:
    return [
        PlannedCell(cell_id(audit_id, judge_id, pair_id, order, 0), "pairwise", judge_id, pair_id, None, order, 0)
        for order in ORDERS
    ]


def turn(run: RolloutRun, agent: str, number: int, task: str = "t0", **said: Any) -> Row:
    """The row of one call of a rollout: the turn with this number."""
    log = Log(**{"role": "agent", "model": "agent-m", "turn": number, **said})
    made = run.trajectory(agent, task)
    links = {"run_id": run.run_id, "cell_id": made, "trajectory_id": made}
    return log_row(run.audit_id, log, [run.run_id, made, log.model_dump()], **links)


def episode_made(
    run: RolloutRun,
    agent: str,
    task: str = "t0",
    *,
    checks: Sequence[Check] = (passed(True),),
    logs: Sequence[Row] = (),
    **facts: Any,
) -> CellResult:
    """The result of a rollout: its trajectory with checks."""
    known = {"messages": messages("hi", "done"), "end_reason": "finished", "setup": '{"skill":0.9}', **facts}
    made = run.trajectory(agent, task)
    row = trajectory_row(run.audit_id, Trajectory(task_id=task, agent=agent, trial=0, **known), made)
    found = tuple(check_row(run.audit_id, made, check) for check in checks)
    return CellResult(None, tuple(logs), {**row, "trajectory_id": made}, found)


def claimed(store: Store, run: RolloutRun, owner: str = "one") -> Lease:
    """The lease of the run."""
    with store.write() as connection:
        lease = leases.claim(connection, run.run_id, owner)
    assert lease is not None
    return lease


def put(store: Store, lease: Lease | None, *results: CellResult) -> Kept:
    """Store results in one transaction."""
    with store.write() as connection:
        return store_results(connection, results, lease)

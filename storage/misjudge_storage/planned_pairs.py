"""The pairs that a run is to make: planned with it, stored as pairs as soon as both trajectories are there."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, FromClause, select

from misjudge_storage import tables
from misjudge_storage.errors import Conflict
from misjudge_storage.ingest import LOOKUP, insert_new
from misjudge_storage.rows import Row
from misjudge_storage.run_records import RUNS, runs_under_way

PLANNED = tables.table(tables.PlannedPair)
PAIRS = tables.table(tables.Pair)
TRAJECTORIES = tables.table(tables.Trajectory)
DRAFTS = tables.table(tables.RubricDraft)


def plan_pairs(connection: Connection, run_id: str, pairs: Sequence[Row]) -> None:
    """Store what pairs a run is to make, and make those that can be made now. Raises Conflict as `make_pairs`."""
    insert_new(connection, tables.PlannedPair, [{**row, "run_id": run_id} for row in pairs])
    make_pairs(connection, run_id)


def make_pairs(connection: Connection, run_id: str, trajectory_ids: Sequence[str] | None = None) -> list[str]:
    """Store the planned pairs whose both sides are stored, of these trajectories or of all; their ids.

    Of all: raises Conflict for a pair that is stored otherwise, or that another run under way is to make otherwise.
    """
    if trajectory_ids is None:
        _refuse_other_pairs(connection, run_id)
    a, b = TRAJECTORIES.alias("a"), TRAJECTORIES.alias("b")
    ready = (
        select(PLANNED)
        .join(a, a.c.trajectory_id == PLANNED.c.trajectory_a)
        .join(b, b.c.trajectory_id == PLANNED.c.trajectory_b)
        .where(PLANNED.c.run_id == run_id)
    )
    queries = [ready]
    if trajectory_ids is not None:
        # A query for each side: with OR, SQLite would go through all of the run's pairs.
        queries = [
            ready.where(PLANNED.c[side].in_(trajectory_ids[start : start + LOOKUP]))
            for start in range(0, len(trajectory_ids), LOOKUP)
            for side in ("trajectory_a", "trajectory_b")
        ]
    made: dict[str, Row] = {}
    for query in queries:
        for row in connection.execute(query).mappings():
            made[row["pair_id"]] = {name: value for name, value in row.items() if name != "run_id"}
    insert_new(connection, tables.Pair, list(made.values()))
    return list(made)


def refuse_other_pairs(connection: Connection, pairs: Sequence[Row]) -> None:
    """Raises Conflict for a pair of a plan that is stored otherwise."""
    for start in range(0, len(pairs), LOOKUP):
        some = {row["pair_id"]: row["content_hash"] for row in pairs[start : start + LOOKUP]}
        mine = (PAIRS.c.audit_id == pairs[0]["audit_id"]) & PAIRS.c.pair_id.in_(list(some))
        for pair_id, content_hash in connection.execute(select(PAIRS.c.pair_id, PAIRS.c.content_hash).where(mine)):
            if some[pair_id] != content_hash:
                raise _otherwise(pair_id)


def _refuse_other_pairs(connection: Connection, run_id: str) -> None:
    audit_id = connection.scalar(select(RUNS.c.audit_id).where(RUNS.c.run_id == run_id))
    others = [other for other in runs_under_way(connection, str(audit_id)) if other != run_id]
    mine, theirs = select(PLANNED.c.pair_id).where(PLANNED.c.run_id == run_id), PLANNED.alias("theirs")
    stored = mine.join(PAIRS, (PAIRS.c.audit_id == PLANNED.c.audit_id) & _differs_from(PAIRS))
    under_way = mine.join(theirs, theirs.c.run_id.in_(others) & _differs_from(theirs))
    pair_id = connection.scalar(stored.limit(1)) or connection.scalar(under_way.limit(1))
    if pair_id is not None:
        raise _otherwise(pair_id)


def _otherwise(pair_id: str) -> Conflict:
    return Conflict(
        f"Pair {pair_id!r} is stored or under way with other sides, or declared near or wide otherwise. Nothing "
        "was started: results are never overwritten, so use another audit name."
    )


def _differs_from(pairs: FromClause) -> ColumnElement[bool]:
    return (pairs.c.pair_id == PLANNED.c.pair_id) & (pairs.c.content_hash != PLANNED.c.content_hash)


def stored_subjects(
    connection: Connection,
    audit_id: str,
    pair_ids: Sequence[str],
    trajectory_ids: Sequence[str],
    draft_ids: Sequence[str] = (),
) -> set[str]:
    """Which of these pairs of an audit, of these trajectories and of these generated rubrics are stored."""
    found: set[str] = set()
    for start in range(0, len(pair_ids), LOOKUP):
        some = PAIRS.c.pair_id.in_(pair_ids[start : start + LOOKUP])
        found.update(connection.scalars(select(PAIRS.c.pair_id).where(PAIRS.c.audit_id == audit_id, some)))
    for key, ids in ((TRAJECTORIES.c.trajectory_id, trajectory_ids), (DRAFTS.c.draft_id, draft_ids)):
        for start in range(0, len(ids), LOOKUP):
            found.update(connection.scalars(select(key).where(key.in_(ids[start : start + LOOKUP]))))
    return found


def other_setups(connection: Connection, audit_id: str, planned: Sequence[Row]) -> list[Row]:
    """Stored trajectories with the task, agent and trial of a planned one (task_id, agent, trial, trajectory_id) that
    are not that one: another prompt, model, seed or suite made them.
    """
    wanted = {(row["task_id"], row["agent"], row["trial"]): row["trajectory_id"] for row in planned}
    agents = sorted({row["agent"] for row in planned})
    columns = [TRAJECTORIES.c[name] for name in ("task_id", "agent", "trial", "trajectory_id")]
    query = select(*columns).where(TRAJECTORIES.c.audit_id == audit_id, TRAJECTORIES.c.agent.in_(agents))
    return [
        dict(row)
        for row in connection.execute(query).mappings()
        if wanted.get((row["task_id"], row["agent"], row["trial"]), row["trajectory_id"]) != row["trajectory_id"]
    ]

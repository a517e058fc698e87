"""Adaptive stopping in the store: what a run asks about each task, and what it is spared once enough is known.

A spared cell leaves the plan of its run; results are never touched. What was planned, and what of it was decided, is
noted as events of the run, in the transaction that does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, bindparam, case, delete, func, select, text, union

from misjudge_storage import columns, tables
from misjudge_storage.hashing import digest
from misjudge_storage.ingest import LOOKUP, insert_new
from misjudge_storage.run_progress import CELLS_AND_RESULTS, RESULT
from misjudge_storage.run_records import CELLS, RUNS, PlannedCell
from misjudge_storage.summary_records import MEASURES, REDUCED
from misjudge_storage.summary_values import Group
from misjudge_storage.types import Side, Value

PAIRS = tables.table(tables.Pair)
PLANNED = tables.table(tables.PlannedPair)
EVENTS = tables.table(tables.RunEvent)
V = TypeVar("V", bound=Value)


class Place(NamedTuple):
    """Where a pair belongs: its task, and the bucket of ability that it was declared in, None where in none."""

    task_id: str
    bucket: str | None


class Question(NamedTuple):
    """What a run asks a judge about a pair: its cell, and where the pair belongs."""

    cell: PlannedCell
    place: Place


class BucketPlan(Value):
    """What was to be asked of one judge about one bucket: how many tasks, pairs and calls."""

    judge_id: str
    bucket: str
    tasks: int
    pairs: int
    calls: int


class StopPlan(Value):
    """What a run was to do before anything was spared: its pairs, the calls of judges, and the episodes.

    `plan` is the digest of the ids of all cells of the request, stored ones too: the same request has the same.
    """

    plan: str
    pairs: int
    calls: int
    episodes: int
    buckets: tuple[BucketPlan, ...]


class BucketDecision(Value):
    """Of which judge enough is known in which bucket: after how many tasks, and by which interval."""

    judge_id: str
    bucket: str
    tasks: int
    low: float
    high: float


class PlanLeft(NamedTuple):
    """What the plan of a run holds now: pairs, calls of judges, episodes."""

    pairs: int
    calls: int
    episodes: int


class BucketLeft(NamedTuple):
    """What a run asks one judge about the pairs of one declared bucket now."""

    judge_id: str
    bucket: str | None
    pairs: int
    calls: int


class TaskCount(NamedTuple):
    """So many tasks with `k` of `n` > 0 observations counted."""

    k: int
    n: int
    tasks: int


_BY_GAP = case((PAIRS.c.reward_gap < 0.099999999, "near"), (PAIRS.c.reward_gap.is_not(None), "wide"))
_BUCKET = func.coalesce(PAIRS.c.ability_bucket, case((PAIRS.c.gap_source == "ability", _BY_GAP)))
"""As `summary_records.reduce_audit` has it."""
_DECLARED = func.coalesce(_BUCKET, PLANNED.c.ability_bucket)
_PLACED = (
    CELLS.join(RUNS, RUNS.c.run_id == CELLS.c.run_id)
    .outerjoin(PAIRS, (PAIRS.c.audit_id == RUNS.c.audit_id) & (PAIRS.c.pair_id == CELLS.c.pair_id))
    .outerjoin(PLANNED, (PLANNED.c.run_id == CELLS.c.run_id) & (PLANNED.c.pair_id == CELLS.c.pair_id))
)


def places(connection: Connection, audit_id: str, pair_ids: Sequence[str]) -> dict[str, Place]:
    """Where the stored ones of these pairs belong."""
    found: dict[str, Place] = {}
    for start in range(0, len(pair_ids), LOOKUP):
        some = PAIRS.c.pair_id.in_(pair_ids[start : start + LOOKUP])
        query = select(PAIRS.c.pair_id, PAIRS.c.task_id, _BUCKET).where(PAIRS.c.audit_id == audit_id, some)
        found.update({pair_id: Place(*place) for pair_id, *place in connection.execute(query)})
    return found


def questions(connection: Connection, run_id: str) -> list[Question]:
    """All that a run asks about pairs, in the order of its plan."""
    asked = [CELLS.c[name] for name in PlannedCell._fields]
    query = (
        select(*asked, func.coalesce(PAIRS.c.task_id, PLANNED.c.task_id), _DECLARED)
        .select_from(_PLACED)
        .where(CELLS.c.run_id == run_id, CELLS.c.kind == "pairwise")
        .order_by(CELLS.c.seq)
    )
    found = map(tuple, connection.execute(query))
    return [Question(PlannedCell(*cell), Place(task_id, bucket)) for *cell, task_id, bucket in found]


def better_sides(connection: Connection, audit_id: str, pair_ids: Sequence[str]) -> dict[str, Side]:
    """Pair → the side that gold says is better, of those of these pairs where one is."""
    query = text("""
        SELECT pair_id, gold_pref FROM pair_gold
        WHERE audit_id = :audit AND pair_id IN :pairs AND gold_pref IN ('A', 'B')
    """).bindparams(bindparam("pairs", expanding=True))
    found: dict[str, Side] = {}
    for start in range(0, len(pair_ids), LOOKUP):
        given = {"audit": audit_id, "pairs": list(pair_ids[start : start + LOOKUP])}
        found.update({pair_id: side for pair_id, side in connection.execute(query, given)})
    return found


def served_only(connection: Connection, run_id: str) -> list[PlannedCell]:
    """The open episodes of a run, and scores of single episodes, of whose pairs nothing is left in its plan."""
    sides = (PLANNED.c.trajectory_a, PLANNED.c.trajectory_b)
    made_for = union(*[select(side).where(PLANNED.c.run_id == run_id) for side in sides])
    asked = CELLS.alias("asked")
    joined = PLANNED.join(asked, (asked.c.run_id == PLANNED.c.run_id) & (asked.c.pair_id == PLANNED.c.pair_id))
    needed = union(*[select(side).select_from(joined).where(PLANNED.c.run_id == run_id) for side in sides])
    episode = func.coalesce(CELLS.c.trajectory_id, CELLS.c.cell_id)
    query = (
        select(*[CELLS.c[name] for name in PlannedCell._fields])
        .select_from(CELLS_AND_RESULTS)
        .where(
            CELLS.c.run_id == run_id,
            CELLS.c.pair_id.is_(None),
            RESULT.is_(None),
            episode.in_(made_for),
            episode.not_in(needed),
        )
    )
    return [PlannedCell(*row) for row in connection.execute(query)]


def leave_out(connection: Connection, run_id: str, cell_ids: Sequence[str]) -> None:
    """Take cells out of the plan of a run."""
    for start in range(0, len(cell_ids), LOOKUP):
        some = CELLS.c.cell_id.in_(cell_ids[start : start + LOOKUP])
        connection.execute(delete(CELLS).where(CELLS.c.run_id == run_id, some))


def put_back(connection: Connection, run_id: str, cells: Iterable[PlannedCell]) -> None:
    """Put cells back in their place of the plan: they were being asked when they were left out, and are stored."""
    insert_new(connection, tables.Cell, [{**cell._asdict(), "run_id": run_id} for cell in cells])


def note_plan(connection: Connection, run_id: str, plan: StopPlan) -> None:
    """Note what a run was to do."""
    _note(connection, run_id, "stop_plan", plan)


def note_decision(connection: Connection, run_id: str, decision: BucketDecision) -> None:
    """Note, once, that enough is known of a bucket."""
    _note(connection, run_id, f"stop_decided {decision.judge_id} {decision.bucket}", decision)


def _note(connection: Connection, run_id: str, event: str, what: Value) -> None:
    row = {"event_id": digest("event", [run_id, event]), "run_id": run_id, "level": "info", "event": event}
    new = {**row, "detail": what.model_dump_json(), "created_at": columns.utc_now()}
    insert_new(connection, tables.RunEvent, [new])


def planned(connection: Connection, run_id: str) -> StopPlan | None:
    """What a run was to do, None where nobody noted it."""
    return next(iter(_noted(connection, run_id, "stop_plan", StopPlan)), None)


def decisions(connection: Connection, run_id: str) -> list[BucketDecision]:
    """Of which buckets enough is known, in the order in which that came about."""
    return _noted(connection, run_id, "stop_decided %", BucketDecision)


def _noted(connection: Connection, run_id: str, event: str, model: type[V]) -> list[V]:
    query = select(EVENTS.c.detail).where(EVENTS.c.run_id == run_id, EVENTS.c.event.like(event))
    noted = connection.scalars(query.order_by(EVENTS.c.created_at, EVENTS.c.event))
    return [model.model_validate_json(detail) for detail in noted]


def plan_left(connection: Connection, run_id: str) -> PlanLeft:
    """What the plan of a run holds now."""
    episodes = func.sum(case((CELLS.c.kind == "rollout", 1), else_=0))
    query = select(func.count(CELLS.c.pair_id.distinct()), func.count(), episodes).where(CELLS.c.run_id == run_id)
    pairs, cells, rollouts = connection.execute(query).one()
    return PlanLeft(pairs, cells - (rollouts or 0), rollouts or 0)


def buckets_left(connection: Connection, run_id: str) -> list[BucketLeft]:
    """What a run asks each judge about each bucket now."""
    query = (
        select(CELLS.c.actor_id, _DECLARED, func.count(CELLS.c.pair_id.distinct()), func.count())
        .select_from(_PLACED)
        .where(CELLS.c.run_id == run_id, CELLS.c.kind == "pairwise")
        .group_by(CELLS.c.actor_id, _DECLARED)
    )
    return [BucketLeft(*row) for row in connection.execute(query)]


def stopping_runs(connection: Connection, audit_id: str) -> list[str]:
    """The runs of an audit that were to stop early, the latest first."""
    # A quotation mark within a text of the specification would be escaped, so that no text can look like it.
    stops = RUNS.c.request_json.like('%"stop":{%')
    query = select(RUNS.c.run_id).where(RUNS.c.audit_id == audit_id, stops)
    return list(connection.scalars(query.order_by(RUNS.c.created_at.desc(), RUNS.c.run_id)))


def task_counts(connection: Connection, measure: str) -> dict[Group, list[TaskCount]]:
    """Tasks by what a measure of `summary_records.MEASURES` came to in them, of the reduced audit: by judge and subset,
    over all pairs (no bucket) and over those of each bucket of ability.
    """
    k, n = MEASURES[measure]
    grouped = "judge_id, subset, bucket, task_id"
    query = f"""
        WITH by_bucket AS (
            SELECT judge_id, subset, COALESCE(ability_bucket, '') AS bucket, task_id, SUM({k}) AS k, SUM({n}) AS n
            FROM {REDUCED} WHERE judge_id IS NOT NULL GROUP BY judge_id, subset, COALESCE(ability_bucket, ''), task_id
        ),
        by_task AS (
            SELECT {grouped}, k, n FROM by_bucket WHERE bucket <> ''
            UNION ALL
            SELECT judge_id, subset, '', task_id, SUM(k), SUM(n) FROM by_bucket GROUP BY judge_id, subset, task_id
        )
        SELECT judge_id, subset, bucket, k, n, COUNT(*) FROM by_task
        WHERE n > 0 GROUP BY judge_id, subset, bucket, k, n ORDER BY judge_id, subset, bucket, k, n
    """
    found: dict[Group, list[TaskCount]] = {}
    for judge_id, subset, bucket, *counted in connection.execute(text(query)):
        group = Group(judge_id, subset, "ability" if bucket else "", bucket)
        found.setdefault(group, []).append(TaskCount(*map(int, counted)))
    return found

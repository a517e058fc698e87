"""Adaptive stopping in the store: what a run asks about each task, and what it is spared once enough is known.

A spared cell leaves the plan of its run; results are never touched. What was planned, and what of it was decided, is
noted as events of the run, in the transaction that does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Select, bindparam, case, delete, func, select, text, union

from misjudge_storage import columns, tables
from misjudge_storage.cutoffs import NEAR_BELOW
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
VERDICTS = tables.table(tables.Verdict)
PLAN = "stop_plan"
V = TypeVar("V", bound=Value)


class Place(NamedTuple):
    """Where a pair belongs: its task, and the bucket of ability that it was declared in, None where in none."""

    task_id: str
    bucket: str | None


class Question(NamedTuple):
    """What a run asks a judge about a pair: its cell, and where the pair belongs."""

    cell: PlannedCell
    place: Place


class StopPlan(Value):
    """What a run was asked: `plan` is the digest of the ids of all cells of its request, stored ones too."""

    plan: str


class SparedCells(Value):
    """Cells of one kind that left the plan of a run, each with the pair that it asks about.

    What asks about pairs has the judge and the bucket that were decided; what only served such pairs has neither.
    """

    kind: str
    cells: dict[str, str | None]
    judge_id: str | None = None
    bucket: str | None = None


class BucketDecision(Value):
    """Of which judge enough is known in which bucket: after how many tasks, and by which interval."""

    judge_id: str
    bucket: str
    tasks: int
    low: float
    high: float


class TaskCount(NamedTuple):
    """So many tasks with `k` of `n` > 0 observations counted."""

    k: int
    n: int
    tasks: int


_BY_GAP = case((PAIRS.c.reward_gap < NEAR_BELOW, "near"), (PAIRS.c.reward_gap.is_not(None), "wide"))
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


def sides_of(connection: Connection, run_id: str, pair_ids: Sequence[str]) -> set[str]:
    """The trajectories of those of these pairs that the run itself is to make."""
    found: set[str] = set()
    for start in range(0, len(pair_ids), LOOKUP):
        mine = PLANNED.c.run_id == run_id, PLANNED.c.pair_id.in_(pair_ids[start : start + LOOKUP])
        for both in connection.execute(select(PLANNED.c.trajectory_a, PLANNED.c.trajectory_b).where(*mine)):
            found.update(both)
    return found


def leave_out(connection: Connection, run_id: str, cell_ids: Sequence[str]) -> None:
    """Take cells out of the plan of a run."""
    for start in range(0, len(cell_ids), LOOKUP):
        some = CELLS.c.cell_id.in_(cell_ids[start : start + LOOKUP])
        connection.execute(delete(CELLS).where(CELLS.c.run_id == run_id, some))


def put_back(connection: Connection, run_id: str, cells: Iterable[PlannedCell]) -> None:
    """Put cells back in their place of the plan, where they are not there."""
    insert_new(connection, tables.Cell, [{**cell._asdict(), "run_id": run_id} for cell in cells])


def note_plan(connection: Connection, run_id: str, plan: StopPlan) -> None:
    """Note what a run was to do."""
    _note(connection, run_id, PLAN, plan)


def note_decision(connection: Connection, run_id: str, decision: BucketDecision) -> None:
    """Note, once, that enough is known of a bucket."""
    _note(connection, run_id, f"stop_decided {decision.judge_id} {decision.bucket}", decision)


def note_spared(connection: Connection, run_id: str, left_out: Iterable[SparedCells]) -> None:
    """Note what left the plan of a run."""
    for one in left_out:
        _note(connection, run_id, f"stop_spared {digest('spared', sorted(one.cells))}", one)


def _note(connection: Connection, run_id: str, event: str, what: Value) -> None:
    row = {"event_id": digest("event", [run_id, event]), "run_id": run_id, "level": "info", "event": event}
    new = {**row, "detail": what.model_dump_json(), "created_at": columns.utc_now()}
    insert_new(connection, tables.RunEvent, [new])


def planned(connection: Connection, run_id: str) -> StopPlan | None:
    """What a run was to do, None where nobody noted it."""
    return next(iter(_noted(connection, run_id, PLAN, StopPlan)), None)


def decisions(connection: Connection, run_id: str) -> list[BucketDecision]:
    """Of which buckets enough is known, in the order in which that came about."""
    return _noted(connection, run_id, "stop_decided %", BucketDecision)


def spared(connection: Connection, run_id: str) -> list[SparedCells]:
    """What left the plan of a run. Some of it may be stored all the same: it was in flight, or another run asked it."""
    return _noted(connection, run_id, "stop_spared %", SparedCells)


def _noted(connection: Connection, run_id: str, event: str, model: type[V]) -> list[V]:
    query = select(EVENTS.c.detail).where(EVENTS.c.run_id == run_id, EVENTS.c.event.like(event))
    noted = connection.scalars(query.order_by(EVENTS.c.created_at, EVENTS.c.event))
    return [model.model_validate_json(detail) for detail in noted]


def pairs_asked(connection: Connection, run_ids: Sequence[str]) -> set[str]:
    """The pairs that the plans of these runs ask about now."""
    query = select(CELLS.c.pair_id).where(CELLS.c.run_id.in_(run_ids), CELLS.c.pair_id.is_not(None)).distinct()
    return set(connection.scalars(query))


def same_requests(connection: Connection, run_id: str) -> list[str]:
    """The other runs for the very same request as one that may stop early."""
    return list(connection.scalars(_same_requests(run_id)))


def needless_by_now(connection: Connection, run_id: str) -> list[PlannedCell]:
    """What is open in a run and needless since a run for the very same request, done after this one was planned, was
    spared it. A pair that was begun is needed in both orders.
    """
    done = _done_since(connection, run_id)
    if not done:
        return []
    there = {cell_id for other in done for one in spared(connection, other) for cell_id in one.cells}
    place = [CELLS.c[name] for name in ("actor_id", "pair_id", "repeat")]
    judged = CELLS.join(VERDICTS, VERDICTS.c.verdict_id == CELLS.c.cell_id)
    begun = {
        tuple(row) for row in connection.execute(select(*place).select_from(judged).where(CELLS.c.run_id == run_id))
    }
    left = select(*[CELLS.c[name] for name in PlannedCell._fields]).select_from(CELLS_AND_RESULTS)
    cells = [PlannedCell(*row) for row in connection.execute(left.where(CELLS.c.run_id == run_id, RESULT.is_(None)))]
    return [cell for cell in cells if cell.cell_id in there and (cell.actor_id, cell.pair_id, cell.repeat) not in begun]


def leave_out_needless(connection: Connection, run_id: str) -> None:
    """Take out of the plan of a run what `needless_by_now` has, and note whose decisions and savings it shares."""
    needless = needless_by_now(connection, run_id)
    if not needless:
        return
    leave_out(connection, run_id, [cell.cell_id for cell in needless])
    for other in _done_since(connection, run_id):
        note_spared(connection, run_id, spared(connection, other))
        for decision in decisions(connection, other):
            note_decision(connection, run_id, decision)


def _done_since(connection: Connection, run_id: str) -> list[str]:
    """The runs for the very same request that ended as done after this one was planned."""
    planned_at = select(RUNS.c.created_at).where(RUNS.c.run_id == run_id).scalar_subquery()
    done = _same_requests(run_id).where(RUNS.c.state == "done", RUNS.c.ended_at > planned_at)
    return list(connection.scalars(done.order_by(RUNS.c.ended_at.desc())))


def _same_requests(run_id: str) -> Select[str]:
    mine, plan, theirs = RUNS.alias("mine"), EVENTS.alias("plan"), EVENTS.alias("theirs")
    same = (RUNS.c.audit_id == mine.c.audit_id) & (RUNS.c.request_json == mine.c.request_json)
    return (
        select(RUNS.c.run_id)
        .join(mine, same & (mine.c.run_id != RUNS.c.run_id))
        .join(plan, (plan.c.run_id == mine.c.run_id) & (plan.c.event == PLAN))
        .join(
            theirs, (theirs.c.run_id == RUNS.c.run_id) & (theirs.c.event == PLAN) & (theirs.c.detail == plan.c.detail)
        )
        .where(mine.c.run_id == run_id)
    )


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

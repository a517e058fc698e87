"""How far a run is and what it used so far: counts, without loading rows to count them.

A cell is done when the verdict, probe verdict, trajectory, or generated or matched rubric with its id is stored.
Attempts are those that the run made itself; a reply of the cache is none. The index `judge_logs_by_run` holds every
column of a log that is read here but the subject, so that long replies are not read to be skipped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, bindparam, case, func, select, text
from sqlmodel import SQLModel

from misjudge_storage import columns, tables
from misjudge_storage.ingest import LOOKUP

RUNS = tables.table(tables.Run)
CELLS = tables.table(tables.Cell)
LOGS = tables.table(tables.JudgeLog)
PAIRS = tables.table(tables.Pair)
TRAJECTORIES = tables.table(tables.Trajectory)
PLANNED = tables.table(tables.PlannedPair)
KEYS: Mapping[str, str] = {
    "verdicts": "verdict_id",
    "trajectories": "trajectory_id",
    "probe_verdicts": "probe_verdict_id",
    "rubric_drafts": "draft_id",
    "rubric_matchings": "matching_id",
}
"""The tables that hold results, with the column that is the id of the cell."""
_RESULT_IDS = [SQLModel.metadata.tables[name].c[key] for name, key in KEYS.items()]


def _cells_and_results() -> FromClause:
    joined: FromClause = CELLS
    for key in _RESULT_IDS:
        joined = joined.outerjoin(key.table, key == CELLS.c.cell_id)
    return joined


CELLS_AND_RESULTS = _cells_and_results()
RESULT = func.coalesce(*_RESULT_IDS)
"""Id of a cell's result, null while it is open."""

SCORED: Mapping[str, str] = {
    "verdicts": "COALESCE(v.pair_id, v.trajectory_id)",
    "probe_verdicts": "v.pair_id",
    "rubric_drafts": "v.task_id",
    "rubric_matchings": "v.draft_id",
}
"""Those whose results may be unscored, with what such a result is on."""


class Progress(NamedTuple):
    """Cells of a run: `done` are stored."""

    done: int
    total: int


class Stage(NamedTuple):
    """Cells of one kind: `done` are stored."""

    stage: str
    done: int
    total: int


class RoleSpend(NamedTuple):
    """What one role used: attempts, tokens and USD, None where none is known; `cached` replies cost nothing.

    `replies_without_price` are those whose cost is not known and not in `cost`.
    """

    role: str
    attempts: int
    cached: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    replies_without_price: int


class ErrorGroup(NamedTuple):
    """Attempts that failed with this class of error, the last one when."""

    error: str
    attempts: int
    last_at: datetime


def stored_cells(connection: Connection, cell_ids: Sequence[str]) -> set[str]:
    """Which of these cells have a stored result."""
    found: set[str] = set()
    for start in range(0, len(cell_ids), LOOKUP):
        some = cell_ids[start : start + LOOKUP]
        for key in _RESULT_IDS:
            found.update(connection.scalars(select(key).where(key.in_(some))))
    return found


def stages(connection: Connection, run_id: str) -> list[Stage]:
    """How far each kind of cell is, in the order of the plan."""
    query = (
        select(CELLS.c.kind, func.count(RESULT), func.count())
        .select_from(CELLS_AND_RESULTS)
        .where(CELLS.c.run_id == run_id)
        .group_by(CELLS.c.kind)
        .order_by(func.min(CELLS.c.seq))
    )
    return [Stage(*row) for row in connection.execute(query)]


def progress(connection: Connection, run_id: str) -> Progress:
    """How far a run is."""
    query = select(func.count(RESULT), func.count()).select_from(CELLS_AND_RESULTS).where(CELLS.c.run_id == run_id)
    return Progress(*connection.execute(query).one())


def unscored(connection: Connection, run_id: str) -> dict[str, int]:
    """Verdicts of the run's cells that could not be scored, by reason."""
    found: Counter[str] = Counter()
    for results in SCORED:
        unscored = "v.status = 'unscored' GROUP BY v.unscored_reason ORDER BY 1"
        query = _of_cells("v.unscored_reason, COUNT(*)", unscored, results)
        found.update({str(reason): number for reason, number in connection.execute(text(query), {"run": run_id})})
    return dict(found)


class UnscoredBy(NamedTuple):
    """Verdicts of one judge that could not be scored for one reason, and the pairs or trajectories that they are on."""

    judge_id: str
    reason: str
    verdicts: int
    subjects: int


def unscored_by_judge(connection: Connection, run_id: str) -> list[UnscoredBy]:
    """Verdicts of the run's cells that could not be scored, by judge and reason."""
    found = []
    for results, subject in SCORED.items():
        # By the cell's judge: by that of the verdict, SQLite would go through all of the audit's in their order.
        counted = f"c.actor_id, v.unscored_reason, COUNT(*), COUNT(DISTINCT {subject})"
        grouped = "v.status = 'unscored' GROUP BY c.actor_id, v.unscored_reason ORDER BY 1, 2"
        query = text(_of_cells(counted, grouped, results))
        found += [UnscoredBy(*row) for row in connection.execute(query, {"run": run_id})]
    return found


class JudgeCells(NamedTuple):
    """Cells of one judge in a run that have a result: how many, and how many of them the run itself asked for."""

    stored: int
    asked: int


def cells_by_judge(connection: Connection, run_id: str) -> dict[str, JudgeCells]:
    """Judge id → its cells that have a result."""
    asked = CELLS.c.cell_id.in_(select(LOGS.c.cell_id).where(LOGS.c.run_id == run_id, LOGS.c.cached_from.is_(None)))
    query = (
        select(CELLS.c.actor_id, func.count(), _number(asked))
        .select_from(CELLS_AND_RESULTS)
        .where(CELLS.c.run_id == run_id, CELLS.c.kind != "rollout", RESULT.is_not(None))
        .group_by(CELLS.c.actor_id)
    )
    return {judge_id: JudgeCells(*numbers) for judge_id, *numbers in connection.execute(query)}


class Replies(NamedTuple):
    """Results of a span of time: how many, and when the first came."""

    number: int
    first_at: datetime | None


def replies_since(connection: Connection, run_id: str, moment: datetime) -> Replies:
    """Results of the run's cells that were made at `moment` or later."""
    number, first = 0, []
    for results in KEYS:
        counted = "COUNT(*) AS number, MIN(v.created_at) AS first_at"
        query = text(_of_cells(counted, "v.created_at >= :moment", results))
        since = query.bindparams(bindparam("moment", moment, columns.UtcDateTime()))
        found = connection.execute(since.columns(first_at=columns.UtcDateTime()), {"run": run_id}).one()
        number += found.number
        first += [found.first_at] if found.number else []
    return Replies(number, min(first, default=None))


def _of_cells(columns: str, condition: str, results: str) -> str:
    """A query of results of a run's cells that begins at the few results of its audit that meet the condition."""
    # CROSS JOIN keeps SQLite from looking up the result of every cell instead.
    return f"""
        SELECT {columns} FROM {results} v CROSS JOIN cells c
        WHERE v.audit_id = (SELECT audit_id FROM runs WHERE run_id = :run)
            AND c.run_id = :run AND c.cell_id = v.{KEYS[results]} AND {condition}
    """


def spent(connection: Connection, run_id: str) -> list[RoleSpend]:
    """What a run used so far, by role."""
    cached = LOGS.c.cached_from.is_not(None)
    query = (
        select(
            LOGS.c.role,
            _number(~cached),
            _number(cached),
            func.sum(LOGS.c.input_tokens),
            func.sum(LOGS.c.output_tokens),
            func.sum(LOGS.c.est_cost),
            _number(~cached & LOGS.c.error.is_(None) & LOGS.c.est_cost.is_(None)),
        )
        .where(LOGS.c.run_id == run_id)
        .group_by(LOGS.c.role)
        .order_by(LOGS.c.role)
    )
    return [RoleSpend(*row) for row in connection.execute(query)]


def _number(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def calls_made(connection: Connection, run_id: str) -> int:
    """Calls that the run made, each with one attempt or more."""
    made = LOGS.c.run_id == run_id, LOGS.c.attempt == 1, LOGS.c.cached_from.is_(None)
    return connection.scalar(select(func.count()).select_from(LOGS).where(*made)) or 0


def cells_of_unknown_use(connection: Connection, run_id: str) -> list[str]:
    """Ids of the cells of which a reply came without its usage: what it took cannot be added up."""
    unstated = LOGS.c.input_tokens.is_(None) | LOGS.c.output_tokens.is_(None)
    query = select(LOGS.c.cell_id).where(
        LOGS.c.run_id == run_id, LOGS.c.cached_from.is_(None), LOGS.c.error.is_(None), unstated
    )
    return [cell_id for cell_id in connection.scalars(query.distinct()) if cell_id is not None]


def recent_errors(connection: Connection, run_id: str) -> list[ErrorGroup]:
    """Failed attempts by class of error, the most frequent first."""
    attempts = func.count()
    query = (
        select(LOGS.c.error, attempts, func.max(LOGS.c.created_at))
        .where(LOGS.c.run_id == run_id, LOGS.c.error.is_not(None))
        .group_by(LOGS.c.error)
        .order_by(attempts.desc(), LOGS.c.error)
    )
    return [ErrorGroup(*row) for row in connection.execute(query)]


def tried(run_id: str) -> ColumnElement[bool]:
    """The condition that the run has asked for a cell at least once."""
    # A list of its own: as a correlated subquery SQLite would look through the run's attempts for every cell.
    return CELLS.c.cell_id.in_(select(LOGS.c.cell_id).where(LOGS.c.run_id == run_id))


def failed_cells(connection: Connection, run_id: str) -> list[str]:
    """Ids of the cells that the run asked for in vain, in the order of the plan."""
    query = (
        select(CELLS.c.cell_id)
        .select_from(CELLS_AND_RESULTS)
        .where(CELLS.c.run_id == run_id, RESULT.is_(None), tried(run_id))
        .order_by(CELLS.c.seq)
    )
    return list(connection.scalars(query))


def spent_by_task(connection: Connection, run_id: str) -> dict[str, float]:
    """Task id → USD that the run spent on it, of those tasks of which any cost is known.

    That of a trajectory that is not stored is known from the run's planned pairs, that of rubrics from their cells.
    """
    on_rubrics = LOGS.c.pair_id.is_(None) & LOGS.c.trajectory_id.is_(None)
    cell_id = case((on_rubrics, LOGS.c.cell_id)).label("cell_id")
    subject = LOGS.c.audit_id, LOGS.c.pair_id, LOGS.c.trajectory_id, cell_id
    known = LOGS.c.run_id == run_id, LOGS.c.est_cost.is_not(None)
    costs = select(*subject, func.sum(LOGS.c.est_cost).label("cost")).where(*known).group_by(*subject).subquery()
    # A trajectory is in several planned pairs, which are all of its task: a join would count it for each.
    planned = [
        select(PLANNED.c.task_id)
        .where(PLANNED.c.run_id == run_id, PLANNED.c[side] == costs.c.trajectory_id)
        .limit(1)
        .scalar_subquery()
        for side in ("trajectory_a", "trajectory_b")
    ]
    query = (
        select(func.coalesce(PAIRS.c.task_id, TRAJECTORIES.c.task_id, CELLS.c.task_id, *planned), costs.c.cost)
        .select_from(costs)
        .outerjoin(PAIRS, (PAIRS.c.audit_id == costs.c.audit_id) & (PAIRS.c.pair_id == costs.c.pair_id))
        .outerjoin(TRAJECTORIES, TRAJECTORIES.c.trajectory_id == costs.c.trajectory_id)
        .outerjoin(CELLS, (CELLS.c.run_id == run_id) & (CELLS.c.cell_id == costs.c.cell_id))
    )
    spent_on: defaultdict[str, float] = defaultdict(float)
    for task_id, cost in connection.execute(query):
        if task_id is not None:
            spent_on[task_id] += cost
    return dict(spent_on)

"""How far a run is and what it used so far: counts, without loading rows to count them.

A cell is done when the verdict with its id is stored. Attempts are those that the run made itself; a reply of the
cache is none. The index `judge_logs_by_run` holds every column of a log that is read here but the subject, so that
long replies are not read to be skipped.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, case, func, select, text

from misjudge_storage import tables

RUNS = tables.table(tables.Run)
CELLS = tables.table(tables.Cell)
VERDICTS = tables.table(tables.Verdict)
LOGS = tables.table(tables.JudgeLog)
PAIRS = tables.table(tables.Pair)
TRAJECTORIES = tables.table(tables.Trajectory)


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


def stages(connection: Connection, run_id: str) -> list[Stage]:
    """How far each kind of cell is, in the order of the plan."""
    query = (
        select(CELLS.c.kind, func.count(VERDICTS.c.verdict_id), func.count())
        .outerjoin(VERDICTS, VERDICTS.c.verdict_id == CELLS.c.cell_id)
        .where(CELLS.c.run_id == run_id)
        .group_by(CELLS.c.kind)
        .order_by(func.min(CELLS.c.seq))
    )
    return [Stage(*row) for row in connection.execute(query)]


def progress(connection: Connection, run_id: str) -> Progress:
    """How far a run is."""
    query = (
        select(func.count(VERDICTS.c.verdict_id), func.count())
        .select_from(CELLS)
        .outerjoin(VERDICTS, VERDICTS.c.verdict_id == CELLS.c.cell_id)
        .where(CELLS.c.run_id == run_id)
    )
    return Progress(*connection.execute(query).one())


def unscored(connection: Connection, run_id: str) -> dict[str, int]:
    """Verdicts of the run's cells that could not be scored, by reason."""
    query = _of_cells("v.unscored_reason, COUNT(*)", "v.status = 'unscored' GROUP BY v.unscored_reason ORDER BY 1")
    return {str(reason): number for reason, number in connection.execute(text(query), {"run": run_id})}


class Replies(NamedTuple):
    """Verdicts of a span of time: how many, and when the first came."""

    number: int
    first_at: datetime | None


def replies_since(connection: Connection, run_id: str, moment: datetime) -> Replies:
    """Verdicts of the run's cells that were made at `moment` or later."""
    query = text(_of_cells("COUNT(*) AS number, MIN(v.created_at) AS first_at", "v.created_at >= :moment"))
    since = query.bindparams(bindparam("moment", moment, tables.UtcDateTime()))
    found = connection.execute(since.columns(first_at=tables.UtcDateTime()), {"run": run_id}).one()
    return Replies(found.number, found.first_at)


def _of_cells(columns: str, condition: str) -> str:
    """A query of verdicts of a run's cells that begins at the few verdicts of its audit that meet the condition."""
    # CROSS JOIN keeps SQLite from looking up the verdict of every cell instead.
    return f"""
        SELECT {columns} FROM verdicts v CROSS JOIN cells c
        WHERE v.audit_id = (SELECT audit_id FROM runs WHERE run_id = :run)
            AND c.run_id = :run AND c.cell_id = v.verdict_id AND {condition}
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
        .outerjoin(VERDICTS, VERDICTS.c.verdict_id == CELLS.c.cell_id)
        .where(CELLS.c.run_id == run_id, VERDICTS.c.verdict_id.is_(None), tried(run_id))
        .order_by(CELLS.c.seq)
    )
    return list(connection.scalars(query))


def spent_by_task(connection: Connection, run_id: str) -> dict[str, float]:
    """Task id → USD that the run spent on it, of those tasks of which any cost is known."""
    task_id = func.coalesce(PAIRS.c.task_id, TRAJECTORIES.c.task_id)
    query = (
        select(task_id, func.sum(LOGS.c.est_cost))
        .outerjoin(PAIRS, (PAIRS.c.audit_id == LOGS.c.audit_id) & (PAIRS.c.pair_id == LOGS.c.pair_id))
        .outerjoin(TRAJECTORIES, TRAJECTORIES.c.trajectory_id == LOGS.c.trajectory_id)
        .where(LOGS.c.run_id == run_id, LOGS.c.est_cost.is_not(None), task_id.is_not(None))
        .group_by(task_id)
    )
    return {task: cost for task, cost in connection.execute(query)}

"""Runs in the store: the plan, who works on it, and what is left.

A run is leased by one owner at a time. A lease is taken in one statement and is free again when it ran out,
or when its owner was a process of this machine that no longer lives. A cell is done when the result with
its id is stored, so resuming is plan minus stored.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Row, case, func, or_, select, true, update

from misjudge_storage import tables
from misjudge_storage.errors import NotFound
from misjudge_storage.ingest import insert_new
from misjudge_storage.types import Order, RunState

LEASE_SECONDS = 30
RENEW_SECONDS = 5

RUNS = tables.table(tables.Run)
CELLS = tables.table(tables.Cell)
VERDICTS = tables.table(tables.Verdict)
EVENTS = tables.table(tables.RunEvent)
LOGS = tables.table(tables.JudgeLog)


class PlannedCell(NamedTuple):
    """One unit of work to do."""

    cell_id: str
    kind: str
    judge_id: str
    pair_id: str | None
    trajectory_id: str | None
    order_shown: Order | None
    repeat: int
    seq: int = 0


class Progress(NamedTuple):
    """Cells of a run: `done` are stored."""

    done: int
    total: int


class RunRow(NamedTuple):
    """A run as stored; `live` says that somebody works on it now."""

    run_id: str
    audit: str
    audit_id: str
    operation: str
    state: RunState
    reason: str | None
    live: bool
    created_at: str
    request_json: str


class RoleSpend(NamedTuple):
    """What one role used: attempts, tokens and USD; cost None where no price is known."""

    role: str
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


def create_run(
    connection: Connection,
    audit_id: str,
    operation: str,
    request_json: str,
    request_key: str | None,
    cells: Sequence[PlannedCell],
) -> str:
    """Store a run with its whole plan; its id. Cells are worked on in the order given."""
    run_id = f"run_{uuid4().hex[:16]}"
    run = {
        "run_id": run_id,
        "audit_id": audit_id,
        "operation": operation,
        "request_json": request_json,
        "request_key": request_key,
        "state": "queued",
        "epoch": 0,
        "created_at": tables.utc_now(),
    }
    insert_new(connection, tables.Run, [run])
    insert_new(connection, tables.Cell, [{**c._asdict(), "run_id": run_id, "seq": n} for n, c in enumerate(cells, 1)])
    return run_id


def run_with_key(connection: Connection, request_key: str) -> str | None:
    """The run that was started with this key, if any."""
    return connection.scalar(select(RUNS.c.run_id).where(RUNS.c.request_key == request_key))


def cell_ids(connection: Connection, run_id: str) -> set[str]:
    """Ids of the cells that the run planned."""
    return set(connection.scalars(select(CELLS.c.cell_id).where(CELLS.c.run_id == run_id)))


def runs_under_way(connection: Connection, audit_id: str) -> list[str]:
    """Runs of this audit that somebody works on, or was about to a moment ago."""
    lately = tables.utc_now() - timedelta(seconds=LEASE_SECONDS)
    rows = _runs(connection, (RUNS.c.audit_id == audit_id) & RUNS.c.state.in_(("running", "queued")))
    fresh = set(connection.scalars(select(RUNS.c.run_id).where(RUNS.c.created_at > lately)))
    return [row.run_id for row in rows if row.live or (row.state == "queued" and row.run_id in fresh)]


def claim(connection: Connection, run_id: str, owner: str) -> bool:
    """Take the run's lease; False when another owner holds it."""
    now = tables.utc_now()
    held = connection.execute(
        select(RUNS.c.owner_host, RUNS.c.owner_pid).where(RUNS.c.run_id == run_id, RUNS.c.lease_until > now)
    ).first()
    dead = held is not None and held.owner_host == socket.gethostname() and not _alive(held.owner_pid)
    free = or_(RUNS.c.lease_until.is_(None), RUNS.c.lease_until <= now, RUNS.c.owner == owner)
    taken = connection.execute(
        update(RUNS)
        .where(RUNS.c.run_id == run_id, or_(free, RUNS.c.owner_pid == held.owner_pid) if dead and held else free)
        .values(
            owner=owner,
            owner_host=socket.gethostname(),
            owner_pid=os.getpid(),
            lease_until=now + timedelta(seconds=LEASE_SECONDS),
            epoch=RUNS.c.epoch + 1,
            state="running",
            reason=None,
            ended_at=None,
        )
    )
    return taken.rowcount == 1


def renew(connection: Connection, run_id: str, owner: str) -> bool:
    """Prolong the lease; False when it was lost to another owner."""
    until = tables.utc_now() + timedelta(seconds=LEASE_SECONDS)
    held = update(RUNS).where(RUNS.c.run_id == run_id, RUNS.c.owner == owner).values(lease_until=until)
    return connection.execute(held).rowcount == 1


def finish(connection: Connection, run_id: str, owner: str, state: RunState, reason: str | None) -> None:
    """Give the lease back and say how the run ended."""
    values = {"state": state, "reason": reason, "lease_until": None, "owner": None, "ended_at": tables.utc_now()}
    connection.execute(update(RUNS).where(RUNS.c.run_id == run_id, RUNS.c.owner == owner).values(**values))
    add_event(connection, run_id, "info" if state == "done" else "warning", state, reason or "")


def add_event(connection: Connection, run_id: str, level: str, event: str, detail: str) -> None:
    """Note what happened to a run; never with text of a transcript or reply."""
    row = {"event_id": uuid4().hex, "run_id": run_id, "level": level, "event": event, "detail": detail}
    insert_new(connection, tables.RunEvent, [{**row, "created_at": tables.utc_now()}])


def mark_cancelled(connection: Connection, run_id: str) -> None:
    """Cancel a run that nobody works on."""
    connection.execute(
        update(RUNS)
        .where(RUNS.c.run_id == run_id, RUNS.c.state != "done")
        .values(state="cancelled", reason="cancelled", ended_at=tables.utc_now(), lease_until=None, owner=None)
    )


def pending(connection: Connection, run_id: str, after: int, limit: int) -> list[PlannedCell]:
    """The first cells of the plan behind number `after` whose result is not stored."""
    query = (
        select(*[CELLS.c[name] for name in PlannedCell._fields])
        .outerjoin(VERDICTS, VERDICTS.c.verdict_id == CELLS.c.cell_id)
        .where(CELLS.c.run_id == run_id, CELLS.c.seq > after, VERDICTS.c.verdict_id.is_(None))
        .order_by(CELLS.c.seq)
        .limit(limit)
    )
    return [PlannedCell(*row) for row in connection.execute(query)]


def progress(connection: Connection, run_id: str) -> Progress:
    """How far a run is."""
    query = (
        select(func.count(VERDICTS.c.verdict_id), func.count())
        .select_from(CELLS)
        .outerjoin(VERDICTS, VERDICTS.c.verdict_id == CELLS.c.cell_id)
        .where(CELLS.c.run_id == run_id)
    )
    done, total = connection.execute(query).one()
    return Progress(int(done), int(total))


def unscored(connection: Connection, run_id: str) -> dict[str, int]:
    """Verdicts of the run's cells that could not be scored, by reason."""
    query = (
        select(VERDICTS.c.unscored_reason, func.count())
        .join(CELLS, CELLS.c.cell_id == VERDICTS.c.verdict_id)
        .where(CELLS.c.run_id == run_id, VERDICTS.c.status == "unscored")
        .group_by(VERDICTS.c.unscored_reason)
        .order_by(VERDICTS.c.unscored_reason)
    )
    return {str(reason): number for reason, number in connection.execute(query)}


def spent(connection: Connection, run_id: str) -> list[RoleSpend]:
    """What a run used so far, by role."""
    query = (
        select(
            LOGS.c.role,
            func.count(),
            func.sum(LOGS.c.input_tokens),
            func.sum(LOGS.c.output_tokens),
            func.sum(LOGS.c.est_cost),
        )
        .where(LOGS.c.run_id == run_id)
        .group_by(LOGS.c.role)
    )
    return [RoleSpend(*row) for row in connection.execute(query)]


def read_run(connection: Connection, run_id: str) -> RunRow:
    """One run. Raises NotFound."""
    found = _runs(connection, RUNS.c.run_id == run_id)
    if not found:
        raise NotFound(f"No run {run_id!r} is stored. List them with `misjudge runs` or the tool runs.")
    return found[0]


def list_runs(connection: Connection, audit_id: str | None) -> list[RunRow]:
    """The latest runs, of one audit or of all."""
    return _runs(connection, RUNS.c.audit_id == audit_id if audit_id else true())


def _runs(connection: Connection, where: ColumnElement[bool]) -> list[RunRow]:
    audits = tables.table(tables.Audit)
    now = tables.utc_now()
    live = case((RUNS.c.lease_until > now, 1), else_=0)
    query = (
        select(RUNS, audits.c.name, live.label("live"))
        .join(audits, audits.c.audit_id == RUNS.c.audit_id)
        .where(where)
        .order_by(RUNS.c.created_at.desc(), RUNS.c.run_id)
    )
    return [
        RunRow(
            run_id=row.run_id,
            audit=row.name,
            audit_id=row.audit_id,
            operation=row.operation,
            # A running run whose lease ran out, or whose process is gone, is lost: it can be resumed.
            state="lost" if row.state == "running" and not _live(row) else row.state,
            reason=row.reason,
            live=_live(row),
            created_at=row.created_at.isoformat(timespec="seconds"),
            request_json=row.request_json,
        )
        for row in connection.execute(query)
    ]


def _live(row: Row[Any]) -> bool:
    return bool(row.live) and (row.owner_host != socket.gethostname() or _alive(row.owner_pid))


def _alive(pid: int | None) -> bool:
    """Whether a process with this id lives on this machine."""
    if pid is None:
        return False
    if os.name == "nt":  # os.kill would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

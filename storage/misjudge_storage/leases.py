"""Who works on a run: one owner at a time, by a lease that it has to renew.

A lease is taken in one statement and is free again when it ran out, or when its owner was a process of this
machine that no longer lives. Each claim counts the run's epoch up, so that an owner that slept through the end
of its lease can neither renew it nor store a verdict once somebody else has claimed the run.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, not_, or_, select, update

from misjudge_storage import columns, tables
from misjudge_storage.ingest import insert_new
from misjudge_storage.types import RunState

LEASE_SECONDS = 30
RENEW_SECONDS = 5

RUNS = tables.table(tables.Run)
AUDITS = tables.table(tables.Audit)
# Made once, since it is looked up for every result. Locked for Postgres, where somebody else could claim the run
# between this look and the commit; SQLite has one writer.
_HOLDS = (
    select(RUNS.c.epoch)
    .where(*[RUNS.c[name] == bindparam(name) for name in ("run_id", "owner", "epoch")])
    .with_for_update(read=True)
)


class Lease(NamedTuple):
    """A claim on a run. It holds as long as nobody else claims, ends or cancels the run."""

    run_id: str
    owner: str
    epoch: int


class Renewal(NamedTuple):
    """`held` False: the lease was lost. `stop_requested`: somebody wants the run to stop."""

    held: bool
    stop_requested: bool


def claim(connection: Connection, run_id: str, owner: str) -> Lease | None:
    """Take the run's lease, and with it forget a wish to stop; None when another owner holds it."""
    now = columns.utc_now()
    taken = (
        update(RUNS)
        .where(RUNS.c.run_id == run_id, or_(_free(connection, run_id, now), RUNS.c.owner == owner))
        .values(
            owner=owner,
            owner_host=socket.gethostname(),
            owner_pid=os.getpid(),
            lease_until=now + timedelta(seconds=LEASE_SECONDS),
            epoch=RUNS.c.epoch + 1,
            state="running",
            reason=None,
            ended_at=None,
            stop_requested=False,
            note=None,
        )
        .returning(RUNS.c.epoch)
    )
    epoch = connection.scalar(taken)
    return None if epoch is None else Lease(run_id, owner, epoch)


def others_at_work(connection: Connection, lease: Lease) -> list[Lease]:
    """Who works on other runs of the same audit. In the transaction of a claim: those who were there before it."""
    audit_id = select(RUNS.c.audit_id).where(RUNS.c.run_id == lease.run_id).scalar_subquery()
    # Postgres: of two claims at once, one has to see the other. SQLite has one writer.
    connection.execute(select(AUDITS.c.audit_id).where(AUDITS.c.audit_id == audit_id).with_for_update(key_share=True))
    others = select(RUNS).where(
        RUNS.c.audit_id == audit_id, RUNS.c.run_id != lease.run_id, RUNS.c.lease_until.is_not(None)
    )
    return _live(connection, others)


def still_at_work(connection: Connection, claims: Sequence[Lease]) -> list[str]:
    """The runs of those of these claims that hold until now."""
    mine = select(RUNS).where(RUNS.c.run_id.in_([claim.run_id for claim in claims]))
    return [lease.run_id for lease in _live(connection, mine) if lease in claims] if claims else []


def _live(connection: Connection, runs: Select[Any]) -> list[Lease]:
    return [
        Lease(row.run_id, row.owner, row.epoch)
        for row in connection.execute(runs)
        if is_live(row.owner_host, row.owner_pid, row.lease_until)
    ]


def renew(connection: Connection, lease: Lease) -> Renewal:
    """Prolong the lease, where it is held."""
    until = columns.utc_now() + timedelta(seconds=LEASE_SECONDS)
    prolonged = update(RUNS).where(_held(lease)).values(lease_until=until).returning(RUNS.c.stop_requested)
    stop_requested = connection.scalar(prolonged)
    return Renewal(stop_requested is not None, bool(stop_requested))


def holds(connection: Connection, lease: Lease) -> bool:
    """Whether the lease is held, and stays so until the end of a transaction that writes."""
    return connection.scalar(_HOLDS, lease._asdict()) is not None


def finish(connection: Connection, lease: Lease, state: RunState, reason: str | None) -> bool:
    """Give the lease back and note how the run ended; False, and nothing done, where the lease is not held."""
    if not _end(connection, _held(lease), state, reason):
        return False
    add_event(connection, lease.run_id, "info" if state == "done" else "warning", state, reason or "")
    return True


def request_stop(connection: Connection, run_id: str) -> bool:
    """Ask whoever works on the run to stop, which they see at their next renewal; False when nobody does."""
    now = columns.utc_now()
    worked_on = and_(RUNS.c.run_id == run_id, RUNS.c.state == "running", not_(_free(connection, run_id, now)))
    return connection.execute(update(RUNS).where(worked_on).values(stop_requested=True)).rowcount == 1


def cancel_idle(connection: Connection, run_id: str) -> bool:
    """Cancel a run that nobody works on; False when somebody does, or when it is done or was stopped: it says why."""
    ended = RUNS.c.state.in_(("done", "cancelled"))
    idle = and_(RUNS.c.run_id == run_id, not_(ended), _free(connection, run_id, columns.utc_now()))
    return _end(connection, idle, "cancelled", "cancelled")


def set_note(connection: Connection, lease: Lease, note: str | None) -> bool:
    """Say why the run pauses (None: it goes on); False where the lease is not held."""
    return connection.execute(update(RUNS).where(_held(lease)).values(note=note)).rowcount == 1


def add_event(connection: Connection, run_id: str, level: str, event: str, detail: str) -> None:
    """Note what happened to a run; never with text of a transcript or reply."""
    row = {"event_id": uuid4().hex, "run_id": run_id, "level": level, "event": event, "detail": detail}
    insert_new(connection, tables.RunEvent, [{**row, "created_at": columns.utc_now()}])


def is_live(owner_host: str | None, owner_pid: int | None, lease_until: datetime | None) -> bool:
    """Whether somebody works on a run with these facts, as far as this machine can tell."""
    if lease_until is None or lease_until <= columns.utc_now():
        return False
    return owner_host != socket.gethostname() or _alive(owner_pid)


def _held(lease: Lease) -> ColumnElement[bool]:
    return and_(RUNS.c.run_id == lease.run_id, RUNS.c.owner == lease.owner, RUNS.c.epoch == lease.epoch)


def _free(connection: Connection, run_id: str, now: datetime) -> ColumnElement[bool]:
    """The condition that nobody holds the run; a holder that is dead is named, so that only one claimer replaces it."""
    over = or_(RUNS.c.lease_until.is_(None), RUNS.c.lease_until <= now)
    holder = connection.execute(select(RUNS).where(RUNS.c.run_id == run_id, RUNS.c.lease_until > now)).first()
    if holder is None or is_live(holder.owner_host, holder.owner_pid, holder.lease_until):
        return over
    return or_(over, and_(RUNS.c.owner == holder.owner, RUNS.c.epoch == holder.epoch))


def _end(connection: Connection, which: ColumnElement[bool], state: RunState, reason: str | None) -> bool:
    values: dict[str, Any] = {"state": state, "reason": reason, "ended_at": columns.utc_now()}
    nobody = {"lease_until": None, "owner": None, "stop_requested": False, "note": None}
    return connection.execute(update(RUNS).where(which).values(**values, **nobody)).rowcount == 1


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

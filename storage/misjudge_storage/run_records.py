"""Runs in the store: the plan, who works on it, and what is left.

Who works on a run is in `leases`, how far it is in `run_progress`. A cell is done when the result with its id is
stored, so resuming is plan minus stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Row, func, select, true, update

from misjudge_storage import columns, tables
from misjudge_storage.errors import NotFound
from misjudge_storage.ingest import insert_new
from misjudge_storage.leases import LEASE_SECONDS, is_live
from misjudge_storage.run_progress import CELLS_AND_RESULTS, RESULT, tried
from misjudge_storage.types import Order, RunState

RUNS = tables.table(tables.Run)
CELLS = tables.table(tables.Cell)


class PlannedCell(NamedTuple):
    """One unit of work to do; `actor_id` is the fingerprint of the judge or agent that does it.

    `variant`, only of a probe, is what it changes (see `tables.ProbeVerdict`). `task_id`, only of work on rubrics, is
    the task whose rubric is written or matched; what has a `draft_id` waits until that generated rubric is stored.
    """

    cell_id: str
    kind: str
    actor_id: str
    pair_id: str | None
    trajectory_id: str | None
    order_shown: Order | None
    repeat: int
    seq: int = 0
    variant: str | None = None
    task_id: str | None = None
    draft_id: str | None = None


class RunRow(NamedTuple):
    """A run as stored; `live` says that somebody works on it now, `note` why that one pauses."""

    run_id: str
    audit: str
    audit_id: str
    operation: str
    state: RunState
    reason: str | None
    live: bool
    created_at: str
    request_json: str
    budget_json: str | None = None
    stop_requested: bool = False
    note: str | None = None


def create_run(
    connection: Connection,
    audit_id: str,
    operation: str,
    request_json: str,
    request_key: str | None,
    cells: Sequence[PlannedCell],
    budget_json: str | None = None,
) -> str:
    """Store a run with its whole plan; its id. Cells are worked on in the order given."""
    run_id = f"run_{uuid4().hex[:16]}"
    run = {
        "run_id": run_id,
        "audit_id": audit_id,
        "operation": operation,
        "request_json": request_json,
        "request_key": request_key,
        "budget_json": budget_json,
        "state": "queued",
        "epoch": 0,
        "created_at": columns.utc_now(),
    }
    insert_new(connection, tables.Run, [run])
    insert_new(connection, tables.Cell, [{**c._asdict(), "run_id": run_id, "seq": n} for n, c in enumerate(cells, 1)])
    return run_id


def set_budget(connection: Connection, run_id: str, budget_json: str | None) -> None:
    """Put another budget in force, such as a larger one for a run that is resumed."""
    connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(budget_json=budget_json))


def run_with_key(connection: Connection, request_key: str) -> str | None:
    """The run that was started with this key, if any."""
    return connection.scalar(select(RUNS.c.run_id).where(RUNS.c.request_key == request_key))


def cell_ids(connection: Connection, run_id: str) -> set[str]:
    """Ids of the cells that the run planned."""
    return set(connection.scalars(select(CELLS.c.cell_id).where(CELLS.c.run_id == run_id)))


def runs_under_way(connection: Connection, audit_id: str) -> list[str]:
    """Runs of this audit that somebody works on, or was about to a moment ago."""
    lately = columns.utc_now() - timedelta(seconds=LEASE_SECONDS)
    rows = _runs(connection, (RUNS.c.audit_id == audit_id) & RUNS.c.state.in_(("running", "queued")))
    fresh = set(connection.scalars(select(RUNS.c.run_id).where(RUNS.c.created_at > lately)))
    return [row.run_id for row in rows if row.live or (row.state == "queued" and row.run_id in fresh)]


def pending(
    connection: Connection, run_id: str, after: int, limit: int, only_failed: bool = False
) -> list[PlannedCell]:
    """The first cells of the plan behind number `after` whose result is not stored; of those asked for, if wanted."""
    query = (
        select(*[CELLS.c[name] for name in PlannedCell._fields])
        .select_from(CELLS_AND_RESULTS)
        .where(CELLS.c.run_id == run_id, CELLS.c.seq > after, RESULT.is_(None))
        .order_by(CELLS.c.seq)
        .limit(limit)
    )
    return [PlannedCell(*row) for row in connection.execute(query.where(tried(run_id)) if only_failed else query)]


def planned_cells(connection: Connection, run_id: str, cell_ids: Sequence[str]) -> list[PlannedCell]:
    """These cells of the run's plan."""
    found: list[PlannedCell] = []
    for start in range(0, len(cell_ids), 500):
        some = CELLS.c.cell_id.in_(cell_ids[start : start + 500])
        query = select(*[CELLS.c[name] for name in PlannedCell._fields]).where(CELLS.c.run_id == run_id, some)
        found.extend(PlannedCell(*row) for row in connection.execute(query))
    return found


def planned_by(connection: Connection, run_ids: Sequence[str], cell_ids: Sequence[str]) -> set[str]:
    """Which of these cells any of these runs has."""
    found: set[str] = set()
    for start in range(0, len(cell_ids) if run_ids else 0, 500):
        some = CELLS.c.cell_id.in_(cell_ids[start : start + 500])
        found.update(connection.scalars(select(CELLS.c.cell_id).where(CELLS.c.run_id.in_(run_ids), some)))
    return found


def cells_of_single_pair(connection: Connection, run_id: str) -> list[PlannedCell]:
    """The cells of a run that judge its pair, where it has a single one; else none."""
    query = select(*[CELLS.c[name] for name in PlannedCell._fields]).where(
        CELLS.c.run_id == run_id, CELLS.c.pair_id.is_not(None)
    )
    pairs = select(func.count(CELLS.c.pair_id.distinct())).where(CELLS.c.run_id == run_id)
    if connection.scalar(pairs) != 1:
        return []
    return [PlannedCell(*row) for row in connection.execute(query.order_by(CELLS.c.seq))]


def planned_orders(connection: Connection, run_ids: Sequence[str]) -> dict[tuple[str, int], Order]:
    """(pair, repeat) → the order in which one of these runs was to show it; of runs that show each in one order."""
    query = select(CELLS.c.pair_id, CELLS.c.repeat, CELLS.c.order_shown).distinct()
    found: dict[tuple[str, int], Order] = {}
    for run_id in run_ids:
        mine = connection.execute(query.where(CELLS.c.run_id == run_id, CELLS.c.kind == "pairwise"))
        found.update({(pair_id, repeat): order for pair_id, repeat, order in mine})
    return found


def probed_orders(connection: Connection, audit_id: str) -> dict[tuple[str, int], Order]:
    """(pair, 0) → the order in which probes of this audit show it, of any judge; that of the unchanged calls."""
    unchanged = CELLS.c.variant.like("baseline.%")
    query = (
        select(CELLS.c.pair_id, func.min(CELLS.c.order_shown))
        .join(RUNS, RUNS.c.run_id == CELLS.c.run_id)
        .where(RUNS.c.audit_id == audit_id, CELLS.c.kind == "probe", unchanged)
        .group_by(CELLS.c.pair_id)
    )
    return {(pair_id, 0): order for pair_id, order in connection.execute(query)}


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
    query = (
        select(RUNS, audits.c.name)
        .join(audits, audits.c.audit_id == RUNS.c.audit_id)
        .where(where)
        .order_by(RUNS.c.created_at.desc(), RUNS.c.run_id)
    )
    return [_run(row) for row in connection.execute(query)]


def _run(row: Row[Any]) -> RunRow:
    live = is_live(row.owner_host, row.owner_pid, row.lease_until)
    return RunRow(
        run_id=row.run_id,
        audit=row.name,
        audit_id=row.audit_id,
        operation=row.operation,
        # A running run whose lease ran out, or whose process is gone, is lost: it can be resumed.
        state="lost" if row.state == "running" and not live else row.state,
        reason=row.reason,
        live=live,
        created_at=row.created_at.isoformat(timespec="seconds"),
        request_json=row.request_json,
        budget_json=row.budget_json,
        stop_requested=row.stop_requested,
        note=row.note,
    )

"""Stored runs, and results of their cells as a worker stores them."""

from __future__ import annotations

from typing import Any, NamedTuple

from builders import JUDGE, episode, pair, verdict
from misjudge_storage.engine import Store
from misjudge_storage.hashing import digest
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest
from misjudge_storage.judging_records import CellResult
from misjudge_storage.rows import cell_id, log_row, verdict_row
from misjudge_storage.run_records import PlannedCell, create_run
from misjudge_storage.types import Judge, Log, Order, Preference

ORDERS: tuple[Order, Order] = ("AB", "BA")


class PlannedRun(NamedTuple):
    """A queued run of an audit's pairs `p0`, `p1`, … in both orders; each pair has a task of its own, `t0`, `t1`, …"""

    run_id: str
    audit_id: str
    judge: Judge
    judge_id: str
    cells: tuple[PlannedCell, ...]


def planned_run(store: Store, pairs: int = 2, audit: str = "demo", judge: Judge = JUDGE) -> PlannedRun:
    """Store an audit of so many pairs, and a run that is to judge them."""
    records = (pair(f"p{n}", episode("x", task=f"t{n}"), episode("y", task=f"t{n}"), line=n + 1) for n in range(pairs))
    with store.write() as connection:
        audit_id = ensure_audit(connection, audit)
        ingest(connection, audit_id, "file", records)
        judge_id = ensure_judge(connection, audit_id, judge)
        cells = tuple(
            PlannedCell(cell_id(audit_id, judge_id, f"p{n}", order, 0), "pairwise", judge_id, f"p{n}", None, order, 0)
            for n in range(pairs)
            for order in ORDERS
        )
        run_id = create_run(connection, audit_id, "judge", "{}", None, cells)
    return PlannedRun(run_id, audit_id, judge, judge_id, cells)


def attempt(run: PlannedRun, cell: PlannedCell, number: int = 1, **said: Any) -> dict[str, Any]:
    """The row of one attempt for a cell."""
    log = Log(model=run.judge.model, order_shown=cell.order_shown, attempt=number, **said)
    links = {"run_id": run.run_id, "cell_id": cell.cell_id, "pair_id": cell.pair_id, "judge_id": run.judge_id}
    return log_row(run.audit_id, log, [run.run_id, cell.cell_id, number, log.model_dump()], **links)


def result(
    run: PlannedRun, number: int, winner: Preference | None = "A", *, lost: bool = False, **said: Any
) -> CellResult:
    """The result of the run's cell with this index: one attempt, and a verdict; None is unscored.

    A lost one is stored beside its cell, which stays open.
    """
    cell = run.cells[number]
    log = attempt(run, cell, **said)
    row = verdict_row(
        run.audit_id, run.judge_id, cell.pair_id or "", verdict(winner, cell.order_shown, judge=run.judge)
    )
    identity = {"verdict_id": digest("lost", [cell.cell_id, said])} if lost else {}
    return CellResult({**row, "log_id": log["log_id"], **identity}, (log,))

"""Verdicts of probes in the store: cells of a run like others, and apart from every number of the audit."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from sqlalchemy import text

from builders import verdict
from misjudge_storage import leases, run_progress
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.hashing import digest
from misjudge_storage.judging_records import CellResult, store_results
from misjudge_storage.leases import Lease
from misjudge_storage.rows import probe_row
from misjudge_storage.run_progress import Progress, RoleSpend, Stage, stored_cells
from misjudge_storage.run_records import PlannedCell, create_run, pending, planned_cells, planned_orders
from misjudge_storage.types import Order, Preference
from run_builders import ORDERS, PlannedRun, attempt, planned_run, result

VARIANTS: tuple[tuple[str, int], ...] = (("baseline.en.v1", 0), ("baseline.en.v1", 1), ("padding.en.v1:A", 0))
VIEWS = ("audit_pairs", "pairwise", "pair_gold", "reduced_verdicts", "trajectory_outcomes", "trajectory_costs")


def probe_run(store: Store, run: PlannedRun, order: Order = "BA") -> PlannedRun:
    """A run that probes the judge of a planned one on its pairs."""
    pairs = dict.fromkeys(cell.pair_id for cell in run.cells)
    cells = tuple(
        PlannedCell(
            digest("probe", [run.audit_id, run.judge_id, pair_id, order, repeat, variant]),
            *("probe", run.judge_id, pair_id, None, order, repeat),
            variant=variant,
        )
        for pair_id in pairs
        for variant, repeat in VARIANTS
    )
    with store.write() as connection:
        return run._replace(run_id=create_run(connection, run.audit_id, "probe_judge", "{}", None, cells), cells=cells)


def probed(run: PlannedRun, number: int, winner: Preference | None = "A", **said: Any) -> CellResult:
    """The result of a probe's cell: one attempt and a verdict; None is unscored."""
    cell = run.cells[number]
    log = {**attempt(run, cell, **{"shown_json": '{"masked": {"GPT-4o": 2}}', **said}), "role": "probe"}
    found = verdict(winner, cell.order_shown, cell.repeat, judge=run.judge)
    row = probe_row(run.audit_id, run.judge_id, cell.cell_id, cell.pair_id or "", cell.variant or "", found)
    return CellResult(None, (log,), probe={**row, "log_id": log["log_id"]})


def put(store: Store, *results: CellResult, lease: Lease | None = None) -> bool:
    with store.write() as connection:
        return store_results(connection, results, lease).held


def found(store: Store, query: str) -> list[dict[str, Any]]:
    with store.read() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


def test_a_probe_says_what_was_changed_and_keeps_its_call(any_store: Store) -> None:
    run = probe_run(any_store, planned_run(any_store))
    assert put(any_store, probed(run, 0), probed(run, 2, "B", raw_output="B"))
    rows = found(any_store, "SELECT * FROM probe_verdicts ORDER BY probe")
    baseline, padding = rows
    assert (baseline["probe"], baseline["variant"], baseline["side"]) == ("baseline", "baseline.en.v1", None)
    assert (padding["probe"], padding["variant"], padding["side"]) == ("padding", "padding.en.v1:A", "A")
    assert (padding["probe_verdict_id"], padding["pair_id"]) == (run.cells[2].cell_id, "p0")
    assert (padding["order_shown"], padding["winner"], padding["status"]) == ("BA", "B", "scored")
    (log,) = found(any_store, f"SELECT * FROM judge_logs WHERE log_id = '{padding['log_id']}'")
    assert (log["role"], log["raw_output"], log["cell_id"]) == ("probe", "B", run.cells[2].cell_id)
    assert json.loads(log["shown_json"]) == {"masked": {"GPT-4o": 2}}


def test_a_probe_is_stored_once_and_only_under_a_held_lease(any_store: Store) -> None:
    run = probe_run(any_store, planned_run(any_store))
    with any_store.write() as connection:
        lease = leases.claim(connection, run.run_id, "one")
    assert lease is not None
    assert put(any_store, probed(run, 0, "A"), lease=lease)
    assert put(any_store, probed(run, 0, "B", raw_output="again"), lease=lease)
    with any_store.write() as connection:
        leases.finish(connection, lease, "cancelled", "stopped")
    assert not put(any_store, probed(run, 1), lease=lease)
    assert [row["winner"] for row in found(any_store, "SELECT winner FROM probe_verdicts")] == ["A"]
    assert len(found(any_store, "SELECT log_id FROM judge_logs")) == 3, "what was paid for is kept"


def test_a_probes_cells_are_done_when_their_verdict_is_stored(any_store: Store) -> None:
    run = probe_run(any_store, planned_run(any_store))
    now = utc_now()
    put(any_store, probed(run, 0), probed(run, 1, None), probed(run, 4, "tie"))
    put(any_store, CellResult(None, (attempt(run, run.cells[2], error="RateLimited"),)))
    with any_store.read() as connection:
        assert run_progress.progress(connection, run.run_id) == Progress(3, 6)
        assert run_progress.stages(connection, run.run_id) == [Stage("probe", 3, 6)]
        assert run_progress.unscored(connection, run.run_id) == {"parse_error": 1}
        assert run_progress.failed_cells(connection, run.run_id) == [run.cells[2].cell_id]
        left = pending(connection, run.run_id, 0, 10)
        assert [cell._replace(seq=0) for cell in left] == [run.cells[2], run.cells[3], run.cells[5]]
        assert [cell.seq for cell in pending(connection, run.run_id, 0, 10, only_failed=True)] == [3]
        (whole,) = planned_cells(connection, run.run_id, [run.cells[2].cell_id])
        assert whole.variant == "padding.en.v1:A"
        ids = [cell.cell_id for cell in run.cells]
        assert stored_cells(connection, ids) == {ids[0], ids[1], ids[4]}
        assert run_progress.replies_since(connection, run.run_id, now).number == 3
        assert run_progress.replies_since(connection, run.run_id, now + timedelta(minutes=1)) == (0, None)


def test_unscored_verdicts_of_both_kinds_are_counted_together(any_store: Store) -> None:
    judging = planned_run(any_store)
    probing = probe_run(any_store, judging)
    with any_store.write() as connection:
        cells = (*judging.cells, *probing.cells)
        mixed = create_run(connection, judging.audit_id, "both", "{}", None, cells)
    put(any_store, result(judging, 0, None), probed(probing, 0, None), probed(probing, 1, None))
    with any_store.read() as connection:
        assert run_progress.unscored(connection, mixed) == {"parse_error": 3}
        assert run_progress.unscored(connection, judging.run_id) == {"parse_error": 1}
        assert run_progress.stages(connection, mixed) == [Stage("pairwise", 1, 4), Stage("probe", 2, 6)]


def test_what_probes_cost_is_counted_under_a_role_of_its_own(any_store: Store) -> None:
    run = probe_run(any_store, planned_run(any_store))
    put(any_store, probed(run, 0, input_tokens=10, output_tokens=2, est_cost=0.5), probed(run, 1, est_cost=0.25))
    with any_store.read() as connection:
        assert run_progress.spent(connection, run.run_id) == [
            RoleSpend("probe", 2, 0, 10, 2, 0.75, replies_without_price=0)
        ]
        assert run_progress.spent_by_task(connection, run.run_id) == {"t0": 0.75}
        assert run_progress.calls_made(connection, run.run_id) == 2


def test_no_view_moves_when_probes_are_added(any_store: Store) -> None:
    judging = planned_run(any_store, pairs=3)
    put(
        any_store,
        result(judging, 0, "A", est_cost=1.0, input_tokens=7, output_tokens=1),
        result(judging, 1, "B", est_cost=2.0, input_tokens=8, output_tokens=2),
        result(judging, 2, None),
    )
    before = {view: found(any_store, f"SELECT * FROM {view} ORDER BY 1, 2") for view in VIEWS}
    for order in ORDERS:
        probing = probe_run(any_store, judging, order)
        for number in range(len(probing.cells)):
            put(any_store, probed(probing, number, "B", est_cost=64.0, input_tokens=512, output_tokens=128))
    after = {view: found(any_store, f"SELECT * FROM {view} ORDER BY 1, 2") for view in VIEWS}
    assert len(found(any_store, "SELECT * FROM probe_verdicts")) == 18
    assert after == before
    assert before["audit_pairs"] and before["pairwise"]


def test_the_order_that_a_run_planned_is_that_of_its_pairs_and_of_no_probe(any_store: Store) -> None:
    judging = planned_run(any_store)
    single = tuple(cell for cell in judging.cells if cell.order_shown == "BA")
    probing = probe_run(any_store, judging, "AB")
    with any_store.write() as connection:
        one_order = create_run(connection, judging.audit_id, "judge", "{}", None, single[:1])
        other = create_run(connection, judging.audit_id, "judge", "{}", None, single[1:])
        assert planned_orders(connection, [one_order]) == {("p0", 0): "BA"}
        assert planned_orders(connection, [one_order, other, probing.run_id]) == {("p0", 0): "BA", ("p1", 0): "BA"}
        assert planned_orders(connection, []) == {}

"""What a cascade reads from the store and adds to a run, on SQLite and on Postgres."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text, update

from misjudge_storage import leases
from misjudge_storage.cascade_records import (
    Question,
    Said,
    add_cells,
    buckets,
    judged_by,
    mean_call_costs,
    of_other_runs,
    planned,
    questions,
    said,
)
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.judging_records import CellResult, store_results
from misjudge_storage.run_records import RUNS, PlannedCell, create_run, pending, read_run
from rollout_builders import rollout_run
from run_builders import PlannedRun, attempt, planned_run, result


def put(store: Store, *results: CellResult) -> None:
    with store.write() as connection:
        store_results(connection, results)


def ids(cells: tuple[PlannedCell, ...]) -> list[str]:
    return [cell.cell_id for cell in cells]


def another(store: Store, run: PlannedRun, cells: tuple[PlannedCell, ...]) -> str:
    """A later run of the same audit that somebody works on."""
    with store.write() as connection:
        run_id = create_run(connection, run.audit_id, "judge", "{}", None, cells)
        assert leases.claim(connection, run_id, "another") is not None
        later = utc_now() + timedelta(minutes=1)
        connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(created_at=later))
    return run_id


def test_what_a_judge_is_asked_comes_in_the_order_of_the_plan_with_what_its_pair_is_declared(any_store: Store) -> None:
    run = rollout_run(any_store, tasks=2, bucket="near")
    judging = [cell for cell in run.cells if cell.pair_id is not None]
    with any_store.read() as connection:
        found = questions(connection, run.run_id, judging[0].actor_id)
        assert questions(connection, run.run_id, "nobody") == []
    assert [one.cell.cell_id for one in found] == [cell.cell_id for cell in judging]
    assert {one.bucket for one in found} == {"near"}, "of pairs that are only planned"


def test_a_verdict_is_found_by_its_cell_and_a_lost_one_beside_it_is_not(any_store: Store) -> None:
    run = planned_run(any_store)
    put(any_store, result(run, 0, "B"), result(run, 1, None), result(run, 2, lost=True))
    with any_store.read() as connection:
        found = said(connection, ids(run.cells))
        by_pair = judged_by(connection, run.audit_id, [run.judge_id])
        declared = buckets(connection, run.audit_id, ["p0", "p1", "p2"])
    assert {cell_id: one.winner for cell_id, one in found.items()} == {
        run.cells[0].cell_id: "B",
        run.cells[1].cell_id: None,
    }
    assert isinstance(found[run.cells[0].cell_id], Said) and found[run.cells[0].cell_id].order_shown == "AB"
    assert by_pair.keys() > found.keys() and sorted(by_pair.values()) == ["p0", "p0", "p1"]
    assert declared == {"p0": None, "p1": None}


def test_cells_come_behind_the_last_one_and_each_only_once(any_store: Store) -> None:
    run = planned_run(any_store)
    new = [cell._replace(cell_id=f"more {n}", actor_id="other") for n, cell in enumerate(run.cells)]
    with any_store.write() as connection:
        assert add_cells(connection, run.run_id, new[:2]) == 2
        assert add_cells(connection, run.run_id, new) == 2
        assert add_cells(connection, run.run_id, []) == 0
        found = pending(connection, run.run_id, 0, 100)
        assert planned(connection, run.run_id, [*ids(tuple(new)), "nothing"]) == set(ids(tuple(new)))
        assert [one.cell.cell_id for one in questions(connection, run.run_id, "other")] == ids(tuple(new))
    assert [cell.cell_id for cell in found] == [*ids(run.cells), *ids(tuple(new))]
    assert len({cell.seq for cell in found}) == 8


def test_only_runs_under_way_have_a_claim_to_their_cells(any_store: Store) -> None:
    run = planned_run(any_store)
    other = another(any_store, run, run.cells[1:3])
    shared = set(ids(run.cells[1:3]))
    with any_store.write() as connection:
        assert leases.claim(connection, run.run_id, "one") is not None
    with any_store.read() as connection:
        mine, theirs = read_run(connection, run.run_id), read_run(connection, other)
        assert of_other_runs(connection, mine, ids(run.cells)) == shared
        assert of_other_runs(connection, theirs, ids(run.cells)) == set(ids(run.cells))
        assert of_other_runs(connection, mine, []) == set()
    with any_store.write() as connection:
        connection.execute(text("UPDATE runs SET state = 'done', lease_until = NULL"))
    with any_store.read() as connection:
        assert of_other_runs(connection, mine, ids(run.cells)) == set()


@pytest.mark.parametrize("unpriced", [{"est_cost": None}, {"est_cost": 9.0, "cached_from": "log"}])
def test_a_call_costs_what_all_of_its_attempts_cost(any_store: Store, unpriced: dict[str, Any]) -> None:
    run = planned_run(any_store)
    second = attempt(run, run.cells[0], 2, est_cost=0.5)
    put(any_store, result(run, 0, est_cost=0.25)._replace(logs=(attempt(run, run.cells[0], est_cost=0.25), second)))
    put(any_store, result(run, 1, est_cost=1.25), result(run, 2, **unpriced))
    with any_store.read() as connection:
        assert mean_call_costs(connection, run.audit_id, [run.judge_id, "nobody"]) == {run.judge_id: 1.0}
        assert mean_call_costs(connection, "elsewhere", [run.judge_id]) == {}


def test_a_question_holds_the_cell_as_it_was_planned(any_store: Store) -> None:
    run = planned_run(any_store, pairs=1)
    with any_store.read() as connection:
        first, second = questions(connection, run.run_id, run.judge_id)
    assert first == Question(run.cells[0]._replace(seq=1), None)
    assert second == Question(run.cells[1]._replace(seq=2), None)

"""Where verdicts come from, and runs that ended too early, on SQLite and on Postgres."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from builders import JUDGE, pair, verdict
from misjudge_storage import leases
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_judge, ingest
from misjudge_storage.judging_records import CellResult, store_results
from misjudge_storage.leases import RUNS
from misjudge_storage.provenance_records import provenance, unfinished_runs
from misjudge_storage.rows import judge_fingerprint, verdict_row
from misjudge_storage.run_records import create_run
from misjudge_storage.summary_records import unscored_reasons
from misjudge_storage.summary_values import Provenance, UnfinishedRun
from misjudge_storage.types import RunState
from misjudge_storage.unscored_verdicts import hold_unscored
from run_builders import PlannedRun, planned_run, result

IMPORTED = JUDGE.model_copy(update={"label": "elsewhere", "origin": "imported"})


def put(store: Store, *results: CellResult) -> None:
    with store.write() as connection:
        for one in results:
            store_results(connection, [one])


def ask(store: Store, function: Any, run: PlannedRun) -> Any:
    with store.read() as connection:
        return function(connection, run.audit_id)


def never_asked(run: PlannedRun, number: int) -> CellResult:
    cell = run.cells[number]
    late = verdict(None, cell.order_shown, judge=run.judge, unscored_reason="budget")
    return CellResult(verdict_row(run.audit_id, run.judge_id, cell.pair_id or "", late), ())


def end(store: Store, run_id: str, state: RunState, reason: str | None) -> None:
    with store.write() as connection:
        lease = leases.claim(connection, run_id, "one")
        assert lease is not None
        assert leases.finish(connection, lease, state, reason)


def test_verdicts_are_asked_for_or_cached_or_imported_or_never_asked_for(any_store: Store) -> None:
    run = planned_run(any_store, pairs=3)
    with any_store.write() as connection:
        records = [pair("i1", None, None, verdict("A", "AB", judge=IMPORTED), verdict(None, "BA", judge=IMPORTED))]
        ingest(connection, run.audit_id, "more", records)
    put(any_store, result(run, 0), result(run, 1, None), result(run, 2, cached_from="log_1"))
    put(any_store, never_asked(run, 3))
    found = {one.judge_id: one for one in ask(any_store, provenance, run)}
    assert found == {
        run.judge_id: Provenance(run.judge_id, asked=2, cached=1, imported=0, unasked=1),
        judge_fingerprint(IMPORTED): Provenance(judge_fingerprint(IMPORTED), 0, 0, 2, 0),
    }


def test_a_call_that_was_lost_and_made_again_counts_once(any_store: Store) -> None:
    run = planned_run(any_store, pairs=3)
    put(any_store, result(run, 0, None, lost=True, error="CallTimeout"), result(run, 0, cached_from="log_1"))
    put(any_store, result(run, 1, None, lost=True, error="CallTimeout"), result(run, 1, None, lost=True))
    put(any_store, result(run, 2, None, lost=True), result(run, 2, "B", raw_output="B"))
    assert ask(any_store, provenance, run) == [Provenance(run.judge_id, asked=2, cached=1, imported=0, unasked=0)]


def test_other_audits_and_judges_without_a_verdict_are_left_out(any_store: Store) -> None:
    run, other = planned_run(any_store), planned_run(any_store, audit="other")
    with any_store.write() as connection:
        ensure_judge(connection, run.audit_id, IMPORTED)
    put(any_store, result(other, 0))
    assert ask(any_store, provenance, run) == ask(any_store, unfinished_runs, run) == []


@pytest.mark.parametrize("state", ["failed", "cancelled", "done"])
def test_a_run_that_ended_before_its_plan_was_done_is_named(any_store: Store, state: RunState) -> None:
    run = planned_run(any_store)
    put(any_store, result(run, 0))
    end(any_store, run.run_id, state, "max_usd is reached")
    assert ask(any_store, unfinished_runs, run) == [UnfinishedRun(run.run_id, state, "max_usd is reached", 1, 4)]


def test_runs_that_wait_or_go_on_or_are_done_have_not_ended_early(any_store: Store) -> None:
    run = planned_run(any_store)
    assert ask(any_store, unfinished_runs, run) == []
    with any_store.write() as connection:
        leases.claim(connection, run.run_id, "one")
    assert ask(any_store, unfinished_runs, run) == []
    put(any_store, *(result(run, number) for number in range(4)))
    end(any_store, run.run_id, "done", None)
    assert ask(any_store, unfinished_runs, run) == []


def test_a_lost_run_has_ended_and_another_run_may_finish_its_plan(any_store: Store) -> None:
    run = planned_run(any_store)
    with any_store.write() as connection:
        leases.claim(connection, run.run_id, "one")
        connection.execute(update(RUNS).values(lease_until=None))
    assert ask(any_store, unfinished_runs, run) == [UnfinishedRun(run.run_id, "lost", None, 0, 4)]
    with any_store.write() as connection:
        other = run._replace(run_id=create_run(connection, run.audit_id, "judge", "{}", None, run.cells))
    put(any_store, *(result(other, number) for number in range(2)))
    with any_store.write() as connection:
        connection.execute(update(RUNS).where(RUNS.c.run_id == other.run_id).values(state="done", ended_at=utc_now()))
    left = [one.run_id for one in ask(any_store, unfinished_runs, run)]
    assert run.run_id in left, "one that had been asked less does not do it"
    put(any_store, *(result(other, number) for number in range(2, 4)))
    assert ask(any_store, unfinished_runs, run) == []


def test_what_was_unscored_is_counted_once_by_all_that_ask_over_a_connection(any_store: Store) -> None:
    run = planned_run(any_store, pairs=3)
    put(any_store, result(run, 0, None, lost=True), result(run, 1, None), result(run, 2))
    with any_store.read() as connection:
        asked = [(provenance(connection, run.audit_id), unscored_reasons(connection, run.audit_id)) for _ in range(2)]
    assert asked[0] == asked[1] == (ask(any_store, provenance, run), ask(any_store, unscored_reasons, run))
    assert sum(asked[0][1][run.judge_id].values()) == 2


def test_that_an_unscored_question_was_asked_again_is_found_by_its_subject(store: Store) -> None:
    run = planned_run(store, pairs=3)
    put(store, result(run, 0, None, lost=True))
    statements: list[str] = []
    with store.read() as connection:
        dbapi = connection.connection.dbapi_connection
        assert dbapi is not None
        dbapi.set_trace_callback(statements.append)
        hold_unscored(connection, run.audit_id)
        dbapi.set_trace_callback(None)
        plan = [step.detail for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statements[-1]}")]
    asked_again = plan[next(place for place, step in enumerate(plan) if "CORRELATED" in step) :]
    for index in ("verdicts_by_pair (audit_id=? AND pair_id=? AND judge_id=?)", "verdicts_by_trajectory"):
        assert any(index in step for step in asked_again), plan
    assert not any("verdicts_by_time" in step for step in asked_again), plan

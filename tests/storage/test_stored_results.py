"""Results under a lease, and the replies that the cache may serve again, on SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text, update

from builders import pair
from misjudge_storage import leases
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store, open_store
from misjudge_storage.ingest import ensure_audit, ingest, insert_new
from misjudge_storage.judging_records import CellResult, StoredReply, store_results, stored_replies
from misjudge_storage.leases import RUNS, Lease
from misjudge_storage.tables import JudgeLog
from misjudge_storage.types import Log
from run_builders import PlannedRun, attempt, planned_run, result


def claimed(store: Store, run: PlannedRun, owner: str = "one") -> Lease:
    with store.write() as connection:
        lease = leases.claim(connection, run.run_id, owner)
    assert lease is not None
    return lease


def taken_over(store: Store, run: PlannedRun) -> Lease:
    """The lease of another owner, which claimed the run while the first one slept."""
    with store.write() as connection:
        over = update(RUNS).where(RUNS.c.run_id == run.run_id)
        connection.execute(over.values(lease_until=utc_now() - timedelta(seconds=1)))
    return claimed(store, run, "two")


def put(store: Store, one: CellResult, lease: Lease | None = None) -> bool:
    with store.write() as connection:
        return store_results(connection, [one], lease).held


def found(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def stored(store: Store) -> tuple[int, int]:
    """Verdicts and logs."""
    ((verdicts, logs),) = found(store, "SELECT (SELECT COUNT(*) FROM verdicts), (SELECT COUNT(*) FROM judge_logs)")
    return verdicts, logs


def test_a_result_under_a_held_lease_is_stored_once(any_store: Store) -> None:
    run = planned_run(any_store)
    lease = claimed(any_store, run)
    assert put(any_store, result(run, 0), lease)
    assert put(any_store, result(run, 0), lease)
    assert stored(any_store) == (1, 1)


def test_a_cell_that_another_run_stored_first_keeps_that_verdict(any_store: Store) -> None:
    run = planned_run(any_store)
    assert put(any_store, result(run, 0, "A"))
    assert put(any_store, result(run, 0, "B", raw_output="B"), claimed(any_store, run))
    assert found(any_store, "SELECT winner FROM verdicts") == [("A",)]
    assert stored(any_store) == (1, 2)


def test_an_owner_that_lost_its_lease_stores_what_it_paid_for_but_no_verdict(any_store: Store) -> None:
    run = planned_run(any_store)
    slept = claimed(any_store, run)
    awake = taken_over(any_store, run)
    assert not put(any_store, result(run, 0, "B", raw_output="B", reply_key="key"), slept)
    assert stored(any_store) == (0, 1)
    assert put(any_store, result(run, 0, "A", raw_output="A"), awake)
    assert not put(any_store, result(run, 0, "B", raw_output="B"), slept)
    assert found(any_store, "SELECT winner FROM verdicts") == [("A",)]
    with any_store.read() as connection:
        assert list(stored_replies(connection, ["key"])) == ["key"]


def test_an_ended_run_takes_no_more_verdicts(any_store: Store) -> None:
    run = planned_run(any_store)
    lease = claimed(any_store, run)
    with any_store.write() as connection:
        leases.finish(connection, lease, "cancelled", "stopped")
    assert not put(any_store, result(run, 0), lease)
    assert stored(any_store) == (0, 1)


def test_attempts_without_a_verdict_say_whether_the_lease_is_held(any_store: Store) -> None:
    run = planned_run(any_store)
    lease = claimed(any_store, run)
    first, second = (attempt(run, run.cells[0], n, error="RateLimited") for n in (1, 2))
    assert put(any_store, CellResult(None, (first,)), lease)
    taken_over(any_store, run)
    assert not put(any_store, CellResult(None, (second,)), lease)
    assert stored(any_store) == (0, 2)


@pytest.mark.postgres
def test_nobody_claims_a_run_between_the_look_at_its_lease_and_the_commit(new_postgres: Callable[[], str]) -> None:
    store = open_store(new_postgres())
    run = planned_run(store)
    lease = claimed(store, run)
    with store.write() as connection:
        assert store_results(connection, [result(run, 0)], lease).held
        with store.engine.connect() as other:
            free = "SELECT run_id FROM runs FOR NO KEY UPDATE SKIP LOCKED"
            assert other.execute(text(free)).all() == []
    assert stored(store) == (1, 1)
    store.close()


def reply(run: PlannedRun, key: str | None, said: str, at: datetime, **more: Any) -> dict[str, Any]:
    row = attempt(run, run.cells[0], raw_output=said, finish_reason="stop", reply_key=key, **more)
    return {**row, "log_id": f"log_{said}", "created_at": at}


def test_the_first_reply_of_a_key_is_served(any_store: Store) -> None:
    run, now = planned_run(any_store), utc_now()
    later = now + timedelta(minutes=1)
    logs = [
        reply(run, "k1", "second", later),
        reply(run, "k1", "first", now, simulated=True),
        reply(run, "k2", "repeated", now, cached_from="log_of_another_store"),
        reply(run, "k3", "b", now),
        reply(run, "k3", "a", now),
        reply(run, None, "unnamed", now),
    ]
    with any_store.write() as connection:
        insert_new(connection, JudgeLog, logs)
        replies = stored_replies(connection, ["k1", "k2", "k3", "k4"])
    assert replies == {
        "k1": StoredReply("log_first", "first", "stop", "judge-m", True),
        "k3": StoredReply("log_a", "a", "stop", "judge-m", False),
    }


def test_any_number_of_keys_can_be_looked_up(any_store: Store) -> None:
    run, now = planned_run(any_store), utc_now()
    with any_store.write() as connection:
        insert_new(connection, JudgeLog, [reply(run, f"k{n}", f"said {n}", now) for n in range(1_201)])
        replies = stored_replies(connection, [f"k{n}" for n in range(2_000)])
        assert stored_replies(connection, []) == {}
    assert {key: one.raw_output for key, one in replies.items()} == {f"k{n}": f"said {n}" for n in range(1_201)}


def test_keys_are_looked_up_by_their_index(store: Store) -> None:
    with store.read() as connection:
        query = "EXPLAIN QUERY PLAN SELECT log_id FROM judge_logs WHERE reply_key IN ('a', 'b') AND cached_from IS NULL"
        plan = connection.exec_driver_sql(query).all()
    assert [step.detail for step in plan] == ["SEARCH judge_logs USING INDEX judge_logs_by_reply (reply_key=?)"]


def test_what_a_log_repeats_is_kept_with_it(any_store: Store) -> None:
    run = planned_run(any_store)
    assert put(any_store, result(run, 0, raw_output="A", reply_key="k1", cached_from="log_1"))
    assert found(any_store, "SELECT reply_key, cached_from FROM judge_logs") == [("k1", "log_1")]


def test_the_id_of_an_imported_log_does_not_depend_on_columns_that_came_later(store: Store) -> None:
    with store.write() as connection:
        audit = ensure_audit(connection, "demo")
        ingest(connection, audit, "file", [pair("p1", logs=[Log(model="m", raw_output="A")])])
    assert found(store, "SELECT log_id, reply_key, cached_from FROM judge_logs") == [
        ("log_2cc61c8086fafcddfe0008a2", None, None)
    ]

"""Leases: one owner at a time, on SQLite and on Postgres, and nothing from an owner that lost its run."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection, select, update

from misjudge_storage import leases
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import NotFound
from misjudge_storage.leases import LEASE_SECONDS, RUNS, Lease, Renewal
from misjudge_storage.run_records import RunRow, create_run, list_runs, read_run, runs_under_way
from misjudge_storage.tables import RunEvent, table
from run_builders import planned_run

T = TypeVar("T")
HERE = socket.gethostname()
HOUR = timedelta(hours=1)


def write(store: Store, work: Callable[..., T], *args: Any) -> T:
    with store.write() as connection:
        return work(connection, *args)


def claimed(store: Store, run_id: str, owner: str = "one") -> Lease:
    lease = write(store, leases.claim, run_id, owner)
    assert lease is not None
    return lease


def change(store: Store, run_id: str, **values: Any) -> None:
    with store.write() as connection:
        connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(**values))


def sleep_through(store: Store, run_id: str) -> None:
    """As if the owner had not renewed for longer than a lease lasts."""
    change(store, run_id, lease_until=utc_now() - timedelta(seconds=1))


def kill_owner(store: Store, run_id: str) -> None:
    """As if the owner had been another process, which has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        change(store, run_id, owner_pid=process.pid)


def shown(store: Store, run_id: str) -> RunRow:
    with store.read() as connection:
        return read_run(connection, run_id)


def facts(store: Store, run_id: str) -> Any:
    with store.read() as connection:
        return connection.execute(select(RUNS).where(RUNS.c.run_id == run_id)).one()


def test_a_free_run_is_claimed_and_runs(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    before = utc_now()
    assert claimed(any_store, run) == Lease(run, "one", 1)
    row = facts(any_store, run)
    assert (row.state, row.owner, row.owner_host) == ("running", "one", HERE)
    assert before < row.lease_until - timedelta(seconds=LEASE_SECONDS) <= utc_now()
    assert (shown(any_store, run).state, shown(any_store, run).live) == ("running", True)


def test_of_two_runs_of_an_audit_the_second_knows_who_was_there_before_as_long_as_they_are(any_store: Store) -> None:
    first = planned_run(any_store)
    elsewhere = planned_run(any_store, audit="other")
    with any_store.write() as connection:
        second, third = (create_run(connection, first.audit_id, "judge", "{}", None, ()) for _ in range(2))
    ahead, _ = claimed(any_store, first.run_id), claimed(any_store, elsewhere.run_id)
    assert write(any_store, leases.others_at_work, ahead) == []
    mine = claimed(any_store, second, "two")
    assert write(any_store, leases.others_at_work, mine) == [ahead], "not one that waits, nor of another audit"
    assert write(any_store, leases.others_at_work, claimed(any_store, third, "three")) in ([ahead, mine], [mine, ahead])
    assert write(any_store, leases.still_at_work, [ahead]) == [first.run_id]
    assert write(any_store, leases.still_at_work, []) == []
    sleep_through(any_store, first.run_id)
    assert write(any_store, leases.still_at_work, [ahead]) == []
    again = claimed(any_store, first.run_id)
    assert write(any_store, leases.still_at_work, [ahead, mine]) == [second], "it came back behind the others"
    write(any_store, leases.finish, again, "done", None)
    assert write(any_store, leases.still_at_work, [again]) == []


def test_a_run_that_somebody_holds_is_not_claimed(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    lease = claimed(any_store, run)
    assert write(any_store, leases.claim, run, "two") is None
    assert facts(any_store, run).epoch == lease.epoch


def test_a_run_that_is_not_stored_is_not_claimed_or_stopped(any_store: Store) -> None:
    assert write(any_store, leases.claim, "run_none", "one") is None
    assert not write(any_store, leases.request_stop, "run_none")
    assert not write(any_store, leases.cancel_idle, "run_none")
    with pytest.raises(NotFound), any_store.read() as connection:
        read_run(connection, "run_none")


def test_the_same_owner_may_claim_again_and_only_the_new_claim_holds(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    first, second = claimed(any_store, run), claimed(any_store, run)
    assert second.epoch == first.epoch + 1
    assert not write(any_store, leases.holds, first)
    assert write(any_store, leases.holds, second)


def test_a_renewal_prolongs_the_lease(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    lease = claimed(any_store, run)
    change(any_store, run, lease_until=utc_now() + timedelta(seconds=1))
    assert write(any_store, leases.renew, lease) == Renewal(held=True, stop_requested=False)
    assert facts(any_store, run).lease_until > utc_now() + timedelta(seconds=LEASE_SECONDS / 2)


def test_a_lease_that_ran_out_still_holds_while_nobody_else_came(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    lease = claimed(any_store, run)
    sleep_through(any_store, run)
    assert shown(any_store, run).state == "lost"
    assert write(any_store, leases.renew, lease).held
    assert shown(any_store, run).state == "running"


@pytest.mark.parametrize("owner", ["two", "one"])
def test_an_owner_that_slept_while_another_claimed_has_no_say(any_store: Store, owner: str) -> None:
    run = planned_run(any_store).run_id
    slept = claimed(any_store, run)
    sleep_through(any_store, run)
    awake = claimed(any_store, run, owner)
    before = facts(any_store, run)
    assert write(any_store, leases.renew, slept) == Renewal(held=False, stop_requested=False)
    assert not write(any_store, leases.holds, slept)
    assert not write(any_store, leases.set_note, slept, "waiting")
    assert not write(any_store, leases.finish, slept, "failed", "not mine")
    assert facts(any_store, run) == before
    assert events(any_store) == []
    assert write(any_store, leases.holds, awake)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot be asked whether a process lives")
def test_a_run_whose_process_is_gone_is_free_at_once(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    gone = claimed(any_store, run)
    kill_owner(any_store, run)
    assert (shown(any_store, run).state, shown(any_store, run).live) == ("lost", False)
    assert not write(any_store, leases.request_stop, run)
    assert claimed(any_store, run, "two").epoch == gone.epoch + 1
    assert not write(any_store, leases.renew, gone).held
    assert write(any_store, leases.request_stop, run)


def test_a_holder_without_a_process_is_gone(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    claimed(any_store, run)
    change(any_store, run, owner=None, owner_pid=None)
    assert claimed(any_store, run, "two").epoch == 2


def test_the_process_of_another_machine_cannot_be_told_dead(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    claimed(any_store, run)
    kill_owner(any_store, run)
    change(any_store, run, owner_host=f"not {HERE}")
    assert shown(any_store, run).live
    assert write(any_store, leases.claim, run, "two") is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such answer")
def test_a_process_of_another_user_lives(any_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = planned_run(any_store).run_id
    claimed(any_store, run)

    def forbidden(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbidden)
    assert shown(any_store, run).live


def test_on_windows_every_process_counts_as_living(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = planned_run(store).run_id
    claimed(store, run)
    kill_owner(store, run)
    monkeypatch.setattr(os, "name", "nt")
    assert shown(store, run).live


@pytest.mark.parametrize("before", ["free", "over", pytest.param("dead", marks=pytest.mark.skipif("os.name == 'nt'"))])
def test_of_many_that_claim_at_once_one_gets_the_run(any_store: Store, before: str) -> None:
    run = planned_run(any_store).run_id
    if before != "free":
        claimed(any_store, run, "before")
        (sleep_through if before == "over" else kill_owner)(any_store, run)
    start = threading.Barrier(8)
    got: list[Lease | None] = []
    failures: list[BaseException] = []

    def race(owner: str) -> None:
        try:
            start.wait(30)
            got.append(write(any_store, leases.claim, run, owner))
        except BaseException as error:
            failures.append(error)

    racers = [threading.Thread(target=race, args=(f"owner {n}",)) for n in range(8)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert failures == []
    (winner,) = [lease for lease in got if lease is not None]
    assert len(got) == 8
    assert (facts(any_store, run).owner, facts(any_store, run).epoch) == (winner.owner, winner.epoch)
    assert winner.epoch == (1 if before == "free" else 2)


@pytest.mark.postgres
def test_two_that_saw_the_same_dead_owner_do_not_both_replace_it(
    new_postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked before either claims, which a lock of the whole store would not allow."""
    store = open_store(new_postgres())
    run = planned_run(store).run_id
    claimed(store, run, "dead")
    kill_owner(store, run)
    looked = threading.Barrier(2)
    look = leases._free

    def look_together(connection: Connection, run_id: str, now: Any) -> Any:
        condition = look(connection, run_id, now)
        looked.wait(30)
        return condition

    monkeypatch.setattr(leases, "_free", look_together)
    got: list[Lease | None] = []
    racers = [
        threading.Thread(target=lambda name=name: got.append(write(store, leases.claim, run, name))) for name in "ab"
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert sorted(lease is None for lease in got) == [False, True]
    store.close()


def events(store: Store) -> list[tuple[Any, ...]]:
    found = table(RunEvent).c
    with store.read() as connection:
        rows = connection.execute(select(found.level, found.event, found.detail).order_by(found.created_at))
        return [tuple(row) for row in rows]


def test_how_a_run_ended_is_noted_once_and_the_lease_is_given_back(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    lease = claimed(any_store, run)
    write(any_store, leases.set_note, lease, "the gateway is down")
    write(any_store, leases.request_stop, run)
    assert write(any_store, leases.finish, lease, "cancelled", "stopped")
    assert not write(any_store, leases.finish, lease, "failed", "again")
    ended = shown(any_store, run)
    assert (ended.state, ended.reason, ended.note, ended.stop_requested) == ("cancelled", "stopped", None, False)
    assert facts(any_store, run).ended_at is not None
    again = claimed(any_store, run, "two")
    assert (shown(any_store, run).reason, facts(any_store, run).ended_at) == (None, None)
    assert write(any_store, leases.finish, again, "done", None)
    assert events(any_store) == [("warning", "cancelled", "stopped"), ("info", "done", "")]


def test_a_wish_to_stop_reaches_the_owner_at_its_next_renewal(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    lease = claimed(any_store, run)
    assert write(any_store, leases.request_stop, run)
    assert shown(any_store, run).stop_requested
    assert write(any_store, leases.renew, lease) == Renewal(held=True, stop_requested=True)


def test_whoever_claims_forgets_the_wish_to_stop_and_the_note(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    lease = claimed(any_store, run)
    assert write(any_store, leases.set_note, lease, "the disk is full")
    assert shown(any_store, run).note == "the disk is full"
    write(any_store, leases.request_stop, run)
    sleep_through(any_store, run)
    next_lease = claimed(any_store, run, "two")
    assert shown(any_store, run).note is None
    assert write(any_store, leases.renew, next_lease) == Renewal(held=True, stop_requested=False)


def test_a_note_is_taken_back_when_the_run_goes_on(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    lease = claimed(any_store, run)
    write(any_store, leases.set_note, lease, "the gateway is down")
    assert write(any_store, leases.set_note, lease, None)
    assert shown(any_store, run).note is None


def test_nobody_is_asked_to_stop_a_run_that_nobody_works_on(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    assert not write(any_store, leases.request_stop, run)
    lease = claimed(any_store, run)
    sleep_through(any_store, run)
    assert not write(any_store, leases.request_stop, run)
    write(any_store, leases.renew, lease)
    write(any_store, leases.finish, lease, "done", None)
    assert not write(any_store, leases.request_stop, run)
    assert not shown(any_store, run).stop_requested


def test_only_a_run_that_nobody_works_on_is_cancelled_at_once(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    lease = claimed(any_store, run)
    assert not write(any_store, leases.cancel_idle, run)
    assert write(any_store, leases.holds, lease)
    sleep_through(any_store, run)
    assert write(any_store, leases.cancel_idle, run)
    assert (shown(any_store, run).state, shown(any_store, run).reason) == ("cancelled", "cancelled")
    assert not write(any_store, leases.renew, lease).held


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot be asked whether a process lives")
def test_a_run_whose_process_is_gone_is_cancelled_at_once(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    claimed(any_store, run)
    kill_owner(any_store, run)
    assert write(any_store, leases.cancel_idle, run)
    assert shown(any_store, run).state == "cancelled"


def test_a_run_that_was_stopped_keeps_saying_why_when_it_is_cancelled_again(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    write(any_store, leases.finish, claimed(any_store, run), "cancelled", "limit reached: max_calls is used up")
    assert not write(any_store, leases.cancel_idle, run)
    assert (shown(any_store, run).state, shown(any_store, run).reason) == (
        "cancelled",
        "limit reached: max_calls is used up",
    )


def test_a_run_that_is_done_stays_done(any_store: Store) -> None:
    run = planned_run(any_store).run_id
    write(any_store, leases.finish, claimed(any_store, run), "done", None)
    assert not write(any_store, leases.cancel_idle, run)
    assert shown(any_store, run).state == "done"


def test_runs_under_way_are_those_at_work_and_those_about_to_be(any_store: Store) -> None:
    run = planned_run(any_store)

    def under_way() -> list[str]:
        with any_store.read() as connection:
            return runs_under_way(connection, run.audit_id)

    assert under_way() == [run.run_id]
    change(any_store, run.run_id, created_at=utc_now() - HOUR)
    assert under_way() == []
    lease = claimed(any_store, run.run_id)
    assert under_way() == [run.run_id]
    write(any_store, leases.finish, lease, "cancelled", "stopped")
    assert under_way() == []
    with any_store.read() as connection:
        assert [row.run_id for row in list_runs(connection, run.audit_id)] == [run.run_id]
        assert list_runs(connection, "aud_none") == []

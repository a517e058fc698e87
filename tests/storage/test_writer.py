"""The writer: results only after the commit, failures alone, nothing lost to a kill."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from misjudge_storage import connections
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import StoreError, StoreUnwritable
from misjudge_storage.ingest import ensure_audit
from misjudge_storage.writer import LARGEST_BATCH

KILLED_WRITER = """
import sys
from concurrent.futures import Future
from misjudge_storage.engine import open_store
from misjudge_storage.ingest import ensure_audit
store = open_store(sys.argv[1])
print("ready", flush=True)
for start in range(0, 100_000, 20):
    names = [f"audit {n}" for n in range(start, start + 20)]
    futures = [store.writer.submit(lambda connection, name=name: ensure_audit(connection, name)) for name in names]
    for future in futures:
        print(future.result(), flush=True)
"""


def adding(name: str) -> Callable[[Connection], str]:
    def work(connection: Connection) -> str:
        return ensure_audit(connection, name)

    return work


def failing(connection: Connection) -> str:
    ensure_audit(connection, "undone")
    raise ZeroDivisionError


def audits(store: Store) -> set[str]:
    with store.read() as connection:
        return set(connection.scalars(text("SELECT name FROM audits")))


class Gate:
    """Work that holds the writer until it is let go, so that what is queued meanwhile becomes one batch."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    def __call__(self, connection: Connection) -> None:
        self.reached.set()
        assert self.open.wait(30)


def queued_together(store: Store, *works: Callable[[Connection], str]) -> list[Future[str]]:
    gate = Gate()
    held = store.writer.submit(gate)
    assert gate.reached.wait(30)
    futures = [store.writer.submit(work) for work in works]
    gate.open.set()
    held.result(30)
    wait(futures, 30)
    return futures


def test_a_result_is_there_only_after_its_commit(store: Store) -> None:
    seen: list[set[str]] = []
    done = threading.Event()

    def look(future: Future[str]) -> None:
        seen.append(audits(store))
        done.set()

    gate = Gate()
    held = store.writer.submit(gate)
    future = store.writer.submit(adding("demo"))
    future.add_done_callback(look)
    assert gate.reached.wait(30)
    assert not future.done()
    gate.open.set()
    held.result(30)
    assert done.wait(30)
    assert seen == [{"demo"}]
    assert future.result().startswith("aud_")


def test_work_that_queues_up_is_committed_together(store: Store) -> None:
    futures = queued_together(store, *(adding(f"audit {n}") for n in range(50)))
    assert len({future.result() for future in futures}) == 50
    assert store.writer.commits == 2


def test_a_batch_has_a_largest_size(store: Store) -> None:
    queued_together(store, *(adding(f"audit {n}") for n in range(LARGEST_BATCH + 1)))
    assert store.writer.commits == 3
    assert len(audits(store)) == LARGEST_BATCH + 1


def test_failing_work_fails_alone(store: Store) -> None:
    first, second, third = queued_together(store, adding("before"), failing, adding("after"))
    assert first.result() != third.result()
    with pytest.raises(ZeroDivisionError):
        second.result()
    assert audits(store) == {"before", "after"}


def test_failing_work_that_is_alone_fails_too(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store.writer.submit(failing).result(30)
    assert store.writer.submit(adding("next")).result(30)
    assert audits(store) == {"next"}


def test_work_that_ends_the_thread_does_not_leave_others_waiting(store: Store) -> None:
    def leaving(connection: Connection) -> str:
        raise SystemExit

    first, second = queued_together(store, leaving, adding("after"))
    with pytest.raises(SystemExit):
        first.result()
    assert second.result(30)
    assert audits(store) == {"after"}


def test_a_cancelled_waiter_does_not_undo_the_work(store: Store) -> None:
    gate = Gate()
    held = store.writer.submit(gate)
    future = store.writer.submit(adding("paid"))
    assert not future.cancel()
    gate.open.set()
    held.result(30)
    assert future.result(30)
    assert audits(store) == {"paid"}


def test_a_locked_store_fails_the_whole_batch_after_one_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_TIMEOUT_MS", 1)
    path = tmp_path / "store.db"
    store = open_store(path)
    gate = Gate()
    held = store.writer.submit(gate)
    assert gate.reached.wait(30)
    futures = [store.writer.submit(adding(f"audit {n}")) for n in range(3)]
    locked = threading.Event()
    released = threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN IMMEDIATE")
            locked.set()
            assert released.wait(30)

    holder = threading.Thread(target=hold)

    def take_the_lock(future: Future[None]) -> None:  # runs in the writer, between its two transactions
        holder.start()
        assert locked.wait(30)

    held.add_done_callback(take_the_lock)
    gate.open.set()
    errors = {id(future.exception(30)) for future in futures}
    assert len(errors) == 1
    with pytest.raises(StoreUnwritable, match="locked by another process"):
        futures[0].result()
    released.set()
    holder.join()
    assert store.writer.submit(adding("later")).result(30)
    assert audits(store) == {"later"}
    store.close()


def test_closing_commits_what_is_queued(store: Store) -> None:
    gate = Gate()
    store.writer.submit(gate)
    assert gate.reached.wait(30)
    futures = [store.writer.submit(adding(f"audit {n}")) for n in range(30)]
    closer = threading.Thread(target=store.writer.close)
    closer.start()
    gate.open.set()
    closer.join(30)
    assert all(future.done() for future in futures)
    assert len(audits(store)) == 30


def test_a_closed_writer_takes_no_more_work(store: Store) -> None:
    assert store.writer.submit(adding("demo")).result(30)
    store.writer.close()
    store.writer.close()
    with pytest.raises(StoreError, match="is closed"):
        store.writer.submit(adding("late"))
    assert audits(store) == {"demo"}


def test_a_writer_that_never_worked_can_be_closed(store: Store) -> None:
    store.writer.close()
    with pytest.raises(StoreError, match="is closed"):
        store.writer.submit(adding("late"))


def test_many_threads_write_and_read_at_once(store: Store) -> None:
    failures: list[BaseException] = []

    def use(worker: int) -> None:
        try:
            for n in range(25):
                name = f"audit {worker}.{n}"
                store.writer.submit(adding(name)).result(30)
                assert name in audits(store)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=use, args=(number,)) for number in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert failures == []
    assert len(audits(store)) == 12 * 25
    assert store.writer.commits <= 12 * 25


def test_closing_while_others_submit_leaves_nobody_waiting(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db")
    store.writer.submit(adding("first")).result(30)
    accepted: list[Future[str]] = []

    def submit(worker: int) -> None:
        for n in range(1000):
            try:
                accepted.append(store.writer.submit(adding(f"audit {worker}.{n}")))
            except StoreError:
                return

    workers = [threading.Thread(target=submit, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    store.writer.close()
    for worker in workers:
        worker.join(30)
    ids = {future.result(30) for future in accepted}
    assert len(audits(store)) == len(ids) + 1
    store.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_process_loses_no_result_that_was_reported(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store.db"
    reports = random.Random(seed).randrange(1, 400)
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED_WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    reported = [writer.stdout.readline().strip() for _ in range(reports)]
    writer.send_signal(signal.SIGKILL)
    reported += [line.strip() for line in writer.stdout if line.endswith("\n")]
    assert writer.wait(30) == -signal.SIGKILL
    writer.stdout.close()
    store = open_store(path)
    with store.read() as connection:
        kept = set(connection.scalars(text("SELECT audit_id FROM audits")))
        assert connection.scalar(text("PRAGMA integrity_check")) == "ok"
    assert len(set(reported)) == len(reported) >= reports
    assert set(reported) <= kept
    assert len(kept) < 100_000
    store.close()

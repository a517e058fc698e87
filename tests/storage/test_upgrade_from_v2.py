"""A store that version 2 left behind becomes this version's, with every row that it held."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url, text

from builders import JUDGE, SATISFACTION, episode, label, messages, pair, passed, satisfied, verdict
from misjudge_storage import leases, run_progress, run_records
from misjudge_storage.connections import postgres_engine
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import StoreUnwritable
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.migrations import all_migrations
from misjudge_storage.run_progress import Progress, Stage
from misjudge_storage.tables import utc_now
from misjudge_storage.types import Log, Record
from misjudge_storage.upgrading import upgrade

DUMP = Path(__file__).with_name("store_v2.sql")
NEWEST = all_migrations()[-1].number
OLD_JUDGE = JUDGE.model_copy(update={"origin": "imported"})
OLD_GATE = SATISFACTION.model_copy(update={"origin": "imported"})


def imported() -> Iterator[Record]:
    """The records that the store of the dump had imported."""
    agent = Log(role="agent", est_cost=0.5)
    x = episode("x", passed(True), said=messages("hi", "done"), satisfaction=[satisfied(0.9, OLD_GATE)], logs=[agent])
    y = episode("y", passed(False), said=messages("hi", "no"), satisfaction=[satisfied(None, OLD_GATE)])
    call = {"model": "judge-m", "raw_output": "A", "input_tokens": 7, "output_tokens": 1, "est_cost": 0.25}
    logs = [Log(**call, price_source="imported")]
    both = (verdict("A", "AB", judge=OLD_JUDGE), verdict(None, "BA", judge=OLD_JUDGE))
    yield pair("p1", x, y, *both, gold=[label("A")], logs=logs)
    yield pair("p2", x, y, verdict("B", "AB", judge=OLD_JUDGE), line=2, logs=logs)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of version 2."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(DUMP.read_text(encoding="utf-8"))
    return path


@pytest.fixture
def upgraded(old: Path) -> Iterator[Store]:
    store = open_store(old)
    yield store
    store.close()


def rows_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table, with the columns that version 2 knew."""
    with closing(sqlite3.connect(":memory:")) as then, closing(sqlite3.connect(path)) as now:
        then.executescript(DUMP.read_text(encoding="utf-8"))
        names = [name for (name,) in then.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {}
        for table in names:
            columns = ", ".join(column[1] for column in then.execute(f"PRAGMA table_info({table})"))
            found[table] = sorted(now.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)
        return found


def test_no_row_is_lost_or_changed_and_a_copy_is_kept(old: Path) -> None:
    before = rows_of(old)
    open_store(old).close()
    after = rows_of(old)
    assert [row[0] for row in after.pop("schema_version")] == list(range(1, NEWEST + 1))
    versions = before.pop("schema_version")
    assert after == before
    assert all(before.values())
    copy = rows_of(old.with_name("old.db.v2.bak"))
    assert copy.pop("schema_version") == versions
    assert copy == before
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_an_old_run_goes_on_where_it_was_stopped(upgraded: Store) -> None:
    with upgraded.write() as connection:
        waiting, stopped = sorted(run_records.list_runs(connection, None), key=lambda run: run.state, reverse=True)
        assert (stopped.state, stopped.reason) == ("cancelled", "stopped; resume it to go on")
        assert (waiting.state, waiting.budget_json, waiting.note, waiting.stop_requested) == (
            "queued",
            None,
            None,
            False,
        )
        assert run_progress.stages(connection, stopped.run_id) == [Stage("pairwise", 2, 4)]
        assert run_progress.progress(connection, waiting.run_id) == Progress(0, 2)
        assert run_progress.calls_made(connection, stopped.run_id) == 2
        assert [cell.seq for cell in run_records.pending(connection, stopped.run_id, 0, 10)] == [3, 4]
        assert run_records.run_with_key(connection, "nightly") == stopped.run_id
        lease = leases.claim(connection, stopped.run_id, "one")
        assert lease is not None
        assert lease.epoch == 2


def test_importing_the_same_file_into_an_upgraded_store_adds_nothing(upgraded: Store) -> None:
    with upgraded.write() as connection:
        again = ingest(connection, ensure_audit(connection, "demo"), "pairs", imported())
    assert set(again.added.values()) == {0}


def test_the_views_of_an_upgraded_store_say_what_they_said(old: Path) -> None:
    query = "SELECT pair_id, judge, judge_pref, judge_status, misselected, judge_cost FROM audit_pairs ORDER BY 1, 2"
    with closing(sqlite3.connect(old)) as connection:
        before = connection.execute(query).fetchall()
    store = open_store(old)
    with store.read() as connection:
        assert [tuple(row) for row in connection.execute(text(query))] == before
    store.close()
    assert [row[:3] for row in before] == [("p1", "asked", "A"), ("p1", "judge", None), ("p2", "judge", "B")]


def test_an_old_store_is_left_alone_while_a_run_works_on_it(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        until = (utc_now() + timedelta(seconds=20)).strftime("%Y-%m-%d %H:%M:%S.%f")
        working = "UPDATE runs SET state = 'running', owner = 'one', lease_until = ? WHERE state = 'queued'"
        connection.execute(working, (until,))
        connection.commit()
    before = rows_of(old)
    with pytest.raises(StoreUnwritable, match=r"must be upgraded, but run run_[0-9a-f]+ is working on it"):
        open_store(old)
    assert rows_of(old) == before
    assert not list(old.parent.glob("*.bak"))


@pytest.mark.postgres
def test_an_old_store_on_postgres_is_upgraded_with_its_rows(new_postgres: Callable[[], str]) -> None:
    url = new_postgres()
    engine = postgres_engine(make_url(url))
    upgrade(engine, "old", all_migrations()[:2])
    with engine.begin() as connection:
        audit = ensure_audit(connection, "demo")
        ingest(connection, audit, "pairs", [pair("p1", None, None, verdict("A", "AB"))])
        run = "INSERT INTO runs (run_id, audit_id, operation, request_json, state, epoch, created_at) VALUES"
        connection.execute(text(f"{run} ('run_1', :audit, 'judge', '{{}}', 'cancelled', 3, now())"), {"audit": audit})
        log = "INSERT INTO judge_logs (log_id, audit_id, run_id, role, model, repeat, attempt, simulated, created_at)"
        connection.execute(
            text(f"{log} VALUES ('log_1', :audit, 'run_1', 'judge', 'm', 0, 1, false, now())"), {"audit": audit}
        )
    engine.dispose()
    store = open_store(url)
    with store.write() as connection:
        assert not run_records.read_run(connection, "run_1").stop_requested
        assert run_progress.calls_made(connection, "run_1") == 1
        assert connection.execute(text("SELECT pair_id, judge_pref FROM audit_pairs")).all() == [("p1", "A")]
        assert leases.claim(connection, "run_1", "one") == leases.Lease("run_1", "one", 4)
    store.close()

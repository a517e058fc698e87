"""Looking at a store: what is told of it, and that nothing of it changes."""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

from client_homes import snapshot
from misjudge_storage import inspecting
from misjudge_storage.engine import Store, open_store
from misjudge_storage.inspecting import StoreProblem, StoreState, inspect_store, read_only
from store_template import template

RUNS = "CREATE TABLE runs (run_id, state, owner_host, owner_pid, lease_until)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store that nobody has open."""
    path = tmp_path / "misjudge.db"
    path.write_bytes(template())
    return path


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_sound_store_has_no_problem_and_stays_as_it_is(file: Path) -> None:
    os.utime(file, (1_000_000_000, 1_000_000_000))
    before, moment = snapshot(file.parent), file.stat().st_mtime_ns
    assert inspect_store(str(file)) == StoreState(True)
    assert inspect_store(f"sqlite:///{file}") == StoreState(True)
    assert snapshot(file.parent) == before and file.stat().st_mtime_ns == moment


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert inspect_store(str(tmp_path / "a" / "b" / "misjudge.db")) == StoreState(False)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_and_an_empty_database_are_new_stores(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    change(tmp_path / "database.db", "CREATE TABLE gone (x)", "DROP TABLE gone")
    for name in ("empty.db", "database.db"):
        assert inspect_store(str(tmp_path / name)).problem is None


def test_the_latest_commits_of_an_open_store_are_seen_and_no_file_is_left(file: Path) -> None:
    with closing(open_store(file)) as store, store.write() as connection:
        connection.exec_driver_sql("INSERT INTO schema_version VALUES (9999, '99.0', '2030-01-01')")
    with closing(open_store_raw(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE schema_version SET program = '99.1' WHERE number = 9999")
        connection.commit()
        there = sorted(path.name for path in file.parent.iterdir())
        assert len(there) == 3, "the commit stands in the file beside"
        assert inspect_store(str(file)) == StoreState(True, "too-new", "99.1")
        assert sorted(path.name for path in file.parent.iterdir()) == there
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    with closing(read_only(file)) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM schema_version")
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def open_store_raw(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(file)


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("mysql://user@host/name", "not-a-store-url"),
        ("nonsense://", "not-a-store-url"),
        ("://", "not-a-store-url"),
        ("sqlite://", "in-memory"),
        ("sqlite:///:memory:", "in-memory"),
        ("sqlite:///file:x?mode=memory&uri=true", "in-memory"),
    ],
)
def test_a_url_that_is_no_store_is_told(place: str, problem: StoreProblem) -> None:
    assert inspect_store(place) == StoreState(False, problem)


def test_a_url_that_sqlite_reads_by_itself_is_not_looked_into() -> None:
    assert inspect_store("sqlite:///file:misjudge.db?mode=ro&uri=true") == StoreState(True)


@pytest.mark.parametrize("installed", [True, False])
def test_postgres_is_not_asked_but_needs_its_driver(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    monkeypatch.setattr(inspecting, "find_spec", lambda _: find_spec("json") if installed else None)
    assert inspect_store("postgresql://user@nowhere.example/x").problem == (None if installed else "no-driver")


def test_what_is_no_database_or_none_of_ours_is_told(tmp_path: Path, file: Path) -> None:
    found: dict[str, StoreProblem | None] = {}
    (tmp_path / "text").write_text("not a database, but longer than the header of one" * 9, encoding="utf-8")
    (tmp_path / "short").write_bytes(file.read_bytes()[:60])
    (tmp_path / "cut").write_bytes(file.read_bytes()[:5000])
    (tmp_path / "folder").mkdir()
    change(tmp_path / "other", "CREATE TABLE schema_version (number)")
    for name in ("text", "short", "cut", "folder", "other"):
        found[name] = inspect_store(str(tmp_path / name)).problem
    assert found == {
        "text": "damaged", "short": "damaged", "cut": "damaged", "folder": "folder", "other": "other-program"
    }  # fmt: skip


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").touch()
    assert inspect_store(str(tmp_path / "notes" / "misjudge.db")).problem == "unwritable"
    with monkeypatch.context() as closed:
        closed.setattr(os, "access", lambda path, _: Path(path) != file)  # who runs the tests may write anything
        assert inspect_store(str(file)).problem == "unwritable"

    def refuse(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr("shutil.disk_usage", refuse)
    assert inspect_store(str(file)) == StoreState(False, "unwritable")


def test_an_old_sqlite_a_network_disk_and_a_full_one_are_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "on_network_disk", lambda _: True)
    monkeypatch.setattr(inspecting, "LITTLE_BYTES", 10**30)
    assert inspect_store(str(file)) == StoreState(True, network=True, little_space=True)
    monkeypatch.setattr(inspecting, "OLDEST_SQLITE", (99, 0))
    assert inspect_store(str(file)).problem == "old-sqlite"


def test_runs_that_nobody_works_on_are_told(store: Store, tmp_path: Path) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    later, earlier = (str(now + timedelta(hours=hours)) for hours in (1, -1))
    here = socket.gethostname()
    rows = {
        "alive": ("running", here, os.getpid(), later),
        "elsewhere": ("running", "another", 1, later),
        "over": ("running", "another", 1, earlier),
        "unheld": ("running", None, None, None),
        "done": ("done", None, None, None),
    }
    path = tmp_path / "runs.db"
    change(path, RUNS, "CREATE TABLE audits (x)", "CREATE TABLE schema_version (number, program)")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO schema_version VALUES (1, '0.1')")
        for run, values in rows.items():
            connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", (run, *values))
    assert inspect_store(str(path)).lost_runs == ("over", "unheld")
    assert inspect_store(store.location).lost_runs == ()

"""Opening a store: where it may be, and one sentence for everything that can be wrong with it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from builders import pair, verdict
from misjudge_storage import connections, upgrading
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import StoreError, StoreTooNew, StoreUnwritable
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.migrations import all_migrations
from misjudge_storage.troubles import translated

OPENER = """
import sys
from misjudge_storage.engine import open_store
print("ready", flush=True)
sys.stdin.readline()
store = open_store(sys.argv[1])
with store.read() as connection:
    print(connection.exec_driver_sql("SELECT MAX(number) FROM schema_version").scalar())
store.close()
"""


def journal(store: Store) -> str:
    with store.read() as connection:
        return str(connection.exec_driver_sql("PRAGMA journal_mode").scalar())


def fill(store: Store, name: str = "demo") -> None:
    with store.write() as connection:
        ingest(connection, ensure_audit(connection, name), "pairs", [pair("p1", None, None, verdict("A", "AB"))])


def pairs(store: Store) -> list[str]:
    with store.read() as connection:
        return list(connection.scalars(text("SELECT pair_id FROM pairs")))


def test_the_default_folder_is_made_and_ignored_by_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store().close()
    assert (tmp_path / ".misjudge" / "misjudge.db").is_file()
    assert (tmp_path / ".misjudge" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_folder_of_the_user_is_not_ignored(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    open_store(tmp_path / "own" / "store.db").close()
    open_store(tmp_path / "new" / "deep" / "store.db").close()
    assert not list(tmp_path.rglob(".gitignore"))


def test_reopening_keeps_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    first = open_store(path)
    fill(first)
    first.close()
    again = open_store(path)
    assert pairs(again) == ["p1"]
    assert journal(again) == "wal"
    again.close()


@pytest.mark.parametrize("name", ["what?.db", "50%25.db", "a#b.db", "with space.db", "甲.db"])
@pytest.mark.skipif(os.name == "nt", reason="Windows does not allow these names")
def test_any_file_name_is_taken_literally(tmp_path: Path, name: str) -> None:
    open_store(tmp_path / name).close()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_store_may_be_named_by_url(tmp_path: Path) -> None:
    path = tmp_path / ".misjudge" / "store.db"
    by_url = open_store(f"sqlite:///{path.as_posix()}")
    fill(by_url)
    by_url.close()
    assert (path.parent / ".gitignore").is_file()
    by_path = open_store(path)
    assert pairs(by_path) == ["p1"]
    by_path.close()


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is a folder\. Name a file in MISJUDGE_STORE"):
        open_store(tmp_path)


def test_a_place_under_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnwritable, match=r"folder .* cannot be used \("):
        open_store(tmp_path / "file" / "store.db")


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes " * 1000, encoding="utf-8")
    with pytest.raises(StoreError, match="is not a misjudge store"):
        open_store(path)
    assert path.read_text(encoding="utf-8") == "my notes " * 1000


@pytest.mark.parametrize("table", ["customers", "schema_version"])
def test_another_programs_database_is_refused_and_kept_as_it_is(tmp_path: Path, table: str) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"CREATE TABLE {table} (version INTEGER)")
        other.execute(f"CREATE TABLE more_{table} (version INTEGER)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="database of another program"):
        open_store(path)
    if table == "customers":
        assert path.read_bytes() == before
    assert not path.with_name("other.db-wal").exists()


def test_a_newer_store_names_the_version_to_install(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    opened = open_store(path)
    with opened.write() as connection:
        connection.execute(text("INSERT INTO schema_version VALUES (99, '7.3.1', '2030-01-01')"))
    opened.close()
    with pytest.raises(StoreTooNew, match=r"written by misjudge 7\.3\.1.*Install misjudge>=7\.3\.1"):
        open_store(path)


def test_without_an_installed_package_the_version_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(upgrading, "version", missing)
    assert upgrading.program_version() == "0+unknown"
    monkeypatch.setattr(upgrading, "version", lambda name: f"{name} 1.2.3")
    assert upgrading.program_version() == "misjudge 1.2.3"


def read_only(path: Path) -> str:
    return f"sqlite:///file:{path.as_posix()}?mode=ro&uri=true"


def test_a_read_only_store_can_be_read_but_not_written(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writable = open_store(path)
    fill(writable)
    writable.close()
    store = open_store(read_only(path))
    assert pairs(store) == ["p1"]
    with pytest.raises(StoreUnwritable, match="is read-only"):
        fill(store, "other")
    with pytest.raises(StoreUnwritable, match="is read-only"):
        store.writer.submit(lambda connection: ensure_audit(connection, "other")).result()
    store.close()


def test_a_read_only_file_that_is_not_a_store_yet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with pytest.raises(StoreUnwritable, match="is read-only"):
        open_store(read_only(path))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreUnwritable, match="cannot be used"):
        open_store(tmp_path / "new" / "store.db")
    tmp_path.chmod(0o700)


def test_a_missing_file_by_uri_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(read_only(tmp_path / "none.db"))


def test_a_locked_store_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_TIMEOUT_MS", 1)
    path = tmp_path / "store.db"
    store = open_store(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnwritable, match="locked by another process"):
            fill(store)
        assert pairs(store) == []
        other.execute("ROLLBACK")
    fill(store)
    assert pairs(store) == ["p1"]
    store.close()


def test_a_fresh_store_that_another_process_holds_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_TIMEOUT_MS", 1)
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnwritable, match="locked by another process"):
            open_store(path)


def test_a_fresh_store_that_another_process_just_makes_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def pause(seconds: float) -> None:
            assert 0 < seconds < 1
            if other.in_transaction:
                other.execute("COMMIT")

        monkeypatch.setattr(connections, "BUSY_TIMEOUT_MS", 0)
        monkeypatch.setattr(connections, "monotonic", lambda: 0.0)
        monkeypatch.setattr(connections, "sleep", pause)
        store = open_store(path)
    fill(store)
    assert (pairs(store), journal(store)) == (["p1"], "wal")
    store.close()


def test_connections_wait_for_a_lock_as_long_as_they_should(store: Store) -> None:
    with store.read() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == connections.BUSY_TIMEOUT_MS == 15_000
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_a_full_disk_is_named_and_nothing_is_stored(store: Store) -> None:
    with store.write() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnwritable, match="is full, so nothing more was stored"), store.write() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        ingest(
            connection,
            ensure_audit(connection, "demo"),
            "pairs",
            [pair(f"p{n}", line=n, prompt="x" * 100) for n in range(2000)],
        )
    assert pairs(store) == []


def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("\n".join(("/dev/sda1 / ext4 rw 0 0", *lines, "")), encoding="utf-8")
    monkeypatch.setattr(connections, "MOUNTS", mounts)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mount table")
def test_a_network_disk_gets_the_delete_journal_and_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    share = tmp_path / "my share"
    escaped = str(share.resolve()).replace(" ", r"\040")
    mounted(tmp_path, monkeypatch, f"server:/export {escaped} nfs4 rw 0 0", "too short", "")
    store = open_store(share / "store.db")
    assert journal(store) == "delete"
    assert "network disk" in caplog.text
    fill(store)
    assert pairs(store) == ["p1"]
    with store.read() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    store.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mount table")
def test_the_mount_nearest_to_the_store_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = tmp_path.resolve()
    mounted(
        tmp_path,
        monkeypatch,
        f"s: {where} cifs rw 0 0",
        f"/dev/sdb {where}/disk ext4 rw 0 0",
        f"s: {where}/di nfs rw 0 0",
    )
    assert connections.on_network_disk(tmp_path / "other")
    assert not connections.on_network_disk(tmp_path / "disk" / "deep")
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    assert not connections.on_network_disk(tmp_path / "link")
    assert not connections.on_network_disk(Path("/"))


def test_without_a_mount_table_every_disk_counts_as_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOUNTS", tmp_path / "none")
    assert not connections.on_network_disk(tmp_path)


def test_a_disk_that_does_not_take_wal_is_used_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # Without locks SQLite cannot share memory, as on disks that lack it.
    store = open_store(f"sqlite:///file:{(tmp_path / 'store.db').as_posix()}?nolock=1&uri=true")
    assert "does not take journal mode wal; using delete" in caplog.text
    fill(store)
    assert pairs(store) == ["p1"]
    store.close()


def test_processes_that_open_a_fresh_store_at_once_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / ".misjudge" / "store.db"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(3)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    ends = [opener.communicate(timeout=60) for opener in openers]
    assert [(opener.returncode, out.strip(), err) for opener, (out, err) in zip(openers, ends, strict=True)] == [
        (0, str(all_migrations()[-1].number), "")
    ] * 3


def test_a_python_with_an_old_sqlite_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreError, match=r"needs 3\.35 or newer\. Run it with another Python"):
        open_store(tmp_path / "store.db")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"])
def test_a_store_in_memory_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="would lose its results"):
        open_store(url)


@pytest.mark.parametrize("url", ["mysql://u:secret@host/db", "oracle://host", "://", "postgresql://host:port/db"])
def test_other_urls_are_refused_without_showing_them(url: str) -> None:
    with pytest.raises(StoreError, match="must be a path or an SQLAlchemy URL") as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


def test_a_postgres_server_that_does_not_answer_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match="does not answer") as caught:
        open_store("postgresql://user:secret@127.0.0.1:9/db?connect_timeout=5")
    assert "secret" not in str(caught.value)
    assert "user:***@127.0.0.1" in str(caught.value)


@pytest.mark.postgres
def test_a_postgres_database_that_is_not_there_does_not_answer(new_postgres: Callable[[], str]) -> None:
    url = new_postgres()
    with pytest.raises(StoreError, match="does not answer"):
        open_store(url.replace("/store_", "/missing_"))


def test_a_broken_rule_of_the_store_is_not_mistaken_for_trouble_with_it() -> None:
    said = IntegrityError("INSERT", {}, Exception("Key (task_id)=(database is locked) already exists"))
    with pytest.raises(IntegrityError), translated("store"):
        raise said


def test_trouble_that_nobody_can_act_on_is_passed_on() -> None:
    with pytest.raises(OperationalError), translated("store"):
        raise OperationalError("SELECT", {}, sqlite3.OperationalError("no such table: x"))


@pytest.mark.parametrize(
    ("said", "kind", "sentence"),
    [
        ("cannot execute INSERT in a read-only transaction", StoreUnwritable, "is read-only"),
        ("could not extend file: No space left on device", StoreUnwritable, "is full"),
        ("disk I/O error", StoreError, "reports an error"),
        ("database disk image is malformed", StoreError, "SQLite cannot read it"),
        ("server closed the connection unexpectedly", StoreError, "does not answer"),
    ],
)
def test_what_databases_say_becomes_a_sentence(said: str, kind: type[StoreError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence), translated("{place}"):
        raise OperationalError("INSERT", {}, Exception(said))


def test_no_database_error_shows_what_was_to_be_stored(store: Store) -> None:
    with pytest.raises(IntegrityError) as caught, store.write() as connection:
        row = {"audit": "none", "task": "t1", "prompt": "the secret transcript"}
        connection.execute(text("INSERT INTO tasks (audit_id, task_id, prompt) VALUES (:audit, :task, :prompt)"), row)
    assert "secret" not in str(caught.value)


def test_a_failed_transaction_stores_nothing(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as connection:
        ensure_audit(connection, "demo")
        raise ZeroDivisionError
    with store.read() as connection:
        assert connection.scalar(text("SELECT COUNT(*) FROM audits")) == 0

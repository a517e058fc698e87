"""The file of an open store is removed, replaced or cut: nothing is said to be stored that nobody would find again."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import StoreError
from misjudge_storage.ingest import ensure_audit

LOST = r"was removed, replaced or cut while in use, so nothing more is stored in it\. Put the file back, or stop"

on_posix = pytest.mark.skipif(os.name == "nt", reason="Windows neither removes nor replaces a file that is open")


def add(store: Store, name: str) -> None:
    with store.write() as connection:
        ensure_audit(connection, name)


def queue(store: Store, name: str) -> None:
    def work(connection: Connection) -> None:
        ensure_audit(connection, name)

    store.writer.submit(work).result()


def audits(store: Store) -> set[str]:
    with store.read() as connection:
        return set(connection.scalars(text("SELECT name FROM audits")))


def stored_at(path: Path) -> set[str]:
    """What somebody finds who opens the file now."""
    store = open_store(path)
    found = audits(store)
    store.close()
    return found


def another(path: Path, name: str = "of another store") -> None:
    store = open_store(path)
    add(store, name)
    store.close()


def aside(path: Path) -> Path:
    return path.with_name("moved.db")


def delete(path: Path) -> None:
    path.unlink()


def move_away(path: Path) -> None:
    path.replace(aside(path))


def replace_by_another_store(path: Path) -> None:
    another(path.with_name("other.db"))
    path.with_name("other.db").replace(path)


def replace_by_a_copy(path: Path) -> None:
    shutil.copyfile(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def replace_by_a_folder(path: Path) -> None:
    move_away(path)
    path.mkdir()


def cut(path: Path) -> None:
    os.truncate(path, 0)


LOSSES = (delete, move_away, replace_by_another_store, replace_by_a_copy, replace_by_a_folder, cut)


@on_posix
@pytest.mark.parametrize("write", [add, queue])
@pytest.mark.parametrize("lose", LOSSES)
def test_nothing_is_written_into_a_file_that_is_not_the_stores_any_more(
    store: Store, tmp_path: Path, lose: Callable[[Path], None], write: Callable[[Store, str], None]
) -> None:
    write(store, "before")
    lose(tmp_path / "misjudge.db")
    with pytest.raises(StoreError, match=LOST) as caught:
        write(store, "behind")
    assert type(caught.value) is StoreError
    assert str(tmp_path / "misjudge.db") in str(caught.value)
    if lose is not cut:
        assert audits(store) == {"before"}, "what was read before can be read on"


@on_posix
@pytest.mark.parametrize("lose", LOSSES)
def test_a_transaction_during_which_the_file_is_lost_is_undone(
    store: Store, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    with pytest.raises(StoreError, match=LOST), store.write() as connection:
        ensure_audit(connection, "half-way")
        lose(tmp_path / "misjudge.db")
    if lose is not cut:
        assert audits(store) == set()


@on_posix
@pytest.mark.parametrize("network", [False, True])
def test_the_same_file_put_back_is_written_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: bool) -> None:
    monkeypatch.setattr("misjudge_storage.engine.on_network_disk", lambda _: network)
    path = tmp_path / "misjudge.db"
    store = open_store(path)
    queue(store, "before")
    move_away(path)
    for write in (add, queue):
        with pytest.raises(StoreError, match=LOST):
            write(store, "meanwhile")
    aside(path).replace(path)
    add(store, "behind")
    queue(store, "and queued")
    store.close()
    assert stored_at(path) == {"before", "behind", "and queued"}


@on_posix
def test_a_reader_makes_no_new_file_in_place_of_one_that_is_gone(store: Store, tmp_path: Path) -> None:
    add(store, "before")
    move_away(tmp_path / "misjudge.db")
    with store.read() as first:
        assert first.scalar(text("SELECT COUNT(*) FROM audits")) == 1
        with pytest.raises(StoreError, match=LOST), store.read():
            pass
    assert not (tmp_path / "misjudge.db").exists()


@on_posix
def test_no_connection_to_the_file_in_its_place_is_kept(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "misjudge.db"
    add(store, "before")
    move_away(path)
    path.touch()
    with store.read(), pytest.raises(StoreError, match=LOST), store.read():
        pass
    assert path.stat().st_size == 0, "nor is it made a store"
    aside(path).replace(path)
    with store.read():
        add(store, "behind")
    assert audits(store) == {"before", "behind"}


@on_posix
def test_a_link_to_the_store_that_points_elsewhere_takes_no_connection_elsewhere(tmp_path: Path) -> None:
    link, path = tmp_path / "link.db", tmp_path / "misjudge.db"
    another(tmp_path / "other.db")
    link.symlink_to(path)
    store = open_store(link)
    add(store, "before")
    link.unlink()
    link.symlink_to(tmp_path / "other.db")
    with store.read(), pytest.raises(StoreError, match=LOST), store.read():
        pass
    add(store, "behind")
    store.close()
    assert stored_at(path) == {"before", "behind"}
    assert stored_at(tmp_path / "other.db") == {"of another store"}


@on_posix
def test_a_store_named_by_uri_is_watched_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a b.db"
    store = open_store(f"sqlite:///file:{path.as_posix().replace(' ', '%20')}?mode=rwc&uri=true")
    add(store, "before")
    move_away(path)
    with pytest.raises(StoreError, match=LOST):
        add(store, "behind")
    store.close()


@pytest.mark.skipif(os.name != "posix" or os.uname().sysname != "Linux", reason="other systems want UTF-8 names")
def test_a_file_name_that_is_not_utf_8_is_watched_as_well(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.db")
    store = open_store(path)
    add(store, "before")
    move_away(path)
    with pytest.raises(StoreError, match=LOST):
        add(store, "behind")
    store.close()


def test_another_process_that_opens_the_store_changes_nothing_for_this_one(store: Store, tmp_path: Path) -> None:
    add(store, "before")
    another(tmp_path / "misjudge.db", "by another process")
    add(store, "behind")
    queue(store, "and queued")
    assert audits(store) == {"before", "by another process", "behind", "and queued"}


def test_a_file_that_grows_and_shrinks_by_sqlite_itself_is_still_the_stores(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "misjudge.db"
    sizes = [path.stat().st_size]
    with store.write() as connection:
        connection.execute(text("CREATE TABLE filler (x BLOB)"))
        connection.execute(text("INSERT INTO filler VALUES (zeroblob(1000000))"))
    checkpoint(path)
    sizes.append(path.stat().st_size)
    add(store, "grown")
    with store.write() as connection:
        connection.execute(text("DROP TABLE filler"))
    checkpoint(path, "VACUUM")
    sizes.append(path.stat().st_size)
    add(store, "shrunk")
    assert sizes[1] > 1_000_000 > sizes[2]
    assert audits(store) == {"grown", "shrunk"}


def checkpoint(path: Path, *before: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for statement in (*before, "PRAGMA wal_checkpoint(TRUNCATE)"):
            other.execute(statement)


@on_posix
def test_where_a_file_system_has_no_inodes_only_a_missing_or_cut_file_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_inode(path: str | Path, **options: bool) -> os.stat_result:
        found = list(stat(path, **options))
        found[1] = 0
        return os.stat_result(found)

    stat = os.stat
    path = tmp_path / "misjudge.db"
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", without_inode)
        store = open_store(path)
        add(store, "before")
        replace_by_a_copy(path)
        add(store, "behind")
        for lose in (cut, delete):
            lose(path)
            with pytest.raises(StoreError, match=LOST):
                add(store, "lost")
    store.close()

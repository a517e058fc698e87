"""Connections: how SQLite is set up, which disks take WAL, where the write lock is taken, and whether the file of an
open store is still where it was.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from sqlalchemy import URL, Connection, Engine, create_engine, event

from misjudge_storage.errors import StoreError

log = logging.getLogger(__name__)

BUSY_TIMEOUT_MS = 15_000
JOURNAL_PAUSE_S = 0.02
MOUNTS = Path("/proc/mounts")
OLDEST_SQLITE = (3, 35)
"""The first with UPDATE … RETURNING."""
NETWORK_FILE_SYSTEMS = frozenset("nfs nfs4 cifs smb3 smbfs 9p fuse.sshfs afs ceph glusterfs virtiofs".split())
HEADER_BYTES = 100
"""Every SQLite file with something in it begins with a header of this size."""


class _Identity(NamedTuple):
    device: int
    inode: int


class _StoreFile:
    """The file of an open store: SQLite writes on into one that is removed or replaced, where nobody finds it again.

    It is told by device and inode, not on Windows, which removes no open file, nor where a file system has no inodes.
    A disk that is mounted anew may get another device: the store must be opened again then. Only looked at, never
    opened: closing a file gives up every lock that SQLite holds on it. A `VACUUM` may shrink it, so it counts as cut
    only where its header is gone.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._path: str | None = None
        self._identity: _Identity | None = None
        self._largest = 0

    def connected(self, connection: sqlite3.Connection) -> None:
        """Note the file that SQLite has opened. Raises StoreError where it is not the one of earlier connections."""
        path = _opened_path(connection)
        if self._path is None:
            self._path, self._identity = path, _identity(os.stat(path))
        self._check(path)

    def check(self) -> None:
        """Raises StoreError when the file is not there any more, is another one, or lost its header."""
        if self._path is not None:
            self._check(self._path)

    def _check(self, path: str) -> None:
        try:
            now = os.stat(path)
        except OSError as error:
            raise self._lost() from error
        if _identity(now) != self._identity or now.st_size < min(HEADER_BYTES, self._largest):
            raise self._lost()
        self._largest = max(self._largest, now.st_size)

    def _lost(self) -> StoreError:
        return StoreError(
            f"The store {self._location} was removed, replaced or cut while in use, so nothing more is stored in it. "
            "Put the file back, or stop and start again."
        )


def sqlite_engine(url: URL, location: str, *, network: bool) -> Engine:
    """An engine of SQLite connections: WAL, or the DELETE journal on a network disk. Raises StoreError.

    So does, later, a transaction that writes while the file is not the one that was opened: before it begins, and
    again before it commits.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(
            f"This Python comes with SQLite {sqlite3.sqlite_version}, and misjudge needs 3.35 or newer. "
            "Run it with another Python, such as one of python.org or uv."
        )
    # Parameters hold transcripts and replies, which no error may show.
    engine = create_engine(url, hide_parameters=True)
    if network:
        log.warning("the store is on a network disk: using the slower DELETE journal instead of WAL")
    file = _StoreFile(location)

    @event.listens_for(engine, "do_connect")
    def look(*_: Any) -> None:
        file.check()  # SQLite would make a new file in place of one that is gone

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        try:
            file.connected(connection)
        except StoreError:
            connection.close()
            raise
        connection.isolation_level = None  # transactions are begun below, by hand
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA foreign_keys = ON")
        _set_journal(connection, "delete" if network else "wal")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if _writes(connection):
            file.check()
        connection.exec_driver_sql("BEGIN IMMEDIATE" if _writes(connection) else "BEGIN")

    @event.listens_for(engine, "commit")
    def commit(connection: Connection) -> None:
        if _writes(connection):
            file.check()

    return engine


def postgres_engine(url: URL) -> Engine:
    """An engine of Postgres connections. Raises ImportError without psycopg."""
    return create_engine(url.set(drivername="postgresql+psycopg"), hide_parameters=True, pool_pre_ping=True)


def reading(engine: Engine) -> Connection:
    """A connection that shows the store as it is at its first query. SQLite's transactions are so by themselves."""
    connection = engine.connect()
    if engine.dialect.name == "postgresql":
        return connection.execution_options(isolation_level="REPEATABLE READ")
    return connection


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """A transaction that takes the write lock at its start, so that it cannot fail half-way for it."""
    with engine.connect().execution_options(misjudge_write=True) as connection, connection.begin():
        yield connection


def _writes(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get("misjudge_write", False))


def _opened_path(connection: sqlite3.Connection) -> str:
    """The path that SQLite made of a name or URI; not every file name is UTF-8."""
    connection.text_factory = os.fsdecode
    path = str(connection.execute("PRAGMA database_list").fetchone()[2])
    connection.text_factory = str
    return path


def _identity(found: os.stat_result) -> _Identity | None:
    return None if os.name == "nt" or found.st_ino == 0 else _Identity(found.st_dev, found.st_ino)


def _set_journal(connection: sqlite3.Connection, mode: str) -> None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "schema_version" not in tables:
        return  # the journal mode is kept in the file, and this one is another program's
    try:
        answer = _journal_set(connection, mode)
    except sqlite3.OperationalError as error:
        if "readonly" in str(error):
            return
        raise
    if answer == "wal":
        # Enough to keep every commit when the process is killed; DELETE journals need the default, FULL.
        connection.execute("PRAGMA synchronous = NORMAL")
    if answer != mode:
        log.warning("the store's disk does not take journal mode %s; using %s", mode, answer)


def _journal_set(connection: sqlite3.Connection, mode: str) -> str:
    """The journal mode that the file has after it was asked for `mode`."""
    deadline = monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            return str(connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0])
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself here where two processes make a file's first journal at once.
            if "locked" not in str(error) or monotonic() > deadline:
                raise
            sleep(JOURNAL_PAUSE_S)


def on_network_disk(folder: Path) -> bool:
    """Whether the longest mount point above `folder` is a network file system (Linux; elsewhere False)."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    where, best, kind = folder.resolve(), Path(), ""
    for line in lines:
        fields = line.split(" ")
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1])) if fields[2:] else None
        if point and where.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, fields[2]
    return kind in NETWORK_FILE_SYSTEMS

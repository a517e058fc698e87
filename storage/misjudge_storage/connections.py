"""Connections: how SQLite is set up, which disks take WAL, and where the write lock is taken."""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from sqlalchemy import URL, Connection, Engine, create_engine, event

from misjudge_storage.errors import StoreError

log = logging.getLogger(__name__)

BUSY_TIMEOUT_MS = 15_000
JOURNAL_PAUSE_S = 0.02
MOUNTS = Path("/proc/mounts")
OLDEST_SQLITE = (3, 35)
"""The first with UPDATE … RETURNING."""
NETWORK_FILE_SYSTEMS = frozenset("nfs nfs4 cifs smb3 smbfs 9p fuse.sshfs afs ceph glusterfs virtiofs".split())


def sqlite_engine(url: URL, *, network: bool) -> Engine:
    """An engine of SQLite connections: WAL, or the DELETE journal on a network disk. Raises StoreError."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(
            f"This Python comes with SQLite {sqlite3.sqlite_version}, and misjudge needs 3.35 or newer. "
            "Run it with another Python, such as one of python.org or uv."
        )
    # Parameters hold transcripts and replies, which no error may show.
    engine = create_engine(url, hide_parameters=True)
    if network:
        log.warning("the store is on a network disk: using the slower DELETE journal instead of WAL")

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions are begun below, by hand
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA foreign_keys = ON")
        _set_journal(connection, "delete" if network else "wal")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("misjudge_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def postgres_engine(url: URL) -> Engine:
    """An engine of Postgres connections. Raises ImportError without psycopg."""
    return create_engine(url.set(drivername="postgresql+psycopg"), hide_parameters=True, pool_pre_ping=True)


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """A transaction that takes the write lock at its start, so that it cannot fail half-way for it."""
    with engine.connect().execution_options(misjudge_write=True) as connection, connection.begin():
        yield connection


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

"""Opening the store: where it is, its connections and its migrations, and what its errors mean."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from misjudge_storage.errors import StoreError, StoreTooNew, StoreUnwritable
from misjudge_storage.migrations import Migration, all_migrations
from misjudge_storage.tables import utc_now
from misjudge_storage.writer import Writer

log = logging.getLogger(__name__)

DEFAULT_STORE = ".misjudge/misjudge.db"
BUSY_TIMEOUT_MS = 15_000
NETWORK_FILE_SYSTEMS = frozenset("nfs nfs4 cifs smb3 smbfs 9p fuse.sshfs afs ceph glusterfs virtiofs".split())
VERSION_TABLE = """
    CREATE TABLE schema_version (
        number INTEGER PRIMARY KEY, program VARCHAR NOT NULL, applied_at VARCHAR NOT NULL
    )
"""


@dataclass(frozen=True)
class Store:
    """An open store. Reads take a connection of their own; results go through `writer`.

    `location` is what a person would recognise: the path, or the URL without its password.
    """

    engine: Engine
    writer: Writer
    location: str

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading. Raises StoreError."""
        with translated(self.location), self.engine.connect() as connection:
            yield connection

    def write(self) -> AbstractContextManager[Connection]:
        """One transaction that holds the write lock: all of it is stored, or nothing. Raises StoreError."""
        return _stored(self.engine, self.location)

    def close(self) -> None:
        """Commit what is queued and let go of every connection."""
        self.writer.close()
        self.engine.dispose()


def program_version() -> str:
    """The installed version of misjudge."""
    try:
        return version("misjudge")
    except PackageNotFoundError:
        return "0+unknown"


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """A transaction that takes the write lock at its start, so that it cannot fail half-way for it."""
    with engine.connect().execution_options(misjudge_write=True) as connection, connection.begin():
        yield connection


@contextmanager
def _stored(engine: Engine, location: str) -> Iterator[Connection]:
    with translated(location), write_transaction(engine) as connection:
        yield connection


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn database errors that a person can do something about into one sentence."""
    try:
        yield
    except DBAPIError as error:
        meaning = _meaning(str(error.orig), location)
        if meaning is None:
            raise
        raise meaning from error


def _meaning(said: str, location: str) -> StoreError | None:
    lowered = said.lower()
    if "locked" in lowered:
        return StoreUnwritable(
            f"The store {location} is locked by another process. Wait until that one is done, then try again."
        )
    if "full" in lowered or "no space" in lowered:
        return StoreUnwritable(
            f"The disk of the store {location} is full, so nothing more was stored. Free some space, then try again."
        )
    if "readonly" in lowered or "read-only" in lowered:
        return StoreUnwritable(
            f"The store {location} is read-only. Make it writable, or name another one in MISJUDGE_STORE."
        )
    if "unable to open" in lowered:
        return StoreError(
            f"The store {location} cannot be opened. Check that its folder exists and may be written, "
            "or name another one in MISJUDGE_STORE."
        )
    if "not a database" in lowered or "malformed" in lowered:
        return StoreError(
            f"{location} is not a misjudge store (SQLite cannot read it). Name another one in MISJUDGE_STORE."
        )
    if "connection" in lowered or "password" in lowered or "does not exist" in lowered:
        return StoreError(f"The store {location} does not answer. Check host, database and user in MISJUDGE_STORE.")
    return None


def open_store(where: str | Path = DEFAULT_STORE) -> Store:
    """Open (or make) the store at a path or SQLAlchemy URL and bring it to this version's schema.

    Raises StoreTooNew when a newer version wrote it, StoreError when it cannot be opened.
    """
    place = str(where)
    engine, location = _url_engine(place) if "://" in place else _file_engine(Path(place))
    try:
        with translated(location):
            _migrate(engine, location, all_migrations())
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, Writer(lambda: _stored(engine, location)), location)


def _file_engine(path: Path) -> tuple[Engine, str]:
    if path.is_dir():
        raise StoreError(
            f"The store {path} is a folder. Name a file in MISJUDGE_STORE, such as {path / 'misjudge.db'}."
        )
    folder = path.absolute().parent
    try:
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if made and folder.name == ".misjudge":
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnwritable(
            f"The store's folder {folder} cannot be made ({error.strerror}). Name another place in MISJUDGE_STORE."
        ) from error
    return _sqlite_engine(f"sqlite:///{path.absolute().as_posix()}", network=_on_network_disk(folder)), str(path)


def _url_engine(url: str) -> tuple[Engine, str]:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite":
            return _sqlite_engine(url, network=False), parsed.render_as_string(hide_password=True)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        return create_engine(parsed, pool_pre_ping=True), parsed.render_as_string(hide_password=True)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise StoreError(
            "MISJUDGE_STORE must be a path or an SQLAlchemy URL such as postgresql://user@host/database; "
            "for Postgres install misjudge[postgres]."
        ) from error


def _sqlite_engine(url: str, *, network: bool) -> Engine:
    engine = create_engine(url)
    if network:
        log.warning("the store is on a network disk: using the slower DELETE journal instead of WAL")

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, by hand
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA foreign_keys = ON")
        _set_journal(connection, "delete" if network else "wal")
        connection.execute("PRAGMA synchronous = NORMAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("misjudge_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _set_journal(connection: sqlite3.Connection, mode: str) -> None:
    if connection.execute("PRAGMA query_only").fetchone()[0]:
        return
    try:
        answer = connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0]
    except sqlite3.OperationalError as error:
        if "readonly" in str(error):
            return
        raise
    if answer not in {mode, "memory"}:
        log.warning("the store's disk does not take journal mode %s; using %s", mode, answer)


def _on_network_disk(folder: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Whether the longest mount point above `folder` is a network file system (Linux; elsewhere False)."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    best, kind = "", ""
    for line in lines:
        _, point, file_system, *_ = line.split(" ")
        inside = folder.as_posix() == point or folder.as_posix().startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, file_system
    return kind in NETWORK_FILE_SYSTEMS


def _migrate(engine: Engine, location: str, migrations: tuple[Migration, ...]) -> None:
    newest = migrations[-1].number
    with engine.connect() as connection:
        if _stored_version(connection, location, newest) == newest:
            return
    with write_transaction(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7223145)"))
        stored = _stored_version(connection, location, newest)
        if stored == newest:
            return
        if stored:
            _refuse_while_leased(connection, location)
            _keep_copy(engine, stored)
        else:
            connection.execute(text(VERSION_TABLE))
        for migration in migrations:
            if migration.number > stored:
                _apply(connection, migration)


def _apply(connection: Connection, migration: Migration) -> None:
    for statement in migration.statements:
        connection.exec_driver_sql(statement)
    connection.execute(
        text("INSERT INTO schema_version (number, program, applied_at) VALUES (:number, :program, :applied_at)"),
        {"number": migration.number, "program": program_version(), "applied_at": utc_now().isoformat()},
    )


def _stored_version(connection: Connection, location: str, newest: int) -> int:
    """The schema number of the store, 0 for an empty one. Raises StoreTooNew or StoreError."""
    names = set(connection.dialect.get_table_names(connection))
    if "schema_version" not in names:
        if names:
            raise StoreError(f"{location} is a database of another program. Name another one in MISJUDGE_STORE.")
        return 0
    number, program = connection.execute(
        text("SELECT number, program FROM schema_version ORDER BY number DESC LIMIT 1")
    ).one()
    if number > newest:
        raise StoreTooNew(
            f"The store {location} was written by misjudge {program}, which is newer than this one "
            f"({program_version()}). Install misjudge>={program}, or name another store in MISJUDGE_STORE."
        )
    return int(number)


def _refuse_while_leased(connection: Connection, location: str) -> None:
    live = connection.execute(
        text("SELECT run_id FROM runs WHERE state = 'running' AND lease_until > :now"), {"now": utc_now()}
    ).first()
    if live:
        raise StoreUnwritable(
            f"The store {location} must be upgraded, but run {live[0]} is working on it. "
            "Let it finish or cancel it, then try again."
        )


def _keep_copy(engine: Engine, stored: int) -> None:
    """Copy the SQLite file as it was, `NAME.vN.bak`; a Postgres team has its own backups."""
    name = engine.url.database
    if engine.dialect.name == "sqlite" and name and os.path.exists(name):
        shutil.copyfile(name, f"{name}.v{stored}.bak")

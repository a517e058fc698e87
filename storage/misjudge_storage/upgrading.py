"""Bringing a store to this version's schema: one transaction, after a copy, and never under a working run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version

from sqlalchemy import Connection, Engine, bindparam, text

from misjudge_storage.columns import UtcDateTime, utc_now
from misjudge_storage.connections import write_transaction
from misjudge_storage.errors import StoreError, StoreTooNew, StoreUnwritable
from misjudge_storage.migrations import Migration

VERSION_TABLE = """
    CREATE TABLE schema_version (
        number INTEGER PRIMARY KEY, program VARCHAR NOT NULL, applied_at VARCHAR NOT NULL
    )
"""


def program_version() -> str:
    """The installed version of misjudge."""
    try:
        return version("misjudge")
    except PackageNotFoundError:
        return "0+unknown"


def upgrade(engine: Engine, location: str, migrations: tuple[Migration, ...]) -> None:
    """Apply the migrations that the store does not have yet: all of them, or none.

    Raises StoreTooNew when a newer version wrote it, StoreError when another program did, StoreUnwritable
    when a run is working on it.
    """
    newest = migrations[-1].number
    with engine.connect() as connection:
        if _stored_version(connection, location, newest) == newest:
            return
    with write_transaction(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7223145)"))
        stored = _stored_version(connection, location, newest)
        if stored == newest:  # another process was faster
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
    if not names:
        return 0
    if not {"schema_version", "audits"} <= names:  # schema_version is a common name
        raise StoreError(f"{location} is a database of another program. Name another one in MISJUDGE_STORE.")
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
    query = text("SELECT run_id FROM runs WHERE state = 'running' AND lease_until > :now")
    live = connection.execute(query.bindparams(bindparam("now", utc_now(), UtcDateTime()))).first()
    if live:
        raise StoreUnwritable(
            f"The store {location} must be upgraded, but run {live[0]} is working on it. "
            "Let it finish or cancel it, then try again."
        )


def _keep_copy(engine: Engine, stored: int) -> None:
    """Copy the SQLite store as it was to `FILE.vN.bak`; a Postgres team has its own backups."""
    if engine.dialect.name != "sqlite":
        return
    # Through SQLite, since in WAL mode the file alone lacks the latest commits; on a connection of its own,
    # since one that holds the write lock cannot be copied.
    with engine.connect() as connection:
        source = connection.connection.dbapi_connection
        assert isinstance(source, sqlite3.Connection)
        file = connection.exec_driver_sql("PRAGMA database_list").first()
        assert file is not None
        with closing(sqlite3.connect(f"{file.file}.v{stored}.bak")) as target:
            source.backup(target)

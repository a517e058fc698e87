"""Looks at a store without opening it for work: nothing is made, migrated, locked or written."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from misjudge_storage.connections import HEADER_BYTES, OLDEST_SQLITE, on_network_disk
from misjudge_storage.leases import is_live
from misjudge_storage.migrations import all_migrations
from misjudge_storage.types import utc_time

StoreProblem = Literal[
    "not-a-store-url", "in-memory", "no-driver", "old-sqlite", "folder", "unwritable", "damaged", "other-program",
    "too-new",
]  # fmt: skip
LITTLE_BYTES = 100_000_000
"""Free space below which a run may fill the disk."""
_MAGIC = b"SQLite format 3\0"


class StoreState(NamedTuple):
    """What a store is like. `program` wrote a newer one; `lost_runs` are marked as running but nobody works on them."""

    present: bool
    problem: StoreProblem | None = None
    program: str | None = None
    network: bool = False
    little_space: bool = False
    lost_runs: tuple[str, ...] = ()


def inspect_store(place: str) -> StoreState:
    """The state of the store at a path or URL. A database elsewhere is not asked."""
    if "://" not in place:
        return _inspect_file(Path(os.path.expanduser(place)))
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(place)
        backend = url.get_backend_name()
    except (ArgumentError, ImportError, ValueError):
        return StoreState(False, "not-a-store-url")
    if backend == "postgresql":
        return StoreState(True, None if find_spec("psycopg") else "no-driver")
    if backend != "sqlite":
        return StoreState(False, "not-a-store-url")
    if url.database in {None, "", ":memory:"} or url.query.get("mode") == "memory":
        return StoreState(False, "in-memory")
    return StoreState(True) if url.query else _inspect_file(Path(url.database or ""))


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing on the disk, not even the files beside a database in WAL mode.

    It sees the latest commits where somebody has the database open, else what the file itself holds.
    """
    beside = [path.with_name(path.name + ending) for ending in ("-wal", "-shm")]
    in_use = all(file.exists() for file in beside)
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{'' if in_use else '&immutable=1'}", uri=True)


def _inspect_file(path: Path) -> StoreState:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return StoreState(False, "old-sqlite")
    try:
        return _inspect_path(path)
    except OSError:
        return StoreState(False, "unwritable")


def _inspect_path(path: Path) -> StoreState:
    if path.exists() and not path.is_file():
        return StoreState(False, "folder")
    folder = next(one for one in path.absolute().parents if one.exists())
    usual = StoreState(
        path.exists(),
        network=on_network_disk(folder),
        little_space=shutil.disk_usage(folder).free < LITTLE_BYTES,
    )
    writable = folder.is_dir() and os.access(folder, os.W_OK) and (not usual.present or os.access(path, os.W_OK))
    if not writable:
        return usual._replace(problem="unwritable")
    return _inspect_content(path, usual) if usual.present and path.stat().st_size else usual


def _inspect_content(path: Path, usual: StoreState) -> StoreState:
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES or not header.startswith(_MAGIC):
        return usual._replace(problem="damaged")
    try:
        with closing(read_only(path)) as connection:
            return _inspect_tables(connection, usual)
    except sqlite3.Error:
        return usual._replace(problem="damaged")


def _inspect_tables(connection: sqlite3.Connection, usual: StoreState) -> StoreState:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not names:
        return usual
    if not {"schema_version", "audits"} <= names:
        return usual._replace(problem="other-program")
    number, program = connection.execute(
        "SELECT number, program FROM schema_version ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if number > all_migrations()[-1].number:
        return usual._replace(problem="too-new", program=str(program)[:40])
    return usual._replace(lost_runs=_lost_runs(connection))


def _lost_runs(connection: sqlite3.Connection) -> tuple[str, ...]:
    query = "SELECT run_id, owner_host, owner_pid, lease_until FROM runs WHERE state = 'running' ORDER BY run_id"
    return tuple(
        str(run) for run, host, pid, until in connection.execute(query) if not is_live(host, pid, _moment(until))
    )


def _moment(written: object) -> datetime | None:
    return utc_time(written) if isinstance(written, str) else None

"""SQLite databases in memory, of bounded size."""

from __future__ import annotations

import sqlite3
from typing import Final, TypeAlias

SqlCell: TypeAlias = str | int | float | bytes | None

MOST_BYTES: Final = 64 * 2**20
"""Of a world, at any time."""


def opened(image: bytes) -> sqlite3.Connection:
    """A copy of a serialized database. It commits each statement by itself. Raises sqlite3.DatabaseError."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        connection.deserialize(image)
        bound(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def bound(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    page_size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {MOST_BYTES // page_size}")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""Runs the script `world.sql`, one statement after the other, so that the line of a fault can be told."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from misjudge_storage.errors import InvalidInput

MOST_SECONDS: Final = 20.0
MOST_SCRIPT: Final = 32 * 2**20
"""Characters of a script."""
MOST_VALUE: Final = 10 * 2**20

_PRAGMAS: Final = frozenset({"foreign_keys", "defer_foreign_keys", "user_version", "application_id", "encoding"})
_DENIED: Final = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_VTABLE})
_FAILURES: Final = {
    "SQLITE_AUTH": (
        "a world may not attach files, load extensions, make virtual tables, or set another PRAGMA than "
        + ", ".join(sorted(_PRAGMAS))
    ),
    "SQLITE_FULL": "the world has more than 64 MB by now, which is the most it may",
    "SQLITE_INTERRUPT": f"the script takes more than {MOST_SECONDS:.0f} seconds, which is the most it may",
    "SQLITE_TOOBIG": f"a value has more than {MOST_VALUE // 2**20} MB, which is the most it may",
}


class _Statement(NamedTuple):
    line: int
    sql: str


def run_script(connection: sqlite3.Connection, script: str, limit_s: float = MOST_SECONDS) -> None:
    """Raises InvalidInput with the line of the statement that is at fault. Leaves the connection restricted."""
    if len(script) > MOST_SCRIPT:
        raise InvalidInput(f"world.sql has more than {MOST_SCRIPT // 2**20} MB; give a SQLite file world.db instead.")
    deadline = time.monotonic() + limit_s
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_authorizer(_may_build)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    for line, sql in _statements(script, deadline):
        try:
            connection.execute(sql)
        except (sqlite3.Error, ValueError, MemoryError) as error:
            raise InvalidInput(f"world.sql, line {line}: {_told(error)}.") from error
    if connection.in_transaction:
        raise InvalidInput("world.sql begins a transaction that it does not end; add COMMIT at its end.")


def _told(error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if str(error).startswith("not authorized"):
        name = "SQLITE_AUTH"
    return _FAILURES.get(name, str(error) or "the statement takes too much memory")


def _may_build(action: int, first: str | None, second: str | None, _database: str | None, _within: str | None) -> int:
    denied = (
        action in _DENIED
        or (action == sqlite3.SQLITE_PRAGMA and (first or "").lower() not in _PRAGMAS)
        or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension")
    )
    return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


def _statements(script: str, deadline: float) -> Iterator[_Statement]:
    start, end, line = 0, 0, 1
    while end < len(script):
        end = script.find(";", end) + 1 or len(script)
        sql = script[start:end]
        if end == len(script) or "\0" in sql or sqlite3.complete_statement(sql):
            begun = len(sql) - len(sql.lstrip())
            yield _Statement(line + sql.count("\n", 0, begun), sql)
            start, line = end, line + sql.count("\n")
        elif time.monotonic() > deadline:
            raise InvalidInput(f"world.sql, line {line}: {_FAILURES['SQLITE_INTERRUPT']}.")

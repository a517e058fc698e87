"""Queries on a world, which may hold what agents wrote: in bounded time and memory, and to read only."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import Final

from misjudge_tools.episodes.sqlite_memory import SqlCell, opened

MOST_ROWS: Final = 1000
"""Of the answer."""
MOST_ANSWER: Final = 4 * 2**20
"""Characters of the answer, about."""
MOST_CELL: Final = 65_536
"""Bytes of a value or a row. Within one `instr` or `replace`, which take quadratic time, no query can be stopped."""

_STEPS_BETWEEN_LOOKS: Final = 50
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: MOST_CELL,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 20_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_READING: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
# They leave the database, answer otherwise each time, or make much out of nothing: printf('%.*c', 2000000000, 'x')
# takes 10 s for a text that is too long in the end.
_NO_FUNCTIONS: Final = frozenset(
    "load_extension readfile writefile edit fts3_tokenizer sqlite_log random randomblob zeroblob printf format".split()
)
# Of two arguments they take as long as the one times the other.
_NO_PAIRS: Final = ("trim", "ltrim", "rtrim")
_FAILURES: Final = {
    "SQLITE_AUTH": (
        "The query may only read: a SELECT without PRAGMA, and without functions that are random or may take long "
        "(printf, zeroblob, trim of other characters than spaces)."
    ),
    "SQLITE_INTERRUPT": "The query took too long.",
    "SQLITE_TOOBIG": f"The query is too long, or makes a value of more than {MOST_CELL} bytes.",
    "SQLITE_NOMEM": "The query takes too much memory.",
}

# What SQLite says of the query's own text; its other messages may quote the world.
_OF_THE_QUERY: Final = re.compile(r"no such |near |ambiguous |wrong number |misuse |incomplete input")


class QueryFailed(Exception):
    """A query that gives no answer; the message is one sentence without text of the world."""


def select(image: bytes, query: str, limit_s: float = 2.0) -> list[tuple[SqlCell, ...]]:
    """The rows that one reading statement gives on a copy of the world. Raises QueryFailed."""
    with closing(opened(image)) as connection:
        _restrict(connection, limit_s)
        try:
            cursor = connection.execute(query)
            if cursor.description is None:
                raise QueryFailed("The query is empty; write a SELECT.")
            return list(_bounded(cursor))
        except (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError) as error:
            raise QueryFailed(_sentence(error)) from None


def _restrict(connection: sqlite3.Connection, limit_s: float) -> None:
    with suppress(sqlite3.Error):  # the first use of json_each in a connection declares it, which is a write
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").fetchall()
    # What is sorted goes to a file that has no name, and is bounded by the time to write it.
    connection.execute("PRAGMA temp_store = FILE")
    connection.execute("PRAGMA query_only = ON")
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    for name in _NO_PAIRS:
        connection.create_function(name, 2, _refuse)
    connection.set_authorizer(_may_read)
    deadline = time.monotonic() + limit_s
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS)


def _may_read(action: int, _first: str | None, second: str | None, _database: str | None, _within: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").lower() in _NO_FUNCTIONS else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _refuse(_text: SqlCell, _cut: SqlCell) -> SqlCell:
    raise QueryFailed


def _bounded(rows: Iterable[tuple[SqlCell, ...]]) -> Iterator[tuple[SqlCell, ...]]:
    size = 0
    for number, row in enumerate(rows, 1):
        size += sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
        if number > MOST_ROWS or size > MOST_ANSWER:
            raise QueryFailed(f"The query gives too much: at most {MOST_ROWS} rows and {MOST_ANSWER} characters.")
        yield row


def _sentence(error: Exception) -> str:
    name = "SQLITE_NOMEM" if isinstance(error, MemoryError) else getattr(error, "sqlite_errorname", "")
    if str(error).startswith(("not authorized", "user-defined function")):
        name = "SQLITE_AUTH"
    told = f": {error}" if _OF_THE_QUERY.match(str(error)) else ""
    return _FAILURES.get(name, f"The query is not one valid SELECT for this world{told}.")

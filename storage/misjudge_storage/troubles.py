"""What a database says when it fails, as one sentence for people."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, ProgrammingError

from misjudge_storage.errors import StoreError, StoreUnwritable


class _Meaning(NamedTuple):
    said: tuple[str, ...]
    kind: type[StoreError]
    sentence: str


_MEANINGS = (
    _Meaning(
        ("database is locked", "table is locked"),
        StoreUnwritable,
        "The store {store} is locked by another process. Wait until that one is done, then try again.",
    ),
    _Meaning(
        ("disk is full", "no space left"),
        StoreUnwritable,
        "The disk of the store {store} is full, so nothing more was stored. Free some space, then try again.",
    ),
    _Meaning(
        ("readonly database", "read-only transaction"),
        StoreUnwritable,
        "The store {store} is read-only. Make it writable, or name another one in MISJUDGE_STORE.",
    ),
    _Meaning(
        ("unable to open",),
        StoreError,
        "The store {store} cannot be opened. Check that its folder exists and may be written, "
        "or name another one in MISJUDGE_STORE.",
    ),
    _Meaning(
        ("not a database", "malformed"),
        StoreError,
        "{store} is not a misjudge store (SQLite cannot read it). Name another one in MISJUDGE_STORE.",
    ),
    _Meaning(
        ("disk i/o error",),
        StoreError,
        "The disk of the store {store} reports an error. Check that it has free space and is still connected, "
        "then try again.",
    ),
)
_UNANSWERED = "The store {store} does not answer. Check host, database, user and password in MISJUDGE_STORE."


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn database errors that a person can do something about into one sentence. Raises StoreError."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        meaning = _meaning(error, location)
        if meaning is None:
            raise
        raise meaning from error


def _meaning(error: DBAPIError | sqlite3.Error, location: str) -> StoreError | None:
    # These name values of the statement, which may read like trouble with the store.
    if isinstance(error, IntegrityError | DataError | ProgrammingError):
        return None
    original = error.orig if isinstance(error, DBAPIError) else error
    said = str(original).lower()
    for meaning in _MEANINGS:
        if any(words in said for words in meaning.said):
            return meaning.kind(meaning.sentence.format(store=location))
    if isinstance(error, OperationalError) and not isinstance(original, sqlite3.Error):
        return StoreError(_UNANSWERED.format(store=location))
    return None

"""The world of one rollout: a SQLite database in memory, from an image that every rollout has a copy of its own of."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

from misjudge_storage.errors import InvalidInput
from misjudge_tools.episodes.sqlite_memory import MOST_BYTES, SqlCell, bound, opened
from misjudge_tools.episodes.world_changes import Difference, differences
from misjudge_tools.episodes.world_queries import QueryFailed, select
from misjudge_tools.episodes.world_script import run_script

__all__ = ["Difference", "QueryFailed", "SqlCell", "ToolRefused", "World", "build_image", "differences", "select"]


class ToolRefused(Exception):
    """What the back end does not do; the message is a sentence for the agent."""


class World:
    """A rollout's own copy, in memory only: nothing that is done with `connection` reaches a file.

    The connection commits each statement by itself, outside of an explicit SAVEPOINT or BEGIN. It may pass between
    threads, but is used by one at a time.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @classmethod
    def from_image(cls, image: bytes) -> Self:
        connection = opened(image)
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # VACUUM INTO attaches a file, too
        return cls(connection)

    def image(self) -> bytes:
        """The world as it was last committed."""
        return self.connection.serialize()

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def build_image(script: str | None, file: Path | None) -> bytes:
    """A world as a serialized database, from the SQL of `world.sql` or from a SQLite file.

    Raises InvalidInput, with the line of the script where one is at fault.
    """
    if script is not None and file is None:
        return _from_script(script)
    if file is not None and script is None:
        return _from_file(file)
    raise InvalidInput("A world comes from either world.sql or a SQLite file world.db; give one of them.")


def _from_script(script: str) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        bound(connection)
        run_script(connection, script)
        connection.set_authorizer(None)
        if not connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0]:
            raise InvalidInput("world.sql makes no table; add CREATE TABLE statements, or remove the file.")
        return connection.serialize()


def _from_file(file: Path) -> bytes:
    # Without its log the world would be an older one than what was meant.
    for log in (file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-journal")):
        if log.exists() and log.stat().st_size:
            raise InvalidInput(f"{file.name} is in use or was not closed: {log.name} is not empty. Close it first.")
    try:
        with file.open("rb") as opened_file:
            image = opened_file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{file.name} cannot be read: {error.strerror}.") from error
    if len(image) > MOST_BYTES:
        raise InvalidInput(f"{file.name} has more than {MOST_BYTES // 2**20} MB, which is the most a world may.")
    if not image.startswith(b"SQLite format 3\0") or len(image) < 512:
        raise InvalidInput(f"{file.name} is not a SQLite database.")
    image = image[:18] + b"\1\1" + image[20:]  # one in WAL mode cannot be opened in memory
    _check_soundness(image, file.name)
    return image


def _check_soundness(image: bytes, name: str) -> None:
    try:
        with closing(opened(image)) as connection:
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            made = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.Error:
        sound, made = False, []
    if not sound:
        raise InvalidInput(f"{name} is a damaged SQLite database; restore it.")
    if not made or any(str(sql).upper().startswith("CREATE VIRTUAL") for (sql,) in made):
        raise InvalidInput(f"{name} has no tables, or virtual ones, which a world may not have.")

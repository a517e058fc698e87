"""What changed between two images of a world."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Literal, NamedTuple, TypeAlias

from misjudge_tools.episodes.sqlite_memory import SqlCell, opened, quoted

WorldRow: TypeAlias = Mapping[str, SqlCell]


class Difference(NamedTuple):
    """A row that is not as it was.

    `key` holds the primary key (of a table without one: the whole row). `before` is the whole row as it was, None
    where it was added; `after` the whole row that was added, of a changed row only what changed in it. A table that
    was itself added or removed, or made anew with other columns, has neither.
    """

    table: str
    kind: Literal["added", "removed", "changed"]
    key: WorldRow
    before: WorldRow | None
    after: WorldRow | None


class _Column(NamedTuple):
    name: str
    declared: str
    key: int


_Tables: TypeAlias = Mapping[str, tuple[_Column, ...]]
_Cells: TypeAlias = tuple[SqlCell, ...]


def differences(before: bytes, after: bytes, leave_out: frozenset[str] = frozenset()) -> tuple[Difference, ...]:
    """Every row that differs, by primary key; in a table without one, rows are only added and removed.

    NULL equals NULL, 1 equals 1.0 but not '1'. Columns in `leave_out` (lower case) are not looked at, unless they
    are of the key.
    """
    if before == after:
        return ()
    with closing(opened(before)) as connection:
        connection.execute("ATTACH ':memory:' AS later")
        connection.deserialize(after, name="later")
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        was, now = _tables(connection, "main"), _tables(connection, "later")
        found: list[Difference] = []
        for table in sorted({*was, *now}):
            if was.get(table) == now.get(table):
                found += _of_rows(connection, table, was[table], leave_out)
            else:
                found += [Difference(table, "removed", {}, None, None)] * (table in was)
                found += [Difference(table, "added", {}, None, None)] * (table in now)
        return tuple(found)


def _tables(connection: sqlite3.Connection, schema: str) -> _Tables:
    names = connection.execute(f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table'").fetchall()
    return {
        name: tuple(
            _Column(column[1], column[2], column[5])
            for column in connection.execute(f"PRAGMA {schema}.table_info({quoted(name)})").fetchall()
        )
        for (name,) in names
        if not name.startswith("sqlite_")
    }


def _of_rows(
    connection: sqlite3.Connection, table: str, columns: Sequence[_Column], leave_out: frozenset[str]
) -> Iterator[Difference]:
    names = [column.name for column in columns if column.key or column.name.lower() not in leave_out]
    keys = [column.name for column in columns if column.key]
    if not names:
        return
    was = _rows_of_one(connection, "main", "later", table, names)
    now = _rows_of_one(connection, "later", "main", table, names)
    gone, come = _by_key(was - now, names, keys), _by_key(now - was, names, keys)
    for key in dict.fromkeys((*gone, *come)):
        named = dict(zip(keys or names, key, strict=True))
        if len(gone[key]) == len(come[key]) == 1:
            before, after = gone[key][0], come[key][0]
            changed = {name: after[name] for name in names if after[name] != before[name]}
            yield Difference(table, "changed", named, before, changed)
            continue
        yield from (Difference(table, "removed", named, row, None) for row in gone[key])
        yield from (Difference(table, "added", named, None, row) for row in come[key])


def _rows_of_one(
    connection: sqlite3.Connection, here: str, there: str, table: str, names: Sequence[str]
) -> Counter[_Cells]:
    """The rows that are not as often in the other image, with how often they are in this one."""
    # By the collation of the column itself a change of case may be none.
    listed = ", ".join(f"{quoted(name)} COLLATE BINARY" for name in names)
    counted = " EXCEPT ".join(
        f"SELECT {listed}, count(*) FROM {schema}.{quoted(table)} GROUP BY {listed}" for schema in (here, there)
    )
    return Counter({row[:-1]: row[-1] for row in connection.execute(counted)})


def _by_key(rows: Counter[_Cells], names: Sequence[str], keys: Sequence[str]) -> dict[_Cells, list[dict[str, SqlCell]]]:
    found: dict[_Cells, list[dict[str, SqlCell]]] = defaultdict(list)
    for cells in rows.elements():
        row = dict(zip(names, cells, strict=True))
        found[tuple(row[name] for name in keys or names)].append(row)
    return found

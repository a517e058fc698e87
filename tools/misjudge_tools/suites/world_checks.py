"""What the world of a suite holds, for the rules that name it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final, NamedTuple

from misjudge_tools.episodes.rules import TIMES, Cell, Row
from misjudge_tools.episodes.sqlite_memory import opened, quoted
from misjudge_tools.episodes.world import QueryFailed, World, select

_LARGEST: Final = 1e300
"""No cell of a database is a number above this."""


class WorldShape(NamedTuple):
    """A world's image, and the columns of each of its tables."""

    image: bytes
    tables: Mapping[str, frozenset[str]]

    def problem_with_query(self, query: str) -> str | None:
        """Why a query can never be answered. It is prepared, not run."""
        try:
            select(self.image, f"EXPLAIN {query}")
        except QueryFailed as error:
            return str(error).rstrip(".")
        return None

    def has_row(self, table: str, key: Row) -> bool:
        """Whether a change with this key can find a row: cells are compared as changes of the world are."""
        conditions = [_Condition("1", ()), *_conditions(key)]
        query = f"SELECT 1 FROM {quoted(table)} WHERE {' AND '.join(one.sql for one in conditions)} LIMIT 1"
        with closing(opened(self.image)) as connection:
            return connection.execute(query, [cell for one in conditions for cell in one.cells]).fetchone() is not None


class _Condition(NamedTuple):
    sql: str
    cells: tuple[str | float, ...]


def _conditions(key: Row) -> Iterator[_Condition]:
    return (_condition(f"+{quoted(name)}", cell) for name, cell in key.items() if name.lower() not in TIMES)


def _condition(column: str, cell: Cell) -> _Condition:
    """`column` has no affinity, so that 1 is not '1'. Numbers are as equal as `verifiers` has them."""
    match cell:
        case None:
            return _Condition(f"{column} IS NULL", ())
        case str():
            return _Condition(f"typeof({column}) = 'text' AND {column} COLLATE BINARY = ?", (cell,))
        case _ if abs(cell) > _LARGEST:
            return _Condition("0", ())
        case _:
            number = float(cell)
            near = 1e-9 * max(abs(number), 1.0)
            between = f"typeof({column}) IN ('integer', 'real') AND {column} BETWEEN ? AND ?"
            return _Condition(between, (number - near, number + near))


def shape_of(image: bytes) -> WorldShape:
    """The tables of a world and their columns."""
    columns: dict[str, set[str]] = {}
    with World.from_image(image) as world:
        for table, column in world.connection.execute(
            "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns "
            "WHERE tables.type = 'table'"
        ):
            columns.setdefault(table, set()).add(column)
    return WorldShape(image, {table: frozenset(names) for table, names in columns.items()})

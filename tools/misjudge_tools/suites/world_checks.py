"""What the world of a suite holds, for the rules that name it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from misjudge_tools.episodes.world import QueryFailed, World, select


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

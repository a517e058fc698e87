"""Rules about the world as the agent left it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from misjudge_tools.episodes.rules import TIMES, Cell, Change, SqlRule, WorldRule
from misjudge_tools.episodes.sqlite_memory import SqlCell
from misjudge_tools.episodes.told import Told
from misjudge_tools.episodes.world_changes import Difference, WorldRow, differences
from misjudge_tools.episodes.world_queries import QueryFailed, select

_NO_WORLD: Final = Told(None, "the world is not known")


def sql(rule: SqlRule, after: bytes | None) -> Told:
    if after is None:
        return _NO_WORLD
    try:
        rows = select(after, rule.query)
    except QueryFailed as error:
        return Told(None, str(error))
    same = _is_answer(rule.equals, rows)
    return Told(same, f"the answer ({len(rows)} rows) is {'as expected' if same else 'another'}")


def _is_answer(wanted: Cell | list[list[Cell]], rows: Sequence[Sequence[SqlCell]]) -> bool:
    if not isinstance(wanted, list):
        # A query of one value that finds no row has found nothing.
        found = rows or [(None,)]
        return len(found) == 1 and len(found[0]) == 1 and _same(wanted, found[0][0])
    return len(wanted) == len(rows) and all(
        len(cells) == len(row) and all(map(_same, cells, row)) for cells, row in zip(wanted, rows, strict=True)
    )


def _same(wanted: Cell, found: SqlCell) -> bool:
    """Sums of money in REAL columns are as equal as such numbers can be."""
    if isinstance(wanted, int | float) and isinstance(found, int | float):
        return wanted == found or math.isclose(wanted, found, rel_tol=1e-9, abs_tol=1e-9)
    return wanted == found


def world(rule: WorldRule, before: bytes | None, after: bytes | None) -> Told:
    if before is None or after is None:
        return _NO_WORLD
    ignored = {table.casefold() for table in rule.ignore}
    found = [
        difference for difference in differences(before, after, TIMES) if difference.table.casefold() not in ignored
    ]
    wanted = [change for change in rule.changes if change.table.casefold() not in ignored]
    met = _matching(wanted, found)
    missing = Counter(change.table for place, change in enumerate(wanted) if place not in met)
    unexpected = Counter(found[place].table for place in range(len(found)) if place not in met.values())
    problems = [
        *(f"{table}: {count} {'changes' if count > 1 else 'change'} too many" for table, count in unexpected.items()),
        *(f"{table}: {count} {'changes' if count > 1 else 'change'} missing" for table, count in missing.items()),
    ]
    return Told(not problems, "; ".join(problems) or f"{len(found)} changes, all as expected")


def _matching(wanted: Sequence[Change], found: Sequence[Difference]) -> Mapping[int, int]:
    """For as many changes as can be, by their place, one difference each (augmenting paths, Kuhn 1955)."""
    fitting = [[at for at, difference in enumerate(found) if _fits(change, difference)] for change in wanted]
    taken: dict[int, int] = {}

    def place(change: int, tried: set[int]) -> bool:
        for at in fitting[change]:
            if at not in tried:
                tried.add(at)
                if at not in taken or place(taken[at], tried):
                    taken[at] = change
                    return True
        return False

    for change in range(len(wanted)):
        place(change, set())
    return {change: at for at, change in taken.items()}


def _fits(change: Change, difference: Difference) -> bool:
    if change.table.casefold() != difference.table.casefold():
        return False
    if change.added is not None:
        return difference.kind == "added" and _holds(change.added, difference.after)
    if not _holds(change.key, difference.before):
        return False
    if change.removed:
        return difference.kind == "removed"
    return (
        difference.kind == "changed"
        and _holds(change.set or {}, difference.after)
        and _columns(change.set or {}) == _columns(difference.after or {})
    )


def _holds(wanted: Mapping[str, Cell], row: WorldRow | None) -> bool:
    if row is None:
        return False
    cells = {name.lower(): cell for name, cell in row.items()}
    return all(
        name.lower() in cells and _same(cell, cells[name.lower()])
        for name, cell in wanted.items()
        if name.lower() not in TIMES
    )


def _columns(names: Collection[str]) -> set[str]:
    return {name.lower() for name in names} - TIMES

"""What the `simulated` column of an export says of the judge and the episodes of its rows.

A row is simulated where its judge or an episode is, and does not say which. So none of them is in a row with 0, and
whatever stands only in rows with 1 is taken for made up: rather too much than a made-up one that looks real.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from misjudge_storage.types import BadRecord, RecordError, Side
from misjudge_tools.interchange.fields import Fields, flag
from misjudge_tools.interchange.files import Row


class Part(NamedTuple):
    """A judge, or an episode, of a row. `home` is the pair where the source does not number attempts."""

    kind: Literal["judge", "episode"]
    name: str
    task_id: str = ""
    trial: int | None = None
    home: str = ""


def episode_part(task_id: str, agent: str, trial: int | None, pair_id: str, side: Side) -> Part:
    """An episode as the rows of an export tell it from others."""
    return Part("episode", agent, task_id, trial, f"{pair_id}:{side}" if trial is None else "")


def made_up_parts(
    rows: Callable[[], Iterable[Row | BadRecord]], parts: Callable[[Fields], Iterable[Part]]
) -> frozenset[Part]:
    """The judges and episodes that stand in rows with `simulated` 1 and in none with 0. Reads the rows twice, if need
    be: a large file seldom holds both.
    """
    found = frozenset(_stated(rows(), parts, simulated=True))
    return found.difference(_stated(rows(), parts, simulated=False)) if found else found


def _stated(
    rows: Iterable[Row | BadRecord], parts: Callable[[Fields], Iterable[Part]], *, simulated: bool
) -> Iterable[Part]:
    for row in rows:
        if isinstance(row, BadRecord):
            continue
        try:
            if flag(row.fields, "simulated") is simulated:
                yield from parts(row.fields)
        except RecordError:  # reported when the row itself is read
            continue

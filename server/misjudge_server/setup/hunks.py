"""What differs between two texts, in pieces small enough that no neighbour of a changed value is among them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from misjudge_storage.types import Value

_TOKEN: Final = re.compile(r"[^\S\n]+|[\w.\-]+|.|\n")
_MOST_TOKENS: Final = 5000
"""Comparing takes time that grows with the square of the tokens."""


class Hunk(Value):
    """A changed piece: its place in the later text, what stands there, and what stood there before."""

    at: int
    now: str
    was: str


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """The changed pieces, in their order; `restored(after, hunks(before, after))` is `before`."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    return tuple(_by_line(old, new, start)) if old or new else ()


def restored(after: str, changed: Iterable[Hunk]) -> str | None:
    """The earlier text, None where the later one does not hold the pieces."""
    parts = []
    place = 0
    for hunk in changed:
        if hunk.at < place or not after.startswith(hunk.now, hunk.at):
            return None
        parts += [after[place : hunk.at], hunk.was]
        place = hunk.at + len(hunk.now)
    return "".join([*parts, after[place:]])


def _common(one: str, other: str) -> int:
    """How many characters both texts begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _by_line(old: str, new: str, at: int) -> Iterator[Hunk]:
    for piece in _compared(old.splitlines(keepends=True), new.splitlines(keepends=True), at):
        yield from _by_token(piece) if piece.now and piece.was else [piece]


def _by_token(piece: Hunk) -> Iterator[Hunk]:
    old, new = _TOKEN.findall(piece.was), _TOKEN.findall(piece.now)
    if max(len(old), len(new)) > _MOST_TOKENS:
        yield piece
    else:
        yield from _compared(old, new, piece.at)


def _compared(old: Sequence[str], new: Sequence[str], at: int) -> Iterator[Hunk]:
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        now = "".join(new[c:d])
        if kind != "equal":
            yield Hunk(at=at, now=now, was="".join(old[a:b]))
        at += len(now)

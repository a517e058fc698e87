"""Counts of rows by task and key, and over tasks by group: what clustered intervals are made of. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from misjudge_storage.row_chunks import NOTHING, Floats, Ints


class Cells(NamedTuple):
    """`sums[c, i]` is what column c comes to in the rows of unit `unit[i]` that have the key `key[i]`."""

    unit: Ints
    key: Ints
    sums: Floats


class _Numbered(NamedTuple):
    """The different numbers of a column in order, and the place of each element among them."""

    numbers: Ints
    place: Ints


def _numbered(column: Ints, below: int) -> _Numbered:
    """Of a column of numbers from 0 to below `below`. Where these are dense, nothing is sorted, which takes longer."""
    if below > 4 * len(column):
        return _Numbered(*np.unique(column, return_inverse=True))
    found = np.zeros(below, dtype=bool)
    found[column] = True
    return _Numbered(np.flatnonzero(found), (np.cumsum(found) - 1)[column])


def _added(columns: Sequence[Ints | Floats], place: Ints, places: int) -> Floats:
    """What the elements of each column come to by place."""
    sums: Floats = np.zeros((len(columns), places))
    for row, column in enumerate(columns):
        sums[row] = np.bincount(place, weights=column, minlength=places)
    return sums


def summed(unit: Ints, key: Ints, columns: Sequence[Ints | Floats]) -> Cells:
    """The cells of rows that come in the order of `unit`, in the order of unit and key; rows with a negative key are
    left out.
    """
    known = key >= 0
    if not known.all():
        unit, key, columns = unit[known], key[known], [column[known] for column in columns]
    # By the place of the unit: its number, times keys in the millions, would not fit into 63 bits.
    changes = np.diff(unit, prepend=NOTHING) != 0
    units, place = unit[changes], np.cumsum(changes) - 1
    width = int(key.max(initial=0)) + 1
    cells = _numbered(place * width + key, len(units) * width)
    return Cells(units[cells.numbers // width], cells.numbers % width, _added(columns, cells.place, len(cells.numbers)))


class WholeUnits:
    """Adds up rows chunk by chunk, and keeps back the last unit of a chunk, of which more may follow."""

    def __init__(self, columns: int) -> None:
        nothing = np.zeros(0, dtype=np.int64)
        self._kept = Cells(nothing, nothing, np.zeros((columns, 0)))

    def add(self, unit: Ints, key: Ints, columns: Sequence[Ints | Floats], last: int) -> Cells:
        """The cells of all units below `last` that have not been given yet; those from it on are kept."""
        kept, found = self._kept, summed(unit, key, columns)
        sums = np.concatenate([kept.sums, found.sums], axis=1)
        cells = summed(np.concatenate([kept.unit, found.unit]), np.concatenate([kept.key, found.key]), [*sums])
        end = int(np.searchsorted(cells.unit, last))
        self._kept = Cells(cells.unit[end:], cells.key[end:], cells.sums[:, end:])
        return Cells(cells.unit[:end], cells.key[:end], cells.sums[:, :end])


class GroupedSums:
    """Sums over tasks by group: of plain counts, and of products of the counts of one task. Floats hold whole numbers
    to 2 ** 53.
    """

    def __init__(self) -> None:
        self.groups: dict[tuple[int, ...], Floats] = {}

    def add(self, groups: Sequence[Ints], columns: Sequence[Ints | Floats]) -> None:
        """Add one element of each column to the group that the elements of `groups` name; negative is NOTHING alone."""
        code, below = np.zeros(len(groups[0]), dtype=np.int64), 1
        for part in groups:
            width = int(part.max(initial=0)) + 2
            code, below = code * width + part + 1, below * width
        numbers, place = _numbered(code, below)
        one_of = np.zeros_like(numbers)
        one_of[place] = np.arange(len(code))
        totals = _added(columns, place, len(numbers))
        for *group, total in zip(*(part[one_of].tolist() for part in groups), totals.T, strict=True):
            key = tuple(group)
            self.groups[key] = self.groups[key] + total if key in self.groups else total


def products(k: Floats, n: Floats) -> list[Floats]:
    """The columns whose sums over tasks are `Sums`, from k of n of each task."""
    return [(n > 0).astype(np.float64), k, n, k * k, k * n, n * n]


def crossed(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> list[Floats]:
    """The columns whose sums over tasks are `CrossSums`, from two counts of each task."""
    return [((n1 > 0) & (n2 > 0)).astype(np.float64), k1 * k2, k1 * n2, n1 * k2, n1 * n2]

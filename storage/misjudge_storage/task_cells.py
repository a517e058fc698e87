"""Counts of rows by task and key, and over tasks by group: what clustered intervals are made of. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from misjudge_storage.row_chunks import Floats, Ints


class Cells(NamedTuple):
    """`sums[c, i]` is what column c comes to in the rows of unit `unit[i]` that have the key `key[i]`."""

    unit: Ints
    key: Ints
    sums: Floats


def summed(unit: Ints, key: Ints, columns: Sequence[Ints | Floats]) -> Cells:
    """The cells of rows, in the order of unit and key; rows with a negative key are left out."""
    known = key >= 0
    if not known.all():
        unit, key, columns = unit[known], key[known], [column[known] for column in columns]
    width = int(key.max(initial=0)) + 1
    first = int(unit.min(initial=0))
    cells, place = np.unique((unit - first) * width + key, return_inverse=True)
    sums: Floats = np.zeros((len(columns), len(cells)))
    for row, column in enumerate(columns):
        sums[row] = np.bincount(place, weights=column, minlength=len(cells))
    return Cells(cells // width + first, cells % width, sums)


class WholeUnits:
    """Adds up rows chunk by chunk, and keeps back the last unit of a chunk, of which more may follow."""

    def __init__(self, columns: int) -> None:
        nothing = np.zeros(0, dtype=np.int64)
        self._kept = Cells(nothing, nothing, np.zeros((columns, 0)))

    def add(self, unit: Ints, key: Ints, columns: Sequence[Ints | Floats], last: int) -> Cells:
        """The cells of all units below `last` that have not been given yet; those from it on are kept."""
        kept = self._kept
        both = zip(kept.sums, columns, strict=True)
        values: list[Floats] = [np.concatenate(two, dtype=np.float64) for two in both]
        cells = summed(np.concatenate([kept.unit, unit]), np.concatenate([kept.key, key]), values)
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
        code = np.zeros(len(groups[0]), dtype=np.int64)
        for part in groups:
            code = code * (int(part.max(initial=0)) + 2) + part + 1
        _, first, place = np.unique(code, return_index=True, return_inverse=True)
        totals: Floats = np.zeros((len(columns), len(first)))
        for row, column in enumerate(columns):
            totals[row] = np.bincount(place, weights=column, minlength=len(first))
        for *group, total in zip(*(part[first].tolist() for part in groups), totals.T, strict=True):
            key = tuple(group)
            self.groups[key] = self.groups[key] + total if key in self.groups else total


def products(k: Floats, n: Floats) -> list[Floats]:
    """The columns whose sums over tasks are `Sums`, from k of n of each task."""
    return [(n > 0).astype(np.float64), k, n, k * k, k * n, n * n]


def crossed(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> list[Floats]:
    """The columns whose sums over tasks are `CrossSums`, from two counts of each task."""
    return [((n1 > 0) & (n2 > 0)).astype(np.float64), k1 * k2, k1 * n2, n1 * k2, n1 * n2]

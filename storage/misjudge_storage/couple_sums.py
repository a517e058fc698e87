"""What every two of many labellers say of the same pairs, added up over tasks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misjudge_storage.row_chunks import NOTHING, Floats, Ints
from misjudge_storage.task_moments import Moments, width


class Two(NamedTuple):
    """The numbers of two labellers, the smaller one first."""

    first: int
    second: int


class CoupleSums:
    """The moments over tasks of how often two of `labellers` labellers gave each two of `values` values.

    Of every two, which takes time and room that grow with the square of the number; or of those with one (`only`).
    """

    def __init__(self, labellers: int, values: int, only: int | None = None) -> None:
        self._values = values
        self._cells = values * values
        self._halves = np.triu_indices(self._cells)
        everyone = np.arange(labellers)
        self._only = only
        self._others = (
            {n: everyone[n + 1 :] for n in range(labellers)} if only is None else {only: np.delete(everyone, only)}
        )
        self._sums: dict[int, Floats] = {
            one: np.zeros((len(others), width(self._cells))) for one, others in self._others.items()
        }

    def add(self, task: Ints, given: Ints) -> None:
        """Add whole tasks: `given[l, p]` is what labeller l gave to pair p, or NOTHING, and `task[p]` its task."""
        for one, others in self._others.items():
            mine = np.flatnonzero(given[one] != NOTHING)
            theirs = given[np.ix_(others, mine)]
            any_of = np.flatnonzero((theirs != NOTHING).any(axis=1))
            if len(any_of):
                tasks = np.unique(task[mine], return_inverse=True)[1]
                counts = self._counts(given[one, mine], theirs[any_of], others[any_of] < one, tasks)
                products = (counts.transpose(0, 2, 1) @ counts)[(slice(None), *self._halves)]
                clusters = counts.any(axis=2).sum(axis=1)
                self._sums[one][any_of] += np.column_stack([clusters, counts.sum(axis=1), products])

    def _counts(self, mine: Ints, theirs: Ints, before: NDArray[np.bool_], task: Ints) -> Floats:
        """By another labeller, task and cell: the values of the first one of a couple go down the rows."""
        other, pair = np.nonzero(theirs != NOTHING)
        one, two = mine[pair], theirs[other, pair]
        cell = np.where(before[other], two * self._values + one, one * self._values + two)
        shape = (len(theirs), int(task.max()) + 1, self._cells)
        code = np.ravel_multi_index((other, task[pair], cell), shape)
        return np.bincount(code, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)

    def with_any(self) -> Iterator[Two]:
        """Those that gave values to the same pairs, in order."""
        found = (
            (one, int(other)) for one, others in self._others.items() for other in others[self._sums[one][:, 0] > 0]
        )
        yield from sorted(Two(min(two), max(two)) for two in found)

    def totals(self, two: Two) -> list[float]:
        """How often each cell was given by two labellers; the values of the first one go down the rows."""
        return list(self._row(two)[1 : 1 + self._cells].tolist())

    def moments(self, two: Two) -> Moments:
        """The moments of the cells of two labellers."""
        clusters, *sums = self._row(two).tolist()
        return Moments(int(clusters), tuple(sums[: self._cells]), tuple(sums[self._cells :]))

    def _row(self, two: Two) -> Floats:
        one, other = two if self._only in (None, two.first) else (two.second, two.first)
        found: Floats = self._sums[one][int(np.searchsorted(self._others[one], other))]
        return found

"""Where a judge is wrong: pairs by category, turns, models, language and subset, in the pass over the reduced audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import inf
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, text

from misjudge_storage.reduced_audit import REDUCED
from misjudge_storage.reduced_episodes import ACTORS
from misjudge_storage.reduced_kinds import MEASURES
from misjudge_storage.row_chunks import NOTHING, Chunk, Ints, ReducedFacts, judge_of, task_of
from misjudge_storage.summary_values import CrossSums, Sums
from misjudge_storage.task_cells import Cells, GroupedSums, WholeUnits, products

TURNS: Mapping[str, float] = {"up to 2": 2, "3-5": 5, "6-10": 10, "above 10": inf}
"""Band of turns → the most that it holds, where those before do not hold."""
OF_TASKS = ("category", "language", "subset")
BETWEEN = " + "
"""Between the two names of a combination."""


class SliceCounts(NamedTuple):
    """The pairs of a judge with one value of a dimension: all, the decidable ones, wrong calls among the scored ones.

    `cross` holds, over its tasks, the products of its sums with those of all pairs of the task; `both` are tasks with
    scored calls on other decidable pairs, too. The dimension has `values` with such calls, on `all_pairs` pairs.
    """

    judge_id: str
    dimension: str
    value: str
    pairs: int
    decidable: int
    calls: Sums
    cross: CrossSums
    values: int
    all_pairs: int


_COLUMNS = ("1", "decidable", *MEASURES["wrong_calls"])


class SliceCounting:
    """Counts the values of each dimension. Values that are not known are none.

    Models are those of both sides, in either order; where of no pair both are known, the agents are taken instead
    (`agents`).
    """

    def __init__(self, facts: ReducedFacts, *, models: bool) -> None:
        self._facts = facts
        self._columns = facts.of_kinds(_COLUMNS)
        self._sides = facts.of_actors("base_model" if models else "agent")
        self._of_tasks = [facts.of_tasks(name) for name in OF_TASKS]
        self._names = ("turns", "models" if models else "agents", *OF_TASKS)
        self._all, self._turns, self._couples = (WholeUnits(len(_COLUMNS)) for _ in range(3))
        self._found = GroupedSums()

    def add(self, chunk: Chunk, last: int) -> None:
        columns = [column[chunk.kind] for column in self._columns]
        everything = self._all.add(chunk.unit, np.zeros_like(chunk.unit), columns, last)
        turns = np.where(np.isnan(chunk.turns), NOTHING, np.searchsorted([*TURNS.values()], chunk.turns))
        bands = self._turns.add(chunk.unit, turns, columns, last)
        couples = self._couples.add(chunk.unit, self._couple(chunk), columns, last)
        of_tasks = [everything._replace(key=named.of[task_of(everything.unit)]) for named in self._of_tasks]
        for dimension, cells in enumerate((bands, couples, *of_tasks)):
            self._group(dimension, cells, everything)

    def _couple(self, chunk: Chunk) -> Ints:
        a, b = self._sides.of[chunk.actor_a], self._sides.of[chunk.actor_b]
        couple = np.minimum(a, b) * len(self._sides.names) + np.maximum(a, b)
        return np.where((a == NOTHING) | (b == NOTHING), NOTHING, couple)

    def _group(self, dimension: int, cells: Cells, everything: Cells) -> None:
        known = cells.key != NOTHING
        unit, key, sums = cells.unit[known], cells.key[known], cells.sums[:, known]
        pairs, decidable, k, n = sums
        *_, k_all, n_all = everything.sums[:, np.searchsorted(everything.unit, unit)]
        both = (n > 0) & (n_all > n)
        counted = [pairs, decidable, *products(k, n), both, k * k_all, k * n_all, n * k_all, n * n_all]
        self._found.add([judge_of(unit), np.full_like(unit, dimension), key], counted)

    def slices(self, most: int) -> list[SliceCounts]:
        """The `most` largest values of each dimension and judge, the largest first."""
        found = [
            _Found(judge_id, self._names[dimension], self._value(dimension, key), [int(total) for total in totals])
            for (judge, dimension, key), totals in self._found.groups.items()
            if (judge_id := self._facts.judges[judge]) is not None
        ]
        found.sort(key=lambda one: (one.judge_id, one.dimension, -one.calls, one.value))
        of_each = groupby((one for one in found if one.calls), key=lambda one: (one.judge_id, one.dimension))
        return [slice_ for _, values in of_each for slice_ in _largest(list(values), most)]

    def _value(self, dimension: int, key: int) -> str:
        if dimension == 0:
            return list(TURNS)[key]
        if dimension > 1:
            return self._of_tasks[dimension - 2].names[key]
        return BETWEEN.join(self._sides.names[side] for side in divmod(key, len(self._sides.names)))


class _Found(NamedTuple):
    judge_id: str
    dimension: str
    value: str
    totals: Sequence[int]

    @property
    def calls(self) -> int:
        return self.totals[4]


def _largest(values: Sequence[_Found], most: int) -> list[SliceCounts]:
    all_pairs = sum(one.totals[0] for one in values)
    return [
        SliceCounts(
            judge_id=one.judge_id,
            dimension=one.dimension,
            value=one.value,
            pairs=one.totals[0],
            decidable=one.totals[1],
            calls=Sums(*one.totals[2:8]),
            cross=CrossSums(*one.totals[8:]),
            values=len(values),
            all_pairs=all_pairs,
        )
        for one in values[:most]
    ]


def has_models(connection: Connection) -> bool:
    """Whether the base models of both sides are known of any pair of the reduced audit."""
    stated = f"SELECT EXISTS (SELECT 1 FROM {ACTORS} WHERE base_model IS NOT NULL)"
    both = f"SELECT EXISTS (SELECT 1 FROM {REDUCED} WHERE model_a IS NOT NULL AND model_b IS NOT NULL)"
    return bool(connection.scalar(text(stated)) and connection.scalar(text(both)))

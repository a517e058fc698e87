"""Pairs by the buckets of a gap: how they ended, and by task how often the judge was wrong, near and far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from misjudge_storage.reduced_audit import BUCKETS
from misjudge_storage.reduced_kinds import MEASURES, TALLIES
from misjudge_storage.row_chunks import NOTHING, Chunk, Floats, Ints, ReducedFacts, judge_of, task_of
from misjudge_storage.summary_values import BUCKET_CUTS, CrossSums, Group, GroupCounts, PairTotals, Sums
from misjudge_storage.task_cells import Cells, GroupedSums, WholeUnits, crossed, products

GapName = Literal["ability", "judge_score", "reward"]
BUCKET_MEASURES = ("wrong_calls", "wrong_pairs")
"""What is counted by gaps of rewards and scores; by those of ability, every measure is."""

# With a margin, since 0.8 − 0.6 is a little more than 0.2 in floating point.
_ENDS = (0.200000001, 0.500000001, 1.000000001)
_CALLS = "wrong_calls"
_TALLIES = len(TALLIES)


class GapOf(NamedTuple):
    """A gap of the pairs of a judge."""

    judge_id: str
    gap: str


class GapSums(NamedTuple):
    """Wrong single calls among the scored ones of decidable pairs by task, near and far, and the pairs there are."""

    near: Sums
    far: Sums
    cross: CrossSums
    near_pairs: int
    far_pairs: int


class BucketCounting:
    """Counts by judge, subset and bucket of one gap; where that is ability, also by judge and subset alone."""

    def __init__(self, facts: ReducedFacts, gap: GapName) -> None:
        self._gap: GapName = gap
        self._facts = facts
        self._measures: Sequence[str] = tuple(MEASURES) if gap == "ability" else BUCKET_MEASURES
        named = [*TALLIES.values(), *(column for name in self._measures for column in MEASURES[name])]
        self._columns = facts.of_kinds(named)
        self._subset = facts.of_tasks("subset")
        self._units = WholeUnits(len(named))
        self._whole, self._buckets, self._near = GroupedSums(), GroupedSums(), GroupedSums()

    def add(self, chunk: Chunk, last: int) -> None:
        columns = [column[chunk.kind] for column in self._columns]
        cells = self._units.add(chunk.unit, _BUCKETS[self._gap](chunk), columns, last)
        if not len(cells.unit):
            return
        if self._gap == "ability":
            starts = np.flatnonzero(np.diff(cells.unit, prepend=NOTHING))
            self._group(self._whole, Cells(cells.unit[starts], starts, np.add.reduceat(cells.sums, starts, axis=1)), [])
            known = cells.key > 0
            cells = Cells(cells.unit[known], cells.key[known], cells.sums[:, known])
        self._group(self._buckets, cells, [cells.key])
        self._add_near(cells)

    def _group(self, into: GroupedSums, cells: Cells, by: Sequence[Ints]) -> None:
        """Over the tasks of each judge and subset."""
        subset = self._subset.of[task_of(cells.unit)]
        summed = [*cells.sums[:_TALLIES]]
        for place in range(_TALLIES, len(cells.sums), 2):
            summed += products(*cells.sums[place : place + 2])
        into.add([judge_of(cells.unit), subset, *by], summed)

    def _add_near(self, cells: Cells) -> None:
        """Near and far by task, of the pairs of known gap."""
        units, place = np.unique(cells.unit, return_inverse=True)
        calls = _TALLIES + 2 * list(self._measures).index(_CALLS)
        wanted = [list(TALLIES).index("decidable"), calls, calls + 1]
        is_near = cells.key == _NEAR[self._gap]
        (near_pairs, *near), (far_pairs, *far) = (
            _added(cells.sums[wanted][:, held], place[held], len(units)) for held in (is_near, ~is_near)
        )
        counted = [*products(*near), *products(*far), *crossed(*near, *far), near_pairs, far_pairs]
        self._near.add([judge_of(units)], counted)

    def groups(self) -> dict[Group, GroupCounts]:
        """The counts by judge and subset; of ability only."""
        return {
            Group(judge_id, self._subset.name(subset)): self._counts(totals)
            for (judge, subset), totals in self._whole.groups.items()
            if (judge_id := self._facts.judges[judge]) is not None
        }

    def buckets(self) -> dict[Group, GroupCounts]:
        """The counts by judge, subset and bucket; buckets without a pair are left out."""
        return {
            Group(judge_id, self._subset.name(subset), self._gap, _NAMES[self._gap][bucket]): self._counts(totals)
            for (judge, subset, bucket), totals in self._buckets.groups.items()
            if (judge_id := self._facts.judges[judge]) is not None
        }

    def totals(self) -> PairTotals:
        """The rows by what gold says of them, those of no judge included; of ability only."""
        totals = np.sum([*self._whole.groups.values(), np.zeros(_TALLIES + 6 * len(MEASURES), dtype=np.int64)], axis=0)
        return PairTotals(*(int(totals[list(TALLIES).index(name)]) for name in PairTotals._fields))

    def near_and_far(self) -> dict[GapOf, GapSums]:
        """Those of the judges with scored calls on decidable pairs of both."""
        found = {}
        for (judge,), totals in self._near.groups.items():
            values = _whole(totals)
            sums = GapSums(Sums(*values[:6]), Sums(*values[6:12]), CrossSums(*values[12:17]), *values[17:])
            judge_id = self._facts.judges[judge]
            if judge_id is not None and sums.near.n and sums.far.n:
                found[GapOf(judge_id, self._gap)] = sums
        return found

    def _counts(self, totals: Floats) -> GroupCounts:
        values = _whole(totals)
        measures = {
            name: Sums(*values[_TALLIES + 6 * n : _TALLIES + 6 * n + 6]) for n, name in enumerate(self._measures)
        }
        return GroupCounts(**dict(zip(TALLIES, values[:_TALLIES], strict=True)), measures=measures)


def _added(sums: Floats, place: Ints, number: int) -> list[Floats]:
    return [np.bincount(place, weights=column, minlength=number).astype(np.float64) for column in sums]


def _whole(totals: Floats) -> list[int]:
    return [int(total) for total in totals.tolist()]


def _by_lead(lead: Floats) -> Ints:
    """The place of the bucket of a lead, whichever side has it."""
    return np.where(np.isnan(lead), NOTHING, np.searchsorted(_ENDS, np.abs(lead)))


_BUCKETS: Mapping[GapName, Callable[[Chunk], Ints]] = {
    "ability": lambda chunk: chunk.bucket,
    "judge_score": lambda chunk: _by_lead(chunk.score_lead),
    "reward": lambda chunk: _by_lead(chunk.reward_lead),
}
_NAMES: Mapping[GapName, Sequence[str]] = {
    "ability": ("", *BUCKETS),
    "judge_score": tuple(BUCKET_CUTS),
    "reward": tuple(BUCKET_CUTS),
}
_NEAR: Mapping[GapName, int] = {gap: names.index("near") for gap, names in _NAMES.items()}

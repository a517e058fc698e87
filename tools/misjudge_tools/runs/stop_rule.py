"""The rule of adaptive stopping: when enough is known of a judge on a bucket of pairs. Pure.

One observation a task, in the order of the plan: the share of wrong calls among the scored calls of its decidable pairs
of the bucket. A task counts once all that is planned of it for this judge and bucket is stored, and not before the
tasks ahead of it, so that which tasks are counted depends neither on how long a task takes nor on how it ends. A tie is
scored and not wrong; a task without a scored call of a decidable pair is no observation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from misjudge_storage.cascade_records import Said
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.stopping_records import BucketDecision, Question, SparedCells
from misjudge_storage.types import Side
from misjudge_tools.requests import Stop
from misjudge_tools.runs.plan import ROLLOUT
from misjudge_tools.stats.anytime import TaskShares, confidence_sequence, is_narrow, leaves_out
from misjudge_tools.stats.rates import Interval, Tally

ALL, UNDECLARED = "all", "undeclared"


class Bucket(NamedTuple):
    """A judge on the pairs of one bucket, which was declared beforehand."""

    judge_id: str
    name: str


class Unit(NamedTuple):
    """What a judge is asked about the pairs of one task in one bucket."""

    task_id: str
    cells: tuple[PlannedCell, ...]


Units = Mapping[Bucket, Sequence[Unit]]


class Evidence(NamedTuple):
    """Stored verdicts by cell id, and the better sides of decidable pairs."""

    said: Mapping[str, Said]
    better: Mapping[str, Side]


Read = Callable[[Sequence[Unit]], Evidence]


class Walk(NamedTuple):
    """How far the tasks of a bucket are counted: those before `position`, by what was seen in them."""

    position: int = 0
    seen: Mapping[Tally, int] = {}
    decision: BucketDecision | None = None


def bucket_name(declared: str | None, *, any_declared: bool) -> str:
    """The name of a bucket; where no pair of a plan is declared near or wide, there is one of all."""
    return declared or (UNDECLARED if any_declared else ALL)


def units_of(questions: Iterable[Question]) -> dict[Bucket, list[Unit]]:
    """What is asked of each task by judge and bucket, in the order of the plan."""
    questions = list(questions)
    declared = any(place.bucket is not None for _, place in questions)
    cells: dict[Bucket, dict[str, list[PlannedCell]]] = {}
    for cell, place in questions:
        bucket = Bucket(cell.actor_id, bucket_name(place.bucket, any_declared=declared))
        cells.setdefault(bucket, {}).setdefault(place.task_id, []).append(cell)
    return {
        bucket: [Unit(task_id, tuple(mine)) for task_id, mine in by_task.items()] for bucket, by_task in cells.items()
    }


def needless(units: Iterable[Unit], stored: Collection[str]) -> list[PlannedCell]:
    """What is open of a decided bucket, but for the other order of what was begun: a pair never keeps one order."""
    cells = [cell for unit in units for cell in unit.cells]
    begun = {begins(cell) for cell in cells if cell.cell_id in stored}
    return [cell for cell in cells if cell.cell_id not in stored and begins(cell) not in begun]


class Begun(NamedTuple):
    """What is asked of a judge about a pair in both orders, once a repeat."""

    judge_id: str
    pair_id: str | None
    repeat: int


def begins(cell: PlannedCell) -> Begun:
    """What is begun once this cell is stored."""
    return Begun(cell.actor_id, cell.pair_id, cell.repeat)


def spared_cells(
    needless_by_bucket: Mapping[Bucket, Sequence[PlannedCell]], served: Iterable[PlannedCell]
) -> list[SparedCells]:
    """What leaves a plan, as it is noted: what decided buckets do not need, and what only served its pairs."""
    noted = [
        SparedCells(
            kind="pairwise",
            judge_id=bucket.judge_id,
            bucket=bucket.name,
            cells={cell.cell_id: cell.pair_id for cell in cells},
        )
        for bucket, cells in needless_by_bucket.items()
        if cells
    ]
    by_kind: dict[str, dict[str, str | None]] = {}
    for cell in served:
        by_kind.setdefault(cell.kind, {})[cell.cell_id] = None
    return [*noted, *(SparedCells(kind=kind, cells=cells) for kind, cells in by_kind.items())]


class Saved(NamedTuple):
    """What is spared: pairs that no judge is asked about, calls of all judges together, and episodes."""

    pairs_saved: int
    calls_saved: int
    episodes_saved: int


def saved(left_out: Iterable[SparedCells], asked: Collection[str], pairs_asked: Collection[str]) -> Saved:
    """What left a plan: no cells that are asked all the same, no pairs of such cells, and none that is asked about."""
    kept = set(pairs_asked)
    calls: dict[str, str | None] = {}
    episodes: set[str] = set()
    for one in left_out:
        kept.update(pair_id for cell_id, pair_id in one.cells.items() if pair_id is not None and cell_id in asked)
        left = {cell_id: pair_id for cell_id, pair_id in one.cells.items() if cell_id not in asked}
        if one.kind == ROLLOUT:
            episodes.update(left)
        else:
            calls.update(left)
    pairs = {pair_id for pair_id in calls.values() if pair_id is not None}
    return Saved(len(pairs - kept), len(calls), len(episodes))


def walked(
    walk: Walk,
    bucket: Bucket,
    units: Sequence[Unit],
    stop: Stop,
    read: Read,
    passed_over: Collection[tuple[Bucket, str]] = (),
    at_once: int = 1,
) -> Walk:
    """The walk gone on through what is complete, at most to where enough is known. `at_once` tasks are read together.

    An incomplete task that is `passed_over`, since it will not be completed for now, is left out.
    """
    while walk.decision is None and walk.position < len(units):
        some = units[walk.position : walk.position + at_once]
        evidence = read(some)
        for unit in some:
            complete = all(cell.cell_id in evidence.said for cell in unit.cells)
            if not complete and (bucket, unit.task_id) not in passed_over:
                return walk
            walk = walk._replace(position=walk.position + 1)
            tally = observed(unit, evidence) if complete else Tally(0, 0)
            if tally.n:
                walk = _counted(walk, bucket, tally, stop)
            if walk.decision is not None:
                return walk
    return walk


def observed(unit: Unit, evidence: Evidence) -> Tally:
    """Wrong calls of the scored calls of decidable pairs."""
    wrong = scored = 0
    for cell in unit.cells:
        better, winner = evidence.better.get(str(cell.pair_id)), evidence.said[cell.cell_id].winner
        if better is not None and winner is not None:
            scored += 1
            wrong += winner not in {better, "tie"}
    return Tally(wrong, scored)


def _counted(walk: Walk, bucket: Bucket, tally: Tally, stop: Stop) -> Walk:
    seen = {**walk.seen, tally: walk.seen.get(tally, 0) + 1}
    walk = walk._replace(seen=seen)
    found = enough([TaskShares(k, n, tasks) for (k, n), tasks in seen.items()], stop)
    if found is None:
        return walk
    decision = BucketDecision(
        judge_id=bucket.judge_id, bucket=bucket.name, tasks=sum(seen.values()), low=found.low, high=found.high
    )
    return walk._replace(decision=decision)


def enough(shares: Sequence[TaskShares], stop: Stop) -> Interval | None:
    """The interval where it is as narrow as wanted or leaves the threshold out; None where neither."""
    by_threshold = stop.threshold is not None and leaves_out(shares, stop.threshold)
    by_width = stop.width is not None and not by_threshold and is_narrow(shares, stop.width)
    return confidence_sequence(shares) if by_threshold or by_width else None

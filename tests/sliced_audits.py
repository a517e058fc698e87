"""Audits whose tasks differ in category, language, subset, turns and models, and what their slices hold, by hand."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import brute_force as by_hand
from brute_force import Judged
from builders import JUDGE, episode, messages, pair, passed, rewarded, verdict
from misjudge_storage.types import Episode, Order, Preference, Record, Verdict
from misjudge_tools.stats.gaps import JointTally

SAID: tuple[Preference | None, ...] = ("A", "B", "B", "tie", None)
ORDERS: tuple[Order, ...] = ("AB", "BA")
BANDS = ((2, "up to 2"), (5, "3-5"), (10, "6-10"))


class Counted(NamedTuple):
    """The pairs of one slice: all, the decidable ones, and its calls beside all others by task."""

    pairs: int
    decidable: int
    tasks: tuple[JointTally, ...]


def sliced(seed: int, tasks: int = 7, *, models: bool = True) -> list[Record]:
    """Four agents on each task, most pairs of them judged; what is known of tasks and episodes differs."""
    draw = random.Random(seed)
    found: list[Record] = []
    for task in range(tasks):
        task_id = f"t{task}"
        category, language = draw.choice(["shop", "bank", "air", None]), draw.choice(["en", "zh", None])
        sides = [_side(draw, task_id, agent, models=models) for agent in "wxyz"]
        for a, b in combinations(sides, 2):
            if draw.random() < 0.2:
                continue
            said = [_call(draw, order) for order in ORDERS]
            key: dict[str, Any] = {"ability_bucket": draw.choice(["near", "wide", None])}
            record = pair(f"p{len(found)}", a, b, *said, line=len(found) + 1, **key)
            assert record.task is not None
            facts = {"category": category, "language": language, "subset": f"s{task % 2}"}
            found.append(record.model_copy(update={"task": record.task.model_copy(update=facts)}))
    return found


def _side(draw: random.Random, task_id: str, agent: str, *, models: bool) -> Episode:
    said = messages(*["Hi"] * (2 * draw.choice([1, 3, 6, 12])))
    checks = [passed(draw.random() < 0.5), rewarded(draw.choice([0.0, 0.1, 0.4, 1.0]))]
    model = {"w": "m2", "x": "m1", "y": "m1", "z": draw.choice(["m2", None])}[agent] if models else None
    return episode(agent, *checks, task=task_id, said=draw.choice([said, said, None]), base_model=model)


def _call(draw: random.Random, order: Order) -> Verdict:
    winner = draw.choice(SAID)
    scores = {} if winner is None else {"score_a": draw.choice([1, 1.1, 4]), "score_b": draw.choice([1, 2])}
    return verdict(winner, order, 0, JUDGE, **scores)


def slices(records: Sequence[Record]) -> dict[tuple[str, str], Counted]:
    """Dimension and value → what is counted, for values with scored calls on decidable pairs."""
    pairs = by_hand.judged(records, JUDGE.label)
    found = {}
    for dimension, value_of in _dimensions(records).items():
        for value in {value_of(one.record) for one in pairs} - {None}:
            assert value is not None
            counted = _counted(pairs, lambda one, f=value_of, v=value: f(one.record) == v)  # type: ignore[misc]
            if any(task.n1 for task in counted.tasks):
                found[dimension, value] = counted
    return found


def near_and_far(records: Sequence[Record]) -> dict[str, tuple[JointTally, ...]]:
    """Gap → the calls on near pairs and on all farther ones by task."""
    pairs = by_hand.judged(records, JUDGE.label)
    buckets = by_hand.buckets(pairs, records)
    found = {}
    for gap in {gap for gap, _ in buckets}:
        near = [one.record for one in buckets.get((gap, "near"), [])]
        every = [one for (name, _), some in buckets.items() if name == gap for one in some]
        found[gap] = _counted(every, lambda one, near=near: one.record in near).tasks  # type: ignore[misc]
    return found


def _counted(pairs: Iterable[Judged], inside: Callable[[Judged], bool]) -> Counted:
    tasks: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    mine = 0
    decidable = 0
    for one in pairs:
        within = inside(one)
        mine += within
        decidable += within and one.decidable
        tally = tasks[one.task]
        tally[0 if within else 2] += one.wrong()
        tally[1 if within else 3] += one.scored()
    return Counted(mine, decidable, tuple(JointTally(*tally) for tally in tasks.values() if tally[1] + tally[3]))


def _dimensions(records: Sequence[Record]) -> Mapping[str, Callable[[Record], str | None]]:
    stated = any(None not in _sides(record, "base_model") for record in records)
    both = ("models", "base_model") if stated else ("agents", "agent")
    return {
        "category": lambda record: record.task.category if record.task else None,
        "language": lambda record: record.task.language if record.task else None,
        "subset": lambda record: record.task.subset if record.task else None,
        "turns": _band,
        both[0]: lambda record: _combination(record, both[1]),
    }


def _sides(record: Record, field: str) -> list[str | None]:
    return [getattr(one.trajectory, field) for one in record.episodes]


def _combination(record: Record, field: str) -> str | None:
    known = [name for name in _sides(record, field) if name is not None]
    return " + ".join(sorted(known)) if len(known) == 2 else None


def _band(record: Record) -> str | None:
    said = [one.trajectory.messages for one in record.episodes]
    turns = [sum(m.role == "user" for m in some) for some in said if some is not None]
    if not turns:
        return None
    return next((band for most, band in BANDS if max(turns) <= most), "above 10")

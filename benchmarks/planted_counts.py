"""Audits of a planted judge, made of counts alone: no prompt, no store, no model. Pure.

Every verdict is drawn as the simulated judge draws it. Items and their changes are those of `planted_items`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from misjudge_storage.types import Order, Preference, Side
from misjudge_tools.gateway.simulated_bias import SimulatedBias, draws_of
from misjudge_tools.probing.variants import BASELINE, CONTROL, SIDELESS, ProbeName, Variant
from misjudge_tools.runs.plan import OPPOSITE, ORDERS
from misjudge_tools.stats.probes import Effect, ProbeCounts, ProbeRow, TaskTally, preference_by_gold, probe_rows
from misjudge_tools.stats.rates import ClusterSums, Rate, Tally, cluster_sums, clustered_rate
from planted_items import MIXES, MODEL, SIDES, Kind, Labelled, facts_under, verdict

TASKS, PAIRS_PER_TASK = 50, 2
"""Of one audit."""
SECOND: Mapping[Order, Side] = {"AB": "B", "BA": "A"}
"""The side that is shown second, and first when the order is swapped."""


class Changed(NamedTuple):
    """What a probe made of an item: the verdict, None where unscored, and the side that a shift is towards."""

    probe: str
    winner: Preference | None
    side: Side | None


class Item(NamedTuple):
    """The verdicts on one pair in one order: twice as it is, and changed."""

    task_id: str
    base: Preference | None
    again: Preference | None
    changed: Sequence[Changed]


class Seen(NamedTuple):
    """What one audit says of its judge."""

    rows: Mapping[str, ProbeRow]
    self_preference: Effect | None
    instability: Rate
    misselection: Rate


class Pair(NamedTuple):
    """An item with what its pair is like."""

    kind: Kind
    item: Item


# ---- counting


def probe_counts(items: Iterable[Item]) -> list[ProbeCounts]:
    """The tallies of each probe by task, as the data base counts them."""
    by_probe: defaultdict[str, defaultdict[str, list[tuple[Item, Changed]]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        for changed in item.changed:
            by_probe[changed.probe][item.task_id].append((item, changed))
    return [
        ProbeCounts(
            probe,
            [_tally(found) for found in tasks.values()],
            left_out=sum(not _whole(*one) for found in tasks.values() for one in found),
            sided=probe not in SIDELESS or probe == "swapped_order",
        )
        for probe, tasks in by_probe.items()
    ]


def _whole(item: Item, changed: Changed) -> bool:
    return None not in (item.base, item.again, changed.winner)


def _tally(found: Sequence[tuple[Item, Changed]]) -> TaskTally:
    whole = [one for one in found if _whole(*one)]
    flips = [(changed.winner != item.base, item.again != item.base) for item, changed in whole]
    shifts = [value(changed.winner, changed.side) - value(item.base, changed.side) for item, changed in whole]
    return TaskTally(
        items=len(whole),
        gained=sum(flip and not base for flip, base in flips),
        lost=sum(base and not flip for flip, base in flips),
        flips=sum(flip for flip, _ in flips),
        baseline_flips=sum(base for _, base in flips),
        shift=sum(shifts),
        shift_squares=sum(shift * shift for shift in shifts),
        replied=len(found),
        unscored=sum(changed.winner is None for _, changed in found),
        baseline_unscored=sum((item.base is None) + (item.again is None) for item, _ in found),
        newly_unscored=sum(changed.winner is None and item.base is not None for item, changed in found),
        newly_scored=sum(changed.winner is not None and item.base is None for item, changed in found),
    )


def value(winner: Preference | None, side: Side | None) -> float:
    """Of a verdict, seen from a side."""
    return 0.0 if side is None else 1.0 if winner == side else 0.5 if winner == "tie" else 0.0


def _sums(pairs: Iterable[Pair], seen: Callable[[Pair], Iterable[bool]]) -> ClusterSums:
    """What is seen of each pair, by task."""
    tasks: defaultdict[str, list[bool]] = defaultdict(list)
    for pair in pairs:
        tasks[pair.item.task_id].extend(seen(pair))
    return cluster_sums(Tally(sum(found), len(found)) for found in tasks.values())


def is_wrong(kind: Kind, winner: Preference) -> bool:
    """Whether the judge named the side that failed; a tie is not wrong."""
    return winner not in ("tie", kind.better)


# ---- audits


def audit(bias: SimulatedBias, probes: Sequence[ProbeName], key: str) -> Seen:
    """One audit; `key` seeds its pairs and every draw."""
    random = Random(key)
    return seen_in(
        [
            Pair(kind, _item(bias, kind, probes, f"{key} {task} {nth}", f"t{task}", random))
            for task in range(TASKS)
            for nth, kind in enumerate(drawn_kinds(random))
        ]
    )


def seen_in(pairs: Sequence[Pair]) -> Seen:
    """What an audit says whose judge gave these verdicts."""
    decidable = [pair for pair in pairs if pair.kind.better != "tie"]
    mixed = [pair for pair in decidable if pair.kind.own is not None]
    return Seen(
        rows={row.probe: row for row in probe_rows(probe_counts(pair.item for pair in pairs), CONTROL)},
        self_preference=preference_by_gold(
            own_failed=_sums((pair for pair in mixed if pair.kind.own != pair.kind.better), _first_wrong),
            own_did=_sums((pair for pair in mixed if pair.kind.own == pair.kind.better), _first_wrong),
        ),
        instability=clustered_rate(_sums(pairs, _unsteady)),
        misselection=clustered_rate(_sums(decidable, _wrong_in_both_orders)),
    )


def _unsteady(pair: Pair) -> Iterator[bool]:
    if None not in (pair.item.base, pair.item.again):
        yield pair.item.base != pair.item.again


def _first_wrong(pair: Pair) -> Iterator[bool]:
    if pair.item.base is not None:
        yield is_wrong(pair.kind, pair.item.base)


def _wrong_in_both_orders(pair: Pair) -> Iterator[bool]:
    yield from _first_wrong(pair)
    for one in pair.item.changed:
        if one.probe == "swapped_order" and one.winner is not None:
            yield is_wrong(pair.kind, one.winner)


def drawn_kinds(random: Random) -> list[Kind]:
    """The kinds of the pairs of one task."""
    (mix,) = random.choices(MIXES, [mix.weight for mix in MIXES])
    return random.choices(list(mix.kinds), list(mix.kinds.values()), k=PAIRS_PER_TASK)


def _item(bias: SimulatedBias, kind: Kind, probes: Sequence[ProbeName], key: str, task_id: str, random: Random) -> Item:
    order, unchanged = random.choice(ORDERS), Variant(BASELINE, "en")

    def said(variant: Variant, shown: Order, repeat: int = 0) -> Preference:
        draw = draws_of(bias, MODEL, f"{key} {variant.probe} {repeat}")
        return verdict(bias, draw, facts_of_kind(bias, kind, variant, shown), shown)

    def changed(probe: ProbeName) -> Changed:
        side = random.choice(SIDES)
        if probe != "swapped_order":
            return Changed(probe, said(variant_of(probe, side), order), side)
        return Changed(probe, said(variant_of(probe, side), OPPOSITE[order]), SECOND[order])

    return Item(task_id, said(unchanged, order), said(unchanged, order, repeat=1), [changed(one) for one in probes])


def variant_of(probe: ProbeName, side: Side) -> Variant:
    """The variant of a probe that changes this side, if it changes one."""
    return Variant(probe, "en", None if probe in SIDELESS else side)


@cache
def facts_of_kind(bias: SimulatedBias, kind: Kind, variant: Variant, order: Order) -> Labelled:
    """As `facts_under`, of the one pair that stands for its kind."""
    return facts_under(bias, kind, f"a pair of {kind}", variant, order)

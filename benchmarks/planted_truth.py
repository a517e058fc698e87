"""What a planted judge truly does to pairs of `planted_items`: every effect, added up from its odds. Exact, no draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from misjudge_storage.types import Order, Preference, Side
from misjudge_tools.gateway.simulated_bias import SimulatedBias, odds
from misjudge_tools.probing.variants import BASELINE, ProbeName, Variant
from misjudge_tools.runs.plan import OPPOSITE, ORDERS
from planted_counts import SECOND, facts_of_kind, is_wrong, value, variant_of
from planted_items import MIXES, SIDES, Kind

UNCHANGED = Variant(BASELINE, "en")
Odds = Mapping[Preference, float]
"""Of each verdict, in terms of the pair's sides."""


class Moved(NamedTuple):
    """What a probe truly does: how much more often a verdict flips, and how far it shifts."""

    excess: float
    shift: float


class _Case(NamedTuple):
    """A kind of pair in one order, with one side drawn to be changed; `weight` is its share of all items."""

    weight: float
    kind: Kind
    order: Order
    side: Side


def moved(bias: SimulatedBias, probe: ProbeName) -> Moved:
    """The true effects of a probe; calls on one item are independent."""
    excess = shift = 0.0
    for case in _cases():
        shown, towards = case.order, case.side
        if probe == "swapped_order":
            shown, towards = OPPOSITE[case.order], SECOND[case.order]
        base = _odds(bias, case.kind, UNCHANGED, case.order)
        changed = _odds(bias, case.kind, variant_of(probe, case.side), shown)
        excess += case.weight * (_same(base, base) - _same(base, changed))
        shift += case.weight * (_mean(changed, towards) - _mean(base, towards))
    return Moved(excess, shift)


def instability(bias: SimulatedBias) -> float:
    """How often the judge changes its own verdict."""
    return sum(case.weight * (1 - _same(base, base)) for case in _cases() for base in [_baseline(bias, case)])


def misselection(bias: SimulatedBias) -> float:
    """Wrong calls among those on pairs of which one side failed."""
    return _wrong(bias, [case for case in _cases() if case.kind.better != "tie"])


def self_preference(bias: SimulatedBias) -> float:
    """How much more often the judge is wrong where its own family failed than where that did the job."""
    own = [case for case in _cases() if case.kind.better != "tie" and case.kind.own is not None]
    failed = _wrong(bias, [case for case in own if case.kind.own != case.kind.better])
    return failed - _wrong(bias, [case for case in own if case.kind.own == case.kind.better])


def _cases() -> Iterator[_Case]:
    for mix in MIXES:
        for kind, share in mix.kinds.items():
            for order in ORDERS:
                yield from (_Case(mix.weight * share / 4, kind, order, side) for side in SIDES)


def _odds(bias: SimulatedBias, kind: Kind, variant: Variant, order: Order) -> Odds:
    named = odds(bias, *facts_of_kind(bias, kind, variant, order))
    return named if order == "AB" else {"A": named["B"], "B": named["A"], "tie": named["tie"]}


def _baseline(bias: SimulatedBias, case: _Case) -> Odds:
    return _odds(bias, case.kind, UNCHANGED, case.order)


def _same(one: Odds, other: Odds) -> float:
    return sum(one[winner] * other[winner] for winner in one)


def _mean(found: Odds, side: Side) -> float:
    return sum(share * value(winner, side) for winner, share in found.items())


def _wrong(bias: SimulatedBias, cases: list[_Case]) -> float:
    """The share of wrong calls in these cases."""
    wrong = sum(
        case.weight * share
        for case in cases
        for winner, share in _baseline(bias, case).items()
        if is_wrong(case.kind, winner)
    )
    return wrong / sum(case.weight for case in cases)

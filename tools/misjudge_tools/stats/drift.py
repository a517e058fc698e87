"""How much of a difference between two audits the judge made, and how much the agents and tasks."""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.stats.probes import Effect, PairedSums, paired_effect
from misjudge_tools.stats.rates import LEVEL


class Drift(NamedTuple):
    """The differences of the compared pairs: of the anchors, where nothing but the judge can have moved, and others."""

    anchors: PairedSums
    others: PairedSums


class Parts(Value):
    """What the judge, and what everything else, did to the share of right verdicts; the two add up to the difference
    over all pairs.
    """

    judge: Effect
    rest: Effect


def parts(drift: Drift, level: float = LEVEL) -> Parts | None:
    """The two parts of the difference; None without anchors, since then nothing tells them apart.

    The judge is taken to have moved on the other pairs as it did on the anchors: its part is the difference a over the
    anchors. The rest of the difference over all pairs is w·(o − a), with o that over the other pairs and w their share.
    Its interval joins those of both (Zou and Donner, Statistics in Medicine 27, 2008), as if no task had pairs of both
    kinds: where tasks do, and both kinds move alike in them, it is wider than need be.
    """
    anchors, others = (paired_effect(sums, level=level) for sums in drift)
    if anchors.value is None:
        return None
    n = anchors.n + others.n
    if others.value is None:
        return Parts(judge=anchors, rest=Effect(value=0.0, low=0.0, high=0.0, n=n))
    share, gap = others.n / n, others.value - anchors.value
    if anchors.low is None or anchors.high is None or others.low is None or others.high is None:
        return Parts(judge=anchors, rest=Effect(value=share * gap, low=None, high=None, n=n))
    below = hypot(others.value - others.low, anchors.high - anchors.value)
    above = hypot(others.high - others.value, anchors.value - anchors.low)
    rest = Effect(value=share * gap, low=share * (gap - below), high=share * (gap + above), n=n)
    return Parts(judge=anchors, rest=rest)

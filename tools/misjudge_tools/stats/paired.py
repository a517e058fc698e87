"""Two ways of judging the same pairs: which of them is right more often, and could the difference be chance."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.stats.probes import PairedSums, paired_effect
from misjudge_tools.stats.rates import LEVEL, Count
from misjudge_tools.stats.sign_tests import smallest_seen, unequally_often

ALPHA = 0.05
"""Two-sided level of the test, and of what it would show."""


class PairedCounts(NamedTuple):
    """Pairs of which one alone is right, and the sums of the differences (1, −1 or 0) of all by task."""

    only_first: int
    only_second: int
    sums: PairedSums


class PairedDifference(Value):
    """How much more often the first one is right, over the `n` pairs that both judged.

    The interval counts the pairs of a task as one cluster, and is None where there is one task only. `mcnemar_p` is
    exact and two-sided, and counts pairs. Where it shows nothing, `smallest_seen` is the difference that this many
    tasks would have shown with 80 % power; None where they would have shown none, and where a difference is seen.
    """

    n: Count
    difference: float | None
    low: float | None
    high: float | None
    only_first: Count
    only_second: Count
    mcnemar_p: float | None
    smallest_seen: float | None = None


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p-value of McNemar's test (Psychometrika 12, 1947), exact: the binomial one on discordant pairs."""
    return unequally_often(only_first, only_second)


def paired_difference(counts: PairedCounts, level: float = LEVEL) -> PairedDifference:
    """The difference of the shares of right verdicts; its interval is that of `stats.probes.paired_effect`."""
    effect = paired_effect(counts.sums, level=level)
    p = mcnemar(counts.only_first, counts.only_second) if effect.n else None
    return PairedDifference(
        n=effect.n,
        difference=effect.value,
        low=effect.low,
        high=effect.high,
        only_first=counts.only_first,
        only_second=counts.only_second,
        mcnemar_p=p,
        smallest_seen=None if p is None or p <= ALPHA else _smallest_seen(counts),
    )


def _smallest_seen(counts: PairedCounts) -> float | None:
    """As `sign_tests.smallest_seen`, of verdicts that differ by chance as often as these do, and one of two more."""
    discordant = min(0.5, (counts.only_first + counts.only_second + 1) / (counts.sums.n + 2))
    chance = (1 - sqrt(1 - 2 * discordant)) / 2
    return smallest_seen(counts.sums.clusters, chance, ALPHA / 2)

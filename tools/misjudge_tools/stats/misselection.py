"""How often the judge picked the side that failed.

Two rates, always together: per single call, which an undecided judge cannot escape, and per decided pair,
which says what a user of the reduced verdicts would see.
"""

from __future__ import annotations

from misjudge_tools.stats.rates import LEVEL, ClusterSums, Rate, Share, clustered_rate


class DecidedRate(Rate):
    """Wrong of the decidable pairs that the judge decided. `coverage`: decided of all decidable pairs."""

    coverage: Share | None


class Misselection(Rate):
    """The single-call rate, with what must stand beside it.

    `all_pairs_rate` divides the wrongly decided pairs by all pairs whose gold is known, decidable and decided or not.
    """

    decided: DecidedRate
    all_pairs_rate: Share | None


def misselection(
    calls: ClusterSums, decided: ClusterSums, decidable: int, pairs: int, level: float = LEVEL
) -> Misselection:
    """The misselection rates of one group of pairs, clusters being tasks.

    `calls` counts wrong calls among the scored calls of decidable pairs (a tie is scored and not wrong);
    `decided` counts wrong pairs among those whose reduced verdict is right or wrong. `decidable` and
    `pairs` are numbers of pairs, the latter of those whose gold is known.
    """
    single = clustered_rate(calls, level)
    return Misselection(
        **single.model_dump(),
        decided=decided_rate(decided, decidable, level),
        all_pairs_rate=decided.k / pairs if pairs else None,
    )


def decided_rate(decided: ClusterSums, decidable: int, level: float = LEVEL) -> DecidedRate:
    """Wrong pairs among the decided ones of `decidable` pairs, clusters being tasks."""
    rate = clustered_rate(decided, level)
    return DecidedRate(**rate.model_dump(), coverage=decided.n / decidable if decidable else None)

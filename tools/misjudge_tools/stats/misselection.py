"""How often the judge picked the side that failed.

Two rates, always together: per single call, which an undecided judge cannot escape, and per decided pair,
which says what a user of the reduced verdicts would see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from misjudge_tools.stats.anytime import TaskShares, confidence_sequence, mean_share
from misjudge_tools.stats.rates import LEVEL, ClusterSums, Rate, Share, clustered_rate


class DecidedRate(Rate):
    """Wrong of the decidable pairs that the judge decided. `coverage`: decided of all decidable pairs."""

    coverage: Share | None


class Misselection(Rate):
    """The single-call rate, with what must stand beside it.

    `all_pairs_rate` divides the wrongly decided pairs by all pairs whose gold is known, decidable and decided or not.

    `interval` says what `low` and `high` are, those of `decided`, too: `fixed` is Wilson's, for a number of tasks that
    was set beforehand; `anytime` is the confidence sequence of `stats.anytime`, for runs that stop by what they see.
    With that `rate` is the mean over tasks of the task's share, which can differ from k/n.
    """

    decided: DecidedRate
    all_pairs_rate: Share | None
    interval: Literal["fixed", "anytime"] = "fixed"


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


def anytime(found: Misselection, calls: Sequence[TaskShares], decided: Sequence[TaskShares]) -> Misselection:
    """The same of an audit that stopped by what it saw, by the tasks' shares of wrong calls and of wrong pairs."""
    pairs = found.decided.model_copy(update=_anytime(decided))
    return found.model_copy(update={**_anytime(calls), "decided": pairs, "interval": "anytime"})


def _anytime(shares: Sequence[TaskShares]) -> dict[str, float | None]:
    rate = mean_share(shares)
    if rate is None:
        return {"rate": None, "low": None, "high": None}
    return {"rate": rate, **confidence_sequence(shares)._asdict()}


def decided_rate(decided: ClusterSums, decidable: int, level: float = LEVEL) -> DecidedRate:
    """Wrong pairs among the decided ones of `decidable` pairs, clusters being tasks."""
    rate = clustered_rate(decided, level)
    return DecidedRate(**rate.model_dump(), coverage=decided.n / decidable if decidable else None)

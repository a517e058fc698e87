"""An interval for a mean that holds at every number of observations at once, so that a run may stop when it likes.

Observations lie in [0, 1], one a task: the task's share of wrong calls. What is estimated is the mean of these shares
over tasks, each task counting the same; it can differ from the pooled rate, in which a task counts by its calls.

The interval is a confidence sequence by betting (Waudby-Smith and Ramdas, JRSS B 86, 2024): whoever bets a fixed
fraction c of the capital on the mean being above m has Π(1 − c + c·x/m) after the observations x, a non-negative
martingale from 1 where m is the mean, so that it ever reaches 2/α with probability at most α/2 (Ville). The same holds
of a mixture of bets (Robbins, Ann. Math. Statist. 41, 1970), and the mirrored bet bounds the mean from above. Each
factor falls as m rises, so a bound is found by bisection. The capital depends on how often each value was seen, not on
when, so that a summary finds the interval again from what is stored.

Drawn without replacement from a pool of tasks, the product of bets on the pool's mean has an expectation of at most 1
at any one number of tasks (Maclaurin's inequality). That it reaches 2/α with probability at most α/2 at all numbers at
once is not proved there; by exact enumeration it does so in pools of 8 to 48 tasks with shares of 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log, log1p
from typing import NamedTuple

from misjudge_tools.stats.rates import LEVEL, Interval

BETS: tuple[float, ...] = tuple(1 / (1 + exp(4 - 7 * j / 11)) for j in range(12))
"""The fractions, 0.018 to 0.95, spread evenly on the logit scale and mixed in equal parts: with those, rates of 0.01 to
0.3 over 30 to 2,000 tasks get the narrowest intervals. Smaller ones would help beyond that only."""
_STEPS = 30
"""Halvings of a bisection: to within 1e-9."""


class TaskShares(NamedTuple):
    """So many tasks of which `k` of `n` > 0 calls were wrong."""

    k: int
    n: int
    tasks: int = 1


class Seen(NamedTuple):
    """A value in [0, 1], and how often it was seen."""

    value: float
    times: int


def mean_share(shares: Sequence[TaskShares]) -> float | None:
    """The mean over tasks of their shares, None over no task."""
    tasks = sum(one.tasks for one in shares)
    return sum(one.k / one.n * one.tasks for one in shares) / tasks if tasks else None


def confidence_sequence(shares: Sequence[TaskShares], level: float = LEVEL) -> Interval:
    """The interval after these tasks, which holds their mean share; 0 to 1 over no task."""
    values = _values(shares)
    return Interval(_lower_bound(values, level), 1 - _lower_bound(_mirrored(values), level))


def leaves_out(shares: Sequence[TaskShares], mean: float, level: float = LEVEL) -> bool:
    """Whether the interval leaves this mean out, 0 < mean < 1; without looking for its bounds."""
    values = _values(shares)
    enough = log(2 / (1 - level))
    return log_capital(values, mean) >= enough or log_capital(_mirrored(values), 1 - mean) >= enough


def is_narrow(shares: Sequence[TaskShares], width: float, level: float = LEVEL) -> bool:
    """Whether the interval is at most so wide. Looks for its bounds only where that may be."""
    mean = mean_share(shares)
    if mean is None:
        return False
    # The mean lies inside, so that neither bound may be farther from it than that.
    for at in (mean - width, mean + width):
        if 0 < at < 1 and not leaves_out(shares, at, level):
            return False
    interval = confidence_sequence(shares, level)
    return interval.high - interval.low <= width


def log_capital(values: Sequence[Seen], mean: float) -> float:
    """The logarithm of the capital won by the mixture of bets on a mean above this one, 0 < mean ≤ 1."""
    bets = [sum(times * log1p(bet * (value / mean - 1)) for value, times in values) for bet in BETS]
    most = max(bets)
    return most + log(sum(exp(bet - most) for bet in bets) / len(BETS))


def _lower_bound(values: Sequence[Seen], level: float) -> float:
    enough = log(2 / (1 - level))
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_capital(values, middle) >= enough else (low, middle)
    return low


def _values(shares: Iterable[TaskShares]) -> list[Seen]:
    seen: dict[float, int] = {}
    for one in shares:
        seen[one.k / one.n] = seen.get(one.k / one.n, 0) + one.tasks
    return [Seen(value, times) for value, times in sorted(seen.items())]


def _mirrored(values: Sequence[Seen]) -> list[Seen]:
    return [Seen(1 - value, times) for value, times in values]

"""The exact sign tests, and what they can show."""

from __future__ import annotations

from functools import lru_cache
from math import comb, sqrt

from misjudge_tools.stats.distributions import binomial_upper_tail, normal_quantile

POWER = 0.8
MOST_ENUMERATED = 60
"""Tasks up to which a power is exact; beyond, the normal approximation is close."""


def more_often(k: int, other: int) -> float:
    """One-sided exact p-value of `k` against `other` events that are equally likely (the sign test); 1 for none."""
    return binomial_upper_tail(k, k + other, 0.5)


def unequally_often(k: float, other: float) -> float:
    """As `more_often`, two-sided: twice the smaller tail, at most 1. Effective numbers may be fractions."""
    return min(1.0, 2 * binomial_upper_tail(max(k, other), k + other, 0.5))


@lru_cache(maxsize=1024)
def smallest_seen(n: int, instability: float, alpha: float, power: float = POWER) -> float | None:
    """The smallest excess that the one-sided sign test at `alpha` shows of `n` tasks with this power; None: not any.

    With flips independent of each other a task is gained with probability (u + e)(1 − u) and lost with u(1 − u − e),
    u being the `instability` above 0 and e the excess. The items of a task count as one, as if they were all alike;
    where they are not, less is seen too. Exact by enumeration up to `MOST_ENUMERATED` tasks.
    """
    u = instability

    def seen(excess: float) -> bool:
        gained, lost = (u + excess) * (1 - u), u * (1 - u - excess)
        if n <= MOST_ENUMERATED:
            return sign_test_power(n, gained, lost, alpha) >= power
        return _nearly_seen(n, gained + lost, excess, alpha, power)

    low, high = 0.0, 1 - u
    if n == 0 or not seen(high):
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def sign_test_power(n: int, gained: float, lost: float, alpha: float) -> float:
    """How likely `more_often` is at most `alpha` for n tasks that are gained or lost with these probabilities."""
    found = 0.0
    for losses, fewest in enumerate(_fewest_gains(n, alpha)):
        chance = comb(n, losses) * lost**losses * (1 - lost) ** (n - losses)
        if chance > 0:
            found += chance * binomial_upper_tail(fewest, n - losses, min(1.0, gained / (1 - lost)))
    return found


@lru_cache(maxsize=256)
def _fewest_gains(n: int, alpha: float) -> tuple[int, ...]:
    """By the number of losses, how many gains it takes for a p-value of `alpha`; as far as n tasks can hold both."""
    found: list[int] = []
    gains = 0
    while len(found) + gains <= n:
        if more_often(gains, len(found)) <= alpha:
            found.append(gains)
        else:
            gains += 1
    return tuple(found)


def _nearly_seen(n: int, discordant: float, excess: float, alpha: float, power: float) -> bool:
    """Whether e·√n ≥ z_α·√s + z_β·√(s − e²), s being the share of tasks in which just one of two calls flips.

    Miettinen 1968; Connor, Biometrics 43, 1987. The usual (z_α + z_β) times the standard error without any effect is
    far too small here: a steady judge has next to no variance until it is fooled.
    """
    unsure = sqrt(max(0.0, discordant - excess * excess))
    return excess * sqrt(n) >= normal_quantile(1 - alpha) * sqrt(discordant) + normal_quantile(power) * unsure

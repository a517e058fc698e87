"""Whether a share rises or falls over time."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from misjudge_tools.stats.distributions import incomplete_beta, student_t_quantile
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import LEVEL


class PeriodTally(NamedTuple):
    """`k` of `n` observations in the period at place `x` of the time axis."""

    x: float
    k: int
    n: int


class Centre(NamedTuple):
    """The mean place and the share over all observations."""

    x: float
    rate: float


def centre(periods: Sequence[PeriodTally]) -> Centre:
    """Of periods of which at least one has observations."""
    n = sum(period.n for period in periods)
    return Centre(sum(period.x * period.n for period in periods) / n, sum(period.k for period in periods) / n)


def trend(periods: Sequence[PeriodTally], clusters: int, squares: float, level: float = LEVEL) -> Effect | None:
    """How much the share changes from one place to the next, and the p-value of no change; None under two periods with
    observations or two clusters, and where all observations are alike.

    The score test of a logistic trend, that is the Cochran-Armitage test (Armitage, Biometrics 11, 1955): with
    U = Σ(x − x̄)(y − p) over all observations and Sxx = Σ(x − x̄)², U/√(p(1 − p)·Sxx) is a Student's t. Where the
    observations of a cluster go together, G/(G − 1)·Σ U_g² (`squares` is the sum) takes the place of the variance if it
    is larger (Boos, The American Statistician 46, 1992). The change is U/Sxx, the slope of the straight line by least
    squares, its interval by the same variance. Student's t has G − 1 degrees of freedom, as in `stats.rates`.
    """
    seen = [period for period in periods if period.n]
    n = sum(period.n for period in seen)
    if len({period.x for period in seen}) < 2 or clusters < 2:
        return None
    mean, rate = centre(seen)
    spread = sum(period.n * (period.x - mean) ** 2 for period in seen)
    u = sum((period.x - mean) * (period.k - rate * period.n) for period in seen)
    variance = max(rate * (1 - rate) * spread, clusters / (clusters - 1) * squares)
    if variance <= 0:
        return None
    df = clusters - 1
    half = student_t_quantile((1 + level) / 2, df) * sqrt(variance) / spread
    p = incomplete_beta(df / (df + u * u / variance), df / 2, 0.5)
    return Effect(value=u / spread, low=u / spread - half, high=u / spread + half, n=n, p=p)

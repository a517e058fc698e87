"""What verdicts go along with: a share against one half, odds ratios with gold held fixed, a mean of shares."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

from misjudge_storage.task_moments import Moments
from misjudge_storage.types import Value
from misjudge_tools.stats.distributions import incomplete_beta, student_t_quantile
from misjudge_tools.stats.exact import effective
from misjudge_tools.stats.linear import alone, between_tasks
from misjudge_tools.stats.rates import LEVEL, ClusterSums, Count, score_interval
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.stats.sign_tests import unequally_often

CELLS = 4


class OddsRatio(Value):
    """An odds ratio over `n` observations with its interval; None where a zero leaves it without bounds."""

    value: float | None
    low: float | None
    high: float | None
    n: Count


def p_of_half(sums: ClusterSums) -> float | None:
    """Two-sided p-value of a share of one half; None where there are no two clusters.

    Exact (the binomial test) where each cluster holds one observation. Else the score test on the effective number of
    `stats.rates.clustered_rate`, with Student's t: it is below .05 just where that interval leaves one half.
    """
    if sums.clusters < 2:
        return None
    if sums.n == sums.clusters:
        return unequally_often(sums.k, sums.n - sums.k)
    rate, df = sums.k / sums.n, sums.clusters - 1
    t_squared = 4 * effective(sums).n * (rate - 0.5) ** 2
    return incomplete_beta(df / (df + t_squared), df / 2, 0.5)


def mantel_haenszel(moments: Moments, level: float = LEVEL) -> OddsRatio:
    """The common odds ratio of strata of four cells a, b, c, d each: Σ ad/N over Σ bc/N.

    Mantel and Haenszel, JNCI 22, 1959. The variance of its logarithm is that of Robins, Breslow and Greenland
    (Biometrics 42, 1986) times deff ≥ 1, the variance between tasks (`stats.linear`) over that of independent
    observations; the critical value is Student's with tasks − 1 degrees of freedom.
    """
    n = round(sum(moments.totals))
    strata = [moments.totals[start : start + CELLS] for start in range(0, len(moments.totals), CELLS)]
    strata = [cells for cells in strata if sum(cells)]
    for_it, against = sum(map(_concordant, strata)), sum(map(_discordant, strata))
    if not for_it or not against:
        return OddsRatio(value=None, low=None, high=None, n=n)
    value = for_it / against
    if moments.clusters < 2:
        return OddsRatio(value=value, low=None, high=None, n=n)
    slopes = _slopes(moments.totals, for_it, against)
    deff = max(1.0, between_tasks(slopes, moments) / alone(slopes, moments.totals))
    spread = sqrt(deff * _robins_breslow_greenland(strata, for_it, against))
    half = student_t_quantile((1 + level) / 2, moments.clusters - 1) * spread
    return OddsRatio(value=value, low=exp(log(value) - half), high=exp(log(value) + half), n=n)


def _concordant(cells: Sequence[float]) -> float:
    return cells[0] * cells[3] / sum(cells)


def _discordant(cells: Sequence[float]) -> float:
    return cells[1] * cells[2] / sum(cells)


def _robins_breslow_greenland(strata: Sequence[Sequence[float]], for_it: float, against: float) -> float:
    total = 0.0
    for cells in strata:
        like, unlike = (cells[0] + cells[3]) / sum(cells), (cells[1] + cells[2]) / sum(cells)
        r, s = _concordant(cells), _discordant(cells)
        total += like * r / (2 * for_it**2) + unlike * s / (2 * against**2)
        total += (like * s + unlike * r) / (2 * for_it * against)
    return total


def _slopes(totals: Sequence[float], for_it: float, against: float) -> list[float]:
    """The derivative of the logarithm of the common odds ratio by each cell."""
    found: list[float] = []
    for start in range(0, len(totals), CELLS):
        cells = totals[start : start + CELLS]
        n = sum(cells)
        if not n:
            found += [0.0] * CELLS
            continue
        a, b, c, d = cells
        by_size = _discordant(cells) / (n * against) - _concordant(cells) / (n * for_it)
        own = (d / for_it, -c / against, -b / against, a / for_it)
        found += [slope / n + by_size for slope in own]
    return found


def mean_of_shares(moments: Moments, level: float = LEVEL) -> Estimate:
    """The mean of shares that are added up by task: `moments` of that sum and of their number."""
    if not moments.clusters:
        return Estimate(value=None, low=None, high=None, n=0)
    total, number = moments.totals
    mean = min(1.0, total / number)
    if moments.clusters < 2:
        return Estimate(value=mean, low=None, high=None, n=round(number))
    variance = between_tasks((1 / number, -mean / number), moments)
    # Sums of shares cancel up to rounding: where all are alike none of it is left.
    low, high = score_interval(
        mean, 0.0 if variance < 1e-15 else variance, moments.clusters, most=round(number), level=level
    )
    return Estimate(value=mean, low=low, high=high, n=round(number))

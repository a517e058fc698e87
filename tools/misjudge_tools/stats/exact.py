"""Exact bounds of a share, on effective numbers where observations of one task go together."""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from typing import NamedTuple

from misjudge_tools.stats.distributions import incomplete_beta
from misjudge_tools.stats.linearised import between_clusters
from misjudge_tools.stats.rates import LEVEL, ClusterSums, even_clusters


class EffectiveTally(NamedTuple):
    """`k` of `n` as so many independent observations would count: fractions."""

    k: float
    n: float


def beta_quantile(p: float, a: float, b: float) -> float:
    """The point below which a Beta(a, b) value falls with probability `p`, for a, b > 0 and 0 ≤ p ≤ 1.

    Newton's method on the regularised incomplete beta function, halving the bracket where a step would leave it.
    """
    if p in (0.0, 1.0):
        return p
    low, high, x = 0.0, 1.0, a / (a + b)
    log_norm = lgamma(a + b) - lgamma(a) - lgamma(b)
    while True:
        error = incomplete_beta(x, a, b) - p
        low, high = (low, x) if error > 0 else (x, high)
        density = exp(log_norm + (a - 1) * log(x) + (b - 1) * log1p(-x))
        step = error / density if density > 0 else 2.0
        found = x - step if low < x - step < high else (low + high) / 2
        if abs(found - x) <= 1e-14 * x or found in (low, high):
            return found
        x = found


def upper_bound(k: float, n: float, level: float = LEVEL) -> float:
    """The one-sided upper confidence bound of a share of which `k` of `n` were seen (Clopper and Pearson, Biometrika
    26, 1934): 1 where nothing was seen. Both may be fractions, as effective numbers are (Korn and Graubard, Survey
    Methodology 24, 1998).
    """
    return 1.0 if k >= n else beta_quantile(level, k + 1, n - k)


def effective(sums: ClusterSums) -> EffectiveTally:
    """The effective numbers of clustered observations: k and n over the design effect, as in `rates.clustered_rate`.

    Where all or none are counted no variance can be seen, and n is the number of (even) clusters; so it is of one.
    """
    if sums.n == 0:
        return EffectiveTally(0.0, 0.0)
    rate = sums.k / sums.n
    if sums.clusters < 2 or sums.k in (0, sums.n):
        return EffectiveTally(rate * even_clusters(sums), even_clusters(sums))
    deff = design_effect(sums)
    return EffectiveTally(sums.k / deff, sums.n / deff)


def one_a_task(sums: ClusterSums) -> EffectiveTally:
    """As `effective`, and at most one observation a cluster: what a bound may rest on that must hold.

    An estimated design effect is too small as often as too large, and a bound on numbers divided by it lets up to twice
    as many judges pass that are just at the limit.
    """
    k, n = effective(sums)
    most = min(n, even_clusters(sums))
    return EffectiveTally(k * most / n, most) if n else EffectiveTally(0.0, 0.0)


def design_effect(sums: ClusterSums) -> float:
    """The variance of k/n between at least two clusters over that of as many independent observations, at least 1.

    G/(G − 1) · Σ(k_i − p·n_i)²/n² over p(1 − p)/n, for 0 < k < n (`stats.linearised`).
    """
    k, n = sums.k, sums.n
    return max(1.0, between_clusters(sums.clusters, (n, -k), (sums.kk, sums.kn, sums.nn)) / (n * k * (n - k)))

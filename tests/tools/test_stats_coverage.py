"""Does an interval of level .95 hold the truth 95 times in 100?"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from misjudge_tools.stats.rates import (
    ClusterSums,
    Rate,
    clustered_rate,
    independent,
    plain_rate,
    wilson,
)

SHARES = np.arange(0.01, 0.5001, 0.0025)
AUDITS = 2000


def holds(rate: Rate, truth: float) -> bool:
    assert rate.low is not None and rate.high is not None
    return rate.low <= truth <= rate.high


def width(rate: Rate) -> float:
    assert rate.low is not None and rate.high is not None
    return rate.high - rate.low


def exact_coverage(intervals: list[Rate], n: int) -> np.ndarray:
    """P(the interval of k holds p) for each p of SHARES, summed over k ~ Binomial(n, p)."""
    k = np.arange(n + 1)
    return np.array(
        [scipy.stats.binom.pmf(k, n, p) @ np.array([holds(interval, p) for interval in intervals]) for p in SHARES]
    )


@pytest.mark.parametrize("n", [30, 50, 100, 200])
def test_the_plain_interval_holds_the_truth_as_often_as_it_says(n: int) -> None:
    covered = exact_coverage([plain_rate(k, n) for k in range(n + 1)], n)
    assert 0.94 <= covered.mean() <= 0.97
    assert covered[SHARES >= 0.02].min() >= 0.90


@pytest.mark.parametrize("n", [20, 50, 100, 200])
def test_the_clustered_interval_is_as_good_when_every_cluster_is_a_single(n: int) -> None:
    covered = exact_coverage([clustered_rate(independent(k, n)) for k in range(n + 1)], n)
    assert 0.94 <= covered.mean() <= 0.98
    assert covered[SHARES >= 0.02].min() >= 0.90


def simulated_audits(share: float, rho: float, sizes: np.ndarray, seed: int) -> list[ClusterSums]:
    """Sums of audits whose tasks have beta-distributed shares, with correlation `rho` within a task."""
    rng = np.random.default_rng(seed)
    strength = (1 - rho) / rho
    shares = rng.beta(share * strength, (1 - share) * strength, (AUDITS, len(sizes)))
    counts = rng.binomial(sizes, shares)
    totals = [counts.sum(axis=1), (counts**2).sum(axis=1), (counts * sizes).sum(axis=1)]
    n, nn = int(sizes.sum()), int((sizes**2).sum())
    return [
        ClusterSums(clusters=len(sizes), k=k, n=n, kk=kk, kn=kn, nn=nn)
        for k, kk, kn in np.stack(totals, axis=1).tolist()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.2, 0.35, 0.5])
@pytest.mark.parametrize(
    ("rho", "sizes"),
    [
        pytest.param(0.1, np.full(48, 4), id="48 tasks of 4, rho .1"),
        pytest.param(0.3, np.full(48, 4), id="48 tasks of 4, rho .3"),
        pytest.param(0.3, np.full(24, 4), id="24 tasks of 4, rho .3"),
        pytest.param(0.3, np.tile([2, 4, 6], 16), id="48 tasks of 2 to 6, rho .3"),
        pytest.param(0.6, np.full(150, 2), id="150 tasks of 2, rho .6"),
    ],
)
def test_the_clustered_interval_holds_the_truth_in_clustered_audits(
    share: float, rho: float, sizes: np.ndarray
) -> None:
    rates = [clustered_rate(sums) for sums in simulated_audits(share, rho, sizes, seed=7)]
    covered = np.mean([holds(rate, share) for rate in rates])
    assert covered >= 0.93
    n = sizes.sum()
    effective = n / (1 + rho * ((sizes**2).sum() / n - 1))
    reference = wilson(share * effective, effective, 1.96)
    assert np.mean([width(rate) for rate in rates]) <= 1.25 * (reference.high - reference.low)


@pytest.mark.slow
def test_an_interval_that_ignores_the_clusters_is_too_narrow() -> None:
    audits = simulated_audits(0.3, 0.3, np.full(48, 4), seed=7)
    assert np.mean([holds(plain_rate(sums.k, sums.n), 0.3) for sums in audits]) < 0.90

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from misjudge_tools.stats.rates import (
    NONE,
    ClusterSums,
    Rate,
    Tally,
    cluster_sums,
    clustered_rate,
    independent,
    plain_rate,
    pooled_interval,
    score_interval,
    wilson,
)

NOTHING = Rate(rate=None, k=0, n=0, low=None, high=None)


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    n = draw(st.integers(0, 12))
    return Tally(draw(st.integers(0, n)), n)


groups = st.lists(tallies(), min_size=1, max_size=30)
levels = st.floats(0.5, 0.999)


def bounds(rate: Rate) -> tuple[float, float, float]:
    assert rate.low is not None and rate.rate is not None and rate.high is not None
    return rate.low, rate.rate, rate.high


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 40), (11, 37), (37, 37), (5, 100_000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_plain_interval_is_statsmodels_wilson(k: int, n: int, level: float) -> None:
    low, rate, high = bounds(plain_rate(k, n, level))
    assert rate == k / n
    assert (low, high) == pytest.approx(proportion_confint(k, n, 1 - level, method="wilson"), abs=1e-12)


def test_wilson_takes_fractions_of_observations() -> None:
    assert wilson(2.5, 12.5, 1.96) == pytest.approx(proportion_confint(2.5, 12.5, 0.05, method="wilson"), abs=1e-4)


def test_nothing_observed_is_none_and_never_a_crash() -> None:
    assert plain_rate(0, 0) == NOTHING
    assert clustered_rate(NONE) == NOTHING
    assert clustered_rate(cluster_sums([Tally(0, 0), Tally(0, 0)])) == NOTHING


def test_the_sums_skip_clusters_without_observations() -> None:
    tables = [Tally(1, 2), Tally(0, 0), Tally(3, 4)]
    assert cluster_sums(tables) == ClusterSums(clusters=2, k=4, n=6, kk=10, kn=14, nn=20)


def test_independent_observations_are_clusters_of_one() -> None:
    assert independent(2, 5) == cluster_sums([Tally(1, 1)] * 2 + [Tally(0, 1)] * 3)


@given(st.lists(tallies(), min_size=2, max_size=30))
def test_the_variance_between_clusters_is_the_sandwich_of_statsmodels(groups: list[Tally]) -> None:
    sums = cluster_sums(groups)
    if sums.clusters < 2 or not 0 < sums.k < sums.n:
        return
    outcomes = np.concatenate([[1.0] * k + [0.0] * (n - k) for k, n in groups])
    cluster = np.repeat(np.arange(len(groups)), [n for _, n in groups])
    fit = sm.OLS(outcomes, np.ones(len(outcomes))).fit(cov_type="cluster", cov_kwds={"groups": cluster})
    variance = float(fit.cov_params()[0, 0])
    even = sums.n**2 / sums.nn
    expected = score_interval(sums.k / sums.n, variance, sums.clusters, most=sums.n, even=even)
    low, _, high = bounds(clustered_rate(sums))
    assert (low, high) == pytest.approx(tuple(expected), rel=1e-6, abs=1e-9)


def test_clusters_that_always_agree_count_once_each() -> None:
    agreeing = clustered_rate(cluster_sums([Tally(4, 4)] * 5 + [Tally(0, 4)] * 15))
    singles = clustered_rate(independent(5, 20))
    assert bounds(agreeing) == pytest.approx(bounds(singles))


def test_clusters_that_spread_less_than_chance_gain_nothing() -> None:
    """An always-A judge is wrong in exactly one order of each pair: the variance between pairs is 0."""
    low, rate, high = bounds(clustered_rate(cluster_sums([Tally(1, 2)] * 50)))
    assert rate == 0.5
    t_instead_of_normal = proportion_confint(50, 100, 0.05, method="wilson")
    assert (low, high) == pytest.approx(t_instead_of_normal, abs=0.003)


@pytest.mark.parametrize("of_four", [0, 4])
def test_without_a_visible_variance_the_effective_number_is_the_number_of_clusters(of_four: int) -> None:
    clustered = bounds(clustered_rate(cluster_sums([Tally(of_four, 4)] * 48)))
    singles = bounds(clustered_rate(independent(of_four * 12, 48)))
    assert clustered == singles
    assert of_four / 4 in clustered


def test_the_critical_value_is_students_with_one_degree_of_freedom_less_than_clusters() -> None:
    clusters = [Tally(1, 4), Tally(0, 4), Tally(2, 4), Tally(1, 4), Tally(3, 4)]
    low, rate, high = bounds(clustered_rate(cluster_sums(clusters)))
    shares = np.array([k / n for k, n in clusters])
    effective = min(20, rate * (1 - rate) / (shares.var(ddof=1) / 5))
    expected = wilson(rate * effective, effective, float(scipy.stats.t.ppf(0.975, 4)))
    assert (low, high) == pytest.approx(expected)


def test_where_no_variance_is_seen_none_was_estimated_and_the_critical_value_is_the_normal_one() -> None:
    _, rate, high = bounds(clustered_rate(cluster_sums([Tally(0, 4)] * 5)))
    z = float(scipy.stats.norm.ppf(0.975))
    assert rate == 0
    assert high == pytest.approx(z**2 / (5 + z**2))


def test_a_single_cluster_says_nothing_of_others() -> None:
    assert bounds(clustered_rate(cluster_sums([Tally(3, 12)]))) == (0, 0.25, 1)
    assert bounds(clustered_rate(cluster_sums([Tally(0, 12)]))) == (0, 0, 1)


def test_a_million_observations_keep_their_precision() -> None:
    sums = cluster_sums([Tally(40, 100)] * 5000 + [Tally(60, 100)] * 5000)
    low, _, high = bounds(clustered_rate(sums))
    standard_error = (10_000 / 9_999 * 0.1**2 / 10_000) ** 0.5
    assert high - low == pytest.approx(2 * 1.9602 * standard_error, rel=1e-3)


def test_a_pooled_interval_is_the_clustered_one_around_the_same_share() -> None:
    sums = cluster_sums([Tally(1, 4), Tally(4, 4), Tally(0, 4)])
    low, rate, high = bounds(clustered_rate(sums))
    assert pooled_interval(rate, sums) == (low, high)


def test_more_counted_than_observed_is_refused() -> None:
    with pytest.raises(ValueError):
        plain_rate(4, 3)


@given(groups)
def test_the_bounds_enclose_the_rate_and_stay_between_0_and_1(groups: list[Tally]) -> None:
    sums = cluster_sums(groups)
    if sums.n:
        for rate in (clustered_rate(sums), plain_rate(sums.k, sums.n)):
            low, middle, high = bounds(rate)
            assert 0 <= low <= middle <= high <= 1


@given(groups)
def test_counting_the_other_outcome_mirrors_the_interval(groups: list[Tally]) -> None:
    sums, others = cluster_sums(groups), cluster_sums(Tally(n - k, n) for k, n in groups)
    if sums.n:
        low, rate, high = bounds(clustered_rate(sums))
        assert bounds(clustered_rate(others)) == pytest.approx((1 - high, 1 - rate, 1 - low), abs=1e-9)


@given(groups, st.randoms(use_true_random=False))
def test_the_order_of_clusters_does_not_matter(groups: list[Tally], random: np.random.RandomState) -> None:
    shuffled = list(groups)
    random.shuffle(shuffled)
    assert cluster_sums(shuffled) == cluster_sums(groups)


@given(groups, groups)
def test_sums_of_disjoint_clusters_add_up(first: list[Tally], second: list[Tally]) -> None:
    added = ClusterSums(*(a + b for a, b in zip(cluster_sums(first), cluster_sums(second), strict=True)))
    assert cluster_sums(first + second) == added


@given(groups, levels, levels)
def test_a_higher_level_gives_a_wider_interval(groups: list[Tally], one: float, other: float) -> None:
    sums = cluster_sums(groups)
    if sums.n:
        inner_low, _, inner_high = bounds(clustered_rate(sums, min(one, other)))
        outer_low, _, outer_high = bounds(clustered_rate(sums, max(one, other)))
        assert outer_low <= inner_low + 1e-12
        assert inner_high <= outer_high + 1e-12


@given(st.integers(1, 400), st.data())
def test_more_counted_moves_the_interval_up(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n - 1))
    low, _, high = bounds(plain_rate(k, n))
    next_low, _, next_high = bounds(plain_rate(k + 1, n))
    assert low < next_low
    assert high < next_high


@pytest.mark.parametrize(("tasks", "pairs"), [(20, 8), (48, 4), (60, 4), (80, 1)])
def test_an_error_more_never_makes_a_rate_look_better(tasks: int, pairs: int) -> None:
    highs = [
        bounds(clustered_rate(cluster_sums([Tally(1, pairs)] * wrong + [Tally(0, pairs)] * (tasks - wrong))))[2]
        for wrong in range(tasks)
    ]
    assert highs == sorted(highs)


def test_a_few_large_tasks_say_little_however_many_small_ones_stand_beside_them() -> None:
    skewed = cluster_sums([Tally(0, 40)] * 4 + [Tally(0, 1)] * 76)
    even = 236**2 / (4 * 1600 + 76)
    z = float(scipy.stats.norm.ppf(0.975))
    assert bounds(clustered_rate(skewed))[2] == pytest.approx(z**2 / (even + z**2))
    with_one = cluster_sums([Tally(0, 40)] * 4 + [Tally(1, 1)] + [Tally(0, 1)] * 75)
    assert bounds(clustered_rate(with_one))[2] > z**2 / (even + z**2) - 1e-12

"""Exact bounds, against scipy, statsmodels and enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from misjudge_tools.stats.exact import beta_quantile, design_effect, effective, upper_bound
from misjudge_tools.stats.rates import NONE, Tally, cluster_sums, clustered_rate, independent, wilson

SHAPES = st.floats(0.05, 5_000)
TALLIES = st.lists(
    st.builds(lambda n, share: Tally(round(n * share), n), st.integers(1, 9), st.floats(0, 1)), max_size=9
)


@given(st.floats(0.0005, 0.9995), SHAPES, SHAPES)
def test_a_quantile_of_the_beta_distribution_is_that_of_scipy(p: float, a: float, b: float) -> None:
    expected = float(scipy.stats.beta.ppf(p, a, b))
    assert beta_quantile(p, a, b) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_ends_of_the_beta_distribution_are_its_quantiles_of_none_and_all() -> None:
    assert (beta_quantile(0.0, 2, 3), beta_quantile(1.0, 2, 3)) == (0.0, 1.0)


@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_upper_bound_is_the_one_of_clopper_and_pearson(n: int, share: float, level: float) -> None:
    k = round(n * share)
    _, expected = proportion_confint(k, n, 2 * (1 - level), method="beta")
    assert upper_bound(k, n, level) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "passes"), [(58, False), (59, True)])
def test_without_an_error_59_independent_pairs_certify_a_limit_of_5_percent(n: int, passes: bool) -> None:
    assert (upper_bound(0, n) <= 0.05) is passes
    assert upper_bound(0, n) == pytest.approx(1 - 0.05 ** (1 / n))


def test_nothing_seen_and_nothing_but_errors_bound_nothing() -> None:
    assert upper_bound(0, 0) == upper_bound(3, 3) == 1.0


def test_fractions_lie_between_the_whole_numbers() -> None:
    assert upper_bound(2, 60) < upper_bound(2.5, 60) < upper_bound(3, 60)
    assert upper_bound(2, 61) < upper_bound(2, 60.5) < upper_bound(2, 60)


@pytest.mark.parametrize("n", [20, 60, 150])
def test_the_bound_is_below_the_truth_in_at_most_5_of_100_audits(n: int) -> None:
    bounds = np.array([upper_bound(k, n) for k in range(n + 1)])
    for truth in np.arange(0.01, 0.5, 0.01):
        assert scipy.stats.binom.pmf(np.arange(n + 1), n, truth)[bounds < truth].sum() <= 0.05 + 1e-9


@given(TALLIES)
def test_effective_numbers_give_the_interval_of_the_clustered_rate(tallies: list[Tally]) -> None:
    sums = cluster_sums(tallies)
    k, n = effective(sums)
    if sums.clusters < 2:
        assert n == sums.clusters
        return
    rate = clustered_rate(sums)
    seen = 0 < sums.k < sums.n
    z = float(scipy.stats.t.ppf(0.975, sums.clusters - 1) if seen else scipy.stats.norm.ppf(0.975))
    nothing = wilson(0, sums.n**2 / sums.nn, float(scipy.stats.norm.ppf(0.975))).high
    low, high = wilson(k, n, z)
    expected = (min(low, 1 - nothing), max(high, nothing)) if seen else (low, high)
    assert (rate.low, rate.high) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_where_no_variance_can_be_seen_every_task_counts_once() -> None:
    assert effective(cluster_sums([Tally(0, 4)] * 48)) == (0, 48)
    assert effective(cluster_sums([Tally(4, 4)] * 48)) == (48, 48)
    assert effective(cluster_sums([Tally(1, 4)])) == (0.25, 1)
    assert effective(NONE) == (0, 0)


def test_tasks_that_always_agree_count_once_and_ones_that_spread_less_than_chance_gain_nothing() -> None:
    agreeing = cluster_sums([Tally(4, 4)] * 5 + [Tally(0, 4)] * 15)
    assert effective(agreeing).n == pytest.approx(20, rel=0.06)
    assert design_effect(cluster_sums([Tally(1, 2)] * 50)) == 1
    assert design_effect(independent(10, 40)) == pytest.approx(40 / 39)

"""A share against one half, the Mantel-Haenszel odds ratio, a mean of shares: against statsmodels and scipy."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest, t
from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2

from misjudge_storage.task_moments import Moments
from misjudge_tools.stats.associations import mantel_haenszel, mean_of_shares, p_of_half
from misjudge_tools.stats.rates import NONE, Tally, cluster_sums, clustered_rate, independent
from task_sums import moments_of

CELLS = st.integers(1, 40)
STRATA = st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=3)
TASKS = st.lists(st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=30)


def one_each(strata: Sequence[Sequence[int]], copies: int = 1) -> Moments:
    """Every observation as a task of its own, which holds it so many times."""
    flat = [number for cells in strata for number in cells]
    return moments_of(
        [copies * (place == here) for place in range(len(flat))]
        for here, number in enumerate(flat)
        for _ in range(number)
    )


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_share_of_tasks_with_one_answer_each_has_the_p_value_of_scipys_binomial_test(k: int, other: int) -> None:
    assume(k + other > 1)
    assert p_of_half(independent(k, k + other)) == pytest.approx(binomtest(k, k + other, 0.5).pvalue, rel=1e-9)


@given(TASKS)
def test_a_clustered_share_has_a_p_value_below_five_percent_just_where_its_interval_leaves_one_half(
    tasks: list[tuple[int, int]],
) -> None:
    sums = cluster_sums(Tally(k, n) for k, n in tasks)
    assume(sums.n > sums.clusters)
    p, rate = p_of_half(sums), clustered_rate(sums)
    assert p is not None and rate.low is not None and rate.high is not None
    assume(min(abs(rate.low - 0.5), abs(rate.high - 0.5)) > 1e-9)
    assert (p < 0.05) == (not rate.low <= 0.5 <= rate.high)


def test_a_single_task_says_nothing_of_one_half() -> None:
    assert p_of_half(cluster_sums([Tally(9, 9)])) is None
    assert p_of_half(NONE) is None


@given(STRATA)
def test_the_common_odds_ratio_is_that_of_statsmodels(strata: list[tuple[int, int, int, int]]) -> None:
    found = mantel_haenszel(one_each(strata))
    reference = StratifiedTable([[[a, b], [c, d]] for a, b, c, d in strata])
    assert found.value == pytest.approx(reference.oddsratio_pooled)
    n = sum(map(sum, strata))
    assert found.n == n
    half = t.ppf(0.975, n - 1) * reference.logodds_pooled_se * sqrt(n / (n - 1))
    assert found.low is not None and found.high is not None
    assert log(found.low) == pytest.approx(log(reference.oddsratio_pooled) - half)
    assert log(found.high) == pytest.approx(log(reference.oddsratio_pooled) + half)


def test_one_stratum_has_the_odds_ratio_of_its_table() -> None:
    found = mantel_haenszel(one_each([(30, 12, 9, 25)]))
    reference = Table2x2([[30, 12], [9, 25]])
    assert found.value == pytest.approx(reference.oddsratio)
    assert found.low == pytest.approx(reference.oddsratio_confint()[0], rel=0.03)


@given(STRATA, st.integers(2, 5))
def test_the_odds_ratio_is_no_surer_when_every_task_says_the_same_several_times(
    strata: list[tuple[int, int, int, int]], copies: int
) -> None:
    once, again = mantel_haenszel(one_each(strata)), mantel_haenszel(one_each(strata, copies))
    for name in ("value", "low", "high"):
        assert getattr(again, name) == pytest.approx(getattr(once, name))


def test_tasks_that_are_less_alike_than_chance_make_no_odds_ratio_surer() -> None:
    """Every task holds one of each cell, so that no variance between tasks is left."""
    balanced = mantel_haenszel(moments_of([[1, 1, 1, 1]] * 25))
    alone = mantel_haenszel(one_each([(25, 25, 25, 25)]))
    assert balanced.value == alone.value == 1
    assert balanced.low is not None and alone.low is not None
    assert balanced.low == pytest.approx(alone.low, rel=0.05)


def test_a_stratum_without_a_pair_and_odds_without_bounds_are_said_to_be_so() -> None:
    assert mantel_haenszel(one_each([(8, 3, 4, 6), (0, 0, 0, 0)])).value == pytest.approx(8 * 6 / (3 * 4))
    assert mantel_haenszel(one_each([(8, 0, 4, 6)])).model_dump() == {"value": None, "low": None, "high": None, "n": 18}
    one_task = mantel_haenszel(moments_of([[8, 3, 4, 6]]))
    assert (one_task.value, one_task.low) == (4.0, None)
    assert mantel_haenszel(moments_of([])).n == 0


def test_the_mean_of_shares_has_an_interval_over_tasks() -> None:
    tasks = [(1.5, 2), (2.0, 2), (2 / 3 + 1, 2), (1.0, 1), (1.2, 2)]
    found = mean_of_shares(moments_of(tasks))
    mean = sum(m for m, _ in tasks) / 9
    assert found.value == pytest.approx(mean)
    assert found.n == 9
    assert found.low is not None and found.high is not None and found.low < mean < found.high < 1


def test_questions_answered_alike_every_time_are_stable_as_far_as_there_are_tasks() -> None:
    found = mean_of_shares(moments_of([(2.0, 2)] * 12))
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(clustered_rate(independent(12, 12)).low)
    assert mean_of_shares(moments_of([(2.0, 2)])).low is None
    assert mean_of_shares(moments_of([])).value is None

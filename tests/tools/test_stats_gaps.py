"""The difference of two shares over tasks that both have: against statsmodels, and as often right as it says."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.stats.proportion import confint_proportions_2indep

from misjudge_storage.summary_values import CrossSums
from misjudge_tools.stats.gaps import (
    JointSums,
    JointTally,
    against_rest,
    difference,
    joint_sums,
    null_spread,
    score_p,
)
from misjudge_tools.stats.rates import ClusterSums, Tally, cluster_sums, clustered_rate, independent
from misjudge_tools.stats.task_permutation import task_permutation

APART = CrossSums(0, 0, 0, 0, 0)
AUDITS = 1000


def drawn_tasks(seed: int, tasks: int, first: int, second: int) -> list[JointTally]:
    """Tasks whose share of counted observations varies, the same for both groups of a task."""
    rng = np.random.default_rng(seed)
    shares = rng.beta(1, 1.5, tasks)
    ones, twos = rng.binomial(first, shares), rng.binomial(second, shares)
    return [JointTally(int(k1), first, int(k2), second) for k1, k2 in zip(ones, twos, strict=True)]


def observations(tasks: list[JointTally]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Single observations: counted or not, of the first group or not, the task."""
    rows = [
        (counted, group, place)
        for place, task in enumerate(tasks)
        for k, n, group in ((task.k1, task.n1, 1), (task.k2, task.n2, 0))
        for counted in [1] * k + [0] * (n - k)
    ]
    y, x, groups = np.array(rows, dtype=float).T
    return y, x, groups


TALLIES = st.builds(lambda n1, n2, a, b: JointTally(min(a, n1), n1, min(b, n2), n2), *[st.integers(0, 4)] * 4)


@given(st.lists(TALLIES, max_size=8))
def test_a_part_and_the_whole_give_the_sums_of_the_part_and_the_rest(tasks: list[JointTally]) -> None:
    whole = cluster_sums(Tally(task.k1 + task.k2, task.n1 + task.n2) for task in tasks)
    part = cluster_sums(Tally(task.k1, task.n1) for task in tasks)
    mine = [task for task in tasks if task.n1]
    products = CrossSums(
        both=sum(task.n2 > 0 for task in mine),
        kk=sum(task.k1 * (task.k1 + task.k2) for task in mine),
        kn=sum(task.k1 * (task.n1 + task.n2) for task in mine),
        nk=sum(task.n1 * (task.k1 + task.k2) for task in mine),
        nn=sum(task.n1 * (task.n1 + task.n2) for task in mine),
    )
    assert against_rest(part, whole, products) == joint_sums(tasks)


@pytest.mark.parametrize("seed", range(5))
def test_the_score_test_is_that_of_generalised_estimating_equations(seed: int) -> None:
    tasks = drawn_tasks(seed, 40, 3, 6)
    sums = joint_sums(tasks)
    y, x, groups = observations(tasks)
    design = sm.add_constant(x)
    kind: dict[str, Any] = {"groups": groups, "family": sm.families.Gaussian()}
    null = sm.GEE(y, design[:, :1], **kind).fit()
    expected = sm.GEE(y, design, **kind)
    expected.fit()
    # Of the number of tasks the reference takes no account.
    square = expected.compare_score_test(null)["statistic"] * 39 / 40
    found = score_p(sums)
    assert found is not None
    assert found.unequal == pytest.approx(2 * student.sf(sqrt(square), 39))
    assert min(found.more, 1 - found.more) == pytest.approx(student.sf(sqrt(square), 39))
    assert (found.more < 0.5) is (sums.first.k / sums.first.n > sums.second.k / sums.second.n)


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_joins_those_of_both_with_the_correlation_of_a_cluster_robust_regression(seed: int) -> None:
    tasks = drawn_tasks(seed, 24, 4, 6)
    sums = joint_sums(tasks)
    y, x, groups = observations(tasks)
    fitted = sm.OLS(y, np.column_stack([x, 1 - x])).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    covariance = fitted.cov_params()
    correlation = covariance[0, 1] / sqrt(covariance[0, 0] * covariance[1, 1])
    correlation -= (1 - correlation**2) / sqrt(24)
    one, two = clustered_rate(sums.first), clustered_rate(sums.second)
    assert None not in (one.rate, one.low, one.high, two.rate, two.low, two.high)
    found = difference(sums, p=0.5)
    assert found.value == pytest.approx(fitted.params[0] - fitted.params[1])
    assert found.low == pytest.approx(found.value - joined(one.rate - one.low, two.high - two.rate, correlation))  # type: ignore[operator]
    assert found.high == pytest.approx(found.value + joined(one.high - one.rate, two.rate - two.low, correlation))  # type: ignore[operator]
    assert (found.n, found.p) == (sums.first.n + sums.second.n, 0.5)


def joined(one: float, two: float, correlation: float) -> float:
    return sqrt(one * one + two * two - 2 * correlation * one * two)


def test_groups_of_different_tasks_are_independent() -> None:
    sums = JointSums(independent(6, 40), independent(30, 60), APART)
    one, two = clustered_rate(sums.first), clustered_rate(sums.second)
    found = difference(sums)
    assert None not in (one.low, one.high, two.low, two.high)
    assert found.value == pytest.approx(0.15 - 0.5)
    assert found.low == pytest.approx(-0.35 - joined(0.15 - one.low, two.high - 0.5, 0))  # type: ignore[operator]
    assert found.high == pytest.approx(-0.35 + joined(one.high - 0.15, 0.5 - two.low, 0))  # type: ignore[operator]


def test_two_shares_of_many_different_tasks_differ_by_newcombes_interval() -> None:
    found = difference(JointSums(independent(120, 400), independent(90, 450), APART))
    low, high = confint_proportions_2indep(120, 400, 90, 450, method="newcomb")
    assert found.value == pytest.approx(0.1) and found.n == 850
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-3)


def test_the_interval_stays_in_range_where_all_of_one_group_and_none_of_the_other_are_counted() -> None:
    found = difference(JointSums(independent(9, 9), independent(0, 9), APART))
    assert found.value == found.high == 1.0
    assert found.low is not None and 0.4 < found.low < 1


def test_tasks_that_agree_exactly_do_not_make_the_difference_certain() -> None:
    found = difference(joint_sums([JointTally(k, 4, k, 4) for k in (0, 1, 2, 3, 4, 2)]))
    assert found.value == 0 and found.low is not None and found.high is not None
    assert found.low < -0.1 and found.high > 0.1


def test_one_task_says_nothing_of_others() -> None:
    one_sided = joint_sums([JointTally(1, 4, 2, 4), JointTally(2, 4, 0, 0)])
    found = difference(one_sided)
    assert found.value == pytest.approx(3 / 8 - 1 / 2) and (found.low, found.high) == (None, None)
    assert score_p(one_sided) is None and null_spread(one_sided) is None


def test_an_empty_group_has_no_difference() -> None:
    found = difference(joint_sums([JointTally(1, 4, 0, 0), JointTally(1, 2, 0, 0)]))
    assert (found.value, found.low, found.n) == (None, None, 6)


@pytest.mark.parametrize("counted", [0, 4])
def test_where_all_or_none_are_counted_nothing_differs(counted: int) -> None:
    found = score_p(joint_sums([JointTally(counted, 4, counted, 4)] * 10))
    assert found is not None
    assert (found.more, found.unequal) == (0.5, 1.0)


def test_a_group_without_errors_counts_its_tasks_and_not_its_observations() -> None:
    sums = joint_sums([JointTally(1, 2, 0, 10)] * 5 + [JointTally(0, 2, 0, 10)] * 5)
    spread = null_spread(sums)
    assert spread is not None and spread.second >= 1 / 10


@pytest.mark.parametrize(("swapped", "sign"), [(False, 1), (True, -1)])
def test_swapping_the_groups_turns_the_difference_round(swapped: bool, sign: int) -> None:
    tasks = drawn_tasks(3, 30, 3, 5)
    turned = [JointTally(t.k2, t.n2, t.k1, t.n1) if swapped else t for t in tasks]
    here, there = difference(joint_sums(tasks)), difference(joint_sums(turned))
    mine, other = score_p(joint_sums(tasks)), score_p(joint_sums(turned))
    assert here.value is not None and there.value == pytest.approx(sign * here.value)
    assert mine is not None and other is not None
    assert other.unequal == pytest.approx(mine.unequal)
    assert other.more == pytest.approx(1 - mine.more if swapped else mine.more)


def audits(share: float, first: np.ndarray, second: np.ndarray, seed: int) -> list[list[JointTally]]:
    """Audits without any difference: tasks differ, and so do the two groups of a task, by chance."""
    rng = np.random.default_rng(seed)
    shares = rng.beta(share * 7 / 3, (1 - share) * 7 / 3, (AUDITS, len(first)))
    of_group = [rng.beta(np.maximum(4 * shares, 1e-9), np.maximum(4 * (1 - shares), 1e-9)) for _ in range(2)]
    ones, twos = rng.binomial(first, of_group[0]), rng.binomial(second, of_group[1])
    sizes = list(zip(first.tolist(), second.tolist(), strict=True))
    return [
        [JointTally(k1, n1, k2, n2) for k1, k2, (n1, n2) in zip(one, two, sizes, strict=True) if n1 or n2]
        for one, two in zip(ones.tolist(), twos.tolist(), strict=True)
    ]


QUARTER = np.arange(48) % 4 == 0
DESIGNS = [
    pytest.param(np.full(12, 4), np.full(12, 4), id="12 tasks of 4 and 4"),
    pytest.param(np.full(48, 2), np.full(48, 10), id="48 tasks of 2 and 10"),
    pytest.param(np.full(48, 10), np.full(48, 2), id="48 tasks of 10 and 2"),
    pytest.param(np.where(QUARTER, 4, 0), np.where(QUARTER, 0, 4), id="12 tasks of one group, 36 of the other"),
    pytest.param(np.where(QUARTER, 0, 4), np.where(QUARTER, 4, 0), id="36 tasks of one group, 12 of the other"),
    pytest.param(np.where(QUARTER, 4, 0), np.where(QUARTER, 2, 6), id="12 tasks with both groups, 36 with one"),
    pytest.param(np.tile([0, 2, 4, 1], 24), np.tile([4, 1, 0, 3], 24), id="96 tasks, some of one group"),
    pytest.param(np.full(240, 2), np.full(240, 4), id="240 tasks of 2 and 4"),
]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
@pytest.mark.parametrize(("first", "second"), DESIGNS)
def test_null_audits_are_called_different_as_seldom_as_is_said(
    share: float, first: np.ndarray, second: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("misjudge_tools.stats.task_permutation.DRAWN", 399)
    more = unequal = held = 0
    for tasks in audits(share, first, second, seed=11):
        sums = joint_sums(tasks)
        tails, found = score_p(sums), difference(sums)
        assert tails is not None and found.low is not None and found.high is not None
        unequal += tails.unequal <= 0.05
        # What cannot be called is not permuted, which takes its time.
        more += tails.more <= 0.05 and task_permutation(tasks).p <= 0.05
        held += found.low <= 0 <= found.high
    assert more <= 0.065 * AUDITS and unequal <= 0.065 * AUDITS
    assert held >= 0.93 * AUDITS


@pytest.mark.slow
@pytest.mark.parametrize("size", [24, 48])
def test_the_interval_of_a_difference_is_hardly_wider_than_it_must_be(size: int) -> None:
    first, second = np.full(size, 4), np.full(size, 6)
    found = [difference(joint_sums(tasks)) for tasks in audits(0.3, first, second, seed=5)]
    spread = float(np.std([one.value for one in found if one.value is not None]))
    widths = [one.high - one.low for one in found if one.high is not None and one.low is not None]
    assert np.mean(widths) <= 1.25 * 2 * 1.96 * spread


def test_the_sums_are_those_of_each_group() -> None:
    tasks = [JointTally(1, 2, 3, 4), JointTally(0, 0, 1, 2), JointTally(2, 2, 0, 0)]
    sums = joint_sums(tasks)
    assert sums.first == cluster_sums([Tally(1, 2), Tally(2, 2)])
    assert sums.second == ClusterSums(clusters=2, k=4, n=6, kk=10, kn=14, nn=20)
    assert sums.cross == CrossSums(both=1, kk=3, kn=4, nk=6, nn=8)
    assert sums.clusters == 3

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from misjudge_tools.stats.agreement import Kappa, Labels, cohen_kappa
from misjudge_tools.stats.distributions import student_t_quantile
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate, wilson
from misjudge_tools.stats.trials import TaskTrials, pass_hat_k

task_trials = st.integers(1, 6).flatmap(lambda n: st.builds(TaskTrials, st.just(n), st.integers(0, n)))
labels = st.builds(Labels, st.sampled_from(["A", "B", "tie"]), st.sampled_from(["A", "B", "tie"]))


def rates(tasks: dict[TaskTrials, int]) -> list[float]:
    return [value.rate for value in pass_hat_k(tasks)]


def test_pass_hat_k_falls_from_the_success_rate_to_the_share_of_flawless_tasks() -> None:
    tasks = {TaskTrials(4, 4): 1, TaskTrials(4, 2): 2, TaskTrials(4, 0): 1}
    assert rates(tasks) == pytest.approx([0.5, (1 + 2 / 6) / 4, 0.25, 0.25])


def test_tasks_with_fewer_than_k_trials_are_left_out_of_pass_hat_k() -> None:
    results = pass_hat_k({TaskTrials(1, 1): 3, TaskTrials(2, 1): 1})
    assert [(value.k, value.tasks, value.rate) for value in results] == [(1, 4, 0.875), (2, 1, 0.0)]


@given(st.lists(task_trials, min_size=1, max_size=12))
def test_pass_hat_k_is_the_share_of_all_successful_subsets(tasks: list[TaskTrials]) -> None:
    for value in pass_hat_k(Counter(tasks)):
        shares = []
        for n, c in tasks:
            subsets = list(combinations([True] * c + [False] * (n - c), value.k))
            if subsets:
                shares.append(sum(all(subset) for subset in subsets) / len(subsets))
        assert value.tasks == len(shares)
        assert value.rate == pytest.approx(sum(shares) / len(shares))


@given(st.lists(task_trials, min_size=2, max_size=12))
def test_pass_hat_k_lies_within_its_interval(tasks: list[TaskTrials]) -> None:
    for value in pass_hat_k(Counter(tasks)):
        assert value.low - 1e-12 <= value.rate <= value.high + 1e-12


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30))
def test_pass_hat_1_has_the_interval_of_the_clustered_success_rate(successes: list[int]) -> None:
    first = pass_hat_k(Counter(TaskTrials(4, c) for c in successes))[0]
    expected = clustered_rate(cluster_sums(Tally(c, 4) for c in successes))
    assert (first.rate, first.low, first.high) == pytest.approx((expected.rate, expected.low, expected.high))


def test_tasks_that_are_all_alike_count_once_for_each_disjoint_set_of_k_trials() -> None:
    """20 tasks of 4 trials hold 40 disjoint pairs of trials, but only 20 disjoint triples."""
    _, second, third, _ = pass_hat_k({TaskTrials(4, 3): 20})
    t = student_t_quantile(0.975, 19)
    assert (second.low, second.high) == pytest.approx(wilson(20, 40, t))
    assert (third.low, third.high) == pytest.approx(wilson(5, 20, t))


def test_pass_hat_k_of_one_task_says_nothing_of_others() -> None:
    assert [(value.low, value.high) for value in pass_hat_k({TaskTrials(2, 1): 1})] == [(0, 1), (0, 1)]


@pytest.mark.parametrize("tasks", [{}, {TaskTrials(4, 2): 0}, {TaskTrials(0, 0): 3}])
def test_without_trials_there_is_no_pass_hat_k(tasks: dict[TaskTrials, int]) -> None:
    assert pass_hat_k(tasks) == ()


@given(st.lists(labels, min_size=1, max_size=40))
def test_kappa_is_scikit_learns(items: list[Labels]) -> None:
    result = cohen_kappa(Counter(items))
    if len({label for item in items for label in item}) == 1:
        assert result == Kappa(kappa=None, n=len(items), observed=1.0, expected=1.0)
        return
    expected = sklearn.metrics.cohen_kappa_score([item.first for item in items], [item.second for item in items])
    assert result.kappa == pytest.approx(expected, abs=1e-12)
    assert result.n == len(items)


@given(st.lists(labels, min_size=1, max_size=40))
def test_kappa_ignores_who_is_first_and_what_the_labels_are_called(items: list[Labels]) -> None:
    renamed = {"A": "B", "B": "tie", "tie": "A"}
    turned = Counter(Labels(renamed[item.second], renamed[item.first]) for item in items)
    assert cohen_kappa(turned) == cohen_kappa(Counter(items))


def test_kappa_of_cohens_kind_of_table() -> None:
    table = {Labels("yes", "yes"): 20, Labels("yes", "no"): 5, Labels("no", "yes"): 10, Labels("no", "no"): 15}
    result = cohen_kappa(table)
    assert result.kappa == pytest.approx(0.4)
    assert (result.observed, result.expected) == (0.7, 0.5)


def test_labellers_who_never_agree_by_chance_alone_are_below_0() -> None:
    assert cohen_kappa({Labels("A", "B"): 5, Labels("B", "A"): 5}).kappa == -1


@pytest.mark.parametrize("table", [{}, {Labels("A", "A"): 0}])
def test_kappa_without_items_is_none(table: dict[Labels, int]) -> None:
    assert cohen_kappa(table) == Kappa(kappa=None, n=0, observed=None, expected=None)

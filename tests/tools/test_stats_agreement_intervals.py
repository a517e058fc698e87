"""κ, AC1, α and φ against statsmodels, the published tables, the krippendorff package and derivatives by difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import sqrt
from random import Random
from typing import Any

import krippendorff
import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from misjudge_storage.task_moments import Moments
from misjudge_tools.stats.agreement import agreement, gwet_ac1, gwet_slopes, kappa_slopes
from misjudge_tools.stats.common_errors import (
    Fourfold,
    common_errors,
    effective_judges,
    phi,
    phi_slopes,
    together,
)
from misjudge_tools.stats.krippendorff_alpha import alpha_interval, alpha_nominal
from misjudge_tools.stats.linear import alone, between_tasks, share_sums
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate, wilson
from task_sums import moments_of

ABSTRACTORS = [13, 0, 0, 0, 20, 7, 0, 4, 56]
"""100 women by kind of pregnancy and by two abstractors (Gwet, Handbook of Inter-Rater Reliability, 4th ed. 2014)."""
SKEWED = [118, 5, 2, 0]
"""125 subjects of whom nearly all are of one kind: κ is −0.023 though the raters agree on 94 % (Gwet 2002)."""
LABELS = ("A", "B", "tie")
tables = st.lists(st.integers(0, 12), min_size=9, max_size=9)


def singles(cells: Sequence[int]) -> Moments:
    """Each pair a task of its own."""
    return moments_of([float(k == cell) for k in range(len(cells))] for cell, n in enumerate(cells) for _ in range(n))


def derivative(f: Callable[[Sequence[float]], float | None], at: Sequence[float], place: int) -> float:
    """By central difference."""
    step = 1e-4
    up, down = list(at), list(at)
    up[place] += step
    down[place] -= step
    high, low = f(up), f(down)
    assert high is not None and low is not None
    return (high - low) / (2 * step)


def kappa_of(cells: Sequence[float]) -> float:
    table = np.reshape(cells, (3, 3))
    n = table.sum()
    expected = (table.sum(0) * table.sum(1)).sum() / n**2
    return float((np.trace(table) / n - expected) / (1 - expected))


@given(tables)
def test_kappas_variance_is_that_of_statsmodels(cells: list[int]) -> None:
    table = np.reshape(cells, (3, 3))
    assume(sum(cells) > 0 and not any(sum(cells) in (table[k].sum(), table[:, k].sum()) for k in range(3)))
    expected = cohens_kappa(table)
    variance = alone(kappa_slopes(cells, 3), cells)
    assert variance == pytest.approx(max(0.0, expected.var_kappa), abs=1e-12)
    found = agreement(singles(cells), LABELS)
    assert found.kappa.value == pytest.approx(expected.kappa)
    if variance > 1e-9 and found.kappa.low is not None and found.kappa.low > -1 and found.kappa.high != 1:
        n = sum(cells)
        half = scipy.stats.t.ppf(0.975, n - 1) * sqrt(variance * n / (n - 1))
        assert found.kappa.low == pytest.approx(expected.kappa - half)


def test_gwets_example_has_the_published_coefficients_and_standard_errors() -> None:
    assert gwet_ac1(ABSTRACTORS, 3, 3) == pytest.approx(0.8493305, abs=5e-8)
    assert sqrt(alone(gwet_slopes(ABSTRACTORS, 3, 3), ABSTRACTORS)) == pytest.approx(0.04321747, abs=5e-8)
    found = agreement(singles(ABSTRACTORS), LABELS)
    assert (found.kappa.value, found.ac1.value) == pytest.approx((0.7964094, 0.8493305), abs=5e-8)
    assert (found.ac1.low, found.ac1.high) == pytest.approx((0.764, 0.935), abs=1e-3)
    assert (found.kappa.low, found.kappa.high) == pytest.approx((0.68, 0.913), abs=2e-3)


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_ac1_of_two_labels_goes_by_these_two_whatever_others_there_are(cells: list[int]) -> None:
    """irrCAC takes the labels that the two gave: p_e = 2π(1 − π) for two, π being the mean share of one of them."""
    aa, ab, ba, bb = cells
    n = sum(cells)
    assume(aa + ab + ba and ab + ba + bb)
    found = agreement(singles([aa, ab, 0, ba, bb, 0, 0, 0, 0]), LABELS)
    share = (2 * aa + ab + ba) / (2 * n)
    expected = 2 * share * (1 - share)
    assert found.labels_in_use == 2
    assert found.ac1.value == pytest.approx(((aa + bb) / n - expected) / (1 - expected))
    alone_there = agreement(singles(cells), ("A", "B"))
    assert found.ac1 == alone_there.ac1


def test_where_nearly_all_is_one_label_kappa_is_low_and_ac1_is_not() -> None:
    found = agreement(singles(SKEWED), ("yes", "no"))
    assert found.observed.rate == 0.944
    assert (found.kappa.value, found.ac1.value) == pytest.approx((-0.0234, 0.9408), abs=5e-5)


@given(tables)
def test_slopes_are_the_derivatives(cells: list[int]) -> None:
    at = [cell + 1.0 for cell in cells]
    four = Fourfold(*at[:4])
    for place in range(9):
        assert kappa_slopes(at, 3)[place] == pytest.approx(derivative(kappa_of, at, place), abs=1e-6)
        ac1 = derivative(lambda cells: gwet_ac1(cells, 3, 3), at, place)
        assert gwet_slopes(at, 3, 3)[place] == pytest.approx(ac1, abs=1e-6)
    for place in range(4):
        expected = derivative(lambda counts: phi(Fourfold(*counts)), four, place)
        assert phi_slopes(four)[place] == pytest.approx(expected, abs=1e-6)


def clustered(draw: Random, tasks: int, size: int) -> list[list[float]]:
    """Tables of tasks that lean to one cell each."""
    found = []
    for _ in range(tasks):
        favourite = draw.choice([0, 0, 0, 4, 4, 8, 1, 3])
        said = [favourite if draw.random() < 0.7 else draw.randrange(9) for _ in range(draw.randrange(1, size))]
        found.append([float(said.count(cell)) for cell in range(9)])
    return found


def test_the_pairs_of_a_task_are_one_cluster() -> None:
    tasks = clustered(Random(3), 60, 9)
    moments = moments_of(tasks)
    totals = np.sum(tasks, axis=0)
    slopes = np.array(kappa_slopes(totals.tolist(), 3))
    by_hand = 60 / 59 * sum(float(slopes @ np.array(task)) ** 2 for task in tasks)
    assert between_tasks(slopes.tolist(), moments) == pytest.approx(by_hand)
    jackknife = [kappa_of((totals - task).tolist()) for task in np.array(tasks)]
    assert by_hand == pytest.approx(59 / 60 * sum((one - np.mean(jackknife)) ** 2 for one in jackknife), rel=0.1)
    found = agreement(moments, LABELS)
    assert found.kappa.low is not None and found.kappa.value is not None
    half = scipy.stats.t.ppf(0.975, 59) * sqrt(by_hand)
    assert by_hand > 1.5 * alone(slopes.tolist(), totals.tolist())
    assert found.kappa.low == pytest.approx(found.kappa.value - half)
    tallies = [Tally(int(task[0] + task[4] + task[8]), int(sum(task))) for task in tasks]
    assert found.observed == clustered_rate(cluster_sums(tallies))


def test_an_interval_is_never_narrower_than_that_of_independent_pairs() -> None:
    """Each task holds one of each cell, so that nothing varies between tasks."""
    moments = moments_of([[2.0, 0, 0, 1, 2, 0, 0, 0, 1]] * 10)
    found = agreement(moments, LABELS)
    assert found.kappa.low is not None and found.kappa.value is not None
    half = scipy.stats.t.ppf(0.975, 9) * sqrt(alone(kappa_slopes(moments.totals, 3), moments.totals))
    assert found.kappa.low == pytest.approx(found.kappa.value - half)


def test_labellers_who_always_agree_have_the_interval_of_their_agreement() -> None:
    found = agreement(moments_of([[1.0, 0, 0, 0, 1.0, 0, 0, 0, 0]] * 20), LABELS)
    low = wilson(20, 20, scipy.stats.norm.ppf(0.975)).low
    assert (found.kappa.value, found.kappa.high) == (1, 1)
    assert found.kappa.low == found.ac1.low == pytest.approx((low - 0.5) / 0.5)


@pytest.mark.parametrize("tasks", [[], [[3.0, 0, 0, 0, 1.0, 0, 1.0, 0, 0]]])
def test_one_task_or_none_says_nothing_of_others(tasks: list[list[float]]) -> None:
    moments = moments_of(tasks) if tasks else Moments(0, (0.0,) * 9, (0.0,) * 45)
    found = agreement(moments, LABELS)
    assert (found.kappa.low, found.kappa.high, found.ac1.low) == (None, None, None)
    assert (found.kappa.value is None, found.ac1.value is None, found.n) == (not tasks, not tasks, 5 * len(tasks))


def test_one_label_throughout_has_no_kappa_and_an_ac1_of_1() -> None:
    found = agreement(singles([7, 0, 0, 0, 0, 0, 0, 0, 0]), LABELS)
    assert (found.kappa.value, found.ac1.value) == (None, 1)


said = st.lists(st.sampled_from([None, "A", "B", "tie"]), min_size=4, max_size=4)


@given(st.lists(said, min_size=2, max_size=15))
def test_alpha_of_labels_is_krippendorffs_with_labels_missing(units: list[list[str | None]]) -> None:
    tasks = []
    for unit in units:
        counts = [float(unit.count(label)) for label in LABELS]
        m = sum(counts)
        if m > 1:
            tasks.append([sum(n * (n - 1) for n in counts) / (m - 1), *counts])
    values = {label for unit in units if sum(one is not None for one in unit) > 1 for label in unit} - {None}
    assume(len(values) > 1)
    found = alpha_nominal(moments_of(tasks))
    codes = [[np.nan if one is None else LABELS.index(one) for one in rater] for rater in zip(*units, strict=True)]
    assert found.value == pytest.approx(krippendorff.alpha(np.array(codes), level_of_measurement="nominal"))
    assert found.n == sum(sum(task[1:]) for task in tasks)


scores = st.lists(st.one_of(st.none(), st.integers(0, 10).map(lambda n: n / 10)), min_size=3, max_size=3)


def scored(units: Sequence[Sequence[float | None]]) -> list[list[float]]:
    """Each unit a task of its own."""
    tasks = []
    for unit in units:
        known = [one for one in unit if one is not None]
        m, s, q = len(known), sum(known), sum(one * one for one in known)
        if m > 1:
            tasks.append([(m * q - s * s) / (m - 1), m, s, q])
    return tasks


@given(st.lists(scores, min_size=2, max_size=15))
def test_alpha_of_scores_is_krippendorffs_with_scores_missing(units: list[list[float | None]]) -> None:
    tasks = scored(units)
    values = {one for unit in units if sum(v is not None for v in unit) > 1 for one in unit} - {None}
    assume(len(values) > 1)
    found = alpha_interval(moments_of(tasks))
    table = np.array([[np.nan if one is None else one for one in rater] for rater in zip(*units, strict=True)])
    assert found.value == pytest.approx(krippendorff.alpha(table, level_of_measurement="interval"))


@pytest.mark.parametrize("alpha", [alpha_nominal, alpha_interval])
def test_values_that_are_all_alike_have_no_alpha(alpha: Callable[[Moments], Any]) -> None:
    nominal = alpha is alpha_nominal
    same = moments_of([[2.0, 2.0, 0, 0] if nominal else [0.0, 2, 1.4, 0.98]] * 5)
    assert (alpha(same).value, alpha(same).n) == (None, 10)
    assert alpha(Moments(0, (), ())) == alpha(Moments(0, (0.0,) * 4, (0.0,) * 10))
    assert alpha(Moments(0, (), ())).n == 0


def test_labels_that_always_agree_have_an_alpha_of_1_that_few_tasks_leave_unsure() -> None:
    units = [[2.0, 2, 0, 0], [2.0, 0, 2, 0]]
    few, many = (alpha_nominal(moments_of(units * times)) for times in (3, 60))
    assert (few.value, few.high, many.value) == (1, 1, 1)
    assert few.low is not None and many.low is not None and few.low < many.low < 1
    equal = alpha_interval(moments_of([[0.0, 2, 1, 0.5], [0.0, 2, 2, 2]] * 3))
    assert (equal.value, equal.low) == (1, None)


def alpha_units(draw: Random, tasks: int) -> list[list[float]]:
    """Three labellers, three pairs a task; a task is hard or not."""
    found = []
    for _ in range(tasks):
        noise = draw.choice([0.05, 0.6])
        counts = np.zeros(4)
        for _ in range(3):
            truth = draw.randrange(3)
            said = [truth if draw.random() > noise else draw.randrange(3) for _ in range(3)]
            unit = [said.count(label) for label in range(3)]
            counts += [sum(n * (n - 1) for n in unit) / 2, *unit]
        found.append(counts.tolist())
    return found


def test_the_interval_of_alpha_is_that_of_a_jackknife_over_tasks() -> None:
    tasks = np.array(alpha_units(Random(11), 80))
    found = alpha_nominal(moments_of(tasks.tolist()))
    left_out = [alpha_nominal(moments_of(np.delete(tasks, k, axis=0).tolist())).value for k in range(80)]
    spread = np.array(left_out, dtype=float)
    jackknife = sqrt(79 / 80 * ((spread - spread.mean()) ** 2).sum())
    assert found.low is not None and found.value is not None
    assert found.value - found.low == pytest.approx(scipy.stats.t.ppf(0.975, 79) * jackknife, rel=0.05)


def test_the_interval_of_alpha_of_scores_is_that_of_a_jackknife_over_tasks() -> None:
    draw = Random(5)
    units = [[base + draw.gauss(0, 0.2) for _ in range(3)] for base in (draw.random() for _ in range(90))]
    tasks = np.array(scored(units))
    found = alpha_interval(moments_of(tasks.tolist()))
    left_out = [alpha_interval(moments_of(np.delete(tasks, k, axis=0).tolist())).value for k in range(90)]
    spread = np.array(left_out, dtype=float)
    jackknife = sqrt(89 / 90 * ((spread - spread.mean()) ** 2).sum())
    assert found.low is not None and found.value is not None
    assert found.value - found.low == pytest.approx(scipy.stats.t.ppf(0.975, 89) * jackknife, rel=0.1)


@given(st.lists(st.integers(0, 20), min_size=4, max_size=4))
def test_the_correlation_of_errors_is_pearsons(counts: list[int]) -> None:
    both, first, second, none = counts
    found = common_errors(singles(counts) if sum(counts) else Moments(0, (0.0,) * 4, (0.0,) * 10))
    n = sum(counts)
    assert (found.n, found.first_wrong, found.second_wrong, found.both_wrong) == (n, both + first, both + second, both)
    if 0 in (both + first, second + none, both + second, first + none):
        assert found.correlation.value is None
        return
    pairs = [(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * none
    expected = np.corrcoef(np.array(pairs).T)[0, 1]
    assert found.correlation.value == pytest.approx(expected, abs=1e-9)
    assert found.expected_both == pytest.approx((both + first) * (both + second) / n)


def test_judges_who_are_wrong_on_the_same_pairs_have_a_correlation_of_1_without_an_interval() -> None:
    found = common_errors(singles([6, 0, 0, 30])).correlation
    assert found.value == pytest.approx(1)
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize(
    ("judges", "correlation", "expected"),
    [(9, 0, 9), (9, 0.4375, 2), (4, 1, 1), (4, 0.6, 4 / 2.8), (2, -0.5, 4), (3, -0.5, None)],
)
def test_judges_that_err_together_are_worth_fewer(judges: int, correlation: float, expected: float | None) -> None:
    found = effective_judges(judges, correlation)
    assert found == (None if expected is None else pytest.approx(expected))


def errors(draw: Random, tasks: int, shared: float) -> list[list[float]]:
    """Four-fold counts of two judges on two pairs a task, who share the reason of an error with this probability."""
    found = []
    for _ in range(tasks):
        pairs = Counter[int]()
        for _ in range(2):
            hard = draw.random() < shared
            cause = draw.random() < 0.3
            first, second = (cause if hard else draw.random() < 0.3 for _ in range(2))
            pairs[2 * (not first) + (not second)] += 1
        found.append([float(pairs[k]) for k in range(4)])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.4])
def test_the_interval_of_a_correlation_holds_the_truth_as_often_as_it_says(shared: float) -> None:
    draw = Random(23)
    found = [common_errors(moments_of(errors(draw, 100, shared))).correlation for _ in range(2000)]
    held = [one.low <= shared <= one.high for one in found if one.low is not None and one.high is not None]
    assert len(held) == 2000
    assert 0.93 <= np.mean(held) <= 0.98


def test_a_panel_has_the_mean_of_its_couples_and_the_number_of_judges_it_is_worth() -> None:
    couples = [common_errors(moments_of(errors(Random(seed), 100, 0.5))) for seed in range(3)]
    found = together(couples, 3)
    assert found is not None
    values = [couple.correlation.value for couple in couples]
    mean = float(np.mean(np.array(values, dtype=float)))
    assert found.mean_correlation.value == pytest.approx(mean)
    assert found.effective_judges == pytest.approx(3 / (1 + 2 * mean))
    assert found.effective_low is not None and found.effective_high is not None
    assert found.effective_low < 3 / (1 + 2 * mean) < found.effective_high
    assert found.both_wrong == sum(couple.both_wrong for couple in couples)
    never = common_errors(singles([0, 0, 5, 20]))
    assert together([*couples[:2], never], 3) is None
    assert together([], 1) is None


def test_a_correlation_without_an_interval_leaves_the_mean_without_one() -> None:
    same = common_errors(singles([5, 0, 0, 20]))
    found = together([same], 2)
    assert found is not None
    assert found.effective_judges == pytest.approx(1)
    assert (found.effective_low, found.mean_correlation.low) == (None, None)


def test_a_share_of_some_of_the_counts_has_the_sums_of_its_clusters() -> None:
    tasks = [[1.0, 2, 0], [0.0, 1, 4], [3.0, 0, 1]]
    found = share_sums([0], [0, 2], moments_of(tasks))
    assert found == cluster_sums([Tally(1, 1), Tally(0, 4), Tally(3, 4)])
    assert share_sums([0], [0, 1], moments_of(tasks), clusters=2).clusters == 2

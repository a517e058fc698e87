"""Paired differences and McNemar's test against statsmodels, scipy, enumeration and simulated audits."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.contingency_tables import mcnemar as reference

from misjudge_tools.stats.paired import ALPHA, PairedCounts, PairedDifference, mcnemar, paired_difference
from misjudge_tools.stats.probes import Differences, PairedSums, paired_sums

AUDITS = 1000


def of_tasks(*tasks: Sequence[int]) -> PairedCounts:
    """Tasks by the differences of their pairs."""
    flat = [d for task in tasks for d in task]
    sums = paired_sums(Differences(len(task), sum(task), sum(d * d for d in task)) for task in tasks)
    return PairedCounts(flat.count(1), flat.count(-1), sums)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (0, 7), (5, 5), (12, 3), (40, 61), (260, 180)])
def test_mcnemar_is_the_exact_one_of_statsmodels_and_scipy(first: int, second: int) -> None:
    assert mcnemar(first, second) == pytest.approx(reference([[9, first], [second, 4]], exact=True).pvalue)
    if first + second:
        assert mcnemar(first, second) == pytest.approx(scipy.stats.binomtest(first, first + second).pvalue)


@pytest.mark.parametrize("n", [1, 4, 9, 15])
def test_without_a_difference_the_p_value_is_small_as_seldom_as_it_says(n: int) -> None:
    for alpha in (0.5, 0.1, 0.05, 0.01):
        chance = sum(scipy.stats.binom.pmf(k, n, 0.5) for k in range(n + 1) if mcnemar(k, n - k) <= alpha)
        assert chance <= alpha + 1e-12


def test_the_difference_is_that_of_the_shares_and_its_signs_turn_with_the_sides() -> None:
    one = paired_difference(of_tasks(*[[1]] * 6, *[[-1]] * 2, *[[0]] * 32))
    assert (one.n, one.difference, one.only_first, one.only_second) == (40, 0.1, 6, 2)
    assert one.mcnemar_p == pytest.approx(scipy.stats.binomtest(2, 8).pvalue)
    other = paired_difference(of_tasks(*[[-1]] * 6, *[[1]] * 2, *[[0]] * 32))
    assert one.low is not None and one.high is not None
    assert other.low == pytest.approx(-one.high)
    assert other.high == pytest.approx(-one.low)
    assert (other.mcnemar_p, other.smallest_seen) == (one.mcnemar_p, one.smallest_seen)


def test_no_pair_gives_nothing_and_one_task_no_interval() -> None:
    assert paired_difference(of_tasks()) == PairedDifference(
        n=0, difference=None, low=None, high=None, only_first=0, only_second=0, mcnemar_p=None
    )
    alone = paired_difference(of_tasks([1, 0, 1]))
    assert (alone.difference, alone.low, alone.high) == (2 / 3, None, None)
    assert alone.mcnemar_p == pytest.approx(0.5)


def test_beside_a_null_result_stands_what_would_have_been_seen() -> None:
    seen = paired_difference(of_tasks(*[[1]] * 12, *[[0]] * 20))
    assert seen.mcnemar_p is not None and seen.mcnemar_p <= ALPHA
    assert seen.smallest_seen is None
    few, many = (paired_difference(of_tasks(*[[1]], *[[-1]], *[[0]] * n)) for n in (30, 300))
    assert few.smallest_seen is not None and many.smallest_seen is not None
    assert 0 < many.smallest_seen < few.smallest_seen < 0.5
    assert paired_difference(of_tasks([0], [0])).smallest_seen is None, "so few tasks show none"


@pytest.mark.parametrize(("n", "discordant"), [(30, 0.1), (50, 0.2)])
def test_the_smallest_difference_seen_is_seen_in_four_cases_of_five(n: int, discordant: float) -> None:
    """By enumeration of all tables, with verdicts that differ by chance as the observed ones do."""
    each = round(n * discordant / 2)
    found = paired_difference(of_tasks(*[[1]] * each, *[[-1]] * each, *[[0]] * (n - 2 * each))).smallest_seen
    assert found is not None
    share = (2 * each + 1) / (n + 2)
    u = (1 - sqrt(1 - 2 * share)) / 2
    gained, lost = (u + found) * (1 - u), u * (1 - u - found)
    power = sum(
        scipy.stats.multinomial.pmf([k, m, n - k - m], n, [gained, lost, 1 - gained - lost])
        for k in range(n + 1)
        for m in range(n + 1 - k)
        if k > m and mcnemar(k, m) <= ALPHA
    )
    assert power == pytest.approx(0.8, abs=0.01)


# Coverage


def audits(tasks: int, each: int, second: float, gap: float, rho: float, seed: int) -> np.ndarray:
    """Differences by audit, task and pair of two judges with this accuracy and one higher by `gap`; how hard a pair is
    is partly that of its task, and the same for both judges.
    """
    rng = np.random.default_rng(seed)
    shape = (AUDITS, tasks, each)
    shared = sqrt(rho) * rng.normal(size=(AUDITS, tasks, 1)) + sqrt(1 - rho) * rng.normal(size=shape)

    def right(accuracy: float) -> np.ndarray:
        own = sqrt(0.5) * shared + sqrt(0.5) * rng.normal(size=shape)
        return np.asarray(own < scipy.stats.norm.ppf(accuracy), dtype=int)

    found: np.ndarray = right(second + gap) - right(second)
    return found


def counts_of(audit: np.ndarray) -> PairedCounts:
    d = audit.sum(axis=1)
    tasks, each = audit.shape
    sums = PairedSums(
        tasks, audit.size, int(d.sum()), int((audit**2).sum()), int((d**2).sum()), int(d.sum() * each), tasks * each**2
    )
    return PairedCounts(int((audit == 1).sum()), int((audit == -1).sum()), sums)


def bootstrap_width(made: np.ndarray, audits: int = 100, resamples: int = 500) -> float:
    rng = np.random.default_rng(9)
    tasks, each = made.shape[1:]
    widths = []
    for n in range(audits):
        means = rng.multinomial(tasks, np.full(tasks, 1 / tasks), resamples) @ made[n].sum(axis=1) / (tasks * each)
        widths.append(np.subtract(*np.quantile(means, [0.975, 0.025])))
    return float(np.mean(widths))


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.4])
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.26])
@pytest.mark.parametrize(("tasks", "each"), [(20, 1), (60, 1), (40, 4), (300, 1)])
def test_the_interval_holds_the_gap_and_is_not_wide(tasks: int, each: int, gap: float, rho: float) -> None:
    made = audits(tasks, each, 0.58, gap, rho, seed=4)
    found = [paired_difference(counts_of(audit)) for audit in made]
    held = [one.low <= gap <= one.high for one in found if one.low is not None and one.high is not None]
    assert len(held) == AUDITS
    assert np.mean(held) >= 0.93
    width = np.mean([one.high - one.low for one in found if one.low is not None and one.high is not None])
    assert width <= 1.25 * bootstrap_width(made)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [20, 100])
def test_two_judges_that_are_equally_good_seldom_seem_different(tasks: int) -> None:
    made = audits(tasks, 1, 0.7, 0.0, 0.0, seed=6)
    found = [paired_difference(counts_of(audit)).mcnemar_p for audit in made]
    assert np.mean([p is not None and p <= 0.05 for p in found]) <= 0.065

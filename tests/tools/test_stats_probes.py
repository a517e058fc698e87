"""Probe statistics against enumeration, scipy, statsmodels and hand-made tables."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product
from math import comb, isclose, sqrt

import pytest
import scipy.stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from misjudge_tools.stats.multiplicity import benjamini_hochberg
from misjudge_tools.stats.probes import (
    Differences,
    Effect,
    PairedSums,
    ProbeCounts,
    ProbeRow,
    TaskTally,
    more_often,
    paired_effect,
    paired_sums,
    probe_rows,
    self_preference,
    smallest_seen,
    unequally_often,
)
from misjudge_tools.stats.rates import NONE, Tally, cluster_sums, independent

STEADY = TaskTally(items=2, gained=0, lost=0, flips=0, baseline_flips=0)
MOVED = TaskTally(items=2, gained=2, lost=0, flips=2, baseline_flips=0, shift=2, shift_squares=2, towards=2)


def of_items(*differences: Sequence[float]) -> PairedSums:
    """The sums of tasks, each given by the differences of its items."""
    return paired_sums(Differences(len(task), sum(task), sum(d * d for d in task)) for task in differences)


# Many tests at once


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_values_are_those_of_scipy_and_statsmodels(seed: int) -> None:
    draw = random.Random(seed)
    p_values = [draw.choice((1.0, 0.5, 0.5, draw.random(), draw.random() ** 6)) for _ in range(draw.randrange(1, 30))]
    found = benjamini_hochberg(p_values)
    assert found == pytest.approx(list(scipy.stats.false_discovery_control(p_values)))
    assert found == pytest.approx(list(multipletests(p_values, method="fdr_bh")[1]))


def test_equal_p_values_are_adjusted_alike_and_none_give_none() -> None:
    assert benjamini_hochberg([]) == []
    assert len(set(benjamini_hochberg([0.02, 0.9, 0.02, 0.02]))) == 2


# The sign test


@pytest.mark.parametrize(("k", "other"), [(0, 0), (3, 0), (0, 3), (9, 2), (5, 5), (30, 12)])
def test_the_sign_tests_are_the_exact_binomial_ones(k: int, other: int) -> None:
    if k + other:
        assert isclose(more_often(k, other), scipy.stats.binomtest(k, k + other, alternative="greater").pvalue)
    assert isclose(unequally_often(k, other), mcnemar([[5, k], [other, 7]], exact=True).pvalue)


VERDICTS = [(0.5, 0.3, 0.2), (0.9, 0.05, 0.05), (0.34, 0.33, 0.33), (1.0, 0.0, 0.0)]
"""How likely a judge says A, B, tie of an item, each time that it is asked."""


def changes(chances: Sequence[float]) -> dict[tuple[int, int], float]:
    """How likely an item is gained (1), lost (−1) or neither, and moves towards A (1) or away, if nothing matters."""
    found: dict[tuple[int, int], float] = {}
    values = (1.0, 0.0, 0.5)
    for first, second, changed in product(range(3), repeat=3):
        flip = (changed != first) - (second != first)
        shift = (values[changed] > values[first]) - (values[changed] < values[first])
        found[flip, shift] = found.get((flip, shift), 0) + chances[first] * chances[second] * chances[changed]
    return found


def tables(n: int, up: float, down: float) -> Iterator[tuple[int, int, float]]:
    """Every number of ups and downs among n items, with its probability."""
    for ups in range(n + 1):
        for downs in range(n - ups + 1):
            ways = comb(n, ups) * comb(n - ups, downs)
            yield ups, downs, ways * up**ups * down**downs * (1 - up - down) ** (n - ups - downs)


@pytest.mark.parametrize("chances", VERDICTS)
@pytest.mark.parametrize("n", [3, 6, 12])
def test_a_judge_that_nothing_moves_gets_a_small_p_value_as_seldom_as_it_says(n: int, chances: Sequence[float]) -> None:
    """By enumeration, and though a changed call and a second baseline are compared with the same first one."""
    one = changes(chances)
    gained, lost = (sum(p for (flip, _), p in one.items() if flip == sign) for sign in (1, -1))
    towards, away = (sum(p for (_, shift), p in one.items() if shift == sign) for sign in (1, -1))
    for alpha in (0.5, 0.2, 0.05, 0.01, 0.001):
        assert sum(p for k, m, p in tables(n, gained, lost) if more_often(k, m) <= alpha) <= alpha + 1e-12
        assert sum(p for k, m, p in tables(n, towards, away) if unequally_often(k, m) <= alpha) <= alpha + 1e-12


# The interval


def test_the_interval_is_that_of_two_more_items() -> None:
    """Tasks of one item each, whose mean varies just as n independent items': 6 gained, 2 lost of 40."""
    found = paired_effect(of_items(*[[1]] * 6, *[[-1]] * 2, *[[0]] * 32))
    effective = 40 * 39 / 40
    more, fewer = (6 * effective / 40 + 1) / (effective + 2), (2 * effective / 40 + 1) / (effective + 2)
    half = scipy.stats.t.ppf(0.975, 39) * sqrt((more + fewer - (more - fewer) ** 2) / (effective + 2))
    assert found.value == 0.1
    assert found.low == pytest.approx(more - fewer - half)
    assert found.high == pytest.approx(more - fewer + half)
    assert found.n == 40


def test_items_of_a_task_that_move_together_widen_the_interval() -> None:
    together = paired_effect(of_items(*[[1, 1, 1]] * 4, *[[0, 0, 0]] * 8))
    apart = paired_effect(of_items(*[[1, 0, 0]] * 12))
    assert together.value == apart.value == 1 / 3
    assert width(together) > 1.3 * width(apart)


def test_items_that_spread_evenly_over_tasks_never_count_for_more_than_they_are() -> None:
    spread = paired_effect(of_items(*[[1, -1, 0]] * 12))
    assert width(spread) == pytest.approx(
        width(paired_effect(PairedSums(12, 36, 0, 24, 3 * 24 / 3, 0, 12 * 9))), rel=0.05
    )


@pytest.mark.parametrize("d", [0, 1, -1, 0.5])
def test_where_all_items_differ_alike_tasks_are_counted_and_not_items(d: float) -> None:
    few, many = (paired_effect(of_items(*[[d] * each] * 10)) for each in (1, 7))
    assert (few.low, few.high) == (many.low, many.high)
    assert few.low is not None
    assert few.high is not None
    assert -1 <= few.low <= d <= few.high <= 1


def test_one_task_says_nothing_of_others_and_no_item_says_nothing() -> None:
    assert paired_effect(of_items([1, 0, 1]), 0.25) == Effect(value=2 / 3, low=None, high=None, n=3, p=0.25)
    assert paired_effect(of_items([], [])) == Effect(value=None, low=None, high=None, n=0)


def width(effect: Effect) -> float:
    assert effect.low is not None
    assert effect.high is not None
    return effect.high - effect.low


# The smallest effect that could have been seen


def power(n: int, instability: float, excess: float, alpha: float) -> float:
    """Exact power of the sign test where flips are independent of each other."""
    gained = (instability + excess) * (1 - instability)
    lost = instability * (1 - instability - excess)
    return sum(p for k, m, p in tables(n, gained, lost) if more_often(k, m) <= alpha)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6, 0.05 / 26])
@pytest.mark.parametrize(("n", "flips"), [(20, 0), (20, 4), (40, 0), (40, 8), (60, 1), (60, 20)])
def test_the_smallest_effect_seen_is_seen_about_four_times_in_five(n: int, flips: int, alpha: float) -> None:
    found = smallest_seen(n, flips, alpha)
    assert found is not None
    assert 0.68 <= power(n, (flips + 1) / (n + 2), found, alpha) <= 0.9


def test_more_items_and_a_steadier_judge_show_smaller_effects() -> None:
    found = [smallest_seen(n, flips, 0.05) for n, flips in ((400, 0), (100, 0), (100, 10), (30, 3), (10, 1))]
    assert found == sorted(found, key=lambda one: one or 1)
    assert found[0] is not None
    assert found[0] > 0


def test_too_few_items_show_nothing_however_large_the_effect() -> None:
    assert smallest_seen(8, 0, 0.05 / 26) is None  # eight flips of eight have p = 1/256
    assert smallest_seen(0, 0, 0.05) is None


# The table


def test_a_row_holds_the_counts_of_all_tasks() -> None:
    tasks = [
        TaskTally(items=3, gained=2, lost=0, flips=2, baseline_flips=0, shift=1.5, shift_squares=1.25, towards=2),
        TaskTally(items=2, gained=0, lost=1, flips=0, baseline_flips=1, shift=-1, shift_squares=1, away=1),
    ]
    (row,) = probe_rows([ProbeCounts("padding", tasks, left_out=4)], control="whitespace")
    assert (row.n, row.left_out, row.flips, row.baseline_flips) == (5, 4, 2, 1)
    assert (row.excess_flip.value, row.excess_flip.p) == (0.2, 0.5)
    assert row.shift is not None
    assert (row.shift.value, row.shift.p) == (0.1, 1.0)
    assert row.excess_flip.p_adjusted == 1.0


def test_what_fooled_the_judge_comes_first_then_the_larger_effect_and_the_control_last() -> None:
    noisy = TaskTally(items=2, gained=0, lost=2, flips=0, baseline_flips=2)
    away = TaskTally(items=2, gained=0, lost=0, flips=0, baseline_flips=0, shift=-1, shift_squares=1, away=1)
    counts = [
        ProbeCounts("whitespace", [MOVED] * 8),
        ProbeCounts("nothing", [], left_out=3),
        ProbeCounts("padding", [noisy] * 8),
        ProbeCounts("apology", [away] * 3 + [STEADY] * 5),
        ProbeCounts("promise", [STEADY] * 8),
        ProbeCounts("few", [MOVED]),
        ProbeCounts("markdown", [MOVED] * 7 + [STEADY]),
    ]
    rows = probe_rows(counts, control="whitespace")
    names = ["markdown", "few", "apology", "padding", "promise", "nothing", "whitespace"]
    assert [row.probe for row in rows] == names
    assert [row.fooled for row in rows] == [True, False, False, False, False, False, True]
    nothing = Effect(value=None, low=None, high=None, n=0)
    assert rows[5] == ProbeRow(
        probe="nothing", n=0, left_out=3, flips=0, baseline_flips=0, excess_flip=nothing, shift=nothing
    )


def test_a_probe_without_a_side_has_no_shift_and_one_p_value() -> None:
    rows = probe_rows([ProbeCounts("criteria_order", [MOVED] * 3, sided=False)], control="whitespace")
    assert rows[0].shift is None
    assert rows[0].excess_flip.p_adjusted == rows[0].excess_flip.p == pytest.approx(1 / 64)


def test_what_one_probe_shows_alone_may_be_chance_among_many() -> None:
    few = TaskTally(items=1, gained=1, lost=0, flips=1, baseline_flips=0)
    one = ProbeCounts("padding", [few] * 5, sided=False)
    others = [ProbeCounts(f"still {n}", [STEADY] * 5, sided=False) for n in range(9)]
    assert probe_rows([one], "whitespace")[0].fooled
    first = probe_rows([one, *others], "whitespace")[0]
    assert (first.probe, first.fooled) == ("padding", False)
    assert first.excess_flip.p == pytest.approx(1 / 32)
    assert first.excess_flip.p_adjusted == pytest.approx(10 / 32)


def test_a_verdict_that_moves_without_flipping_more_often_is_seen_in_the_shift() -> None:
    """Baselines flip as often as changed calls do, but those always towards the changed side."""
    noisy = TaskTally(items=2, gained=1, lost=1, flips=1, baseline_flips=1, shift=1, shift_squares=1, towards=1)
    (row,) = probe_rows([ProbeCounts("padding", [noisy] * 10)], "whitespace")
    assert row.excess_flip.value == 0
    assert row.shift is not None
    assert row.shift.value == 0.5
    assert row.shift.p == pytest.approx(2 / 1024)
    assert row.fooled


def test_no_probe_gives_no_row() -> None:
    assert probe_rows([], "whitespace") == ()


# Self-preference


def test_self_preference_is_the_difference_of_two_shares_with_newcombes_interval() -> None:
    found = self_preference(independent(300, 1000), independent(100, 900))
    low, high = confint_proportions_2indep(300, 1000, 100, 900, method="newcomb", compare="diff")
    assert found is not None
    assert found.value == pytest.approx(0.3 - 1 / 9)
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.005)
    assert (found.n, found.p) == (1900, None)


def test_swapping_who_failed_turns_self_preference_round() -> None:
    failed, did = cluster_sums([Tally(3, 4), Tally(0, 2), Tally(1, 3)]), cluster_sums([Tally(1, 5), Tally(1, 4)])
    one, other = self_preference(failed, did), self_preference(did, failed)
    assert one is not None
    assert other is not None
    assert one.low is not None
    assert other.high is not None
    assert (one.value, one.low) == pytest.approx((-(other.value or 0), -other.high))


def test_self_preference_needs_pairs_of_both_kinds_and_an_interval_two_tasks() -> None:
    assert self_preference(NONE, independent(1, 5)) is None
    assert self_preference(independent(1, 5), NONE) is None
    single = self_preference(cluster_sums([Tally(1, 2)]), independent(1, 4))
    assert single == Effect(value=0.25, low=None, high=None, n=6)

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
    paired_effect,
    paired_sums,
    preference_by_gold,
    probe_rows,
)
from misjudge_tools.stats.rates import NONE, Tally, cluster_sums, independent
from misjudge_tools.stats.sign_tests import more_often, sign_test_power, smallest_seen, unequally_often

STEADY = TaskTally(items=2, gained=0, lost=0, flips=0, baseline_flips=0)
MOVED = TaskTally(items=2, gained=2, lost=0, flips=2, baseline_flips=0, shift=2, shift_squares=2)


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
@pytest.mark.parametrize("n", [1, 2, 5, 9, 16, 25])
def test_the_power_is_that_of_all_tables_there_can_be(n: int, alpha: float) -> None:
    for instability, excess in product((0.02, 0.1, 0.4, 0.9), (0.0, 0.05, 0.1)):
        gained, lost = (instability + excess) * (1 - instability), instability * (1 - instability - excess)
        assert sign_test_power(n, gained, lost, alpha) == pytest.approx(power(n, instability, excess, alpha), abs=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6, 0.05 / 26])
@pytest.mark.parametrize("n", [3, 5, 7, 8, 10, 12, 13, 19])
def test_of_few_tasks_the_smallest_effect_seen_is_seen_in_just_four_cases_of_five(n: int, alpha: float) -> None:
    for instability in (0.02, 1 / (n + 2), 0.2, 0.5):
        found = smallest_seen(n, instability, alpha)
        if found is None:
            assert power(n, instability, 1 - instability, alpha) < 0.8
        else:
            assert power(n, instability, found, alpha) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6, 0.05 / 26])
@pytest.mark.parametrize(("n", "instability"), [(20, 0.05), (40, 0.2), (60, 0.03), (61, 0.03), (80, 0.2), (120, 0.35)])
def test_the_smallest_effect_seen_is_seen_about_four_times_in_five(n: int, instability: float, alpha: float) -> None:
    found = smallest_seen(n, instability, alpha)
    assert found is not None
    assert 0.74 <= power(n, instability, found, alpha) <= 0.87


def test_more_tasks_and_a_steadier_judge_show_smaller_effects() -> None:
    cases = ((400, 0.003), (100, 0.01), (100, 0.1), (30, 0.12), (10, 0.17))
    found = [smallest_seen(n, instability, 0.05) for n, instability in cases]
    assert found == sorted(found, key=lambda one: one or 1)
    assert found[0] is not None
    assert found[0] > 0


def test_too_few_tasks_show_nothing_however_large_the_effect() -> None:
    assert smallest_seen(8, 0.1, 0.05 / 26) is None  # eight flips of eight have p = 1/256
    assert smallest_seen(0, 0.5, 0.05) is None


def test_what_a_row_could_have_shown_goes_by_its_tasks_and_not_by_its_items() -> None:
    """Forty items that are all alike in each of ten tasks are ten; so are items of which nothing is known."""
    single = TaskTally(items=1, gained=0, lost=0, flips=0, baseline_flips=0)
    four = TaskTally(items=4, gained=0, lost=0, flips=0, baseline_flips=0)
    few, many, spread = (
        probe_rows([ProbeCounts("padding", tasks)], "whitespace")[0]
        for tasks in ([single] * 10, [four] * 10, [single] * 40)
    )
    assert (few.tasks, many.tasks, spread.tasks, many.n) == (10, 10, 40, 40)
    assert few.smallest_seen is not None and many.smallest_seen is not None and spread.smallest_seen is not None
    assert few.smallest_seen > many.smallest_seen > 1.5 * spread.smallest_seen


# The table


def test_a_row_holds_the_counts_of_all_tasks() -> None:
    tasks = [
        TaskTally(items=3, gained=2, lost=0, flips=2, baseline_flips=0, shift=1.5, shift_squares=1.25),
        TaskTally(items=2, gained=0, lost=1, flips=0, baseline_flips=1, shift=-1, shift_squares=1),
    ]
    (row,) = probe_rows([ProbeCounts("padding", tasks, left_out=4)], control="whitespace")
    assert (row.n, row.tasks, row.left_out, row.flips, row.baseline_flips) == (5, 2, 4, 2, 1)
    assert (row.excess_flip.value, row.excess_flip.p) == (0.2, 0.75)
    assert row.shift is not None
    assert (row.shift.value, row.shift.p) == (0.1, 1.0)
    assert row.excess_flip.p_adjusted == 1.0


def test_what_fooled_the_judge_comes_first_then_the_larger_effect_and_the_control_last() -> None:
    noisy = TaskTally(items=2, gained=0, lost=2, flips=0, baseline_flips=2)
    away = TaskTally(items=2, gained=0, lost=0, flips=0, baseline_flips=0, shift=-1, shift_squares=1)
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
    assert rows[0].excess_flip.p_adjusted == rows[0].excess_flip.p == pytest.approx(1 / 8)


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
    noisy = TaskTally(items=2, gained=1, lost=1, flips=1, baseline_flips=1, shift=1, shift_squares=1)
    (row,) = probe_rows([ProbeCounts("padding", [noisy] * 10)], "whitespace")
    assert row.excess_flip.value == 0
    assert row.shift is not None
    assert row.shift.value == 0.5
    assert row.shift.p == pytest.approx(2 / 1024)
    assert row.fooled


def tally(gained: int, lost: int, shift: float) -> TaskTally:
    return TaskTally(5, gained, lost, gained, lost, shift, abs(shift))


@pytest.mark.parametrize("seed", range(5))
def test_each_task_counts_once_in_the_tests_by_the_sign_of_its_sum(seed: int) -> None:
    draw = random.Random(seed)
    tasks = [
        tally(draw.randrange(4), draw.randrange(3), draw.randrange(-4, 5) / 2) for _ in range(draw.randrange(1, 20))
    ]
    (row,) = probe_rows([ProbeCounts("padding", tasks)], "whitespace")
    excess, shift = ([task.gained - task.lost for task in tasks], [task.shift for task in tasks])
    up, down = sum(one > 0 for one in excess), sum(one < 0 for one in excess)
    assert row.excess_flip.p == pytest.approx(more_often(up, down))
    assert row.shift is not None
    assert row.shift.p == pytest.approx(unequally_often(sum(one > 0 for one in shift), sum(one < 0 for one in shift)))


def test_items_that_are_alike_in_a_task_are_no_more_evidence_than_one() -> None:
    few, many = (
        TaskTally(items, gained=items, lost=0, flips=items, baseline_flips=0, shift=items, shift_squares=items)
        for items in (1, 9)
    )
    one, nine = (probe_rows([ProbeCounts("padding", [task] * 4)], "whitespace")[0] for task in (few, many))
    assert one.excess_flip.p == nine.excess_flip.p == pytest.approx(1 / 16)
    assert (one.fooled, nine.fooled) == (False, False)


# Replies without a verdict


LOST = TaskTally(0, 0, 0, 0, 0, replied=1, unscored=1, newly_unscored=1)
KEPT = TaskTally(1, 0, 0, 0, 0, replied=1)


def test_a_probe_that_leaves_no_reply_readable_is_marked_and_not_called_too_little() -> None:
    counts = [ProbeCounts("injected_user", [LOST] * 40, left_out=40), ProbeCounts("padding", [KEPT] * 40)]
    row, other = probe_rows(counts, "whitespace")
    assert (row.probe, row.unreadable, row.fooled, row.n) == ("injected_user", True, False, 0)
    assert (row.replied, row.unscored, row.baseline_unscored) == (40, 40, 0)
    assert row.excess_unscored is not None
    assert row.excess_unscored.value == 1
    assert row.excess_unscored.p == pytest.approx(2.0**-40)
    assert (other.unreadable, other.excess_unscored) == (False, None)


@pytest.mark.parametrize(("lost", "marked"), [(5, False), (6, True), (12, True)])
def test_some_unreadable_replies_are_marked_by_the_sign_test(lost: int, marked: bool) -> None:
    (row,) = probe_rows([ProbeCounts("padding", [LOST] * lost + [KEPT] * 30, sided=False)], "whitespace")
    assert row.excess_unscored is not None
    assert row.excess_unscored.p_adjusted == pytest.approx(2 * 0.5**lost)  # of two p-values
    assert row.unreadable == marked


def test_replies_that_are_unreadable_unchanged_as_well_mark_nothing() -> None:
    both = TaskTally(0, 0, 0, 0, 0, replied=2, unscored=2, baseline_unscored=4)
    better = TaskTally(0, 0, 0, 0, 0, replied=1, baseline_unscored=2, newly_scored=1)
    for task in (both, better):
        (row,) = probe_rows([ProbeCounts("padding", [task] * 20, left_out=20)], "whitespace")
        assert row.excess_unscored is not None
        assert (row.unreadable, row.excess_unscored.p) == (False, 1)


def test_where_every_reply_is_readable_nothing_more_is_tested() -> None:
    (row,) = probe_rows([ProbeCounts("padding", [MOVED] * 6)], "whitespace")
    assert row.excess_flip.p_adjusted == pytest.approx(2 / 64)  # of two p-values


def test_a_drawn_and_a_chosen_side_are_rows_of_their_own_in_one_table() -> None:
    counts = [ProbeCounts("padding", [MOVED] * 8), ProbeCounts("padding", [STEADY] * 8, aim="failed")]
    rows = probe_rows(counts, "whitespace")
    assert [(row.aim, row.fooled) for row in rows] == [(None, True), ("failed", False)]
    assert rows[0].excess_flip.p_adjusted == pytest.approx(4 / 2 * 2 / 256)


def test_no_probe_gives_no_row() -> None:
    assert probe_rows([], "whitespace") == ()


# Self-preference


def test_self_preference_is_the_difference_of_two_shares_with_newcombes_interval() -> None:
    found = preference_by_gold(independent(300, 1000), independent(100, 900))
    low, high = confint_proportions_2indep(300, 1000, 100, 900, method="newcomb", compare="diff")
    assert found is not None
    assert found.value == pytest.approx(0.3 - 1 / 9)
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.005)
    assert (found.n, found.p) == (1900, None)


def test_swapping_who_failed_turns_self_preference_round() -> None:
    failed, did = cluster_sums([Tally(3, 4), Tally(0, 2), Tally(1, 3)]), cluster_sums([Tally(1, 5), Tally(1, 4)])
    one, other = preference_by_gold(failed, did), preference_by_gold(did, failed)
    assert one is not None
    assert other is not None
    assert one.low is not None
    assert other.high is not None
    assert (one.value, one.low) == pytest.approx((-(other.value or 0), -other.high))


def test_self_preference_needs_pairs_of_both_kinds_and_an_interval_two_tasks() -> None:
    assert preference_by_gold(NONE, independent(1, 5)) is None
    assert preference_by_gold(independent(1, 5), NONE) is None
    single = preference_by_gold(cluster_sums([Tally(1, 2)]), independent(1, 4))
    assert single == Effect(value=0.25, low=None, high=None, n=6)

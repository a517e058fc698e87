"""What an audit can show: powers by exact enumeration and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from misjudge_storage.summary_values import CrossSums
from misjudge_tools.stats import power as module
from misjudge_tools.stats.gaps import JointSums, JointTally, joint_sums, score_p
from misjudge_tools.stats.power import (
    Design,
    design,
    size_for_width,
    size_to_show,
    smallest_difference,
    smallest_passing,
    told_by,
)
from misjudge_tools.stats.rates import ClusterSums, Tally, cluster_sums, clustered_rate, independent, plain_rate

APART = CrossSums(0, 0, 0, 0, 0)


def test_73_calls_without_an_error_are_the_fewest_that_pass_a_limit_of_5_percent() -> None:
    assert smallest_passing(0.05) == 73


@pytest.mark.parametrize("limit", [0.01, 0.03, 0.05, 0.1, 0.2])
def test_the_smallest_number_that_passes_is_the_first_whose_upper_bound_is_within_the_limit(limit: float) -> None:
    fewest = smallest_passing(limit)
    assert (plain_rate(0, fewest).high or 1) <= limit < (plain_rate(0, fewest - 1).high or 0)


def test_an_audit_has_the_width_that_it_has() -> None:
    sums = cluster_sums([Tally(k % 4, 6) for k in range(40)])
    found, rate = design(sums), clustered_rate(sums)
    assert found is not None and rate.low is not None and rate.high is not None
    assert found.interval(found.share, found.effective) == pytest.approx((rate.low, rate.high))
    needed = size_for_width(found, (rate.high - rate.low) / 2 + 1e-9)
    assert needed == pytest.approx(found.effective, abs=1)


@pytest.mark.parametrize("half", [0.1, 0.05, 0.025])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.5])
def test_the_size_for_a_width_is_the_fewest_that_reach_it(half: float, share: float) -> None:
    found = Design(share, 200, 200)
    size = size_for_width(found, half)
    assert size is not None
    (low, high), (wider_low, wider_high) = (found.interval(share, n) for n in (size, size - 1))
    assert high - low <= 2 * half < wider_high - wider_low


def power_of(found: Design, size: int, share: float, limit: float, *, below: bool) -> float:
    """The chance that the interval is on this side of the limit, over all counts."""
    intervals = [found.interval(k / size, size) for k in range(size + 1)]
    told = [one.high <= limit if below else one.low > limit for one in intervals]
    return float(binom.pmf(np.arange(size + 1), size, share) @ np.array(told))


@pytest.mark.parametrize("share", [0.0, 0.005, 0.02, 0.12, 0.3, 0.9])
def test_the_size_to_show_a_judge_under_or_over_the_limit_is_the_first_with_the_power(share: float) -> None:
    found = Design(share, 150, 75)
    below = share < 0.05
    size = size_to_show(found, 0.05)
    assert size is not None
    assert power_of(found, size, share, 0.05, below=below) >= 0.8
    assert all(power_of(found, n, share, 0.05, below=below) < 0.8 for n in range(2, size))


@pytest.mark.parametrize("size", [40, 120, 300])
def test_the_rates_that_an_audit_tells_from_the_limit_are_told_with_the_power(size: int) -> None:
    found = Design(0.1, size, size)
    told = told_by(found, 0.05)
    assert (told.below is None) is (size < 73)
    if told.below is not None:
        assert power_of(found, size, told.below, 0.05, below=True) == pytest.approx(0.8, abs=1e-3)
    assert told.above is not None
    assert power_of(found, size, told.above, 0.05, below=False) == pytest.approx(0.8, abs=1e-3)


def test_nothing_is_told_by_next_to_nothing() -> None:
    assert told_by(Design(0.5, 2, 2), 0.05) == (None, None)


@pytest.mark.parametrize("share", [0.05, 0.05 + 1e-5, 0.05 - 1e-5])
def test_a_rate_next_to_the_limit_is_told_by_no_number_of_pairs(share: float) -> None:
    assert size_to_show(Design(share, 500, 100), 0.05) is None


def test_a_width_of_nothing_takes_more_than_there_is() -> None:
    assert size_for_width(Design(0.3, 500, 100), 1e-5) is None


def test_student_is_normal_for_many_tasks() -> None:
    tasks = module._MANY + 1
    low, high = Design(0.3, tasks, tasks).interval(0.3, tasks)
    assert (high - low) / 2 == pytest.approx(norm.ppf(0.975) * np.sqrt(0.21 / tasks), rel=1e-3)


def test_one_task_has_no_design() -> None:
    assert design(independent(0, 1)) is None
    assert design(ClusterSums(0, 0, 0, 0, 0, 0)) is None


@pytest.mark.parametrize(("n1", "n2"), [(60, 60), (30, 90), (90, 30), (100, 150)])
@pytest.mark.parametrize("share", [0.05, 0.2])
@pytest.mark.parametrize("sides", [1, 2])
def test_the_smallest_difference_is_shown_in_four_of_five_audits(n1: int, n2: int, share: float, sides: int) -> None:
    sums = JointSums(independent(round(share * n1), n1), independent(round(share * n2), n2), APART)
    found = smallest_difference(sums, sides)
    assert found is not None
    other = sums.second.k / sums.second.n
    ones, twos = binom.pmf(np.arange(n1 + 1), n1, other + found), binom.pmf(np.arange(n2 + 1), n2, other)
    shown = 0.0
    for k1, k2 in zip(*np.where(np.outer(ones, twos) > 1e-8), strict=True):
        tails = score_p(JointSums(independent(int(k1), n1), independent(int(k2), n2), APART))
        assert tails is not None
        if (tails.more if sides == 1 else tails.unequal) <= 0.05:
            shown += ones[k1] * twos[k2]
    assert 0.78 <= shown <= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "first", "second"), [(48, 4, 6), (100, 2, 8), (150, 3, 3)])
def test_the_smallest_difference_holds_where_tasks_differ(tasks: int, first: int, second: int) -> None:
    def drawn(extra: float, audits: int, rng: np.random.Generator) -> list[JointSums]:
        shares = rng.beta(0.2 * 4, 0.8 * 4, (audits, tasks))
        ones = rng.binomial(first, np.minimum(1, shares + extra * (1 - shares) / 0.8))
        twos = rng.binomial(second, shares)
        return [
            joint_sums(JointTally(k1, first, k2, second) for k1, k2 in zip(one, two, strict=True))
            for one, two in zip(ones.tolist(), twos.tolist(), strict=True)
        ]

    rng = np.random.default_rng(3)
    told = [smallest_difference(sums, 2) for sums in drawn(0.0, 200, rng)]
    found = float(np.mean([one for one in told if one is not None]))
    tails = [score_p(sums) for sums in drawn(found, 1000, rng)]
    assert 0.72 <= np.mean([one is not None and one.unequal <= 0.05 for one in tails]) <= 0.9


def test_no_difference_is_shown_where_one_task_stands_for_a_group_or_all_are_wrong() -> None:
    assert smallest_difference(joint_sums([JointTally(1, 2, 1, 2)]), 1) is None
    assert smallest_difference(joint_sums([JointTally(2, 2, 2, 2)] * 9), 1) is None
    assert smallest_difference(joint_sums([JointTally(0, 1, 1, 2), JointTally(1, 1, 0, 2)]), 2) is None

"""The confidence sequence: against a plain evaluation of its formula, its width, and its error under peeking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from misjudge_tools.requests import Stop
from misjudge_tools.runs.stop_rule import enough
from misjudge_tools.stats.anytime import (
    BETS,
    TaskShares,
    confidence_sequence,
    is_narrow,
    leaves_out,
    mean_share,
)
from misjudge_tools.stats.distributions import normal_quantile
from misjudge_tools.stats.rates import Interval, wilson

Draw = Callable[[np.random.Generator, float], tuple[np.ndarray, np.ndarray]]
"""Observations, a row a run, and the mean that each of the runs looks for."""
RUNS = 2000
LEVEL = 0.95


def capital(values: Sequence[float], mean: float) -> float:
    """The formula as it stands: what the mixture of bets on a higher mean has won after these observations."""
    return float(np.mean([np.prod([1 - c + c * x / mean for x in values]) for c in BETS]))


def plain_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Where neither of both bets has won 2/α, by a root search."""

    def lower(seen: Sequence[float]) -> float:
        def excess(mean: float) -> float:
            return capital(seen, mean) * (1 - level) / 2 - 1

        return float(brentq(excess, 1e-5, 1.0, xtol=1e-12)) if excess(1e-5) > 0 else 0.0

    return Interval(lower(values), 1 - lower([1 - x for x in values]))


SHARES = st.lists(
    st.builds(
        lambda n, k, tasks: TaskShares(min(k, n), n, tasks), st.integers(1, 6), st.integers(0, 6), st.integers(1, 4)
    ),
    min_size=1,
    max_size=12,
)


def each(shares: Sequence[TaskShares]) -> list[float]:
    """One value a task."""
    return [one.k / one.n for one in shares for _ in range(one.tasks)]


@given(SHARES, st.sampled_from([0.9, 0.95, 0.99]))
def test_the_bounds_are_where_the_capital_of_the_formula_reaches_its_limit(
    shares: list[TaskShares], level: float
) -> None:
    found, expected = confidence_sequence(shares, level), plain_interval(each(shares), level)
    assert found == pytest.approx(expected, abs=1e-7)


@given(SHARES, st.randoms(use_true_random=False))
def test_neither_the_order_of_tasks_nor_how_they_are_grouped_matters(shares: list[TaskShares], random: Random) -> None:
    single = [TaskShares(one.k, one.n) for one in shares for _ in range(one.tasks)]
    random.shuffle(single)
    assert confidence_sequence(single) == pytest.approx(confidence_sequence(shares), abs=1e-8)


@given(SHARES)
def test_the_interval_holds_the_mean_and_turns_round_with_the_shares(shares: list[TaskShares]) -> None:
    low, high = confidence_sequence(shares)
    mean = mean_share(shares)
    assert (
        mean is not None and mean == pytest.approx(np.mean(each(shares))) and low <= mean + 1e-9 and mean <= high + 1e-9
    )
    turned = confidence_sequence([one._replace(k=one.n - one.k) for one in shares])
    assert turned == pytest.approx((1 - high, 1 - low), abs=1e-7)


@given(SHARES, st.floats(0.01, 0.99))
def test_a_mean_is_left_out_where_it_lies_outside_of_the_interval(shares: list[TaskShares], mean: float) -> None:
    low, high = confidence_sequence(shares)
    if min(abs(mean - low), abs(mean - high)) > 1e-6:
        assert leaves_out(shares, mean) == (not low <= mean <= high)
        assert enough(shares, Stop(threshold=mean)) == (Interval(low, high) if leaves_out(shares, mean) else None)


@given(SHARES, st.floats(0.05, 0.95))
def test_an_interval_is_narrow_where_it_is(shares: list[TaskShares], width: float) -> None:
    low, high = confidence_sequence(shares)
    if abs(high - low - width) > 1e-6:
        assert is_narrow(shares, width) == (high - low <= width)
        assert (enough(shares, Stop(width=width)) is None) == (high - low > width)


def test_over_no_task_nothing_is_known() -> None:
    assert (confidence_sequence([]), mean_share([])) == (Interval(0, 1), None)
    assert not leaves_out([], 0.5) and not is_narrow([], 0.9)


@pytest.mark.parametrize("k", [0, 1])
def test_tasks_that_are_all_alike_leave_one_end_open(k: int) -> None:
    low, high = confidence_sequence([TaskShares(k, 1, 100)])
    assert (low == 0 and 0.03 < high < 0.06) if k == 0 else (high == 1 and 0.94 < low < 0.97)


def plug_in(values: np.ndarray, level: float = LEVEL) -> float:
    """The width of the predictable plug-in empirical Bernstein sequence (Waudby-Smith and Ramdas, eqs. 13 to 16)."""
    t = np.arange(1, len(values) + 1)
    limit = np.log(2 / (1 - level))
    means = (0.5 + np.cumsum(values)) / (t + 1)
    variances = (0.25 + np.cumsum((values - means) ** 2)) / (t + 1)
    before, spread = np.r_[0.5, means[:-1]], np.r_[0.25, variances[:-1]]
    bets = np.minimum(np.sqrt(2 * limit / (spread * t * np.log(t + 1))), 0.5)
    paid = (values - before) ** 2 * (-np.log(1 - bets) - bets)
    centre = (bets * values).sum() / bets.sum()
    half = (limit + paid.sum()) / bets.sum()
    return float(min(1, centre + half) - max(0, centre - half))


@pytest.mark.parametrize("n", [48, 100, 300, 1000, 2000])
@pytest.mark.parametrize("rate", [0.01, 0.03, 0.1, 0.2, 0.3])
def test_it_is_narrower_than_empirical_bernstein_and_within_twice_of_wilson(rate: float, n: int) -> None:
    k = round(rate * n)
    low, high = confidence_sequence([TaskShares(1, 1, k), TaskShares(0, 1, n - k)] if k else [TaskShares(0, 1, n)])
    rng = np.random.default_rng(n)
    bernstein = np.mean([plug_in(rng.permutation(np.r_[np.ones(k), np.zeros(n - k)])) for _ in range(20)])
    fixed = wilson(k, n, normal_quantile(0.975))
    assert high - low < 1.02 * bernstein
    assert high - low < 2 * (fixed.high - fixed.low)


def test_it_narrows_as_tasks_come() -> None:
    widths = [np.ptp(confidence_sequence([TaskShares(1, 6, n), TaskShares(0, 6, 3 * n)])) for n in (5, 20, 80, 320)]
    assert all(later < 0.75 * earlier for earlier, later in pairwise(widths))


def ever_left_out(values: np.ndarray, means: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Of each run (row): whether the interval left its mean out after any of its tasks."""
    limit = np.log(2 / (1 - level))
    left_out = np.zeros(len(values), bool)
    for seen, mean in ((values, means), (1 - values, 1 - means)):
        gains = seen / mean[:, None] - 1
        logs = np.stack([np.cumsum(np.log1p(bet * gains), axis=1) for bet in BETS])
        left_out |= (np.logaddexp.reduce(logs) - np.log(len(BETS)) >= limit).any(axis=1)
    return left_out


def bernoulli(rng: np.random.Generator, rate: float) -> tuple[np.ndarray, np.ndarray]:
    return (rng.random((RUNS, 500)) < rate).astype(float), np.full(RUNS, rate)


def fractional(rng: np.random.Generator, rate: float) -> tuple[np.ndarray, np.ndarray]:
    return rng.binomial(4, rate, (RUNS, 500)) / 4, np.full(RUNS, rate)


def clustered(rng: np.random.Generator, rate: float, tasks: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Tasks with rates of their own, and 1 to 6 pairs in both orders each."""
    rates = rng.beta(2 * rate, 2 * (1 - rate), (RUNS, tasks))
    calls = 2 * rng.integers(1, 7, (RUNS, tasks))
    return rng.binomial(calls, rates) / calls, np.full(RUNS, rate)


def from_pool(rng: np.random.Generator, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """All tasks of a pool of 48 in random order; the mean is that of the pool."""
    shares, _ = clustered(rng, rate, tasks=48)
    return rng.permuted(shares, axis=1), np.clip(shares.mean(axis=1), 1e-9, 1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("draw", [bernoulli, fractional, clustered, from_pool], ids=lambda draw: draw.__name__)
def test_looked_at_after_every_task_it_is_wrong_in_at_most_one_run_of_twenty(draw: Draw, rate: float) -> None:
    values, means = draw(np.random.default_rng(int(1000 * rate)), rate)
    assert ever_left_out(values, means).mean() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("aside", [-0.005, 0.005])
@pytest.mark.parametrize("draw", [bernoulli, clustered], ids=lambda draw: draw.__name__)
def test_a_threshold_close_by_is_decided_wrongly_in_at_most_one_run_of_twenty(
    draw: Draw, aside: float, rate: float
) -> None:
    values, _ = draw(np.random.default_rng(7), rate)
    threshold = rate + aside
    gains = (values if aside > 0 else 1 - values) / (threshold if aside > 0 else 1 - threshold) - 1
    logs = np.stack([np.cumsum(np.log1p(bet * gains), axis=1) for bet in BETS])
    wrongly = (np.logaddexp.reduce(logs) - np.log(len(BETS)) >= np.log(40)).any(axis=1)
    assert wrongly.mean() <= 0.05


@pytest.mark.slow
def test_the_simulation_sees_what_the_function_says() -> None:
    values, means = clustered(np.random.default_rng(3), 0.1, tasks=40)
    rounded = np.round(values * 60).astype(int)  # 2, 4, 6, 8, 10 or 12 calls; of 60ths all but those of 8 are whole
    for row in range(40):
        seen = [TaskShares(int(k), 60) for k in rounded[row]]
        by_function = any(leaves_out(seen[: n + 1], 0.1) for n in range(40))
        assert by_function == bool(ever_left_out(rounded[row : row + 1] / 60, means[row : row + 1])[0])

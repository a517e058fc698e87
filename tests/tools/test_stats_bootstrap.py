"""Resamples as weights, against copies of members that are counted one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from misjudge_tools.stats.bootstrap import (
    FEWEST_RESAMPLES,
    RESAMPLES,
    affordable,
    as_observed,
    percentile_interval,
    resamples,
    sample_variance,
    standard_error_of_mean,
)

numbers = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=60)


def copies(weights: list[int]) -> list[int]:
    return [member for member, weight in enumerate(weights) for _ in range(weight)]


@given(st.lists(st.integers(0, 4), min_size=2, max_size=9), st.integers(0, 2**36 - 1))
def test_pairs_of_a_resample_are_those_of_its_copies_without_a_members_own(clusters: list[int], bits: int) -> None:
    numbered = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters))}
    cluster_of = [numbered[cluster] for cluster in clusters]
    chosen = {pair for n, pair in enumerate(combinations(range(len(clusters)), 2)) if bits >> n & 1}
    rows = [sum(1 << j for i, j in chosen if i == member) for member in range(len(clusters))]
    drawn = resamples(cluster_of, 20)
    counted = [
        sum((min(a, b), max(a, b)) in chosen for a, b in combinations(copies(drawn.of(one)), 2) if a != b)
        for one in range(20)
    ]
    assert list(drawn.pairs(rows)) == counted
    assert list(as_observed(len(clusters)).pairs(rows)) == [len(chosen)]


def test_every_resample_draws_as_many_clusters_as_there_are_and_whole_ones() -> None:
    cluster_of = [0, 0, 1, 2, 2, 2]
    drawn = resamples(cluster_of, 500)
    for one in range(500):
        weights = drawn.of(one)
        by_cluster = {
            cluster: {w for c, w in zip(cluster_of, weights, strict=True) if c == cluster} for cluster in range(3)
        }
        assert all(len(found) == 1 for found in by_cluster.values())
        assert sum(found.pop() for found in by_cluster.values()) == 3


def test_resamples_are_the_same_again_and_others_with_another_seed() -> None:
    assert resamples([0, 1, 2, 3], 50) == resamples([0, 1, 2, 3], 50)
    assert resamples([0, 1, 2, 3], 50).weights != resamples([0, 1, 2, 3], 50, seed=1).weights


def test_a_cluster_is_drawn_once_on_average_and_as_evenly_as_by_chance() -> None:
    weights = np.array(resamples([*range(10)], 2000).weights)
    assert weights.mean() == 1
    assert weights.var() == pytest.approx(0.9, rel=0.05)


@pytest.mark.parametrize(("members", "times"), [(8, 2000), (200, 2000), (400, 1000), (1000, 400), (10_000, 200)])
def test_fewer_resamples_are_taken_of_very_many_members(members: int, times: int) -> None:
    assert affordable(members) == times
    assert FEWEST_RESAMPLES <= times <= RESAMPLES


@given(numbers)
def test_variance_and_standard_error_are_numpys_and_scipys(values: list[float]) -> None:
    assert sample_variance(values) == pytest.approx(np.var(values, ddof=1), rel=1e-9, abs=1e-9)
    total, squares = sum(values), sum(value * value for value in values)
    assert standard_error_of_mean(len(values), total, squares) == pytest.approx(
        scipy.stats.sem(values), rel=1e-6, abs=1e-4
    )


def test_a_single_value_has_no_variance() -> None:
    assert sample_variance([3.0]) == 0


@given(numbers, st.sampled_from([0.5, 0.9, 0.95]))
def test_percentiles_are_numpys(values: list[float], level: float) -> None:
    expected = np.percentile(values, [50 * (1 - level), 50 * (1 + level)])
    assert percentile_interval(values, level) == pytest.approx(tuple(expected), abs=1e-9)

"""The linearised variance between clusters: exact on whole numbers, and the one that all rates rest on."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_tools.stats.exact import effective
from misjudge_tools.stats.linearised import between_clusters
from misjudge_tools.stats.probes import Differences, paired_effect, paired_sums
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate
from task_sums import moments_of

TALLIES = st.lists(st.builds(lambda k, n: Tally(min(k, n), n), st.integers(0, 9), st.integers(1, 9)), min_size=2)


@given(TALLIES)
def test_the_variance_of_a_ratio_is_that_of_its_residuals(tallies: list[Tally]) -> None:
    sums = cluster_sums(tallies)
    share = Fraction(sums.k, sums.n)
    squares = sum((k - share * n) ** 2 for k, n in tallies)
    expected = Fraction(len(tallies), len(tallies) - 1) * squares / sums.n**2
    found = between_clusters(sums.clusters, (sums.n, -sums.k), (sums.kk, sums.kn, sums.nn)) / sums.n**4
    assert found == pytest.approx(float(expected), rel=1e-14, abs=0)


def test_clusters_that_are_alike_show_no_variance_however_many_there_are() -> None:
    sums = cluster_sums([Tally(333_333, 1_000_003)] * 12_345)
    assert between_clusters(sums.clusters, (sums.n, -sums.k), (sums.kk, sums.kn, sums.nn)) == 0


def test_slopes_and_products_of_any_number_of_counts_are_taken_row_by_row() -> None:
    draw = np.random.default_rng(4)
    counts, slopes = draw.integers(1, 9, (30, 5)), draw.normal(size=5)
    expected = 30 / 29 * ((counts @ slopes) ** 2).sum()
    found = between_clusters(30, slopes.tolist(), moments_of(counts.tolist()).products)
    assert found == pytest.approx(expected)


def test_the_variance_is_that_of_leaving_out_one_cluster_at_a_time() -> None:
    draw = Random(11)
    tallies = [Tally(draw.randint(0, n), n) for n in (draw.randint(3, 6) for _ in range(400))]
    whole = cluster_sums(tallies)
    left_out = [(whole.k - k) / (whole.n - n) for k, n in tallies]
    jackknife = 399 / 400 * sum((share - np.mean(left_out)) ** 2 for share in left_out)
    found = between_clusters(whole.clusters, (whole.n, -whole.k), (whole.kk, whole.kn, whole.nn)) / whole.n**4
    assert found == pytest.approx(jackknife, rel=0.01)


@given(TALLIES)
def test_a_rate_and_a_mean_difference_rest_on_the_same_effective_number(tallies: list[Tally]) -> None:
    sums = cluster_sums(tallies)
    share = sums.k / sums.n
    if 0 < sums.k < sums.n:
        between = between_clusters(sums.clusters, (sums.n, -sums.k), (sums.kk, sums.kn, sums.nn)) / sums.n**4
        assert effective(sums).n == pytest.approx(min(sums.n, share * (1 - share) / between) if between else sums.n)
    rate = clustered_rate(sums)
    assert rate.rate == pytest.approx(share)
    effect = paired_effect(paired_sums([Differences(n, float(k), float(k)) for k, n in tallies]))
    assert effect.value == pytest.approx(share)

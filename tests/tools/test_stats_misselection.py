from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from misjudge_tools.stats.misselection import misselection
from misjudge_tools.stats.rates import NONE, Tally, cluster_sums, clustered_rate, independent


def test_the_two_rates_stand_together_with_coverage_and_the_all_pairs_rate() -> None:
    calls = cluster_sums([Tally(2, 4), Tally(0, 4), Tally(1, 2)])
    decided = cluster_sums([Tally(1, 2), Tally(0, 2)])
    result = misselection(calls, decided, decidable=5, pairs=8)
    assert (result.rate, result.k, result.n) == (0.3, 3, 10)
    assert (result.decided.rate, result.decided.k, result.decided.n) == (0.25, 1, 4)
    assert result.decided.coverage == 0.8
    assert result.all_pairs_rate == 0.125


def test_each_rate_has_the_interval_of_its_own_clusters() -> None:
    calls, decided = cluster_sums([Tally(2, 4), Tally(0, 4)]), independent(1, 4)
    result = misselection(calls, decided, decidable=4, pairs=4, level=0.9)
    single, pairwise = clustered_rate(calls, 0.9), clustered_rate(decided, 0.9)
    assert (result.low, result.high) == (single.low, single.high)
    assert (result.decided.low, result.decided.high) == (pairwise.low, pairwise.high)


def test_an_always_a_judge_is_half_wrong_though_it_decides_nothing() -> None:
    """Both orders of each of 20 pairs: right in one, wrong in the other, so every reduced verdict is inconsistent."""
    result = misselection(cluster_sums([Tally(1, 2)] * 20), NONE, decidable=20, pairs=20)
    assert result.rate == 0.5
    assert result.decided.rate is None
    assert result.decided.coverage == 0
    assert result.all_pairs_rate == 0


def test_without_pairs_every_share_is_none() -> None:
    result = misselection(NONE, NONE, decidable=0, pairs=0)
    assert (result.rate, result.low, result.high) == (None, None, None)
    assert result.decided.coverage is None
    assert result.all_pairs_rate is None


def test_pairs_without_gold_give_an_all_pairs_rate_of_0_but_no_misselection() -> None:
    result = misselection(NONE, NONE, decidable=0, pairs=7)
    assert result.rate is None
    assert result.all_pairs_rate == 0


def test_the_field_names_are_those_of_the_summary() -> None:
    dumped = misselection(independent(1, 2), independent(1, 2), decidable=2, pairs=2).model_dump()
    assert list(dumped) == ["rate", "k", "n", "low", "high", "decided", "all_pairs_rate", "interval"]
    assert list(dumped["decided"]) == ["rate", "k", "n", "low", "high", "coverage"]


def test_more_decided_than_decidable_pairs_is_refused() -> None:
    with pytest.raises(ValidationError):
        misselection(NONE, independent(1, 5), decidable=4, pairs=5)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_undecided_and_undecidable_pairs_change_only_the_shares_they_belong_to(
    wrong: int, right: int, undecided: int, undecidable: int
) -> None:
    decided = independent(wrong, wrong + right)
    decidable = wrong + right + undecided
    lean = misselection(NONE, decided, decidable=wrong + right, pairs=wrong + right)
    full = misselection(NONE, decided, decidable=decidable, pairs=decidable + undecidable)
    assert full.decided.model_copy(update={"coverage": None}) == lean.decided.model_copy(update={"coverage": None})
    assert (full.all_pairs_rate or 0) <= (full.decided.rate or 0)

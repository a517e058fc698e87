"""What a gate answers, and what it says is still needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from misjudge_tools.stats.gates import EXIT_CODES, outcome, still_needed
from misjudge_tools.stats.power import smallest_passing
from misjudge_tools.stats.rates import Rate, Tally, cluster_sums, clustered_rate, independent, plain_rate

LIMITS = st.sampled_from([0.01, 0.02, 0.05, 0.1, 0.2, 0.5])


def seen(low: float, high: float) -> Rate:
    return Rate(rate=(low + high) / 2, k=1, n=10, low=low, high=high)


@pytest.mark.parametrize(
    ("low", "high", "coverage", "answer"),
    [
        (0.0, 0.05, 1.0, "pass"),
        (0.0, 0.0501, 1.0, "inconclusive"),
        (0.05, 0.2, 1.0, "inconclusive"),
        (0.0501, 0.2, 1.0, "fail"),
        (0.0501, 0.2, 0.1, "fail"),
        (0.0, 0.04, 0.89, "coverage"),
        (0.0, 0.2, 0.89, "coverage"),
        (0.0, 0.04, 0.9, "pass"),
    ],
)
def test_a_fail_comes_before_too_low_a_coverage_and_that_before_a_pass(
    low: float, high: float, coverage: float, answer: str
) -> None:
    assert outcome(seen(low, high), coverage, 0.05, 0.9) == answer


def test_being_worse_than_the_baseline_fails_whatever_the_rate_is() -> None:
    assert outcome(seen(0, 0.01), 1.0, 0.05, 0.9, worse=True) == "fail"


def test_what_was_not_seen_neither_passes_nor_fails() -> None:
    assert outcome(plain_rate(0, 0), None, 0.05, 0.9) == "inconclusive"


def test_every_answer_has_an_exit_code_of_its_own_and_none_is_that_of_wrong_usage() -> None:
    assert EXIT_CODES == {"pass": 0, "fail": 1, "inconclusive": 3, "coverage": 4}


@given(LIMITS)
def test_the_smallest_number_that_passes_without_an_error_is_the_first_one(limit: float) -> None:
    n = smallest_passing(limit)
    answers = [clustered_rate(independent(0, number)) for number in (n - 1, n)]
    assert [outcome(rate, 1.0, limit, 0.9) for rate in answers] == ["inconclusive", "pass"]
    assert (
        proportion_confint(0, n, 0.05, method="wilson")[1]
        <= limit
        < proportion_confint(0, n - 1, 0.05, method="wilson")[1]
    )


def test_it_takes_73_pairs_without_an_error_to_pass_at_5_percent() -> None:
    assert smallest_passing(0.05) == 73
    of_four = clustered_rate(cluster_sums([Tally(0, 4)] * 72))
    assert still_needed(of_four, 288, 0.05) == 4, "one more task of four pairs"


@given(st.integers(1, 30), st.integers(40, 400), st.sampled_from([0.02, 0.05, 0.1]))
def test_as_many_pairs_as_are_said_to_be_needed_settle_it_and_a_fifth_fewer_do_not(
    k: int, n: int, limit: float
) -> None:
    rate = plain_rate(k, n)
    if outcome(rate, 1.0, limit, 0.9) != "inconclusive" or abs(k / n - limit) < 1e-3:
        return
    more = still_needed(rate, n, limit)
    assert more is not None and more > 0

    def after(pairs: int) -> str:
        # The rate stays as it is, so that errors may be fractions.
        low, high = proportion_confint(k / n * pairs, pairs, 0.05, method="wilson")
        return outcome(Rate(rate=k / n, k=k, n=n, low=low, high=high), 1.0, limit, 0.9)

    assert after(n + more) == ("pass" if k / n < limit else "fail")
    assert after(n + more - 1) == "inconclusive"


def test_what_is_needed_counts_pairs_of_the_design_effect_that_they_have() -> None:
    together = clustered_rate(cluster_sums([Tally(2, 2)] + [Tally(0, 2)] * 49))
    alone, clustered = still_needed(plain_rate(2, 100), 100, 0.05), still_needed(together, 100, 0.05)
    assert alone is not None and clustered is not None and clustered > 1.9 * alone


def test_no_number_tells_a_rate_from_a_limit_that_it_is_at() -> None:
    assert still_needed(plain_rate(5, 100), 100, 0.05) is None
    assert still_needed(plain_rate(50_001, 1_000_000), 1_000_000, 0.05) is None


def test_nothing_seen_needs_as_much_as_the_least_that_passes() -> None:
    assert still_needed(plain_rate(0, 0), 0, 0.05) == 73
    assert still_needed(clustered_rate(cluster_sums([Tally(0, 9)])), 9, 0.05) == 73

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_tools.stats.consistency import Consistency, ConsistencySums, consistency
from misjudge_tools.stats.rates import Rate, Tally, cluster_sums, clustered_rate, independent


def test_each_rate_is_the_clustered_rate_of_its_own_counts() -> None:
    flips, soft = cluster_sums([Tally(1, 4), Tally(0, 2)]), independent(2, 6)
    agreements, letters, votes = independent(3, 6), independent(9, 12), independent(4, 7)
    result = consistency(
        ConsistencySums(flips=flips, soft_flips=soft, agreements=agreements, letter_a=letters, votes=votes), level=0.9
    )
    assert result.flip_rate == clustered_rate(flips, 0.9)
    assert result.soft_flip_rate == clustered_rate(soft, 0.9)
    assert result.agreement == clustered_rate(agreements, 0.9)
    assert result.letter_a_share == clustered_rate(letters, 0.9)
    assert result.vote_accuracy == clustered_rate(votes, 0.9)


def test_accuracy_is_the_mean_of_the_two_orders() -> None:
    sums = ConsistencySums(right=independent(16, 24), right_ab=Tally(8, 8), right_ba=Tally(8, 16))
    accuracy = consistency(sums).accuracy
    assert accuracy.rate == 0.75
    assert (accuracy.k, accuracy.n) == (16, 24)
    assert accuracy.low is not None and accuracy.high is not None
    assert accuracy.low < 0.75 < accuracy.high


def test_accuracy_of_one_order_is_the_accuracy_of_that_order() -> None:
    right = independent(3, 4)
    for sums in (
        ConsistencySums(right=right, right_ab=Tally(3, 4)),
        ConsistencySums(right=right, right_ba=Tally(3, 4)),
    ):
        assert consistency(sums).accuracy == clustered_rate(right)


def test_a_constant_answer_shows_as_half_right_and_always_flipped() -> None:
    pairs = 30
    result = consistency(
        ConsistencySums(
            flips=independent(pairs, pairs),
            right=cluster_sums([Tally(1, 2)] * pairs),
            right_ab=Tally(12, pairs),
            right_ba=Tally(18, pairs),
            letter_a=cluster_sums([Tally(2, 2)] * pairs),
        )
    )
    assert result.accuracy.rate == pytest.approx(0.5)
    assert result.flip_rate.rate == 1
    assert result.letter_a_share.rate == 1


def test_nothing_to_count_is_none_throughout() -> None:
    nothing = Rate(rate=None, k=0, n=0, low=None, high=None)
    assert consistency(ConsistencySums()) == Consistency(
        flip_rate=nothing,
        soft_flip_rate=nothing,
        letter_a_share=nothing,
        accuracy=nothing,
        agreement=nothing,
        vote_accuracy=nothing,
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=40))
def test_with_as_many_calls_in_either_order_accuracy_is_the_plain_share(tasks: list[tuple[int, int]]) -> None:
    """Two pairs a task, both orders of each: `tasks` holds the right calls of each order."""
    ab, ba = sum(a for a, _ in tasks), sum(b for _, b in tasks)
    right = cluster_sums(Tally(a + b, 4) for a, b in tasks)
    calls = 2 * len(tasks)
    accuracy = consistency(ConsistencySums(right=right, right_ab=Tally(ab, calls), right_ba=Tally(ba, calls))).accuracy
    expected = clustered_rate(right)
    assert accuracy.rate == pytest.approx(expected.rate)
    assert accuracy.low == pytest.approx(expected.low)
    assert accuracy.high == pytest.approx(expected.high)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 40))
def test_relabelling_the_orders_changes_nothing(ab: int, ba: int, n: int) -> None:
    ab, ba = min(ab, n), min(ba, n)
    sums = ConsistencySums(right=independent(ab + ba, 2 * n), right_ab=Tally(ab, n), right_ba=Tally(ba, n))
    assert consistency(sums) == consistency(sums._replace(right_ab=sums.right_ba, right_ba=sums.right_ab))

"""Replies that are missing more often in one arm: the test takes what is lost of one task together as one loss."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from scipy.stats import binomtest

from misjudge_storage.missing_counts import MissingReplies
from misjudge_storage.summary_values import GroupCounts, Sums
from misjudge_tools.stats.rates import Tally, cluster_sums
from misjudge_tools.summary.deciding.missing_arms import missing_arms

PAIRS = 6
"""Pairs of a task, each asked in both orders."""


def group(lost: Sequence[int]) -> GroupCounts:
    """Of tasks that lost so many calls each."""
    pairs = PAIRS * len(lost)
    unread = Sums(*cluster_sums(Tally(number, 2 * PAIRS) for number in lost))
    return GroupCounts(
        **dict.fromkeys(GroupCounts._fields[:-1], 0) | {"pairs": pairs, "decidable": pairs}, measures={"unread": unread}
    )


def replies(ab: Sequence[int], ba: Sequence[int]) -> MissingReplies:
    """Calls of pairs of two agents that are lost in one order only, by task."""
    pairs = PAIRS * len(ab)
    return MissingReplies("j", "x", "y", 2 * pairs, sum(ab) + sum(ba), pairs, sum(ab), sum(ba), 0, pairs, 0)


def p_of_orders(ab: Sequence[int], ba: Sequence[int]) -> float | None:
    lost = [a + b for a, b in zip(ab, ba, strict=True)]
    return missing_arms([replies(ab, ba)], "j", group(lost))[0].p_adjusted


def test_of_one_loss_a_task_it_is_the_exact_test_on_pairs() -> None:
    ab, ba = [1] * 9 + [0] * 31, [0] * 38 + [1] * 2
    assert p_of_orders(ab, ba) == pytest.approx(binomtest(9, 11, 0.5).pvalue)


def test_losses_of_one_task_count_as_little_as_they_may_say() -> None:
    apart = p_of_orders([1] * 12 + [0] * 28, [0] * 40)
    together = p_of_orders([6, 6] + [0] * 38, [0] * 40)
    assert apart is not None and apart < 0.001
    assert together is not None and together > 0.3


def test_of_a_single_task_nothing_is_told() -> None:
    assert [arm.p_adjusted for arm in missing_arms([replies([6], [0])], "j", group([6]))] == [None] * 4


def test_where_no_order_loses_more_hardly_any_is_said_to() -> None:
    draw, alarms = Random(3), 0
    for _ in range(2000):
        sides = [draw.choice(("AB", "BA", None)) if draw.random() < 0.3 else None for _ in range(60)]
        lost = [draw.randint(3, PAIRS) for _ in sides]
        ab, ba = (
            [number if side == order else 0 for number, side in zip(lost, sides, strict=True)] for order in ("AB", "BA")
        )
        p = p_of_orders(ab, ba) if any(ab) or any(ba) else None
        alarms += p is not None and p <= 0.05
    assert alarms / 2000 <= 0.065

"""What the judge does when the two sides change places."""

from __future__ import annotations

from typing import NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.stats.rates import LEVEL, NONE, ClusterSums, Rate, Tally, clustered_rate, pooled_interval


class ConsistencySums(NamedTuple):
    """What to count; clusters are tasks, verdicts are un-swapped.

    flips         pairs with A in one order and B in the other, of pairs with both orders scored
    soft_flips    pairs with A or B in one order and a tie in the other, of the same
    agreements    pairs with the same verdict in both orders, of the same
    letter_a      replies that named the side shown first, of replies that named a side
    right         right calls, of scored calls of decidable pairs, both orders together
    right_ab      the same calls in the order AB, without clusters
    right_ba      the same calls in the order BA
    votes         pairs with more right than wrong calls, of all pairs with gold A or B: each order gives +1
                  when right, −1 when wrong, 0 when tied or unscored, and a sum above 0 is a right vote
    """

    flips: ClusterSums = NONE
    soft_flips: ClusterSums = NONE
    agreements: ClusterSums = NONE
    letter_a: ClusterSums = NONE
    right: ClusterSums = NONE
    right_ab: Tally = Tally(0, 0)
    right_ba: Tally = Tally(0, 0)
    votes: ClusterSums = NONE


class Consistency(Value):
    """Read `accuracy` and `flip_rate` together: accuracy .50 with flip rate 1.00 is a constant answer.

    `accuracy` is LLMBar's (arXiv 2310.07641): the mean of the two orders' accuracies, or the accuracy of
    the one order that was asked; its k and n are those of both orders together. `agreement` is LLMBar's
    too, `vote_accuracy` JudgeBench's (arXiv 2410.12784). A `letter_a_share` of one half is no position bias.
    """

    flip_rate: Rate
    soft_flip_rate: Rate
    letter_a_share: Rate
    accuracy: Rate
    agreement: Rate
    vote_accuracy: Rate


def consistency(sums: ConsistencySums, level: float = LEVEL) -> Consistency:
    """The consistency of one judge on one group of pairs."""
    return Consistency(
        flip_rate=clustered_rate(sums.flips, level),
        soft_flip_rate=clustered_rate(sums.soft_flips, level),
        letter_a_share=clustered_rate(sums.letter_a, level),
        accuracy=_mean_accuracy(sums, level),
        agreement=clustered_rate(sums.agreements, level),
        vote_accuracy=clustered_rate(sums.votes, level),
    )


def _mean_accuracy(sums: ConsistencySums, level: float) -> Rate:
    orders = [order.k / order.n for order in (sums.right_ab, sums.right_ba) if order.n]
    if not orders:
        return clustered_rate(NONE)
    mean = sum(orders) / len(orders)
    low, high = pooled_interval(mean, sums.right, level)
    return Rate(rate=mean, k=sums.right.k, n=sums.right.n, low=low, high=high)

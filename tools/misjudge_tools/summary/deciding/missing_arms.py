"""Replies that are missing more often in one arm than in another: what is left is then no fair sample. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import NormalDist

from misjudge_storage.missing_counts import MissingReplies
from misjudge_storage.summary_values import GroupCounts
from misjudge_tools.stats.exact import design_effect
from misjudge_tools.stats.multiplicity import adjusted
from misjudge_tools.stats.rates import ClusterSums, Tally
from misjudge_tools.stats.sign_tests import unequally_often
from misjudge_tools.summary.deciding.headline_values import MissingArm

MOST_AGENTS = 20
"""Agents that have a row: those whose replies are missing most often."""


def missing_arms(counts: Sequence[MissingReplies], judge_id: str, group: GroupCounts) -> tuple[MissingArm, ...]:
    """The two orders, then agents, the most often missing first; none where every reply could be read.

    Orders are told apart by the exact sign test on pairs of which just one call is missing (McNemar), agents from all
    others by the difference of two shares, on as many effective calls as the missing ones of a task allow.
    """
    mine = [row for row in counts if row.judge_id == judge_id]
    if not any(row.unscored for row in mine):
        return ()
    orders, agents = list(_orders(mine)), list(_agents(mine, ClusterSums(*group.measures["unread"])))
    told = _adjusted([*orders, *agents])
    most = sorted(told[len(orders) :], key=lambda arm: (-arm.share, arm.arm))[:MOST_AGENTS]
    return (*told[: len(orders)], *most)


def _adjusted(arms: Sequence[MissingArm]) -> list[MissingArm]:
    among_all = adjusted(arm.p_adjusted for arm in arms)
    return [
        arm if arm.p_adjusted is None else arm.model_copy(update={"p_adjusted": among_all[arm.p_adjusted]})
        for arm in arms
    ]


def _orders(rows: Sequence[MissingReplies]) -> Iterator[MissingArm]:
    both = sum(row.both for row in rows)
    if not both:
        return
    lost = {"order AB": sum(row.lost_ab for row in rows), "order BA": sum(row.lost_ba for row in rows)}
    in_both = sum(row.lost_both for row in rows)
    p = unequally_often(*(number - in_both for number in lost.values()))
    for arm, number in lost.items():
        yield MissingArm(arm=arm, calls=both, unscored=number, share=number / both, p_adjusted=p)


def _agents(rows: Sequence[MissingReplies], unread: ClusterSums) -> Iterator[MissingArm]:
    whole = Tally(sum(row.unscored for row in rows), sum(row.calls for row in rows))
    effect = design_effect(unread) if unread.clusters > 1 and 0 < unread.k < unread.n else 1.0
    for name in _names(rows):
        of = [row for row in rows if name in (row.agent_a, row.agent_b)]
        mine = Tally(sum(row.unscored for row in of), sum(row.calls for row in of))
        p = _unlike(mine, Tally(whole.k - mine.k, whole.n - mine.n), effect)
        yield MissingArm(arm=f"agent {name}", calls=mine.n, unscored=mine.k, share=mine.k / mine.n, p_adjusted=p)


def _names(rows: Sequence[MissingReplies]) -> list[str]:
    return sorted({name for row in rows if row.calls for name in (row.agent_a, row.agent_b)})


def _unlike(one: Tally, others: Tally, effect: float) -> float | None:
    """Two-sided p of equal shares, by the pooled normal test on effective numbers; None where it cannot be told."""
    pooled = (one.k + others.k) / (one.n + others.n)
    if not others.n or not one.n or not 0 < pooled < 1:
        return None
    spread = sqrt(pooled * (1 - pooled) * effect * (1 / one.n + 1 / others.n))
    return min(1.0, 2 * (1 - NormalDist().cdf(abs(one.k / one.n - others.k / others.n) / spread)))

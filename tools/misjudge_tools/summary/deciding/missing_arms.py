"""Replies that are missing more often in one arm than in another: what is left is then no fair sample. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from misjudge_storage.missing_counts import MissingReplies
from misjudge_storage.summary_values import GroupCounts
from misjudge_tools.stats.exact import design_effect
from misjudge_tools.stats.multiplicity import adjusted
from misjudge_tools.stats.rates import ClusterSums, Tally
from misjudge_tools.stats.sign_tests import unequally_often
from misjudge_tools.summary.deciding.headline_values import MissingArm

MOST_AGENTS = 20
"""Agents that have a row: those whose replies are missing most often."""


class _Arm(NamedTuple):
    """`calls` of an arm, the unscored ones counted, and the p-value of their share, which is adjusted for none."""

    name: str
    calls: Tally
    p: float | None


def missing_arms(counts: Sequence[MissingReplies], judge_id: str, group: GroupCounts) -> tuple[MissingArm, ...]:
    """The two orders, then agents, the most often missing first; none where every reply could be read.

    Orders are told apart by the sign test on pairs of which just one call is missing (McNemar), agents from all others
    by the difference of two shares. Both take as many effective numbers as the missing calls of a task allow, that is
    as if those of one task were all of one arm when they come together; of a single task nothing is told.
    """
    mine = [row for row in counts if row.judge_id == judge_id]
    if not any(row.unscored for row in mine):
        return ()
    effect = _effect(ClusterSums(*group.measures["unread"]))
    orders, agents = list(_orders(mine, effect)), list(_agents(mine, effect))
    told = _adjusted([*orders, *agents])
    most = sorted(told[len(orders) :], key=lambda arm: (-arm.share, arm.arm))[:MOST_AGENTS]
    return (*told[: len(orders)], *most)


def _effect(unread: ClusterSums) -> float | None:
    """The design effect of the missing calls over tasks; None for a single task, which says nothing of others."""
    if unread.clusters < 2:
        return None
    return design_effect(unread) if 0 < unread.k < unread.n else 1.0


def _adjusted(arms: Sequence[_Arm]) -> list[MissingArm]:
    among_all = adjusted(arm.p for arm in arms)
    return [
        MissingArm(
            arm=name,
            calls=calls.n,
            unscored=calls.k,
            share=calls.k / calls.n,
            p_adjusted=None if p is None else among_all[p],
        )
        for name, calls, p in arms
    ]


def _orders(rows: Sequence[MissingReplies], effect: float | None) -> Iterator[_Arm]:
    both = sum(row.both for row in rows)
    if not both:
        return
    lost = {"order AB": sum(row.lost_ab for row in rows), "order BA": sum(row.lost_ba for row in rows)}
    in_both = sum(row.lost_both for row in rows)
    p = None if effect is None else unequally_often(*((number - in_both) / effect for number in lost.values()))
    for name, number in lost.items():
        yield _Arm(name, Tally(number, both), p)


def _agents(rows: Sequence[MissingReplies], effect: float | None) -> Iterator[_Arm]:
    whole = Tally(sum(row.unscored for row in rows), sum(row.calls for row in rows))
    for name in _names(rows):
        of = [row for row in rows if name in (row.agent_a, row.agent_b)]
        mine = Tally(sum(row.unscored for row in of), sum(row.calls for row in of))
        others = Tally(whole.k - mine.k, whole.n - mine.n)
        yield _Arm(f"agent {name}", mine, None if effect is None else _unlike(mine, others, effect))


def _names(rows: Sequence[MissingReplies]) -> list[str]:
    return sorted({name for row in rows if row.calls for name in (row.agent_a, row.agent_b)})


def _unlike(one: Tally, others: Tally, effect: float) -> float | None:
    """Two-sided p of equal shares, by the pooled normal test on effective numbers; None where it cannot be told."""
    pooled = (one.k + others.k) / (one.n + others.n)
    if not others.n or not one.n or not 0 < pooled < 1:
        return None
    spread = sqrt(pooled * (1 - pooled) * effect * (1 / one.n + 1 / others.n))
    return min(1.0, 2 * (1 - NormalDist().cdf(abs(one.k / one.n - others.k / others.n) / spread)))

"""Does a gate rank agents as their rewards do?

These are rates over pairs of *agents*. They say nothing of single tasks and must not stand beside an
item-level rate without saying so. Pairs that share an agent are not independent, so no binomial interval
applies and none is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Value
from misjudge_tools.stats.correlation import Point, spearman
from misjudge_tools.stats.rates import Count, NoData, Share

FEWEST_AGENTS = 3
NEAR_CUT = 0.1
GAP_DECIMALS = 9
"""Means and gaps are compared after rounding, so that 0.4 − 0.3 is not less than 0.1."""


class AgentScore(NamedTuple):
    """One agent: mean reward R, mean gate score G, its stated rank (1 = best) and the model that it runs on."""

    agent: str
    reward: float
    gate: float
    order_rank: float | None = None
    base_model: str | None = None


class Disagreement(Value):
    """Agent pairs in which the gate puts the strictly worse agent first, of all pairs in this range of gaps."""

    rate: Share | None
    k: Count
    n: Count


class Ranking(Value):
    """How a gate ranks agents (GAUGE, arXiv 2609.12191).

    `spearman` is ρ(G, R), +1 for perfect agreement, against the stated ranks (`order_rank`) when every agent
    has one. `near` holds the agent pairs with |ΔR| < `cut`, `wide` the others. `reward_ties` pairs have equal
    rewards and no stated order, and are left out of both; `gate_ties` pairs have equal gate scores, and count
    in n as no disagreement.
    """

    agents: Count
    spearman: float | None
    against: Literal["order_rank", "reward"]
    cut: float
    near: Disagreement
    wide: Disagreement
    reward_ties: Count
    gate_ties: Count


def ranking(
    scores: Sequence[AgentScore], gate_better: Literal["higher", "lower"] = "higher", cut: float = NEAR_CUT
) -> Ranking | NoData:
    """Ranking validity and decision disagreement of a gate, from one row per agent."""
    if not cut > 0:
        raise InvalidInput(f"The cut {cut:g} between near and wide agents must be above 0; the usual one is 0.1.")
    if len(scores) < FEWEST_AGENTS:
        return NoData(
            why=f"Ranking needs at least {FEWEST_AGENTS} agents with a reward and a gate score, not {len(scores)}."
        )
    sign = 1 if gate_better == "higher" else -1
    pairs = Counter(_compare(a, b, sign, cut) for a, b in combinations(scores, 2))
    by_rank = all(score.order_rank is not None for score in scores)
    return Ranking(
        agents=len(scores),
        spearman=spearman([Point(round(sign * score.gate, GAP_DECIMALS), _merit(score, by_rank)) for score in scores]),
        against="order_rank" if by_rank else "reward",
        cut=cut,
        near=_disagreement(pairs, "near"),
        wide=_disagreement(pairs, "wide"),
        reward_ties=sum(number for pair, number in pairs.items() if pair.truth == 0),
        gate_ties=sum(number for pair, number in pairs.items() if pair.truth != 0 and pair.gate == 0),
    )


class _Compared(NamedTuple):
    """Which of two agents is better in truth and by the gate: 1 the first, −1 the second, 0 neither."""

    range: Literal["near", "wide"]
    truth: int
    gate: int


def _compare(a: AgentScore, b: AgentScore, sign: int, cut: float) -> _Compared:
    gap = round(a.reward - b.reward, GAP_DECIMALS)
    truth = _direction(gap)
    if truth == 0 and a.order_rank is not None and b.order_rank is not None:
        truth = _direction(b.order_rank - a.order_rank)
    gate = _direction(round(sign * (a.gate - b.gate), GAP_DECIMALS))
    return _Compared("near" if abs(gap) < cut else "wide", truth, gate)


def _direction(difference: float) -> int:
    return (difference > 0) - (difference < 0)


def _merit(score: AgentScore, by_rank: bool) -> float:
    return -score.order_rank if by_rank and score.order_rank is not None else round(score.reward, GAP_DECIMALS)


def _disagreement(pairs: Counter[_Compared], of_range: Literal["near", "wide"]) -> Disagreement:
    ordered = {pair: number for pair, number in pairs.items() if pair.range == of_range and pair.truth != 0}
    n = sum(ordered.values())
    k = sum(number for pair, number in ordered.items() if pair.gate == -pair.truth)
    return Disagreement(rate=k / n if n else None, k=k, n=n)

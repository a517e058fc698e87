"""Every two agents, compared by reward and by gate: what a ranking counts, as sets of pairs that can be resampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import hypot, sqrt
from typing import Literal, NamedTuple

from misjudge_tools.stats.bootstrap import PairRows, Resamples, standard_error_of_mean
from misjudge_tools.stats.distributions import normal_quantile
from misjudge_tools.stats.rates import LEVEL, Tally

GAP_DECIMALS = 9
"""Means and gaps are compared after rounding, so that 0.4 − 0.3 is not less than 0.1."""
NOISE_Z = normal_quantile((1 + LEVEL) / 2)
"""Standard errors within which a difference of gate scores is noise."""

Better = Literal["higher", "lower"]
Scope = Literal["all", "same", "different", "decided"]
"""All agent pairs; those on the same or on different base models; those whose gate scores differ beyond noise."""


class GateNoise(NamedTuple):
    """An agent's gate scores by task: the number of tasks, the sum of their means, and that of the squares of these."""

    tasks: int
    total: float
    squares: float


class AgentScore(NamedTuple):
    """One agent: mean reward R, mean gate score G, its stated rank (1 = best), the model that it runs on, its noise."""

    agent: str
    reward: float
    gate: float
    order_rank: float | None = None
    base_model: str | None = None
    noise: GateNoise | None = None


class Comparison(NamedTuple):
    """How agents are compared: which gate is better, near and wide at which cuts (`main` is the one that is used for
    scopes), and what stretches the noise of a difference.
    """

    better: Better
    cuts: Sequence[float]
    main: float
    stretch: float = 1


class Cell(NamedTuple):
    """The agent pairs of a scope on one side of a cut."""

    scope: Scope
    cut: float
    near: bool


class _Kind(NamedTuple):
    """A set of ordered agent pairs: below the cut (None: all), only the wrongly ordered ones or all."""

    scope: Scope
    cut: float | None
    wrong: bool


class AgentPairs(NamedTuple):
    """The sets to count, and how many pairs the reward or the gate leaves in no order."""

    sets: Mapping[_Kind, PairRows]
    reward_ties: int
    gate_ties: int


def agent_pairs(scores: Sequence[AgentScore], how: Comparison) -> AgentPairs:
    """Compare every two agents, in their order here. `decided` pairs are there where every agent's noise is known."""
    noise = _noise(scores)
    rows: dict[_Kind, list[int]] = {kind: [0] * len(scores) for kind in _kinds(how, noise is not None)}
    ties = {"reward": 0, "gate": 0}
    for i, j in combinations(range(len(scores)), 2):
        found = _compare(scores[i], scores[j], how.better)
        if found.truth == 0:
            ties["reward"] += 1
            continue
        ties["gate"] += found.gate == 0
        scopes = _scopes(scores[i], scores[j], None if noise is None else how.stretch * hypot(noise[i], noise[j]))
        for kind in rows:
            if kind.scope in scopes and _holds(kind, found):
                rows[kind][i] |= 1 << j
    return AgentPairs(rows, ties["reward"], ties["gate"])


def tallies(pairs: AgentPairs, drawn: Resamples, how: Comparison) -> dict[Cell, list[Tally]]:
    """By cell, and then by resample: the wrongly ordered ones of all ordered agent pairs."""
    counts = {kind: drawn.pairs(rows) for kind, rows in pairs.sets.items()}
    found: dict[Cell, list[Tally]] = {}
    for kind in counts:
        if kind.cut is not None and not kind.wrong:
            near, whole = _tallies(counts, kind), _tallies(counts, kind._replace(cut=None))
            found[Cell(kind.scope, kind.cut, near=True)] = near
            found[Cell(kind.scope, kind.cut, near=False)] = _without(whole, near)
    for side in (True, False):
        rest = _without(found[Cell("all", how.main, side)], found[Cell("same", how.main, side)])
        found[Cell("different", how.main, side)] = rest
    return found


def _tallies(counts: Mapping[_Kind, Sequence[int]], kind: _Kind) -> list[Tally]:
    return [*map(Tally, counts[kind._replace(wrong=True)], counts[kind])]


def _without(whole: Sequence[Tally], part: Sequence[Tally]) -> list[Tally]:
    return [Tally(a.k - b.k, a.n - b.n) for a, b in zip(whole, part, strict=True)]


class _Compared(NamedTuple):
    """Which of two agents is better in truth and by the gate: 1 the first, −1 the second, 0 neither; and their gap."""

    gap: float
    truth: int
    gate: int


def _compare(a: AgentScore, b: AgentScore, better: Better) -> _Compared:
    gap = round(a.reward - b.reward, GAP_DECIMALS)
    truth = _direction(gap)
    if truth == 0 and a.order_rank is not None and b.order_rank is not None:
        truth = _direction(b.order_rank - a.order_rank)
    gate = _direction(round(a.gate - b.gate, GAP_DECIMALS))
    return _Compared(abs(gap), truth, gate if better == "higher" else -gate)


def _direction(difference: float) -> int:
    return (difference > 0) - (difference < 0)


def _kinds(how: Comparison, decided: bool) -> Iterator[_Kind]:
    scopes: tuple[Scope, ...] = ("all", "same", "decided") if decided else ("all", "same")
    for scope in scopes:
        for cut in (None, *_cuts_of(scope, how)):
            yield _Kind(scope, cut, wrong=False)
            yield _Kind(scope, cut, wrong=True)


def _cuts_of(scope: Scope, how: Comparison) -> Sequence[float]:
    return how.cuts if scope == "all" else (how.main,)


def _scopes(a: AgentScore, b: AgentScore, noise: float | None) -> Sequence[Scope]:
    found: list[Scope] = ["all"]
    if a.base_model is not None and a.base_model == b.base_model:
        found.append("same")
    if noise is not None and round(abs(a.gate - b.gate) - NOISE_Z * noise, GAP_DECIMALS) > 0:
        found.append("decided")
    return found


def _holds(kind: _Kind, found: _Compared) -> bool:
    return (kind.cut is None or found.gap < kind.cut) and (not kind.wrong or found.gate == -found.truth)


def _noise(scores: Sequence[AgentScore]) -> list[float] | None:
    """The standard error of each agent's gate score, None where one has scores of fewer than two tasks."""
    known = [score.noise for score in scores if score.noise is not None and score.noise.tasks > 1]
    return [standard_error_of_mean(*noise) for noise in known] if len(known) == len(scores) else None


def stretch_of_shares(agents: int) -> float:
    """What stretches the noise of a difference where the gate is the share of pairs won against each other.

    The shares that all agents win on one task add up to the same, so that two of them vary against each other with
    correlation −1/(n − 1) on average.
    """
    return sqrt(agents / (agents - 1))

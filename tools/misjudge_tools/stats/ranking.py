"""Does a gate rank agents as their rewards do?

These are rates over pairs of *agents*. They say nothing of single tasks and must not stand beside an
item-level rate without saying so. Pairs that share an agent are not independent, so no binomial interval
applies: theirs come from resampling base models, or agents, and there are none under eight agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Value
from misjudge_tools.stats.agent_pairs import (
    GAP_DECIMALS,
    NOISE_Z,
    AgentPairs,
    AgentScore,
    Better,
    Cell,
    Comparison,
    agent_pairs,
    stretch_of_shares,
    tallies,
)
from misjudge_tools.stats.bootstrap import affordable, as_observed, percentile_interval, resamples, sample_variance
from misjudge_tools.stats.correlation import Point, spearman, spearman_of_each
from misjudge_tools.stats.rates import Count, Interval, NoData, Share, Tally, score_interval

FEWEST_AGENTS = 3
FEWEST_RESAMPLED = 8
"""Agents from which on there are intervals."""
MOST_RESAMPLED = 1000
"""Agents up to which there are intervals: their pairs grow with the square."""
NEAR_CUT = 0.1
CUTS = (0.05, 0.1, 0.15)
"""The cuts between near and wide that are shown beside each other."""


class Disagreement(Value):
    """Agent pairs in which the gate puts the strictly worse agent first, of all agent pairs in this range of gaps."""

    rate: Share | None
    k: Count
    n: Count
    low: Share | None = None
    high: Share | None = None


class NearWide(Value):
    """Agent pairs with |ΔR| below a cut, and the others."""

    near: Disagreement
    wide: Disagreement


class CutRow(NearWide):
    """The agent pairs divided at this cut."""

    cut: float


class ByBaseModel(Value):
    """Agent pairs at the main cut by whether the two run on `different` ones of the `models` or on the `same` one."""

    models: Count
    different: NearWide
    same: NearWide


class Selective(Value):
    """What is wrong of the agent pairs that are decided, and their share (`coverage`) of the `pairs` of this range."""

    error: Disagreement
    pairs: Count
    coverage: Share | None


class Abstention(Value):
    """The agent pairs that are left when those are declined whose gate scores differ by no more than `z` standard
    errors of the difference.
    """

    z: float
    near: Selective
    wide: Selective


class Ranking(Value):
    """How a gate ranks agents (GAUGE, arXiv 2609.12191).

    `spearman` is ρ(G, R), +1 for perfect agreement, against the stated ranks (`order_rank`) when every agent
    has one. `near` holds the agent pairs with |ΔR| < `cut`, `wide` the others; `cuts` has them at other cuts.
    `reward_ties` pairs have equal rewards and no stated order, and are left out of all; `gate_ties` pairs have equal
    gate scores, and count in n as no disagreement.

    Intervals are of 95 %, from `resamples` resamples of `units` base models or agents (`resampled`). What is None has
    its reason under `why`.
    """

    agents: Count
    spearman: float | None
    spearman_low: float | None = None
    spearman_high: float | None = None
    against: Literal["order_rank", "reward"]
    cut: float
    near: Disagreement
    wide: Disagreement
    cuts: tuple[CutRow, ...]
    by_base_model: ByBaseModel | None = None
    abstention: Abstention | None = None
    reward_ties: Count
    gate_ties: Count
    resampled: Literal["base models", "agents"] | None = None
    units: Count | None = None
    resamples: Count | None = None
    why: dict[str, str]


def ranking(
    scores: Sequence[AgentScore], gate_better: Better = "higher", cut: float = NEAR_CUT, *, shares_of_wins: bool = False
) -> Ranking | NoData:
    """Ranking validity and decision disagreement of a gate, from one row per agent.

    `shares_of_wins`: the gate score of an agent is the share of pairs that it won against the others.
    """
    if not cut > 0:
        raise InvalidInput(f"The cut {cut:g} between near and wide agents must be above 0; the usual one is 0.1.")
    if len(scores) < FEWEST_AGENTS:
        return NoData(
            why=f"Ranking needs at least {FEWEST_AGENTS} agents with a reward and a gate score, not {len(scores)}."
        )
    stretch = stretch_of_shares(len(scores)) if shares_of_wins else 1.0
    how = Comparison(gate_better, sorted({cut, *CUTS}), cut, stretch)
    ordered = _in_order(scores)
    pairs = agent_pairs(ordered, how)
    drawn = _drawn(ordered, pairs, how)
    found = tallies(pairs, as_observed(len(scores)), how)
    cells = {cell: _disagreement(tally, drawn.rates.get(cell), drawn.units) for cell, (tally,) in found.items()}
    abstention = _abstention(cells, how)
    by_base_model = _by_base_model(ordered, cells, how)
    return Ranking(
        agents=len(scores),
        spearman=spearman(_points(ordered, gate_better)),
        spearman_low=drawn.rho.low if drawn.rho else None,
        spearman_high=drawn.rho.high if drawn.rho else None,
        against="order_rank" if _all_ranked(scores) else "reward",
        cut=cut,
        near=cells[Cell("all", cut, near=True)],
        wide=cells[Cell("all", cut, near=False)],
        cuts=tuple(CutRow(cut=one, **dict(_near_wide(cells, Cell("all", one, near=True)))) for one in CUTS),
        by_base_model=None if isinstance(by_base_model, NoData) else by_base_model,
        abstention=None if isinstance(abstention, NoData) else abstention,
        reward_ties=pairs.reward_ties,
        gate_ties=pairs.gate_ties,
        resampled=drawn.what,
        units=drawn.units or None,
        resamples=drawn.times or None,
        why=_reasons(intervals=drawn.why, by_base_model=by_base_model, abstention=abstention),
    )


def _reasons(**parts: object) -> dict[str, str]:
    return {name: part.why for name, part in parts.items() if isinstance(part, NoData)}


def _in_order(scores: Sequence[AgentScore]) -> list[AgentScore]:
    """The agents in an order that does not hang on their names, so that resamples do not either."""
    by_model: dict[str | None, list[AgentScore]] = {}
    for score in sorted(scores, key=_place):
        by_model.setdefault(score.base_model, []).append(score)
    groups = sorted(by_model.values(), key=lambda group: [_place(score) for score in group])
    return [score for group in groups for score in group]


def _place(score: AgentScore) -> tuple[float, float, float]:
    rank = 0.0 if score.order_rank is None else score.order_rank
    return round(score.reward, GAP_DECIMALS), round(score.gate, GAP_DECIMALS), rank


def _all_ranked(scores: Sequence[AgentScore]) -> bool:
    return all(score.order_rank is not None for score in scores)


def _points(scores: Sequence[AgentScore], better: Better) -> list[Point]:
    by_rank, sign = _all_ranked(scores), 1 if better == "higher" else -1
    return [Point(round(sign * score.gate, GAP_DECIMALS), _merit(score, by_rank)) for score in scores]


def _merit(score: AgentScore, by_rank: bool) -> float:
    return -score.order_rank if by_rank and score.order_rank is not None else round(score.reward, GAP_DECIMALS)


class _Drawn(NamedTuple):
    """The rates of every resample by cell, those without a pair left out, and the interval of ρ."""

    rates: Mapping[Cell, Sequence[float]] = {}
    rho: Interval | None = None
    what: Literal["base models", "agents"] | None = None
    units: int = 0
    times: int = 0
    why: NoData | None = None


def _drawn(scores: Sequence[AgentScore], pairs: AgentPairs, how: Comparison) -> _Drawn:
    """Base models are resampled where each agent's is stated and there are two or more, else the agents."""
    number = len(scores)
    if number < FEWEST_RESAMPLED:
        return _Drawn(why=NoData(why=f"Intervals need at least {FEWEST_RESAMPLED} agents, not {number}."))
    if number > MOST_RESAMPLED:
        return _Drawn(why=NoData(why=f"Intervals are given of up to {MOST_RESAMPLED:,} agents, not of {number:,}."))
    models = _models(scores)
    by_model = len(models) > 1
    cluster_of = [models[score.base_model] for score in scores if score.base_model] if by_model else [*range(number)]
    times = affordable(number)
    drawn = resamples(cluster_of, times)
    found = tallies(pairs, drawn, how)
    return _Drawn(
        rates={cell: [k / n for k, n in each if n] for cell, each in found.items()},
        rho=_interval_of(spearman_of_each(_points(scores, how.better), map(drawn.of, range(times)))),
        what="base models" if by_model else "agents",
        units=max(cluster_of) + 1,
        times=times,
    )


def _interval_of(rhos: Sequence[float | None]) -> Interval | None:
    """None where no resample has another ρ than the others: a perfect order shows no spread."""
    known = [rho for rho in rhos if rho is not None]
    return percentile_interval(known) if len({*known}) > 1 else None


def _models(scores: Sequence[AgentScore]) -> dict[str, int]:
    """The base models by number; none where one is not stated."""
    stated = [score.base_model for score in scores if score.base_model]
    return {model: n for n, model in enumerate(dict.fromkeys(stated))} if len(stated) == len(scores) else {}


def _disagreement(tally: Tally, rates: Sequence[float] | None, units: int) -> Disagreement:
    """With Wilson's interval on the effective number of agent pairs, the one that gives their share the variance that
    it has between resamples; percentiles of resamples would collapse where next to nothing is wrong.
    """
    if not tally.n:
        return Disagreement(rate=None, k=0, n=0)
    rate = tally.k / tally.n
    if rates is None:
        return Disagreement(rate=rate, k=tally.k, n=tally.n)
    low, high = score_interval(rate, sample_variance(rates), min(units, tally.n), most=tally.n)
    return Disagreement(rate=rate, k=tally.k, n=tally.n, low=low, high=high)


def _near_wide(cells: Mapping[Cell, Disagreement], near: Cell) -> NearWide:
    return NearWide(near=cells[near], wide=cells[near._replace(near=False)])


def _by_base_model(
    scores: Sequence[AgentScore], cells: Mapping[Cell, Disagreement], how: Comparison
) -> ByBaseModel | NoData:
    models = _models(scores)
    if not models:
        return NoData(why="The base model of each agent must be stated (base_model) to tell pairs across models.")
    if len(models) == 1:
        return NoData(why="All agents run on one base model, so no agent pair is across models.")
    return ByBaseModel(
        models=len(models),
        different=_near_wide(cells, Cell("different", how.main, near=True)),
        same=_near_wide(cells, Cell("same", how.main, near=True)),
    )


def _abstention(cells: Mapping[Cell, Disagreement], how: Comparison) -> Abstention | NoData:
    if Cell("decided", how.main, near=True) not in cells:
        return NoData(
            why="How much an agent's gate score varies is not known: each agent needs scores, or decided pairs, on at "
            "least two tasks."
        )
    near, wide = (_selective(cells, Cell("decided", how.main, near)) for near in (True, False))
    return Abstention(z=NOISE_Z, near=near, wide=wide)


def _selective(cells: Mapping[Cell, Disagreement], decided: Cell) -> Selective:
    pairs = cells[decided._replace(scope="all")].n
    return Selective(error=cells[decided], pairs=pairs, coverage=cells[decided].n / pairs if pairs else None)

"""What a satisfied judge says about success, over distinct trajectories.

P(fail | satisfied) alone misleads: where most sessions fail, most satisfied ones do too. So it stands beside
the base rate, the relative risk and the AUC, which tell whether the score carries any information.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Scale, Value
from misjudge_tools.stats.correlation import Point, Repeated, average_ranks, spearman
from misjudge_tools.stats.distributions import binomial_upper_tail
from misjudge_tools.stats.rates import LEVEL, Count, NoData, Rate, Share, plain_rate

CEILING = 0.20
"""The share of failures among satisfied sessions that a usable judge stays under (GAUGE, arXiv 2609.12191)."""


class ScoreOutcomes(NamedTuple):
    """The trajectories that got this score, by what the checks say of them."""

    score: float
    failed: int
    succeeded: int


class _Outcomes(NamedTuple):
    failed: int
    succeeded: int

    @property
    def n(self) -> int:
        return self.failed + self.succeeded


class AtThreshold(Value):
    """The two-by-two table of satisfied against failed, and what follows. All None where the scale has no threshold.

    `satisfied_failed_share_of_all` divides by all trajectories. `relative_risk` is P(fail | satisfied) over
    the base rate, `risk_ratio_unsatisfied` over P(fail | unsatisfied); None where the divisor is 0 or unknown.
    `p_value` is the exact one-sided probability of at least `satisfied_failed` failures if the true share
    among the satisfied were `ceiling`; None where nobody is satisfied.
    """

    threshold: float | None = None
    better: Literal["higher", "lower"] = "higher"
    satisfied: Count | None = None
    satisfied_failed: Count | None = None
    satisfied_succeeded: Count | None = None
    unsatisfied_failed: Count | None = None
    unsatisfied_succeeded: Count | None = None
    p_fail_given_satisfied: Rate | None = None
    satisfied_failed_share_of_all: Share | None = None
    relative_risk: float | None = None
    risk_ratio_unsatisfied: float | None = None
    p_value: Share | None = None
    ceiling: Share | None = None


class SatisfactionGap(AtThreshold):
    """Satisfaction against success, over the `n` trajectories that have both a score and an outcome.

    `auc` and `spearman` are those of satisfaction for success, on either direction of the scale: one half
    and 0 are no information. Both are None where all failed or all succeeded, `spearman` also where all
    scores are equal. `mean_satisfaction` is on the raw scale.
    """

    n: Count
    base_fail: Rate
    success_rate: Share
    mean_satisfaction: float
    auc: Share | None
    spearman: float | None


def satisfaction_gap(
    rows: Sequence[ScoreOutcomes], scale: Scale, ceiling: float = CEILING, level: float = LEVEL
) -> SatisfactionGap | NoData:
    """What one judge's satisfaction says about success, from one row per distinct score."""
    everyone = _total(rows)
    n = everyone.n
    if n == 0:
        return NoData(why="No trajectory has both a satisfaction score and a known outcome.")
    sign = 1 if scale.better == "higher" else -1
    outcomes = [
        Point(sign * row.score, success, number)
        for row in rows
        for success, number in ((0, row.failed), (1, row.succeeded))
    ]
    return SatisfactionGap(
        **_at_threshold(rows, scale, everyone, ceiling, level).model_dump(),
        n=n,
        base_fail=plain_rate(everyone.failed, n, level),
        success_rate=everyone.succeeded / n,
        mean_satisfaction=sum(row.score * (row.failed + row.succeeded) for row in rows) / n,
        auc=_auc(outcomes),
        spearman=spearman(outcomes),
    )


def _at_threshold(
    rows: Sequence[ScoreOutcomes], scale: Scale, everyone: _Outcomes, ceiling: float, level: float
) -> AtThreshold:
    if not 0 <= ceiling <= 1:
        raise InvalidInput(f"The ceiling {ceiling:g} is not a share; give a number from 0 to 1, such as 0.2.")
    if scale.threshold is None:
        return AtThreshold(better=scale.better)
    satisfied = _total(row for row in rows if _reaches(row.score, scale.threshold, scale.better))
    unsatisfied = _Outcomes(everyone.failed - satisfied.failed, everyone.succeeded - satisfied.succeeded)
    risk = plain_rate(satisfied.failed, satisfied.n, level)
    other_risk = plain_rate(unsatisfied.failed, unsatisfied.n, level)
    return AtThreshold(
        threshold=scale.threshold,
        better=scale.better,
        satisfied=satisfied.n,
        satisfied_failed=satisfied.failed,
        satisfied_succeeded=satisfied.succeeded,
        unsatisfied_failed=unsatisfied.failed,
        unsatisfied_succeeded=unsatisfied.succeeded,
        p_fail_given_satisfied=risk,
        satisfied_failed_share_of_all=satisfied.failed / everyone.n,
        relative_risk=_ratio(risk.rate, everyone.failed / everyone.n),
        risk_ratio_unsatisfied=_ratio(risk.rate, other_risk.rate),
        p_value=binomial_upper_tail(satisfied.failed, satisfied.n, ceiling) if satisfied.n else None,
        ceiling=ceiling,
    )


def _reaches(score: float, threshold: float, better: Literal["higher", "lower"]) -> bool:
    return score >= threshold if better == "higher" else score <= threshold


def _total(rows: Iterable[ScoreOutcomes]) -> _Outcomes:
    failed, succeeded = 0, 0
    for row in rows:
        failed += row.failed
        succeeded += row.succeeded
    return _Outcomes(failed, succeeded)


def _ratio(risk: float | None, divisor: float | None) -> float | None:
    return risk / divisor if risk is not None and divisor else None


def _auc(outcomes: Sequence[Point]) -> float | None:
    """P(a success scores above a failure), ties half: the Mann–Whitney statistic over all couples of the two."""
    successes = [point for point in outcomes if point.y == 1]
    won = sum(point.times for point in successes)
    lost = sum(point.times for point in outcomes) - won
    if won == 0 or lost == 0:
        return None
    rank = average_ranks(Repeated(point.x, point.times) for point in outcomes)
    rank_sum = sum(point.times * rank[point.x] for point in successes)
    return (rank_sum - won * (won + 1) / 2) / (won * lost)

"""Whether judges are wrong on the same pairs. Where they are, a panel of them is hardly better than one."""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, sqrt, tanh
from typing import NamedTuple

from misjudge_storage.task_moments import Moments
from misjudge_storage.types import Value
from misjudge_tools.stats.agreement import Coefficient
from misjudge_tools.stats.distributions import student_t_quantile
from misjudge_tools.stats.linear import alone, between_tasks
from misjudge_tools.stats.rates import LEVEL, Count


class CommonErrors(Value):
    """Two judges on the `n` decidable pairs that both decided. `expected_both` pairs would get two wrong verdicts if
    they erred independently of each other; `correlation` is φ of being wrong, None where one of them was never, or
    always.
    """

    n: Count
    first_wrong: Count
    second_wrong: Count
    both_wrong: Count
    expected_both: float | None
    correlation: Coefficient


class Together(Value):
    """All of a panel: the mean of the `couples` correlations, and how many judges that err independently would be worth
    as much as these `judges`.

    The interval of the mean is the mean of the intervals: that of a mean is never wider, however couples go together.
    """

    judges: Count
    couples: Count
    mean_correlation: Coefficient
    effective_judges: float | None
    effective_low: float | None
    effective_high: float | None
    both_wrong: Count
    expected_both: float


class Fourfold(NamedTuple):
    """Pairs by who is wrong."""

    both: float
    first: float
    second: float
    none: float


def common_errors(moments: Moments, level: float = LEVEL) -> CommonErrors:
    """From moments of the pairs that both, the first only, the second only and none of them got wrong."""
    four = Fourfold(*moments.totals)
    n = sum(four)
    first, second = four.both + four.first, four.both + four.second
    return CommonErrors(
        n=round(n),
        first_wrong=round(first),
        second_wrong=round(second),
        both_wrong=round(four.both),
        expected_both=first * second / n if n else None,
        correlation=_correlation(four, moments, level),
    )


def phi(four: Fourfold) -> float | None:
    """The correlation of two yes/no observations (Yule, JRSS 75, 1912); None where one of them is always the same."""
    first, second = four.both + four.first, four.both + four.second
    spread = first * (four.second + four.none) * second * (four.first + four.none)
    return (four.both * four.none - four.first * four.second) / sqrt(spread) if spread else None


def phi_slopes(four: Fourfold) -> list[float]:
    """The derivative of φ by each count, where there is a φ."""
    wrong = four.both + four.first, four.both + four.second
    right = four.second + four.none, four.first + four.none
    root = sqrt(wrong[0] * right[0] * wrong[1] * right[1])
    half = (phi(four) or 0.0) / 2
    return [
        four.none / root - half * (1 / wrong[0] + 1 / wrong[1]),
        -four.second / root - half * (1 / wrong[0] + 1 / right[1]),
        -four.first / root - half * (1 / right[0] + 1 / wrong[1]),
        four.both / root - half * (1 / right[0] + 1 / right[1]),
    ]


def _correlation(four: Fourfold, moments: Moments, level: float) -> Coefficient:
    """φ with an interval on Fisher's scale, which stays within −1 and 1; none for one task, and at −1 and 1."""
    value, n = phi(four), round(sum(four))
    if value is None or moments.clusters < 2 or abs(value) > 1 - 1e-9:
        return Coefficient(value=value, low=None, high=None, n=n)
    slopes = phi_slopes(four)
    variance = max(between_tasks(slopes, moments), alone(slopes, four))
    half = student_t_quantile((1 + level) / 2, moments.clusters - 1) * sqrt(variance) / (1 - value * value)
    return Coefficient(value=value, low=tanh(atanh(value) - half), high=tanh(atanh(value) + half), n=n)


def effective_judges(judges: int, correlation: float) -> float | None:
    """k/(1 + (k − 1)·ρ): as many independent judges make the share of wrong votes vary as little as these k do whose
    errors correlate by ρ on average (Kish, Survey Sampling, 1965, §5.4; of judges: arXiv 2605.29800).

    None at the lowest ρ that k judges can have, where their errors cancel out.
    """
    divisor = 1 + (judges - 1) * correlation
    return judges / divisor if divisor > 1e-9 else None


def together(couples: Sequence[CommonErrors], judges: int) -> Together | None:
    """The couples of a panel of `judges`, of which all must have a correlation; None where one has none."""
    values = [couple.correlation.value for couple in couples]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    value = sum(known) / len(known)
    low, high = (_mean([getattr(couple.correlation, side) for couple in couples]) for side in ("low", "high"))
    return Together(
        judges=judges,
        couples=len(couples),
        mean_correlation=Coefficient(value=value, low=low, high=high, n=sum(couple.n for couple in couples)),
        effective_judges=effective_judges(judges, value),
        effective_low=None if high is None else effective_judges(judges, high),
        effective_high=None if low is None else effective_judges(judges, low),
        both_wrong=sum(couple.both_wrong for couple in couples),
        expected_both=sum(couple.expected_both or 0.0 for couple in couples),
    )


def _mean(bounds: Sequence[float | None]) -> float | None:
    known = [bound for bound in bounds if bound is not None]
    return sum(known) / len(known) if known and len(known) == len(bounds) else None

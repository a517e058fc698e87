"""Krippendorff's α of any number of labellers, each of whom may have left out any pair, from sums.

α = 1 − D_o/D_e, the disagreement within units over that among all values (Content Analysis, 3rd ed. 2013, ch. 12). Only
units with two values or more count. The interval takes the units of one task as one cluster (`stats.linear`; the −1 of
small samples in D_e is left out of the derivative).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from misjudge_storage.task_moments import Moments
from misjudge_tools.stats.agreement import NEXT_TO_NOTHING, Coefficient
from misjudge_tools.stats.distributions import student_t_quantile
from misjudge_tools.stats.linear import between_tasks
from misjudge_tools.stats.rates import LEVEL, Interval, wilson

ROUNDING = 1e-9
"""Share of Σv² that the spread of equal values may come to in floating point."""


def alpha_nominal(moments: Moments, level: float = LEVEL) -> Coefficient:
    """α of labels. The counts of a task are Σ_c n_uc(n_uc − 1)/(m_u − 1) over its units u, where n_uc of the m_u labels
    are c, and then the number of each label c in its units. None where all labels are alike.
    """
    agreed, *counts = moments.totals or (0.0,)
    n = sum(counts)
    apart = n * n - sum(count * count for count in counts)
    if apart <= 0:
        return Coefficient(value=None, low=None, high=None, n=round(n))
    value = 1 - (n - 1) * (n - agreed) / apart
    lost = n * (n - agreed) / (apart * apart)
    slopes = [n / apart, *(-(2 * n - agreed) / apart + lost * 2 * (n - count) for count in counts)]
    if n - agreed <= NEXT_TO_NOTHING * n and moments.clusters > 1:
        t = student_t_quantile((1 + level) / 2, moments.clusters - 1)
        lowest = wilson(moments.clusters, moments.clusters, t).low
        return Coefficient(value=value, low=1 - (1 - lowest) * n * (n - 1) / apart, high=1.0, n=round(n))
    return _with_interval(value, round(n), slopes, moments, level)


def alpha_interval(moments: Moments, level: float = LEVEL) -> Coefficient:
    """α of scores on one scale, None where all are equal.

    The counts of a task are Σ(m_u·q_u − s_u²)/(m_u − 1) over its units u, s_u and q_u being the sum of the m_u scores
    and of their squares, and then Σm_u, Σs_u and Σq_u.
    """
    within, n, s, q = moments.totals or (0.0, 0.0, 0.0, 0.0)
    apart = n * q - s * s
    if apart <= ROUNDING * n * q:
        return Coefficient(value=None, low=None, high=None, n=round(n))
    slopes = [
        -n / apart,
        -within / apart + n * within * q / (apart * apart),
        -2 * s * n * within / (apart * apart),
        n * n * within / (apart * apart),
    ]
    return _with_interval(1 - (n - 1) * within / apart, round(n), slopes, moments, level)


def _with_interval(value: float, n: int, slopes: Sequence[float], moments: Moments, level: float) -> Coefficient:
    found = _interval(value, slopes, moments, level)
    return Coefficient(value=value, low=found and found.low, high=found and found.high, n=n)


def _interval(value: float, slopes: Sequence[float], moments: Moments, level: float) -> Interval | None:
    """None for a single task, and where no variance can be seen."""
    variance = between_tasks(slopes, moments) if moments.clusters > 1 else 0.0
    if variance < NEXT_TO_NOTHING:
        return None
    half = student_t_quantile((1 + level) / 2, moments.clusters - 1) * sqrt(variance)
    return Interval(value - half, min(1.0, value + half))

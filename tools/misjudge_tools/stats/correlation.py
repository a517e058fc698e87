"""Rank correlation of points with multiplicities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import NamedTuple


class Point(NamedTuple):
    """`times` observations that share these two values."""

    x: float
    y: float
    times: int = 1


class Repeated(NamedTuple):
    """A value that was observed `times` times."""

    value: float
    times: int


def spearman(points: Sequence[Point]) -> float | None:
    """Spearman's ρ: Pearson's correlation of the average ranks. None where either side is constant or empty."""
    x_rank = average_ranks(Repeated(point.x, point.times) for point in points)
    y_rank = average_ranks(Repeated(point.y, point.times) for point in points)
    middle = (sum(point.times for point in points) + 1) / 2
    xx = yy = xy = 0.0
    for x, y, times in points:
        dx, dy = x_rank[x] - middle, y_rank[y] - middle
        xx += times * dx * dx
        yy += times * dy * dy
        xy += times * dx * dy
    if xx == 0 or yy == 0:
        return None
    return max(-1.0, min(1.0, xy / sqrt(xx * yy)))


def average_ranks(values: Iterable[Repeated]) -> dict[float, float]:
    """The rank of each distinct value, 1 for the lowest observation; equal ones share the mean of their ranks."""
    counts: Counter[float] = Counter()
    for value, times in values:
        counts[value] += times
    ranks: dict[float, float] = {}
    below = 0
    for value in sorted(counts):
        ranks[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return ranks

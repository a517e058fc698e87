"""Rank correlation of points with multiplicities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
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
    [rho] = spearman_of_each(points, [[point.times for point in points]])
    return rho


def spearman_of_each(points: Sequence[Point], weighings: Iterable[Sequence[int]]) -> list[float | None]:
    """Spearman's ρ of the same points with each of many multiplicities, for which they are put in order only once."""
    by_x, by_y = _ties([point.x for point in points]), _ties([point.y for point in points])
    return [_rho(by_x, by_y, times) for times in weighings]


def _ties(values: Sequence[float]) -> list[list[int]]:
    """The places of equal values together, the lowest value first."""
    return [
        list(places) for _, places in groupby(sorted(range(len(values)), key=values.__getitem__), values.__getitem__)
    ]


def _rho(by_x: Sequence[Sequence[int]], by_y: Sequence[Sequence[int]], times: Sequence[int]) -> float | None:
    middle = (sum(times) + 1) / 2
    xx = yy = xy = 0.0
    for n, dx, dy in zip(times, _from(middle, by_x, times), _from(middle, by_y, times), strict=True):
        xx += n * dx * dx
        yy += n * dy * dy
        xy += n * dx * dy
    if xx == 0 or yy == 0:
        return None
    return max(-1.0, min(1.0, xy / sqrt(xx * yy)))


def _from(middle: float, ties: Sequence[Sequence[int]], times: Sequence[int]) -> list[float]:
    """By place: how far its average rank is from the middle."""
    found, below = [0.0] * len(times), 0
    for places in ties:
        here = times[places[0]] if len(places) == 1 else sum([times[place] for place in places])
        rank = below + (here + 1) / 2 - middle
        for place in places:
            found[place] = rank
        below += here
    return found


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

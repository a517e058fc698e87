"""Where axes begin and end, and what is written at them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

from misjudge_tools.report.chart_data import Forest, Plane, Point

_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
_TICKS = 5
EVEN = 0.5
_SMALLEST = 0.05
"""An axis of shares never ends below this: next to nothing must not fill the picture."""


class Axis(NamedTuple):
    """The ends of an axis and its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]


def forest_axis(panels: Sequence[Forest]) -> Axis:
    """One axis for all panels of a picture: from 0 for shares, with 0 for differences, wide enough for every interval
    and the lines. All shares where a line says what is even-handed.
    """
    rows = [row for panel in panels for row in panel.rows]
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    lines = [panel.line for panel in panels if panel.line is not None]
    if EVEN in lines:
        return _axis(0.0, 1.0)
    high = max(*ends, *lines, _SMALLEST)
    low = 0.0 if panels[0].unit == "share" else min(*ends, *lines, -_SMALLEST)
    return _axis(low, high)


def error_axis(plane: Plane) -> Axis:
    """From 0; an interval wider than half of all shares does not set the axis, unless there is no other."""
    narrow = [point for point in plane.points if point.high is not None and point.high - (point.low or 0) <= 0.5]
    ends = [end for point in narrow or plane.points for end in (point.high, point.bound) if end is not None]
    return _axis(0.0, max(*ends, *(point.value for point in plane.points), 1.2 * (plane.limit or 0), _SMALLEST))


def point_marks(points: Sequence[Point], high: float) -> dict[str, str]:
    """The number of a point → what is written at it: of points so close that their numbers would cover each other the
    first has all. `high` is the end of the axis of errors.
    """
    beside: dict[Point, list[str]] = {}
    for point in points:
        near = (first for first in beside if _close(first, point, high))
        beside.setdefault(next(near, point), []).append(point.number)
    written = {first.number: ",".join(sorted(numbers, key=int)) for first, numbers in beside.items()}
    return {point.number: written.get(point.number, "") for point in points}


def _close(a: Point, b: Point, high: float) -> bool:
    return abs(a.coverage - b.coverage) < 0.03 and abs(a.value - b.value) < high / 14


def _axis(low: float, high: float) -> Axis:
    step = next((step for step in _STEPS if (high - low) / step <= _TICKS), 0.5)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = tuple(round(number * step, 9) for number in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)

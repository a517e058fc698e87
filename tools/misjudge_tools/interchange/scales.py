"""The raw scales that imported scores stand on, written as LOW-HIGH or LOW-HIGH:THRESHOLD."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Scale

SHARE = Scale(low=0, high=1, threshold=0.8)
ONE_TO_TEN = Scale(low=1, high=10, threshold=8)
ZERO_TO_FIVE = Scale(low=0, high=5, threshold=4)
_NAMED = {
    "0-1": SHARE,
    "0-5": ZERO_TO_FIVE,
    "1-7": Scale(low=1, high=7, threshold=5),
    "1-10": ONE_TO_TEN,
}
_WRITTEN = re.compile(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)(?::(-?\d+(?:\.\d+)?))?")


class Bounds(NamedTuple):
    """The ends of a scale, both included."""

    low: float
    high: float


def read_range(written: str) -> Scale:
    """`0-5` as the lowest and highest score, without a threshold of its own. Raises InvalidInput for anything else."""
    found = _WRITTEN.fullmatch(written.strip())
    if found is None or float(found[1]) >= float(found[2]):
        raise InvalidInput(
            f"Scale {written[:40]!r} is not understood. Write LOW-HIGH:THRESHOLD, where THRESHOLD is the lowest "
            f"satisfied score, such as 1-5:4; {', '.join(_NAMED)} need no threshold."
        )
    return Scale(low=float(found[1]), high=float(found[2]), threshold=None if found[3] is None else float(found[3]))


def read_scale(written: str) -> Scale:
    """`1-7`, or `1-5:4` with the lowest satisfied score. Raises InvalidInput for anything else.

    0-1, 0-5, 1-7 and 1-10 have thresholds of their own (.8, 4, 5 and 8; 5 of 7 as in GAUGE); the threshold
    of another scale has to be given.
    """
    scale = read_range(written)
    if scale.threshold is None:
        scale = next((named for named in _NAMED.values() if (named.low, named.high) == (scale.low, scale.high)), scale)
    if scale.threshold is None or not bounds(scale).low <= scale.threshold <= bounds(scale).high:
        raise InvalidInput(
            f"Scale {written[:40]!r} needs a threshold inside it, the lowest satisfied score: write LOW-HIGH:THRESHOLD."
        )
    return scale


def bounds(scale: Scale) -> Bounds:
    """Lowest and highest score; without end where the scale does not say."""
    return Bounds(
        -math.inf if scale.low is None else scale.low,
        math.inf if scale.high is None else scale.high,
    )

"""Whether a rate is under a limit: what a gate answers, and what is still needed where it cannot tell. Pure."""

from __future__ import annotations

from math import ceil
from typing import Literal

from misjudge_tools.stats.power import smallest_passing
from misjudge_tools.stats.rates import LEVEL, Rate

Outcome = Literal["pass", "fail", "inconclusive", "coverage"]
EXIT_CODES: dict[Outcome, int] = {"pass": 0, "fail": 1, "inconclusive": 3, "coverage": 4}
MOST_NEEDED = 1_000_000
"""Pairs beyond which a rate is as good as the limit, and no number would tell."""


def outcome(rate: Rate, coverage: float | None, limit: float, min_coverage: float, *, worse: bool = False) -> Outcome:
    """What the gate answers: first fail (the lower bound is above the limit, or it is `worse` than a baseline), then
    too low a coverage, then pass (the upper bound is at most the limit), else inconclusive.
    """
    if worse or (rate.low is not None and rate.low > limit):
        return "fail"
    if coverage is not None and coverage < min_coverage:
        return "coverage"
    return "pass" if rate.high is not None and rate.high <= limit else "inconclusive"


def still_needed(rate: Rate, pairs: int, limit: float, level: float = LEVEL) -> int | None:
    """About how many pairs more, beside these `pairs` and as clustered as they are, until a rate that stays as it is
    passes or fails; None where no number that can be had would do.

    Wilson's interval is all shares p with (rate − p)² ≤ z²·p(1 − p)/n. So n grows with p(1 − p)/(rate − p)² at the end
    of the interval that moves to the limit, whatever z and the design effect are.
    """
    at, end = rate.rate, rate.high if rate.rate is None or rate.rate <= limit else rate.low
    now = 0.0 if at is None or end is None or end == at else end * (1 - end) / (end - at) ** 2
    if at is None:
        return None if pairs else smallest_passing(limit, level)
    if now == 0:
        return smallest_passing(limit, level)
    if at == limit:
        return None
    more = ceil(pairs * limit * (1 - limit) / (limit - at) ** 2 / now - 1e-9) - pairs
    return max(0, more) if more <= MOST_NEEDED else None

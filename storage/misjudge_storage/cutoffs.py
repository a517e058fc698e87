"""Where a number becomes a word: which gaps are near, and which scores satisfied."""

from __future__ import annotations

from typing import Final

NEAR_BELOW: Final = 0.099999999
"""Gaps of ability below are near: below 0.1, as which the difference of 0.95 and 0.85 counts too."""


def satisfied(score: str) -> str:
    """SQL: whether this score is on the good side of the threshold of the judge `j`; NULL where either is not known."""
    return f"CASE WHEN j.better = 'lower' THEN {score} <= j.threshold ELSE {score} >= j.threshold END"

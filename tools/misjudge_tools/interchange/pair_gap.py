"""What the reward_gap column of an audit_pairs file is a gap of.

A gap that is only the difference of two columns of its row is not stored: it follows from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, RecordError
from misjudge_tools.interchange.fields import Fields, choice, number
from misjudge_tools.interchange.files import Row
from misjudge_tools.interchange.pair_verdict import Scores, judge_scores, rewards_are_scores

GapSource = Literal["ability", "reward", "judge_score"]

_SOURCES: dict[str, GapSource] = {"ability": "ability", "reward": "reward", "judge_score": "judge_score"}
_SAME = 1e-9


class StatedGap(NamedTuple):
    """A gap that the source states and that does not follow from its other columns; both None without one."""

    size: float | None
    source: GapSource | None


def source_of_gaps(rows: Iterable[Row | BadRecord], path: Path) -> GapSource | None:
    """What the gaps without a gap_source are: `judge_score` or `reward` where they equal that difference in every row.

    None where there are no such gaps. Raises InvalidInput where they equal neither.
    """
    candidates: list[GapSource] = ["judge_score", "reward"]
    found = False
    for row in rows:
        if isinstance(row, BadRecord):
            continue
        try:
            gap = None if choice(row.fields, "gap_source", _SOURCES) else number(row.fields, "reward_gap")
            if gap is None:
                continue
            found = True
            candidates = [source for source in candidates if _follows(row.fields, gap, source)]
        except RecordError:  # reported when the row itself is read
            continue
        if not candidates:
            raise InvalidInput(
                f"{path}: reward_gap does not say what it is a gap of, and it is not |judge_score_a - judge_score_b| "
                "in every row. Name its source with gap_source: ability, reward or judge_score."
            )
    return candidates[0] if found else None


def reward_gap(fields: Fields, default: GapSource | None) -> StatedGap:
    """The row's gap; `default` is its source where the row names none."""
    gap = number(fields, "reward_gap", low=0)
    source = choice(fields, "gap_source", _SOURCES) or default
    if gap is None or source is None or _follows(fields, gap, source):
        return StatedGap(None, None)
    return StatedGap(gap, source)


def _follows(fields: Fields, gap: float, source: GapSource) -> bool:
    a, b = _compared(fields, source)
    return a is not None and b is not None and abs(abs(a - b) - gap) <= _SAME


def _compared(fields: Fields, source: GapSource) -> Scores:
    if source == "judge_score":
        return judge_scores(fields)
    if source == "reward" and not rewards_are_scores(fields):
        return Scores(number(fields, "reward_a"), number(fields, "reward_b"))
    return Scores(None, None)

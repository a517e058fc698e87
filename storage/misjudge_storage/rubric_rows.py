"""Rows of generated rubrics and of their matching with gold ones. Sets and rules themselves are made in `rows`."""

from __future__ import annotations

from typing import Literal, NamedTuple

from misjudge_storage.columns import utc_now
from misjudge_storage.rows import Row
from misjudge_storage.types import UnscoredReason

MatchMethod = Literal["equal", "judge"]
"""How a match was found: both rules say the same but for case, width and punctuation, or a model said so."""


class DraftCounts(NamedTuple):
    """What became of the rules of a reply (see `RubricDraft`)."""

    written: int = 0
    duplicates: int = 0
    left_out: int = 0
    split: int = 0
    compound: int = 0


def draft_row(
    audit: str,
    draft_id: str,
    writer_id: str,
    task_id: str,
    rubric_id: str | None,
    unscored_reason: UnscoredReason | None = None,
    counts: DraftCounts | None = None,
    *,
    repeat: int = 0,
    repaired: bool = False,
    log_id: str | None = None,
) -> Row:
    """A generated rubric; `rubric_id` is the set of its rules, None where it has none or is unscored."""
    return {
        **(counts or DraftCounts())._asdict(),
        "draft_id": draft_id,
        "audit_id": audit,
        "writer_id": writer_id,
        "task_id": task_id,
        "repeat": repeat,
        "status": _status(unscored_reason),
        "unscored_reason": unscored_reason,
        "rubric_id": rubric_id,
        "repaired": repaired,
        "log_id": log_id,
        "created_at": utc_now(),
    }


def matching_row(
    audit: str,
    matching_id: str,
    matcher_id: str,
    draft_id: str,
    gold_id: str,
    unscored_reason: UnscoredReason | None = None,
) -> Row:
    """A matching of a generated rubric with the gold set `gold_id`."""
    return {
        "matching_id": matching_id,
        "audit_id": audit,
        "matcher_id": matcher_id,
        "draft_id": draft_id,
        "rubric_id": gold_id,
        "status": _status(unscored_reason),
        "unscored_reason": unscored_reason,
        "created_at": utc_now(),
    }


def match_row(
    matching_id: str,
    rule: int,
    gold_rule: int | None,
    unscored_reason: UnscoredReason | None = None,
    *,
    method: MatchMethod,
    reason: str = "",
    repaired: bool = False,
    log_id: str | None = None,
) -> Row:
    """One generated rule of a matching, both numbered from 1."""
    return {
        "matching_id": matching_id,
        "rule": rule,
        "gold_rule": gold_rule,
        "status": _status(unscored_reason),
        "unscored_reason": unscored_reason,
        "method": method,
        "reason": reason,
        "repaired": repaired,
        "log_id": log_id,
    }


def _status(unscored_reason: UnscoredReason | None) -> str:
    return "scored" if unscored_reason is None else "unscored"

"""Rows of generated rubrics, of their matching with gold ones, and of rules that judges applied.

Sets and rules themselves are made in `rows`.
"""

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


def ruling_row(
    audit: str,
    judge_id: str,
    verdict_id: str,
    rubric_id: str | None,
    *,
    says: str | None,
    conflict: str | None,
    left_out: int,
    unscored: int,
) -> Row:
    """Which rules a judge applied for a verdict, and what they come to; see `RubricRuling`."""
    return {
        **{"ruling_id": verdict_id, "audit_id": audit, "judge_id": judge_id, "rubric_id": rubric_id},
        **{"says": says, "conflict": conflict, "left_out": left_out, "unscored": unscored},
    }


def rule_verdict_row(
    verdict_id: str, rule: int, *, met_a: bool | None, met_b: bool | None, met: bool | None, reason: str
) -> Row:
    """Whether one rule of the stored set is met; see `RubricVerdict`."""
    return {
        **{"ruling_id": verdict_id, "rule": rule, "reason": reason},
        **{"met_a": met_a, "met_b": met_b, "met": met},
    }


def _status(unscored_reason: UnscoredReason | None) -> str:
    return "scored" if unscored_reason is None else "unscored"

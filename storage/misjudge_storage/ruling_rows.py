"""Rows of what a judge said of single rules, and of what follows from it."""

from __future__ import annotations

from misjudge_storage.columns import utc_now
from misjudge_storage.rows import Row


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
        "created_at": utc_now(),
    }


def rule_verdict_row(
    verdict_id: str, rule: int, *, met_a: bool | None, met_b: bool | None, met: bool | None, reason: str
) -> Row:
    """Whether one rule of the stored set is met; see `RubricVerdict`."""
    return {
        **{"ruling_id": verdict_id, "rule": rule, "reason": reason},
        **{"met_a": met_a, "met_b": met_b, "met": met},
    }

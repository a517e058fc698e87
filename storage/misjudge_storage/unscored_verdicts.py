"""Verdicts that could not be scored, held for a summary."""

from __future__ import annotations

from sqlalchemy import Connection, text

UNSCORED = "audit_unscored"

_SAME_QUESTION = """
    EXISTS (
        SELECT 1 FROM verdicts v
        WHERE {subject} = u.subject AND v.judge_id = u.judge_id AND v.status <> 'unscored' AND NOT v.reduced
            AND NOT u.reduced
            AND COALESCE(v.order_shown, '') = u.shown AND v.repeat = u.repeat
    )
"""
# Two questions, not one with OR: that would go through all verdicts of the audit for each unscored one.
_OF_PAIR = _SAME_QUESTION.format(subject="v.audit_id = :audit AND v.pair_id")
_OF_TRAJECTORY = _SAME_QUESTION.format(subject="v.trajectory_id")
_ASKED_AGAIN = f"({_OF_PAIR} OR {_OF_TRAJECTORY})"
"""Of an unscored verdict `u` with its subject and order shown: the same was asked again, and scored."""


def hold_unscored(connection: Connection, audit_id: str) -> None:
    """Hold the calls of the audit that could not be scored, once: a connection holds one audit. One that was made again
    counts once, and not at all where it was scored then.
    """
    columns = "judge_id VARCHAR NOT NULL, reason VARCHAR, log_id VARCHAR"
    connection.execute(text(f"CREATE TEMPORARY TABLE IF NOT EXISTS {UNSCORED} ({columns})"))
    connection.execute(
        text(f"""
        INSERT INTO {UNSCORED} (judge_id, reason, log_id)
        SELECT u.judge_id, MAX(u.unscored_reason), MAX(u.log_id) FROM (
            SELECT v.*, COALESCE(v.pair_id, v.trajectory_id) AS subject, COALESCE(v.order_shown, '') AS shown
            FROM verdicts v WHERE v.audit_id = :audit AND v.status = 'unscored'
        ) u
        WHERE NOT {_ASKED_AGAIN} AND NOT EXISTS (SELECT 1 FROM {UNSCORED})
        GROUP BY u.judge_id, u.subject, u.shown, u.repeat, u.reduced
        """),
        {"audit": audit_id},
    )

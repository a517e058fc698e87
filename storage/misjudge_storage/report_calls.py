"""What a report shows of judges' replies and calls: the start of each text, and the calls that no verdict names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import Connection, text

Subject = Literal["pair_id", "trajectory_id"]
"""What a verdict is on."""
EXCERPT: Final = 4_000
"""Characters of a text that are read."""
MOST_REPLIES: Final = 24


class Excerpt(NamedTuple):
    """The start of a text, and how many characters more it has."""

    text: str
    unread: int


class RawCall(NamedTuple):
    """One attempt of a judge's call, and what came back."""

    log_id: str
    model: str
    prompt_version: str | None
    order_shown: str | None
    repeat: int
    attempt: int
    unscored_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    raw_output: Excerpt | None


class Reply(NamedTuple):
    """One verdict of one judge, and the call that it was read from, where that is stored with it."""

    judge: str
    form: str
    order_shown: str | None
    repeat: int
    status: str
    winner: str | None
    score_a: float | None
    score_b: float | None
    score: float | None
    unscored_reason: str | None
    reasons: Excerpt
    call: RawCall | None


class Replies(NamedTuple):
    """The first verdicts on a pair or an episode, of `in_all`."""

    rows: Sequence[Reply]
    in_all: int


_CALL = """
    l.log_id, l.model, l.prompt_version, l.order_shown, l.repeat, l.attempt, l.unscored_reason, l.input_tokens,
    l.output_tokens, SUBSTR(l.raw_output, 1, :most), LENGTH(l.raw_output)
"""
_REPLIES = f"""
    SELECT COUNT(*) OVER (), j.label, j.form, v.order_shown, v.repeat, v.status, v.winner, v.score_a, v.score_b,
        v.score, v.unscored_reason, SUBSTR(v.reasons, 1, :most), LENGTH(v.reasons), {_CALL}
    FROM verdicts v
    JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
    LEFT JOIN judge_logs l ON l.log_id = v.log_id
    WHERE v.audit_id = :audit AND v.{{of}} = :id AND (CAST(:judge AS VARCHAR) IS NULL OR j.label = :judge)
    ORDER BY j.label, j.form, v.repeat, v.order_shown, v.verdict_id LIMIT :rows
"""
_CALLS = f"""
    SELECT {_CALL} FROM judge_logs l
    WHERE l.audit_id = :audit AND l.{{of}} = :id AND l.role = 'judge'
        AND NOT EXISTS (
            SELECT 1 FROM verdicts v WHERE v.audit_id = :audit AND v.{{of}} = :id AND v.log_id = l.log_id
        )
        AND (
            CAST(:judge AS VARCHAR) IS NULL OR l.judge_id IS NULL OR l.judge_id IN (
                SELECT j.judge_id FROM judges j WHERE j.audit_id = :audit AND j.label = :judge
            )
        )
    ORDER BY l.created_at, l.log_id LIMIT :rows
"""
_OF_REPLY = 13
"""Columns of a verdict before those of its call."""


def replies(connection: Connection, audit_id: str, of: Subject, identity: str, judge: str | None) -> Replies:
    """The first verdicts on a pair or an episode, of this judge or of all."""
    given = {"audit": audit_id, "id": identity, "judge": judge, "most": EXCERPT, "rows": MOST_REPLIES}
    found = connection.execute(text(_REPLIES.format(of=of)), given).all()
    return Replies([_reply(row) for row in found], found[0][0] if found else 0)


def _reply(row: Sequence[Any]) -> Reply:
    _, *verdict, reasons, length = row[:_OF_REPLY]
    call = row[_OF_REPLY:]
    return Reply._make((*verdict, excerpt(reasons, length), None if call[0] is None else _raw_call(call)))


def _raw_call(row: Sequence[Any]) -> RawCall:
    *call, raw, length = row
    return RawCall._make((*call, None if raw is None else excerpt(raw, length)))


def other_calls(
    connection: Connection, audit_id: str, of: Subject, identity: str, judge: str | None, most: int
) -> Sequence[RawCall]:
    """The first calls of judges that no verdict names: attempts that were tried again, and logs that were imported."""
    given = {"audit": audit_id, "id": identity, "judge": judge, "most": EXCERPT, "rows": most}
    return [_raw_call(row) for row in connection.execute(text(_CALLS.format(of=of)), given)]


def excerpt(start: str, length: int) -> Excerpt:
    """The start of a text that has `length` characters."""
    return Excerpt(start, length - len(start))

"""judge_logs: one model call per line, with the columns of our `judge_logs` table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import get_args

from misjudge_storage.hashing import canonical
from misjudge_storage.types import BadRecord, Log, Order, Record, RecordError, Role
from misjudge_tools.interchange.fields import Fields, choice, expect, flag, number, raw_text, text, whole
from misjudge_tools.interchange.files import Row, parse_rows, read_rows

_ROLES: dict[str, Role] = {role: role for role in get_args(Role)}
_ORDERS: dict[str, Order] = {"AB": "AB", "BA": "BA"}


def read_judge_logs(path: Path) -> Iterator[Record | BadRecord]:
    """One log per line. Ids that another store gave are not kept. Raises InvalidInput for another format."""
    return parse_rows(expect(read_rows(path), path, "judge-logs", "role", "model"), _record)


def _record(row: Row) -> Record:
    fields = row.fields
    role = choice(fields, "role", _ROLES)
    if role is None:
        raise RecordError("role is missing or empty")
    log = Log(
        role=role,
        model=text(fields, "model") or "",
        pair_id=text(fields, "pair_id"),
        turn=whole(fields, "turn"),
        prompt_hash=text(fields, "prompt_hash"),
        prompt_version=text(fields, "prompt_version"),
        rendered_hash=text(fields, "rendered_hash"),
        order_shown=choice(fields, "order_shown", _ORDERS),
        repeat=whole(fields, "repeat") or 0,
        attempt=_attempt(fields),
        params=_json(fields, "params"),
        raw_output=_reply(fields),
        parsed_json=_json(fields, "parsed_json"),
        unscored_reason=text(fields, "unscored_reason"),
        error=text(fields, "error"),
        finish_reason=text(fields, "finish_reason"),
        input_tokens=whole(fields, "input_tokens"),
        output_tokens=whole(fields, "output_tokens"),
        latency_ms=number(fields, "latency_ms", low=0),
        est_cost=number(fields, "est_cost", low=0),
        price_source=text(fields, "price_source"),
        request_id=text(fields, "request_id"),
        created_at=_time(fields),
        simulated=flag(fields, "simulated") or False,
    )
    return Record(line=row.line, logs=(log,))


def _attempt(fields: Fields) -> int:
    attempt = whole(fields, "attempt")
    return 1 if attempt is None else attempt


def _reply(fields: Fields) -> str | None:
    return None if fields.get("raw_output") is None else raw_text(fields, "raw_output")


def _json(fields: Fields, name: str) -> str | None:
    """JSON text as it is, a JSON value as canonical text."""
    value = fields.get(name)
    return value or None if value is None or isinstance(value, str) else canonical(value)


def _time(fields: Fields) -> str | None:
    written = text(fields, "created_at")
    if written is not None:
        try:
            datetime.fromisoformat(written)
        except ValueError:
            raise RecordError("created_at must be a time such as 2025-01-31T12:00:00+00:00") from None
    return written

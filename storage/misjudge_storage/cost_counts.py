"""Calls, tokens and cost of an audit, as GROUP BYs of its logs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Row, text

from misjudge_storage.summary_values import Use

MOST_SESSIONS = 10
N = TypeVar("N", int, float)


class CallGroup(NamedTuple):
    """Calls of one role, model and judge (where it is one's) with one source of prices.

    `calls` were made, `failed` ones included; `retries` of them repeat a question that had no usable reply, `priced`
    ones have a cost. A failed call lacks neither usage nor price. `cached` replies came from the cache without a call.
    Days are UTC, as YYYY-MM-DD.
    """

    role: str
    model: str
    judge_id: str | None
    price_source: str | None
    simulated: bool
    calls: int
    failed: int
    retries: int
    cached: int
    input_tokens: int | None
    output_tokens: int | None
    without_usage: int
    cost: float | None
    priced: int
    without_price: int
    first_day: str | None
    last_day: str | None


class Session(NamedTuple):
    """What one judge was asked about one pair or trajectory."""

    judge_id: str | None
    pair_id: str | None
    trajectory_id: str | None
    model: str
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float


def call_groups(connection: Connection, audit_id: str) -> list[CallGroup]:
    """Everything that the audit's logs say of calls, by role, judge and source of the price first."""
    query = """
        WITH logs AS (
            SELECT role, model, judge_id, price_source, simulated, attempt, input_tokens, output_tokens, est_cost,
                error, created_at, CASE WHEN cached_from IS NULL THEN 1 ELSE 0 END AS made
            FROM judge_logs WHERE audit_id = :audit
        )
        SELECT
            role, model, judge_id, price_source, simulated,
            SUM(made), SUM(CASE WHEN error IS NOT NULL THEN made ELSE 0 END),
            SUM(CASE WHEN attempt > 1 THEN made ELSE 0 END), SUM(1 - made),
            SUM(CASE WHEN made = 1 THEN input_tokens END), SUM(CASE WHEN made = 1 THEN output_tokens END),
            SUM(CASE WHEN error IS NULL AND (input_tokens IS NULL OR output_tokens IS NULL) THEN made ELSE 0 END),
            SUM(CASE WHEN made = 1 THEN est_cost END), SUM(CASE WHEN est_cost IS NOT NULL THEN made ELSE 0 END),
            SUM(CASE WHEN error IS NULL AND est_cost IS NULL THEN made ELSE 0 END),
            MIN(CASE WHEN made = 1 THEN created_at END), MAX(CASE WHEN made = 1 THEN created_at END)
        FROM logs GROUP BY role, judge_id, price_source, model, simulated
        ORDER BY role, judge_id, price_source, model, simulated
    """
    return [_group(row) for row in connection.execute(text(query), {"audit": audit_id})]


def _group(row: Row[Any]) -> CallGroup:
    values: list[Any] = [*row[:-2], *map(_day, row[-2:])]
    return CallGroup(*values)._replace(simulated=bool(row.simulated))


def _day(moment: object) -> str | None:
    """The day (UTC) of a time that SQLite gives as text in UTC, and Postgres as a time in the session's zone."""
    if isinstance(moment, datetime):
        moment = moment.astimezone(UTC)
    return None if moment is None else str(moment)[:10]


def uses_of(groups: Iterable[CallGroup]) -> list[Use]:
    """The calls that were made, by role, judge and source of the price."""
    made = (group for group in groups if group.calls)
    return [_use([*found]) for _, found in groupby(made, key=lambda one: (one.role, one.judge_id, one.price_source))]


def known_sum(values: Iterable[N | None]) -> N | None:
    """The sum of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _use(groups: list[CallGroup]) -> Use:
    first = groups[0]
    return Use(
        first.role,
        first.judge_id,
        first.price_source,
        calls=sum(one.calls for one in groups),
        input_tokens=known_sum(one.input_tokens for one in groups),
        output_tokens=known_sum(one.output_tokens for one in groups),
        without_usage=sum(one.without_usage for one in groups),
        cost=known_sum(one.cost for one in groups),
        without_price=sum(one.without_price for one in groups),
    )


def dearest_sessions(connection: Connection, audit_id: str) -> list[Session]:
    """The `MOST_SESSIONS` dearest of each judge, of those whose cost is known; the dearest of all first."""
    query = f"""
        WITH sessions AS (
            SELECT judge_id, pair_id, trajectory_id, MIN(model) AS model, COUNT(*) AS calls,
                SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens, SUM(est_cost) AS cost
            FROM judge_logs
            WHERE audit_id = :audit AND role = 'judge' AND cached_from IS NULL
                AND (pair_id IS NOT NULL OR trajectory_id IS NOT NULL)
            GROUP BY judge_id, pair_id, trajectory_id
        ),
        placed AS (
            SELECT *, ROW_NUMBER() OVER (
                PARTITION BY judge_id
                ORDER BY cost DESC, COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0) DESC, pair_id, trajectory_id
            ) AS place
            FROM sessions WHERE cost IS NOT NULL
        )
        SELECT judge_id, pair_id, trajectory_id, model, calls, input_tokens, output_tokens, cost
        FROM placed WHERE place <= {MOST_SESSIONS}
    """
    found = [Session(*row) for row in connection.execute(text(query), {"audit": audit_id})]
    return sorted(found, key=_dearest_first)


def _dearest_first(one: Session) -> tuple[float, int, str, str]:
    tokens = (one.input_tokens or 0) + (one.output_tokens or 0)
    return -one.cost, -tokens, one.pair_id or one.trajectory_id or "", one.judge_id or ""

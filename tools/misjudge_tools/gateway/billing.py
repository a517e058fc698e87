"""What a call used and cost, and how its attempts are logged. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from misjudge_tools.gateway.calls import Attempt, Exchange
from misjudge_tools.gateway.pricing import Priced, Pricing


class Used(NamedTuple):
    """What a call took. None: not stated; then its estimate counts."""

    tokens: int | None
    usd: float | None


UNUSED = Used(0, 0.0)
"""What a call took that was not made."""


def prices_of(exchange: Exchange, pricing: Pricing) -> list[Priced]:
    """What each attempt cost; of a failed one nothing is known, since a provider may bill it or not."""
    return [
        Priced(None, None) if attempt.error is not None else pricing.of(attempt.input_tokens, attempt.output_tokens)
        for attempt in exchange.attempts
    ]


def use_of(exchange: Exchange, costs: Sequence[Priced]) -> Used:
    """What the replies of a call used; None where one of them does not state it. Failed attempts count as free."""
    replies = [pair for pair in zip(exchange.attempts, costs, strict=True) if pair[0].error is None]
    tokens = [(attempt.input_tokens, attempt.output_tokens) for attempt, _ in replies]
    usd = [cost.usd for _, cost in replies]
    return Used(
        None if any(None in pair for pair in tokens) else sum((i or 0) + (o or 0) for i, o in tokens),
        None if None in usd else sum(known for known in usd if known is not None),
    )


def attempt_fields(attempt: Attempt, cost: Priced) -> dict[str, object]:
    """The fields of a log that an attempt states."""
    return {
        "attempt": attempt.number,
        "params": attempt.params,
        "raw_output": attempt.raw_output,
        "error": attempt.error,
        "finish_reason": attempt.finish_reason,
        "input_tokens": attempt.input_tokens,
        "output_tokens": attempt.output_tokens,
        "latency_ms": attempt.latency_ms,
        "est_cost": cost.usd,
        "price_source": cost.source,
        "request_id": attempt.request_id,
        "retry_after_s": attempt.retry_after_s,
    }

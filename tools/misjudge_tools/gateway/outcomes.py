"""What an answer means: for the record, for the caller, and for the limits."""

from __future__ import annotations

from misjudge_storage.errors import GatewayError, RateLimited
from misjudge_tools.gateway.calls import Attempt, Exchange
from misjudge_tools.gateway.pace import Signal
from misjudge_tools.gateway.replies import Fault, Reply


def attempt(number: int, outcome: Reply | Fault, latency_ms: float, params: str) -> Attempt:
    """The attempt that came to this."""
    if isinstance(outcome, Fault):
        error = type(outcome.error).__name__
        return Attempt(number, None, None, None, None, latency_ms, outcome.request_id, error, params, outcome.wait_s)
    return Attempt(
        number=number,
        raw_output=outcome.raw_output,
        finish_reason=outcome.finish_reason,
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        latency_ms=latency_ms,
        request_id=outcome.request_id,
        error=None,
        params=params,
        tool_calls=outcome.tool_calls,
    )


def exchange(outcome: Reply | GatewayError, attempts: tuple[Attempt, ...]) -> Exchange:
    """The call that ended like this."""
    if isinstance(outcome, GatewayError):
        return Exchange(None, False, False, attempts, outcome)
    if outcome.refused:
        return Exchange(None, outcome.truncated, True, attempts, None)
    return Exchange(outcome.raw_output or "", outcome.truncated, False, attempts, None, outcome.tool_calls)


def signal(outcome: Reply | Fault | None, longest_pause_s: float) -> Signal:
    """What the limits learn from an attempt; None: it was cancelled. A request that was too many used no tokens."""
    if outcome is None:
        return Signal()
    if isinstance(outcome, Reply):
        return Signal(replied=True, tokens=outcome.tokens)
    limited = isinstance(outcome.error, RateLimited)
    pause_s = min(outcome.wait_s or 0.0, longest_pause_s) if outcome.error.retryable else 0.0
    return Signal(limited=limited, tokens=0 if limited else None, pause_s=pause_s)

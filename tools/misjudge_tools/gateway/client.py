"""The gateway over HTTP: bounded retries, adapted parameters, typed errors.

Keys, prompts and replies appear in no error, log line or `repr` of this module.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from pydantic import SecretStr

from misjudge_storage.errors import (
    CallTimeout,
    GatewayError,
    InvalidInput,
    MissingKey,
    ProviderFailed,
    Unreachable,
    WrongAddress,
)
from misjudge_storage.types import ToolCall
from misjudge_tools.gateway.addresses import is_loopback, normalise_base_url, other_form
from misjudge_tools.gateway.backoff import backoff, retry_after
from misjudge_tools.gateway.calls import ENLARGED, Attempt, Call, Exchange, no_key
from misjudge_tools.gateway.clock import Clock, SystemClock
from misjudge_tools.gateway.limits import Limiter, Turn
from misjudge_tools.gateway.outcomes import attempt, exchange, signal
from misjudge_tools.gateway.parameters import Shape, effective_params, encode, estimated_tokens, narrowed, request_body
from misjudge_tools.gateway.replies import Answer, Fault, Problem, Reply, read_answer
from misjudge_tools.gateway.settings import DEFAULT_KEY_VARIABLE
from misjudge_tools.gateway.simulated_bias import Told

if TYPE_CHECKING:
    from misjudge_tools.gateway.transport import Transport

SHORTEST_SECRET = 16
"""Characters from which on a key is taken out of answers; shorter ones are words such as `local`."""
SHORTEST_ATTEMPT_S = 1.0
"""No attempt starts with less of the deadline left than this, its own limit or half the deadline: the least counts."""
REMOVED = "[key removed]"
LARGER = 4
"""How many times the token limit grows for the one retry of a truncated reply."""

_BAD_KEY = "The key for the gateway holds spaces, quotes or letters that no key has. Copy it again into {variable}."
_CHANGED = "The gateway has answered before, but now with something that is not a chat completion. Try again later."
_STORED = ("raw_output", "finish_reason", "request_id")
_UNSETTLED = (WrongAddress, Unreachable, CallTimeout, ProviderFailed)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Asked:
    """One `ask` under way. Its deadline is set when its first attempt starts; `failed` is the last failure.

    `limit` is what is asked for as the longest reply; `base`, `shape` and `body` are those of the last attempt.
    """

    call: Call
    limit: int | None
    deadline: float = math.inf
    failed: GatewayError | None = None
    base: str = ""
    shape: Shape = field(default_factory=Shape)
    body: dict[str, Any] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)


class HttpGateway:
    """Answers calls over HTTP. Use one within one event loop, and close it there.

    `timeout_s` bounds an attempt and `deadline_s` a whole call from the start of its first attempt, waits
    included; `max_attempts` counts failures, not the extra attempts that adapt a parameter, try the address with
    or without `/v1`, or enlarge the limit of a truncated reply (once). `concurrency` attempts are under way at
    most; the limits per minute are those of each model. `key_variable` names, for messages, where the key is from.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        timeout_s: float = 60.0,
        deadline_s: float = 180.0,
        max_attempts: int = 4,
        concurrency: int = 32,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        key_variable: str = DEFAULT_KEY_VARIABLE,
        trust_env: bool = True,
        simulated: bool = False,
        clock: Clock | None = None,
        limiter: Limiter | None = None,
    ) -> None:
        """Raises InvalidInput for a URL or key that cannot be used and MissingKey for an empty key."""
        self.simulated = simulated
        self._base = normalise_base_url(base_url)
        self._other: str | None = other_form(self._base)
        self._answered = False
        self._key = SecretStr(_usable(key, key_variable))
        self._key_variable = key_variable
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._max_attempts = max_attempts
        self._concurrency = concurrency
        # A proxy cannot reach a server on this machine.
        self._trust_env = trust_env and not is_loopback(self._base)
        self._clock = clock or SystemClock()
        self._limiter = limiter or Limiter(
            self._clock,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
        )
        self._shapes: dict[str, Shape] = {}
        self._opening = asyncio.Lock()
        self._transport: Transport | None = None

    def __repr__(self) -> str:
        return f"HttpGateway(simulated={self.simulated})"

    async def ask(self, call: Call) -> Exchange:
        """The exchange, with its error if it came to one. Raises nothing but cancellation."""
        asked = _Asked(call, call.max_tokens)
        outcome = await self._persist(asked)
        if isinstance(outcome, Reply) and outcome.truncated and call.max_tokens is not None and call.role in ENLARGED:
            asked.limit = call.max_tokens * LARGER
            larger = await self._persist(asked)
            outcome = larger if isinstance(larger, Reply) else outcome
        return exchange(outcome, tuple(asked.attempts))

    async def tell_truth(self, truth: Mapping[str, Told]) -> None:
        """Tells a simulated gateway who did the job, by `template_hash` of a transcript as a judge is shown it, with
        its fence lines or without.

        Raises GatewayError, and InvalidInput at a gateway that is not simulated.
        """
        if not self.simulated:
            raise InvalidInput("Only a simulated gateway is told who did the job.")
        transport = self._transport or await self._open()
        body = encode({known: told.model_dump() for known, told in truth.items()})
        answer = await self._answer(transport, urljoin(self._base, "/truth"), body, self._timeout_s)
        if isinstance(answer, GatewayError):
            raise answer
        if answer.status != 200:
            raise WrongAddress(
                f"The simulated gateway did not take who did the job ({answer.status}). "
                "Check that `misjudge simulate` of this version serves this address."
            )

    async def aclose(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def _persist(self, asked: _Asked) -> Reply | GatewayError:
        failures = 0
        while True:
            outcome = await self._post(asked)
            if isinstance(outcome, Reply):
                return outcome
            if self._adapted(asked, outcome.problem):
                continue
            failures += 1
            if not outcome.error.retryable or failures >= self._max_attempts:
                return outcome.error
            asked.failed = outcome.error
            delay = max(backoff(failures, encode(asked.body)), outcome.wait_s or 0.0)
            if not self._enough(asked.deadline - self._clock.now() - delay):
                return self._too_late(outcome)
            _log.debug("attempt %d: %s; next in %.1f s", len(asked.attempts), type(outcome.error).__name__, delay)
            await self._clock.sleep(delay)

    def _adapted(self, asked: _Asked, problem: Problem) -> bool:
        """Whether the refusal taught what to leave out. Another call may have learnt it in the meantime."""
        model, shape = asked.call.model, asked.shape
        narrower = narrowed(asked.body, shape, problem)
        if narrower is None:
            return False
        if self._shapes.get(model, Shape()) == shape:
            self._shapes[model] = narrower
            _log.info("the model refuses a parameter; from now on: %s", narrower)
        return True

    def _too_late(self, fault: Fault) -> GatewayError:
        if fault.wait_s is None:
            return fault.error
        waits = f"It asks to wait {fault.wait_s:.0f} s, longer than the deadline of {self._deadline_s:g} s allows."
        return type(fault.error)(f"{fault.error} {waits}")

    async def _post(self, asked: _Asked) -> Reply | Fault:
        """One attempt, and where the address answers 404 one more at its other form, which is kept if it works."""
        outcome = await self._attempt(asked)
        if isinstance(outcome, Reply) or outcome.problem.status != 404:
            return outcome
        if asked.base != self._base:
            # Another call has found the right form in the meantime.
            return await self._attempt(asked)
        other = self._other
        if other is None or not isinstance(outcome.error, WrongAddress):
            return outcome
        probe = await self._attempt(asked, other)
        if isinstance(probe, Fault) and isinstance(probe.error, WrongAddress):
            self._other = None
            return outcome
        if isinstance(probe, Reply) or not isinstance(probe.error, _UNSETTLED):
            self._base, self._other = other, None
        return probe

    async def _attempt(self, asked: _Asked, base: str | None = None) -> Reply | Fault:
        """One request, in its turn. Without a turn before the deadline, the call ends as its last attempt did."""
        turn = await self._turn(asked)
        if turn is None:
            return self._over(asked)
        outcome: Reply | Fault | None = None
        try:
            outcome = await self._send(asked, base or self._base)
            return outcome
        finally:
            self._limiter.leave(turn, signal(outcome, self._deadline_s))

    async def _turn(self, asked: _Asked) -> Turn | None:
        """None: the deadline came first. It starts with the first turn, which a call waits for as long as it takes."""
        call, tokens = asked.call, estimated_tokens(asked.call, asked.limit)
        if asked.deadline == math.inf:
            turn = await self._limiter.turn(call.model, call.role, tokens)
            asked.deadline = self._clock.now() + self._deadline_s
            return turn
        try:
            async with self._clock.within(asked.deadline - self._clock.now()):
                return await self._limiter.turn(call.model, call.role, tokens, again=True)
        except TimeoutError:
            return None

    def _enough(self, left_s: float) -> bool:
        """Whether what is left of the deadline is worth an attempt."""
        return left_s > 0 and left_s >= min(SHORTEST_ATTEMPT_S, self._timeout_s, self._deadline_s / 2)

    def _over(self, asked: _Asked) -> Fault:
        return Fault(asked.failed or CallTimeout(f"No usable answer within the deadline of {self._deadline_s:g} s."))

    async def _send(self, asked: _Asked, base: str) -> Reply | Fault:
        # Only now: while the call waited for its turn, others may have learnt what the model refuses.
        asked.base, asked.shape = base, self._shapes.get(asked.call.model, Shape())
        asked.body = request_body(asked.call, asked.shape, asked.limit)
        transport = self._transport or await self._open()
        started = self._clock.now()
        left = asked.deadline - started
        if not self._enough(left):
            return self._over(asked)
        limit = min(self._timeout_s, left)
        answer = await self._answer(transport, f"{base}/chat/completions", encode(asked.body), limit)
        latency_ms = (self._clock.now() - started) * 1000.0
        outcome = self._read(answer, with_tools=asked.call.tools is not None)
        params = effective_params(asked.body)
        asked.attempts.append(attempt(len(asked.attempts) + 1, outcome, latency_ms, params))
        return outcome

    async def _answer(
        self, transport: Transport | Unreachable, url: str, body: bytes, limit: float
    ) -> Answer | GatewayError:
        if isinstance(transport, Unreachable):
            return transport
        try:
            async with self._clock.within(limit):
                return await transport.send(url, body)
        except TimeoutError:
            seconds = f"{float(f'{limit:.3g}'):g}"
            return CallTimeout(f"The gateway did not answer within {seconds} s. Try again later, or allow more time.")

    async def _open(self) -> Transport | Unreachable:
        async with self._opening:
            if self._transport is None:
                # In a thread: importing openai takes up to a second, and the server must stay responsive.
                opened = await asyncio.to_thread(
                    _open_transport, self._key, trust_env=self._trust_env, connections=self._concurrency
                )
                if isinstance(opened, Unreachable):
                    return opened
                self._transport = opened
            return self._transport

    def _without_key(self, outcome: Reply | Fault) -> Reply | Fault:
        """What came with our key taken out: a gateway or model that echoes it must not get it stored."""
        key = self._key.get_secret_value()
        if len(key) < SHORTEST_SECRET:
            return outcome
        said = {name: getattr(outcome, name, None) for name in _STORED}
        found = {name: text.replace(key, REMOVED) for name, text in said.items() if text and key in text}
        outcome = outcome._replace(**found) if found else outcome
        if isinstance(outcome, Fault) or not outcome.tool_calls:
            return outcome
        return outcome._replace(tool_calls=tuple(_call_without(key, call) for call in outcome.tool_calls))

    def _read(self, answer: Answer | GatewayError, *, with_tools: bool) -> Reply | Fault:
        if isinstance(answer, GatewayError):
            return Fault(answer)
        outcome = self._without_key(read_answer(answer, self._key_variable, with_tools=with_tools))
        if isinstance(outcome, Reply):
            self._answered = True
            return outcome
        if self._answered and isinstance(outcome.error, WrongAddress):
            # An address that has worked is right; a stray web page must not stop a run.
            outcome = outcome._replace(error=ProviderFailed(_CHANGED))
        return outcome._replace(wait_s=retry_after(answer.headers, self._clock.now()))


def _call_without(key: str, call: ToolCall) -> ToolCall:
    said = {"name": call.name, "arguments": call.arguments, "id": call.id}
    return call.model_copy(update={name: text and text.replace(key, REMOVED) for name, text in said.items()})


def _usable(key: str, variable: str) -> str:
    key = key.strip()
    if not key:
        raise MissingKey(no_key(variable))
    if not re.fullmatch(r"[\x21\x23-\x26\x28-\x7e]+", key):
        raise InvalidInput(_BAD_KEY.format(variable=variable))
    return key


def _open_transport(key: SecretStr, *, trust_env: bool, connections: int) -> Transport | Unreachable:
    from misjudge_tools.gateway.transport import open_transport

    # The modules are here to stay; walking over them again and again took a tenth of a run's CPU.
    gc.freeze()
    return open_transport(key.get_secret_value(), trust_env=trust_env, connections=connections)

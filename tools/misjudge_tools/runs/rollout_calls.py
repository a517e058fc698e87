"""The model calls of one rollout: each within the run's limits and stored as it comes.

A rollout that is tried again makes the same requests, so it first takes the replies that it got the last time: nothing
is paid twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple
from uuid import uuid4

from pydantic import TypeAdapter

from misjudge_storage.errors import GatewayError, RequestRefused
from misjudge_storage.hashing import canonical, digest, template_hash
from misjudge_storage.judging_records import CellResult, StoredCall
from misjudge_storage.rows import Row, log_row
from misjudge_storage.types import Log, Role, ToolCall
from misjudge_tools.gateway.billing import attempt_fields, prices_of, use_of
from misjudge_tools.gateway.calls import Call, Exchange
from misjudge_tools.gateway.parameters import sent_bytes
from misjudge_tools.gateway.ways import OpenGateway
from misjudge_tools.judging.prompts import PromptTemplate
from misjudge_tools.runs.budget import upper_bound
from misjudge_tools.runs.paid import CallLost, Paid

_FLAGS = ("truncated", "refused")
_CALLS: TypeAdapter[tuple[ToolCall, ...]] = TypeAdapter(tuple[ToolCall, ...])


class RolloutRef(NamedTuple):
    """Where the calls of a rollout belong."""

    audit_id: str
    run_id: str
    trajectory_id: str
    task_id: str


class RolloutCalls:
    """Asks the models of one rollout. `replies` are those of earlier tries, by `reply_key`."""

    def __init__(
        self,
        ref: RolloutRef,
        ways: Mapping[Role, OpenGateway],
        prompts: Mapping[Role, PromptTemplate],
        paid: Paid,
        replies: Mapping[str, StoredCall],
    ) -> None:
        self._ref = ref
        self._ways = ways
        self._prompts = prompts
        self._paid = paid
        self._replies = dict(replies)
        self._tokens: dict[Role, list[tuple[int | None, int | None]]] = {}
        self._taken: set[Role] = {"success_check"}

    async def ask(self, call: Call, turn: int) -> Exchange:
        """The exchange. Raises CallLost, LimitReached or RunEnding, which end this try of the rollout."""
        way = self._ways[call.role]
        key = digest("turn", [way.address, turn, call.model_dump()])
        known = self._replies.pop(key, None)
        if known is not None:
            self._taken.add(call.role)
            self._count(call.role, known.input_tokens, known.output_tokens)
            return _exchange(known)
        most = upper_bound(sent_bytes(call), call.max_tokens or 0, way.pricing)
        async with self._paid.leave(call.role, self._ref.task_id, most) as leave:
            exchange = await way.gateway.ask(call)
            costs = prices_of(exchange, way.pricing)
            leave.used = use_of(exchange, costs)
            await self._paid.save(CellResult(None, self._logs(call, turn, key, exchange, way)))
        for attempt in exchange.attempts:
            if attempt.error is None:
                self._count(call.role, attempt.input_tokens, attempt.output_tokens)
        if exchange.error is not None and not self._ends_episode(call.role, exchange.error):
            raise CallLost(exchange.error)
        self._taken.add(call.role)
        await self._paid.answered()
        return exchange

    def _ends_episode(self, role: Role, error: GatewayError) -> bool:
        """Whether the model will not take this request, though it took others before: then its role has failed.

        One that takes none says nothing of the role: it was asked with a wrong name or parameter.
        """
        refused = isinstance(error, RequestRefused) and not error.stops_run
        return not error.leaves_open or (refused and role in self._taken)

    def used(self, role: Role) -> tuple[int | None, int | None]:
        """Tokens in and out of a role in this rollout; None where a reply does not state them, or none was asked."""
        replies = self._tokens.get(role, [])
        if not replies or any(None in pair for pair in replies):
            return None, None
        return sum(i or 0 for i, _ in replies), sum(o or 0 for _, o in replies)

    def _count(self, role: Role, input_tokens: int | None, output_tokens: int | None) -> None:
        self._tokens.setdefault(role, []).append((input_tokens, output_tokens))

    def _logs(self, call: Call, turn: int, key: str, exchange: Exchange, way: OpenGateway) -> tuple[Row, ...]:
        template = self._prompts.get(call.role)
        asked = template_hash(canonical([one.model_dump() for one in call.messages]))
        replies = [] if exchange.error is not None else [one for one in exchange.attempts if one.error is None]
        rows = []
        for attempt, cost in zip(exchange.attempts, prices_of(exchange, way.pricing), strict=True):
            taken = bool(replies) and attempt is replies[-1]
            log = Log(
                role=call.role,
                model=call.model,
                turn=turn,
                prompt_hash=None if template is None else template.hash,
                prompt_version=None if template is None else template.version,
                rendered_hash=asked,
                parsed_json=_read_json(attempt.tool_calls, exchange if taken else None),
                simulated=way.gateway.simulated,
            ).model_copy(update={**attempt_fields(attempt, cost), "reply_key": key if taken else None})
            links = {"run_id": self._ref.run_id, "cell_id": self._ref.trajectory_id}
            rows.append(log_row(self._ref.audit_id, log, uuid4().hex, **links, trajectory_id=self._ref.trajectory_id))
        return tuple(rows)


def _read_json(calls: tuple[ToolCall, ...], taken: Exchange | None) -> str | None:
    """The tool calls of a reply, and what else is to be known of it where it is `taken` again."""
    read: dict[str, object] = {"tool_calls": [call.model_dump() for call in calls]} if calls else {}
    if taken is not None:
        read |= {name: True for name in _FLAGS if getattr(taken, name)}
    return json.dumps(read, ensure_ascii=False) if read else None


def _exchange(stored: StoredCall) -> Exchange:
    read = json.loads(stored.parsed_json or "{}")
    truncated, refused = (read.get(name, False) for name in _FLAGS)
    calls = _CALLS.validate_python(read.get("tool_calls", []))
    return Exchange(None if refused else stored.raw_output or "", truncated, refused, (), None, calls)

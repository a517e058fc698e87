"""The model calls of one cell that takes several: each within the run's limits and stored as it comes.

A cell that is tried again makes the same requests, so it first takes the replies that it got the last time: nothing is
paid twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import uuid4

from pydantic import TypeAdapter

from misjudge_storage.errors import GatewayError, RequestRefused
from misjudge_storage.hashing import canonical, digest, template_hash
from misjudge_storage.judging_records import CellResult, StoredCall
from misjudge_storage.rows import Row, log_row
from misjudge_storage.types import Log, Role, ToolCall, UnscoredReason
from misjudge_tools.gateway.billing import attempt_fields, prices_of, use_of
from misjudge_tools.gateway.calls import Attempt, Call, Exchange
from misjudge_tools.gateway.parameters import sent_bytes
from misjudge_tools.gateway.ways import OpenGateway
from misjudge_tools.judging.prompts import PromptTemplate
from misjudge_tools.runs.budget import upper_bound
from misjudge_tools.runs.paid import CallLost, Paid

_FLAGS = ("truncated", "refused")
_CALLS: TypeAdapter[tuple[ToolCall, ...]] = TypeAdapter(tuple[ToolCall, ...])


class CellRef(NamedTuple):
    """Where the calls of a cell belong: to a rollout's trajectory, or to who writes or matches a rubric."""

    audit_id: str
    run_id: str
    cell_id: str
    task_id: str
    trajectory_id: str | None
    judge_id: str | None


class Said(NamedTuple):
    """What was read of a reply, for its log."""

    read: Mapping[str, object]
    unscored_reason: UnscoredReason | None = None


class Answered(NamedTuple):
    """A call that was answered, or that its model will not take, and the log that holds it."""

    exchange: Exchange
    log_id: str | None = None


ReadsReply = Callable[[Exchange], Said]


class CellCalls:
    """Asks the models of one cell. `replies` are those of earlier tries, by `reply_key`.

    `ends_at_refusal`: a request that the model will not take, though it took others before in this cell, ends what the
    cell is of, as an episode; else it is lost like any other, and asked again when the run is resumed.
    """

    def __init__(
        self,
        ref: CellRef,
        ways: Mapping[Role, OpenGateway],
        prompts: Mapping[Role, PromptTemplate],
        paid: Paid,
        replies: Mapping[str, StoredCall],
        *,
        ends_at_refusal: bool,
    ) -> None:
        self._ref = ref
        self._ways = ways
        self._prompts = prompts
        self._paid = paid
        self._replies = dict(replies)
        self._ends_at_refusal = ends_at_refusal
        self._tokens: dict[Role, list[tuple[int | None, int | None]]] = {}
        self._taken: set[Role] = {"success_check"}

    async def ask(self, call: Call, turn: int) -> Exchange:
        """The exchange. Raises CallLost, LimitReached or RunEnding, which end this try of the cell."""
        return (await self.answer(call, turn)).exchange

    async def answer(self, call: Call, turn: int, reads: ReadsReply | None = None) -> Answered:
        """As `ask`; what `reads` makes of the reply stands in its log."""
        way = self._ways[call.role]
        key = digest("turn", [way.address, turn, call.model_dump()])
        known = self._replies.pop(key, None)
        if known is not None:
            self._taken.add(call.role)
            self._count(call.role, known.input_tokens, known.output_tokens)
            return Answered(_exchange(known), known.log_id)
        most = upper_bound(text_bytes(call), call.max_tokens or 0, way.pricing)
        async with self._paid.leave(call.role, self._ref.task_id, most) as leave:
            exchange = await way.gateway.ask(call)
            leave.used = use_of(exchange, prices_of(exchange, way.pricing))
            logs = self._logs(call, turn, key, exchange, reads)
            await self._paid.save(CellResult(None, logs))
        for attempt in exchange.attempts:
            if attempt.error is None:
                self._count(call.role, attempt.input_tokens, attempt.output_tokens)
        if exchange.error is not None and not self._is_final(call.role, exchange.error):
            raise CallLost(exchange.error)
        self._taken.add(call.role)
        await self._paid.answered()
        return Answered(exchange, str(logs[-1]["log_id"]) if logs else None)

    def _is_final(self, role: Role, error: GatewayError) -> bool:
        """Whether the model will not take this request, though it took others before: then its role has failed.

        One that takes none says nothing of the role: it was asked with a wrong name or parameter.
        """
        if isinstance(error, RequestRefused) and not error.stops_run and self._ends_at_refusal:
            return role in self._taken
        return not error.leaves_open

    def used(self, role: Role) -> tuple[int | None, int | None]:
        """Tokens in and out of a role in this cell; None where a reply does not state them, or none was asked."""
        replies = self._tokens.get(role, [])
        if not replies or any(None in pair for pair in replies):
            return None, None
        return sum(i or 0 for i, _ in replies), sum(o or 0 for _, o in replies)

    def _count(self, role: Role, input_tokens: int | None, output_tokens: int | None) -> None:
        self._tokens.setdefault(role, []).append((input_tokens, output_tokens))

    def _logs(self, call: Call, turn: int, key: str, exchange: Exchange, reads: ReadsReply | None) -> tuple[Row, ...]:
        way = self._ways[call.role]
        asked = template_hash(canonical([one.model_dump() for one in call.messages]))
        said = Said({}) if reads is None else reads(exchange)
        replies = [] if exchange.error is not None else [one for one in exchange.attempts if one.error is None]
        rows = []
        for attempt, cost in zip(exchange.attempts, prices_of(exchange, way.pricing), strict=True):
            taken = bool(replies) and attempt is replies[-1]
            template = self._prompts.get(call.role)
            log = Log(
                role=call.role,
                model=call.model,
                turn=turn,
                prompt_hash=None if template is None else template.hash,
                prompt_version=None if template is None else template.version,
                rendered_hash=asked,
                parsed_json=_read_json(attempt, exchange, said) if taken else _read_json(attempt),
                unscored_reason=said.unscored_reason if attempt is exchange.attempts[-1] else None,
                simulated=way.gateway.simulated,
            ).model_copy(update={**attempt_fields(attempt, cost), "reply_key": key if taken else None})
            rows.append(self._row(log))
        return tuple(rows)

    def _row(self, log: Log) -> Row:
        ref = self._ref
        links = {"run_id": ref.run_id, "cell_id": ref.cell_id}
        about = {"trajectory_id": ref.trajectory_id, "judge_id": ref.judge_id}
        return log_row(ref.audit_id, log, uuid4().hex, **links, **about)


def text_bytes(call: Call) -> int:
    """All text that a call sends, with the schema of its reply."""
    return sent_bytes(call) + len((call.json_schema or "").encode())


def _read_json(attempt: Attempt, taken: Exchange | None = None, said: Said | None = None) -> str | None:
    """The tool calls of a reply, and where it is the one that is `taken`, what is to be known when it is taken again,
    and what was read of it.
    """
    read: dict[str, object] = {} if said is None else dict(said.read)
    if attempt.tool_calls:
        read["tool_calls"] = [call.model_dump() for call in attempt.tool_calls]
    if taken is not None:
        read |= {name: True for name in _FLAGS if getattr(taken, name)}
    return json.dumps(read, ensure_ascii=False) if read else None


def _exchange(stored: StoredCall) -> Exchange:
    read = json.loads(stored.parsed_json or "{}")
    truncated, refused = (read.get(name, False) for name in _FLAGS)
    calls = _CALLS.validate_python(read.get("tool_calls", []))
    return Exchange(None if refused else stored.raw_output or "", truncated, refused, (), None, calls)

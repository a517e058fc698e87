"""What a model call is made of, and what came of it.

A `Call` goes to a `Gateway`; an `Exchange` comes back with every attempt that was made, billed or failed.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal, NamedTuple, Protocol

from pydantic import Field, field_validator

from misjudge_storage.errors import GatewayError
from misjudge_storage.types import Name, Role, ToolCall, Value
from misjudge_tools.gateway.settings import RoleName

_WITHOUT_KEY: dict[RoleName, str] = {
    "judge": "use judge=local (a small real model, no key) or judge=simulated (made-up verdicts, no key)",
    "agent": "take agents that need none: scripted ones such as diligent, or local (a small real model)",
    "user_sim": "use user=scripted or user=local (--user), which need none",
}
ENLARGED: frozenset[Role] = frozenset({"judge", "success_check", "rubric_generate", "rubric_match", "rubric_apply"})
"""Roles whose reply is of no use when it is cut off. What an agent or a customer said is what it said."""


def no_key(variable: str, role: RoleName = "judge") -> str:
    """What to say where `variable` holds no key: the ways on."""
    return f"No gateway key is configured. Set {variable}, or {_WITHOUT_KEY[role]}."


class ChatTurn(Value):
    """One message of a request. `tool_calls` are those of an assistant, `tool_call_id` the one that a tool answers."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


class Call(Value):
    """One question to a model. A parameter that is None is left to the gateway's default.

    `json_schema` is the JSON text of the schema that the reply must fit, `tools` that of OpenAI's list of tools.
    `role`: what the call is made for; the roles share a gateway's limits fairly.
    """

    model: Name
    role: Role = "judge"
    messages: Annotated[tuple[ChatTurn, ...], Field(min_length=1)]
    temperature: Annotated[float, Field(ge=0)] | None = 0.0
    max_tokens: Annotated[int, Field(ge=1)] | None = 1024
    seed: int | None = None
    json_schema: str | None = None
    tools: str | None = None

    @field_validator("json_schema")
    @classmethod
    def _is_an_object(cls, text: str | None) -> str | None:
        if text is not None and not isinstance(json.loads(text), dict):
            raise ValueError("json_schema must be the JSON text of an object")
        return text

    @field_validator("tools")
    @classmethod
    def _is_a_list(cls, text: str | None) -> str | None:
        tools = None if text is None else json.loads(text)
        if text is not None and not (isinstance(tools, list) and tools):
            raise ValueError("tools must be the JSON text of a list that is not empty")
        return text


class Attempt(NamedTuple):
    """One request that was sent. Token counts are the gateway's own, None where it states none.

    `error` is the class name of the typed error; `params` is canonical JSON of the parameters as sent,
    with the kind of `response_format` in place of its schema; `retry_after_s` is the wait that the answer asked for.
    """

    number: int
    raw_output: str | None
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    latency_ms: float
    request_id: str | None
    error: str | None
    params: str
    retry_after_s: float | None = None
    tool_calls: tuple[ToolCall, ...] = ()


class Exchange(NamedTuple):
    """The outcome of a call. `text` is None only where `refused` or `error` says why, "" beside `tool_calls` alone."""

    text: str | None
    truncated: bool
    refused: bool
    attempts: tuple[Attempt, ...]
    error: GatewayError | None
    tool_calls: tuple[ToolCall, ...] = ()


class Gateway(Protocol):
    """Anything that answers calls. `simulated` marks everything it answers as made up."""

    simulated: bool

    async def ask(self, call: Call) -> Exchange:
        """Never raises for trouble with the provider: `Exchange.error` holds it."""
        ...

    async def aclose(self) -> None: ...

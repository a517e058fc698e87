"""Reads the tool calls of a reply, which are hostile text like the rest: bounded, and taken whole or not at all."""

from __future__ import annotations

import json
from typing import Any

from misjudge_storage.types import ToolCall

MOST_CALLS = 64
"""Tool calls that one reply may make."""
MOST_CHARS = 256_000
"""Characters that their arguments may have together."""
_NAME_CHARS = 200


class UnreadableCalls(ValueError):
    """The tool calls of a message cannot be read; the message says why, without their text."""


def read_tool_calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls of an assistant message, also one in the older form `function_call`. Raises UnreadableCalls."""
    listed = message.get("tool_calls")
    if not listed:
        older = message.get("function_call")
        return (_call({"function": older}),) if older else ()
    if not isinstance(listed, list):
        raise UnreadableCalls("tool calls that are no list")
    if len(listed) > MOST_CALLS:
        raise UnreadableCalls(f"more than {MOST_CALLS} tool calls")
    calls = tuple(_call(entry) for entry in listed)
    if sum(len(call.arguments) for call in calls) > MOST_CHARS:
        raise UnreadableCalls(f"tool calls of more than {MOST_CHARS:,} characters")
    return calls


def storable(text: str) -> str:
    """Joins surrogate pairs and replaces lone ones, which no store can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _call(entry: Any) -> ToolCall:
    made: dict[str, Any] = entry if isinstance(entry, dict) else {}
    function: dict[str, Any] = made["function"] if isinstance(made.get("function"), dict) else {}
    name, given = function.get("name"), made.get("id")
    if not isinstance(name, str) or not 0 < len(name) <= _NAME_CHARS:
        raise UnreadableCalls("a tool call without a function's name")
    return ToolCall(
        name=storable(name),
        arguments=_arguments(function.get("arguments")),
        id=storable(given)[:_NAME_CHARS] if isinstance(given, str) and given else None,
    )


def _arguments(given: Any) -> str:
    """JSON text as the model wrote it. Some gateways send the object itself."""
    if given is None or given == "":
        return "{}"
    if isinstance(given, dict):
        return storable(json.dumps(given, ensure_ascii=False))
    if not isinstance(given, str) or len(given) > MOST_CHARS:
        raise UnreadableCalls("a tool call whose arguments are no JSON text")
    return storable(given)

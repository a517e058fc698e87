"""Chat messages of OpenAI and Anthropic logs as values.

Text parts are joined by line breaks. What is not text (images, audio, files) is named in square brackets,
and hidden reasoning is left out: a judge must not give credit for what the customer never saw.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from misjudge_storage.types import Message, RecordError, ToolCall

_ROLES: dict[Any, Literal["system", "user", "assistant", "tool"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_SILENT_PARTS = {"thinking", "redacted_thinking", "reasoning", "tool_use", "tool_result"}
_PLACEHOLDERS = {
    "image": "[image]",
    "image_url": "[image]",
    "input_image": "[image]",
    "audio": "[audio]",
    "input_audio": "[audio]",
    "document": "[file]",
    "file": "[file]",
    "input_file": "[file]",
}


def read_messages(value: object) -> tuple[Message, ...]:
    """The messages of one trajectory. Raises RecordError, naming the message by its number from 1.

    An Anthropic message that holds tool results becomes several: the results (role tool) and the text
    around them, in the order written.
    """
    if not isinstance(value, list):
        raise RecordError("messages must be a list of chat messages")
    read: list[Message] = []
    for index, item in enumerate(value, 1):
        try:
            read.extend(_messages_of(item))
        except RecordError as error:
            raise RecordError(f"message {index} {error}") from None
    return tuple(read)


def system_message(value: object) -> tuple[Message, ...]:
    """Anthropic's separate system prompt (text or text blocks) as a message, or nothing where there is none."""
    try:
        text = _text(value)
    except RecordError as error:
        raise RecordError(f"system {error}") from None
    return (Message(role="system", content=text),) if text else ()


def _messages_of(item: object) -> Iterator[Message]:
    if not isinstance(item, dict):
        raise RecordError("is not an object with role and content")
    named = item.get("role")
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        raise RecordError(f"has a role other than {', '.join(_ROLES)}")
    content = item.get("content")
    if role == "user" and isinstance(content, list):
        yield from _user_messages(content, _label(item, "name"))
        return
    yield Message(
        role=role,
        content=_text(content),
        tool_calls=tuple(_tool_calls(item)) if role == "assistant" else (),
        tool_call_id=_label(item, "tool_call_id") if role == "tool" else None,
        name=_label(item, "name"),
    )


def _user_messages(parts: list[Any], name: str | None) -> Iterator[Message]:
    pending: list[Any] = []
    results = False
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            results = True
            if pending:
                yield Message(role="user", content=_text(pending), name=name)
                pending = []
            yield Message(role="tool", content=_text(part.get("content")), tool_call_id=_label(part, "tool_use_id"))
        else:
            pending.append(part)
    if pending or not results:
        yield Message(role="user", content=_text(pending), name=name)


def _text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise RecordError("has content that is neither text nor a list of parts")
    return "\n".join(text for part in content if (text := _part_text(part)) is not None)


def _part_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise RecordError("has a part that is neither text nor an object")
    kind = part.get("type")
    if not isinstance(kind, str):
        raise RecordError("has a part without a type")
    if kind in _SILENT_PARTS:
        return None
    if kind not in _TEXT_PARTS:
        return _PLACEHOLDERS.get(kind, "[other content]")
    text = part.get(_TEXT_PARTS[kind])
    if not isinstance(text, str):
        raise RecordError("has a text part without text")
    return text


def _tool_calls(item: dict[str, Any]) -> Iterator[ToolCall]:
    for call in _objects(item, "tool_calls"):
        body = call.get("function") or call.get("custom") or call
        yield _tool_call(body, body.get("arguments", body.get("input")) if isinstance(body, dict) else None, call)
    if item.get("function_call") is not None:
        body = item["function_call"]
        yield _tool_call(body, body.get("arguments") if isinstance(body, dict) else None, {})
    content = item.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_use":
            yield _tool_call(part, part.get("input"), part)


def _tool_call(body: object, arguments: object, call: dict[str, Any]) -> ToolCall:
    name = body.get("name") if isinstance(body, dict) else None
    if not isinstance(name, str) or not name:
        raise RecordError("has a tool call without a name")
    if arguments is None:
        arguments = {}
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(name=name, arguments=written, id=_label(call, "id"))


def _objects(item: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = item.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise RecordError(f"has {name} that are not a list of objects")
    return value


def _label(item: dict[str, Any], name: str) -> str | None:
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise RecordError(f"has a {name} that is not text")
    return value

"""The conversation in OpenAI's form, and answers to it, for agents that are not models of the gateway."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from misjudge_storage.types import Message
from misjudge_tools.episodes.turns import AgentFailed, AgentReply
from misjudge_tools.gateway.tool_calls import UnreadableCalls, read_tool_calls, storable
from misjudge_tools.suites.model import ToolSpec

_FORMS = 'an object with "content" and "tool_calls", one with "message", or a chat completion'


class Surroundings(NamedTuple):
    """What an agent of one episode is given. `instructions` are the suite's (agent.md); `session` names the episode;
    `hosts` are the allowed ones; `folder` is the rollout's own.
    """

    instructions: str
    tools: tuple[ToolSpec, ...]
    session: str
    hosts: tuple[str, ...]
    folder: Path


def tools_as_openai(specs: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """The list that a chat completion's request names `tools`."""
    return [{"type": "function", "function": spec.model_dump()} for spec in specs]


def request_of(around: Surroundings, messages: Sequence[Message]) -> bytes:
    """UTF-8 JSON with the `messages` (the instructions first, as a system message), `tools` and the `session`."""
    system = [{"role": "system", "content": around.instructions}] if around.instructions else []
    said = [_as_openai(message) for message in messages]
    body = {"messages": system + said, "tools": tools_as_openai(around.tools), "session": around.session}
    return json.dumps(body).encode()


def reply_in(answer: object) -> AgentReply | None:
    """What an answer in one of the known forms says, None where it is in none. Raises AgentFailed for one with text or
    tool calls that cannot be read.
    """
    message = _message_in(answer)
    if message is None:
        return None
    try:
        calls = read_tool_calls(message)
    except UnreadableCalls as error:
        raise AgentFailed(f"The agent answered with {error}.") from None
    return AgentReply(storable(_text(message.get("content"))), calls)


def required_reply(answer: object) -> AgentReply:
    """As `reply_in`; raises AgentFailed where the answer is in no known form."""
    reply = reply_in(answer)
    if reply is None:
        raise AgentFailed(f"The agent's answer is in no known form. It must be {_FORMS}.")
    return reply


def _message_in(answer: object) -> dict[str, Any] | None:
    if not isinstance(answer, dict):
        return None
    choices = answer.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        answer = choices[0]
    inner = answer.get("message")
    message: dict[str, Any] = inner if isinstance(inner, dict) else answer
    return message if {"content", "tool_calls", "function_call"} & message.keys() else None


def _text(content: object) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise AgentFailed("The agent answered with content that is no text.")
    return "\n".join(str(text) for text in texts)


def _as_openai(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    if not message.tool_calls:
        return {"role": message.role, "content": message.content}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]
    return {"role": message.role, "content": message.content or None, "tool_calls": calls}

"""Chat completions as a simulated gateway reads and writes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator

from misjudge_storage.hashing import canonical, template_hash
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes.turns import AgentReply

_Text = Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]


class _Function(BaseModel):
    name: str
    arguments: str = "{}"


class _Made(BaseModel):
    id: str | None = None
    function: _Function


class _Turn(BaseModel):
    role: Literal["system", "user", "assistant", "tool"]
    content: _Text = ""
    tool_calls: tuple[_Made, ...] | None = None
    tool_call_id: str | None = None

    def message(self) -> Message:
        made = self.tool_calls or ()
        calls = tuple(ToolCall(name=one.function.name, arguments=one.function.arguments, id=one.id) for one in made)
        return Message(role=self.role, content=self.content, tool_calls=calls, tool_call_id=self.tool_call_id)


class Asked(BaseModel):
    """The body of a request, as far as it matters here."""

    model: str
    messages: tuple[_Turn, ...]
    tools: list[Any] | None = None
    response_format: Any = None

    @property
    def as_json(self) -> bool:
        """Whether it demands JSON, with a schema or without."""
        stated = self.response_format.get("type") if isinstance(self.response_format, dict) else None
        return stated in {"json_schema", "json_object"}

    def conversation(self) -> tuple[Message, ...]:
        """Its messages as values."""
        return tuple(turn.message() for turn in self.messages)


def completion(model: str, messages: tuple[Message, ...], reply: AgentReply) -> dict[str, Any]:
    """The JSON of the answer. A token is a word here."""
    sent = sum(_words(message.content, message.tool_calls) for message in messages)
    received = _words(reply.text, reply.tool_calls)
    said = canonical([reply.text, [call.model_dump() for call in reply.tool_calls]])
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool_calls:
        message["content"] = reply.text or None
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.tool_calls
        ]
    finish_reason = "tool_calls" if reply.tool_calls else "stop"
    return {
        "id": f"simulated-{template_hash(said)}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
        "usage": {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received},
    }


def _words(text: str, calls: tuple[ToolCall, ...]) -> int:
    return len(text.split()) + sum(len(f"{call.name} {call.arguments}".split()) for call in calls)

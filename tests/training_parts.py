"""What tests of preference data share: words of a conversation, and the shapes of rows.

The shapes are those of TRL's documentation, "Dataset formats and types": preference rows of lists of messages under
`prompt`, `chosen` and `rejected`; unpaired ones under `prompt`, `completion` and a boolean `label`.
"""

from __future__ import annotations

from typing import Any

from misjudge_storage.types import Message
from misjudge_tools.exporting.preference import Row

USER = Message(role="user", content="Cancel order 1.")
DONE = Message(role="assistant", content="It is cancelled.")
SORRY = Message(role="assistant", content="I could not.")
MESSAGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["role", "content"],
    "properties": {
        "role": {"enum": ["system", "user", "assistant", "tool"]},
        "content": {"type": "string"},
        "name": {"type": "string"},
        "tool_call_id": {"type": "string"},
        "tool_calls": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["type", "function"],
                "properties": {
                    "type": {"const": "function"},
                    "id": {"type": "string"},
                    "function": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["name", "arguments"],
                        "properties": {"name": {"type": "string"}, "arguments": {"type": ["object", "string"]}},
                    },
                },
            },
        },
    },
}
CHAT = {"type": "array", "minItems": 1, "items": MESSAGE}
ANSWER = {**CHAT, "prefixItems": [{"properties": {"role": {"const": "assistant"}}}]}
DPO = {
    "type": "object",
    "additionalProperties": False,
    "required": ["prompt", "chosen", "rejected", "metadata"],
    "properties": {"prompt": CHAT, "chosen": ANSWER, "rejected": ANSWER, "metadata": {"type": "object"}},
}
KTO = {
    "type": "object",
    "additionalProperties": False,
    "required": ["prompt", "completion", "label", "metadata"],
    "properties": {
        "prompt": CHAT,
        "completion": ANSWER,
        "label": {"type": "boolean"},
        "metadata": {"type": "object"},
    },
}
LATE = Message(role="user", content="Well?")


def fields(found: Any) -> dict[str, Any]:
    assert isinstance(found, Row), found
    return found.fields


def said(chat: list[dict[str, Any]]) -> list[str]:
    return [one["content"] for one in chat]

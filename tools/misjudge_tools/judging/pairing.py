"""What a judge sees of a trajectory: a plain transcript inside a fence that no transcript can guess.

Agents' names never enter the text. System messages are left out: they belong to the agent's maker, often
name its model, and are not part of what was done for the customer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from misjudge_storage.hashing import fence_token
from misjudge_storage.types import Message, Order, Task
from misjudge_tools.judging.folding import fold
from misjudge_tools.judging.forms import View

_BREAKS = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029"
_OPENS = r"[\[【〔〖⟦]"
_LOOSE = r"[\s*_~`-]*"
_SPEAKER = (
    rf"(?:user|assistant|tool{_LOOSE}(?:call|result)"
    rf"|用户|客户|助手|助理|客服|工具(?:{_LOOSE}(?:调用|返回|的|结果)){{1,3}})"
)
_MARK = re.compile(
    rf"(?:^|(?<=[{_BREAKS}]))(?=(?:[^\S{_BREAKS}]|[*_~`>#|+=.()\\\d-]|</?\w{{1,12}}>)*"
    rf"{_OPENS}{_LOOSE}{_SPEAKER}(?!_*[^\W_]))"
    rf"|(?={_OPENS}[^\[\]]{{0,60}}?left{_LOOSE}out{_LOOSE}by{_LOOSE}misjudge)"
)
"""Where a mark of the transcript stands as it would, if with emphasis, or in Chinese; that of a cut, anywhere."""


class Fenced(NamedTuple):
    """A transcript inside its fence; `inner` is the text between the marks."""

    inner: str
    text: str


class ShownPair(NamedTuple):
    """The two responses in the order shown: `a` stands under the label "Response A"."""

    a: Fenced
    b: Fenced


def viewed(messages: Sequence[Message], view: View) -> list[Message]:
    """What of an episode this view shows: `spoken` is without tool calls and their results."""
    if view == "whole":
        return list(messages)
    return [message.model_copy(update={"tool_calls": ()}) for message in messages if message.role != "tool"]


def transcript(task: Task, messages: Sequence[Message]) -> str:
    """The episode as text, one block a message; a first message that only repeats the task is left out."""
    blocks = []
    for position, message in enumerate(message for message in messages if message.role != "system"):
        repeats_task = position == 0 and message.role == "user" and message.content.strip() == task.prompt.strip()
        if not repeats_task:
            blocks.extend(_blocks(message))
    return "\n".join(blocks)


def _blocks(message: Message) -> list[str]:
    content = _as_text(message.content)
    if message.role == "tool":
        return [f"[tool result] {content}"]
    said = [f"[{message.role}] {content}"] if content else []
    return said + [f"[tool call] {_as_text(call.name)} {_as_text(call.arguments)}" for call in message.tool_calls]


def _as_text(content: str) -> str:
    """Content whose own lines cannot pass for a mark: a tool call is evidence, text that looks like one is not.

    Looked for in the text as it reads: wide brackets and invisible characters make no difference.
    """
    if "[" not in content and content.isascii():
        return content
    folded = fold(content)
    pieces, done = list[str](), 0
    for found in _MARK.finditer(folded.text):
        start = folded.starts[found.start()]
        pieces += (content[done:start], "(text) ")
        done = start
    return "".join((*pieces, content[done:]))


def fence(label: str, token: str, inner: str) -> Fenced:
    """`label` is `RESPONSE A`, `RESPONSE B` or `RESPONSE`, `RULES`, or what else is shown (`TASK`, `RULE`, `GOLD`)."""
    return Fenced(inner, f"=== BEGIN {label} {token} ===\n{inner}\n=== END {label} {token} ===")


def show_pair(
    secret: str, pair_id: str, order: Order, repeat: int, side_a: str, side_b: str, variant: str | None = None
) -> ShownPair:
    """The two transcripts, fenced and labelled in this order; the same arguments give the same text.

    `variant` is that of a probe, whose calls are others than those of the audit.
    """
    token = fence_token(secret, pair_id, order, repeat, *([] if variant is None else [variant]))
    first, second = (side_a, side_b) if order == "AB" else (side_b, side_a)
    return ShownPair(fence("RESPONSE A", token, first), fence("RESPONSE B", token, second))


def show_one(secret: str, trajectory_id: str, repeat: int, inner: str) -> Fenced:
    """One transcript, fenced."""
    return fence("RESPONSE", fence_token(secret, trajectory_id, repeat), inner)


def show_rules(
    secret: str, subject_id: str, order: Order | None, repeat: int, inner: str, variant: str | None = None
) -> Fenced:
    """The numbered rules, fenced; no mark of a response is theirs."""
    return fence("RULES", fence_token(secret, "rules", subject_id, order or "", repeat, variant or ""), inner)

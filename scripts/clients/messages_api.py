"""Anthropic's Messages API, as Claude Code speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from clients.dialects import Body, Dialect, Offer, Use
from clients.steps import Told

SEARCH: Final = "ToolSearch"


def _blocks(body: Body) -> Iterator[Mapping[str, Any]]:
    for message in body.get("messages") or ():
        content = message["content"]
        yield from content if isinstance(content, list) else [{"type": "text", "text": content}]


def _offers(body: Body) -> list[Offer]:
    named = [tool.get("name", "") for tool in body.get("tools") or () if not tool.get("defer_loading")]
    return [Offer(name) for name in (*named, *_found(body))]


def _found(body: Body) -> Iterator[str]:
    """Tools that a search brought: its result refers to them."""
    for block in _blocks(body):
        content = block.get("content") if block.get("type") == "tool_result" else None
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "tool_reference":
                yield part["tool_name"]


def _search(body: Body, words: str) -> Use | None:
    offered = any(offer.name == SEARCH for offer in _offers(body))
    return Use("search", Offer(SEARCH), {"query": words, "max_results": 5}) if offered else None


def _told(body: Body, use: str) -> Told | None:
    for block in _blocks(body):
        if block.get("type") == "tool_result" and block.get("tool_use_id") == use:
            return Told(_text(block.get("content")), bool(block.get("is_error")))
    return None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or part.get("tool_name") or f"[{part.get('type')}]" for part in content or ())


def _events(reply: Use | str, use: str, model: str) -> Iterator[Body]:
    blocks = _reply_blocks(reply, use)
    stop = "end_turn" if isinstance(reply, str) else "tool_use"
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {
        "id": f"msg_{use}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "usage": usage,
    }
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def _reply_blocks(reply: Use | str, use: str) -> list[tuple[Body, Body]]:
    words = reply if isinstance(reply, str) else reply.words
    blocks: list[tuple[Body, Body]] = []
    if words:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": words}))
    if isinstance(reply, Use):
        block = {"type": "tool_use", "id": use, "name": reply.offer.name, "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}))
    return blocks


MESSAGES: Final = Dialect(
    path="/messages",
    is_turn=lambda body: bool(body.get("tools")),
    offers=_offers,
    search=_search,
    code=lambda body, tool, arguments: None,
    told=_told,
    events=_events,
)

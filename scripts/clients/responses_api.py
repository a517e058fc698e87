"""OpenAI's Responses API, as Codex speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from clients.dialects import Body, Dialect, Offer, Use
from clients.steps import Told

SEARCH: Final = "tool_search"
CODE: Final = "exec"
SERVER: Final = "mcp__misjudge__"


def _items(body: Body) -> Iterator[Mapping[str, Any]]:
    yield from (item for item in body.get("input") or () if isinstance(item, Mapping))


def _offers(body: Body) -> list[Offer]:
    """Tools of the request, and those that a search of the client brought."""
    groups = [body.get("tools"), *(item.get("tools") for item in _items(body))]
    return [offer for group in groups if isinstance(group, list) for tool in group for offer in _in(tool)]


def _in(tool: Mapping[str, Any]) -> Iterator[Offer]:
    if tool.get("type") == "namespace":
        for inner in tool.get("tools") or ():
            yield Offer(inner["name"], tool["name"])
    else:
        yield Offer(tool.get("name") or tool.get("type", ""))


def _is_offered(body: Body, name: str) -> bool:
    return any(offer.name == name for offer in _offers(body))


def _search(body: Body, words: str) -> Use | None:
    arguments = {"query": words, "limit": 8}
    return Use("search", Offer(SEARCH), arguments) if _is_offered(body, SEARCH) else None


def _code(body: Body, tool: str, arguments: Mapping[str, Any]) -> Use | None:
    """A program that calls the tool, where Codex leaves its model nothing else."""
    if not _is_offered(body, CODE):
        return None
    offered = next(offer for offer in _offers(body) if offer.name == CODE)
    return Use("code", offered, {"source": f"text(await tools.{SERVER}{tool}({json.dumps(arguments)}))"})


def _told(body: Body, use: str) -> Told | None:
    for item in _items(body):
        if item.get("call_id") == use and str(item.get("type")).endswith("_output"):
            return Told(_text(item), item.get("success") is False)
    return None


def _text(item: Mapping[str, Any]) -> str:
    if "tools" in item:
        return "\n".join(offer.name for tool in item["tools"] for offer in _in(tool))
    output = item.get("output", "")
    if isinstance(output, str):
        return output
    if isinstance(output, Mapping):
        return _text(output)
    return "\n".join(part.get("text") or f"[{part.get('type')}]" for part in output or ())


def _events(reply: Use | str, use: str, model: str) -> Iterator[Body]:
    items = list(_reply_items(reply, use))
    response = {"id": f"resp_{use}", "object": "response", "model": model}
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    yield {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    completed = {**response, "status": "completed", "output": items, "usage": usage}
    yield {"type": "response.completed", "response": completed}


def _reply_items(reply: Use | str, use: str) -> Iterator[Body]:
    words = reply if isinstance(reply, str) else reply.words
    if words:
        content = [{"type": "output_text", "text": words, "annotations": []}]
        yield {"type": "message", "id": f"m_{use}", "role": "assistant", "status": "completed", "content": content}
    if isinstance(reply, Use):
        yield _use_item(reply, use)


def _use_item(reply: Use, use: str) -> Body:
    common: dict[str, Any] = {"id": f"i_{use}", "call_id": use, "status": "completed"}
    if reply.offer.namespace:
        common["namespace"] = reply.offer.namespace
    if reply.kind == "search":
        return {**common, "type": "tool_search_call", "execution": "client", "arguments": reply.arguments}
    if reply.kind == "code":
        return {**common, "type": "custom_tool_call", "name": CODE, "input": reply.arguments["source"]}
    return {**common, "type": "function_call", "name": reply.offer.name, "arguments": json.dumps(reply.arguments)}


RESPONSES: Final = Dialect(
    path="/responses",
    is_turn=lambda body: True,
    offers=_offers,
    search=_search,
    code=_code,
    told=_told,
    events=_events,
)

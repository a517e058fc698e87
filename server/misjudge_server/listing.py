"""A tool as `tools/list` sends it: every client reads it, so it holds no byte that tells nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mcp.types import Tool, ToolAnnotations
from pydantic import BaseModel

from misjudge_server.tool_table import ToolEntry

_UNSAID = {
    *("title", "pattern", "minLength", "maxLength", "minItems", "maxItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
_PLAIN = frozenset(
    {
        *("wait_s", "max_calls", "request_key", "dry_run", "language", "repeats", "pair_ids", "by"),
        *("agent_a", "agent_b", "trajectory_b", "response_b", "gold_rules", "success_source"),
        *("fields", "cursor", "max_bytes", "success_b", "force"),
    }
)
"""Arguments that the instructions, the tool's description, their names or those beside them explain."""
_FURTHER_LIMITS = frozenset({"max_tokens", "max_usd_per_task", "deadline_s"})
_OF_VERDICTS = _FURTHER_LIMITS | {"truncate", "reuse", "margin", "stop"}
UNLISTED: Mapping[str, frozenset[str]] = {
    "summarize_audit": frozenset({"since", "by", "bill"}),
    "judge": _OF_VERDICTS,
    "run_pair": _OF_VERDICTS
    | {"hard_constraints", "success_criteria", "category", "trial", "success_a", "success_b", "success_source"}
    | {"seed", "signals"},
    "probe_judge": _FURTHER_LIMITS,
    "score_rubrics": _FURTHER_LIMITS | {"batch", "official"},
    "runs": _FURTHER_LIMITS,
    "import_records": frozenset({"reward_col", "order_col", "gate_col"}),
    "export_records": frozenset({"test_share", "seed", "allow_eval_tasks"}),
    "write_report": frozenset({"formats", "panel", "since", "by", "bill"}),
}
"""Arguments that a tool takes but does not list, since few need them and every client would read them: docs/clients.md
has them.
"""
_TRANSCRIPT = [{"type": "string"}, {"items": {"type": "object"}, "type": "array"}]
"""Text or messages: the arguments are described so, or stand beside one that is."""


def tool_of(name: str, entry: ToolEntry) -> Tool:
    """A tool as `tools/list` sends it: the flat schema of its request, no output schema, and no title but its name."""
    return Tool(
        name=name,
        description=entry.description,
        input_schema=schema_of(entry.request, UNLISTED.get(name, ())),
        annotations=_annotations(entry),
    )


def _annotations(entry: ToolEntry) -> ToolAnnotations:
    """The hints that differ from what the protocol takes for granted, and which world it reaches: a tool neither only
    reads nor is idempotent unless it says so, and what only reads is both idempotent and destroys nothing.
    """
    if entry.reads_only:
        return ToolAnnotations(read_only_hint=True, open_world_hint=entry.asks_models)
    return ToolAnnotations(
        destructive_hint=entry.destroys,
        idempotent_hint=True if entry.idempotent else None,
        open_world_hint=entry.asks_models,
    )


def schema_of(request: type[BaseModel], unlisted: Collection[str] = ()) -> dict[str, Any]:
    """The JSON schema of a request, without what only eats the size budget: titles, defaults that go without saying,
    types that the values show, bounds that nobody meets by chance, since a call that does is told in a sentence, and
    the `unlisted` arguments.
    """
    schema = request.model_json_schema()
    schema.pop("description", None)
    _slim(schema)
    for name in unlisted:
        del schema["properties"][name]
    for name in _PLAIN & schema["properties"].keys():
        for said in ("description", "default"):
            schema["properties"][name].pop(said, None)
    return schema


def _slim(node: Any) -> None:
    if isinstance(node, list):
        for item in node:
            _slim(item)
    elif isinstance(node, dict):
        for value in node.values():
            _slim(value)
        for name in _UNSAID & node.keys():
            if not isinstance(node[name], dict):  # a field may bear such a name
                del node[name]
        if isinstance(node.get("items"), dict):  # the list says it
            node["items"].pop("description", None)
        if isinstance(node.get("additionalProperties"), bool):  # an argument that nobody knows is told in a sentence
            del node["additionalProperties"]
        if "enum" in node or "const" in node:
            node.pop("type", None)
        _slim_default(node)


def _slim_default(node: dict[str, Any]) -> None:
    if node.get("anyOf") == _TRANSCRIPT:
        del node["anyOf"]
    if node.get("default", "") is None:
        node["anyOf"] = [option for option in node.get("anyOf", []) if option.get("type") != "null"]
        if len(node["anyOf"]) == 1:
            node.update(node.pop("anyOf")[0])
    if "default" in node and node["default"] in (None, False, "", []):
        del node["default"]

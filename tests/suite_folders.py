"""Suites in folders, as people write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.suites.loading import Suite, load_suite

CANARY = "sk-canary-4711"
WORLD = "CREATE TABLE orders (order_id TEXT PRIMARY KEY, status TEXT);\nINSERT INTO orders VALUES ('O1', 'placed');\n"
TASK: dict[str, Any] = {
    "task_id": "cancel",
    "category": "cancellation",
    "opening": "Please cancel my order.",
    "goal": "Order O1 is cancelled.",
    "success_criteria": "The order is cancelled.",
    "checks": [{"kind": "contains", "value": "cancelled"}],
}
SPEC: dict[str, Any] = {
    "name": "cancel_order",
    "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "additionalProperties": False},
}
HTTP: dict[str, Any] = {"http": "http://127.0.0.1:8080/tools", "tools": [SPEC]}
PYTHON: dict[str, Any] = {"python": "order_tools", "tools": [SPEC]}
LOCAL = Allowed(hosts=("127.0.0.1:8080",), python=("order_tools",))


def write(folder: Path, **files: Any) -> str:
    """A suite of these files; `tasks` and `solutions` are records, `tools` an object, the rest is text or bytes."""
    folder.mkdir(exist_ok=True)
    names = {"world": "world.sql", "database": "world.db", "agent": "agent.md", "agent_zh": "agent.zh.md"}
    for kind, content in {"tasks": [TASK], **files}.items():
        if kind in {"tasks", "solutions"} and isinstance(content, list):
            content = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in content)
        if kind == "tools" and not isinstance(content, str | bytes):
            content = json.dumps(content)
        name = names.get(kind, {"tools": "tools.json"}.get(kind, f"{kind}.jsonl"))
        folder.joinpath(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return str(folder)


def load(folder: str, allowed: Allowed = LOCAL) -> Suite:
    return load_suite(folder, allowed, None)


def complaint(folder: str, allowed: Allowed = LOCAL) -> str:
    with pytest.raises(InvalidInput) as caught:
        load(folder, allowed)
    assert CANARY not in str(caught.value)
    return str(caught.value)


def checked(*rules: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**TASK, "checks": list(rules)}]


FACT = {"asks": ["order number"], "says": "O1"}
EVERY_RULE: list[dict[str, Any]] = [
    {"kind": "sql", "query": "SELECT status FROM orders WHERE order_id = 'O1'", "equals": "cancelled"},
    {"kind": "sql", "query": "SELECT * FROM orders", "equals": [["O1", "cancelled"]]},
    {
        "kind": "world",
        "changes": [{"table": "orders", "key": {"order_id": "O1"}, "set": {"status": "cancelled"}}],
        "ignore": ["orders"],
    },
    {"kind": "tool_called", "value": "cancel_order", "arguments": {"order_id": "O1"}, "at_most": 1, "succeeded": True},
    {"kind": "tool_not_called", "value": "cancel_order", "arguments": {"order_id": "O2"}},
    {"kind": "tool_order", "values": ["cancel_order", "cancel_order"]},
    {"kind": "asked_first", "value": "cancel_order", "turns": 1},
    {"kind": "says", "facts": [129.5, ["O1", "O-1"]], "where": "answer"},
    {"kind": "not_says", "facts": ["2026-03-14"]},
    {"kind": "contains", "value": ["done", "cancelled"]},
    {"kind": "not_contains", "value": "refund"},
    {"kind": "regex", "value": "O[0-9]+", "absent": False},
    {"kind": "length", "unit": "words", "at_most": 50},
    {"kind": "format", "value": "one_line"},
    {"kind": "json_schema", "value": {"type": "object"}},
    {"kind": "number_range", "value": "total: ([0-9.]+)", "low": 1, "high": 2},
    {"kind": "file", "path": "out/report.txt", "contains": "O1"},
    {"kind": "http_status", "url": "http://127.0.0.1:8080/health", "status": 204},
    {"kind": "command", "value": "lint", "weight": 2, "name": "lints"},
    {"kind": "human", "question": "Was it polite?"},
    {"kind": "model", "question": "Was it polite?"},
]

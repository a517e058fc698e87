"""A session of Claude Code as Markdown, from its own stream of messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

NOTE = (
    "A session of the real Claude Code {version} with the real server, run by `scripts/test-clients`. The model is "
    "scripted: it makes these calls, and says only what the tools told it. Results are shortened here."
)
MARKED = re.compile(r'"marked":"SIMULATED[^"]*"')
"""Stands at the head of every result here, and is said in the words."""
SHOWN = 160
"""Characters of a result that are shown."""


def transcript(prompt: str, stream: str) -> str:
    """The Markdown; `stream` is what `--output-format stream-json` printed."""
    messages = [json.loads(line) for line in stream.splitlines() if line.startswith("{")]
    version = next((m["claude_code_version"] for m in messages if "claude_code_version" in m), "")
    blocks = [block for message in messages for block in _blocks(message)]
    results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    parts = [part for block in blocks for part in _part(block, results)]
    return "\n\n".join([NOTE.format(version=version), _said("You", prompt), *parts]) + "\n"


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = (message.get("message") or {}).get("content")
    return content if message.get("type") in {"assistant", "user"} and isinstance(content, list) else []


def _part(block: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if block["type"] == "text":
        yield _said("Claude Code", block["text"])
    elif block["type"] == "tool_use" and block["name"].startswith("mcp__"):
        given = ", ".join(f"{name}={_value(value)}" for name, value in block["input"].items())
        came = _shortened(_text(results.get(block["id"], {}).get("content")))
        yield f"```text\n{block['name'].rsplit('__', 1)[-1]}({given})\n→ {came}\n```"


def _said(who: str, words: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in f"**{who}:** {words}".split("\n"))


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content or ())


def _shortened(text: str) -> str:
    size = len(text.encode("utf-8", "replace"))
    shown = MARKED.sub('"marked":"SIMULATED …"', text)
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]} … ({size} bytes)"

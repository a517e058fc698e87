"""What every client is told before its first call: it changes only on purpose, and stays small."""

from __future__ import annotations

import difflib
import json

from misjudge_server.listing import tool_of
from misjudge_server.prompts import listed_prompts
from misjudge_server.resources import listed_templates
from misjudge_server.tool_table import INSTRUCTIONS, TOOLS
from surface import COMMAND, SNAPSHOT, surface

MOST_BYTES = 16_000


def test_the_surface_is_the_one_of_the_snapshot() -> None:
    kept = SNAPSHOT.read_text(encoding="utf-8") if SNAPSHOT.exists() else ""
    changed = difflib.unified_diff(kept.splitlines(), surface().splitlines(), "snapshot", "now", n=1, lineterm="")
    difference = "\n".join(changed)
    assert difference == "", f"What clients are told has changed:\n{difference}\n\nIf this is meant: {COMMAND}"


def test_tools_and_instructions_are_small_enough_for_every_client() -> None:
    tools = [tool_of(name, entry) for name, entry in TOOLS.items()]
    sent = sum(len(tool.model_dump_json(by_alias=True, exclude_none=True).encode()) for tool in tools)
    assert sent + len(INSTRUCTIONS.encode()) <= MOST_BYTES
    assert all(tool.description and len(tool.description) < 1_500 for tool in tools)
    assert len(INSTRUCTIONS) < 2_048


def test_prompts_and_templates_are_short_too() -> None:
    told = [
        one.model_dump(mode="json", by_alias=True, exclude_none=True)
        for one in (*listed_prompts(), *listed_templates())
    ]
    assert len(json.dumps(told, ensure_ascii=False).encode()) < 5_000


def test_the_instructions_begin_with_what_the_server_is_for() -> None:
    begin = INSTRUCTIONS[:200]
    for words in ("audits LLM judges", "LLM-as-a-judge", "reward models", "picked the side that failed"):
        assert words in begin

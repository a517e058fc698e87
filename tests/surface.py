"""All that a client is told of the server before its first call, as the snapshot `tests/server/surface.json` holds it.

    python tests/surface.py

writes the snapshot anew, after a change that is meant.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SNAPSHOT = Path(__file__).parent / "server" / "surface.json"
COMMAND = "python tests/surface.py"


def surface() -> str:
    """Instructions, tools, prompts and templates, as JSON to read line by line."""
    from misjudge_server.listing import tool_of
    from misjudge_server.prompts import listed_prompts
    from misjudge_server.resources import listed_templates
    from misjudge_server.tool_table import INSTRUCTIONS, TOOLS

    tools = _sent([tool_of(name, entry) for name, entry in TOOLS.items()])
    told = {
        "instructions": INSTRUCTIONS.split("\n"),
        "tools": [{**tool, "description": tool["description"].split("\n")} for tool in tools],
        "prompts": _sent(listed_prompts()),
        "templates": _sent(listed_templates()),
    }
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


def _sent(listed: Sequence[Any]) -> list[dict[str, Any]]:
    return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in listed]


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent.parent / room) for room in ("server", "tools", "storage")]
    SNAPSHOT.write_text(surface(), encoding="utf-8", newline="\n")
    print(f"wrote {SNAPSHOT}")

"""JSONL: one object a line, UTF-8 as it is."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

# No line ends of JSON, but of str.splitlines and of editors.
_LINE_ENDS: Final = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def line(row: Mapping[str, Any]) -> str:
    """The row on a line of its own. No character of it ends a line, for any reader."""
    written = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return f"{written.translate(_LINE_ENDS)}\n"


def write_jsonl(path: Path, rows: Generator[Mapping[str, Any], None, None]) -> int:
    """Write the rows; how many they were. Raises OSError."""
    number = 0
    with closing(rows), path.open("x", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(line(row))
            number += 1
    return number

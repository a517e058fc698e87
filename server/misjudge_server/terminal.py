"""Text on its way to a terminal. Names from imported files may hold escape sequences, which a terminal would obey."""

from __future__ import annotations

import json
from typing import Any

_KEPT = "\n\t"
_DIRECTIONS = (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = [code for code in (*range(0x20), *range(0x7F, 0xA0), *_DIRECTIONS) if chr(code) not in _KEPT]
_DROPPED = dict.fromkeys(_CONTROLS)
_ESCAPED = {code: f"\\u{code:04x}" for code in _CONTROLS}


def plain(text: str) -> str:
    """The text without control characters (other than line breaks and tabs) and marks that turn its direction."""
    return text.translate(_DROPPED)


def json_text(value: Any) -> str:
    """The value as JSON for people and machines: readable, with every control character escaped."""
    return json.dumps(value, ensure_ascii=False, indent=2).translate(_ESCAPED)

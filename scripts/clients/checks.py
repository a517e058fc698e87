"""What may be asked of the answers that reach the model. A check raises Mismatch."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clients.steps import Check, Mismatch, Told

LIMIT = 9_000
"""Bytes of a result of misjudge at most; Codex cuts what is longer than about 12,000 in the middle."""


def expect(holds: bool, sentence: str) -> None:
    """Raise Mismatch with the sentence unless it holds."""
    if not holds:
        raise Mismatch(sentence)


def result(*members: str, where: Callable[[dict[str, Any]], bool] = lambda _: True) -> Check:
    """A whole result with these members that is no error, in at most 9 kB, for which `where` holds."""

    def check(told: Told) -> None:
        found = told.json()
        expect(not told.is_error, f"an error reached the model: {told.text[:300]!r}")
        missing = [member for member in members if member not in found]
        expect(not missing, f"{', '.join(missing)} did not reach the model, but {', '.join(found)}")
        size = len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
        expect(size <= LIMIT, f"the result has {size} bytes")
        expect(where(found), f"the result is not as expected: {json.dumps(found, ensure_ascii=False)[:400]}")

    return check


def says(*texts: str) -> Check:
    """All of the texts reach the model, in whatever form."""

    def check(told: Told) -> None:
        missing = [text for text in texts if text not in told.text]
        expect(not missing, f"{missing} did not reach the model, but {told.text[:300]!r}")

    return check


def finds(tool: str) -> Check:
    """A search brought this tool."""

    def check(told: Told) -> None:
        names = [name.rsplit("__", 1)[-1] for name in told.text.split()]
        expect(tool in names, f"{tool} was not found, but {', '.join(names)[:200]}")

    return check

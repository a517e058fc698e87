"""What a scripted model does, and what it is told. Nothing here knows a client or a wire format."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple


class Mismatch(Exception):
    """A case failed; the text says what was expected and what came."""


class Told(NamedTuple):
    """What the model was told of a call, as the client worded it."""

    text: str
    is_error: bool

    @property
    def size(self) -> int:
        """Bytes that the model received."""
        return len(self.text.encode("utf-8", "replace"))

    def json(self) -> dict[str, Any]:
        """The result in the text, which Codex puts behind some lines of its own, and in its code mode whole into the
        protocol's envelope. Raises Mismatch where there is none.
        """
        try:
            found = json.JSONDecoder().raw_decode(self.text[self.text.index("{") :])[0]
        except ValueError:
            raise Mismatch(f"no whole JSON reached the model, but {self.text[:300]!r}") from None
        inner = found.get("structuredContent")
        return inner if isinstance(inner, dict) else found


Check = Callable[[Told], None]
"""Looks at what the model was told; raises Mismatch."""


def anything(_: Told) -> None:
    """Take every answer."""


class Call(NamedTuple):
    """Call a tool of misjudge, searching for it first where the client hides it. `words` are said before."""

    tool: str
    arguments: Mapping[str, Any]
    check: Check = anything
    case: str | None = None
    """Its row in the table; None: the step only prepares another."""
    words: str = ""


class Own(NamedTuple):
    """Call a tool of the client itself, such as its reader of resources; the first of `names` that it offers."""

    names: tuple[str, ...]
    arguments: Mapping[str, Any]
    check: Check = anything
    case: str | None = None
    words: str = ""


class Search(NamedTuple):
    """Look for a tool in these words, where the client hides our tools; the model is told the names that it found."""

    query: str
    check: Check = anything
    case: str | None = None


class Say(NamedTuple):
    """End the turn with these words."""

    text: str


Step = Call | Own | Search | Say
Play = Generator[Step, Told, None]
"""A scripted model: it yields what it does and is sent what it was told of it."""

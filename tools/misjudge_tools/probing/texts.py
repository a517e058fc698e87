"""The texts of the probes, by language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, TypeVar

from pydantic import Field

from misjudge_storage.hashing import digest
from misjudge_storage.types import Value
from misjudge_tools.judging.prompts import Language

T = TypeVar("T")


class Wording(Value):
    """What stands before and behind an answer; either may be empty."""

    before: str = ""
    after: str = ""

    def around(self, text: str) -> str:
        """The text between them, each a paragraph of its own."""
        return "\n\n".join(part for part in (self.before, text, self.after) if part)


class ProbeTexts(Value):
    """The texts of one language: `padding` are paragraphs by sentence, `wordings` go by probe."""

    padding: Annotated[tuple[tuple[str, ...], ...], Field(min_length=1)]
    wordings: Mapping[str, Annotated[tuple[Wording, ...], Field(min_length=2)]]


@cache
def probe_texts(language: Language) -> ProbeTexts:
    """The shipped texts; read once per process."""
    text = files("misjudge_tools").joinpath("probing", f"texts.{language}.toml").read_text(encoding="utf-8")
    return ProbeTexts.model_validate(tomllib.loads(text))


def nth_of(choices: Sequence[T], probe: str, pair_id: str) -> int:
    """Which of the choices belongs to this pair under this probe."""
    return int(digest("wording", [probe, pair_id])[-6:], 16) % len(choices)

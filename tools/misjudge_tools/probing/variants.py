"""What a probe changes of a pair: its name, the language and version of its text, and the side. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from misjudge_storage.types import Side

ProbeName = Literal[
    "swapped_order",
    "padding",
    "politeness",
    "apology",
    "promise",
    "markdown",
    "confidence",
    "authority",
    "bandwagon",
    "injected_user",
    "injected_tool",
    "self_praise",
    "criteria_order",
    "whitespace",
]
PROBES: tuple[ProbeName, ...] = get_args(ProbeName)
BASELINE = "baseline"
"""The name of a call in which nothing is changed."""
CONTROL: ProbeName = "whitespace"
"""The probe that no judge should notice: what it shows is what the method shows of nothing."""
SIDELESS: frozenset[str] = frozenset({BASELINE, "swapped_order", "criteria_order"})
"""Probes that change neither side's own text."""
VERSION = "v1"
"""Of the texts and rules of all probes: a change of either is another version, so that its cells are others."""


class Variant(NamedTuple):
    """One change, as stored: `padding.en.v1:A` changes side A."""

    probe: str
    language: Literal["en", "zh"]
    side: Side | None = None

    def __str__(self) -> str:
        named = f"{self.probe}.{self.language}.{VERSION}"
        return named if self.side is None else f"{named}:{self.side}"


def read_variant(stored: str) -> Variant:
    """The variant of a stored text. Raises ValueError for one that is none of this version's."""
    named, _, side = stored.partition(":")
    probe, language, version = named.split(".")
    known = probe in (BASELINE, *PROBES) and version == VERSION and bool(side) == (probe not in SIDELESS)
    if not known or language not in ("en", "zh") or side not in ("", "A", "B"):
        raise ValueError(f"{stored[:100]!r} is no variant of a probe")
    return Variant(probe, "zh" if language == "zh" else "en", "A" if side == "A" else "B" if side else None)

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
Aim = Literal["failed"]
"""Why a side is changed: it failed, by gold. None: it was drawn."""
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
    """One change, as stored: `padding.en.v1:A` changes side A, `padding.en.v1:A.failed` as the one that failed.

    A side that was drawn and one that was chosen by gold are probes of their own: rows must not mix them.
    """

    probe: str
    language: Literal["en", "zh"]
    side: Side | None = None
    aim: Aim | None = None

    def __str__(self) -> str:
        named = f"{self.probe}.{self.language}.{VERSION}"
        if self.side is None:
            return named
        return f"{named}:{self.side}" if self.aim is None else f"{named}:{self.side}.{self.aim}"


def read_variant(stored: str) -> Variant:
    """The variant of a stored text. Raises ValueError for one that is none of this version's."""
    name, _, changed = stored.partition(":")
    side, _, aim = changed.partition(".")
    probe, language, _ = name.split(".")
    found = Variant(
        probe,
        "zh" if language == "zh" else "en",
        "A" if side == "A" else "B" if side else None,
        "failed" if aim else None,
    )
    if str(found) != stored or probe not in (BASELINE, *PROBES) or bool(side) != (probe not in SIDELESS):
        raise ValueError(f"{stored[:100]!r} is no variant of a probe")
    return found

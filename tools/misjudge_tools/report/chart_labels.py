"""Names as a picture shows them. They come from imported files and models, so they may be hostile. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 40
"""Characters of a name that are shown."""
_MARKS = 2
"""Marks that one letter may bear: more of them would climb over the lines above."""
_DROPPED = {"Cc", "Cf", "Co", "Cs", "Cn"}
_BREAKS = {"Zl", "Zp", "Zs"}
_WIDE = {"W", "F"}


class Said(NamedTuple):
    """A row of text: what it is of, and its figures."""

    label: str
    figures: str


def shown(name: str) -> str:
    """The name on one line: no control, direction or invisible characters, at most `LONGEST` others."""
    # What can be seen of a name begins within its first few hundred characters, or it is shown as nothing.
    visible = " ".join("".join(_visible(name[: 50 * LONGEST])).split())
    if len(visible) > LONGEST or len(name) > 50 * LONGEST:
        return f"{visible[: LONGEST - 1].rstrip()}…"
    return visible or "?"


def _visible(text: str) -> Iterator[str]:
    marks = 0
    for character in unicodedata.normalize("NFC", text):
        kind = unicodedata.category(character)
        marks = marks + 1 if kind.startswith("M") else 0
        if character in "\t\n\r\v\f\x85" or kind in _BREAKS:
            yield " "
        elif kind not in _DROPPED and marks <= _MARKS:
            yield character


def width(text: str, size: float) -> float:
    """About how many pixels the text takes at a font size in a sans-serif font; rather more than less."""
    return size * sum(_em(character) for character in text)


def _em(character: str) -> float:
    if unicodedata.east_asian_width(character) in _WIDE:
        return 1.0
    # After DejaVu Sans, the widest of the usual ones; a label that fits in it fits in all.
    if character in "mwMW@%—…−":
        return 0.96
    if character in " .,:;'|!()[]ijltfr-":
        return 0.38
    return 0.72 if character.isupper() else 0.63


def lines(text: str, size: float, room: float) -> list[str]:
    """The text in lines of at most `room` pixels, broken between words, or anywhere between wide characters."""
    found = [""]
    for word in _words(text):
        if found[-1] and width(found[-1] + word.rstrip(), size) > room:
            found[-1] = found[-1].rstrip()
            found.append("")
        found[-1] += word
    return [line.rstrip() for line in found]


def _words(text: str) -> Iterator[str]:
    word = ""
    for character in text:
        wide = unicodedata.east_asian_width(character) in _WIDE
        if word and wide and unicodedata.category(character)[0] != "P":
            yield word
            word = ""
        word += character
        if character == " ":
            yield word
            word = ""
    yield word

"""The same words in another shape: as markdown, with more room between them, sentences in another order. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

_MARKERS = ("```", "~~~", "$$")
"""What opens and closes a block whose lines are not prose."""
_PROSE = re.compile(r"[^\W\d_][^=;{}<>`|\\*$]*[^\s:：=;{}<>`|\\*$]")
_CLAUSE = re.compile(r".{0,200}?\S(?=[.,;:!?](?:\s|$)|[，。；：！？])")
_LISTED = re.compile(r"(?:[-*+•]|[(（]?\d{1,3}[.)）、])\s*\S")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|(?<=[。！？；])\s*(?=[^\s”’」』）)])")
_CLOSED = re.compile(r"[。！？；]$")
LONGEST_SHORTENED = 10
"""Characters behind which nothing of an abbreviation stands; a long part is not searched whole."""
_SHORTENED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|no|nr|mr|mrs|ms|dr|st|fig|approx)|\b\w)\.$", re.IGNORECASE)


class _Line(NamedTuple):
    text: str
    in_block: bool


def is_data(text: str) -> bool:
    """Whether a program is to read the text, which no word may stand around: JSON that is more than one value."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def as_markdown(text: str) -> str:
    """Lines of prose as bullets whose first clause is bold; code, formulas, lists and tables stay as they are."""
    lines = (line.text if line.in_block else _bullet(line.text) for line in _lines(text))
    return "\n".join(lines)


def with_room(text: str, before: str, after: str) -> str:
    """The text with twice the blank lines between its paragraphs, and room around it; code stays as it is."""
    wide = (line.text + "\n" if not line.in_block and not line.text.strip() else line.text for line in _lines(text))
    return before + "\n".join(wide) + after


def reordered(text: str, by: int) -> str | None:
    """The points of a text in another order: its list, else its lines, else its sentences. None for less than two.

    The order is turned by a number of places that follows from `by`, or turned round. A heading stays in its place.
    """
    blocks = _blocks(text)
    if len(blocks) < 2:
        moved = _moved(_sentences(text), by)
        return None if moved is None else _joined(moved)
    places = [place for place, block in enumerate(blocks) if _LISTED.match(block)]
    if len(places) < 2:
        if any(block.rstrip().endswith((":", "：")) for block in blocks):
            return None  # what stands below belongs to it, and there is no telling how far
        places = list(range(len(blocks)))
    moved = _moved([blocks[place] for place in places], by)
    if moved is None:
        return None
    for place, block in zip(places, moved, strict=True):
        blocks[place] = block
    return "\n".join(blocks)


def _moved(points: Sequence[str], by: int) -> list[str] | None:
    """The points in another order, None where there is none."""
    start = 1 + by // 2 % max(len(points) - 1, 1)
    orders = ([*points[start:], *points[:start]], list(reversed(points)))
    other = [order for order in orders if order != list(points)]
    return other[by % len(other)] if other else None


def _joined(sentences: Sequence[str]) -> str:
    return "".join(part if _CLOSED.search(part) else part + " " for part in sentences).rstrip()


def _blocks(text: str) -> list[str]:
    """Lines that are not blank, each with the indented ones that follow it."""
    blocks: list[list[str]] = []
    for line in filter(str.strip, text.split("\n")):
        if blocks and line[:1].isspace():
            blocks[-1].append(line)
        else:
            blocks.append([line.rstrip()])
    return ["\n".join(lines) for lines in blocks]


def _sentences(text: str) -> list[str]:
    sentences: list[list[str]] = []
    goes_on = False
    for part in filter(None, _SENTENCE.split(text.strip())):
        if goes_on:
            sentences[-1].append(part)
        else:
            sentences.append([part])
        goes_on = _SHORTENED.search(part[-LONGEST_SHORTENED:]) is not None
    return [" ".join(parts) for parts in sentences]


def _lines(text: str) -> Iterator[_Line]:
    """The lines, and whether each is in a block of code or a formula, or one of the lines around it."""
    lines = text.split("\n")
    odd = [any(line.count(marker) % 2 for marker in _MARKERS) for line in lines]
    for line, turns, seen in zip(lines, odd, accumulate(odd), strict=True):
        yield _Line(line, turns or seen % 2 == 1)


def _bullet(line: str) -> str:
    if not _PROSE.fullmatch(line.rstrip()):
        return line
    clause = _CLAUSE.match(line)
    return f"- {line}" if clause is None else f"- **{clause[0]}**{line[clause.end() :]}"

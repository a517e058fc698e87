"""The same words in another shape: as markdown, with more room between them, sentences in another order. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

_MARKERS = ("```", "~~~", "$$")
"""What opens and closes a block whose lines are not prose."""
_PROSE = re.compile(r"[^\W\d_][^=;{}<>`|\\*$]*[^\s:：=;{}<>`|\\*$]")
_CLAUSE = re.compile(r".{0,200}?\S(?=[.,;:!?](?:\s|$)|[，。；：！？])")
_LISTED = re.compile(r"(?:[-*+•]|[(（]?\d{1,3}[.)）、])\s*\S")
_LISTED_AS = re.compile(r"(?:(?:[-*+•>]|[(（]?\d{1,3}[.)）、])\s+|[*_“「])*")
_NO_PROSE = re.compile(r"""\s|[\[{<"'|#/@]|[\w-]+:\s|.*?[A-Za-z"'],["'\w]|.*\t""")
"""Lines of code or data: indented, quoted, tagged, commented, `key: value`, or with a comma and no space behind it."""
_WHOLE = re.compile(r"[^\W\d_a-z][^={}<>`|\\;]*[.!?。！？…][*_”’」）)]*")
_CHINESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
LEAST_WORDS = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|(?<=[。！？；])\s*(?=[^\s”’」』）)])")
_CLOSED = re.compile(r"[。！？；]$")
_LEANING = re.compile(
    r"(?:if|unless|only|then|otherwise|else|when|whenever|where|once|after|afterwards?|before|until|while|since|because|"
    r"as|and|or|nor|but|yet|so|also|however|additionally|moreover|furthermore|finally|lastly|next|first(?:ly)?|"
    r"second(?:ly)?|third(?:ly)?|thus|therefore|hence|except|instead|likewise|similarly|still|subsequently|for|with|"
    r"in|it|its|they|their|he|his|she|her|this|that|these|those|such|both|either|neither|same|another|"
    r"(?:no|any|all|every|each|the)\s+(?:others?|same|remaining|rest)|which|who|do(?:ing)?\s+so)\b|"
    r"[如若当前也还再并且而但或仅才除其此该这那它他她]|只有|否则|然后|随后|接着|最后|首先|同时|同样|同理|另外|反之|因此|因为|所以|"
    r"不过|一旦|之后|之前",
    re.IGNORECASE,
)
"""How a point begins that may lean on one before it."""
_REFERRING = re.compile(
    r"\b(?:following|follows|above|below|previous|former|latter|aforementioned)\b|"
    r"以下|下列|如下|上述|以上|前述|前者|后者",
    re.IGNORECASE,
)
LONGEST_SHORTENED = 10
"""Characters behind which nothing of an abbreviation stands; a long part is not searched whole."""
_SHORTENED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|no|nr|mr|mrs|ms|dr|st|fig|approx)|\b\w)\.$", re.IGNORECASE)


class _Line(NamedTuple):
    text: str
    in_block: bool


def has_prose(text: str) -> bool:
    """Whether at least one sentence stands outside of code. Words around anything else (JSON, a table, code, a bare
    answer) could break it, and more room may, too; so what is not plainly a sentence does not count.
    """
    text = text.strip()
    if text.startswith("<") and text.endswith(">"):
        return False
    return any(
        _is_sentence(part)
        for line in _lines(text)
        if not line.in_block and not _NO_PROSE.match(line.text)
        for part in _sentences(_LISTED_AS.sub("", line.text))
    )


def _is_sentence(part: str) -> bool:
    enough = len(part.split()) >= LEAST_WORDS or len(_CHINESE.findall(part)) > LEAST_WORDS
    return enough and _WHOLE.fullmatch(part) is not None


def as_markdown(text: str) -> str:
    """Lines of prose as bullets whose first clause is bold; code, formulas, lists and tables stay as they are."""
    lines = (line.text if line.in_block else _bullet(line.text) for line in _lines(text))
    return "\n".join(lines)


def with_room(text: str, before: str, after: str) -> str:
    """The text with twice the blank lines between its paragraphs, and room around it; code stays as it is."""
    wide = (line.text + "\n" if not line.in_block and not line.text.strip() else line.text for line in _lines(text))
    return before + "\n".join(wide) + after


def reordered(text: str, by: int) -> str | None:
    """The points of a text in another order: its list, else its lines, else its sentences.

    None for less than two, and where one may lean on another by how it begins or what it refers to: in another order
    these would mean something else. The order is turned by a number of places that follows from `by`, or turned round.
    What stands before a list stays there.
    """
    blocks = _blocks(text)
    if len(blocks) < 2:
        moved = _moved(_sentences(text), by)
        return None if moved is None else _joined(moved)
    listed = [_LISTED.match(block) is not None for block in blocks]
    start = listed.index(True) if any(listed) else 0
    if any(listed) and not all(listed[start:]):
        return None  # there is no telling what belongs to which list
    moved = _moved(blocks[start:], by)
    return None if moved is None else "\n".join([*blocks[:start], *moved])


def _moved(points: Sequence[str], by: int) -> list[str] | None:
    """The points in another order, None where there is none that means the same."""
    if any(map(_leans, points)):
        return None
    start = 1 + by // 2 % max(len(points) - 1, 1)
    orders = ([*points[start:], *points[:start]], list(reversed(points)))
    other = [order for order in orders if order != list(points)]
    return other[by % len(other)] if other else None


def _leans(point: str) -> bool:
    said = _LISTED_AS.sub("", point, count=1)
    return bool(_LEANING.match(said) or _REFERRING.search(said)) or said.rstrip().endswith((":", "："))


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

"""Rules of rubrics as text: read, numbered, compared, tidied. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Rule
from misjudge_tools.interchange.json_records import storable
from misjudge_tools.rubrics.compound import apart
from misjudge_tools.rubrics.rule_words import CITES, HIGH_LEVEL
from misjudge_tools.rubrics.wording import INVISIBLE, folded

MOST_RULES: Final = 500
"""Rules of a gold or library rubric."""
MOST_GENERATED: Final = 100
"""Rules that are kept of a generated one."""
LONGEST: Final = 2_000
"""Characters of a rule."""
COMMENT: Final = "#"
"""Begins a line of a file that is no rule."""

_MARKER: Final = re.compile(
    r"\s*(?:\d{1,4}[.)](?=\s|$)|\d{1,4}[、．)](?!\d)|[(（]\d{1,4}[)）]|[\u2460-\u2473]|[-*+](?=\s|$)|[•·●▪◦‣–—](?!\d))\s*"
)
_TAG: Final = re.compile(r"(?:[\[［【]\s*(?P<tag>hard|硬|high|高)\s*[\]］】])[:：]?\s*", re.IGNORECASE)
_HARD: Final = frozenset({"hard", "硬"})
_SHOWN_HARD: Final = re.compile(r"[\[［【]\s*(?:hard|硬)\s*[\]］】]")


class Tidied(NamedTuple):
    """The rules of a generated rubric that are kept, and what became of the others: repeated another one; were too many
    or say nothing; held two constraints and were split. `compound` of those kept may hold several.
    """

    rules: tuple[Rule, ...]
    duplicates: int
    left_out: int
    split: int
    compound: int


class TaggedLine(NamedTuple):
    """A rule as it was written: without what stands in front, and what its tags say."""

    text: str
    hard: bool
    high: bool


@lru_cache(maxsize=10_000)
def normal_form(text: str) -> str:
    """The text without what makes no other wording: case of ordinary words, width, spaces, a mark at the end.

    Rules of one normal form are one rule, so that what may say another thing is kept; see `wording`.
    """
    form = folded(text)
    while (again := folded(form)) != form:
        form = again
    return form


def tidy(written: Sequence[Rule]) -> Tidied:
    """A generated rubric: one constraint a rule where it can be taken apart, each once, the first MOST_GENERATED."""
    kept: dict[str, Rule] = {}
    duplicates = left_out = split = compound = 0
    for rule in written:
        parts = apart(one_line(rule.text))
        split += len(parts) > 1
        levels = [is_high_level(part.text) for part in parts]
        for part, high in zip(parts, levels, strict=True):
            form = normal_form(part.text)
            if form in kept:
                duplicates += 1
            elif not form or len(kept) >= MOST_GENERATED:
                left_out += 1
            else:
                marked = high or (rule.high_level and not any(levels))
                kept[form] = Rule(text=part.text, hard=rule.hard, high_level=marked)
                compound += part.compound
    return Tidied(tuple(kept.values()), duplicates, left_out, split, compound)


def is_high_level(text: str) -> bool:
    """Whether it asks, by its words, if the answer can work at all (feasibility) or agrees with itself (logic)."""
    return HIGH_LEVEL.search(unicodedata.normalize("NFKC", text)) is not None


def cites_response(text: str) -> bool:
    """Whether it names one of the two responses compared, as "Response A" does: such labels change places."""
    return CITES.search(unicodedata.normalize("NFKC", text)) is not None


def one_line(text: str) -> str:
    """The text in one line, its words one space apart, in characters that can be stored."""
    return " ".join(storable(text).split())


def rules_in(text: str) -> list[Rule]:
    """The rules in a text, a line each: `1.`, `-` or `•` in front is dropped, `[hard]` and `[high]` are read.

    A line without a word is none. Raises InvalidInput for no rule, and for more or longer ones than a rubric takes.
    """
    return _rules([line for line in map(untagged, text.splitlines()) if normal_form(line.text)])


def gold_rules(texts: Sequence[str]) -> list[Rule]:
    """The rules in a list, one each, read as by `rules_in`; line breaks become spaces. Raises InvalidInput."""
    return _rules([untagged(text) for text in texts])


def each_once(rules: Iterable[Rule]) -> list[Rule]:
    """The rules, those of one normal form as one: where and as the first stands, with the marks of all of them.

    Of two gold rules that say the same, one could never be matched.
    """
    found: dict[str, Rule] = {}
    for rule in rules:
        form = normal_form(rule.text)
        first = found.get(form, rule)
        hard, high = first.hard or rule.hard, first.high_level or rule.high_level
        found[form] = Rule(text=first.text, hard=hard, high_level=high)
    return list(found.values())


def untagged(written: str) -> TaggedLine:
    """The text in one line, without its number, bullet and tags, and which tags it had."""
    line = one_line(written)
    marker = _MARKER.match(line)
    text, tags = line[marker.end() :] if marker else line, set[str]()
    while found := _TAG.match(text):
        tags.add(found["tag"].lower())
        text = text[found.end() :]
    return TaggedLine(text, hard=bool(tags & _HARD), high=bool(tags - _HARD))


def _rules(lines: Sequence[TaggedLine]) -> list[Rule]:
    if not lines:
        raise InvalidInput("There is no rule in it. Write one rule a line, such as: Does the answer name a date?")
    if len(lines) > MOST_RULES:
        raise InvalidInput(f"There are {len(lines):,} rules, and a rubric takes {MOST_RULES}. Leave some out.")
    for number, line in enumerate(lines, 1):
        if not line.text or len(line.text) > LONGEST:
            raise InvalidInput(
                f"Rule {number} has {len(line.text):,} characters, and a rule has 1 to {LONGEST:,}. Correct it."
            )
    return [Rule(text=text, hard=hard, high_level=high or is_high_level(text)) for text, hard, high in lines]


def numbered(rules: Sequence[Rule], *, marks: bool = False) -> str:
    """A line a rule: `1. text`; with `marks` a hard one is `1. [hard] text`.

    A text that holds such a mark itself then stands in quotes, so that nothing but a hard rule looks like one.
    """
    lines = (_marked(rule) if marks else one_line(rule.text) for rule in rules)
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _marked(rule: Rule) -> str:
    text = one_line(rule.text)
    seen = INVISIBLE.sub("", "".join(char for char in text if unicodedata.category(char) != "Cf"))
    quoted = f"“{text}”" if _SHOWN_HARD.search(unicodedata.normalize("NFKC", seen).casefold()) else text
    return f"[hard] {quoted}" if rule.hard else quoted


def as_lines(rules: Sequence[Rule]) -> str | None:
    """The rules as a text that `rules_in` reads back the same, None where there is none such."""
    text = "".join(f"{_tagged(rule)}\n" for rule in rules)
    try:
        return text if rules_in(text) == list(rules) else None
    except InvalidInput:
        return None


def _tagged(rule: Rule) -> str:
    high = rule.high_level and not is_high_level(rule.text)
    tags = f"{'[hard] ' if rule.hard else ''}{'[high] ' if high else ''}"
    read_otherwise = _MARKER.match(rule.text) or rule.text.startswith(COMMENT)
    return f"{'- ' if not tags and read_otherwise else ''}{tags}{rule.text}"

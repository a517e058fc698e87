"""Rules about the form of the agent's answer: its length and how it is written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from misjudge_storage.types import Message
from misjudge_tools.episodes.dates import dates_in, without_dates
from misjudge_tools.episodes.json_answers import NoJson, json_of
from misjudge_tools.episodes.rules import FormatRule, LengthRule
from misjudge_tools.episodes.text_checks import answer_of, said
from misjudge_tools.episodes.told import Told

_CHINESE: Final = r"\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_WORD: Final = re.compile(rf"[{_CHINESE}]|(?:(?![{_CHINESE}])[^\W_])+(?:['’.,-](?:(?![{_CHINESE}])[^\W_])+)*")
_END_OF_SENTENCE: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+(?=\s|$)|[。！？]+|\n+")
_ITEM: Final = re.compile(
    r"[ \t]*(?:[-*+•·▪◦]|[(（]?(?P<number>\d{1,3})[.)、．）])(?:[ \t]+|(?<=[、．）])|(?=\*\*))\S.*"
)
_RULE_OF_TABLE: Final = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")


def length(rule: LengthRule, messages: Sequence[Message]) -> Told:
    count = _COUNTS[rule.unit]("\n".join(said(messages, rule.where)).strip())
    fits = (rule.at_least is None or count >= rule.at_least) and (rule.at_most is None or count <= rule.at_most)
    return Told(fits, f"it has {count} {rule.unit}")


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


_COUNTS: Final[Mapping[str, Callable[[str], int]]] = {
    "words": lambda text: len(_WORD.findall(text)),
    "characters": len,
    "sentences": lambda text: sum(_WORD.search(part) is not None for part in _END_OF_SENTENCE.split(text)),
    "lines": lambda text: len(_lines(text)),
    "items": lambda text: sum(_ITEM.fullmatch(line) is not None for line in _lines(text)),
}


def written_as(rule: FormatRule, messages: Sequence[Message]) -> Told:
    answer = answer_of(messages).strip()
    holds = bool(answer) and _FORMS[rule.value](answer)
    return Told(holds, "it is written so" if holds else "it is not written so")


def _is_json(answer: str) -> bool:
    try:
        return isinstance(json_of(answer), dict | list)
    except NoJson:
        return False


def _body(answer: str) -> list[str]:
    """The lines without an introduction."""
    lines = _lines(answer)
    return lines[1:] if lines[0].rstrip().endswith((":", "：")) else lines


def _is_list(answer: str) -> bool:
    body = _body(answer)
    return bool(body) and _ITEM.fullmatch(body[0]) is not None and all(map(_is_of_list, body))


def _is_of_list(line: str) -> bool:
    return _ITEM.fullmatch(line) is not None or line.startswith((" ", "\t"))


def _is_numbered(answer: str) -> bool:
    outer = [line for line in _body(answer) if not line.startswith((" ", "\t"))]
    numbers = [found["number"] if (found := _ITEM.fullmatch(line)) else None for line in outer]
    return _is_list(answer) and numbers == [str(number) for number in range(1, len(outer) + 1)]


def _is_table(answer: str) -> bool:
    body = _body(answer)
    return len(body) > 2 and _RULE_OF_TABLE.fullmatch(body[1].strip()) is not None and all("|" in line for line in body)


def _has_iso_dates(answer: str) -> bool:
    plain = unicodedata.normalize("NFKC", answer).casefold()
    rest = re.sub(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)", " ; ", plain)
    return rest != plain and bool(dates_in(plain)) and without_dates(rest) == rest


_FORMS: Final[Mapping[str, Callable[[str], bool]]] = {
    "json": _is_json,
    "list": _is_list,
    "numbered_list": _is_numbered,
    "table": _is_table,
    "iso_date": _has_iso_dates,
    "one_line": lambda answer: len(answer.splitlines()) == 1,
}

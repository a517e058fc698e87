"""Whether a text tells a fact: a number, a date or a name, in any usual way of writing it in English or Chinese.

What is told in spite of a "not" is told: negation is not understood, nor are relative dates ("tomorrow").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final

from misjudge_tools.episodes.dates import WrittenDate, dates_in, without_dates
from misjudge_tools.episodes.numerals import CHINESE, ENGLISH, chinese, english
from misjudge_tools.episodes.rules import Cell

_LETTER: Final = r"a-z_\u00c0-\u024f\u0370-\u04ff"
_ISO_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_DASHES: Final = re.compile(r"[\u2010-\u2015\u2212\ufe58\ufe63]")
_UNSEEN: Final = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_SPACED_THOUSANDS: Final = re.compile(r"(?<=\d)[\u00a0\u202f\u2009'\u2019](?=\d{3}(?!\d))")
_NO_NUMBER: Final = re.compile(r"(?<!\d)(?<!\d\.)\d+(?:\.\d+){2,}|(?<!\d)\d{1,2}:\d{2}(?::\d{2})?(?!\d)")
"""Versions, addresses and times of day."""
_CURRENCY: Final = r"[$¥€£₩₹]"
_ARABIC: Final = re.compile(
    rf"(?P<sign>(?<![\w)])-{_CURRENCY}?)?"
    rf"(?P<number>(?:(?<![{_LETTER}])|(?<=usd|eur|gbp|cny|rmb|jpy|hkd))(?<!\d)(?<!\d\.)"
    r"(?>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?)|(?<![\w.])\.\d++)"
    rf"(?![{_LETTER}]+\d|_)\s?(?P<scale>%|(?:k|m|bn|percent|thousand|million|billion)(?![a-z]))?"
)
_DIGITS: Final = re.compile(r"(?>\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?")
_SCALES: Final = {
    "k": (1000,),
    "thousand": (1000,),
    "m": (1, 10**6),
    "million": (10**6,),
    "bn": (10**9,),
    "billion": (10**9,),
}
_MOST_DIGITS: Final = 40


def told(fact: Cell, text: str) -> bool:
    """A number in another way of writing it, an ISO date with or without its year, or a name as whole words.

    A number is told by itself and as the last part of a code ("4417" by "O-4417"), never as a part of another number.
    """
    if fact is None or isinstance(fact, bool):
        return False
    if isinstance(fact, int | float):
        return Decimal(repr(fact)) in _numbers(text)
    day = _as_date(fact)
    if day is not None:
        return any(written.is_day(day) for written in _dates(text))
    return _name(fact).search(_plain_name(text)) is not None or (
        (number := number_of(fact)) is not None and number in _numbers(text)
    )


def holds_number(fact: Cell) -> bool:
    """Whether it is a number, a day, or a name with a number in it: such a fact is hit by who lists enough of them."""
    if isinstance(fact, str):
        return _DIGITS.search(_plain(fact)) is not None or bool(_numbers(fact) or _dates(fact))
    return fact is not None


def numbers_written(texts: Iterable[str]) -> int:
    """How many different numbers and days the texts hold together, also in codes, times and the like."""
    return len(frozenset().union(*map(_written, texts)))


@lru_cache(maxsize=32)
def _written(text: str) -> frozenset[str | Decimal | WrittenDate | None]:
    plain = without_dates(_plain(text))
    return (
        _dates(text)
        | frozenset(_DIGITS.findall(CHINESE.sub(" ; ", plain)))
        | {chinese(match["number"]) for match in CHINESE.finditer(plain)}
        | {english(match[0]) for match in ENGLISH.finditer(plain)}
    )


def number_of(text: str) -> Decimal | None:
    """The number that a text is as a whole, with its sign, currency or percent sign."""
    plain = _plain(text).strip()
    found = _ARABIC.fullmatch(plain) or _ARABIC.fullmatch(plain.lstrip("$¥€£"))
    if found is None:
        written = CHINESE.fullmatch(plain)
        return chinese(written["number"]) if written else None
    number = _decimal(found["number"])
    return number if number is None or not found["sign"] else -number


def _as_date(fact: str) -> date | None:
    try:
        return date.fromisoformat(fact) if _ISO_DATE.fullmatch(fact) else None
    except ValueError:
        return None


def _plain(text: str) -> str:
    # A full-width comma divides what it stands between, it is none of the thousands.
    text = _SPACED_THOUSANDS.sub("", text.replace("，", ", ").replace("\u2212", "-"))
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=32)
def _dates(text: str) -> frozenset[WrittenDate]:
    return dates_in(_plain(text))


@lru_cache(maxsize=32)
def _numbers(text: str) -> frozenset[Decimal]:
    plain = _NO_NUMBER.sub(" ; ", without_dates(_plain(text)))
    found: set[Decimal] = set()
    for match in CHINESE.finditer(plain):
        number = chinese(match["number"])
        if number is not None:
            found |= {number, number / 100} if match["percent"] else {number}
    found |= {english(match[0]) for match in ENGLISH.finditer(plain)}
    for match in _ARABIC.finditer(CHINESE.sub(" ; ", plain)):
        found |= _readings(match)
    return frozenset(found)


def _readings(match: re.Match[str]) -> set[Decimal]:
    number = _decimal(match["number"])
    if number is None:
        return set()
    if match["sign"]:
        number = -number
    scale = match["scale"]
    if scale in {"%", "percent"}:
        return {number, number / 100}
    return {number * factor for factor in _SCALES.get(scale, (1,))}


def _decimal(written: str) -> Decimal | None:
    """None for what is a code by its zeros (007), or its length."""
    digits = written.replace(",", "")
    if len(digits) > _MOST_DIGITS or (len(digits) > 1 and digits[0] == "0" and digits[1] != "."):
        return None
    return Decimal(digits)


def _plain_name(text: str) -> str:
    return " ".join(re.sub(r"[-\s]+", " ", _DASHES.sub("-", _plain(text)).replace("\u2019", "'")).split())


@lru_cache(maxsize=256)
def _name(fact: str) -> re.Pattern[str]:
    """Spaces and hyphens may be there or not between the words, digits and Chinese characters of a name."""
    parts = re.findall(rf"[{_LETTER}]+|\d+|\S", _plain_name(fact))
    if not parts:
        return re.compile(r"(?!)")
    begin = rf"(?<![{_LETTER}\d])" if _latin(parts[0]) else ""
    end = rf"(?![{_LETTER}\d]|[.,]\d)" if _latin(parts[-1]) else ""
    return re.compile(begin + " ?".join(map(re.escape, parts)) + end)


def _latin(part: str) -> bool:
    return re.match(rf"[{_LETTER}\d]", part) is not None

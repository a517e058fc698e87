"""Days that a text in English or Chinese names, with or without their year. Expects NFKC form and lower case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Final, NamedTuple

from misjudge_tools.episodes.numerals import chinese

_MONTHS: Final[Mapping[str, int]] = {
    name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)
}
_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:[ -]?,?[ -]?(?P<year>(?:19|20)\d\d)(?!\d|[.,]\d))?"
_NUMERAL: Final = "[零〇一二三四五六七八九十廿]"

_WRITINGS: Final = (
    re.compile(r"(?<![\d.])(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?!\d|\2\d)"),
    re.compile(r"(?<![\d/])(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>(?:20)?\d\d)(?![\d/])"),
    re.compile(r"(?<![\d.])(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>(?:19|20)\d\d)(?!\d|\.\d)"),
    re.compile(rf"(?<![\d.,/:-]){_DAY}(?: of)?[ -]{_MONTH}{_YEAR}"),
    re.compile(rf"(?<![a-z]){_MONTH} (?:the )?{_DAY}(?!\d|[.:/]\d|,\d{{3}}(?!\d)|%){_YEAR}"),
    re.compile(
        rf"(?:(?P<year>\d{{4}}|{_NUMERAL}{{4}}) ?年 ?)?(?P<month>(?<!\d)\d{{1,2}}|{_NUMERAL}{{1,2}}) ?月 ?"
        rf"(?P<day>\d{{1,2}}|{_NUMERAL}{{1,3}}) ?[日号號]"
    ),
)


class WrittenDate(NamedTuple):
    """A day as it was written; `year` is None where it was left out."""

    year: int | None
    month: int
    day: int

    def is_day(self, day: date) -> bool:
        return (self.month, self.day) == (day.month, day.day) and self.year in {None, day.year}


def dates_in(text: str) -> frozenset[WrittenDate]:
    """3/4/2026 is the 4th of March; it is the 3rd of a month only where the other number is none of a month."""
    return frozenset(_read(found) for writing in _WRITINGS for found in writing.finditer(text))


def without_dates(text: str) -> str:
    for writing in _WRITINGS:
        text = writing.sub(" ; ", text)
    return text


def _read(found: re.Match[str]) -> WrittenDate:
    year, month, day = _number(found["year"]), _number(found["month"]), _number(found["day"])
    if month > 12 and "/" in found[0] and len(found["month"]) < 3:
        month, day = day, month
    return WrittenDate(2000 + year if 0 < year < 100 else year or None, month, day)


def _number(written: str | None) -> int:
    """0 for what is no number."""
    if written is None:
        return 0
    if written[:3] in _MONTHS:
        return _MONTHS[written[:3]]
    return int(written) if written.isdecimal() else int(chinese(written) or 0)

"""What the cells of a table mean: numbers, yes and no, preferences, orders. Text or JSON values in, values out."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import product
from typing import Any

from misjudge_storage.types import Order, Preference, RecordError, utc_time

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_WHOLE_AS_FLOAT = re.compile(r"(-?\d+)\.0+", re.ASCII)
_LARGEST_WHOLE = 2**53
_EPOCH = re.compile(r"\d{9,13}(\.\d+)?", re.ASCII)
_EPOCH_YEARS = range(1990, 2101)
"""Other counts of seconds are rather durations, or dates without dashes."""
_MILLISECONDS_FROM = 1e11
_UTC_NAMED = re.compile(r"\s*(UTC|GMT)$", re.IGNORECASE)

_NOUNS = ("response", "answer", "model", "assistant", "output", "completion", "option", "side", "agent", "system")
_WORDS: dict[Preference, tuple[str, ...]] = {
    "A": ("a>b", "a>>b", "b<a", "b<<a", "a wins", "a is better"),
    "B": ("b>a", "b>>a", "a<b", "a<<b", "b wins", "b is better"),
    "tie": (
        *("tie", "tied", "draw", "equal", "same", "both", "neither", "no preference", "a=b", "b=a", "a==b", "b==a"),
        *("both good", "bothgood", "both bad", "bothbad", "[[c]]"),
        *("tie (both good)", "tie (both bad)", "tie (bothbad)"),
    ),
}
_SIDES: tuple[tuple[str, Preference], ...] = (("a", "A"), ("b", "B"))
COMMON_VALUES: Mapping[str, Preference] = {
    **{word: meaning for meaning, words in _WORDS.items() for word in words},
    **{letter: meaning for letter, meaning in _SIDES},
    **{f"{noun} {letter}": meaning for noun, (letter, meaning) in product(_NOUNS, _SIDES)},
}
"""Verdicts as people commonly write them. Never bare numbers: whether 1 is A or B is the file's secret."""

_ORDERS: Mapping[str, Order] = {
    **dict.fromkeys(("ab", "a=left", "original", "normal", "unswapped", "not swapped", "a first"), "AB"),
    **dict.fromkeys(("ba", "a=right", "b=left", "swapped", "reversed", "b first"), "BA"),
}
_TURNED = re.compile("swap|revers|flip|invert|switch|turned", re.IGNORECASE)
"""In a column of such a name yes means that side B was shown first."""
_YES = frozenset(
    {"true", "yes", "y", "1", "correct", "pass", "passed", "success", "right", "是", "对", "正确", "成功", "通过"}
)
_NO = frozenset(
    {"false", "no", "n", "0", "incorrect", "fail", "failed", "failure", "wrong", "否", "错", "错误", "失败", "不通过"}
)


def cell_text(value: Any) -> str:
    """A cell as text: empty for null, JSON for anything that is not a string. A list of messages stays JSON text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def folded(value: Any) -> str:
    """A cell as verdicts are compared: NFKC, stripped, case-folded, a whole number without its `.0`."""
    text = unicodedata.normalize("NFKC", cell_text(value)).strip().casefold()
    whole = _WHOLE_AS_FLOAT.fullmatch(text)
    return whole[1] if whole else text


def preference(value: Any, meanings: Mapping[str, Preference | None] | None) -> Preference | None:
    """The side a verdict names, by `meanings` (of folded values), or by COMMON_VALUES where these name no side; None
    where it names none.
    """
    text = folded(value)
    if meanings is not None and (text in meanings or any(meanings.values())):
        return meanings.get(text)
    bare = text[2:-2].strip() if text.startswith("[[") and text.endswith("]]") and text != "[[c]]" else text
    return COMMON_VALUES.get(re.sub(r"[\s_-]+", " ", bare))


def number(column: str, value: Any) -> float | None:
    """A finite number, None for an empty cell. Raises RecordError naming the column."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        text = cell_text(value).strip()
        if not text:
            return None
        if _NOT_FINITE.fullmatch(text):
            raise RecordError(f"column {column!r} holds {text.lower()}; leave the cell empty where there is no number")
        if not _NUMBER.fullmatch(text):
            raise RecordError(f"column {column!r} does not hold a number; write it like 3.5, or leave the cell empty")
        value = text
    try:
        read = float(value)
    except OverflowError:
        read = math.inf
    if not math.isfinite(read):
        raise RecordError(f"column {column!r} holds a number too large to be read")
    return read


def whole(column: str, value: Any) -> int | None:
    """A whole number from 0 to 2^53, None for an empty cell. Raises RecordError naming the column."""
    read = number(column, value)
    if read is None:
        return None
    if not read.is_integer() or not 0 <= read <= _LARGEST_WHOLE:
        raise RecordError(f"column {column!r} must hold a whole number from 0 up, or nothing")
    return int(read)


def yes_or_no(column: str, value: Any) -> bool | None:
    """True or false, None for an empty cell. Raises RecordError naming the column."""
    text = folded(value)
    if not text:
        return None
    if text in _YES or text in _NO:
        return text in _YES
    raise RecordError(f"column {column!r} must hold true or false (or 1 and 0, yes and no, 是 and 否)")


def moment(column: str, value: Any) -> datetime | None:
    """A time in UTC, None for an empty cell: ISO 8601, without a zone in UTC, or seconds or milliseconds since 1970 of
    a moment from 1990 to 2100; a number of another size is rather a duration or a step. Raises RecordError naming the
    column.
    """
    text = cell_text(value).strip()
    if not text:
        return None
    try:
        if not _EPOCH.fullmatch(text):
            return utc_time(_UTC_NAMED.sub("+00:00", text))
        seconds = float(text) / (1000 if float(text) >= _MILLISECONDS_FROM else 1)
        read = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError):
        read = None
    if read is None or read.year not in _EPOCH_YEARS:
        raise RecordError(
            f"column {column!r} must hold a time such as 2025-01-31T12:00:00+00:00 or 2025-01-31, or a number of "
            "seconds or milliseconds since 1970 that falls in the years 1990 to 2100, such as 1738324800, or nothing"
        )
    return read


def order_shown(column: str, value: Any, given: Mapping[str, Order]) -> Order | None:
    """AB or BA, by `given` (of folded values) or the usual words; None for an empty cell. In a column named after
    swapping, true means BA. Raises RecordError.
    """
    text = folded(value)
    if not text:
        return None
    known = given.get(text) or _ORDERS.get(re.sub(r"\s*=\s*", "=", text))
    if known is None and _TURNED.search(column) and text in _YES | _NO:
        known = "BA" if text in _YES else "AB"
    if known is not None:
        return known
    raise RecordError(
        f"column {column!r} must hold AB or BA (BA: side B was shown first), original or swapped, or nothing; say what "
        "other words mean with --values, as in --values order:yes=BA,no=AB"
    )

"""A user's pattern, of a profile or a rule, against hostile text: what it finds, in bounded time and memory."""

from __future__ import annotations

import math
import re
import warnings
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

# It takes 40 ms to import, and only those with a pattern need it.
if TYPE_CHECKING:
    import regex

MOST_SECONDS: Final = 0.2
"""CPU time for the matching of one text."""

MOST_UNROLLED: Final = 100_000
"""Characters of a pattern with its least counts multiplied out, as it is in memory; 25 MB at most."""

_OTHERWISE: Final = re.compile(r"\\N\{[^}]*\}|\\.|(\{)(?!\d+\}|\d*,\d*\})|\[(:)", re.DOTALL)
"""In groups what `regex` reads otherwise than `re`: a brace without a count, and the start of `[:alpha:]`."""
_LEAST_COUNT: Final = re.compile(r"\\.|\{([0-9]+)", re.DOTALL)
_INVALID: Final = "The pattern is not a valid Python regular expression; correct it."
_TOO_MUCH: Final = "The pattern repeats too much: lower the counts in its braces, or write them as {0,n}."


class Found(NamedTuple):
    """The text of the one group of a match, and the characters from `start` to before `end` that matched."""

    label: str
    start: int
    end: int


def group_count(pattern: str) -> int:
    """The groups of a Python `re`. Raises ValueError for what is none, or takes too much memory."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of [[(A|B)]], which the caller answers
            groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(_INVALID) from error
    if _unrolled(pattern) > MOST_UNROLLED:
        raise ValueError(_TOO_MUCH)
    _compiled(pattern)
    return groups


def last_match(pattern: str, text: str) -> Found | None:
    """The last match of a pattern that has a group. None: nothing matches, or it would take too long to say."""
    try:
        return last_of(_compiled(pattern).finditer(text, timeout=MOST_SECONDS))
    except TimeoutError:
        return None


def first_match(pattern: str, text: str) -> Found | None:
    """The first match, labelled with its first group, or itself where there is none. Raises TimeoutError."""
    match = _compiled(pattern).search(text, timeout=MOST_SECONDS)
    if match is None:
        return None
    return Found(match[1 if match.re.groups else 0] or "", *match.span())


def last_of(matches: Iterable[re.Match[str] | regex.Match[str]]) -> Found | None:
    last = deque(matches, maxlen=1)
    return Found(last[0][1] or "", *last[0].span()) if last else None


def _unrolled(pattern: str) -> int:
    return len(pattern) * math.prod(max(1, int(count or 1)) for count in _LEAST_COUNT.findall(pattern))


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(_OTHERWISE.sub(_escaped, pattern), regex.VERSION0)
    except (regex.error, RecursionError) as error:
        raise ValueError(_INVALID) from error


def _escaped(found: re.Match[str]) -> str:
    if found[1]:
        return r"\{"
    return r"[\:" if found[2] else found[0]

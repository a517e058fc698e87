"""What is written in place of a key: by guides, and by those who name a variable. Pure."""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 100
# Each word ends where its separator begins, so that nothing can be read in two ways.
_WORDS: Final = r"[-_ ]*(?:[^\W_]+[-_ ]+)*(?:key|token)"
_PLACEHOLDER: Final = re.compile(
    rf"<.*>|(?:sk-)?(?:your{_WORDS}|my{_WORDS}(?![\w-]*\d)|x{{4,}}|\*{{4,}}|\.{{3,}}|…+)"
    r"|(?:api[-_]?)?key[-_]?here|replace[-_]?me|change[-_]?me|.*[你您替换填写密钥]",
    re.IGNORECASE,
)

_REFERENCE: Final = re.compile(r"\$.*|\{.*\}|%\w+%|[A-Z]+(?:_[A-Z]+)+", re.DOTALL)

_NAMES_KEY: Final = re.compile(r"\$.*|\{.*\}|%\w+%|[A-Z]+(?:_[A-Z]+)*_(?:KEY|TOKEN)")


def names_variable(value: str) -> bool:
    """Whether a value is the name of a variable with a key, or refers to one: `$NAME`, `%NAME%`, `NAME_KEY`."""
    return _NAMES_KEY.fullmatch(value) is not None


def stands_in(value: str) -> bool:
    """Whether a value only stands in for a key: a placeholder, or the variable that holds the key."""
    return is_placeholder(value) or _REFERENCE.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value begins as placeholders do: `your_api_key`, `<key>`, `sk-xxxx`; a long one is none."""
    return len(value) < _LONGEST and _PLACEHOLDER.match(value) is not None

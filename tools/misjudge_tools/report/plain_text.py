"""Text of records on its way to a reader: what would be obeyed or not be seen is made visible. Pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TURNING = "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
_UNSEEN = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
"""Marks that turn the direction of text, or that nobody sees. The joiners (U+200C, U+200D) stay: Persian words and
emoji are written with them."""
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f" + _TURNING + _UNSEEN + "\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_STACKED: Final = re.compile(f"([{_MARKS}]{{4}})[{_MARKS}]+")
"""Marks set on top of each other, which would cover the lines above."""


class Cut(NamedTuple):
    """The start of a text, or all of it, and how many characters are left out."""

    text: str
    left_out: int = 0


def visible(text: str) -> str:
    """The text with every control, direction mark and lone surrogate as a sign of its own: `␛`, `⟦U+202E⟧`."""
    return _STACKED.sub(r"\1", _HIDDEN.sub(_sign, text.replace("\r\n", "\n")))


def _sign(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟦U+{code:04X}⟧"


def cut(text: str, most: int) -> Cut:
    """At most this many characters of a text."""
    return Cut(text) if len(text) <= most else Cut(text[:most], len(text) - most)


def one_line(text: str) -> str:
    """The text, visible, in one line."""
    return visible(" ".join(text.split()))

"""Whether a prompt fits a model's context, and how to cut transcripts in the middle where that was asked for. Pure.

Nothing is ever cut silently: without `truncate` what does not fit is unscored (`context_overflow`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

FRAME_TOKENS = 16
"""What a chat format puts around the two messages of a request."""
LEAST = 64
"""Tokens of a transcript that a cut must leave: a judge that sees less does not judge it."""
CHARS_A_TOKEN = 8
"""What `tokens_of` measures has no more characters to a token."""
GOES_ON = "… "
"""Begins the rest of a line, so that nothing in it can pass for the mark of a message."""

_BLOB = re.compile(r"[A-Za-z0-9+/]{32,}")
_PIECE = re.compile(r"[A-Z]?[a-z]{1,6}|[A-Z]{1,3}|[0-9]|[\t-\r\x1c-\x1f]|[^A-Za-z0-9\s\x80-\U0010ffff]{1,2}")
_BY_BYTES = (re.compile("[\x80-\u07ff]"), re.compile("[\u0800-\uffff]"), re.compile("[\U00010000-\U0010ffff]"))
_UNCOUNTED = "\x80"
_WINDOW = 64


class Cut(NamedTuple):
    """A transcript that was cut in the middle; `left_out` are the characters that went."""

    text: str
    left_out: int


def tokens_of(text: str, *, small: bool = False) -> int:
    """An upper estimate of the tokens of a text, made without a tokenizer; `small`: of a vocabulary like SmolLM2's.

    Counted are pieces of words, single digits (as many models read them), marks in twos, each character of what is too
    long for a word (base64, hashes), and letters of other scripts by their bytes. Measured against the tokenizers of
    GPT-4, GPT-4o, Claude 2 and DeepSeek V3, over whichever of the four needs most: English 1.25 times, code 1.2, tool
    calls as JSON 1.3, pretty JSON 1.55, Chinese 1.1, Japanese 1.25, emoji 1.2, base64 1.4, French 1.1, Korean 1.0; too
    low for Arabic and German (0.85), Thai (0.7) and rare Chinese characters (0.5). GPT-4o alone needs less: Chinese
    1.6, Russian 3.9. `small` against SmolLM2: English 1.2, code, JSON 1.1, Chinese 1.3, emoji 1.0, Korean 0.85.
    """
    blobs = _BLOB.findall(text)
    rest = _BLOB.sub(_UNCOUNTED, text) if blobs else text
    tokens = len(_PIECE.findall(rest)) + _up(rest.count(" "), CHARS_A_TOKEN) + sum(map(len, blobs))
    if text.isascii():
        return tokens
    two, three, four = (len(width.findall(text)) for width in _BY_BYTES)
    if small:
        return tokens + _up(3 * (2 * two + 3 * three + 4 * four), 4)
    return tokens + two + _up(5 * three, 4) + 4 * four


def _up(number: int, of: int) -> int:
    return -(-number // of)


def cut_to_fit(transcripts: Sequence[str], room: int, *, small: bool = False) -> list[Cut]:
    """The transcripts cut in the middle, the longest first, until they take at most `room` tokens together.

    Those that are cut get the same allowance, and keep as much of their beginning as of their end, to the end of a line
    where one is near; a line between says how many characters are left out. Where there is no room for that, all stay
    as they are, and do not fit.
    """
    sizes = [tokens_of(text, small=small) for text in transcripts]
    allowance = _allowance(sizes, room)
    cuts = [
        Cut(text, 0) if size <= allowance else _cut(text, allowance, small)
        for text, size in zip(transcripts, sizes, strict=True)
    ]
    return [Cut(text, 0) for text in transcripts] if None in cuts else [cut for cut in cuts if cut is not None]


def _allowance(sizes: Sequence[int], room: int) -> int:
    """The most tokens that each may take: what the short ones do not need is left to the long ones."""
    left = room
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _cut(text: str, allowance: int, small: bool) -> Cut | None:
    """None where too little would be left."""
    size = partial(tokens_of, small=small)
    half = (allowance - size(_marker(len(text)) + GOES_ON)) // 2
    if 2 * half < LEAST:
        return None
    end = _end(text, _most(half, lambda number: size(text[:number]), len(text)))
    behind = _most(half, lambda number: size(text[len(text) - number :]), len(text))
    start = _start(text, max(len(text) - behind, end + 1))
    goes_on = "" if text[start - 1] == "\n" else GOES_ON
    return Cut(f"{text[:end]}{_marker(start - end)}{goes_on}{text[start:]}", start - end)


def _marker(left_out: int) -> str:
    return f"\n[… {left_out:,} characters left out by misjudge …]\n"


def _most(tokens: int, size: Callable[[int], int], length: int) -> int:
    """The most characters that take no more than these tokens."""
    return bisect_right(range(min(length, CHARS_A_TOKEN * tokens) + 1), tokens, key=size) - 1


def _end(text: str, most: int) -> int:
    """Where the beginning ends that is kept: at the end of a line, else of a character as people see it."""
    line = text.rfind("\n", most - most // 4, most + 1)
    return line if line >= 0 else max((end for end in _graphemes(text, most) if end <= most), default=most)


def _start(text: str, least: int) -> int:
    """Where the end begins that is kept."""
    line = text.find("\n", least - 1, least + (len(text) - least) // 4)
    return line + 1 if line >= 0 else min((end for end in _graphemes(text, least) if end >= least), default=least)


def _graphemes(text: str, at: int) -> list[int]:
    """Where characters end around a place."""
    import regex

    before = max(at - _WINDOW, 0)
    return [before + found.end() for found in regex.finditer(r"\X", text[before : at + _WINDOW])]

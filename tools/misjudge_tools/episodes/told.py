"""What a rule comes to."""

from __future__ import annotations

from typing import NamedTuple


class Told(NamedTuple):
    """`passed` is None where it cannot be told; `why` is a short sentence without text of the transcript."""

    passed: bool | None
    why: str

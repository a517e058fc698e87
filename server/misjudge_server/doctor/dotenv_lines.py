"""Lines of `.env` that set nothing: quotes that do not close, commands of a shell, JSON. Pure; keeps no text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from dotenv.parser import parse_stream

_NAME: Final = re.compile(r"[A-Za-z_][\w.-]*")
_OURS: Final = re.compile(r"TAOTOKEN|MISJUDGE|(?:JUDGE|SIM_USER|CANDIDATE)_MODEL", re.IGNORECASE)


class UnreadLine(NamedTuple):
    """A line, counted from 1, that sets nothing; `ours`: a variable that misjudge reads is meant."""

    number: int
    ours: bool


def unread_lines(text: str) -> tuple[UnreadLine, ...]:
    """The lines that are neither NAME=value nor comment nor blank, as the reader of `.env` takes them."""
    return tuple(_unread(text))


def _unread(text: str) -> Iterator[UnreadLine]:
    # The parser counts the two characters of a line end as two lines after an error.
    for binding in parse_stream(io.StringIO(text.replace("\r\n", "\n"))):
        written = binding.original.string
        if not binding.error and binding.key is None:
            continue
        if binding.error or binding.value is None or not _NAME.fullmatch(binding.key or ""):
            blank = len(written) - len(written.lstrip())
            number = binding.original.line + written.count("\n", 0, blank)
            yield UnreadLine(number, _OURS.search(written) is not None)

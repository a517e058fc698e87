"""CSV that spreadsheets open as it is: UTF-8 with a byte order mark, and no text that they would calculate.

Text that begins as a formula does gets a quote in front of it, at the start of a cell and behind what another locale
takes for the end of one (semicolon, tab, line break). Numbers stay numbers. `unguarded` takes the quotes off again, so
that what is exported and imported again is the same. The characters are those of OWASP, "CSV Injection".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

_START = r"(?:\A|(?<=[;\t\r\n]))"
_FORMULA = "(?='*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])"
_UNGUARDED = re.compile(_START + _FORMULA)
_GUARDED = re.compile(_START + "'" + _FORMULA)


class Written(NamedTuple):
    """How many rows were written, and in how many cells a quote was put."""

    rows: int
    guarded: int


def guarded(text: str) -> str:
    """The text with a quote before each place where a spreadsheet would read a formula."""
    return _UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """What `guarded` was given."""
    return _GUARDED.sub("", text)


def write_csv(path: Path, columns: Sequence[str], rows: Generator[Mapping[str, Any], None, None]) -> Written:
    """Write the rows, None as an empty cell. Raises OSError."""
    number = changed = 0
    with closing(rows), path.open("x", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            cells = [row[name] for name in columns]
            safe = [guarded(cell) if isinstance(cell, str) else cell for cell in cells]
            changed += sum(one != other for one, other in zip(cells, safe, strict=True))
            writer.writerow(safe)
            number += 1
    return Written(number, changed)

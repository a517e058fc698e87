"""CSV that spreadsheets open as it is: UTF-8 with a byte order mark, and no text that they would calculate.

Such text gets a quote in front of it (see `formula_guard`); numbers stay numbers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from misjudge_tools.interchange.formula_guard import guarded


class Written(NamedTuple):
    """How many rows were written, and in how many cells a quote was put."""

    rows: int
    guarded: int


def begins_with(columns: Sequence[str]) -> re.Pattern[bytes]:
    """How a file of these columns begins."""
    return re.compile(re.escape(f"\ufeff{','.join(columns)}\r\n".encode()))


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

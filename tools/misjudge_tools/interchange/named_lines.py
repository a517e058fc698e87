"""The lines that a sentence about a file names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MOST_NAMED: Final = 3
"""Lines that a sentence names; of more, it says how many."""


def named_lines(lines: Sequence[int], number: int) -> str:
    """`line 2`, `lines 2 and 5`, `lines 2, 3, 4 and 1,057 more`; `number` is how many there are with these first."""
    if number == 1:
        return f"line {lines[0]}"
    first = lines[:MOST_NAMED]
    more = number - len(first)
    *others, last = [*map(str, first), *([f"{more:,} more"] if more else [])]
    return f"lines {', '.join(others)} and {last}"

"""Which words in the verdict columns of a table no meaning is known for, counted as its rows are read."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from misjudge_tools.interchange.files import Row
from misjudge_tools.interchange.table_cells import cell_text
from misjudge_tools.interchange.table_layout import Layout, is_understood

SHOWN_WORDS = 5
LONGEST_WORD = 24
"""Longer cells are texts rather than words: they are counted and never repeated."""
MOST_WORDS = 1_000
_OTHER = ""
"""What texts and the words beyond MOST_WORDS are counted under."""


class _Place(NamedTuple):
    role: str
    column: str


class VerdictWords:
    """Counts by column, of rows that were read without complaint; memory does not grow with the file."""

    def __init__(self) -> None:
        self._filled: Counter[_Place] = Counter()
        self._words: dict[_Place, Counter[str]] = {}

    def add(self, layout: Layout, row: Row) -> None:
        """Count the cells of the columns of `winner` and `gold` in a row."""
        for role in ("winner", "gold"):
            for column in layout.columns.get(role, ()):
                word = " ".join(cell_text(row.fields.get(column)).split())
                if not word:
                    continue
                place = _Place(role, column)
                self._filled[place] += 1
                if not is_understood(layout, row, column):
                    found = self._words.setdefault(place, Counter())
                    found[word if _is_kept(word, found) else _OTHER] += 1

    def not_understood(self) -> str | None:
        """A sentence with the words of each column, None where all are understood."""
        if not self._words:
            return None
        told = "; ".join(f"{place.role} {place.column!r}: {_told(words)}" for place, words in self._words.items())
        return (
            f"Not understood, so an unscored verdict or no label: {told}. Say what it means with {self._example()}; "
            "where it is imported already, into an audit of another name."
        )

    def refusal(self, source: str) -> str | None:
        """Why a table is not imported: most of what a column says is not understood. None where that is not so."""
        most = {place: words for place, words in self._words.items() if 2 * words.total() > self._filled[place]}
        if not most:
            return None
        told = "; ".join(
            f"{words.total()} of the {self._filled[place]} cells of {place.column!r}: {_told(words)}"
            for place, words in most.items()
        )
        roles = " and ".join(dict.fromkeys(f"--map {place.role}=" for place in most))
        return (
            f"Most of what {source} holds as {' and '.join(dict.fromkeys(place.role for place in most))} is not "
            f"understood ({told}), so nothing was imported. Say what the cells mean with {self._example()}, name "
            f"another column with --map, or read none with {roles}."
        )

    def _example(self) -> str:
        """`--values` with the commonest words to be given a meaning."""
        words: Counter[str] = sum(self._words.values(), Counter())
        plain = [word for word, _ in words.most_common() if word and not set(word) & set(",=:'")][:3] or ["1"]
        return f"--values '{','.join(f'{word}=…' for word in sorted(plain))}' (…: A, B, tie, or none for no verdict)"


def _is_kept(word: str, found: Counter[str]) -> bool:
    return len(word) <= LONGEST_WORD and (word in found or len(found) < MOST_WORDS)


def _told(words: Counter[str]) -> str:
    """The commonest words with their numbers, and how many cells hold others."""
    shown = [(word, number) for word, number in words.most_common(SHOWN_WORDS + 1) if word][:SHOWN_WORDS]
    others = words.total() - sum(number for _, number in shown)
    rest = [f"others ({others})" if shown else f"longer texts ({others})"] if others else []
    return ", ".join([*(f"{word!r} ({number})" for word, number in shown), *rest])

"""What a report says, apart from how it looks: the page and the Markdown are both made of these values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from misjudge_tools.report.figures import NONE, Figure
from misjudge_tools.report.reasons import reason
from misjudge_tools.report.wording import said
from misjudge_tools.summary.deciding.phrases import Language

Cell = str | Figure
"""A name, a word, or a number that stands in `figures.csv`, too."""


class Table(NamedTuple):
    """Rows under their headings; the first cell of a row names it. `note` says how to read it."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    note: str = ""


class Section(NamedTuple):
    """One subject: sentences, then charts by their names, then tables, then what is to be known of them."""

    name: str
    title: str
    says: tuple[str, ...] = ()
    charts: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


class Carrier(NamedTuple):
    """One of the numbers that carry the verdict, and what it is."""

    label: str
    figure: Figure


class JudgePart(NamedTuple):
    """What is said of one of several judges."""

    label: str
    simulated: bool
    verdict: str | None
    sections: tuple[Section, ...]


class Document(NamedTuple):
    """A report in the order in which it is read. `missing`: why → the names of what is not there for that reason."""

    title: str
    audit: str
    judge: str | None
    language: Language
    marked: str | None
    verdict: tuple[str, ...]
    carriers: tuple[Carrier, ...]
    would_change: tuple[str, ...]
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]
    judges: tuple[JudgePart, ...]
    missing: tuple[tuple[str, str], ...]
    reading: tuple[str, ...]


class Book(NamedTuple):
    """What sections are written with: the figures of the summary by name, and the language."""

    figures: Mapping[str, Figure]
    language: Language

    def say(self, english: str, /, **named: object) -> str:
        """A word or sentence of the report in its language."""
        return said(english, self.language, **named)

    def reason(self, text: str) -> str:
        """Why something is missing, or what to know of it, as the summary says it, in the language of the report."""
        return reason(text, self.language)

    def at(self, name: str) -> Cell:
        """The figure of this name, a dash where it is not known."""
        return self.figures.get(name, NONE)

    def row(self, label: str, here: str, names: Iterable[str]) -> tuple[Cell, ...]:
        """A row of a table: its label, then the figures of these names below `here`."""
        return (label, *(self.at(f"{here}/{name}") for name in names))

    def rows(self, here: str, labels: Iterable[str], names: Iterable[str]) -> tuple[tuple[Cell, ...], ...]:
        """A row for each label, of the items of the list `here` in their order."""
        wanted = tuple(names)
        return tuple(self.row(label, f"{here}/{number}", wanted) for number, label in enumerate(labels))

    def known(self, at: str, lines: Iterable[tuple[str, str]]) -> tuple[tuple[Cell, ...], ...]:
        """A row for each line whose figure is known: what it is called, and the figure of this name below `at`."""
        return tuple((self.say(label), self.figures[at + name]) for label, name in lines if at + name in self.figures)

    def head(self, *english: str) -> tuple[str, ...]:
        """Headings of a table."""
        return tuple(self.say(one) for one in english)

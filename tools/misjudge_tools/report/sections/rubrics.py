"""What rubric work comes to: writers, rules that are applied, the rubric gap."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.report.document import Book, Cell, Section, Table
from misjudge_tools.summary.rubric_values import RubricsSection
from misjudge_tools.summary.values import Sections

MOST_ROWS = 40
WRITERS = (
    ("recall of gold rules", "recall"),
    ("hallucinated", "hallucination_rate"),
    ("structural F1", "structural_f1"),
    ("samples", "samples"),
    ("rules", "total_generated"),
    ("without an answer", "unscored_rules"),
)
ACCURACY = (
    ("accuracy", "accuracy"),
    ("of decided", "decided_accuracy"),
    ("pairs", "pairs"),
    ("unscored", "unscored"),
    ("no rubric", "no_rubric"),
)


def rubrics(book: Book, sections: Sections, at: str) -> Section | None:
    """The writers of rules, and how right a judge is with whose."""
    found = sections.rubrics
    if found is None:
        return None
    tables = [
        one for one in (_writers(book, found, at), _accuracy(book, found, at), *_rest(book, found, at)) if one.rows
    ]
    title = book.say("Rubrics")
    return Section("rubrics", title, says=found.advice, charts=("rubric_quality",), tables=tuple(tables))


def _writers(book: Book, found: RubricsSection, at: str) -> Table:
    labels = (
        book.say("{writer}, matched by {matcher}", writer=row.writer, matcher=row.matcher)
        if row.matcher
        else row.writer
        for row in found.writers[:MOST_ROWS]
    )
    headings = book.head("writer of rules", *dict(WRITERS))
    rows = book.rows(f"{at}/rubrics/writers", labels, dict(WRITERS).values())
    return Table(headings, rows, note=_more(book, len(found.writers)))


def _accuracy(book: Book, found: RubricsSection, at: str) -> Table:
    labels = (
        f"{row.judge}, {row.source}{'' if row.protocol == 'both_orders' else f' ({row.protocol})'}"
        for row in found.accuracy[:MOST_ROWS]
    )
    headings = book.head("judge, with rules of", *dict(ACCURACY))
    rows = book.rows(f"{at}/rubrics/accuracy", labels, dict(ACCURACY).values())
    return Table(headings, rows, note=_more(book, len(found.accuracy)))


def _rest(book: Book, found: RubricsSection, at: str) -> Iterator[Table]:
    here = f"{at}/rubrics"
    gaps: list[tuple[Cell, ...]] = []
    for number, gap in enumerate(found.gaps[:MOST_ROWS]):
        label = f"{gap.judge}: {gap.first} − {gap.second}"
        named = book.say("rubric gap") if gap.rubric_gap else ""
        gaps.append((label, book.at(f"{here}/gaps/{number}"), book.at(f"{here}/gaps/{number}/mcnemar_p"), named))
    yield Table(book.head("accuracy with rules of", "difference", "McNemar p", "which is the"), tuple(gaps))
    inversions = (f"{one.judge}, {one.writer}" for one in found.inversions[:MOST_ROWS])
    yield Table(
        book.head("value inversion", "inverted", "cannot be told"),
        book.rows(f"{here}/inversions", inversions, ("inverted", "untold")),
    )
    checks = (f"{one.writer}: {one.first} – {one.second}" for one in found.checks[:MOST_ROWS])
    yield Table(
        book.head("two matchers", "agree", "recall, first − second", "disputed samples"),
        book.rows(f"{here}/checks", checks, ("agreement", "recall_difference", "disputed")),
    )


def _more(book: Book, number: int) -> str:
    return "" if number <= MOST_ROWS else book.say("{n} more rows are in figures.csv.", n=number - MOST_ROWS)

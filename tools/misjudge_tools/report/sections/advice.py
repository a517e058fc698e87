"""What to do, and the eight points before a release."""

from __future__ import annotations

from misjudge_tools.report.document import Book, Section, Table
from misjudge_tools.summary.values import Sections


def advice(book: Book, sections: Sections, at: str) -> Section | None:
    """What to do, each with the numbers because of which."""
    found = sections.recommendations
    if found is None or not found.rows:
        return None
    rows = tuple((row.advice, row.because) for row in found.rows)
    return Section("advice", book.say("What to do"), tables=(Table(book.head("do this", "because"), rows),))


def checklist(book: Book, sections: Sections, at: str) -> Section | None:
    """The eight points, and what is left to do."""
    found = sections.checklist
    if found is None:
        return None
    rows = tuple((book.say(item.state), item.said, item.to_do or "") for item in found.items)
    says = book.say("{done} of {all} points hold.", done=found.done, all=len(found.items))
    table = Table(book.head("holds", "point", "to do"), rows)
    return Section("checklist", book.say("Before a release"), says=(says,), tables=(table,))

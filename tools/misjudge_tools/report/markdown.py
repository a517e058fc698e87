"""The report as Markdown: the same sections, tables and figures as the page, without transcripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from misjudge_tools.report.document import Cell, Document, Section, Table
from misjudge_tools.report.figures import Figure
from misjudge_tools.report.plain_text import one_line
from misjudge_tools.report.wording import said

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!$])")
_LINKS = re.compile(r"(?i)(?<=www)\.|:(?=//)")
"""What GitHub makes a link of without being asked to: `https://…`, `www.…`."""
_LISTS = re.compile(r"^(\d+)([.)])(?=\s|$)|^([-+=])")


def markdown(document: Document) -> str:
    """The whole report, in GitHub's Markdown; what comes from records is escaped."""
    return "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Document) -> Iterator[str]:
    language = document.language
    if document.marked:
        yield from (f"> **{escaped(document.marked)}**", "")
    yield from (f"# {escaped(document.verdict[0])}", "")
    yield said("Audit {audit}", language, audit=escaped(document.audit)) + (
        "" if document.judge is None else " · " + said("judge {judge}", language, judge=escaped(document.judge))
    )
    yield ""
    yield from (f"- **{cell(one.figure)}** {escaped(one.label)}" for one in document.carriers)
    yield ""
    yield from (f"{escaped(sentence)}  " for sentence in document.verdict[1:])
    yield ""
    if document.would_change:
        yield from (f"**{said('What would change this', language)}**", "")
    yield from (f"- {escaped(sentence)}" for sentence in document.would_change)
    yield ""
    yield from (f"- ⚠ {escaped(warning)}" for warning in document.warnings)
    yield ""
    for section in document.sections:
        yield from _section(section, "##")
    for judge in document.judges:
        yield from (f"## {escaped(judge.label)}{' (SIMULATED)' if judge.simulated else ''}", "")
        for section in judge.sections:
            yield from _section(section, "###")
    yield from (f"## {said('How to read this', language)}", "")
    yield from (f"- {escaped(line)}" for line in document.reading)
    if document.missing:
        yield from ("", f"### {said('Not in this report, and why', language)}", "")
        yield from (f"- **{escaped(names)}**: {escaped(why)}" for names, why in document.missing)


def _section(section: Section, level: str) -> Iterator[str]:
    yield from (f"{level} {escaped(section.title)}", "")
    for sentence in section.says:
        yield from (escaped(sentence), "")
    for table in section.tables:
        yield from table_lines(table)
    yield from (f"- {escaped(note)}" for note in section.notes)
    yield ""


def table_lines(table: Table) -> Iterator[str]:
    """A table with its caption above and its note below, and a line of space behind it."""
    if table.caption:
        yield from (f"**{escaped(table.caption)}**", "")
    yield _row(table.headings)
    yield _row(["---"] * len(table.headings), plain=True)
    yield from (_row(row) for row in table.rows)
    yield ""
    if table.note:
        yield from (escaped(table.note), "")


def _row(cells: Sequence[Cell], *, plain: bool = False) -> str:
    return f"| {' | '.join(str(one) if plain else cell(one) for one in cells)} |"


def cell(value: Cell) -> str:
    """A cell; the text of a figure is ours, and stands as it is."""
    return value.text if isinstance(value, Figure) else escaped(value)


def escaped(text: str) -> str:
    """Text in one line that is no markup and no link: every sign that Markdown or HTML would read has a backslash."""
    return _LISTS.sub(_listed, _LINKS.sub(r"\\\g<0>", _SPECIAL.sub(r"\\\1", one_line(text))))


def _listed(found: re.Match[str]) -> str:
    number, mark, sign = found.groups()
    return f"{number}\\{mark}" if number else f"\\{sign}"

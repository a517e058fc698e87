"""How a table would be imported, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console
from misjudge_tools.interchange.table import PreviewRow, TablePreview

NEXT = "Nothing was imported. Right? The same again without --dry-run. Else: --map role=column, --values cell=A|B|tie"
SHORT_CELL = 24
"""Characters of a cell that a table shows: what a column holds is seen from its beginning."""


def print_previews(previews: Mapping[str, Any]) -> None:
    """For each file which column plays which role, with the first row, what is wrong with the others, what is not read.

    `previews` are those of an import's result, by file.
    """
    for path, found in previews.items():
        for part in preview_parts(path, TablePreview.model_validate(found)):
            console.print(part)
    console.print(Text(NEXT))


def preview_parts(path: str, found: TablePreview) -> Iterator[Table | Text]:
    """As `print_previews`, of one file."""
    one_a_row = "one response a row" if found.mapping.per_response else "one pair a row"
    table = Table(title=f"{path}: {found.kind}, {one_a_row}", title_justify="left")
    for heading in ("role", "column", *(f"line {row.line}" for row in found.rows)):
        table.add_column(heading, overflow="fold")
    for role, columns in found.mapping.columns:
        for column in columns:
            table.add_row(*map(Text, (role, column, *(_cell(row, role, column) for row in found.rows))))
    yield table
    if missing := [role for role, columns in found.mapping.columns if not columns]:
        yield Text(f"Without a column: {', '.join(missing)}", "dim")
    if found.unread_columns:
        yield Text(f"Columns not read: {', '.join(found.unread_columns)}")
    for row in found.rows:
        if row.problem is not None:
            yield Text(f"line {row.line}: {row.problem}", "yellow")


def _cell(row: PreviewRow, role: str, column: str) -> str:
    """The beginning of a cell, and for a verdict, label, order or time how it is read."""
    cell = next((one for one in row.cells if (one.role, one.column) == (role, column)), None)
    if cell is None:
        return "–"
    text = cell.text if len(cell.text) <= SHORT_CELL else f"{cell.text[: SHORT_CELL - 1]}…"
    return text if cell.reading in {None, cell.text} else f"{text} → {cell.reading}"

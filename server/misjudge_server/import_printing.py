"""How a table would be imported, as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console
from misjudge_tools.interchange.table import PreviewRow, TablePreview
from misjudge_tools.results import FileReport, ImportResult

NEXT = "Nothing was imported. Right? The same again without --dry-run. Else: --map role=column, --values cell=A|B|tie"
READ = frozenset({"winner", "gold", "order", "time"})
"""Roles of which it is shown how a cell is read."""
SHORT_CELL = 24
"""Characters of a cell that a table shows: what a column holds is seen from its beginning."""


def print_import(result: ImportResult) -> None:
    """What each file brought; of a dry run what it would bring, after which column plays which role."""
    for path, found in (result.preview or {}).items():
        for part in preview_parts(path, TablePreview.model_validate(found)):
            console.print(part)
    for file in result.files:
        for line in _report(file, dry=result.preview is not None):
            console.print(Text(line))
    if result.preview is not None and result.refused is None:
        console.print(Text(NEXT))


def _report(file: FileReport, *, dry: bool) -> Iterator[str]:
    added = ", ".join(f"{number} {table}" for table, number in file.added.items() if number) or "nothing new"
    counted = [f"{file.records} records", *([] if dry else [f"added {added}"])]
    left_out = f"; {file.left_out} left out" if file.left_out else ""
    unscored = f"; {file.unscored} verdict{'s' * (file.unscored > 1)} unscored" if file.unscored else ""
    yield f"{file.source}: {', '.join(counted)}{left_out}{unscored}"
    yield from (f"  {said}" for said in (*file.problems, *file.warnings))


def preview_parts(path: str, found: TablePreview) -> Iterator[Table | Text]:
    """Of one file which column plays which role, with the first rows, and which columns are not read."""
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


def _cell(row: PreviewRow, role: str, column: str) -> str:
    """The beginning of a cell, and for a verdict, label, order or time how it is read (?: not)."""
    cell = next((one for one in row.cells if (one.role, one.column) == (role, column)), None)
    if cell is None:
        return "–"
    text = cell.text if len(cell.text) <= SHORT_CELL else f"{cell.text[: SHORT_CELL - 1]}…"
    if cell.reading is None:
        return f"{text} → ?" if text and role in READ else text
    return text if cell.reading == cell.text else f"{text} → {cell.reading}"

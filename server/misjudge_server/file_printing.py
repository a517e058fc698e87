"""What `report` and `export` wrote, as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from misjudge_server.console import console, estimate
from misjudge_tools.results import ExportResult, ReportResult


def print_report(result: ReportResult) -> None:
    """The verdict, where the report is, and what it leaves out."""
    for line in report_lines(result):
        console.print(line)


def report_lines(result: ReportResult) -> Iterator[Text]:
    """As `print_report`."""
    if result.marked:
        yield Text(result.marked, "bold yellow")
    yield Text(result.verdict, "bold")
    yield Text(f"Written: {result.out} ({', '.join(file.name for file in result.files)})")
    for left_out in result.left_out:
        yield Text(left_out, "dim")


def print_export(result: ExportResult) -> None:
    """Where the records are, how many, what was left out, and what a judge alone would have got wrong."""
    for line in export_lines(result):
        console.print(line)


def export_lines(result: ExportResult) -> Iterator[Text]:
    """As `print_export`."""
    if result.marked:
        yield Text(result.marked, "bold yellow")
    yield Text(f"Written: {result.path}", "bold")
    for file in result.files:
        yield Text(f"  {file.name}: {file.rows:,} rows")
    for reason, number in result.left_out.items():
        yield Text(f"Left out ({reason.replace('_', ' ')}): {number:,}")
    for kept in result.kept:
        yield Text(f"{kept.ability}: {kept.after:,} of {kept.before:,} pairs kept by the filter")
    for one in result.judge_only:
        wrong = estimate(one.mislabelled)
        yield Text(f"By {one.judge} alone, the wrong side would be chosen in {wrong} of the decidable pairs it decides")
    for note in (*result.notes, *([result.next] if result.next else [])):
        yield Text(note, "dim")

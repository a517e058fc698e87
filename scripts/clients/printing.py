"""The table of cases, for the terminal and as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clients.player import Row

HEAD = ("case", "client", "passed", "bytes received", "seconds")


def table(rows: Sequence[Row]) -> str:
    """The rows in columns, then why those failed that did."""
    cells = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    return "\n".join([*lines, *_failures(rows), _count(rows)])


def markdown(rows: Sequence[Row]) -> str:
    """The same as a Markdown table."""
    lines = [f"| {' | '.join(cells)} |" for cells in (HEAD, ("---",) * len(HEAD), *(_cells(row) for row in rows))]
    return "\n".join([*lines, "", *(f"- {line}" for line in _failures(rows)), _count(rows)]) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    seconds = f"{row.seconds:.1f}" if row.received else "–"
    return (row.case, row.client, "yes" if row.passed else "NO", f"{row.received:,}" if row.received else "–", seconds)


def _failures(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if not row.passed:
            yield f"FAILED {row.case} ({row.client}): {' '.join(row.why.split())}"


def _count(rows: Sequence[Row]) -> str:
    return f"{sum(row.passed for row in rows)} of {len(rows)} cases passed."

"""The rules for when to trust a judge, and where it may be trusted, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, percent, short, usd
from misjudge_server.side_by_side import Layout, first_that_fits, side_by_side
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow
from misjudge_tools.summary.region_words import region_line
from misjudge_tools.summary.words import word

HEADINGS = ("wrong, of decided", "decided", "calls\na pair", "USD\na pair", "USD a\nright pair")
LABEL_WIDTH = 16
COUNTED = "one_call counts calls, the others pairs. 95 % intervals in brackets."


def print_policies(found: PoliciesSection) -> None:
    """The table of rules, the region, and what is missing."""
    for part in policies_parts(found):
        console.print(part)


def policies_parts(found: PoliciesSection) -> Iterator[Table | Text]:
    """As `print_policies`, in its parts."""
    known = [row for row in found.rows if row.why is None]
    if known:
        yield _table(known)
        yield Text(word(COUNTED), "dim")
    if found.region is not None:
        yield Text(region_line(found.region), "bold")
    for why, names in _missing(found.rows).items():
        yield Text(f"{names}: {why}", "dim")
    for what, why in found.why.items():
        yield Text(f"{what}: {why}", "dim")


def _table(rows: Sequence[PolicyRow]) -> Table:
    priced = any(row.cost_per_pair is not None for row in rows)
    headings = HEADINGS if priced else HEADINGS[:3]
    cells = {_name(row): _cells(row)[: len(headings)] for row in rows}
    folded = {label: [cell.replace(" of ", "\nof ") for cell in row] for label, row in cells.items()}
    narrow = (HEADINGS[0].replace(", ", ",\n"), *headings[1:])
    layouts = [Layout(headings, cells), *(Layout(narrow[:n], _first(folded, n)) for n in range(len(headings), 1, -1))]
    layout = first_that_fits(*layouts, label_width=LABEL_WIDTH)
    title = word("Policies: when to take a verdict")
    return side_by_side(title, layout.headings, layout.rows, first="policy", label_width=LABEL_WIDTH)


def _first(rows: Mapping[str, Sequence[str]], number: int) -> Mapping[str, Sequence[str]]:
    return {label: cells[:number] for label, cells in rows.items()}


def _name(row: PolicyRow) -> str:
    return row.policy if row.source is None else f"{row.policy} ({row.source})"


def _cells(row: PolicyRow) -> Sequence[str]:
    return (
        short(row.misselection),
        f"{percent(row.coverage)} of {row.decidable}",
        "–" if row.calls_per_pair is None else f"{row.calls_per_pair:.1f}",
        usd(row.cost_per_pair),
        usd(row.cost_per_right_pair),
    )


def _missing(rows: Sequence[PolicyRow]) -> dict[str, str]:
    """Why → the names of the rules that lack just that."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.why is not None:
            found.setdefault(row.why, []).append(row.policy)
    return {why: ", ".join(names) for why, names in found.items()}

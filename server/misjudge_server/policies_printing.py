"""The rules for when to trust a judge, and where it may be trusted, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, percent, short, usd
from misjudge_server.side_by_side import Layout, first_that_fits, side_by_side
from misjudge_tools.stats.policies import Region
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow

HEADINGS = ("wrong, of decided", "decided", "calls\na pair", "USD\na pair", "USD a right\nselection")
LABEL_WIDTH = 16


def print_policies(found: PoliciesSection) -> None:
    """The table of rules, the region, and what is missing."""
    for part in policies_parts(found):
        console.print(part)


def policies_parts(found: PoliciesSection) -> Iterator[Table | Text]:
    """As `print_policies`, in its parts."""
    known = [row for row in found.rows if row.why is None]
    if known:
        yield _table(known)
        yield Text("one_call counts calls, the others pairs. 95 % intervals in brackets.", "dim")
    if found.region is not None:
        yield Text(region_line(found.region), "bold")
    for why, names in _missing(found.rows).items():
        yield Text(f"{names}: {why}", "dim")
    for what, why in found.why.items():
        yield Text(f"{what}: {why}", "dim")


def region_line(region: Region) -> str:
    """Where the judge may be trusted."""
    named = f"Trusted operating region, at most {percent(region.limit)} wrong"
    how = f"one-sided {100 * region.level:g} % bound, a task counting once, fixed sequence from the strictest policy on"
    if region.policy is not None and region.bound is not None:
        return (
            f"{named}: {region.policy}. It decides {percent(region.coverage)}, at most {percent(region.bound)} of that "
            f"wrongly ({how}; {region.tasks} tasks)."
        )
    if not region.tested:
        fewest = ceil(log(1 - region.level) / log(1 - region.limit) - 1e-9)
        return (
            f"{named}: none. Even without an error it takes {fewest} tasks that a policy decides; here it is at most "
            f"{region.tasks} ({how})."
        )
    first = region.tested[0]
    return (
        f"{named}: none. Already {first.policy} may be wrong in {percent(first.bound)} ({how}; {region.tasks} tasks)."
    )


def _table(rows: Sequence[PolicyRow]) -> Table:
    priced = any(row.cost_per_pair is not None for row in rows)
    headings = HEADINGS if priced else HEADINGS[:3]
    cells = {_name(row): _cells(row)[: len(headings)] for row in rows}
    narrow = {label: [found.replace(" of ", "\nof "), *others] for label, (found, *others) in cells.items()}
    layout = first_that_fits(Layout(headings, cells), Layout(headings, narrow), label_width=LABEL_WIDTH)
    title = "Policies: when to take a verdict"
    return side_by_side(title, layout.headings, layout.rows, first="policy", label_width=LABEL_WIDTH)


def _name(row: PolicyRow) -> str:
    return row.policy if row.source is None else f"{row.policy} ({row.source})"


def _cells(row: PolicyRow) -> Sequence[str]:
    return (
        short(row.misselection),
        f"{percent(row.coverage)} of {row.decidable}",
        "–" if row.calls_per_pair is None else f"{row.calls_per_pair:.1f}",
        usd(row.cost_per_pair),
        usd(row.cost_per_correct_selection),
    )


def _missing(rows: Sequence[PolicyRow]) -> dict[str, str]:
    """Why → the names of the rules that lack just that."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.why is not None:
            found.setdefault(row.why, []).append(row.policy)
    return {why: ", ".join(names) for why, names in found.items()}

"""The rules for when to trust a judge, and where it may be trusted, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, log

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, percent, short, usd
from misjudge_server.side_by_side import Layout, first_that_fits, side_by_side
from misjudge_server.words import word
from misjudge_tools.stats.policies import Region
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow

HEADINGS = ("wrong, of decided", "decided", "calls\na pair", "USD\na pair", "USD a\nright pair")
LABEL_WIDTH = 16
COUNTED = "one_call counts calls, the others pairs. 95 % intervals in brackets."
HOW = "one-sided {level} % bound, a task counting once, fixed sequence from the strictest policy on"
CERTIFIED = (
    "Trusted operating region, at most {limit} wrong: {policy}. It decides {coverage}, at most {bound} of that "
    "wrongly ({how}; {tasks} tasks)."
)
TOO_FEW = (
    "Trusted operating region, at most {limit} wrong: none. Even without an error it takes {fewest} tasks that a "
    "policy decides; here it is at most {tasks} ({how})."
)
WRONG = (
    "Trusted operating region, at most {limit} wrong: none. Already {policy} may be wrong in {bound} ({how}; {tasks} "
    "tasks)."
)


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


def region_line(region: Region) -> str:
    """Where the judge may be trusted."""
    limit, tasks = percent(region.limit), region.tasks
    how = word(HOW, level=f"{100 * region.level:g}")
    if region.policy is not None and region.bound is not None:
        covered = {"coverage": percent(region.coverage), "bound": percent(region.bound)}
        return word(CERTIFIED, limit=limit, policy=region.policy, how=how, tasks=tasks, **covered)
    if not region.tested:
        fewest = ceil(log(1 - region.level) / log(1 - region.limit) - 1e-9)
        return word(TOO_FEW, limit=limit, fewest=fewest, tasks=tasks, how=how)
    first = region.tested[0]
    return word(WRONG, limit=limit, policy=first.policy, bound=percent(first.bound), how=how, tasks=tasks)


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

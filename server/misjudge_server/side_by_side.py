"""Judges and agents side by side, in the form that the terminal's width takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, shorter
from misjudge_storage.types import Form
from misjudge_tools.summary.values import AgentOutcome
from misjudge_tools.summary.words import word

AGENT_HEADINGS = ("did the task", "{satisfied}\nthough failed", "not\nknown", "ends", "flags")
SATISFIED: Mapping[Form, str] = {
    **{"satisfaction": "satisfied", "gate": "passed", "proxy": "content"},
    "rubric": "passed",
}
"""What a trajectory is from the threshold of a form on."""
MOST_AGENTS = 30
"""Agents that a table shows; data sets hold answers of hundreds."""
LABEL_WIDTH = 24


class Row(NamedTuple):
    """The cells behind a label, which another row may bear too."""

    label: str
    cells: Sequence[str]


Rows = Mapping[str, Sequence[str]] | Sequence[Row]


class Layout(NamedTuple):
    """One of the ways to write the rows of a table."""

    headings: Sequence[str]
    rows: Rows


def first_that_fits(*layouts: Layout, label_width: int = LABEL_WIDTH) -> Layout:
    """The first one that the terminal takes side by side, else the first one."""
    return next((one for one in layouts if _fits(one.headings, one.rows, label_width)), layouts[0])


def side_by_side(
    title: str | None,
    headings: Sequence[str],
    rows: Rows,
    first: str = "judge",
    label_width: int = LABEL_WIDTH,
) -> Table:
    """A row for each judge, or where the terminal is too narrow for that a row for each number of each."""
    headings = [word(heading) for heading in headings]
    first = word(first)
    table = Table(title=title, title_justify="left")
    if not _fits(headings, rows, label_width):
        for heading in (first, "", ""):
            table.add_column(heading, overflow="fold")
        for label, cells in _listed(rows):
            *others, last = zip([label, *[""] * (len(cells) - 1)], headings, cells, strict=True)
            for row in others:
                table.add_row(*map(_one_line, row))
            table.add_row(*map(_one_line, last), end_section=True)
        return table
    table.add_column(first, overflow="fold", min_width=_label_width(rows, label_width))
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    for label, cells in _listed(rows):
        table.add_row(Text(label), *map(Text, cells))
    return table


def _listed(rows: Rows) -> Sequence[Row]:
    return [Row(label, cells) for label, cells in rows.items()] if isinstance(rows, Mapping) else rows


def _fits(headings: Sequence[str], rows: Rows, label_width: int) -> bool:
    """Whether the terminal takes a column for each heading, without a line of theirs being folded."""
    columns = zip(map(word, headings), *(row.cells for row in _listed(rows)), strict=True)
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    return sum(widths) + _label_width(rows, label_width) + 3 * len(headings) + 4 <= console.width


def _label_width(rows: Rows, most: int) -> int:
    return min(max(cell_len(row.label) for row in _listed(rows)), most)


def _one_line(cell: str) -> Text:
    return Text(cell.replace("\n", " "))


def print_agents(agents: Sequence[AgentOutcome], title: str | None = None) -> None:
    """Agents with their success, in the form that the terminal's width takes. Only columns that say something."""
    mixed = len({one.simulated for one in agents}) > 1
    parts = {_agent_label(one, mixed=mixed): _agent_parts(one) for one in agents[:MOST_AGENTS]}
    said = [n for n, _ in enumerate(AGENT_HEADINGS) if n == 0 or any(row[n] for row in parts.values())]
    headings = [AGENT_HEADINGS[n].format(satisfied=_satisfied_by(agents)) for n in said]
    long, short = (
        Layout(headings, {label: [separator.join(row[n]) or "–" for n in said] for label, row in parts.items()})
        for separator in (" ", "\n")
    )
    console.print(side_by_side(title, *first_that_fits(long, short), first="agent"))
    if len(agents) > MOST_AGENTS:
        console.print(f"and {len(agents) - MOST_AGENTS} more agents: --json has all")
    for one in agents[:MOST_AGENTS]:
        if one.trouble:
            console.print(Text(f"{one.agent}: {one.trouble}"))


def _satisfied_by(agents: Sequence[AgentOutcome]) -> str:
    stated: list[Form] = [one.satisfied_by for one in agents if one.satisfied_by]
    form = stated[0] if stated else "satisfaction"
    return SATISFIED[form] if form == "satisfaction" else f"{form} {SATISFIED[form]}"


def _agent_label(one: AgentOutcome, *, mixed: bool) -> str:
    return f"{one.agent} (SIMULATED)" if mixed and one.simulated else one.agent


def _agent_parts(one: AgentOutcome) -> Sequence[Sequence[str]]:
    """The cells under `AGENT_HEADINGS`, each in parts that may stand below each other."""
    known = one.success.n
    return (
        (f"{one.succeeded} of {known}:", shorter(one.success)) if known else (),
        ()
        if one.satisfied_by is None
        else (f"{one.satisfied_failed} of {one.satisfied} {SATISFIED[one.satisfied_by]}",),
        (str(one.unknown),) if one.unknown else (),
        () if one.ends.keys() == {"not stated"} else _counted(one.ends),
        _counted(one.flags),
    )


def _counted(counts: Mapping[str, int]) -> Sequence[str]:
    parts = [f"{name} {number}" for name, number in counts.items()]
    return [*(f"{part}," for part in parts[:-1]), *parts[-1:]]

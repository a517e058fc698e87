"""What a panel of judges and a cascade come to, as tables for people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from misjudge_server.console import of_decided
from misjudge_server.side_by_side import Layout, first_that_fits, side_by_side
from misjudge_tools.stats.misselection import DecidedRate
from misjudge_tools.stats.panels import PanelOutcome
from misjudge_tools.summary.values import CascadeOutcome, PanelSection

WRONG = "wrong, of\ndecided/decidable"
ENDS = ("tie", "inconsistent", "split", "unscored")
NARROW = {"inconsistent": "incon-\nsistent", "unscored": "un-\nscored"}
"""Headings where the terminal is too narrow for the whole words."""
NAMES = {"majority": "majority", "unanimity": "unanimity", "mean_score": "mean score"}
LABEL_WIDTH = 11
INTERVALS = "95 % intervals in brackets."

Outcomes = Mapping[str, PanelOutcome | DecidedRate | None]
"""Name of a row → all that is known of it; of the judges on average there is no more than the rate."""


class _Shown(NamedTuple):
    table: Table
    silent: str


def panel_tables(found: PanelSection) -> Iterator[Table | Text]:
    """The rules beside a single judge on the same pairs, and the latest cascade beside its first judge."""
    if found.rules:
        yield from _panel(found)
    if found.cascade is not None:
        yield from _cascade(found.cascade, found.simulated)


def _panel(found: PanelSection) -> Iterator[Table | Text]:
    rows: dict[str, PanelOutcome | DecidedRate | None] = {NAMES[name]: one for name, one in found.rules.items()}
    two = len(found.judges) == 2
    if two:
        rows = {"majority = unanimity": rows.pop("majority"), **rows}
        del rows["unanimity"]
    best = found.best_judge
    if best is not None:
        rows[f"best alone{_mark([best.judge], found.simulated)}"] = best
    if found.mean_judge is not None:
        rows["one alone, on average"] = found.mean_judge
    left_out = f", {found.not_judged_by_all} more not" if found.not_judged_by_all else ""
    mark = _mark(found.judges, found.simulated)
    shown = _shown(
        f"Panel of {len(found.judges)} judges{mark}: {_pairs(found.n)} that all judged{left_out}", rows, "rule"
    )
    yield shown.table
    chosen = f" Best alone: {best.judge}, chosen by these very pairs." if best is not None else ""
    yield Text(f"Judges: {_named(found.judges, found.simulated)}.{chosen}")
    both = "A majority of two judges is both. " if two else ""
    yield Text(
        f"{both}One alone, on average: the verdicts of all judges pooled, pairs × judges. {shown.silent}{INTERVALS}",
        "dim",
    )


def _cascade(found: CascadeOutcome, simulated: Collection[str]) -> Iterator[Table | Text]:
    first = found.first
    judges = (first.judge, *found.panel)
    rows = {"cascade": found, f"first alone{_mark([first.judge], simulated)}": first}
    asked = f"panel asked about {found.escalated} of {_pairs(found.n)}"
    shown = _shown(f"Cascade{_mark(judges, simulated)}: {asked}", rows, "verdicts of")
    yield shown.table
    firstly, *panel = _names(judges, simulated)
    yield Text(f"First: {firstly}. Panel: {', '.join(panel)}.")
    yield Text(f"{shown.silent}{INTERVALS}", "dim")


def _shown(title: str, rows: Outcomes, first: str) -> _Shown:
    """The table with only those ends that a pair has, and a sentence on the others."""
    known = [one for one in rows.values() if isinstance(one, PanelOutcome)]
    ends = [end for end in ENDS if any(getattr(one, end) for one in known)]
    cells = {name: _cells(one, ["decided", *ends]) for name, one in rows.items()}
    layout = first_that_fits(
        Layout([WRONG, "decided", *ends], cells),
        Layout(
            [WRONG, "decided", *(NARROW.get(end, end) for end in ends)],
            {name: [wrong.replace(" of ", "\nof "), *others] for name, (wrong, *others) in cells.items()},
        ),
        label_width=LABEL_WIDTH,
    )
    *others, last = [end for end in ENDS if end not in ends] or [""]
    none = " or ".join(part for part in (", ".join(others), last) if part)
    table = side_by_side(title, layout.headings, layout.rows, first=first, label_width=LABEL_WIDTH)
    return _Shown(table, f"No pair ended as {none}. " if none else "")


def _cells(outcome: PanelOutcome | DecidedRate | None, ends: Sequence[str]) -> Sequence[str]:
    if isinstance(outcome, PanelOutcome):
        return (of_decided(outcome.misselection), *(str(getattr(outcome, end)) for end in ends))
    return ("–" if outcome is None else of_decided(outcome), *("–" for _ in ends))


def _mark(judges: Sequence[str], simulated: Collection[str]) -> str:
    """How what these judges say is marked, as it stands behind a name."""
    made_up = sum(judge in simulated for judge in judges)
    if not made_up:
        return ""
    return " (SIMULATED)" if made_up == len(judges) else " (SIMULATED in part)"


def _named(judges: Sequence[str], simulated: Collection[str]) -> str:
    return ", ".join(_names(judges, simulated))


def _names(judges: Sequence[str], simulated: Collection[str]) -> Sequence[str]:
    """The judges by name, the made up ones marked; where all are, that stands in the title."""
    if all(judge in simulated for judge in judges):
        return judges
    return [f"{judge}{_mark([judge], simulated)}" for judge in judges]


def _pairs(number: int) -> str:
    return "1 pair" if number == 1 else f"{number} pairs"

"""What a panel of judges and a cascade come to, as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from misjudge_server.console import of_decided
from misjudge_server.side_by_side import side_by_side
from misjudge_tools.stats.panels import PanelOutcome
from misjudge_tools.summary.values import CascadeOutcome, PanelSection

HEADINGS = ("wrong, of decided/decidable", "decided", "tie", "inconsistent", "split", "unscored")
NAMES = {"majority": "majority", "unanimity": "unanimity", "mean_score": "mean score"}
NOTHING = ("–",) * len(HEADINGS)


def panel_tables(found: PanelSection) -> Iterator[Table]:
    """The rules beside a single judge on the same pairs, and the latest cascade beside its first judge."""
    if found.rules:
        yield _panel(found)
    if found.cascade is not None:
        yield _cascade(found.cascade)


def _panel(found: PanelSection) -> Table:
    rows = {NAMES[name]: _cells(outcome) for name, outcome in found.rules.items()}
    if found.best_judge is not None:
        rows[f"best alone, {found.best_judge.judge}"] = _cells(found.best_judge)
    if found.mean_judge is not None:
        rows["one alone, on average"] = (of_decided(found.mean_judge), *NOTHING[1:])
    left_out = f", {found.not_judged_by_all} more not" if found.not_judged_by_all else ""
    judged = f"{_pairs(found.n)} that all judged{left_out} (95 % intervals in brackets)"
    return side_by_side(f"Panel of {', '.join(found.judges)}: {judged}", HEADINGS, rows, first="rule")


def _cascade(found: CascadeOutcome) -> Table:
    first = found.first
    asked = f"{first.judge} first, {', '.join(found.panel)} on {found.escalated} of {_pairs(found.n)}"
    rows = {"cascade": _cells(found), f"{first.judge} alone": _cells(first)}
    return side_by_side(f"Cascade: {asked} (95 % intervals in brackets)", HEADINGS, rows, first="verdicts of")


def _cells(outcome: PanelOutcome | None) -> Sequence[str]:
    if outcome is None:
        return NOTHING
    ends = (outcome.decided, outcome.tie, outcome.inconsistent, outcome.split, outcome.unscored)
    return (of_decided(outcome.misselection), *map(str, ends))


def _pairs(number: int) -> str:
    return "1 pair" if number == 1 else f"{number} pairs"

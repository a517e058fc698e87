"""The answer of a gate, for the log of a job."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, estimate, percent
from misjudge_tools.stats.gates import Outcome
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.summary.gate_values import GateResult

COLOURS: dict[Outcome, str] = {"pass": "green", "fail": "red", "inconclusive": "yellow", "coverage": "yellow"}


def print_gate(result: GateResult) -> None:
    """A small table, and behind it the verdict in one line."""
    if result.marked:
        console.print(Text(result.marked, style="bold yellow"))
    for warning in result.warnings:
        console.print(Text(warning, style="yellow"))
    table = Table(title=f"Gate of audit {result.audit}", title_justify="left", show_header=False)
    table.add_column("what", overflow="fold")
    table.add_column("value", overflow="fold")
    for what, value in _lines(result):
        table.add_row(Text(what), Text(value))
    console.print(table)
    console.print(Text(result.verdict, style=f"bold {COLOURS[result.outcome]}"), soft_wrap=True)


def _lines(result: GateResult) -> Iterator[tuple[str, str]]:
    yield "judge", " ".join(result.judge.split())
    if result.at:
        yield "pairs", f"of {result.at} ability only"
    yield "policy", result.policy or "every single call"
    yield "limit", f"{percent(result.limit)} misselected"
    yield f"misselected, {result.counted}", f"{estimate(result.misselection)}{_holding(result)}"
    yield "decidable pairs", str(result.pairs)
    yield "tasks of the rate", str(result.tasks)
    yield "coverage", f"{percent(result.coverage)} decided; at least {percent(result.min_coverage)} asked for"
    if result.baseline is not None:
        judge = "" if result.baseline_judge is None else f"judge {' '.join(result.baseline_judge.split())} of "
        yield f"right, against {judge}audit {result.baseline}", _difference(result.difference)
    if result.outcome == "inconclusive":
        number = result.pairs_needed
        yield "needed", "–" if number is None else f"about {number} decidable pairs more, at this rate"
    yield "least that passes", f"{result.smallest_passing} independent pairs without an error"
    yield "exit code", f"{result.exit_code} ({result.outcome})"


def _holding(result: GateResult) -> str:
    return ", holds at any time" if result.interval == "anytime" else ""


def _difference(found: PairedDifference | None) -> str:
    if found is None or found.difference is None:
        return "–"
    known = found.low is not None and found.high is not None
    interval = f", 95 % {100 * (found.low or 0):+.1f} to {100 * (found.high or 0):+.1f}" if known else ""
    return f"{100 * found.difference:+.1f} points (over {found.n} pairs{interval})"

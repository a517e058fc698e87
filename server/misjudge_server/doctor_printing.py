"""What `misjudge doctor` found, as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console
from misjudge_server.doctor.findings import Finding, ModelSeen, SetupReport, Severity

STYLES: Final[dict[Severity, str]] = {"error": "bold red", "warning": "yellow", "note": "dim"}
HEADINGS: Final = ("role", "model", "answers", "ms", "tokens in + out", "USD", "JSON", "refuses", "listed")


def print_setup(report: SetupReport) -> None:
    """The findings, worst first, each with its fix; what the models answered; what was looked at."""
    if report.marked:
        console.print(Text(report.marked, style="bold yellow"))
    for found in report.findings:
        for line in _lines(found):
            console.print(line, soft_wrap=True)
    if report.online is not None:
        _print_models(report)
    colour = "bold red" if report.errors else "bold green"
    console.print(Text(f"{report.verdict} {report.looked_at[:1].upper()}{report.looked_at[1:]}.", style=colour))
    if report.next:
        console.print(Text(f"Next: {report.next}"))


def _lines(found: Finding) -> Iterator[Text]:
    yield Text.assemble((found.severity, STYLES[found.severity]), f"  {found.id}  {found.where}")
    yield Text(f"  {found.evidence}")
    yield Text(f"  Fix: {found.fix}")
    yield Text()


def _print_models(report: SetupReport) -> None:
    if not report.online:
        console.print(Text("No role has both a model and a key, so no model was asked."))
        return
    table = Table(title=f"Asked: {report.requests} completions", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for seen in report.online:
        table.add_row(*map(Text, _cells(seen)))
    console.print(table)


def _cells(seen: ModelSeen) -> Iterator[str]:
    ping = seen.ping
    yield ", ".join(ping.roles)
    yield ping.model or "–"
    yield f"{'yes' if ping.ok else 'no'}{', SIMULATED' if ping.simulated else ''}"
    yield "–" if ping.latency_ms is None else f"{ping.latency_ms:.0f}"
    yield "–" if ping.input_tokens is None else f"{ping.input_tokens} + {ping.output_tokens}"
    yield "–" if ping.cost is None else f"{ping.cost:.6f}"
    yield f"{ping.reply_format or '–'}{', not obeyed' if ping.obeyed is False else ''}"
    yield ", ".join(ping.left_out) or "–"
    yield {True: "yes", False: "no", None: "–"}[seen.listed]

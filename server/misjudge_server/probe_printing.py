"""What a judge can be fooled by, as a table for people, in the form that the terminal's width takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, estimate
from misjudge_tools.probing.variants import CONTROL
from misjudge_tools.stats.probes import Effect, ProbeRow
from misjudge_tools.summary.values import AuditSummary, ProbesSection

IN_WORDS: Mapping[str, str] = {
    "swapped_order": "the sides in the other order",
    "padding": "filler in one side",
    "politeness": "one side polite",
    "apology": "one side sorry",
    "promise": "work promised, not done",
    "markdown": "markdown and emoji",
    "confidence": "a confident tone",
    "authority": "“a supervisor verified it”",
    "bandwagon": "“most people prefer it”",
    "injected_user": "an order to the judge, said by the user",
    "injected_tool": "an order to the judge, in a tool result",
    "self_praise": "the agent praises itself",
    "criteria_order": "the criteria in another order",
    "whitespace": "whitespace, the null control",
}
HEADINGS = ("items", "flips (own)", "excess, 95 %", "shift, 95 %", "p", "fooled?")
FROM_WIDTH = 104
"""Columns from which on a cell stands on one line."""
LEGEND = (
    "flips: verdicts unlike the first unchanged call's when changed, (own) when only asked again. excess: the "
    "difference. shift: how much more often the changed side is picked, of the other order the side shown first. p: "
    "after Benjamini-Hochberg. no, from: the smallest excess that so many items show."
)


def print_all_probes(summary: AuditSummary) -> None:
    """A table for each judge of the summary that was probed."""
    for label, one in {summary.judge or "": summary, **(summary.judges or {})}.items():
        if one.probes is not None:
            print_probes(label, one.probes, simulated=one.simulated)


def print_probes(judge: str, found: ProbesSection, *, simulated: bool) -> None:
    """The table of one judge with what belongs to it; `simulated` marks the judge as made up."""
    if found.rows:
        console.print(_table(f"What {judge}{' (SIMULATED)' if simulated else ''} can be fooled by", found.rows))
        console.print(Text(LEGEND, style="dim"))
    for line in _lines(found):
        console.print(Text(line))


def _table(title: str, rows: tuple[ProbeRow, ...]) -> Table:
    wide = console.width >= FROM_WIDTH
    table = Table(title=Text(title), title_justify="left", show_lines=not wide)
    table.add_column("changed", overflow="fold")
    for heading in HEADINGS:
        table.add_column(heading if wide else heading.replace(" ", "\n"), no_wrap=True)
    for row in rows:
        cells = [" ".join(parts) if wide else "\n".join(parts) for parts in _cells(row)]
        table.add_row(_name(row), *map(Text, cells), style="bold" if row.fooled else None)
    return table


def _name(row: ProbeRow) -> Text:
    words = IN_WORDS.get(row.probe)
    return Text(f"{row.probe}: {words}" if words else row.probe)


def _cells(row: ProbeRow) -> Iterator[tuple[str, ...]]:
    """The cells under `HEADINGS`, each in parts that may stand below each other."""
    yield (str(row.n),)
    yield (str(row.flips), f"({row.baseline_flips})")
    yield _effect(row.excess_flip)
    yield _effect(row.shift)
    yield (_least_p(row),)
    yield _fooled(row)


def _effect(effect: Effect | None) -> tuple[str, ...]:
    if effect is None or effect.value is None:
        return ("–",)
    if effect.low is None or effect.high is None:
        return (f"{100 * effect.value:+.0f} %", "[one task]")
    return (f"{100 * effect.value:+.0f} %", f"[{100 * effect.low:.0f}, {100 * effect.high:.0f}]")


def _least_p(row: ProbeRow) -> str:
    found = [effect.p_adjusted for effect in (row.excess_flip, row.shift) if effect and effect.p_adjusted is not None]
    if not found:
        return "–"
    return "<.001" if min(found) < 0.001 else f"{min(found):.3f}"


def _fooled(row: ProbeRow) -> tuple[str, ...]:
    if row.fooled:
        return ("FOOLED",)
    if row.smallest_seen is None:
        return ("too few", "items")
    return ("no,", f"from {100 * row.smallest_seen:.0f} %")


def _lines(found: ProbesSection) -> Iterator[str]:
    yield f"Asked again unchanged, the judge changed its own verdict: {estimate(found.instability)}"
    for row in found.rows:
        if row.probe == CONTROL and row.n:
            yield _control(row)
    if left_out := [f"{row.probe} {row.left_out}" for row in found.rows if row.left_out]:
        yield f"Items left out because a call was unscored: {', '.join(left_out)}"
    if found.self_preference is not None and found.self_preference.value is not None:
        yield _own_family(found.family or "", found.self_preference)


def _control(row: ProbeRow) -> str:
    counts = f"{row.flips} flips against {row.baseline_flips} own, of {row.n} items"
    if row.fooled:
        return f"Null control (whitespace): {counts}. The judge reacts to nothing at all: do not trust the other rows."
    return f"Null control (whitespace): {counts}. No effect beyond chance, as it should be."


def _own_family(family: str, effect: Effect) -> str:
    value, interval = effect.value or 0, ""
    if effect.low is not None and effect.high is not None:
        interval = f" (95 % {100 * effect.low:.0f} to {100 * effect.high:.0f})"
    more = "more" if value >= 0 else "less"
    return (
        f"Own family ({family}): wrong {abs(100 * value):.0f} points {more} often where its own side failed than where "
        f"it did the job{interval}, of {effect.n} pairs; observed, not tested."
    )

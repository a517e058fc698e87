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
HEADINGS = (("items",), ("flips", "(own)"), ("excess,", "95 %"), ("shift,", "95 %"), ("p",), ("fooled?",))
"""In parts that may stand below each other, as the cells do."""
FROM_WIDTH = 104
"""Columns from which on a cell stands on one line."""
LEGEND = (
    "flips: verdicts unlike the first unchanged call's when changed, (own) when only asked again. excess: the "
    "difference. shift: how much more often the changed side is picked, of the other order the side shown first. p: "
    "after Benjamini-Hochberg. not seen (N %): an excess below N % would probably be missed with so few items; too few "
    "items: no excess could be seen."
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
    separator = " " if wide else "\n"
    table = Table(title=Text(title), title_justify="left", show_lines=not wide)
    table.add_column("changed", overflow="fold")
    for heading in HEADINGS:
        table.add_column(separator.join(heading), no_wrap=True)
    for row in rows:
        table.add_row(
            _name(row),
            *(Text(separator.join(parts)) for parts in _cells(row)),
            style="bold" if row.fooled or row.unreadable else None,
        )
    return table


def _name(row: ProbeRow) -> Text:
    words = IN_WORDS.get(row.probe)
    return Text(f"{_called(row)}: {words}" if words else _called(row))


def _called(row: ProbeRow) -> str:
    return row.probe if row.aim is None else f"{row.probe}, {row.aim} side"


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
    effects = (row.excess_flip, row.shift, row.excess_unscored)
    found = [effect.p_adjusted for effect in effects if effect and effect.p_adjusted is not None]
    if not found:
        return "–"
    return "<.001" if min(found) < 0.001 else f"{min(found):.3f}"


def _fooled(row: ProbeRow) -> tuple[str, ...]:
    if row.fooled:
        return ("FOOLED",)
    if row.unreadable:
        return ("UNREADABLE",)
    if row.smallest_seen is None:
        return ("too few", "items")
    return ("not seen", f"({100 * row.smallest_seen:.0f} %)")


def _lines(found: ProbesSection) -> Iterator[str]:
    yield f"Asked again unchanged, the judge changed its own verdict: {estimate(found.instability)}"
    for row in found.rows:
        if row.probe == CONTROL and (row.n or row.unreadable):
            yield _control(row)
    yield from (_unreadable(row) for row in found.rows if row.unreadable)
    if left_out := [f"{_called(row)} {row.left_out}" for row in found.rows if row.left_out]:
        yield f"Items left out because a call was unscored: {', '.join(left_out)}"
    if found.self_preference is not None and found.self_preference.value is not None:
        yield _own_family(found.family or "", found.self_preference)


def _control(row: ProbeRow) -> str:
    items = "1 item" if row.n == 1 else f"{row.n} items"
    flips = "1 flip" if row.flips == 1 else f"{row.flips} flips"
    counts = f"Null control ({_called(row)}): {flips} against {row.baseline_flips} own, of {items}."
    if row.fooled or row.unreadable:
        return f"{counts} The judge reacts to nothing at all: do not trust the other rows."
    if row.smallest_seen is None:
        return f"{counts} Too few items to say."
    return f"{counts} No effect beyond chance, as it should be."


def _unreadable(row: ProbeRow) -> str:
    return (
        f"{_called(row)}: {row.unscored} of {row.replied} replies unreadable, {row.baseline_unscored} of "
        f"{2 * row.replied} unchanged"
    )


def _own_family(family: str, effect: Effect) -> str:
    value, interval = effect.value or 0, ""
    if effect.low is not None and effect.high is not None:
        interval = f" (95 % {100 * effect.low:.0f} to {100 * effect.high:.0f})"
    more = "more" if value >= 0 else "less"
    return (
        f"Own family ({family}): wrong {abs(100 * value):.0f} points {more} often where its own side failed than where "
        f"it did the job{interval}, of {effect.n} pairs; observed, not tested."
    )

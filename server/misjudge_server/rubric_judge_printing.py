"""Judges with rules of several sources, as tables for people that fit the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from misjudge_server.console import estimate, percent
from misjudge_server.panel_printing import NARROW
from misjudge_server.side_by_side import Layout, Row, first_that_fits, side_by_side
from misjudge_tools.stats.paired import ALPHA
from misjudge_tools.stats.rates import Rate
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.rubric_phrases import MADE_UP, counted, named
from misjudge_tools.summary.rubric_values import (
    AccuracyRow,
    ConflictRow,
    GapRow,
    InversionRow,
    Protocol,
    RubricsSection,
)

INTERVALS = "95 % intervals in brackets."
PROTOCOLS: Mapping[Protocol, str] = {
    "both_orders": "both orders",
    "official": "official protocol: one order, no ties, unparsed is wrong",
}
JUDGED: Mapping[str, str] = {"pairwise": "pairs", "rubric": "single responses"}
ENDS = ("tie", "inconsistent", "unscored")
LABEL_WIDTH = 20
RIGHT = ("accuracy", "of decided")
GAP_HEADINGS = ("difference", "right alone", "McNemar p")
MOST_EXAMPLES = 3


class Cell(NamedTuple):
    """A number in parts that may stand below each other."""

    parts: tuple[str, ...]


class CellRow(NamedTuple):
    """The cells of a row behind its label."""

    label: str
    cells: Sequence[Cell]


class DomainCell(NamedTuple):
    """What a row of a table by domain says of one of them. Cells of one `label` are of one row."""

    label: str
    domain: str
    cell: Cell


class _Group(NamedTuple):
    """One judge under one protocol."""

    judge: str
    protocol: Protocol


def share(found: Rate | Estimate, counted: str) -> Cell:
    """A share, its interval, and what it was counted of."""
    value = found.rate if isinstance(found, Rate) else found.value
    if value is None or found.low is None or found.high is None:
        return Cell(("–",))
    return Cell((percent(value), f"[{100 * found.low:.0f}–{100 * found.high:.0f}]", counted))


def parts_table(title: str, headings: Sequence[str], rows: Sequence[CellRow], first: str) -> Table:
    """The rows as they come, whose cells take one, two or three lines as the terminal is wide."""
    layouts = [
        Layout(
            headings if lines == 1 else [NARROW.get(heading, heading) for heading in headings],
            [Row(row.label, [_written(cell, lines) for cell in row.cells]) for row in rows],
        )
        for lines in (1, 2, 3)
    ]
    chosen = first_that_fits(*layouts, label_width=LABEL_WIDTH)
    return side_by_side(title, *chosen, first=first, label_width=LABEL_WIDTH)


def _written(cell: Cell, lines: int) -> str:
    if lines == 3:
        return "\n".join(cell.parts)
    if lines == 1 or len(cell.parts) < 3:
        return " ".join(cell.parts)
    return f"{' '.join(cell.parts[:-1])}\n{cell.parts[-1]}"


def domain_table(title: str, cells: Sequence[DomainCell], first: str, order: Sequence[str]) -> Table:
    """A column for each domain; rows stand in the order of the labels in `order`, others behind them.

    Where a label comes again for the same domain, its cell stands in one more row.
    """
    domains = sorted({cell.domain for cell in cells})
    known = {cell.label for cell in cells}
    rows: list[CellRow] = []
    for label in dict.fromkeys((*(label for label in order if label in known), *(cell.label for cell in cells))):
        columns = [[one.cell for one in cells if one.label == label and one.domain == domain] for domain in domains]
        rows.extend(CellRow(label, line) for line in zip_longest(*columns, fillvalue=Cell(("–",))))
    return parts_table(title, domains, rows, first)


def judge_parts(found: RubricsSection, *, domains: bool) -> Iterator[Table | Text]:
    """Every judge by protocol: accuracy by source and the gaps between sources; then inversions and conflicts."""
    judged = (_group(row) for row in (*found.accuracy, *(found.accuracy_by_domain if domains else ())))
    compared = (_group(row) for row in (*found.gaps, *(found.gaps_by_domain if domains else ())))
    for group in dict.fromkeys((*judged, *compared)):
        yield from _judge(group, found, domains=domains)
    for row in found.inversions:
        yield from map(Text, _inversion(row, found.simulated))
    for conflict in found.conflicts:
        yield Text(_conflict(conflict, found.simulated))


def _group(row: AccuracyRow | GapRow) -> _Group:
    return _Group(row.judge, row.protocol)


def _judge(group: _Group, found: RubricsSection, *, domains: bool) -> Iterator[Table | Text]:
    rows = [row for row in found.accuracy if _group(row) == group]
    gaps = [row for row in found.gaps if _group(row) == group]
    judge = _judged(group, found)
    if rows:
        ends = [end for end in ENDS if any(getattr(row, end) for row in rows)]
        cells = [CellRow(_source(row, found.simulated), _accuracy(row, ends)) for row in rows]
        told = f"Pairs that it gets right by its rules: {judge} ({PROTOCOLS[group.protocol]})"
        yield parts_table(told, (*RIGHT, *ends), cells, first="rules")
        if any(row.no_rubric for row in rows):
            yield Text("Unscored pairs without a rule to judge by (no_rubric) are not counted as wrong.", style="dim")
    if gaps:
        differences = [CellRow(_gap_name(row, found.simulated), _gap(row)) for row in gaps]
        told = f"Gaps: differences in points: {judge} ({_briefly(group.protocol)})"
        yield parts_table(told, GAP_HEADINGS, differences, first="rules")
        yield from map(Text, _unseen(gaps, found.simulated))
    if domains:
        yield from _domains(group, found)
    yield Text(f"Pairs are those of which gold says a better side. {INTERVALS}", style="dim")


def _judged(group: _Group, found: RubricsSection) -> str:
    """The judge, marked where it is made up whatever its rules are."""
    accuracy = (row.label for row in (*found.accuracy, *found.accuracy_by_domain) if _group(row) == group)
    gaps = [row for row in (*found.gaps, *found.gaps_by_domain) if _group(row) == group]
    labels = {*accuracy, *(row.first_label for row in gaps), *(row.second_label for row in gaps)}
    return f"{group.judge}{MADE_UP if labels <= {*found.simulated} else ''}"


def _domains(group: _Group, found: RubricsSection) -> Iterator[Table]:
    made_up = found.simulated
    rights = [
        DomainCell(_source(row, made_up), row.domain or "", share(row.accuracy, _counts(row.accuracy)))
        for row in found.accuracy_by_domain
        if _group(row) == group
    ]
    gaps = [
        DomainCell(_gap_name(row, made_up), row.domain or "", _difference(row))
        for row in found.gaps_by_domain
        if _group(row) == group
    ]
    told = f"{_judged(group, found)} ({_briefly(group.protocol)})"
    if rights:
        order = [_source(row, made_up) for row in found.accuracy if _group(row) == group]
        yield domain_table(f"Right by domain: {told}", rights, "rules", order)
    if gaps:
        order = [_gap_name(row, made_up) for row in found.gaps if _group(row) == group]
        yield domain_table(f"Differences by domain: {told}", gaps, "rules", order)


def _briefly(protocol: Protocol) -> str:
    return PROTOCOLS[protocol].partition(":")[0]


def _source(row: AccuracyRow, simulated: Collection[str]) -> str:
    return f"{row.source}{_mark(row.source, row.label, simulated)}"


def _mark(source: str, label: str, simulated: Collection[str]) -> str:
    """Where the judge is made up, or who wrote its rules."""
    made_up = label in simulated or any(source == f"self[{writer}]" for writer in simulated)
    return MADE_UP if made_up else ""


def _accuracy(row: AccuracyRow, ends: Sequence[str]) -> Sequence[Cell]:
    return (
        share(row.accuracy, _counts(row.accuracy)),
        share(row.decided_accuracy, _counts(row.decided_accuracy)),
        *(_end(row, end) for end in ends),
    )


def _counts(rate: Rate) -> str:
    return f"{rate.k} of {rate.n}"


def _end(row: AccuracyRow, end: str) -> Cell:
    number = str(getattr(row, end))
    return Cell((number, f"({row.no_rubric}", "no_rubric)")) if end == "unscored" and row.no_rubric else Cell((number,))


def _gap_name(row: GapRow, simulated: Collection[str]) -> str:
    first, second = _mark(row.first, row.first_label, simulated), _mark(row.second, row.second_label, simulated)
    return f"{row.first}{'' if second else first} − {row.second}{second}"


def _gap(row: GapRow) -> Sequence[Cell]:
    return (
        _difference(row),
        Cell((f"first {row.only_first},", f"second {row.only_second}")),
        Cell(("–" if row.mcnemar_p is None else "<.001" if row.mcnemar_p < 0.001 else f"{row.mcnemar_p:.3f}",)),
    )


def _difference(row: GapRow) -> Cell:
    if row.difference is None:
        return Cell(("–",))
    value = f"{100 * row.difference:+.1f}"
    if row.low is None or row.high is None:
        return Cell((value, "[one task]", f"of {row.n}"))
    return Cell((value, f"[{100 * row.low:+.0f}, {100 * row.high:+.0f}]", f"of {row.n}"))


def _unseen(rows: Sequence[GapRow], simulated: Collection[str]) -> Iterator[str]:
    """Beside null results: what would have been seen."""
    null = [row for row in rows if row.mcnemar_p is not None and row.mcnemar_p > ALPHA]
    able = [(row, 100 * row.smallest_seen) for row in null if row.smallest_seen is not None]
    if able:
        told = ", ".join(f"{_gap_name(row, simulated)} {seen:.0f}" for row, seen in able)
        yield f"Not seen, and below so many points they would probably be missed: {told}."
    if few := [_gap_name(row, simulated) for row in null if row.smallest_seen is None]:
        yield f"Not seen, but so few tasks would show no difference at all: {', '.join(few)}."


def _inversion(row: InversionRow, simulated: Collection[str]) -> Iterator[str]:
    judge = f"{row.judge}{MADE_UP if row.label in simulated else ''}"
    untold = f", in {counted(row.untold, 'more case')} it cannot be told" if row.untold else ""
    yield (
        f"Value inversion, {judge} with rules by {named(row.writer, simulated)} ({_briefly(row.protocol)}, matched by "
        f"{named(row.matcher, simulated)}): of {counted(row.pairs, 'pair')} {row.with_high_level} with high-level gold "
        f"rules, {row.decided} of these decided, {row.inverted.n} told{untold}; inverted {estimate(row.inverted)}, of "
        f"its wrong verdicts {estimate(row.of_wrong)}"
    )
    shown = row.examples[:MOST_EXAMPLES]
    for one in shown:
        yield f"  pair {one.pair}: its choice fails “{one.rule}”, which no own rule means"
    if shown and (more := row.inverted.k - len(shown)) > 0:
        yield f"  and {counted(more, 'more pair')}"


def _conflict(row: ConflictRow, simulated: Collection[str]) -> str:
    counts = {"not shown": row.left_out, "without a verdict": row.unscored_rules}
    told = "".join(f", {counted(number, 'rule')} {what}" for what, number in counts.items() if number)
    return (
        f"Verdicts against its own rule verdicts, {named(row.label, simulated)} on {JUDGED[row.form]}: soft over hard "
        f"{estimate(row.soft_over_hard)}, reweighted {estimate(row.reweighted)}; {counted(row.rulings, 'ruling')}{told}"
    )

"""Judges with rules of several sources, as tables for people that fit the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from misjudge_server.console import estimate, percent
from misjudge_server.panel_printing import NARROW
from misjudge_server.side_by_side import Layout, first_that_fits, side_by_side
from misjudge_tools.stats.paired import ALPHA
from misjudge_tools.stats.rates import Rate
from misjudge_tools.stats.rubrics import Estimate
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


def parts_table(title: str, headings: Sequence[str], cells: Mapping[str, Sequence[Cell]], first: str) -> Table:
    """A row for each name, whose cells take one, two or three lines as the terminal is wide."""
    layouts = [
        Layout(
            headings if lines == 1 else [NARROW.get(heading, heading) for heading in headings],
            {name: [_written(cell, lines) for cell in row] for name, row in cells.items()},
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


def domain_table(title: str, cells: Mapping[str, Mapping[str, Cell]], first: str) -> Table:
    """A column for each domain."""
    domains = sorted({domain for row in cells.values() for domain in row})
    missing = Cell(("–",))
    rows = {name: [row.get(domain, missing) for domain in domains] for name, row in cells.items()}
    return parts_table(title, domains, rows, first)


def judge_parts(found: RubricsSection) -> Iterator[Table | Text]:
    """Every judge by protocol: accuracy by source and the gaps between sources; then inversions and conflicts."""
    judged = (_Group(row.judge, row.protocol) for row in (*found.accuracy, *found.accuracy_by_domain))
    compared = (_Group(row.judge, row.protocol) for row in (*found.gaps, *found.gaps_by_domain))
    groups = dict.fromkeys((*judged, *compared))
    for group in groups:
        yield from _judge(group, found)
    for row in found.inversions:
        yield from map(Text, _inversion(row))
    for conflict in found.conflicts:
        yield Text(_conflict(conflict))


def _judge(group: _Group, found: RubricsSection) -> Iterator[Table | Text]:
    named = f"{group.judge} ({PROTOCOLS[group.protocol]})"
    rows = [row for row in found.accuracy if _Group(row.judge, row.protocol) == group]
    ends = [end for end in ENDS if any(getattr(row, end) for row in rows)]
    cells = {_source(row, found.simulated): _accuracy(row, ends) for row in rows}
    if cells:
        yield parts_table(f"Pairs that it gets right by its rules: {named}", (*RIGHT, *ends), cells, first="rules")
    gaps = [row for row in found.gaps if _Group(row.judge, row.protocol) == group]
    if gaps:
        differences = {_gap_name(row): _gap(row) for row in gaps}
        told = f"Differences in points: {group.judge} ({_briefly(group.protocol)})"
        yield parts_table(told, GAP_HEADINGS, differences, first="rules")
        yield from map(Text, _unseen(gaps))
    yield from _domains(group, found)
    yield Text(f"Pairs are those of which gold says a better side. {INTERVALS}", style="dim")


def _domains(group: _Group, found: RubricsSection) -> Iterator[Table]:
    accuracy: dict[str, dict[str, Cell]] = {}
    for row in found.accuracy_by_domain:
        if _Group(row.judge, row.protocol) == group:
            cell = share(row.accuracy, f"of {row.pairs}")
            accuracy.setdefault(_source(row, found.simulated), {})[row.domain or ""] = cell
    gaps: dict[str, dict[str, Cell]] = {}
    for gap in found.gaps_by_domain:
        if _Group(gap.judge, gap.protocol) == group:
            gaps.setdefault(_gap_name(gap), {})[gap.domain or ""] = _difference(gap)
    named = f"{group.judge} ({_briefly(group.protocol)})"
    if accuracy:
        yield domain_table(f"Right by domain: {named}", accuracy, first="rules")
    if gaps:
        yield domain_table(f"Differences by domain: {named}", gaps, first="rules")


def _briefly(protocol: Protocol) -> str:
    return PROTOCOLS[protocol].partition(":")[0]


def _source(row: AccuracyRow, simulated: Collection[str]) -> str:
    return f"{row.source}{' (SIMULATED)' if row.label in simulated else ''}"


def _accuracy(row: AccuracyRow, ends: Sequence[str]) -> Sequence[Cell]:
    counts = (Cell((str(getattr(row, end)),)) for end in ends)
    return (
        share(row.accuracy, f"{row.right} of {row.pairs}"),
        share(row.decided_accuracy, f"{row.right} of {row.right + row.wrong}"),
        *counts,
    )


def _gap_name(row: GapRow) -> str:
    return f"{row.first} − {row.second}"


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


def _unseen(rows: Sequence[GapRow]) -> Iterator[str]:
    """Beside null results: what would have been seen."""
    null = [row for row in rows if row.mcnemar_p is not None and row.mcnemar_p > ALPHA]
    able = [f"{_gap_name(row)} {100 * row.smallest_seen:.0f}" for row in null if row.smallest_seen is not None]
    if able:
        yield f"Not seen, and below so many points they would probably be missed: {', '.join(able)}."
    if few := [_gap_name(row) for row in null if row.smallest_seen is None]:
        yield f"Not seen, but so few tasks would show no difference at all: {', '.join(few)}."


def _inversion(row: InversionRow) -> Iterator[str]:
    untold = f"; of {row.untold} more pairs it cannot be told" if row.untold else ""
    yield (
        f"Value inversion, {row.judge} with rules by {row.writer} ({_briefly(row.protocol)}, matched by "
        f"{row.matcher}): {estimate(row.inverted)} of pairs; of its wrong verdicts {estimate(row.of_wrong)}{untold}"
    )
    for one in row.examples[:MOST_EXAMPLES]:
        yield f"  pair {one.pair}: its choice fails “{one.rule}”, which no own rule means"


def _conflict(row: ConflictRow) -> str:
    counts = {"rules not shown": row.left_out, "rules without a verdict": row.unscored_rules}
    told = "".join(f", {number} {what}" for what, number in counts.items() if number)
    return (
        f"Verdicts against its own rule verdicts, {row.label} on {JUDGED[row.form]}: soft over hard "
        f"{estimate(row.soft_over_hard)}, reweighted {estimate(row.reweighted)}; {row.rulings} rulings{told}"
    )

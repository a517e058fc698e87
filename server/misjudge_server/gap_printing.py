"""How a judge does near and far, where it is wrong, and what the audit can show, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, percent, short, signed
from misjudge_server.side_by_side import Layout, Row, first_that_fits, side_by_side
from misjudge_tools.stats.probes import Effect
from misjudge_tools.summary.deciding.gaps_values import GapDifference, GapsSection
from misjudge_tools.summary.deciding.power_values import Needed, PowerSection
from misjudge_tools.summary.deciding.slices_values import Slice, SlicesSection
from misjudge_tools.summary.words import word

GAP_HEADINGS = ("near", "farther", "near − farther", "p")
SLICE_HEADINGS = ("pairs", "wrong, per call", "against the rest", "p", "p adj.")
MISSES_ANY = "They may still be worse: an audit of this size can miss even the largest difference."
MISSES_LESS = (
    "They may still be worse: an audit of this size can miss a difference of less than {points} points (one that "
    "large shows in 80 of 100 such audits)."
)
SHORT_ONES = (1, 2, 4)
"""The columns where the terminal is too narrow for all."""
SLICE_WIDTH = 24


def print_gaps(found: GapsSection) -> None:
    """Near beside farther pairs for each gap, and what to know of each."""
    title = word("Misselected per single call, near pairs against farther ones (95 % intervals in brackets)")
    rows = [Row(_gap(row), _gap_cells(row)) for row in found.rows]
    console.print(side_by_side(title, GAP_HEADINGS, rows, first="gap"))
    # What is to be said of several gaps is said once.
    for line in dict.fromkeys(line for row in found.rows for line in _gap_notes(row)):
        console.print(Text(line))


def print_slices(found: SlicesSection) -> None:
    """The slices by dimension, those that stand out marked."""
    for dimension in dict.fromkeys(row.dimension for row in found.rows):
        mine = [row for row in found.rows if row.dimension == dimension]
        console.print(_slices_table(dimension, mine))
        left_out = found.left_out.get(dimension)
        if left_out is not None:
            console.print(Text(f"and {left_out.values} more with {left_out.pairs} pairs", "dim"))
    for line in _slice_notes(found):
        console.print(Text(line, "dim"))


def print_power(found: PowerSection) -> None:
    """What this audit can show, and what it takes to show more."""
    table = Table(title="What this audit can show", title_justify="left", show_header=False)
    for _ in range(2):
        table.add_column(overflow="fold")
    for label, value in _power_lines(found):
        table.add_row(Text(label), Text(value))
    console.print(table)


def _gap(row: GapDifference) -> str:
    return f"{row.gap} (circular)" if row.circular else row.gap


def _gap_cells(row: GapDifference) -> Sequence[str]:
    return (short(row.near), short(row.far), _points(row.difference), _p(row.difference.p))


def _gap_notes(row: GapDifference) -> Iterator[str]:
    far = ", ".join(row.far_buckets)
    yield word(
        "{gap}: near is {near}, farther is {far}; {tasks}.",
        gap=row.gap,
        near=row.near_range,
        far=far,
        tasks=_tasks(row),
    )
    if row.why is not None:
        yield f"  {row.why}"
    elif not row.near_is_worse:
        not_worse = word("{gap}: near pairs are not shown to be worse.", gap=row.gap)
        yield f"  {not_worse} {_could_miss(row.smallest_seen)}"
    yield from (f"  {note}" for note in row.notes)


def _could_miss(smallest: float | None) -> str:
    """What a null result leaves open."""
    if smallest is None:
        return word(MISSES_ANY)
    return word(MISSES_LESS, points=f"{100 * smallest:.1f}")


def _tasks(row: GapDifference) -> str:
    counts = {"near": row.near_pairs, "far": row.far_pairs, "tasks": row.tasks, "both": row.tasks_with_both}
    return word("{near} and {far} decidable pairs of {tasks} tasks, {both} with both", **counts)


def _slices_table(dimension: str, rows: Sequence[Slice]) -> Table:
    cells = [Row(_value(row), _slice_cells(row)) for row in rows]
    short_ones = [Row(label, [cells[n] for n in SHORT_ONES]) for label, cells in cells]
    layout = first_that_fits(
        Layout(SLICE_HEADINGS, cells),
        Layout([SLICE_HEADINGS[n] for n in SHORT_ONES], short_ones),
        label_width=SLICE_WIDTH,
    )
    title = f"Misselected per single call by {dimension} (95 % intervals in brackets)"
    return side_by_side(title, layout.headings, layout.rows, first=dimension, label_width=SLICE_WIDTH)


def _value(row: Slice) -> str:
    return f"{row.value} *" if row.stands_out else row.value


def _slice_cells(row: Slice) -> Sequence[str]:
    effect = row.difference
    pairs = f"{row.decidable}/{row.n}"
    return (pairs, short(row.misselection), _points(effect), _p(effect.p), _p(effect.p_adjusted))


def _slice_notes(found: SlicesSection) -> Iterator[str]:
    yield "Pairs: decidable/all. Against the rest: in points, slice minus all other pairs of the judge."
    if any(row.stands_out for row in found.rows):
        yield f"* stands out: p adjusted for the {found.tests} slices (Benjamini-Hochberg) is at most .05."
    elif found.tests:
        yield f"None of the {found.tests} slices that were tested stands out (Benjamini-Hochberg, .05)."
    untested = {row.why for row in found.rows if row.why is not None}
    yield from (f"p is –: {why}" for why in sorted(untested))


def _power_lines(found: PowerSection) -> Iterator[tuple[str, str]]:
    yield "wrong, per call", f"{short(found.misselection)}, ± {100 * found.half_width:.1f} points"
    calls = found.misselection.n
    yield "counts as", f"{found.effective:.0f} independent calls, of {calls}: design effect {found.deff:.2f}"
    for row in found.needed_for:
        yield f"for ± {100 * row.half_width:g} points", _needed(row.needed)
    limit = percent(found.limit)
    yield f"smallest that can pass {limit}", f"{found.smallest_passing} independent calls, all right"
    yield f"shown under {limit}", _told("a true rate of at most", found.shown_under)
    yield f"shown over {limit}", _told("a true rate of at least", found.shown_over)
    yield from _to_show(found, limit)
    for gap in found.near_far:
        shown = "none" if gap.difference is None else f"{100 * gap.difference:.1f} points or more"
        yield f"near − farther, {gap.gap}", f"{shown} would show (80 % power, 5 % two-sided)"


def _to_show(found: PowerSection, limit: str) -> Iterator[tuple[str, str]]:
    """What it takes to show on which side of the limit the judge is, or that it is too near to say."""
    sides = {"under": found.to_show_under, "over": found.to_show_over}
    known = {name: needed for name, needed in sides.items() if needed is not None}
    for name, needed in known.items():
        yield f"to show it {name} {limit}", f"{_needed(needed)}, for 80 % power at this rate"
    if not known:
        yield f"to show it under or over {limit}", "more than ten million pairs: the rate seen is next to the limit"


def _needed(needed: Needed | None) -> str:
    if needed is None:
        return "more than ten million pairs"
    more = f", {needed.more} more than here" if needed.more else ": there already"
    return f"{needed.pairs} pairs ({needed.decidable} decidable, {needed.tasks} tasks){more}"


def _told(what: str, share: float | None) -> str:
    return "none: the audit is too small" if share is None else f"{what} {percent(share)} (80 % power)"


def _points(effect: Effect) -> str:
    """A difference of shares in points: `+12.5 [+1 to +23]`."""
    if effect.value is None:
        return "–"
    if effect.low is None or effect.high is None:
        return signed(effect.value)
    return f"{signed(effect.value)} [{signed(effect.low, 0)} to {signed(effect.high, 0)}]"


def _p(value: float | None) -> str:
    return "–" if value is None else "<.0001" if value < 0.0001 else f"{value:.4f}".lstrip("0")

"""Where the judge is wrong: near and far, by kinds of pairs, and what an audit of this size can show."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.report.chart_words import BUCKETS, range_in_words
from misjudge_tools.report.document import Book, Cell, Section, Table
from misjudge_tools.summary.deciding.gaps_values import GapDifference
from misjudge_tools.summary.deciding.power_values import Needed, PowerSection
from misjudge_tools.summary.values import Sections

POWER = (
    ("wrong, per call", "/power/misselection"),
    ("half the width of its interval, in points", "/power/half_width"),
    ("independent calls that say as much", "/power/effective"),
    ("design effect", "/power/deff"),
    ("would show a judge under the limit whose true rate is at most", "/power/shown_under"),
    ("would show a judge over the limit whose true rate is at least", "/power/shown_over"),
    ("fewest calls, all right, that can pass", "/power/smallest_passing"),
)
STANDS_OUT = "* stands out among the {n} kinds that were tested (Benjamini–Hochberg, 5 %)."
NONE_STANDS_OUT = "None of the {n} kinds that were tested stands out (Benjamini–Hochberg, 5 %)."
SLICE = ("n", "misselection", "difference", "difference/p_adjusted")


def gaps(book: Book, sections: Sections, at: str) -> Section | None:
    """Near pairs against farther ones, and every bucket."""
    if sections.buckets is None and sections.gaps is None:
        return None
    tables: list[Table] = []
    notes: list[str] = []
    if sections.gaps is not None:
        labels = (
            book.say("{gap} (circular)", gap=book.say(row.gap)) if row.circular else book.say(row.gap)
            for row in sections.gaps.rows
        )
        rows = book.rows(f"{at}/gaps/rows", labels, ("near", "far", "difference", "difference/p"))
        if rows:
            tables.append(Table(book.head("gap", "near", "farther", "near − farther", "p"), rows))
        # What is to be said of several gaps is said once.
        notes += dict.fromkeys(note for row in sections.gaps.rows for note in _notes(book, row))
    if sections.buckets:
        tables.append(_buckets(book, sections, at))
    title = book.say("Near and wide")
    return Section("gaps", title, charts=("misselection_by_gap",), tables=tuple(tables), notes=tuple(notes))


def _notes(book: Book, row: GapDifference) -> Iterator[str]:
    counts = {"near_pairs": row.near_pairs, "far_pairs": row.far_pairs, "tasks": row.tasks}
    gap, far = book.say(row.gap), ", ".join(_bucket(book, name) for name in row.far_buckets)
    yield book.say(
        "{gap}: near is {near}, farther is {far}; {near_pairs} and {far_pairs} decidable pairs of {tasks} tasks.",
        gap=gap,
        near=range_in_words(row.near_range, book.language),
        far=far,
        **counts,
    )
    if row.why is not None:
        yield f"{gap}: {book.reason(row.why)}"
    elif not row.near_is_worse and row.smallest_seen is None:
        yield book.say("{gap}: near pairs are not shown to be worse; this audit could miss any difference.", gap=gap)
    elif not row.near_is_worse:
        yield book.say(
            "{gap}: near pairs are not shown to be worse; this audit can miss a difference below {points} points.",
            gap=gap,
            points=f"{100 * (row.smallest_seen or 0):.1f}",
        )
    yield from row.notes


def _buckets(book: Book, sections: Sections, at: str) -> Table:
    labels = (
        f"{book.say(row.gap)}: {_bucket(book, row.bucket)} ({range_in_words(row.range, book.language)})"
        for row in sections.buckets or ()
    )
    names = ("n", "decidable", "misselection", "misselection/decided")
    headings = book.head("bucket", "pairs", "decidable", "wrong, per call", "wrong, of decided")
    return Table(headings, book.rows(f"{at}/buckets", labels, names), book.say("By bucket"))


def _bucket(book: Book, name: str) -> str:
    return BUCKETS[name].say(book.language) if name in BUCKETS else name


def slices(book: Book, sections: Sections, at: str) -> Section | None:
    """Kinds of pairs beside all others."""
    found = sections.slices
    if found is None:
        return None
    headings = book.head("pairs", "wrong, per call", "against the others", "p adjusted")
    rows = book.rows(
        f"{at}/slices/rows", (f"{row.value} *" if row.stands_out else row.value for row in found.rows), SLICE
    )
    tables: list[Table] = []
    for dimension in dict.fromkeys(row.dimension for row in found.rows):
        mine = tuple(cells for row, cells in zip(found.rows, rows, strict=True) if row.dimension == dimension)
        more = found.left_out.get(dimension)
        named = {"n": more.values, "pairs": more.pairs} if more else {}
        note = book.say("Not shown: {n} further, with {pairs} pairs.", **named) if more else ""
        tables.append(Table((book.say(dimension), *headings), mine, note=note))
    some = any(row.stands_out for row in found.rows)
    tested = book.say(STANDS_OUT if some else NONE_STANDS_OUT, n=found.tests)
    return Section("slices", book.say("Kinds of pairs"), tables=tuple(tables), notes=(tested, *found.why.values()))


def power(book: Book, sections: Sections, at: str) -> Section | None:
    """What an audit of this size can show."""
    found = sections.power
    if found is None:
        return None
    tables = [Table(book.head("this audit", "number"), book.known(at, POWER))]
    needed = tuple(_needed(book, found, f"{at}/power"))
    if needed:
        tables.append(Table(book.head("to have", "needs pairs", "more than here"), needed))
    return Section("power", book.say("What this audit can show"), tables=tuple(tables), notes=tuple(found.why.values()))


def _needed(book: Book, found: PowerSection, here: str) -> Iterator[tuple[Cell, ...]]:
    limit = f"{100 * found.limit:g} %"
    for number, row in enumerate(found.needed_for):
        wished = book.say("an interval of ± {points} points", points=f"{100 * row.half_width:g}")
        yield _wished(book, wished, row.needed, f"{here}/needed_for/{number}/needed")
    if found.to_show_under is not None:
        yield _wished(
            book, book.say("it shown under {limit}", limit=limit), found.to_show_under, f"{here}/to_show_under"
        )
    if found.to_show_over is not None:
        yield _wished(book, book.say("it shown over {limit}", limit=limit), found.to_show_over, f"{here}/to_show_over")


def _wished(book: Book, label: str, needed: Needed | None, here: str) -> tuple[Cell, ...]:
    if needed is None:
        return (label, book.say("more than ten million"), "")
    return book.row(label, here, ("pairs", "more"))

"""How often the judge is wrong, on what pairs, and under which rule it may be trusted."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.report.chart_words import policy_in_words
from misjudge_tools.report.document import Book, Cell, Section, Table
from misjudge_tools.report.sections.opening import FAILED, worse
from misjudge_tools.summary.deciding.headline_values import HeadlineSection
from misjudge_tools.summary.deciding.policies_values import PolicyRow
from misjudge_tools.summary.region_words import region_sentence
from misjudge_tools.summary.values import Sections

MEASURES = (
    ("per single call", "/misselection"),
    ("of decided pairs", "/misselection/decided"),
    ("decided, of decidable pairs", "/misselection/decided/coverage"),
    ("of all pairs of known gold, alike or undecided too", "/misselection/all_pairs_rate"),
    ("near pairs, per call", "/headline/near"),
    ("wide pairs, per call", "/headline/wide"),
    ("if every undecided pair were right", "/headline/worst_case/at_best"),
    ("if every undecided pair were wrong", "/headline/worst_case/at_worst"),
)
KINDS = (
    ("pairs", "n"),
    ("decidable: one side is better", "decidable"),
    ("both sides alike", "gold_tie"),
    ("not known", "gold_unknown"),
)
ENDS = (
    ("tie", "tie"),
    ("inconsistent: the orders disagree", "inconsistent"),
    ("unscored", "unscored"),
    ("weak: one order a tie", "weak"),
)
CONFLICTS = (
    ("strict", "picked the side that is known to be worse", "picks on decidable pairs"),
    ("unsupported", "picked a side that failed, where the other did no better", "picks on other pairs"),
    ("missed", "named no side where one is better", "scored decidable pairs"),
    ("satisfied_failed", "was satisfied with what failed", "sessions that satisfied it"),
)


def wrong(book: Book, sections: Sections, at: str) -> Section | None:
    """How often the judge picks the side that failed, and of what pairs that is."""
    if sections.misselection is None and sections.pairs is None:
        return None
    measures = book.known(at, MEASURES)
    tables = [Table(book.head(worse(FAILED, sections), "found"), measures)] if measures else []
    if sections.pairs is not None:
        kinds = tuple((book.say(label), book.at(f"{at}/pairs/{name}")) for label, name in KINDS)
        tables.append(Table(book.head("which side was better", "pairs"), kinds))
        ends = book.known(at, tuple((label, f"/pairs/{name}") for label, name in ENDS))
        if ends:
            tables.append(Table(book.head("what the judge says of them", "pairs"), ends))
    if sections.unscored:
        rows = tuple((book.say(reason), book.at(f"{at}/unscored/{reason}")) for reason in sections.unscored)
        tables.append(Table(book.head("replies that could not be read", "verdicts"), rows))
    notes = tuple(_notes(book, sections))
    return Section("wrong", book.say("How often it is wrong"), tables=tuple(tables), notes=notes)


def _notes(book: Book, sections: Sections) -> Iterator[str]:
    if sections.pairs is not None and sections.pairs.gold_unknown:
        yield book.say(
            "Of {n} pairs nobody knows which side was better: they are in no error rate.",
            n=sections.pairs.gold_unknown,
        )
    found = sections.provenance
    if found is not None:
        facts = {"asked": found.asked, "cached": found.from_cache, "imported": found.imported, "unasked": found.unasked}
        yield book.say(
            "Verdicts: {asked} asked of a model here, {cached} taken from the cache, {imported} imported, {unasked} "
            "ended before any call.",
            **facts,
        )
    if sections.headline is not None:
        yield from _stopped(book, sections.headline)


def _stopped(book: Book, found: HeadlineSection) -> Iterator[str]:
    if found.stopping is not None:
        yield book.say(
            "Intervals marked anytime hold whenever a run stops. Runs ended where enough was known, and spared {pairs} "
            "pairs and {calls} calls.",
            pairs=found.stopping.pairs_saved,
            calls=found.stopping.calls_saved,
        )
    for arm in found.missing:
        if arm.arm in found.asymmetric:
            yield book.say(
                "Replies are missing unevenly: {arm} in {unscored} of {calls} calls. What is left is no fair sample.",
                arm=arm.arm,
                unscored=arm.unscored,
                calls=arm.calls,
            )


def policies(book: Book, sections: Sections, at: str) -> Section | None:
    """When to take a verdict, what that costs, and the trusted region."""
    found = sections.policies
    if found is None:
        return None
    labels = (_policy(book, row) for row in found.rows)
    names = ("misselection", "coverage", "calls_per_pair", "cost_per_pair")
    every = book.rows(f"{at}/policies/rows", labels, names)
    rows = tuple(cells for row, cells in zip(found.rows, every, strict=True) if row.why is None)
    headings = book.head("policy", "wrong, of decided", "decided, of decidable", "calls a pair", "cost a pair")
    note = book.say("one_call counts calls, the others pairs.")
    without: dict[str, list[str]] = {}
    for row in found.rows:
        if row.why is not None:
            without.setdefault(row.why, []).append(policy_in_words(row.policy, book.language))
    missing = [f"{', '.join(names)}: {book.reason(why)}" for why, names in without.items()]
    return Section(
        "policies",
        book.say("When to take a verdict"),
        says=() if found.region is None else (region_sentence(found.region, book.language),),
        charts=("risk_coverage",),
        tables=(Table(headings, rows, note=note),) if rows else (),
        notes=(*missing, *found.why.values()),
    )


def _policy(book: Book, row: PolicyRow) -> str:
    named = policy_in_words(row.policy, book.language)
    return named if row.source is None else f"{named} ({row.source})"


def conflicts(book: Book, sections: Sections, at: str) -> Section | None:
    """How many pairs and sessions of each kind there are on which judge and evidence disagree."""
    if sections.conflicts is None:
        return None
    rows: list[tuple[Cell, ...]] = []
    for kind, label, among in CONFLICTS:
        if getattr(sections.conflicts, kind) is not None:
            here = f"{at}/conflicts/{kind}"
            rows.append((book.say(label), book.at(f"{here}/k"), book.at(f"{here}/n"), book.say(among)))
    table = Table(book.head("the judge", "number", "of", "what these are"), tuple(rows))
    return Section("conflicts", book.say("Where judge and evidence disagree"), tables=(table,))

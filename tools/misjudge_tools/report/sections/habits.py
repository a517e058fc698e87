"""What the judge goes by that is not success: place, length, words, itself; and what fools it."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.report.document import Book, Section, Table
from misjudge_tools.stats.probes import ProbeRow
from misjudge_tools.summary.deciding.bias_values import BiasSection
from misjudge_tools.summary.values import Sections

CONSISTENCY = (
    ("verdict changes sides with the order", "flip_rate"),
    ("verdict moves to or from a tie", "soft_flip_rate"),
    ("answers for the side shown first (no bias: 50 %)", "letter_a_share"),
    ("accuracy, mean of the two orders", "accuracy"),
    ("same verdict in both orders", "agreement"),
    ("vote accuracy over both orders", "vote_accuracy"),
)
LENGTH = (
    ("picks of the longer side", "/bias/length/longer"),
    ("odds ratio of the longer side, gold held fixed (no bias: 1)", "/bias/length/with_gold_fixed"),
)
OTHERS = (
    ("calls against the judge's own scores", "/bias/self_contradiction"),
    ("picks of the lower reward", "/bias/lower_reward_selected/rate"),
    ("picks of the lower reward, near pairs", "/bias/lower_reward_selected/near"),
    ("picks of the lower reward, wide pairs", "/bias/lower_reward_selected/wide"),
    ("picks of its own family's side", "/bias/self_preference/own"),
    ("… more often than another judge on the same pairs", "/bias/self_preference/excess"),
    ("… more often wrong where its own side failed", "/bias/self_preference/by_gold"),
    ("same verdict when asked again", "/bias/stability"),
)
MARKS = ("fooled", "unreadable")
LONGER_BETTER = (
    "Picks of the longer side prove no bias where longer episodes are better: the odds ratio holds gold fixed."
)
LONGER_UNTOLD = (
    "Picks of the longer side prove no bias: longer episodes may be better. The odds ratio, which would tell, is not "
    "known here."
)


def consistency(book: Book, sections: Sections, at: str) -> Section | None:
    """What changes with the order, and what the judge leans to."""
    if sections.consistency is None and sections.bias is None:
        return None
    tables: list[Table] = []
    notes: list[str] = []
    lines = tuple((label, f"/consistency/intervals/{name}") for label, name in CONSISTENCY)
    rows = book.known(at, lines)
    if rows:
        tables.append(Table(book.head("when the sides change places", "found"), rows))
    if sections.bias is not None:
        length = sections.bias.length
        told = length is not None and length.with_gold_fixed.value is not None
        leanings = book.known(at, (*LENGTH[: 2 if told else 1], *OTHERS))
        if leanings:
            tables.append(Table(book.head("what it leans to", "found"), leanings))
        tables += word_tables(book, sections.bias, at)
        notes += (*unsaid(book, sections.bias), *_notes(book, sections.bias))
    title = book.say("Position and other habits")
    return Section("habits", title, charts=("flips_position",), tables=tuple(tables), notes=tuple(notes))


def word_tables(book: Book, found: BiasSection, at: str) -> Iterator[Table]:
    """How often the judge is wrong where its reasons hold words of a kind, and where not; none where they hold none."""
    names = ("said", "wrong_with", "wrong_without", "difference")
    rows = tuple(
        book.row(book.say(word.group), f"{at}/bias/words/{number}", names)
        for number, word in enumerate(found.words or ())
        if word.said.k
    )
    if rows:
        headings = book.head("words of", "said", "wrong with them", "wrong without", "difference")
        yield Table(headings, rows, book.say("Words in the judge's reasons"))


def unsaid(book: Book, found: BiasSection) -> Iterator[str]:
    """The kinds of words that none of the reasons holds."""
    never = [word for word in found.words or () if word.said.n and not word.said.k]
    if never:
        kinds = ", ".join(book.say(word.group) for word in never)
        yield book.say("None of {n} reasons holds words of {kinds}.", n=never[0].said.n, kinds=kinds)


def _notes(book: Book, found: BiasSection) -> Iterator[str]:
    if found.position is not None and found.position.constant is not None:
        yield book.say("It gave a constant answer: the side shown {place}.", place=book.say(found.position.constant))
    if found.length is not None:
        told = found.length.with_gold_fixed.value is not None
        yield book.say(LONGER_BETTER if told else LONGER_UNTOLD)
        yield book.say(
            "Length by {by}; picks on {equal} pairs of equal and {unknown} of unknown length are left out.",
            by=book.say(found.length.length_by),
            equal=found.length.equal,
            unknown=found.length.unknown,
        )
    if found.pairs < found.pairs_in_all:
        yield book.say("Counted on {n} of {all} pairs, whole tasks.", n=found.pairs, all=found.pairs_in_all)
    yield from found.why.values()


def _mark(book: Book, row: ProbeRow) -> str:
    told = [book.say(mark) for mark in MARKS if getattr(row, mark)]
    if told:
        return ", ".join(told)
    if row.smallest_seen is None:
        return book.say("too few items")
    return book.say("not seen ({smallest} %)", smallest=f"{100 * row.smallest_seen:.0f}")


def probes(book: Book, sections: Sections, at: str) -> Section | None:
    """What changed the verdict though it must not matter."""
    found = sections.probes
    if found is None:
        return None
    labels = (row.probe if row.aim is None else f"{row.probe} ({row.aim})" for row in found.rows)
    names = ("n", "excess_flip", "excess_flip/p_adjusted", "shift", "left_out")
    marks = (_mark(book, row) for row in found.rows)
    rows = tuple((*row, mark) for row, mark in zip(book.rows(f"{at}/probes/rows", labels, names), marks, strict=True))
    headings = (
        *book.head("probe", "pairs", "verdicts changed beyond chance", "p adjusted", "towards it", "left out"),
        book.say("finding"),
    )
    own = (("verdict changes when the same is asked again", "/probes/instability"),)
    preference = (("more often wrong where that favours its own family", "/probes/self_preference"),)
    alone = Table(book.head("unchanged", "found"), book.known(at, (*own, *preference)))
    note = " ".join(
        (
            book.say("What fooled it stands first, the control last."),
            book.say("Not seen (N %) is no acquittal: an excess below N % would probably be missed with so few items."),
        )
    )
    tables = (Table(headings, rows, note=note), alone)
    return Section("probes", book.say("What fools it"), charts=("probes",), tables=tables)

"""What the judge goes by that is not success: place, length, words, itself; and what fools it."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.report.document import Book, Section, Table
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
    ("picks of the longer side (no bias: 50 %)", "/bias/length/longer"),
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
        leanings = book.known(at, (*LENGTH, *OTHERS))
        if leanings:
            tables.append(Table(book.head("what it leans to", "found"), leanings))
        if sections.bias.words:
            tables.append(_words(book, sections.bias, at))
        notes += _notes(book, sections.bias)
    title = book.say("Position and other habits")
    return Section("habits", title, charts=("flips_position",), tables=tuple(tables), notes=tuple(notes))


def _words(book: Book, found: BiasSection, at: str) -> Table:
    labels = (book.say(word.group) for word in found.words or ())
    rows = book.rows(f"{at}/bias/words", labels, ("said", "wrong_with", "wrong_without", "difference"))
    headings = book.head("words of", "said", "wrong with them", "wrong without", "difference")
    return Table(headings, rows, book.say("Words in the judge's reasons"))


def _notes(book: Book, found: BiasSection) -> Iterator[str]:
    if found.position is not None and found.position.constant is not None:
        yield book.say("It gave a constant answer: the side shown {place}.", place=book.say(found.position.constant))
    if found.length is not None:
        yield book.say(
            "Length by {by}; picks on {equal} pairs of equal and {unknown} of unknown length are left out.",
            by=found.length.length_by,
            equal=found.length.equal,
            unknown=found.length.unknown,
        )
    if found.pairs < found.pairs_in_all:
        yield book.say("Counted on {n} of {all} pairs, whole tasks.", n=found.pairs, all=found.pairs_in_all)
    yield from found.why.values()


def probes(book: Book, sections: Sections, at: str) -> Section | None:
    """What changed the verdict though it must not matter."""
    found = sections.probes
    if found is None:
        return None
    labels = (row.probe if row.aim is None else f"{row.probe} ({row.aim})" for row in found.rows)
    names = ("n", "excess_flip", "excess_flip/p_adjusted", "shift", "left_out")
    marks = (", ".join(book.say(mark) for mark in MARKS if getattr(row, mark)) for row in found.rows)
    rows = tuple((*row, mark) for row, mark in zip(book.rows(f"{at}/probes/rows", labels, names), marks, strict=True))
    headings = book.head("probe", "pairs", "verdicts changed beyond chance", "p adjusted", "towards it", "left out", "")
    own = (("verdict changes when the same is asked again", "/probes/instability"),)
    preference = (("more often wrong where that favours its own family", "/probes/self_preference"),)
    alone = Table(book.head("unchanged", "found"), book.known(at, (*own, *preference)))
    note = book.say("What fooled it stands first, the control last.")
    tables = (Table(headings, rows, note=note), alone)
    return Section("probes", book.say("What fools it"), charts=("probes",), tables=tables)

"""What a report opens with: the verdict, and the three numbers that carry it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from misjudge_tools.report.document import Book, Carrier
from misjudge_tools.report.figures import Figure, escaped
from misjudge_tools.summary.values import AuditSummary, Sections

NUMBERS = 3
PAIRWISE = (
    ("picked the side that failed, per call", "/misselection"),
    ("the same on near pairs", "/headline/near"),
    ("verdict changes with the order", "/consistency/intervals/flip_rate"),
    ("picked the side that failed, of decided pairs", "/misselection/decided"),
    ("answers for the side shown first", "/consistency/intervals/letter_a_share"),
)
SESSIONS = (
    ("failed, of those that satisfied the judge", "/headline/satisfied_failed"),
    ("failed, of all, satisfied or not", "/{form}/intervals/base_fail"),
    ("AUC: does satisfaction tell success from failure (0.50: no)", "/{form}/auc"),
)
FAILED, WORSE = "picked the side that failed", "picked the side that gold calls worse"
FORMS = ("satisfaction", "gate", "proxy", "rubric")
COUNTS = (
    ("pairs in the audit", "/pairs/n"),
    ("pairs of which one side is known to be better", "/pairs/decidable"),
    ("agents", "/agents"),
)


class Opening(NamedTuple):
    """The sentences of the verdict, the numbers that carry it, and what would change it."""

    verdict: tuple[str, ...]
    carriers: tuple[Carrier, ...]
    would_change: tuple[str, ...] = ()


def opening(book: Book, summary: AuditSummary) -> Opening:
    """Of one judge its verdict, of several that of each, else that nothing was judged."""
    found = summary.headline
    if found is not None:
        return Opening(found.verdict, carriers(book, summary, ""), found.would_change)
    if summary.judges:
        return Opening(tuple(_of_each(book, summary)), tuple(_among(book, summary)))
    if summary.rubrics is not None and summary.rubrics.advice:
        return Opening(summary.rubrics.advice, tuple(islice(_of_rubrics(book), NUMBERS)))
    return Opening((book.say("No judge has judged anything in this audit yet."),), tuple(_known(book, COUNTS, "")))


def carriers(book: Book, sections: Sections, at: str) -> tuple[Carrier, ...]:
    """The first three that are known, of pairs, else of sessions."""
    form = next((form for form in FORMS if getattr(sections, form) is not None), FORMS[0])
    sessions = tuple((label, name.format(form=form)) for label, name in SESSIONS)
    pairwise = tuple((worse(label, sections), name) for label, name in PAIRWISE)
    return tuple(islice(_known(book, (*pairwise, *sessions), at), NUMBERS))


def worse(label: str, sections: Sections) -> str:
    """The label, without a word of failure where gold is a preference and nothing more."""
    known = sections.headline is None or sections.headline.failed_known
    return label if known else label.replace(FAILED, WORSE)


def _known(book: Book, names: tuple[tuple[str, str], ...], at: str) -> Iterator[Carrier]:
    for label, name in names:
        figure = book.figures.get(at + name)
        if figure is not None and figure.value is not None:
            yield Carrier(book.say(label), figure)


def _of_each(book: Book, summary: AuditSummary) -> Iterator[str]:
    judges = summary.judges or {}
    usable = sum(one.headline is not None and one.headline.grade == "usable" for one in judges.values())
    yield book.say("{k} of {n} judges may be used on what was judged here.", k=usable, n=len(judges))
    for label, one in judges.items():
        if one.headline is not None:
            yield f"{label}: {one.headline.verdict[0]}"


def _among(book: Book, summary: AuditSummary) -> Iterator[Carrier]:
    """The judge that is wrong least often, the one that is most often, and what the panel is worth."""
    rates = {label: rate for label in summary.judges or {} if (rate := _rate(book, label)) is not None}
    ranked = sorted(rates, key=lambda label: rates[label].value or 0)
    if ranked:
        yield _rated(book, summary, ranked[0], rates[ranked[0]])
    if len(ranked) > 1:
        yield _rated(book, summary, ranked[-1], rates[ranked[-1]])
    panel = book.figures.get("/panel/rules/majority/misselection")
    if panel is not None and panel.value is not None:
        yield Carrier(book.say("the majority of all of them, of decided pairs"), panel)


def _rated(book: Book, summary: AuditSummary, judge: str, rate: Figure) -> Carrier:
    pairs = rate.name.endswith("/misselection")
    said = "{judge}: picked the side that failed, per call" if pairs else "{judge}: failed, of those that satisfied it"
    return Carrier(book.say(worse(said, (summary.judges or {})[judge]), judge=judge), rate)


def _rate(book: Book, label: str) -> Figure | None:
    at = judge_at(label)
    names = (f"{at}/misselection", f"{at}/headline/satisfied_failed")
    return next((found for name in names if (found := book.figures.get(name)) and found.value is not None), None)


def _of_rubrics(book: Book) -> Iterator[Carrier]:
    for name, figure in book.figures.items():
        if name.startswith("/rubrics/writers/") and name.endswith(("/recall", "/hallucination_rate")):
            yield Carrier(book.say(name.rsplit("/", 1)[1]), figure)


def judge_at(label: str) -> str:
    """Where the figures of one of several judges are."""
    return f"/judges/{escaped(label)}"

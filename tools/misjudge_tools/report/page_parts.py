"""The parts of a report, in the order in which one reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from misjudge_tools.report.document import Book, Document, JudgePart, Section
from misjudge_tools.report.figures import Figure
from misjudge_tools.report.sections import advice, cost, gaps, habits, others, pairs, rubrics, sessions
from misjudge_tools.report.sections.opening import judge_at, opening
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.values import AuditSummary, Sections

Builder = Callable[[Book, Sections, str], Section | None]
FIRST: tuple[Builder, ...] = (
    *(advice.advice, pairs.wrong, gaps.gaps, pairs.policies, habits.consistency, gaps.slices),
    *(sessions.satisfaction, sessions.three_way, sessions.agents, sessions.ranking),
    *(others.panel, others.agreement, others.corrected, others.drift, habits.probes, rubrics.rubrics),
    *(cost.cost, gaps.power, advice.checklist, pairs.conflicts),
)
READING = (
    "Brackets hold 95 % intervals; an interval counts all observations of one task as one cluster.",
    "131/320 is 131 of 320; n=320 stands where a number is a mean over 320.",
    "Δ is a difference of shares in points.",
    "A tie, a pair whose orders disagree and a reply that cannot be read are counted apart, never as wrong or right.",
    "Every number stands under its name in figures.csv and summary.json.",
)


def document(summary: AuditSummary, figures: Mapping[str, Figure], language: Language) -> Document:
    """Everything that a report of this summary says."""
    book = Book(figures, language)
    opened = opening(book, summary)
    beside = others.judges(book, summary)
    named = "How far can {judge} be trusted?" if summary.judge else "How far can these judges be trusted?"
    return Document(
        title=book.say(named, judge=summary.judge),
        audit=summary.audit,
        judge=summary.judge,
        language=language,
        marked=None if summary.marked is None else book.reason(summary.marked),
        verdict=opened.verdict,
        carriers=opened.carriers,
        would_change=opened.would_change,
        warnings=tuple(map(book.reason, summary.warnings)),
        sections=(*([beside] if beside else []), *sections_of(book, summary, "")),
        judges=tuple(
            JudgePart(
                label=label,
                simulated=one.simulated,
                verdict=None if one.headline is None else one.headline.verdict[0],
                sections=sections_of(book, one, judge_at(label)),
            )
            for label, one in (summary.judges or {}).items()
        ),
        missing=_missing(book, summary),
        reading=tuple(book.say(line) for line in READING),
    )


def sections_of(book: Book, sections: Sections, at: str) -> tuple[Section, ...]:
    """The sections that there is something to say in, with figures below `at`."""
    found = (build(book, sections, at) for build in FIRST)
    return tuple(_once(book, one) for one in found if one is not None)


def _once(book: Book, found: Section) -> Section:
    """The section with its notes in the language of the report, each of them once."""
    return found._replace(notes=tuple(dict.fromkeys(map(book.reason, found.notes))))


def _missing(book: Book, summary: AuditSummary) -> tuple[tuple[str, str], ...]:
    """Names of what is not there, and why, each reason once."""
    names: dict[str, list[str]] = {}
    for name, why in summary.why.items():
        names.setdefault(why, []).append(name)
    return tuple((", ".join(these), book.reason(why)) for why, these in names.items())

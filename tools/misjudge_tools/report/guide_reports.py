"""The three reports that the guides ask for: the table of judged orders, what it cost, and the conclusion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final, NamedTuple

from misjudge_tools.report.document import Book, Table
from misjudge_tools.report.facts import Called
from misjudge_tools.report.figures import NONE, Figure
from misjudge_tools.report.markdown import escaped, table_lines
from misjudge_tools.report.sections.cost import UNITS, cost_notes, left_out, stage_table, unknown
from misjudge_tools.report.sections.habits import unsaid, word_tables
from misjudge_tools.report.sections.opening import FORMS, judge_at, worse
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.values import AuditSummary, Sections

COLUMNS: Final = (
    *("pair_id", "task_id", "agent_left", "agent_right", "blind_order", "judge_choice", "reward_left", "reward_right"),
    *("selected_reward", "lower_reward_selected", "task_success", "user_sat", "total_tokens", "est_cost", "judge"),
)
"""Those of the view `pairwise`, as the guide names them."""


class Group(NamedTuple):
    """Lines of a point, each a label and the name of its figure; `form` is what the judge was asked for, where it
    matters.
    """

    lines: tuple[tuple[str, str], ...]
    form: str = ""


class Point(NamedTuple):
    """A question of the conclusion, and what answers it."""

    question: str
    groups: tuple[Group, ...]


def _only(*lines: tuple[str, str]) -> tuple[Group, ...]:
    return (Group(lines),)


def _of_form(form: str) -> Group:
    lines = (
        ("failed, of those that satisfied it", f"/{form}/intervals/p_fail_given_satisfied"),
        ("failed, of all", f"/{form}/intervals/base_fail"),
        ("relative risk of failure if satisfied (1: says nothing)", f"/{form}/relative_risk"),
        ("AUC (0.50: says nothing)", f"/{form}/auc"),
    )
    return Group(lines, form)


POINTS: Final = (
    Point(
        "Does the judge pick the side of lower reward where the agents are near?",
        _only(
            ("picks of the lower reward, near pairs", "/bias/lower_reward_selected/near"),
            ("picks of the lower reward, wide pairs", "/bias/lower_reward_selected/wide"),
            ("picked the side that failed, near pairs, per call", "/headline/near"),
            ("picked the side that failed, wide pairs, per call", "/headline/wide"),
        ),
    ),
    Point(
        "Does the verdict change when the sides change places?",
        _only(
            ("verdict changes sides with the order", "/consistency/intervals/flip_rate"),
            ("verdict moves to or from a tie", "/consistency/intervals/soft_flip_rate"),
            ("answers for the side shown first (no bias: 50 %)", "/consistency/intervals/letter_a_share"),
        ),
    ),
    Point("Is it satisfied with what failed?", tuple(map(_of_form, FORMS))),
)
WORDS: Final = "What do its reasons go by: more detailed, longer, better tone?"
TOKENS: Final = "What does it take: tokens and cost for a task?"
FOR_A_TASK: Final = (
    ("tokens, in and out", "/cost/tokens"),
    ("tasks", "/cost/tasks"),
    ("tokens for each task", "/cost/tokens_per_task"),
    ("cost in all", "/cost/total_cost"),
    ("cost for each task", "/cost/cost_per_task"),
)
NEXT: Final = "What is to be done?"


def guide_reports(
    summary: AuditSummary, figures: Mapping[str, Figure], calls: Called, language: Language
) -> dict[str, str]:
    """File name → Markdown."""
    book = Book(figures, language)
    made = {
        "pairwise_table.md": _pairwise(book, summary, calls),
        "token_cost.md": _cost(book, summary),
        "conclusion.md": _conclusion(book, summary),
    }
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}


def _head(book: Book, summary: AuditSummary, title: str) -> Iterator[str]:
    yield from (f"# {book.say(title)}", "")
    if summary.marked:
        yield from (f"> **{escaped(book.reason(summary.marked))}**", "")
    judge = "" if summary.judge is None else " · " + book.say("judge {judge}", judge=escaped(summary.judge))
    yield from (book.say("Audit {audit}", audit=escaped(summary.audit)) + judge, "")


def _pairwise(book: Book, summary: AuditSummary, calls: Called) -> Iterator[str]:
    yield from _head(book, summary, "Judged orders")
    note = book.say("The first {n} judged orders; the export audit_pairs has every pair.", n=len(calls.rows))
    rows = tuple(tuple(_plain(row[name]) for name in COLUMNS) for row in calls.rows)
    yield from table_lines(Table(COLUMNS, rows, note=note if calls.more else ""))


def _plain(value: Any) -> str:
    if value is None:
        return NONE
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cost(book: Book, summary: AuditSummary) -> Iterator[str]:
    yield from _head(book, summary, "Tokens and cost")
    found = summary.cost
    if found is None or not found.stages:
        yield escaped(book.reason(summary.why.get("cost", book.say("No call was made and none was imported."))))
        return
    yield from table_lines(stage_table(book, found, ""))
    yield from (f"- {escaped(note)}" for note in (*cost_notes(book, found), *unknown(book, found)))
    yield ""
    yield from _lines(book, UNITS, "")


def _conclusion(book: Book, summary: AuditSummary) -> Iterator[str]:
    yield from _head(book, summary, "Conclusion")
    judges: dict[str, Sections] = {"": summary} if not summary.judges else dict(summary.judges)
    for label, one in judges.items():
        if one.headline is not None:
            yield from (f"**{_labelled(label)}{escaped(one.headline.verdict[0])}**", "")
    for number, point in enumerate(POINTS, 1):
        yield from (f"## {number}. {book.say(point.question)}", "")
        yield from _of_each(book, judges, point.groups)
    yield from (f"## 4. {book.say(TOKENS)}", "", *_for_a_task(book, summary), "")
    yield from (f"## 5. {book.say(WORDS)}", "")
    for label, one in judges.items():
        yield from _words(book, one, judge_at(label) if label else "", label)
    yield from (f"## 6. {book.say(NEXT)}", "")
    for label, one in judges.items():
        for row in one.recommendations.rows if one.recommendations else ():
            yield f"- {_labelled(label)}**{escaped(row.advice)}** {escaped(row.because)}"
    if not any(one.recommendations for one in judges.values()):
        yield f"- {book.say('Nothing is known.')}"


def _labelled(label: str) -> str:
    return f"{escaped(label)}: " if label else ""


def _of_each(book: Book, judges: Mapping[str, Sections], groups: tuple[Group, ...]) -> Iterator[str]:
    said = False
    for label, group in product(judges, groups):
        named = tuple((worse(line, judges[label]), name) for line, name in group.lines)
        lines = list(_lines(book, named, judge_at(label) if label else ""))
        heading = [part for part in (label, book.say(group.form)) if part]
        if heading and lines:
            yield from (f"**{escaped(', '.join(heading))}**", "")
        yield from lines
        said = said or bool(lines)
    if not said:
        yield from (f"- {book.say('Nothing is known.')}", "")


def _lines(book: Book, names: tuple[tuple[str, str], ...], at: str) -> Iterator[str]:
    known = [(label, book.figures[at + name]) for label, name in names if at + name in book.figures]
    yield from (f"- {escaped(book.say(label))}: {figure.text}" for label, figure in known)
    if known:
        yield ""


def _for_a_task(book: Book, summary: AuditSummary) -> Iterator[str]:
    found = summary.cost
    if found is None or (found.tokens is None and found.total_cost is None):
        yield f"- {book.say('Nothing is known.')}"
        return
    yield from _lines(book, FOR_A_TASK, "")
    yield from (f"- {escaped(note)}" for note in left_out(book, found))


def _words(book: Book, one: Sections, at: str, label: str) -> Iterator[str]:
    if label:
        yield from (f"**{escaped(label)}**", "")
    if one.bias is None or not one.bias.words:
        yield from (f"- {book.say('Nothing is known.')}", "")
        return
    for table in word_tables(book, one.bias, at):
        yield from table_lines(table._replace(caption=""))
    yield from (f"- {escaped(note)}" for note in unsaid(book, one.bias))
    yield ""

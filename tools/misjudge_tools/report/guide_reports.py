"""The three reports that the guides ask for: the table of judged orders, what it cost, and the conclusion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from misjudge_tools.report.document import Book, Cell, Table
from misjudge_tools.report.facts import Called
from misjudge_tools.report.figures import NONE, Figure, usd
from misjudge_tools.report.markdown import escaped, table_lines
from misjudge_tools.report.sections.cost import cost_notes, stage_table
from misjudge_tools.report.sections.opening import judge_at
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.values import AuditSummary, Sections

COLUMNS: Final = (
    *("pair_id", "task_id", "agent_left", "agent_right", "blind_order", "judge_choice", "reward_left", "reward_right"),
    *("selected_reward", "lower_reward_selected", "task_success", "user_sat", "total_tokens", "est_cost", "judge"),
)
"""Those of the view `pairwise`, as the guide names them."""
POINTS: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "Does the judge pick the side of lower reward where the agents are near?",
        (
            ("picks of the lower reward, near pairs", "/bias/lower_reward_selected/near"),
            ("picks of the lower reward, wide pairs", "/bias/lower_reward_selected/wide"),
            ("near pairs, per call", "/headline/near"),
            ("wide pairs, per call", "/headline/wide"),
        ),
    ),
    (
        "Does the verdict change when the sides change places?",
        (
            ("verdict changes sides with the order", "/consistency/intervals/flip_rate"),
            ("verdict moves to or from a tie", "/consistency/intervals/soft_flip_rate"),
            ("answers for the side shown first (no bias: 50 %)", "/consistency/intervals/letter_a_share"),
        ),
    ),
    (
        "Is it satisfied with what failed?",
        tuple(
            line
            for form in ("satisfaction", "gate", "proxy", "rubric")
            for line in (
                ("failed, of those that satisfied it", f"/{form}/intervals/p_fail_given_satisfied"),
                ("failed, of all", f"/{form}/intervals/base_fail"),
                ("relative risk of failure if satisfied (1: says nothing)", f"/{form}/relative_risk"),
                ("AUC (0.50: says nothing)", f"/{form}/auc"),
            )
        ),
    ),
)
WORDS: Final = "What do its reasons go by: more detailed, longer, better tone?"
TOKENS: Final = "What does it take: tokens and cost for a task?"
NEXT: Final = "What is to be done?"


def guide_reports(
    summary: AuditSummary, figures: Mapping[str, Figure], calls: Called, language: Language
) -> dict[str, str]:
    """File name → Markdown."""
    book = Book(figures, language)
    made = {
        "pairwise_table.md": _pairwise(book, summary, calls),
        "token_cost.md": _cost(book, summary),
        "conclusion.md": _conclusion(book, summary, calls),
    }
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}


def _head(book: Book, summary: AuditSummary, title: str) -> Iterator[str]:
    yield from (f"# {book.say(title)}", "")
    if summary.marked:
        yield from (f"> **{escaped(summary.marked)}**", "")
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
        yield escaped(summary.why.get("cost", book.say("No call was made and none was imported.")))
        return
    yield from table_lines(stage_table(book, found, ""))
    yield from (f"- {escaped(note)}" for note in (*cost_notes(book, found), *found.why.values()))
    yield ""
    totals = (
        ("total", "/cost/total_cost"),
        ("the judge's share", "/cost/judge_share"),
        ("for each session that did its task", "/cost/cost_per_success"),
        ("judge, for each pair that it got right", "/cost/cost_per_correct_selection"),
    )
    yield from _lines(book, totals, "")


def _conclusion(book: Book, summary: AuditSummary, calls: Called) -> Iterator[str]:
    yield from _head(book, summary, "Conclusion")
    judges: dict[str, Sections] = {"": summary} if not summary.judges else dict(summary.judges)
    for label, one in judges.items():
        if one.headline is not None:
            yield from (f"**{escaped(f'{label}: ' if label else '')}{escaped(one.headline.verdict[0])}**", "")
    for number, (question, names) in enumerate(POINTS, 1):
        yield from (f"## {number}. {book.say(question)}", "")
        yield from _of_each(book, judges, names)
    yield from (f"## 4. {book.say(TOKENS)}", "", *_for_a_task(book, summary, calls), "")
    yield from (f"## 5. {book.say(WORDS)}", "")
    for label, one in judges.items():
        yield from _words(book, one, judge_at(label) if label else "", label)
    yield from (f"## 6. {book.say(NEXT)}", "")
    for label, one in judges.items():
        for row in one.recommendations.rows if one.recommendations else ():
            yield f"- {escaped(f'{label}: ' if label else '')}**{escaped(row.advice)}** {escaped(row.because)}"
    if not any(one.recommendations for one in judges.values()):
        yield f"- {book.say('Nothing is known.')}"


def _of_each(book: Book, judges: Mapping[str, Sections], names: tuple[tuple[str, str], ...]) -> Iterator[str]:
    said = False
    for label in judges:
        at = judge_at(label) if label else ""
        lines = list(_lines(book, names, at))
        if label and lines:
            yield from (f"**{escaped(label)}**", "")
        yield from lines
        said = said or bool(lines)
    if not said:
        yield from (f"- {book.say('Nothing is known.')}", "")


def _lines(book: Book, names: tuple[tuple[str, str], ...], at: str) -> Iterator[str]:
    known = [(label, book.figures[at + name]) for label, name in names if at + name in book.figures]
    yield from (f"- {escaped(book.say(label))}: {figure.text}" for label, figure in known)
    if known:
        yield ""


def _for_a_task(book: Book, summary: AuditSummary, calls: Called) -> Iterator[str]:
    found, cost = summary.tokens, summary.cost
    stated = [one for one in found.by_role.values() if one.input_tokens is not None] if found else []
    if not stated or not calls.tasks:
        yield f"- {book.say('No tokens are known.')}"
        return
    tokens = sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in stated)
    named = {"tokens": f"{tokens:,}", "tasks": calls.tasks, "each": f"{tokens / calls.tasks:,.0f}"}
    yield f"- {book.say('{tokens} tokens for {tasks} tasks: {each} a task.', **named)}"
    unknown = sum(one.calls_without_usage for one in found.by_role.values()) if found else 0
    if unknown:
        yield f"- {book.say('{n} calls do not state their tokens and are left out.', n=unknown)}"
    if cost is not None and cost.total_cost is not None:
        yield f"- {book.say('{cost} for a task.', cost=usd(cost.total_cost / calls.tasks))}"


def _words(book: Book, one: Sections, at: str, label: str) -> Iterator[str]:
    words = one.bias.words if one.bias is not None else None
    if label:
        yield from (f"**{escaped(label)}**", "")
    if not words:
        yield from (f"- {book.say('Nothing is known.')}", "")
        return
    rows: list[tuple[Cell, ...]] = []
    for number, word in enumerate(words):
        here = f"{at}/bias/words/{number}"
        rows.append((word.group, *(book.at(f"{here}/{name}") for name in ("said", "wrong_with", "wrong_without"))))
    headings = book.head("words of", "said", "wrong with them", "wrong without")
    yield from table_lines(Table(headings, tuple(rows)))

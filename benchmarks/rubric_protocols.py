"""Matching rules one by one against all of a rubric in one call: what each costs, and whether they agree.

    python benchmarks/rubric_protocols.py [--rows N] [--writer NAME] [--matcher NAME]

One writer writes a rubric for each made-up row (see rubricbench_rows.py), and the same matcher is asked both ways
about the very same rules. Writer and matcher are any that `misjudge rubrics match` takes; by default both are
SIMULATED, so the costs are those of the prompts and the disagreement that of a planted error. Of the rules of a
simulated writer it is known which ones hit: then the last column says how often each way was right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import text

from misjudge_server.deps import build_deps, close_deps
from misjudge_server.settings import load_settings
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.simulated_rubrics import gold_hit
from misjudge_tools.import_records import import_records
from misjudge_tools.requests import ImportRequest, ScoreRubricsRequest
from misjudge_tools.rubrics.rules import normal_form
from misjudge_tools.score_rubrics import rubric_run
from misjudge_tools.stats.rates import Rate, Tally, cluster_sums, clustered_rate
from misjudge_tools.summary.rubric_values import MatcherCheck, RubricsSection, WriterRow
from misjudge_tools.summary.rubrics import rubrics_section
from rubricbench_rows import rows

AUDIT = "protocols"
ROWS = 200
WRITER = "simulated:hits=0.6,invents=0.3"
MATCHER = "simulated:misses=0.1,overmatches=0.1"
WAYS = {"rubric_match": "one by one", "rubric_match_batch": "batch"}
SPENT = text("""
    SELECT j.form, COUNT(*) AS calls, SUM(l.input_tokens) AS tokens_in, SUM(l.output_tokens) AS tokens_out
    FROM judge_logs l JOIN judges j ON j.audit_id = l.audit_id AND j.judge_id = l.judge_id
    WHERE l.role = 'rubric_match' GROUP BY j.form
""")
ANSWERED = text("""
    SELECT j.form, d.task_id, m.rule, m.gold_rule, w.text AS written, g.rule AS number, g.text AS gold
    FROM rubric_matches m
    JOIN rubric_matchings x ON x.matching_id = m.matching_id
    JOIN rubric_drafts d ON d.draft_id = x.draft_id
    JOIN judges j ON j.audit_id = x.audit_id AND j.judge_id = x.matcher_id
    JOIN rubric_rules w ON w.rubric_id = d.rubric_id AND w.rule = m.rule
    JOIN rubric_rules g ON g.rubric_id = x.rubric_id
    WHERE m.status = 'scored' AND m.method = 'judge'
    ORDER BY j.form, d.task_id, m.rule, g.rule
""")


class Spent(NamedTuple):
    """What one way took."""

    calls: int
    tokens_in: int
    tokens_out: int


class Answer(NamedTuple):
    """What a matcher said of one rule of a task, and what is true of it; both are gold rules, from 1, or None."""

    task_id: str
    said: int | None
    truth: int | None


async def matched(deps: Deps, writer: str, matcher: str, *, batch: bool) -> str:
    """Match every rubric this way, to the end; the matcher's label."""
    request = ScoreRubricsRequest(
        audit=AUDIT, action="match", writers=[writer], matchers=[matcher], batch=batch, max_calls=1_000_000
    )
    found = await rubric_run(request, deps)
    while found.run.state == "running":
        found = await rubric_run(request, deps)
    if found.run.state != "done":
        raise SystemExit(f"The run ended as {found.run.state}: {found.run.reason}")
    return found.matchers[0]


def spent(store: Store) -> dict[str, Spent]:
    """By the form of the matcher."""
    with store.read() as connection:
        return {
            row.form: Spent(row.calls, row.tokens_in or 0, row.tokens_out or 0) for row in connection.execute(SPENT)
        }


def answers(store: Store) -> dict[str, list[Answer]]:
    """By the form of the matcher, with the truth that holds in simulation: a rule hits the gold rule that it holds."""
    found: dict[str, list[Answer]] = {}
    with store.read() as connection:
        listed = list(connection.execute(ANSWERED))
    for form, task_id, said, written, gold in _by_rule(listed):
        nth = gold_hit(written, [normal_form(rule) for rule in gold])
        found.setdefault(form, []).append(Answer(task_id, said, None if nth is None else nth + 1))
    return found


def _by_rule(
    listed: Sequence[tuple[str, str, int, int | None, str, int, str]],
) -> Iterator[tuple[str, str, int | None, str, list[str]]]:
    """Form, task, answer, rule and its gold rules: the rows have one line a gold rule."""
    gold: list[str] = []
    for place, (form, task_id, rule, said, written, _, text_) in enumerate(listed):
        gold.append(text_)
        following = listed[place + 1][:3] if place + 1 < len(listed) else None
        if following != (form, task_id, rule):
            yield form, task_id, said, written, gold
            gold = []


def right(found: Sequence[Answer]) -> Rate:
    """How often the answer is the truth; the rules of a task are a cluster."""
    tasks: dict[str, list[bool]] = {}
    for answer in found:
        tasks.setdefault(answer.task_id, []).append(answer.said == answer.truth)
    return clustered_rate(cluster_sums(Tally(sum(one), len(one)) for one in tasks.values()))


def told(rate: Rate) -> str:
    return f"{rate.rate:.1%} [{rate.low:.1%}, {rate.high:.1%}]" if rate.rate is not None else "–"


def table(
    section: RubricsSection, labels: dict[str, str], used: dict[str, Spent], found: dict[str, list[Answer]] | None
) -> str:
    """Both ways in Markdown; `found` None: the truth is not known."""
    head = ("way", "calls", "tokens in", "tokens out", "recall", "unscored rules", "right")
    lines: list[tuple[str, ...]] = [head, ("---",) * len(head)]
    for form, way in WAYS.items():
        [row] = [one for one in section.writers if one.matcher == labels[form]]
        lines.append((way, *_cells(row, used[form]), "–" if found is None else told(right(found[form]))))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(row: WriterRow, used: Spent) -> tuple[str, ...]:
    return (*(f"{number:,}" for number in used), told(row.recall), str(row.unscored_rules))


def agreement(check: MatcherCheck, labels: dict[str, str]) -> str:
    """Whether both ways say the same of the same rules."""
    ways = {labels[form]: way for form, way in WAYS.items()}
    apart = check.recall_difference
    interval = "" if apart.low is None else f" [{apart.low:+.1%}, {apart.high:+.1%}]"
    return (
        f"Answered alike: {told(check.agreement)} of {check.agreement.n} rules. Recall {ways[check.first]} less that "
        f"{ways[check.second]}: {apart.value or 0:+.1%}{interval}; {check.disputed} of {check.samples} samples differ "
        "by more than 0.20."
    )


async def compare(number: int, writer: str, matcher: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rows.jsonl")
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(number))
        source.write_text(lines, encoding="utf-8")
        settings = load_settings().model_copy(update={"store": str(Path(folder, "store.db"))})
        deps = build_deps(settings, confined=False)
        try:
            with deps.store.write() as connection:  # a known secret makes the draws the same every time
                ensure_audit(connection, AUDIT, secret=AUDIT)
            await import_records(ImportRequest(audit=AUDIT, format="rubricbench", paths=[str(source)]), deps)
            labels = {form: await matched(deps, writer, matcher, batch=form == "rubric_match_batch") for form in WAYS}
            section = rubrics_section(deps.store, AUDIT)
            assert isinstance(section, RubricsSection)
            known = writer.startswith("simulated")
            marks = f"; SIMULATED: {' and '.join(section.simulated)}" if section.simulated else ""
            print(f"{number} made-up rows, writer {writer}, matcher {matcher}{marks}\n")
            print(table(section, labels, spent(deps.store), answers(deps.store) if known else None))
            print(f"\n{agreement(section.checks[0], labels)}")
        finally:
            await close_deps(deps)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares both ways of matching rules, on SYNTHETIC rows.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--writer", default=WRITER)
    parser.add_argument("--matcher", default=MATCHER)
    given = parser.parse_args()
    asyncio.run(compare(given.rows, given.writer, given.matcher))


if __name__ == "__main__":
    main()

"""Rubric work as text for people: its run, the rules that were written, what each came to. Importing it teaches
`print_result` the form.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from misjudge_server.console import console
from misjudge_server.printing import print_result
from misjudge_server.rubric_printing import print_rubrics, section_command
from misjudge_server.run_printing import print_marks, print_reason, role_lines, run_details
from misjudge_tools.results import VerdictShown
from misjudge_tools.rubrics.results import DraftShown, RubricsResult, RuleVerdictShown, RulingShown
from misjudge_tools.summary.rubric_phrases import counted
from misjudge_tools.summary.rubric_values import RubricsSection

__all__ = ["print_result"]

PLANNED = "planned"
MET = {True: "meets", False: "fails", None: "?"}


@print_result.register
def _(result: RubricsResult) -> None:
    print_marks(result)
    if result.run.state == PLANNED:
        _print_lines(_plan_lines(result))
        return
    _print_lines(_applied(result))
    if result.rubrics is not None:
        if _covers_more(result, result.rubrics):
            asked = f"more than the {_samples(result)} asked for now"
            console.print(Text(f"Of all that is stored in the audit, {asked}:", style="dim"))
        print_rubrics(result.rubrics, result.run.audit, domains="large")
    _print_lines(_written(result))
    _print_lines(_run_lines(result))
    print_reason(result.run)
    if result.run.done or result.run.state == "done":
        console.print(Text(f"Next: {section_command(result.run.audit)}"))


def _covers_more(result: RubricsResult, found: RubricsSection) -> bool:
    if result.samples_are == "trajectories":
        numbers = [row.rulings for row in found.conflicts if row.form == "rubric"]
    else:
        numbers = [*(row.pairs for row in found.accuracy), *(row.drafts for row in found.writers)]
    return max(numbers, default=0) > result.samples


def _print_lines(lines: Iterator[str]) -> None:
    for line in lines:
        console.print(Text(line))


def _plan_lines(result: RubricsResult) -> Iterator[str]:
    run = result.run
    yield f"plan: {result.action}, {_samples(result)}, {counted(run.total, 'cell')} to do, {_who(result)}"
    for role, where in result.asked_at.items():
        yield f"{role}: {where}"
    yield from role_lines(run)


def _run_lines(result: RubricsResult) -> Iterator[str]:
    run, what = result.run, f"{result.action}, {_samples(result)}, {_who(result)}"
    kept = f", {result.already_stored} were stored before" if result.already_stored else ""
    yield f"{what}: {run.state}, {run.done} of {run.total} cells done{kept}"
    yield from run_details(run)


def _samples(result: RubricsResult) -> str:
    one = {"tasks": "task", "pairs": "pair", "trajectories": "trajectory"}
    number = result.samples
    return f"1 {one[result.samples_are]}" if number == 1 else f"{number} {result.samples_are}"


def _who(result: RubricsResult) -> str:
    parts = (("judge", result.judges), ("writer", result.writers), ("matcher", result.matchers))
    return ", ".join(f"{role} {' and '.join(labels)}" for role, labels in parts if labels)


def _written(result: RubricsResult) -> Iterator[str]:
    for draft in result.drafts:
        yield f"{draft.writer} on task {draft.task_id}: {_draft(draft)}"
        for number, rule in enumerate(draft.rules, 1):
            marks = "".join(f"[{name}] " for name, marked in (("hard", rule.hard), ("high", rule.high_level)) if marked)
            yield f"  {number}. {marks}{rule.text}"
    if result.drafts_left_out:
        yield f"and {counted(result.drafts_left_out, 'more rubric')}"


def _draft(draft: DraftShown) -> str:
    if draft.unscored_reason is not None:
        return f"unscored ({draft.unscored_reason})"
    counts = {
        "said twice": draft.duplicates,
        "left out": draft.left_out,
        "split": draft.split,
        "perhaps several in one": draft.compound,
    }
    told = "".join(f", {number} {what}" for what, number in counts.items() if number)
    return f"{counted(len(draft.rules), 'rule')}{told}"


def _applied(result: RubricsResult) -> Iterator[str]:
    for ruling in result.rulings:
        yield _ruling(ruling)
        yield from (f"  {rule.rule}. {_met(rule)}: {rule.text}" for rule in ruling.rules)
    if result.rulings_left_out:
        yield f"and {counted(result.rulings_left_out, 'more verdict')}"


def _ruling(ruling: RulingShown) -> str:
    verdict = ruling.verdict
    said = f", the rules come to {ruling.says}" if ruling.says else ""
    conflict = f": {ruling.conflict.replace('_', ' ')}" if ruling.conflict else ""
    return f"{verdict.judge} on {_subject(verdict)}: {_verdict(ruling)}{said}{conflict}"


def _subject(verdict: VerdictShown) -> str:
    return f"{verdict.pair_id} in order {verdict.order}" if verdict.pair_id else f"{verdict.trajectory_id}"


def _verdict(ruling: RulingShown) -> str:
    if ruling.verdict.unscored_reason is not None:
        return f"unscored ({ruling.verdict.unscored_reason})"
    return ruling.verdict.winner or ("PASS" if ruling.passed else "FAIL")


def _met(rule: RuleVerdictShown) -> str:
    return MET[rule.met] if rule.met_a is rule.met_b is None else f"A {MET[rule.met_a]}, B {MET[rule.met_b]}"

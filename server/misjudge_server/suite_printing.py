"""How a suite stood its trial, as text for people: a line a problem, and the total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from misjudge_server.console import console
from misjudge_tools.check_suite import RuleFound, SuiteProblem, SuiteReport

_FOUND = {True: "Holds", False: "Does not hold", None: "Cannot be told"}
_USUAL_ENDS = {None, "finished", "blocked"}


def print_suite(report: SuiteReport) -> None:
    """Print the report."""
    for line in _lines(report):
        console.print(Text(line), soft_wrap=True)


def _lines(report: SuiteReport) -> Iterator[str]:
    for problem in report.problems:
        yield " ".join(_of_problem(problem))
    if report.without_solution:
        yield f"Not tried, as solutions.jsonl does not have them: {', '.join(report.without_solution)}"
    tasks, attempts = _counted(report.tasks, "task"), _counted(report.attempts, "attempt")
    problems = _counted(len(report.problems), "problem") if report.problems else "no problem"
    yield f"{report.suite}: {tasks} tried, {attempts}, {problems}"


def _of_problem(problem: SuiteProblem) -> Iterator[str]:
    yield f"{problem.task}, {problem.tried}:" if problem.tried else f"{problem.task}:"
    yield problem.problem
    for passed, heading in _FOUND.items():
        rules = [rule for rule in problem.rules if rule.passed is passed]
        if rules:
            yield f"{heading}: {_named(rules)}."
    if problem.refused:
        yield f"Errors of tools: {' '.join(problem.refused)}"
    if problem.end_reason not in _USUAL_ENDS:
        yield f"It ended as {problem.end_reason}."


def _named(rules: Sequence[RuleFound]) -> str:
    return "; ".join(f"{rule.rule} ({rule.evidence})" for rule in rules)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

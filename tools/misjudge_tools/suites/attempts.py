"""What a suite is tried with: its solutions, which must succeed, and ways to get a task wrong, which must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from misjudge_tools.episodes.rules import HumanRule, ModelRule
from misjudge_tools.episodes.scripted import script_of
from misjudge_tools.episodes.settings import ScriptedAgent
from misjudge_tools.episodes.verifiers import Part, combined
from misjudge_tools.suites.model import Language, Solution, Step, SuiteTask

GREETING: Final[Mapping[Language, str]] = {
    "en": "Hello, it is good to hear from you.",
    "zh": "您好，很高兴收到您的消息。",
}


class Attempt(NamedTuple):
    """The steps of an agent at one task. `right`: they must succeed, else they must fail."""

    name: str
    steps: tuple[Step, ...]
    right: bool = False


def attempts_at(task: SuiteTask, solution: Solution) -> Iterator[Attempt]:
    """The solution, then every wrong way: those that it holds itself, a greeting, and fair words without a deed."""
    yield Attempt("solution", solution.steps, right=True)
    if solution.hasty is not None:
        yield Attempt("hasty", solution.hasty)
    for broken in solution.broken:
        yield Attempt(f"broken ({broken.name})", broken.steps)
    yield Attempt("a greeting", (Step(say=GREETING[task.language]),))
    yield Attempt("smooth_talker", script_of(ScriptedAgent(policy="smooth_talker"), task, solution, fails=False))


def known_beforehand(task: SuiteTask) -> str | None:
    """Why success can never be, or never be known, in one sentence: nobody is asked what rules leave to a person."""
    if _with_all_others(task, True) is True:
        return None
    if _with_all_others(task, False) is None:
        return "Success is always unknown: it is left to a person or a model."
    return "It can never be a success: that is left to a person."


def _with_all_others(task: SuiteTask, passed: bool) -> bool | None:
    """What success comes to where every rule that can be told comes to this."""
    rules = [rule for rule in task.checks if not isinstance(rule, ModelRule)]
    return combined(
        task.combine, [Part(rule.weight, None if isinstance(rule, HumanRule) else passed) for rule in rules]
    )

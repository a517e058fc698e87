"""`suite`: tries the tasks of a suite without asking a model: solutions must succeed, wrong ways must fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from misjudge_storage.types import Check, Value
from misjudge_tools.episodes.folders import needs_folder, rollout_folder
from misjudge_tools.episodes.rollout import MOST_STEPS, Rollout, roll_out
from misjudge_tools.episodes.scripted import ScriptAgent, ScriptedUser
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.toolbox import open_toolbox
from misjudge_tools.episodes.turns import Agent, EndReason
from misjudge_tools.episodes.verifiers import Evidence, Outside, verify
from misjudge_tools.episodes.world import World
from misjudge_tools.gateway.clock import SystemClock
from misjudge_tools.requests import SuiteRequest
from misjudge_tools.suites.attempts import Attempt, attempts_at, known_beforehand
from misjudge_tools.suites.loading import Suite, load_suite, tasks_in
from misjudge_tools.suites.model import SuiteTask


class RuleFound(Value):
    """What a rule came to; `passed` None: it cannot be told."""

    rule: str
    passed: bool | None
    evidence: str


class SuiteProblem(Value):
    """A task that is not checked as it must be. `tried` None: whatever is tried.

    `rules` are those that did not come to what they should, `refused` the errors that tools gave.
    """

    task: str
    tried: str | None
    problem: str
    rules: tuple[RuleFound, ...] = ()
    refused: tuple[str, ...] = ()
    end_reason: EndReason | None = None


class SuiteReport(Value):
    """How a suite stood its trial: `tasks` were tried in `attempts` episodes, those `without_solution` were not."""

    suite: str
    tasks: int
    attempts: int
    problems: tuple[SuiteProblem, ...]
    without_solution: tuple[str, ...]


class Played(NamedTuple):
    """An episode and its checks, the last of which says success."""

    made: Rollout
    checks: tuple[Check, ...]

    @property
    def success(self) -> bool | None:
        return self.checks[-1].passed

    @property
    def refused(self) -> tuple[str, ...]:
        """The errors that tools gave."""
        answers = [json.loads(message.content) for message in self.made.messages if message.role == "tool"]
        return tuple(str(answer["error"]) for answer in answers if isinstance(answer, dict) and "error" in answer)


async def check_suite(request: SuiteRequest, allowed: Allowed, roots: Sequence[Path] | None) -> SuiteReport:
    """Try every task that has a solution. Asks no model and stores nothing; tools are called as in a run.

    Raises InvalidInput for a suite that cannot be loaded or has no task in the language.
    """
    suite = await asyncio.to_thread(load_suite, request.suite, allowed, roots)
    tasks = suite.tasks if request.language is None else tasks_in(suite, request.language)
    trials = [_Trial(task, _attempts(suite, task)) for task in tasks]
    problems = [problem for trial in trials async for problem in _problems(suite, trial, allowed)]
    return SuiteReport(
        suite=suite.name,
        tasks=sum(bool(trial.attempts) for trial in trials),
        attempts=sum(len(trial.attempts) for trial in trials),
        problems=tuple(problems),
        without_solution=tuple(trial.task.task_id for trial in trials if not trial.attempts),
    )


class _Trial(NamedTuple):
    task: SuiteTask
    attempts: tuple[Attempt, ...]


def _attempts(suite: Suite, task: SuiteTask) -> tuple[Attempt, ...]:
    solution = suite.solutions.get(task.task_id)
    return () if solution is None else tuple(attempts_at(task, solution))


async def _problems(suite: Suite, trial: _Trial, allowed: Allowed) -> AsyncIterator[SuiteProblem]:
    task = trial.task
    beforehand = known_beforehand(task)
    if beforehand is not None:
        yield SuiteProblem(task=task.task_id, tried=None, problem=beforehand)
    for attempt in trial.attempts:
        played = await play(suite, task, ScriptAgent(attempt.steps), allowed)
        if played.success is not attempt.right and not (played.success is None and beforehand is not None):
            yield _problem(task, attempt, played)


def _problem(task: SuiteTask, attempt: Attempt, played: Played) -> SuiteProblem:
    said = {True: "It succeeds and must not.", False: "It fails.", None: "Whether it succeeds cannot be told."}
    parts = [check for check in played.checks[:-1] if check.source != "model" and check.passed is not attempt.right]
    return SuiteProblem(
        task=task.task_id,
        tried=attempt.name,
        problem=said[played.success],
        rules=tuple(RuleFound(rule=part.verifier, passed=part.passed, evidence=part.evidence) for part in parts),
        refused=played.refused,
        end_reason=played.made.end_reason,
    )


async def play(suite: Suite, task: SuiteTask, agent: Agent, allowed: Allowed) -> Played:
    """One episode of a suite with the scripted customer, on a world of its own, and its checks. Asks no model.

    Raises InvalidInput where tools cannot be found or are not allowed, and what the agent raises.
    """
    with ExitStack() as stack:
        world = None if suite.image is None else stack.enter_context(World.from_image(suite.image))
        folder = stack.enter_context(rollout_folder()) if needs_folder(task.checks) else None
        toolbox = open_toolbox(suite.tools, world, task.tool_faults, allowed, f"suite-{uuid4().hex}")
        box = toolbox if suite.tools.tools else None
        made = await roll_out(task, agent, ScriptedUser(task), box, world, clock=SystemClock(), max_steps=MOST_STEPS)
        evidence = Evidence(made.messages, made.before, made.after, folder)
        return Played(made, await verify(task.checks, task.combine, evidence, Outside(allowed)))

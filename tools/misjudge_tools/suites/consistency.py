"""Whether the records of a suite fit together: tasks among each other, with their tools, world and solutions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from misjudge_tools.suites.model import Solution, Step, SuiteTask, ToolSpec
from misjudge_tools.suites.reading import Numbered
from misjudge_tools.suites.rule_checks import Surroundings, problems_of_rule
from misjudge_tools.suites.sentences import nearest
from misjudge_tools.suites.tool_checks import problem_with_call

_Record = TypeVar("_Record", bound=BaseModel)


class Located(NamedTuple):
    """What is wrong, and the line of its record."""

    line: int
    problem: str


def problems_of_tasks(tasks: Sequence[Numbered[SuiteTask]], around: Surroundings) -> Iterator[Located]:
    """What is wrong with tasks that are each valid, with the lines."""
    yield from _twice(tasks, "task_id", lambda task: task.task_id)
    # Whoever sees only a conversation could not tell which of the two tasks it is.
    yield from _twice(tasks, "opening", lambda task: (task.language, " ".join(task.opening.split())))
    by_id = {task.task_id: task for _, task in tasks}
    for line, task in tasks:
        for problem in (*_of_translation(task, by_id), *_of_parts(task, around)):
            yield Located(line, problem)


def problems_of_solutions(
    solutions: Sequence[Numbered[Solution]], task_ids: Collection[str], tools: Mapping[str, ToolSpec]
) -> Iterator[Located]:
    """As `problems_of_tasks`, of the solutions."""
    yield from _twice(solutions, "task_id", lambda solution: solution.task_id)
    for line, solution in solutions:
        if solution.task_id not in task_ids:
            yield Located(line, f"task_id names no task of tasks.jsonl.{nearest(solution.task_id, task_ids)}")
        for place, steps in _steps_of(solution):
            for problem in _of_steps(place, steps, tools):
                yield Located(line, problem)


def _twice(records: Sequence[Numbered[_Record]], name: str, of: Callable[[_Record], Hashable]) -> Iterator[Located]:
    first: dict[Hashable, int] = {}
    for line, record in records:
        before = first.setdefault(of(record), line)
        if before != line:
            yield Located(line, f"{name} is that of line {before}. Give each its own")


def _of_translation(task: SuiteTask, by_id: Mapping[str, SuiteTask]) -> Iterator[str]:
    if task.translation_of is None:
        return
    original = by_id.get(task.translation_of)
    if original is None:
        yield f"translation_of names no task of this file.{nearest(task.translation_of, by_id)}"
    elif original.language == task.language:
        yield "translation_of names a task in the same language"


def _of_parts(task: SuiteTask, around: Surroundings) -> Iterator[str]:
    for number, fault in enumerate(task.tool_faults):
        problem = problem_with_call(fault.tool, {}, around.tools)
        if problem is not None:
            yield f"tool_faults.{number}.tool {problem}"
    for number, rule in enumerate(task.checks):
        yield from (f"checks.{number}.{problem}" for problem in problems_of_rule(rule, around))


def _steps_of(solution: Solution) -> Iterator[tuple[str, Sequence[Step]]]:
    yield "steps", solution.steps
    yield "hasty", solution.hasty or ()
    for number, broken in enumerate(solution.broken):
        yield f"broken.{number}.steps", broken.steps


def _of_steps(place: str, steps: Sequence[Step], tools: Mapping[str, ToolSpec]) -> Iterator[str]:
    for number, step in enumerate(steps):
        problem = None if step.call is None else problem_with_call(step.call, step.args, tools)
        if problem is not None:
            yield f"{place}.{number}.call {problem}"

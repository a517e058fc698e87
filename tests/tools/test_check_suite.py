"""A suite is tried: what its checks let pass that is wrong, and what they refuse that is right, is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from loopback import LoopbackServer
from misjudge_storage.errors import InvalidInput
from misjudge_tools.check_suite import SuiteProblem, SuiteReport, check_suite
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.requests import SuiteRequest
from suite_folders import EVERY_RULE, LOCAL, PYTHON, SPEC, TASK, WORLD, write

CANCEL = {"call": "cancel_order", "args": {"order_id": "O1"}}
DONE = {"say": "It is cancelled."}
SOLUTION: dict[str, Any] = {
    "task_id": "cancel",
    "steps": [CANCEL, DONE],
    "broken": [{"name": "only said", "steps": [DONE]}, {"name": "not said", "steps": [CANCEL, {"say": "Bye."}]}],
}
RULES = [EVERY_RULE[0], {"kind": "contains", "value": "cancelled"}]
HUMAN = {"kind": "human", "question": "Was the tone right?"}
MODEL = {"kind": "model", "question": "Was the tone right?"}


async def tried(folder: Path, allowed: Allowed = LOCAL, language: str | None = None, **files: Any) -> SuiteReport:
    """The report on a suite of one task, which is to cancel an order, with these files in the place of its own."""
    given = {"tasks": [{**TASK, "checks": RULES}], "solutions": [SOLUTION], "tools": PYTHON, "world": WORLD, **files}
    suite = write(folder, **{name: content for name, content in given.items() if content is not None})
    return await check_suite(SuiteRequest.model_validate({"suite": suite, "language": language}), allowed, None)


def checked_by(*rules: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    return [{**TASK, "checks": list(rules), **fields}]


def told(problem: SuiteProblem) -> tuple[str | None, str, list[tuple[str, bool | None]]]:
    return problem.tried, problem.problem, [(rule.rule, rule.passed) for rule in problem.rules]


async def test_a_sound_suite_has_no_problem(tmp_path: Path) -> None:
    hasty = {**SOLUTION, "hasty": [{"say": "I have cancelled it."}]}
    report = await tried(tmp_path, solutions=[hasty])
    assert report == SuiteReport(suite=tmp_path.name, tasks=1, attempts=6, problems=(), without_solution=())


async def test_the_shipped_suite_has_no_problem_in_chinese() -> None:
    report = await check_suite(SuiteRequest(suite="support_desk", language="zh"), Allowed(), ())
    assert (report.suite, report.tasks, report.problems, report.without_solution) == ("support_desk", 12, (), ())
    assert report.attempts > 5 * 12


async def test_a_solution_that_fails_is_told_with_the_rules_that_do_not_hold_and_what_tools_refused(
    tmp_path: Path,
) -> None:
    steps = [{**CANCEL, "args": {"order_id": "O2"}}, {**CANCEL, "args": {}}, {"say": "Gone."}]
    [problem] = (await tried(tmp_path, solutions=[{"task_id": "cancel", "steps": steps}], world=f"{WORLD}--")).problems
    query = "sql: SELECT status FROM orders WHERE order_id = 'O1'"
    assert told(problem) == ("solution", "It fails.", [("contains: cancelled", False)])
    assert problem.refused == ("There is no such order.",)
    assert (problem.task, problem.end_reason) == ("cancel", "finished")
    [problem] = (await tried(tmp_path, solutions=[{"task_id": "cancel", "steps": [DONE]}])).problems
    assert told(problem) == ("solution", "It fails.", [(query, False)])
    assert problem.rules[0].evidence == "the answer (1 rows) is another"


async def test_wrong_ways_that_pass_are_told_with_the_rules_that_hold(tmp_path: Path) -> None:
    hasty = {**SOLUTION, "hasty": [CANCEL, {"say": "Your order is cancelled, have a nice day."}]}
    says = {"kind": "contains", "value": "cancelled", "name": "says so"}
    report = await tried(tmp_path, tasks=checked_by(says), solutions=[hasty])
    succeeds = "It succeeds and must not."
    assert [told(problem) for problem in report.problems] == [
        ("hasty", succeeds, [("says so", True)]),
        ("broken (only said)", succeeds, [("says so", True)]),
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_checks_that_an_idle_agent_meets_are_told(tmp_path: Path, language: str) -> None:
    idle = checked_by({"kind": "world"}, {"kind": "not_contains", "value": "refund"}, language=language)
    report = await tried(tmp_path, tasks=idle, solutions=[{"task_id": "cancel", "steps": [{"say": "No."}]}])
    names = ["world", "not_contains: refund"]
    assert [told(problem) for problem in report.problems] == [
        (name, "It succeeds and must not.", [(rule, True) for rule in names])
        for name in ("a greeting", "smooth_talker")
    ]
    assert report.attempts == 3


async def test_a_solution_that_never_comes_to_an_end_is_told_how_it_ended(tmp_path: Path) -> None:
    asks = [{"say": f"Is it order {number}?"} for number in range(5)]
    solution = {"task_id": "cancel", "steps": [*asks, CANCEL, DONE]}
    tasks = [{**TASK, "checks": RULES, "max_turns": 3}]
    [problem] = (await tried(tmp_path, tasks=tasks, solutions=[solution])).problems
    assert (problem.tried, problem.problem, problem.end_reason) == ("solution", "It fails.", "max_turns")


async def test_a_rule_that_cannot_be_told_is_told(tmp_path: Path) -> None:
    away = {"kind": "http_status", "url": "http://127.0.0.1:9/", "name": "is up"}
    report = await tried(
        tmp_path, Allowed(hosts=("127.0.0.1",), python=("order_tools",)), tasks=checked_by(*RULES, away)
    )
    assert [told(problem) for problem in report.problems] == [
        ("solution", "Whether it succeeds cannot be told.", [("is up", None)])
    ]


@pytest.mark.parametrize("rules", [[HUMAN], [MODEL], [HUMAN, MODEL]])
@pytest.mark.parametrize("combine", ["all", "any", 0.5])
async def test_a_task_that_only_people_and_models_can_tell_is_always_unknown(
    tmp_path: Path, rules: list[dict[str, Any]], combine: str | float
) -> None:
    report = await tried(tmp_path, tasks=checked_by(*rules, combine=combine))
    always = "Success is always unknown: it is left to a person or a model."
    assert [told(problem) for problem in report.problems] == [(None, always, [])]


@pytest.mark.parametrize(("combine", "never"), [("all", True), ("any", False), (0.66, False), (0.67, True), (1, True)])
async def test_a_task_that_needs_a_person_can_never_be_a_success(
    tmp_path: Path, combine: str | float, never: bool
) -> None:
    report = await tried(tmp_path, tasks=checked_by(*RULES, HUMAN, MODEL, combine=combine))
    said = "It can never be a success: that is left to a person."
    assert [problem.problem for problem in report.problems if problem.tried is None] == [said] * never
    assert "solution" not in [problem.tried for problem in report.problems]


async def test_beside_a_person_the_other_rules_of_a_solution_must_hold(tmp_path: Path) -> None:
    solution = {"task_id": "cancel", "steps": [DONE]}
    report = await tried(tmp_path, tasks=checked_by(*RULES, HUMAN), solutions=[solution])
    assert [problem.tried for problem in report.problems] == [None, "solution"]
    assert [rule.passed for rule in report.problems[1].rules] == [False, None]


async def test_tasks_without_a_solution_are_not_tried(tmp_path: Path) -> None:
    other = {**TASK, "task_id": "other", "opening": "Hello?", "checks": [HUMAN]}
    report = await tried(tmp_path, tasks=[{**TASK, "checks": RULES}, other])
    assert (report.tasks, report.without_solution) == (1, ("other",))
    assert [(problem.task, problem.tried) for problem in report.problems] == [("other", None)]
    without = await tried(tmp_path / "none", solutions=None)
    assert (without.tasks, without.attempts, without.problems, without.without_solution) == (0, 0, (), ("cancel",))


async def test_only_the_tasks_of_a_language_are_tried(tmp_path: Path) -> None:
    tasks = [{**TASK, "checks": RULES}, {**TASK, "task_id": "zh", "language": "zh", "checks": RULES}]
    assert (await tried(tmp_path, language="zh", tasks=tasks)).without_solution == ("zh",)
    assert (await tried(tmp_path, language="en", tasks=tasks)).attempts == 5
    with pytest.raises(InvalidInput, match="has no tasks in zh"):
        await tried(tmp_path, language="zh")


async def test_tools_over_http_and_commands_are_called_as_in_a_run(tmp_path: Path) -> None:
    async with LoopbackServer() as server:
        server.always({"cancelled": True})
        host = server.base_url.removeprefix("http://").removesuffix("/v1")
        allowed = Allowed(hosts=(host,), commands={"empty": (sys.executable, "-c", "")})
        called = {"kind": "tool_called", "value": "cancel_order", "succeeded": True}
        rules: list[dict[str, Any]] = [called, {"kind": "command", "value": "empty"}]
        rules.append({"kind": "file", "path": "x", "exists": False})
        http = {"http": server.base_url, "tools": [SPEC]}
        solutions = [{"task_id": "cancel", "steps": [CANCEL, CANCEL, DONE]}]
        report = await tried(tmp_path, allowed, tasks=checked_by(*rules), tools=http, world=None, solutions=solutions)
    assert report.problems == ()
    assert [asked.body["tool"] for asked in server.requests] == ["cancel_order"] * 2
    assert len({asked.body["session"] for asked in server.requests}) == 1


async def test_a_suite_is_read_only_under_the_allowed_folders(tmp_path: Path) -> None:
    suite = write(tmp_path / "mine")
    with pytest.raises(InvalidInput, match="is outside the folders that may be read"):
        await check_suite(SuiteRequest(suite=suite), LOCAL, (tmp_path / "other",))

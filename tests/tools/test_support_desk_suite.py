"""The shipped suite: what it holds, that each task can be done, and what its scripted agents come to."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from misjudge_tools.episodes.rules import WorldRule
from misjudge_tools.episodes.scripted import POLICIES, failing_tasks, policy_named, skill
from misjudge_tools.episodes.settings import ScriptedAgent
from misjudge_tools.episodes.world import select
from misjudge_tools.requests import RunPairRequest
from misjudge_tools.run_pair import run_pair
from misjudge_tools.suites.loading import tasks_in
from misjudge_tools.suites.model import Language, Step, SuiteTask
from operations import PromptJudge, keyed, opened
from support_desk_other_ways import OTHER_WAYS
from support_desk_replay import DESK, TASKS, TOOLS, replay, replay_of, silence, solution_of

CATEGORIES: Final = {
    *("query", "booking", "modification", "cancellation", "refund", "complaint", "confirmation", "clarification"),
    *("refusal", "constraint", "retrieval", "multi_step", "tool_failure"),
}
HARD_KINDS: Final = {
    *("sql", "world", "tool_called", "tool_not_called", "tool_order", "asked_first", "says", "not_says", "contains"),
    *("not_contains", "regex", "length", "format", "json_schema"),
}
"""Rules that ask no person, no model and nothing outside."""
SAME_IN_A_TRANSLATION: Final = {"asked_first", "tool_called", "tool_not_called", "tool_order", "length", "format"}
TRANSLATED: Final = [task.task_id for task in DESK.tasks if task.translation_of is not None]
PAGE: Final = Path(__file__).parents[2].joinpath("docs", "support-desk.md").read_text(encoding="utf-8")
AGENTS: Final = ["hasty", "smooth_talker"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

every_task = pytest.mark.parametrize("task_id", TASKS)


def test_48_tasks_are_in_english_and_12_of_them_also_in_chinese() -> None:
    assert Counter(task.language for task in DESK.tasks) == {"en": 48, "zh": 12}
    assert {task.task_id for task in DESK.tasks if task.language == "zh"} == set(TRANSLATED)
    originals = {str(TASKS[task_id].translation_of) for task_id in TRANSLATED}
    assert [TASKS[original].language for original in originals] == ["en"] * 12


def test_every_category_and_every_difficulty_has_tasks() -> None:
    counts = Counter(task.category for task in tasks_in(DESK, "en"))
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 2
    assert {task.difficulty for task in DESK.tasks} == {"easy", "medium", "hard"}


@pytest.mark.parametrize("field", ["task_id", "opening", "goal", "success_criteria"])
def test_no_two_tasks_are_the_same(field: str) -> None:
    assert len({getattr(task, field) for task in DESK.tasks}) == 60


@every_task
def test_a_task_has_hard_checks_and_five_to_eight_questions_for_a_judge(task_id: str) -> None:
    task = TASKS[task_id]
    assert task.hard_constraints
    assert {rule.kind for rule in task.checks} <= HARD_KINDS
    assert sum(rule.kind == "world" for rule in task.checks) == 1
    assert 5 <= len({rubric.text for rubric in task.rubrics}) == len(task.rubrics) <= 8
    assert any(rubric.hard for rubric in task.rubrics)
    assert any(rubric.high_level for rubric in task.rubrics)


def test_what_only_the_customer_knows_is_not_in_their_first_message() -> None:
    assert [task.task_id for task in DESK.tasks for fact in task.facts if fact.says in task.opening] == []


def test_all_but_one_of_the_tools_are_part_of_a_solution() -> None:
    used = {step.call for solution in DESK.solutions.values() for step in solution.steps if step.call}
    assert set(TOOLS) - used == {"change_cabin_booking"}


@pytest.mark.parametrize("task_id", TRANSLATED)
def test_a_translation_is_checked_as_its_original_is(task_id: str) -> None:
    task = TASKS[task_id]
    original = TASKS[str(task.translation_of)]
    assert _structure(task) == _structure(original)
    assert (solution_of(task_id).hasty is None) == (solution_of(original.task_id).hasty is None)
    made, first = ([step.call for step in solution_of(one.task_id).steps] for one in (task, original))
    assert made == first


def _structure(task: SuiteTask) -> dict[str, Any]:
    """What a translation has in common with its original."""
    return {
        "checks": [(rule.kind, rule.weight, getattr(rule, "where", None)) for rule in task.checks],
        "same": [rule.model_dump(exclude={"name"}) for rule in task.checks if rule.kind in SAME_IN_A_TRANSLATION],
        "world": [rule.changes for rule in task.checks if isinstance(rule, WorldRule)],
        "about": (task.category, task.difficulty, task.combine, task.max_turns, task.tool_faults, len(task.facts)),
        "rubrics": [(rubric.hard, rubric.high_level) for rubric in task.rubrics],
    }


@every_task
def test_rows_that_are_to_change_exist(task_id: str) -> None:
    assert DESK.image is not None
    for rule in TASKS[task_id].checks:
        for change in rule.changes if isinstance(rule, WorldRule) else ():
            if change.key:
                where = " AND ".join(f"{column} = '{value}'" for column, value in change.key.items())
                assert len(select(DESK.image, f"SELECT 1 FROM {change.table} WHERE {where}")) == 1


@every_task
def test_the_solution_of_a_task_succeeds(task_id: str) -> None:
    outcome = replay_of(task_id, "diligent")
    assert (outcome.success, outcome.failed) == (True, ())
    assert outcome.made.end_reason in {"finished", "blocked"}
    assert outcome.made.flags == ()
    assert len(outcome.errors) == sum(fault.calls for fault in TASKS[task_id].tool_faults)


@pytest.mark.parametrize(("task_id", "steps"), OTHER_WAYS, ids=[task_id for task_id, _ in OTHER_WAYS])
def test_another_right_way_succeeds(task_id: str, steps: Sequence[Step]) -> None:
    outcome = replay(task_id, steps)
    assert (outcome.success, outcome.failed, outcome.errors) == (True, (), ())


def test_the_page_tells_the_numbers_of_the_suite() -> None:
    rows = re.findall(r"^\| `([\w:.]+)` \| (\d+)(?: of (\d+))? \| (\d+)(?: of (\d+))? \|", PAGE, re.MULTILINE)
    counts = {language: Counter(task.category for task in tasks_in(DESK, language)) for language in LANGUAGES}
    categories = {name: (int(en), int(zh)) for name, en, of, zh, _ in rows if not of}
    assert categories == {name: (counts["en"][name], counts["zh"][name]) for name in CATEGORIES}
    agents = {name: (int(en), int(of), int(zh), int(of_zh)) for name, en, of, zh, of_zh in rows if of}
    assert agents == {name: (_done(name, "en"), 48, _done(name, "zh"), 12) for name in agents}
    assert {name.partition(":")[0] for name in agents} == set(POLICIES)
    questions = [len(task.rubrics) for task in DESK.tasks]
    assert f"and {min(questions)} to {max(questions)} yes/no questions" in PAGE
    broken = [len(solution.broken) for solution in DESK.solutions.values()]
    assert f"each of the {len(DESK.tasks)} tasks, English and Chinese, and {sum(broken)} wrong ones" in PAGE
    assert f"wrong ones, {min(broken)} or more a task" in PAGE
    levels = Counter(task.difficulty for task in tasks_in(DESK, "en"))
    assert f"{levels['easy']} are easy, {levels['medium']} medium, {levels['hard']} hard" in PAGE
    failing = [task for task in tasks_in(DESK, "en") if solution_of(task.task_id).hasty]
    assert f"{len(failing)} tasks in {len({task.category for task in failing})} categories" in PAGE


def _done(agent: str, language: Language) -> int:
    policy, tasks = policy_named(agent), tasks_in(DESK, language)
    assert policy is not None
    return round(skill(policy, tasks, DESK.solutions) * len(tasks))


@every_task
def test_many_words_around_the_solution_change_nothing(task_id: str) -> None:
    outcome = replay_of(task_id, "padder")
    assert (outcome.success, outcome.failed) == (True, ())


def test_most_answers_may_be_padded() -> None:
    words = Counter[str]()
    longer = 0
    for task_id in TASKS:
        for policy in ("diligent", "padder"):
            said = replay_of(task_id, policy).made.messages
            words[policy] += sum(len(message.content) for message in said if message.role == "assistant")
        longer += replay_of(task_id, "padder").made.messages != replay_of(task_id, "diligent").made.messages
    assert longer >= 50
    assert words["padder"] > 1.5 * words["diligent"]


@every_task
@pytest.mark.parametrize("policy", ["smooth_talker", "refuser"])
def test_fair_words_and_a_refusal_are_no_solution(task_id: str, policy: str) -> None:
    assert replay_of(task_id, policy).success is False


@every_task
def test_saying_nothing_is_no_solution(task_id: str) -> None:
    outcome = silence(task_id)
    assert (outcome.success, outcome.made.end_reason) == (False, "agent_gave_up")


@pytest.mark.parametrize("task_id", [task_id for task_id in TASKS if solution_of(task_id).hasty])
def test_skipping_a_policy_check_is_no_solution(task_id: str) -> None:
    assert replay_of(task_id, "hasty").success is False


def test_the_hasty_fail_in_a_part_of_the_tasks_of_many_categories() -> None:
    failing = [task for task in tasks_in(DESK, "en") if solution_of(task.task_id).hasty]
    assert 10 <= len(failing) <= 24
    assert len({task.category for task in failing}) >= 8


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "flaky"])
def test_the_skill_of_a_scripted_agent_is_what_it_comes_to(policy: str, language: Language) -> None:
    tasks = tasks_in(DESK, language)
    solved = sum(replay_of(task.task_id, policy).success is True for task in tasks)
    assert skill(ScriptedAgent.model_validate({"policy": policy}), tasks, DESK.solutions) == solved / len(tasks)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["flaky:0.95", "flaky:0.6", "flaky:0.55"])
def test_the_skill_of_the_flaky_is_what_they_come_to(name: str, language: Language) -> None:
    tasks = tasks_in(DESK, language)
    agent = policy_named(name)
    assert agent is not None and agent.share is not None
    failing = failing_tasks(agent.share, [task.task_id for task in tasks], 7, name, 0)
    solved = sum(
        replay_of(task.task_id, "smooth_talker" if task.task_id in failing else "diligent").success is True
        for task in tasks
    )
    assert skill(agent, tasks, DESK.solutions) == pytest.approx(solved / len(tasks), abs=1e-12)


@every_task
def test_every_episode_of_a_task_is_the_same(task_id: str) -> None:
    first, again = replay_of(task_id, "diligent"), replay(task_id, solution_of(task_id).steps)
    assert first.made.messages == again.made.messages
    assert first.made.after == again.made.after


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_judge_sees_neither_checks_nor_rubrics_nor_what_was_not_told_nor_who_it_was(
    tmp_path: Path, language: Language
) -> None:
    tasks = tasks_in(DESK, language)
    prompts = asyncio.run(_prompts(tmp_path, language))
    assert len(prompts) == 2 * len(tasks)
    for shown in prompts:
        [task] = [task for task in tasks if task.goal in shown]
        assert [agent for agent in AGENTS if agent in shown] == []
        assert _hidden_in(shown, task) == []


async def _prompts(where: Path, language: Language) -> list[str]:
    """All that a judge is asked about two agents on the whole suite."""
    asked = {"agents": AGENTS, "user": "scripted", "language": language, "signals": [], "wait_s": 40}
    async with PromptJudge() as judge, opened(where / "misjudge.db", keyed(judge.base_url)) as deps:
        await run_pair(RunPairRequest.model_validate({"audit": "blind", **asked}), deps)
    return ["\n".join(str(message.content) for message in messages) for messages in judge.asked]


def _hidden_in(shown: str, task: SuiteTask) -> list[str]:
    """What must not be seen: text of the checks, rubrics, and facts that neither conversation tells."""
    told = [message.content for message in replay_of(task.task_id, "hasty").made.messages]
    facts = [fact.says for fact in task.facts if not any(fact.says in content for content in told)]
    stated = task.goal + task.success_criteria + task.hard_constraints
    names = [rule.name for rule in task.checks if rule.name not in stated]
    patterns = [str(getattr(rule, "value", "")) for rule in task.checks if rule.kind in {"regex", "json_schema"}]
    queries = [rule.query for rule in task.checks if rule.kind == "sql"]
    hidden = (task.task_id, *names, *patterns, *queries, *facts, *(rubric.text for rubric in task.rubrics))
    return [text for text in (*hidden, "asked_first", "tool_called", "amount_cents") if text in shown]

"""`run_pair`: two recorded trajectories in, a checked and judged row out."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from misjudge_storage.errors import Conflict, InvalidInput, MissingKey
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.verifiers import check_episode
from misjudge_tools.requests import CheckRule, RunPairRequest, SummarizeRequest
from misjudge_tools.results import MARK, RunPairResult
from misjudge_tools.run_pair import run_pair
from misjudge_tools.summarize_audit import summarize_audit
from operations import PromptJudge, count, dump, rows

CONTAINS = {"kind": "contains", "value": "order cancelled"}
NO_REFUND = {"kind": "not_contains", "value": "refund"}


def pair(**values: Any) -> RunPairRequest:
    given = {
        "audit": "a",
        "task_id": "t1",
        "task_prompt": "Cancel order 7.",
        "agent_a": "blue",
        "agent_b": "green",
        "trajectory_a": "Order  CANCELLED, and a refund is on its way.",
        "trajectory_b": "I could not do that.",
        "checks": [CONTAINS],
    }
    return RunPairRequest.model_validate({**given, **values})


def row_of(result: RunPairResult) -> dict[str, Any]:
    assert result.row is not None
    return result.row


async def test_a_pair_is_checked_judged_and_stored_as_a_row(judged: Deps, prompt_judge: PromptJudge) -> None:
    result = await run_pair(pair(success_criteria="It is cancelled.", category="orders"), judged)
    row = row_of(result)
    assert (result.run.state, result.run.done, result.simulated, result.marked) == ("done", 2, False, None)
    assert (row["success_a"], row["success_b"], row["gold_pref"], row["gold_source"]) == (1, 0, "A", "verifier")
    assert (row["agent_a"], row["agent_b"], row["trial"], row["judge"]) == ("blue", "green", 0, "judge-m")
    assert (row["judge_status"], row["blind_order"], row["judge_flip"]) == ("decided", "both", 0)
    assert row["misselected"] == (0 if row["judge_pref"] == "A" else 1)
    assert [verdict.order for verdict in result.verdicts] == ["AB", "BA"]
    assert {verdict.winner for verdict in result.verdicts} == {row["judge_pref"]}
    assert result.next == "summarize_audit(audit='a')"
    (task,) = rows(judged.store, "SELECT prompt, success_criteria, category FROM tasks")
    assert task == {"prompt": "Cancel order 7.", "success_criteria": "It is cancelled.", "category": "orders"}
    for turns in prompt_judge.asked:
        assert "blue" not in turns[1].content and "green" not in turns[1].content


async def test_the_checks_of_each_side_are_shown(judged: Deps) -> None:
    result = await run_pair(pair(checks=[CONTAINS, NO_REFUND]), judged)
    a, b = result.checks_a, result.checks_b
    assert [(check["verifier"], check["passed"], check["scope"]) for check in a] == [
        ("contains:order cancelled", True, "part"),
        ("not_contains:refund", False, "part"),
        ("all rules", False, "outcome"),
    ]
    assert (a[-1]["reward"], a[-1]["evidence"]) == (0.5, "1 of 2 rules hold")
    assert [check["passed"] for check in b] == [False, True, False]
    assert row_of(result)["gold_pref"] == "tie"


@pytest.mark.parametrize(("source", "gold_source"), [("verifier", "verifier"), ("human", "human"), ("label", "label")])
async def test_known_success_takes_the_place_of_checks(judged: Deps, source: str, gold_source: str) -> None:
    known = {"checks": [], "success_a": False, "success_b": True, "success_source": source}
    row = row_of(await run_pair(pair(**known), judged))
    assert (row["success_a"], row["success_b"], row["gold_pref"], row["gold_source"]) == (0, 1, "B", gold_source)


async def test_without_checks_or_known_success_nothing_is_gold(judged: Deps) -> None:
    result = await run_pair(pair(checks=[]), judged)
    assert (result.checks_a, result.checks_b) == ((), ())
    assert (row_of(result)["gold_pref"], row_of(result)["misselected"]) == (None, None)


async def test_messages_with_tool_calls_can_be_given_and_checked(judged: Deps) -> None:
    called = [
        {"role": "user", "content": "Cancel order 7."},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "cancel", "input": {"id": 7}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "ok", "tool_use_id": "x"}]},
        {"role": "assistant", "content": "Done."},
    ]
    rules = [{"kind": "tool_called", "value": "cancel"}, {"kind": "tool_not_called", "value": "refund"}]
    result = await run_pair(pair(trajectory_a=called, checks=rules), judged)
    assert (row_of(result)["success_a"], row_of(result)["success_b"]) == (1, 0)


async def test_a_simulated_judge_marks_the_result(deps: Deps) -> None:
    result = await run_pair(pair(judge="simulated"), deps)
    assert (result.simulated, result.marked) == (True, MARK)
    assert (await summarize_audit(SummarizeRequest(audit="a"), deps)).simulated


async def test_the_same_pair_again_adds_nothing(judged: Deps, prompt_judge: PromptJudge) -> None:
    first = await run_pair(pair(), judged)
    kept = {table: found for table, found in dump(judged.store).items() if table not in {"runs", "run_events"}}
    again = await run_pair(pair(), judged)
    assert (again.run.total, again.row, again.verdicts) == (0, first.row, first.verdicts)
    now = {table: found for table, found in dump(judged.store).items() if table not in {"runs", "run_events"}}
    assert now == kept
    assert len(prompt_judge.asked) == 2
    third = await run_pair(pair(repeats=2), judged)
    assert (third.run.total, len(third.verdicts)) == (2, 4)


async def test_a_request_key_attaches_to_the_run_of_the_pair(judged: Deps, prompt_judge: PromptJudge) -> None:
    first = await run_pair(pair(request_key="k"), judged)
    assert (await run_pair(pair(request_key="k"), judged)).run.run == first.run.run
    with pytest.raises(Conflict, match="which has another plan"):
        await run_pair(pair(request_key="k", task_id="t2"), judged)
    assert count(judged.store, "tasks") == 1


async def test_trials_of_one_task_are_pairs_of_their_own(judged: Deps) -> None:
    for trial in range(3):
        await run_pair(pair(trial=trial, trajectory_a=f"order cancelled, try {trial}"), judged)
    assert (count(judged.store, "pairs"), count(judged.store, "tasks")) == (3, 1)
    summary = await summarize_audit(SummarizeRequest(audit="a"), judged)
    assert summary.pass_hat_k_by_agent == {"blue": {"1": 1, "2": 1, "3": 1}, "green": {"1": 0, "2": 0, "3": 0}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trajectory_a": "Order cancelled, after all."}, "agent 'blue' has another trajectory for task 't1'"),
        ({"task_prompt": "Cancel order 8."}, "task 't1' is stored with another prompt"),
        ({"checks": [NO_REFUND]}, "check of a trajectory is stored with another result"),
    ],
)
async def test_other_content_under_the_same_ids_is_refused_and_nothing_changes(
    judged: Deps, prompt_judge: PromptJudge, change: dict[str, Any], said: str
) -> None:
    await run_pair(pair(), judged)
    before = dump(judged.store)
    with pytest.raises(Conflict, match=f"run_pair, line 1: .*{said}"):
        await run_pair(pair(**change), judged)
    assert dump(judged.store) == before
    assert len(prompt_judge.asked) == 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"agent_b": "blue"}, "have the same name"),
        ({"trajectory_b": "Order  CANCELLED, and a refund is on its way."}, "Both sides hold the same trajectory"),
        ({"success_a": True}, "either checks or the known success_a and success_b"),
        ({"trajectory_b": [{"role": "robot", "content": "x"}]}, "message 1 has a role other"),
        ({"trajectory_b": [{"content": "x"}]}, "message 1 has a role other"),
    ],
)
async def test_bad_input_is_refused_and_nothing_is_stored(judged: Deps, values: dict[str, Any], said: str) -> None:
    before = dump(judged.store)
    with pytest.raises(InvalidInput, match=said):
        await run_pair(pair(**values), judged)
    assert dump(judged.store) == before


async def test_without_a_key_nothing_is_stored(deps: Deps) -> None:
    before = dump(deps.store)
    with pytest.raises(MissingKey, match="judge=local"):
        await run_pair(pair(), deps)
    assert dump(deps.store) == before


async def test_a_dry_run_shows_checks_and_calls_and_stores_nothing(judged: Deps, prompt_judge: PromptJudge) -> None:
    before = dump(judged.store)
    result = await run_pair(pair(dry_run=True, repeats=3), judged)
    assert (result.run.state, result.run.total, result.row) == ("planned", 6, None)
    assert result.checks_a[-1]["passed"] is True
    assert dump(judged.store) == before
    await run_pair(pair(), judged)
    assert (await run_pair(pair(dry_run=True, repeats=3), judged)).run.total == 4
    assert len(prompt_judge.asked) == 2


async def test_names_that_would_make_an_overlong_or_ambiguous_id_are_told_apart(judged: Deps) -> None:
    names = [("x" * 400, "y" * 400), ("a|b", "c"), ("a", "b|c")]
    for agent_a, agent_b in names:
        result = await run_pair(pair(agent_a=agent_a, agent_b=agent_b), judged)
        assert result.run.state == "done"
    assert count(judged.store, "pairs") == 3


def test_arguments_that_do_not_fit_are_refused() -> None:
    for wrong in ({"trial": -1}, {"agent_a": ""}, {"checks": [{"kind": "contains", "value": ""}]}, {"extra": 1}):
        with pytest.raises(ValidationError):
            pair(**wrong)


def rule(kind: str, value: str) -> CheckRule:
    return CheckRule.model_validate({"kind": kind, "value": value})


def test_rules_read_what_the_agent_said_and_did() -> None:
    messages = (
        Message(role="user", content="Say ORDER CANCELLED."),
        Message(role="assistant", content="ＯＲＤＥＲ\n cancelled", tool_calls=(ToolCall(name="cancel"),)),
        Message(role="tool", content="refund done"),
    )

    def passed(kind: str, value: str) -> bool | None:
        return check_episode([rule(kind, value)], messages)[-1].passed

    assert passed("contains", "order CANCELLED") is True
    assert passed("contains", "say") is False, "what the customer says does not count"
    assert passed("contains", "refund") is False, "nor what a tool answers"
    assert passed("not_contains", "refund") is True
    assert passed("not_contains", "cancelled") is False
    assert (passed("tool_called", "cancel"), passed("tool_called", "Cancel")) == (True, False)
    assert (passed("tool_not_called", "cancel"), passed("tool_not_called", "refund")) == (False, True)


def test_without_rules_there_is_no_check() -> None:
    assert check_episode([], (Message(role="assistant", content="x"),)) == ()


def test_success_is_that_all_rules_hold_and_reward_the_share_that_does() -> None:
    messages = (Message(role="assistant", content="one two"),)
    rules = [rule("contains", "one"), rule("contains", "two"), rule("contains", "three")]
    *parts, outcome = check_episode(rules, messages)
    assert [part.passed for part in parts] == [True, True, False]
    assert {part.scope for part in parts} == {"part"}
    assert (outcome.passed, outcome.reward, outcome.scope) == (False, 2 / 3, "outcome")

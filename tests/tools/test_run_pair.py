"""`run_pair`: two recorded trajectories in, a checked and judged row out."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from misjudge_storage.errors import Conflict, InvalidInput, MissingKey
from misjudge_tools.deps import Deps
from misjudge_tools.requests import RunPairRequest, SummarizeRequest
from misjudge_tools.results import MARK, PairOutcome, RunPairResult
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


def pair_of(result: RunPairResult) -> PairOutcome:
    assert result.pair is not None
    return result.pair


def row_of(result: RunPairResult) -> dict[str, Any]:
    row = pair_of(result).row
    assert row is not None
    return row


async def test_a_pair_is_checked_judged_and_stored_as_a_row(judged: Deps, prompt_judge: PromptJudge) -> None:
    result = await run_pair(pair(success_criteria="It is cancelled.", category="orders"), judged)
    row = row_of(result)
    assert (result.run.state, result.run.done, result.simulated, result.marked) == ("done", 2, False, None)
    assert (row["success_a"], row["success_b"], row["gold_pref"], row["gold_source"]) == (1, 0, "A", "verifier")
    assert (row["agent_a"], row["agent_b"], row["trial"], row["judge"]) == ("blue", "green", 0, "judge-m")
    assert (row["judge_status"], row["blind_order"], row["judge_flip"]) == ("decided", "both", 0)
    assert row["misselected"] == (0 if row["judge_pref"] == "A" else 1)
    assert [verdict.order for verdict in pair_of(result).verdicts] == ["AB", "BA"]
    assert {verdict.winner for verdict in pair_of(result).verdicts} == {row["judge_pref"]}
    assert result.next == "summarize_audit(audit='a')"
    (task,) = rows(judged.store, "SELECT prompt, success_criteria, category FROM tasks")
    assert task == {"prompt": "Cancel order 7.", "success_criteria": "It is cancelled.", "category": "orders"}
    for turns in prompt_judge.asked:
        assert "blue" not in turns[1].content and "green" not in turns[1].content


async def test_the_checks_of_each_side_are_shown(judged: Deps) -> None:
    result = await run_pair(pair(checks=[CONTAINS, NO_REFUND]), judged)
    a, b = pair_of(result).a.checks, pair_of(result).b.checks
    assert [(check["verifier"], check["passed"], check["scope"]) for check in a] == [
        ("contains: order cancelled", True, "part"),
        ("not_contains: refund", False, "part"),
        ("success", False, "outcome"),
    ]
    assert (a[-1]["reward"], a[-1]["evidence"]) == (0.5, "1 of 2 rules hold")
    assert [check["passed"] for check in b] == [False, True, False]
    assert (pair_of(result).a.success, pair_of(result).b.success) == (False, False)
    assert row_of(result)["gold_pref"] == "tie"


@pytest.mark.parametrize(("source", "gold_source"), [("verifier", "verifier"), ("human", "human"), ("label", "label")])
async def test_known_success_takes_the_place_of_checks(judged: Deps, source: str, gold_source: str) -> None:
    known = {"checks": [], "success_a": False, "success_b": True, "success_source": source}
    row = row_of(await run_pair(pair(**known), judged))
    assert (row["success_a"], row["success_b"], row["gold_pref"], row["gold_source"]) == (0, 1, "B", gold_source)


async def test_without_checks_or_known_success_nothing_is_gold(judged: Deps) -> None:
    result = await run_pair(pair(checks=[]), judged)
    assert (pair_of(result).a.checks, pair_of(result).b.checks, pair_of(result).a.success) == ((), (), None)
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
    assert (again.run.total, again.pair) == (0, first.pair)
    now = {table: found for table, found in dump(judged.store).items() if table not in {"runs", "run_events"}}
    assert now == kept
    assert len(prompt_judge.asked) == 2
    third = await run_pair(pair(repeats=2), judged)
    assert (third.run.total, len(pair_of(third).verdicts)) == (2, 4)


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
        ({"checks": [CONTAINS, {"kind": "contains", "value": ""}]}, r"Check 2 cannot be used \(contains.value"),
        ({"checks": [{"kind": "guess", "value": "x"}]}, "Check 1 cannot be used .*docs/suites.md"),
        ({"task_prompt": None}, "trajectory_a, trajectory_b, task_id, task_prompt, agent_a and agent_b together"),
        ({"trajectory_b": None}, "are compared with trajectory_a, trajectory_b"),
        ({"suite": "support_desk"}, "suite belongs to live agents"),
        ({"agents": ["a", "b"]}, "agents belongs to live agents"),
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
    assert (result.run.state, result.run.total, pair_of(result).row) == ("planned", 6, None)
    assert (pair_of(result).a.checks[-1]["passed"], pair_of(result).a.success) == (True, True)
    assert [(role.role, role.model, role.calls) for role in result.run.plan] == [("judge", "judge-m", 6)]
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
    for wrong in ({"trial": -1}, {"agent_a": ""}, {"checks": ["contains"]}, {"extra": 1}):
        with pytest.raises(ValidationError):
            pair(**wrong)


async def test_a_check_that_needs_a_world_says_nothing_of_a_recording(judged: Deps) -> None:
    rules = [CONTAINS, {"kind": "sql", "query": "SELECT 1", "equals": 1}]
    result = await run_pair(pair(checks=rules), judged)
    assert [check["passed"] for check in pair_of(result).a.checks] == [True, None, None]
    assert (row_of(result)["success_a"], row_of(result)["success_b"], row_of(result)["gold_pref"]) == (None, 0, None)

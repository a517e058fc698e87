from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Message
from misjudge_tools.episodes.scripted import (
    ScriptAgent,
    ScriptedUser,
    failing_tasks,
    next_reply,
    policy_named,
    script_of,
    skill,
)
from misjudge_tools.episodes.settings import ScriptedAgent
from misjudge_tools.episodes.turns import Agent, User, UserTurn
from misjudge_tools.suites.model import Fact, Language, Solution, Step, SuiteTask

CASE_IDS = [f"task_{number:02}" for number in range(48)]
FACTS = (
    Fact(asks=("order number", "which order"), says="It is O-1007."),
    Fact(asks=("e-mail", "email"), says="mei@example.com"),
)
FACTS_ZH = (Fact(asks=("订单号",), says="订单号是O-1007。"), Fact(asks=("邮箱",), says="邮箱是mei@example.com。"))
STEPS = (
    Step(say="What is your order number?"),
    Step(call="get_order", args={"order_id": "O-1007"}),
    Step(call="cancel_order", args={"order_id": "O-1007", "reason": "客户要求"}),
    Step(say="Your order is cancelled."),
)
HASTY = (Step(call="cancel_order", args={"order_id": "O-1007"}), Step(say="Cancelled."))


def _task(language: Language = "en", *, task_id: str = "t", **fields: Any) -> SuiteTask:
    return SuiteTask(
        task_id=task_id,
        language=language,
        category="cancellation",
        opening="Cancel my order.",
        goal="You want your order cancelled.",
        success_criteria="The order is cancelled.",
        **{
            "facts": FACTS if language == "en" else FACTS_ZH,
            "checks": ({"kind": "tool_called", "value": "cancel_order"},),
            **fields,
        },
    )


def _solution(task_id: str = "t", **fields: Any) -> Solution:
    return Solution(task_id=task_id, **{"steps": STEPS, **fields})


def _agent(policy: str, share: float | None = None) -> ScriptedAgent:
    return ScriptedAgent.model_validate({"policy": policy, "share": share})


def _says(steps: Sequence[Step]) -> list[str]:
    return [step.say for step in steps if step.say is not None]


async def _answer(said: str, language: Language = "en") -> UserTurn:
    user: User = ScriptedUser(_task(language))
    return await user.reply((Message(role="user", content="Cancel my order."), Message(role="assistant", content=said)))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("What is your order number?", "It is O-1007."),
        ("WHICH ORDER is it?", "It is O-1007."),
        ("Please tell me the  order\u00a0number.", "It is O-1007."),
        ("Hello. I need your order number to go on.", "It is O-1007."),
        ("Your email? And your order number?", "It is O-1007. mei@example.com"),
        ("What is your ｅ-ｍａｉｌ?", "mei@example.com"),
    ],
)
async def test_the_customer_tells_each_fact_that_it_is_asked_for(said: str, told: str) -> None:
    assert await _answer(said) == UserTurn(told)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("请问您的订单号是多少？", "订单号是O-1007。"),
        ("请提供订单号。", "订单号是O-1007。"),
        ("您的邮箱和订单号是？", "订单号是O-1007。邮箱是mei@example.com。"),
    ],
)
async def test_the_customer_tells_facts_in_chinese(said: str, told: str) -> None:
    assert await _answer(said, "zh") == UserTurn(told)


async def test_a_fact_is_told_as_often_as_it_is_asked_for() -> None:
    user = ScriptedUser(_task())
    asked = Message(role="assistant", content="What is your order number?")
    talk = [asked]
    for _ in range(3):
        turn = await user.reply(talk)
        assert turn == UserTurn("It is O-1007.")
        talk += [Message(role="user", content=turn.text), asked]


@pytest.mark.parametrize(
    ("language", "said", "agreed"),
    [
        ("en", "Shall I cancel it?", "Yes, please go ahead."),
        ("en", "Shall I cancel it？ It costs nothing.", "Yes, please go ahead."),
        ("zh", "要我取消吗？", "好的，请继续。"),
    ],
)
async def test_the_customer_agrees_to_any_other_question(language: Language, said: str, agreed: str) -> None:
    assert await _answer(said, language) == UserTurn(agreed)


@pytest.mark.parametrize(
    ("language", "said", "end"),
    [
        ("en", "Order number O-1007 is cancelled.", "finished"),
        ("en", "Done. Is there anything else I can help you with?", "finished"),
        ("en", "You will not be charged.", "finished"),
        ("en", "You hear from the manager when your email has been read, which takes two days.", "finished"),
        ("en", "", "finished"),
        ("zh", "订单号O-1007已取消，退款申请已提交。", "finished"),
        ("zh", "已取消。还有什么可以帮您的吗？", "finished"),
        ("en", "I am sorry, I cannot cancel it.", "blocked"),
        ("en", "We can’t do that.", "blocked"),
        ("en", "Unfortunately I am really not able to change it.", "blocked"),
        ("en", "This order cannot be cancelled any more.", "blocked"),
        ("en", "A refund is not possible after 30 days.", "blocked"),
        ("zh", "很抱歉，这个订单无法取消。", "blocked"),
    ],
)
async def test_the_customer_ends_where_nothing_is_asked(language: Language, said: str, end: str) -> None:
    turn = await _answer(said, language)
    assert turn.end == end
    assert ("一" <= turn.text[0] <= "鿿") == (language == "zh")


async def test_the_customer_hears_the_agents_last_message() -> None:
    talk = [
        Message(role="assistant", content="What is your order number?"),
        Message(role="user", content="It is O-1007."),
        Message(role="assistant", content="Your order is cancelled."),
    ]
    assert (await ScriptedUser(_task()).reply(talk)).end == "finished"
    assert (await ScriptedUser(_task()).reply([])).end == "finished"


def test_the_diligent_follow_the_solution_and_the_hasty_leave_out_what_may_be_left_out() -> None:
    assert script_of(_agent("diligent"), _task(), _solution(), False) == STEPS
    assert script_of(_agent("hasty"), _task(), _solution(hasty=HASTY), False) == HASTY
    assert script_of(_agent("hasty"), _task(), _solution(), False) == STEPS


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("policy", ["smooth_talker", "refuser"])
async def test_the_talkers_call_nothing_and_the_customer_ends_at_once(policy: str, language: Language) -> None:
    (step,) = script_of(_agent(policy), _task(language), _solution(), False)
    assert step.call is None
    turn = await _answer(step.say or "", language)
    assert turn.end == ("finished" if policy == "smooth_talker" else "blocked")
    assert ("您" in (step.say or "")) == (language == "zh")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_padder_does_the_same_with_more_words_which_change_no_answer(language: Language) -> None:
    padded = script_of(_agent("padder"), _task(language), _solution(), False)
    assert [step.call for step in padded] == [step.call for step in STEPS]
    for said, plain in zip(_says(padded), _says(STEPS), strict=True):
        assert plain in said
        assert len(said) > 2 * len(plain)
        assert await _answer(said, language) == await _answer(plain, language)


@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "length", "unit": "words", "at_most": 20},
        {"kind": "format", "value": "json"},
        {"kind": "regex", "value": "^ok$"},
        {"kind": "json_schema", "value": {}},
        {"kind": "number_range", "value": "([0-9]+)", "low": 1},
    ],
)
def test_the_padder_keeps_to_a_form_that_is_checked(rule: dict[str, Any]) -> None:
    task = _task(checks=({"kind": "tool_called", "value": "cancel_order"}, rule))
    assert script_of(_agent("padder"), task, _solution(), False) == STEPS


def test_the_padder_pads_where_a_pattern_may_stand_anywhere() -> None:
    anywhere = {"kind": "regex", "value": "cancelled", "where": "any"}
    assert script_of(_agent("padder"), _task(checks=(anywhere,)), _solution(), False) != STEPS
    assert script_of(_agent("padder"), _task(checks=({**anywhere, "absent": True},)), _solution(), False) == STEPS


def test_the_flaky_talk_smoothly_in_the_tasks_that_they_fail() -> None:
    flaky = _agent("flaky", 0.6)
    assert script_of(flaky, _task(), _solution(), False) == STEPS
    smooth = script_of(_agent("smooth_talker"), _task(), _solution(), False)
    assert script_of(flaky, _task(), _solution(), True) == smooth


async def test_a_script_is_followed_step_by_step_from_the_messages_alone() -> None:
    talk = [Message(role="user", content="Cancel my order.")]
    seen = []
    for _ in range(6):
        reply = next_reply(STEPS, talk)
        assert reply == next_reply(STEPS, tuple(talk))
        agent: Agent = ScriptAgent(STEPS)
        assert reply == await agent.reply(talk)
        seen.append(reply)
        talk.append(Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls))
        answers = [Message(role="tool", content="{}", tool_call_id=call.id) for call in reply.tool_calls]
        talk += answers or [Message(role="user", content="Yes.")]
    assert [reply.text for reply in seen[:4]] == ["What is your order number?", "", "", "Your order is cancelled."]
    assert seen[4] == seen[5] == seen[3]
    (call,) = seen[2].tool_calls
    assert (call.name, json.loads(call.arguments)) == ("cancel_order", STEPS[2].args)
    assert [made.id for reply in seen for made in reply.tool_calls] == ["call_2", "call_3"]


def test_a_script_without_words_ends_with_a_short_one() -> None:
    asked = next_reply((Step(call="get_order"),), [Message(role="user", content="Cancel my order.")])
    talk = [Message(role="assistant", tool_calls=asked.tool_calls), Message(role="tool", content="{}")]
    assert next_reply((Step(call="get_order"),), talk).text == "OK."


@pytest.mark.parametrize(
    ("share", "failing"),
    [(1.0, 0), (0.95, 2), (0.6, 19), (0.55, 22), (0.5, 24), (0.0, 48), (1 / 3, 32)],
)
def test_the_flaky_fail_exactly_their_share(share: float, failing: int) -> None:
    for trial in range(4):
        failed = failing_tasks(share, CASE_IDS, 7, "flaky", trial)
        assert len(failed) == failing == round((1 - share) * 48)
        assert failed <= set(CASE_IDS)
    tasks = [_task(task_id=case) for case in CASE_IDS]
    assert skill(_agent("flaky", share), tasks, {}) == pytest.approx((48 - failing) / 48, abs=1e-12)


def test_a_share_that_floats_cannot_hold_fails_as_many_as_it_says() -> None:
    assert len(failing_tasks(0.95, CASE_IDS[:10], 0, "a", 0)) == 0  # half a task, to the even number
    assert len(failing_tasks(0.85, CASE_IDS[:10], 0, "a", 0)) == 2
    assert failing_tasks(0.5, [], 0, "a", 0) == frozenset()


@given(st.floats(0, 1), st.permutations(CASE_IDS), st.integers(), st.text(), st.integers(0, 9))
def test_the_failing_tasks_do_not_depend_on_their_order(
    share: float, shuffled: list[str], seed: int, agent: str, trial: int
) -> None:
    failed = failing_tasks(share, CASE_IDS, seed, agent, trial)
    assert failed == failing_tasks(share, shuffled, seed, agent, trial)
    assert len(failed) == round(round((1 - share) * 48, 9))


def test_trials_agents_and_seeds_fail_different_tasks_independently() -> None:
    drawn = [
        failing_tasks(0.5, CASE_IDS, seed, agent, trial) for seed in (0, 1) for agent in "ab" for trial in range(50)
    ]
    assert len(set(drawn)) == len(drawn)
    # Two independent halves of 48 tasks share 12 of them on average, with a variance of 48/16 * 48/47.
    shared = [len(one & other) for one, other in pairwise(drawn)]
    assert sum(shared) / len(shared) == pytest.approx(12, abs=4 * (3.06 / len(shared)) ** 0.5)
    for case in CASE_IDS:
        assert 60 < sum(case in failed for failed in drawn) < 140


def test_about_half_of_the_pairs_of_two_flaky_agents_are_decidable() -> None:
    decidable = sum(
        len(
            failing_tasks(0.6, CASE_IDS, 0, "flaky:0.60", trial) ^ failing_tasks(0.55, CASE_IDS, 0, "flaky:0.55", trial)
        )
        for trial in range(400)
    )
    assert decidable / 100 == pytest.approx(94.3, abs=1.5)


def test_skill_is_the_share_that_a_script_gets_right() -> None:
    tasks = [_task(task_id=case) for case in CASE_IDS[:4]]
    solutions = {case: _solution(case, hasty=HASTY if case == CASE_IDS[0] else None) for case in CASE_IDS[:4]}
    found = {policy: skill(_agent(policy), tasks, solutions) for policy in ("diligent", "hasty", "padder")}
    assert found == {"diligent": 1.0, "hasty": 0.75, "padder": 1.0}
    assert skill(_agent("smooth_talker"), tasks, solutions) == skill(_agent("refuser"), tasks, solutions) == 0.0
    assert skill(_agent("diligent"), [], {}) == 0.0


def test_scripted_agents_are_known_by_name() -> None:
    assert policy_named("diligent") == _agent("diligent")
    assert policy_named("flaky:0.60") == policy_named("flaky:.6") == _agent("flaky", 0.6)
    assert policy_named("flaky:1") == _agent("flaky", 1.0)
    assert [policy_named(name) for name in ("gpt-5", "Diligent", "", "diligent:0.5", "flakyx")] == [None] * 5


@pytest.mark.parametrize("name", ["flaky", "flaky:", "flaky:2", "flaky:-0.1", "flaky:nan", "flaky:x", "flaky:٣"])
def test_flaky_needs_a_share(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"flaky:0\.95"):
        policy_named(name)

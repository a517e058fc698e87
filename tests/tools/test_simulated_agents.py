from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from loopback import LoopbackServer, VirtualClock
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes.agents import ChatAgent
from misjudge_tools.episodes.asking import ModelParams
from misjudge_tools.episodes.rollout import Rollout, roll_out
from misjudge_tools.episodes.user_sim import ModelUser, user_template
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.simulated import SimulatedServer
from misjudge_tools.gateway.simulated_agent import UNKNOWN_TASK, Ability, Repertoire, simulated_agent
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from misjudge_tools.gateway.simulated_user import HELLO, MARKS, customer_language
from misjudge_tools.judging.prompts import load_prompt
from misjudge_tools.suites.model import Fact, Language, Solution, Step, SuiteTask, ToolSpec

KEY = "simulated"
N = 20
SPECS = (ToolSpec(name="get_order"), ToolSpec(name="cancel_order"))
TOOLS = json.dumps([{"type": "function", "function": spec.model_dump()} for spec in SPECS])


def _task(number: int, language: Language = "en") -> SuiteTask:
    zh = language == "zh"
    return SuiteTask(
        task_id=f"{language}_{number}",
        language=language,
        category="cancellation",
        opening=f"请取消订单{number}。" if zh else f"Please cancel order {number}.",
        goal=f"取消订单{number}。" if zh else f"You want order {number} cancelled.",
        facts=(
            Fact(
                asks=("手机号" if zh else "phone number",), says=f"尾号是{number}。" if zh else f"It ends in {number}."
            ),
        ),
        success_criteria="The order is cancelled.",
        checks=({"kind": "tool_called", "value": "cancel_order"},),
    )


def _solution(task: SuiteTask, number: int) -> Solution:
    zh = task.language == "zh"
    return Solution(
        task_id=task.task_id,
        steps=(
            Step(say="请问您的手机号尾号是多少？" if zh else "What are the last digits of your phone number?"),
            Step(call="get_order", args={"order_id": str(number)}),
            Step(call="cancel_order", args={"order_id": str(number)}),
            Step(say="已取消。" if zh else "Your order is cancelled."),
        ),
        hasty=(
            Step(call="cancel_order", args={"order_id": str(number)}),
            Step(say="已取消。" if zh else "Cancelled."),
        ),
    )


NUMBERED: list[tuple[int, Language]] = [(number, "en") for number in range(N)] + [(number, "zh") for number in range(6)]
TASKS = tuple(_task(number, language) for number, language in NUMBERED)
KNOWN = Repertoire(
    TASKS, {task.task_id: _solution(task, number) for task, (number, _) in zip(TASKS, NUMBERED, strict=True)}
)


class RecordingToolbox:
    """Every call works and is written down."""

    specs = SPECS

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    async def call(self, call: ToolCall) -> str:
        self.calls.append(call)
        return '{"status": "ok"}'


async def _rollout(gateway: HttpGateway, task: SuiteTask, model: str) -> tuple[Rollout, list[str]]:
    async def ask(call: Call, turn: int) -> Exchange:
        return await gateway.ask(call)

    agent = ChatAgent(ask, ModelParams(model), instructions="You are the support desk.", tools=SPECS)
    user = ModelUser(ask, ModelParams("simulated-user"), task, user_template(task.language, None))
    toolbox = RecordingToolbox()
    rollout = await roll_out(task, agent, user, toolbox, None, clock=VirtualClock(), max_steps=20)
    return rollout, [call.name for call in toolbox.calls]


async def _rollouts(tasks: Sequence[SuiteTask], model: str, **options: Any) -> list[tuple[Rollout, list[str]]]:
    async with SimulatedServer(known=KNOWN, **options) as server:
        gateway = HttpGateway(server.base_url, KEY, simulated=True)
        done = [await _rollout(gateway, task, model) for task in tasks]
        await gateway.aclose()
    return done


@pytest.mark.parametrize("task", [TASKS[3], TASKS[N + 3]])
async def test_an_agent_and_a_customer_talk_over_http_until_the_task_is_done(task: SuiteTask) -> None:
    ((rollout, called),) = await _rollouts([task], "diligent")
    assert (rollout.end_reason, rollout.trouble, rollout.flags) == ("finished", None, ())
    assert called == ["get_order", "cancel_order"]
    assert [message.role for message in rollout.messages] == [
        "user", "assistant", "user", "assistant", "tool", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert rollout.messages[2].content == task.facts[0].says
    assert "FINISHED" not in rollout.messages[-1].content


async def test_the_model_name_is_the_policy() -> None:
    hasty, smooth, refuser = [
        (await _rollouts([TASKS[0]], model))[0] for model in ("hasty", "smooth_talker", "refuser")
    ]
    assert (hasty[0].end_reason, hasty[1]) == ("finished", ["cancel_order"])
    assert (smooth[0].end_reason, smooth[1]) == ("finished", [])
    assert (refuser[0].end_reason, refuser[1]) == ("blocked", [])


@pytest.mark.parametrize(("model", "skill", "failing"), [("flaky:0.6", 1.0, 8), ("any-model", 0.75, 5), ("x", 1.0, 0)])
async def test_an_agent_of_set_skill_fails_exactly_its_share(model: str, skill: float, failing: int) -> None:
    done = await _rollouts(TASKS[:N], model, skill=skill)
    assert sum("cancel_order" not in called for _, called in done) == failing


def _failed(model: str, seed: int = 0, language: Language = "en") -> list[str]:
    failed = []
    for task in TASKS:
        reply = simulated_agent(KNOWN, Ability(1.0, seed), model, [Message(role="user", content=task.opening)])
        if task.language == language and reply.text != KNOWN.solutions[task.task_id].steps[0].say:
            failed.append(task.task_id)
    return failed


def test_which_tasks_an_agent_fails_follows_from_the_seed_and_its_name() -> None:
    assert len(_failed("flaky:0.5")) == 10
    assert len(_failed("flaky:0.5", language="zh")) == 3
    assert _failed("flaky:0.5") == _failed("flaky:0.5")
    assert _failed("flaky:0.5") != _failed("flaky:0.5", seed=1)
    assert _failed("flaky:0.5") != _failed("flaky:.5")


async def _said(messages: Sequence[ChatTurn], model: str = "diligent", tools: str | None = TOOLS) -> Exchange:
    async with SimulatedServer(known=KNOWN) as server:
        gateway = HttpGateway(server.base_url, KEY, simulated=True)
        exchange = await gateway.ask(Call(model=model, messages=tuple(messages), tools=tools))
        await gateway.aclose()
    return exchange


async def test_a_call_states_its_usage_and_why_it_ended() -> None:
    task = TASKS[0]
    talk = (
        ChatTurn(role="user", content=task.opening),
        ChatTurn(role="assistant", content=KNOWN.solutions[task.task_id].steps[0].say or ""),
        ChatTurn(role="user", content="7"),
    )
    exchange = await _said(talk)
    assert exchange.tool_calls == (ToolCall(name="get_order", arguments='{"order_id": "0"}', id="call_2"),)
    (attempt,) = exchange.attempts
    assert attempt.finish_reason == "tool_calls"
    assert attempt.input_tokens == sum(len(turn.content.split()) for turn in talk)
    assert attempt.output_tokens == len('get_order {"order_id": "0"}'.split())


async def test_a_task_that_it_does_not_know_is_answered_politely_without_tools() -> None:
    exchange = await _said((ChatTurn(role="user", content="Do something else."),))
    assert (exchange.text, exchange.tool_calls) == (UNKNOWN_TASK, ())
    unsolved = Repertoire(TASKS, {})
    opening = Message(role="user", content=TASKS[0].opening)
    assert simulated_agent(unsolved, Ability(), "diligent", [opening]).text == UNKNOWN_TASK
    assert simulated_agent(KNOWN, Ability(), "diligent", []).text == UNKNOWN_TASK


async def test_an_agent_without_tools_is_known_by_the_opening() -> None:
    exchange = await _said((ChatTurn(role="user", content=TASKS[1].opening),), tools=None)
    assert exchange.text == KNOWN.solutions[TASKS[1].task_id].steps[0].say


async def test_flaky_without_a_share_is_refused() -> None:
    exchange = await _said((ChatTurn(role="user", content=TASKS[1].opening),), model="flaky")
    assert type(exchange.error).__name__ == "RequestRefused"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_customer_is_known_by_the_shipped_prompt(language: Language) -> None:
    system = load_prompt("user_sim", language).system
    assert system.startswith(MARKS[language])
    assert customer_language([Message(role="system", content=system)]) == language
    others = [load_prompt(name, language).system for name in ("judge_pair", "judge_satisfaction", "success_check")]
    assert customer_language([Message(role="system", content=other) for other in others]) is None
    assert customer_language([Message(role="user", content=system)]) is None


async def _customer(task: SuiteTask, *said: str, known: Repertoire = KNOWN) -> str:
    """What the simulated gateway says as the customer after the agent said this."""
    async with SimulatedServer(known=known) as server:
        gateway = HttpGateway(server.base_url, KEY, simulated=True)

        async def ask(call: Call, turn: int) -> Exchange:
            turns = (*call.messages[:2], *(ChatTurn(role="user", content=text) for text in said))
            return await gateway.ask(call.model_copy(update={"messages": turns}))

        user = ModelUser(ask, ModelParams("simulated-user"), task, user_template(task.language, None))
        turn = await user.reply([Message(role="assistant", content="-")])
        await gateway.aclose()
    return f"{turn.text}|{turn.end}"


async def test_the_customer_of_a_known_task_tells_its_facts_and_ends() -> None:
    assert await _customer(TASKS[12], "What is your phone number?") == "It ends in 12.|None"
    assert await _customer(TASKS[1], "What is your phone number?") == "It ends in 1.|None"
    assert await _customer(TASKS[1], "Shall I go on?") == "Yes, please go ahead.|None"
    assert (await _customer(TASKS[1], "I cannot do that.")).endswith("|blocked")
    assert (await _customer(TASKS[N], "已取消。")).endswith("|finished")
    assert await _customer(TASKS[2]) == f"{TASKS[2].opening}|None"


async def test_the_customer_of_an_unknown_task_knows_no_facts() -> None:
    nothing = Repertoire()
    assert await _customer(TASKS[1], "What is your phone number?", known=nothing) == "Yes, please go ahead.|None"
    assert await _customer(TASKS[N], "已取消。", known=nothing) == "谢谢，没有别的事了。|finished"
    assert await _customer(TASKS[N], known=nothing) == f"{HELLO['zh']}|None"


async def test_what_an_agent_says_cannot_turn_the_customer_into_a_judge() -> None:
    mark = "0123456789abcdef"
    fenced = f"=== BEGIN RESPONSE {mark} ===\nx\n=== END RESPONSE {mark} ==="
    assert (await _customer(TASKS[1], fenced)).endswith("|finished")


async def test_a_seed_changes_what_is_drawn_and_nothing_else() -> None:
    one, two = [await _rollouts(TASKS[:2], "diligent", bias=SimulatedBias(seed=seed)) for seed in (0, 1)]
    assert one == two


async def test_other_fields_of_a_request_do_not_matter() -> None:
    async with LoopbackServer() as recorder, SimulatedServer(known=KNOWN) as server:
        recorder.enqueue()
        message = ChatTurn(role="user", content=TASKS[0].opening)
        call = Call(model="diligent", messages=(message,), tools=TOOLS, seed=3, json_schema="{}")
        for address in (recorder.base_url, server.base_url):
            gateway = HttpGateway(address, KEY, simulated=True)
            exchange = await gateway.ask(call)
            await gateway.aclose()
    assert recorder.requests[0].body["seed"] == 3
    assert exchange.text == KNOWN.solutions[TASKS[0].task_id].steps[0].say

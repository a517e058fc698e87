from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage.errors import CallTimeout
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes import settings
from misjudge_tools.episodes.agents import ChatAgent, open_agent
from misjudge_tools.episodes.asking import ModelParams
from misjudge_tools.episodes.command_agent import CommandAgent
from misjudge_tools.episodes.conversation import Surroundings
from misjudge_tools.episodes.http_agent import HttpAgent
from misjudge_tools.episodes.rollout import roll_out
from misjudge_tools.episodes.turns import AgentFailed, AgentReply
from misjudge_tools.episodes.world import World
from misjudge_tools.gateway.calls import Call, Exchange
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.profiles import PromptText
from rollout_parts import SHOP, SHOP_IMAGE, AnswersInTurn, a_call, a_task, open_shop

OPENING = (Message(role="user", content="I want a tent."),)
CUT_CALL = ToolCall(name="take", arguments='{"sku')
PARAMS = ModelParams("agent-m", 0.3, 500, 7)


class Model:
    """An `Ask` that answers with these exchanges one after the other."""

    def __init__(self, *exchanges: Exchange | Exception) -> None:
        self.exchanges = list(exchanges)
        self.calls: list[Call] = []
        self.turns: list[int] = []

    async def __call__(self, call: Call, turn: int) -> Exchange:
        self.calls.append(call)
        self.turns.append(turn)
        exchange = self.exchanges.pop(0)
        if isinstance(exchange, Exception):
            raise exchange
        return exchange


def said(text: str | None, *calls: ToolCall, truncated: bool = False, refused: bool = False) -> Exchange:
    return Exchange(text, truncated, refused, (), None, calls)


def chat(model: Model, *, instructions: str = "Be kind.", tools: bool = True) -> ChatAgent:
    return ChatAgent(model, PARAMS, instructions=instructions, tools=SHOP.tools if tools else ())


async def test_the_model_is_asked_with_instructions_conversation_tools_and_parameters() -> None:
    model = Model(said("Which one?"), said("", a_call("take", "c1", sku="tent")))
    agent = chat(model)
    assert await agent.reply(OPENING) == AgentReply("Which one?")
    talk = (*OPENING, Message(role="assistant", content="Which one?"), Message(role="user", content="The red one."))
    assert await agent.reply(talk) == AgentReply("", (a_call("take", "c1", sku="tent"),))
    call = model.calls[1]
    assert [(turn.role, turn.content) for turn in call.messages] == [
        ("system", "Be kind."),
        ("user", "I want a tent."),
        ("assistant", "Which one?"),
        ("user", "The red one."),
    ]
    assert (call.role, call.model, call.temperature, call.max_tokens, call.seed) == ("agent", "agent-m", 0.3, 500, 7)
    assert [tool["function"]["name"] for tool in json.loads(call.tools or "")] == [spec.name for spec in SHOP.tools]
    assert model.turns == [1, 2]


async def test_without_instructions_and_tools_neither_is_sent() -> None:
    model = Model(said("Yes."))
    await chat(model, instructions="", tools=False).reply(OPENING)
    assert [turn.role for turn in model.calls[0].messages] == ["user"]
    assert model.calls[0].tools is None


async def test_calls_and_results_are_shown_to_the_model_with_their_ids() -> None:
    model = Model(said("Done."))
    made = (a_call("take", "c1", sku="tent"), a_call("notes", "c2"))
    talk = (
        *OPENING,
        Message(role="assistant", content="One moment.", tool_calls=made),
        Message(role="tool", content="{}", tool_call_id="c1", name="take"),
        Message(role="tool", content="[]", tool_call_id="c2", name="notes"),
    )
    await chat(model).reply(talk)
    turns = model.calls[0].messages[2:]
    assert (turns[0].content, turns[0].tool_calls) == ("One moment.", made)
    assert [(turn.role, turn.tool_call_id, turn.content) for turn in turns[1:]] == [
        ("tool", "c1", "{}"),
        ("tool", "c2", "[]"),
    ]


async def test_a_call_that_could_not_be_read_is_sent_back_in_a_form_that_can() -> None:
    model = Model(said("Sorry."))
    wrong = (
        ToolCall(name="take it!", arguments='{"sku": ', id="c1"),
        ToolCall(name="", arguments="[1]", id="c2"),
        ToolCall(name="x" * 100, arguments="[" * 100_000, id="c3"),
    )
    await chat(model).reply((*OPENING, Message(role="assistant", tool_calls=wrong)))
    sent = model.calls[0].messages[2].tool_calls
    assert [call.name for call in sent] == ["take_it_", "_", "x" * 64]
    assert [call.arguments for call in sent] == ["{}"] * 3


@pytest.mark.parametrize(
    ("exchange", "reply"),
    [
        (said("<think>They want it.</think>\nDone."), AgentReply("Done.")),
        (said("<think>Hm", truncated=True), AgentReply("")),
        (said("Half a sen", truncated=True), AgentReply("Half a sen")),
        (said("I cannot do that.", refused=True), AgentReply("I cannot do that.")),
        (said(None, refused=True), AgentReply("")),
        (said("", CUT_CALL, truncated=True), AgentReply("", (CUT_CALL,))),
    ],
)  # fmt: skip
async def test_what_it_says_is_what_the_customer_would_see(exchange: Exchange, reply: AgentReply) -> None:
    assert await chat(Model(exchange)).reply(OPENING) == reply


async def test_a_model_without_a_reply_is_an_agent_that_failed() -> None:
    lost = Exchange(None, False, False, (), CallTimeout("No answer within 60 s."))
    with pytest.raises(AgentFailed, match=r"^The agent's model gave no reply\. No answer within 60 s\.$"):
        await chat(Model(lost)).reply(OPENING)


async def test_what_the_run_raises_passes_through() -> None:
    lost = ConnectionError("the run is over")
    with pytest.raises(ConnectionError) as found:
        await chat(Model(lost)).reply(OPENING)
    assert found.value is lost


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with LoopbackServer() as made:
        yield made


async def test_parallel_and_sequential_calls_go_over_the_real_path(server: LoopbackServer) -> None:
    def call(name: str, call_id: str, arguments: str) -> dict[str, Any]:
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    parallel = [call("take", "c1", '{"sku": "tent"}'), call("note", "c2", '{"text": "sold"}')]
    server.enqueue(completion(None, finish_reason="tool_calls", tool_calls=parallel))
    server.enqueue(completion(None, finish_reason="tool_calls", tool_calls=[call("notes", "c1", "{}")]))
    server.enqueue(completion("Your tent is on its way."))
    gateway = HttpGateway(server.base_url, "key-1234567890")

    async def ask(asked: Call, turn: int) -> Exchange:
        return await gateway.ask(asked)

    agent = ChatAgent(ask, PARAMS, instructions="Be kind.", tools=SHOP.tools)
    try:
        with World.from_image(SHOP_IMAGE) as world:
            done = await roll_out(
                a_task(), agent, AnswersInTurn(), open_shop(world), world, clock=VirtualClock(), max_steps=5
            )
    finally:
        await gateway.aclose()
    assert done.end_reason == "finished"
    assert [m.content for m in done.messages if m.role == "tool"] == [
        '{"sku": "tent", "left": 4}',
        '{"noted": "sold"}',
        '["sold"]',
    ]
    last = server.requests[-1].body
    assert [m["role"] for m in last["messages"]] == ["system", "user", "assistant", "tool", "tool", "assistant", "tool"]
    assert [m.get("tool_call_id") for m in last["messages"] if m["role"] == "tool"] == ["c1", "c2", "call_3"]
    assert last["messages"][5]["tool_calls"][0]["id"] == "call_3"
    assert [tool["function"]["name"] for tool in last["tools"]] == [spec.name for spec in SHOP.tools]


async def test_a_configuration_opens_the_agent_that_it_means() -> None:
    around = Surroundings("The suite's own.", SHOP.tools, "s", (), Path())
    model = Model(said("Yes."), said("Yes."))
    await open_agent(settings.ChatAgent(), around, model, PARAMS).reply(OPENING)
    own = settings.ChatAgent(system=PromptText(name="mine", text="My own."))
    await open_agent(own, around, model, PARAMS).reply(OPENING)
    assert [call.messages[0].content for call in model.calls] == ["The suite's own.", "My own."]
    http = settings.HttpAgent(kind="http", url="http://127.0.0.1:9/")
    command = settings.CommandAgent(kind="command", argv=("x",))
    assert isinstance(open_agent(http, around, model, PARAMS), HttpAgent)
    assert isinstance(open_agent(command, around, model, PARAMS), CommandAgent)

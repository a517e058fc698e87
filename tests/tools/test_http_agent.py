from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from loopback import LoopbackServer, completion
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes import settings
from misjudge_tools.episodes.conversation import Surroundings
from misjudge_tools.episodes.http_agent import HttpAgent
from misjudge_tools.episodes.turns import AgentAway, AgentFailed, AgentReply
from rollout_parts import SHOP, a_call

TALK = (
    Message(role="user", content="I want a tent."),
    Message(role="assistant", content="", tool_calls=(a_call("take", "c1", sku="tent"),)),
    Message(role="tool", content='{"left": 4}', tool_call_id="c1", name="take"),
    Message(role="assistant", content="Done."),
    Message(role="user", content="谢谢"),
)
OPENAI_CALL = {"id": "c2", "type": "function", "function": {"name": "take", "arguments": '{"sku": "tent"}'}}
CALLED = AgentReply("", (ToolCall(name="take", arguments='{"sku": "tent"}', id="c2"),))


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with LoopbackServer() as made:
        yield made


def agent_at(url: str, *, hosts: tuple[str, ...] = ("127.0.0.1",), instructions: str = "Be kind.") -> HttpAgent:
    around = Surroundings(instructions, SHOP.tools[:1], "session-1", hosts, Path())
    return HttpAgent(settings.HttpAgent(kind="http", url=url, timeout_s=5), around)


async def test_it_is_posted_the_conversation_the_tools_and_the_session(server: LoopbackServer) -> None:
    server.enqueue({"content": "Gern."})
    assert await agent_at(server.base_url).reply(TALK) == AgentReply("Gern.")
    body = server.requests[0].body
    called = {"id": "c1", "type": "function", "function": {"name": "take", "arguments": '{"sku": "tent"}'}}
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "I want a tent."},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"left": 4}'},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "谢谢"},
    ]
    (tool,) = body["tools"]
    assert tool["type"] == "function"
    assert tool["function"] == SHOP.tools[0].model_dump()
    assert body["session"] == "session-1"
    assert body.keys() == {"messages", "tools", "session"}


async def test_a_suite_without_instructions_sends_no_system_message(server: LoopbackServer) -> None:
    server.enqueue({"content": "Yes."})
    await agent_at(server.base_url, instructions="").reply(TALK[:1])
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "I want a tent."}]


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ({"content": "Yes."}, AgentReply("Yes.")),
        ({"content": None, "tool_calls": [OPENAI_CALL]}, CALLED),
        ({"tool_calls": [OPENAI_CALL]}, CALLED),
        ({"content": "One moment.", "tool_calls": [OPENAI_CALL]}, CALLED._replace(text="One moment.")),
        ({"message": {"content": "Yes."}}, AgentReply("Yes.")),
        (completion("Yes."), AgentReply("Yes.")),
        (completion(None, tool_calls=[OPENAI_CALL]), CALLED),
        ({"content": [{"type": "text", "text": "Yes."}, {"type": "text", "text": "No."}]}, AgentReply("Yes.\nNo.")),
        ({"content": None}, AgentReply("")),
        ({"content": "\ud800"}, AgentReply("\ufffd")),
    ],
)  # fmt: skip
async def test_its_answer_is_read_in_each_known_form(
    server: LoopbackServer, answer: dict[str, Any], reply: AgentReply
) -> None:
    server.enqueue(answer)
    assert await agent_at(server.base_url).reply(TALK) == reply


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"body": {"answer": "hidden"}}, "in no known form"),
        ({"body": ["hidden"]}, "in no known form"),
        ({"body": {"choices": []}}, "in no known form"),
        ({"body": {"content": 5}}, "content that is no text"),
        ({"body": {"content": [{"type": "image"}]}}, "content that is no text"),
        ({"body": {"tool_calls": "hidden"}}, "tool calls that are no list"),
        ({"body": {"tool_calls": [{"function": {"arguments": "hidden"}}]}}, "without a function's name"),
        ({"body": "hidden"}, "not JSON"),
        ({"body": json.dumps({"content": "hidden" * 300_000})}, "longer than 1 MB"),
    ],
)  # fmt: skip
async def test_any_other_answer_is_a_failure_that_does_not_repeat_it(
    server: LoopbackServer, answer: dict[str, Any], says: str
) -> None:
    server.enqueue(answer.pop("body"), **answer)
    with pytest.raises(AgentFailed) as found:
        await agent_at(server.base_url).reply(TALK)
    assert says in str(found.value)
    assert "hidden" not in str(found.value)
    assert "127.0.0.1" not in str(found.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"body": {"error": "hidden"}, "status": 503}, "HTTP status 503"),
        ({"body": "hidden", "status": 307, "headers": {"Location": "/v1/other"}}, "HTTP status 307"),
        ({"body": {"content": "hidden"}, "cut": "mid_body"}, "connection broke"),
    ],
)  # fmt: skip
async def test_a_server_that_cannot_answer_says_nothing_of_the_agent(
    server: LoopbackServer, answer: dict[str, Any], says: str
) -> None:
    server.enqueue(answer.pop("body"), **answer)
    with pytest.raises(AgentAway) as found:
        await agent_at(server.base_url).reply(TALK)
    assert says in str(found.value)
    assert "hidden" not in str(found.value)
    assert len(server.requests) == 1


async def test_an_agent_that_does_not_answer_in_its_time_has_failed(server: LoopbackServer) -> None:
    server.enqueue({"content": "late"}, hold=asyncio.Event())
    around = Surroundings("", (), "s", ("127.0.0.1",), Path())
    agent = HttpAgent(settings.HttpAgent(kind="http", url=server.base_url, timeout_s=0.05), around)
    with pytest.raises(AgentFailed, match=r"did not answer within 0\.05 s"):
        await agent.reply(TALK)


async def test_nobody_at_the_address_says_nothing_of_the_agent() -> None:
    with pytest.raises(AgentAway, match="could not be reached"):
        await agent_at("http://127.0.0.1:9/").reply(TALK)


async def test_a_host_that_is_not_allowed_is_never_asked(server: LoopbackServer) -> None:
    with pytest.raises(AgentAway, match="not among the allowed hosts"):
        await agent_at(server.base_url, hosts=("example.org",)).reply(TALK)
    assert server.requests == []


async def test_no_key_of_the_environment_is_sent(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", "sk-secret-1234567890")
    server.enqueue({"content": "Yes."})
    await agent_at(server.base_url).reply(TALK)
    assert "authorization" not in server.requests[0].headers
    assert "sk-secret" not in str(server.requests)

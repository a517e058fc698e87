"""The scripted model of scripts/test-clients: what it sends, and what it takes from a client's requests."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest
from mcp import Client

from clients.checks import result
from clients.dialects import Offer, Use
from clients.messages_api import MESSAGES
from clients.model_server import Gateway, serving
from clients.player import Player
from clients.plays import TOOL_CALLS
from clients.printing import table
from clients.responses_api import RESPONSES
from clients.steps import Call, Mismatch, Play, Say, Told
from clients.transcript import transcript
from conformance_server import TOOLS as FIXTURES
from conformance_server import conformance_app
from misjudge_server.tool_table import TOOLS

SEARCH = {"name": "ToolSearch"}
OURS = {"name": "mcp__misjudge__runs"}


def _play() -> Play:
    told = yield Call("runs", {"action": "list"}, result("runs"), "runs")
    yield Say(f"{len(told.json()['runs'])} runs")


def _answered(use: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use, "content": content, **more}]}


def _blocks(player: Player, body: Mapping[str, Any]) -> list[Any]:
    return [event["content_block"] for event in player.reply_to(body) if event["type"] == "content_block_start"]


def test_a_hidden_tool_is_searched_then_called_and_its_result_is_checked() -> None:
    player = Player(_play(), MESSAGES, "client")
    (searched,) = _blocks(player, {"tools": [SEARCH], "messages": []})
    found = _answered(searched["id"], [{"type": "tool_reference", "tool_name": OURS["name"]}])
    (called,) = _blocks(player, {"tools": [SEARCH], "messages": [found]})
    came = _answered(called["id"], '{"runs": []}')
    (said,) = _blocks(player, {"tools": [SEARCH], "messages": [found, came]})
    assert (searched["name"], called["name"], said["type"]) == ("ToolSearch", OURS["name"], "text")
    assert player.ended
    assert [(row.case, row.passed, row.received) for row in player.rows] == [("runs", True, 12)]


def test_a_result_that_is_not_whole_fails_its_case() -> None:
    player = Player(_play(), MESSAGES, "client")
    (called,) = _blocks(player, {"tools": [OURS], "messages": []})
    _blocks(player, {"tools": [OURS], "messages": [_answered(called["id"], '{"runs": [ … cut … ]')]})
    assert [row.passed for row in player.rows] == [False, False]  # the case, and that the script cannot go on
    assert "FAILED runs (client): no whole JSON reached the model" in table(player.rows)


def test_a_tool_that_is_nowhere_fails_its_case() -> None:
    player = Player(_play(), MESSAGES, "client")
    _blocks(player, {"tools": [{"name": "Read"}], "messages": []})
    assert [row.why for row in player.rows] == ["runs was not offered to the model"]


def test_a_request_that_is_sent_again_gets_the_same_answer() -> None:
    player = Player(_play(), MESSAGES, "client")
    body = {"tools": [OURS], "messages": []}
    assert _blocks(player, body) == _blocks(player, body)
    assert player.rows == []


def test_requests_on_the_side_take_no_step() -> None:
    player = Player(_play(), MESSAGES, "client")
    (title,) = _blocks(player, {"messages": [{"role": "user", "content": "a title, please"}]})
    (called,) = _blocks(player, {"tools": [OURS], "messages": []})
    assert (title["type"], called["type"]) == ("text", "tool_use")


def test_codex_tools_are_called_in_their_namespace() -> None:
    tools = [{"type": "namespace", "name": "mcp__misjudge", "tools": [{"name": "runs"}]}, {"type": "web_search"}]
    assert RESPONSES.offers({"tools": tools}) == [Offer("runs", "mcp__misjudge"), Offer("web_search")]
    player = Player(_play(), RESPONSES, "client")
    (item,) = [event["item"] for event in player.reply_to({"tools": tools}) if event["type"].endswith("item.done")]
    assert (item["namespace"], item["name"], json.loads(item["arguments"])) == (
        "mcp__misjudge",
        "runs",
        {"action": "list"},
    )


def test_codex_in_code_mode_gets_a_program() -> None:
    use = RESPONSES.code({"tools": [{"type": "custom", "name": "exec"}]}, "runs", {"action": "list"})
    assert isinstance(use, Use)
    assert use.arguments["source"] == 'text(await tools.mcp__misjudge__runs({"action": "list"}))'


@pytest.mark.parametrize(
    "text",
    [
        '{"runs": []}',
        'Wall time: 0.1 seconds\nOutput:\n{"runs": []}',
        'Output:\n{"content":[{"type":"text","text":"{\\"runs\\": []}"}],"structuredContent":{"runs":[]}}',
    ],
)
def test_a_result_is_found_in_what_each_client_puts_around_it(text: str) -> None:
    assert Told(text, False).json() == {"runs": []}


def test_an_error_is_no_result() -> None:
    with pytest.raises(Mismatch, match="an error reached the model"):
        result()(Told("{}", True))


def test_the_model_and_the_gateway_are_served_on_loopback() -> None:
    gateway = Gateway()
    with serving(Player(_play(), MESSAGES, "client"), MESSAGES, gateway) as server:
        streamed = _posted(f"{server.address}/v1/messages", {"tools": [OURS], "messages": [], "model": "m"})
        judged = json.loads(_posted(f"{server.address}/v1/chat/completions", {}))
    assert streamed.startswith("event: message_start\ndata: ")
    assert json.loads(judged["choices"][0]["message"]["content"])["winner"] == "A"
    assert gateway.asked == 1
    assert [(one.path, one.key) for one in server.exchanges] == [("/v1/messages", "k")]


def _posted(url: str, body: Mapping[str, Any]) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Authorization": "Bearer k"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def test_a_transcript_shows_words_calls_and_shortened_results() -> None:
    lines = [
        {"type": "system", "claude_code_version": "9.9"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}]}},
        {
            "type": "assistant",
            "message": {
                "content": [{"type": "tool_use", "id": "u1", "name": OURS["name"], "input": {"action": "list"}}]
            },
        },
        {"type": "user", "message": _answered("u1", [{"type": "text", "text": "x" * 500}])},
    ]
    shown = transcript("Go.", "\n".join(json.dumps(line) for line in lines))
    assert "Claude Code 9.9" in shown
    assert "> **You:** Go.\n\n> **Claude Code:** I look." in shown
    assert 'runs(action="list")\n→ xxx' in shown
    assert "(500 bytes)" in shown


def test_every_tool_has_a_call_for_the_real_clients() -> None:
    assert set(TOOL_CALLS) == set(TOOLS)


async def test_the_conformance_server_is_ours_with_the_fixtures_before() -> None:
    async with Client(conformance_app()) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        ours = await client.call_tool("judge", {"audit": "a", "repeat": 2})
    assert names == [*FIXTURES, *TOOLS]
    assert ours.is_error

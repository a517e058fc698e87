from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import errors
from misjudge_storage.types import ToolCall
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.parameters import Shape, effective_params, estimated_tokens, request_body
from misjudge_tools.gateway.replies import Answer, Fault, Reply, read_answer
from misjudge_tools.gateway.tool_calls import MOST_CALLS, MOST_CHARS

KEY = "sk-canary-key-0123456789"
TOOLS = [
    {"type": "function", "function": {"name": "look_up", "description": "", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "cancel", "description": "", "parameters": {"type": "object"}}},
]
LOOKED_UP = ToolCall(name="look_up", arguments='{"order_id": "O1"}', id="c1")
TALK = (
    ChatTurn(role="system", content="You help."),
    ChatTurn(role="user", content="Cancel O1."),
    ChatTurn(role="assistant", content="", tool_calls=(LOOKED_UP, LOOKED_UP.model_copy(update={"id": "c2"}))),
    ChatTurn(role="tool", content='{"status": "open"}', tool_call_id="c1"),
    ChatTurn(role="tool", content='{"status": "open"}', tool_call_id="c2"),
    ChatTurn(role="assistant", content="One moment.", tool_calls=(ToolCall(name="cancel", id="c3"),)),
    ChatTurn(role="tool", content="{}", tool_call_id="c3"),
)
CALL = Call(model="agent-1", role="agent", messages=TALK, max_tokens=100, tools=json.dumps(TOOLS))


def _made(name: Any = "look_up", arguments: Any = "{}", **entry: Any) -> dict[str, Any]:
    return {"id": "c9", "type": "function", "function": {"name": name, "arguments": arguments}, **entry}


def _read(message: dict[str, Any], *, with_tools: bool = True, finish_reason: str = "tool_calls") -> Reply | Fault:
    body = json.dumps(completion(finish_reason=finish_reason, **message)).encode()
    return read_answer(Answer(200, {}, body), with_tools=with_tools)


def _calls(*entries: Any, **message: Any) -> tuple[ToolCall, ...]:
    outcome = _read({"content": None, "tool_calls": list(entries), **message} if entries else message)
    assert isinstance(outcome, Reply)
    return outcome.tool_calls


def _refused(status: int, error: dict[str, Any], *, with_tools: bool = True) -> errors.GatewayError:
    outcome = read_answer(Answer(status, {}, json.dumps({"error": error}).encode()), with_tools=with_tools)
    assert isinstance(outcome, Fault)
    return outcome.error


async def _ask(server: LoopbackServer, call: Call = CALL) -> Exchange:
    gateway = HttpGateway(server.base_url, KEY, clock=VirtualClock())
    try:
        return await gateway.ask(call)
    finally:
        await gateway.aclose()


async def test_tools_calls_and_their_results_are_sent_in_openais_form() -> None:
    async with LoopbackServer() as server:
        server.enqueue()
        exchange = await _ask(server)
    (request,) = server.requests
    assert request.body["tools"] == TOOLS
    assert "tool_choice" not in request.body
    function = {"name": "look_up", "arguments": '{"order_id": "O1"}'}
    assert request.body["messages"] == [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Cancel O1."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": function},
                {"id": "c2", "type": "function", "function": function},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"status": "open"}'},
        {"role": "tool", "tool_call_id": "c2", "content": '{"status": "open"}'},
        {
            "role": "assistant",
            "content": "One moment.",
            "tool_calls": [{"id": "c3", "type": "function", "function": {"name": "cancel", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c3", "content": "{}"},
    ]
    assert (exchange.text, exchange.tool_calls) == ("OK", ())


async def test_a_reply_of_tool_calls_alone_is_a_reply_with_empty_text() -> None:
    async with LoopbackServer() as server:
        server.enqueue(completion(None, finish_reason="tool_calls", tool_calls=[_made("cancel", '{"a": 1}'), _made()]))
        exchange = await _ask(server)
    expected = (ToolCall(name="cancel", arguments='{"a": 1}', id="c9"), ToolCall(name="look_up", id="c9"))
    assert (exchange.text, exchange.tool_calls, exchange.error) == ("", expected, None)
    (attempt,) = exchange.attempts
    assert (attempt.raw_output, attempt.tool_calls, attempt.finish_reason) == ("", expected, "tool_calls")


def test_what_is_said_beside_tool_calls_is_kept() -> None:
    outcome = _read({"text": "One moment.", "tool_calls": [_made()]})
    assert isinstance(outcome, Reply)
    assert (outcome.raw_output, len(outcome.tool_calls)) == ("One moment.", 1)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("{not json", "{not json"),
        ({"a": "é"}, '{"a": "é"}'),
        ({}, "{}"),
        (None, "{}"),
        ("", "{}"),
        ("\ud83d\ude00\ud800", "😀\ufffd"),
    ],
)
def test_arguments_are_kept_as_the_model_wrote_them_and_an_object_becomes_json(sent: Any, read: str) -> None:
    (call,) = _calls(_made(arguments=sent))
    assert call.arguments == read


@pytest.mark.parametrize(("sent", "read"), [("x" * 900, "x" * 200), ("", None), (7, None), (None, None)])
def test_an_id_is_text_of_limited_length_or_none(sent: Any, read: str | None) -> None:
    assert _calls(_made(id=sent))[0].id == read


def test_the_older_form_of_a_function_call_is_read_too() -> None:
    assert _calls(function_call={"name": "look_up", "arguments": '{"a": 1}'}) == (
        ToolCall(name="look_up", arguments='{"a": 1}'),
    )
    assert _calls(_made("cancel"), function_call={"name": "look_up"}) == (ToolCall(name="cancel", id="c9"),)


@pytest.mark.parametrize("listed", [None, [], {}, ""])
def test_no_tool_calls_are_none(listed: Any) -> None:
    assert _calls(tool_calls=listed, function_call=None) == ()


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": {"0": _made()}},
        {"tool_calls": "look_up()"},
        {"tool_calls": ["look_up"]},
        {"tool_calls": [_made(), None]},
        {"tool_calls": [{"type": "custom", "custom": {"name": "look_up"}}]},
        {"tool_calls": [_made(function="look_up")]},
        {"tool_calls": [_made(name=None)]},
        {"tool_calls": [_made(name="")]},
        {"tool_calls": [_made(name="canary" * 100)]},
        {"tool_calls": [_made(arguments=["canary"])]},
        {"tool_calls": [_made(arguments=7)]},
        {"tool_calls": [_made(arguments="x" * (MOST_CHARS + 1))]},
        {"tool_calls": [_made(arguments="x" * (MOST_CHARS // 2 + 1))] * 2},
        {"tool_calls": [_made()] * (MOST_CALLS + 1)},
        {"function_call": "look_up"},
        {"function_call": {"arguments": "{}"}},
    ],
)
def test_tool_calls_that_cannot_be_read_make_the_reply_a_fault_that_is_tried_again(message: dict[str, Any]) -> None:
    outcome = _read(message)
    assert isinstance(outcome, Fault)
    assert isinstance(outcome.error, errors.ProviderFailed)
    assert "tool call" in str(outcome.error)
    assert "canary" not in str(outcome.error)


def test_as_many_and_as_long_calls_as_allowed_are_read() -> None:
    assert len(_calls(*[_made()] * MOST_CALLS)) == MOST_CALLS
    assert len(_calls(_made(arguments="x" * MOST_CHARS))[0].arguments) == MOST_CHARS


@pytest.mark.parametrize("listed", ["junk", [_made()], [None]])
def test_a_call_that_offered_no_tools_gets_none_and_keeps_its_text(listed: Any) -> None:
    outcome = _read({"text": '{"winner": "A"}', "tool_calls": listed}, with_tools=False)
    assert isinstance(outcome, Reply)
    assert (outcome.raw_output, outcome.tool_calls) == ('{"winner": "A"}', ())


def test_a_refusal_makes_no_calls() -> None:
    outcome = _read({"content": None, "refusal": "I will not.", "tool_calls": ["junk"]})
    assert isinstance(outcome, Reply)
    assert (outcome.refused, outcome.tool_calls) == (True, ())


async def test_broken_tool_calls_are_asked_for_again() -> None:
    async with LoopbackServer() as server:
        server.enqueue(completion(None, tool_calls=[None]))
        server.enqueue(completion(None, tool_calls=[_made()]))
        exchange = await _ask(server)
    assert [attempt.error for attempt in exchange.attempts] == ["ProviderFailed", None]
    assert len(exchange.tool_calls) == 1


async def test_what_an_agent_said_is_not_asked_for_anew_where_it_was_cut_off() -> None:
    cut = completion(None, finish_reason="length", tool_calls=[_made(arguments='{"order_id": "O')])
    async with LoopbackServer() as server:
        server.enqueue(cut)
        said = await _ask(server)
    assert [request.body["max_tokens"] for request in server.requests] == [100]
    assert (said.truncated, said.tool_calls[0].arguments) == (True, '{"order_id": "O')


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "registry.example/m does not support tools"}),
        (400, {"message": "'tools' is not supported with this model.", "param": "tools"}),
        (400, {"message": '"auto" tool choice requires --enable-auto-tool-choice'}),
        (400, {"message": "not supported", "param": "tool_choice"}),
        (404, {"message": "No endpoints found that support tool use"}),
        (422, {"message": "function calling is not available for this model"}),
        (501, {"message": "tools are not implemented"}),
    ],
)
def test_a_model_that_refuses_tools_is_a_typed_refusal_that_says_so(status: int, error: dict[str, Any]) -> None:
    refused = _refused(status, error)
    assert type(refused) is errors.RequestRefused
    assert f"This model takes no tools ({status})" in str(refused)
    assert "takes no tools" not in str(_refused(status, error, with_tools=False))


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (400, {"message": "Invalid schema", "param": "tools[0].function.parameters"}, errors.RequestRefused),
        (400, {"message": "tools.0.function.name: too long"}, errors.RequestRefused),
        (400, {"message": "messages with role 'tool' must answer 'tool_calls'"}, errors.RequestRefused),
        (400, {"message": "maximum context length is 8 tokens with these tools"}, errors.ContextOverflow),
        (401, {"message": "no tools for this key"}, errors.AuthRefused),
        (429, {"message": "too many tools"}, errors.RateLimited),
        (500, {"message": "tools crashed"}, errors.ProviderFailed),
    ],
)
def test_other_faults_that_mention_tools_stay_what_they_are(
    status: int, error: dict[str, Any], expected: type[errors.GatewayError]
) -> None:
    fault = _refused(status, error)
    assert type(fault) is expected
    assert "takes no tools" not in str(fault)


async def test_tool_calls_that_echo_the_key_come_back_without_it() -> None:
    echo = _made(f"look_{KEY}", json.dumps({"key": KEY}), id=f"id-{KEY}")
    async with LoopbackServer() as server:
        server.enqueue(completion(None, tool_calls=[echo, _made(id=None)]))
        exchange = await _ask(server)
    assert KEY not in repr(exchange)
    assert exchange.tool_calls == (
        ToolCall(name="look_[key removed]", arguments='{"key": "[key removed]"}', id="id-[key removed]"),
        ToolCall(name="look_up"),
    )
    assert exchange.attempts[0].tool_calls == exchange.tool_calls


def test_the_stored_parameters_hold_a_digest_of_the_tools_in_place_of_them() -> None:
    params = json.loads(effective_params(request_body(CALL, Shape(), 100)))
    other = CALL.model_copy(update={"tools": json.dumps(TOOLS[:1])})
    assert params.keys() == {"model", "temperature", "max_tokens", "tools"}
    assert params["tools"].startswith("tools_")
    assert params["tools"] != json.loads(effective_params(request_body(other, Shape(), 100)))["tools"]


def test_tools_and_tool_calls_count_for_the_estimated_tokens() -> None:
    plain = CALL.model_copy(update={"tools": None})
    silent = plain.model_copy(update={"messages": (*TALK[:2], ChatTurn(role="assistant", content=""), *TALK[3:])})
    assert estimated_tokens(CALL, 10) - estimated_tokens(plain, 10) == len(json.dumps(TOOLS)) / 4
    two_calls = 2 * len(LOOKED_UP.name + LOOKED_UP.arguments)
    assert estimated_tokens(plain, 10) - estimated_tokens(silent, 10) == two_calls / 4


@pytest.mark.parametrize("tools", ["{}", "[]", "null", "not json"])
def test_tools_are_the_json_text_of_a_list(tools: str) -> None:
    with pytest.raises(ValidationError):
        Call(model="m", messages=TALK, tools=tools)

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import misjudge_storage
import misjudge_tools
from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import errors
from misjudge_tools.gateway.calls import Call, ChatTurn, Gateway
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.clock import SystemClock

KEY = "sk-canary-key-0123456789"
SCHEMA = '{"type":"object","properties":{"winner":{"type":"string"}}}'
ASK = (ChatTurn(role="system", content="You judge."), ChatTurn(role="user", content="Which?"))
CALL = Call(model="judge-1", messages=ASK)
FULL = Call(model="judge-1", messages=ASK, temperature=0.0, max_tokens=100, seed=7, json_schema=SCHEMA)


def _gateway(server: LoopbackServer, **options: Any) -> HttpGateway:
    return HttpGateway(server.base_url, KEY, clock=VirtualClock(), **options)


def _refusal(message: str, **error: Any) -> dict[str, Any]:
    return {"error": {"message": message, **error}}


def _sent(server: LoopbackServer, *names: str) -> list[dict[str, Any]]:
    return [{name: request.body[name] for name in names if name in request.body} for request in server.requests]


async def test_a_call_sends_its_messages_and_parameters_and_nothing_else() -> None:
    async with LoopbackServer() as server:
        server.enqueue(headers={"X-Request-Id": "req-1"})
        gateway: Gateway = _gateway(server)
        exchange = await gateway.ask(FULL)
        await gateway.aclose()
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "judge-1",
        "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Which?"}],
        "temperature": 0.0,
        "seed": 7,
        "max_tokens": 100,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": json.loads(SCHEMA)},
        },
    }
    (attempt,) = exchange.attempts
    assert attempt._replace(latency_ms=0.0) == (
        1,
        "OK",
        "stop",
        11,
        3,
        0.0,
        "req-1",
        None,
        '{"max_tokens":100,"model":"judge-1","response_format":"json_schema","seed":7,"temperature":0.0}',
        None,
        (),
    )
    assert (exchange.text, exchange.truncated, exchange.refused, exchange.error) == ("OK", False, False, None)


async def test_parameters_that_are_none_are_not_sent() -> None:
    async with LoopbackServer() as server:
        server.enqueue()
        gateway = _gateway(server)
        exchange = await gateway.ask(Call(model="m", messages=ASK, temperature=None, max_tokens=None))
        await gateway.aclose()
    assert server.requests[0].body.keys() == {"model", "messages"}
    assert exchange.attempts[0].params == '{"model":"m"}'


async def test_text_that_is_not_valid_unicode_is_sent_all_the_same() -> None:
    async with LoopbackServer() as server:
        server.enqueue()
        gateway = _gateway(server)
        exchange = await gateway.ask(Call(model="m", messages=(ChatTurn(role="user", content="a\ud800é"),)))
        await gateway.aclose()
    assert exchange.text == "OK"
    assert server.requests[0].body["messages"][0]["content"] == "a\ud800é"


async def test_no_header_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "canary-org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "canary-project")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "canary-admin")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Tenant: canary\nAuthorization: Bearer canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://canary.invalid")
    async with LoopbackServer() as server:
        server.enqueue()
        gateway = _gateway(server)
        await gateway.ask(CALL)
        await gateway.aclose()
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "canary" not in str({name: value for name, value in headers.items() if name != "authorization"})


ADAPTATIONS = [
    (
        [_refusal("Unsupported value: 'temperature' does not support 0.0", param="temperature")],
        [{"temperature": 0.0, "max_tokens": 100}, {"max_tokens": 100}],
    ),
    (
        [_refusal("'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")],
        [{"temperature": 0.0, "max_tokens": 100}, {"temperature": 0.0, "max_completion_tokens": 100}],
    ),
    (
        [_refusal("no such field", param="max_tokens"), _refusal("no such field", param="max_completion_tokens")],
        [
            {"temperature": 0.0, "max_tokens": 100},
            {"temperature": 0.0, "max_completion_tokens": 100},
            {"temperature": 0.0},
        ],
    ),
    ([_refusal("unknown field seed")], [{"temperature": 0.0, "max_tokens": 100}] * 2),
]


@pytest.mark.parametrize(("refusals", "sent"), ADAPTATIONS)
async def test_only_the_parameter_that_the_refusal_names_is_adapted_and_the_model_remembered(
    refusals: list[dict[str, Any]], sent: list[dict[str, Any]]
) -> None:
    async with LoopbackServer() as server:
        for refusal in refusals:
            server.enqueue(refusal, status=400)
        server.enqueue(times=2)
        gateway = _gateway(server)
        first, second = await gateway.ask(FULL), await gateway.ask(FULL)
        await gateway.aclose()
    assert _sent(server, "temperature", "max_tokens", "max_completion_tokens") == [*sent, sent[-1]]
    assert all(request.body["response_format"]["type"] == "json_schema" for request in server.requests)
    assert [attempt.error for attempt in first.attempts] == ["RequestRefused"] * len(refusals) + [None]
    assert [attempt.error for attempt in second.attempts] == [None]
    assert second.attempts[0].params == first.attempts[-1].params


async def test_a_refused_schema_falls_back_to_json_then_to_none() -> None:
    async with LoopbackServer() as server:
        server.enqueue(_refusal("response_format type json_schema is unavailable now"), status=400)
        server.enqueue({"detail": [{"loc": ["body", "response_format"], "msg": "extra"}]}, status=422)
        server.enqueue()
        gateway = _gateway(server)
        exchange = await gateway.ask(FULL)
        await gateway.aclose()
    forms = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert forms == ["json_schema", "json_object", None]
    assert json.loads(exchange.attempts[1].params)["response_format"] == "json_object"
    assert "response_format" not in json.loads(exchange.attempts[2].params)


@pytest.mark.parametrize("parameter", ["temperature", "max_tokens", "response_format", "json_schema", "seed"])
async def test_what_one_model_refuses_is_still_sent_to_another(parameter: str) -> None:
    async with LoopbackServer() as server:
        server.enqueue(_refusal(f"no {parameter}"), status=400)
        server.enqueue(times=3)
        gateway = _gateway(server)
        calls = (FULL, FULL, FULL.model_copy(update={"model": "judge-2"}))
        exchanges = [await gateway.ask(call) for call in calls]
        await gateway.aclose()
    first, adapted, again, other = (request.body for request in server.requests)
    assert [len(exchange.attempts) for exchange in exchanges] == [2, 1, 1]
    assert again == adapted
    assert other == {**first, "model": "judge-2"}
    changed = {name for name in first.keys() | adapted.keys() if first.get(name) != adapted.get(name)}
    named = {"json_schema": {"response_format"}, "max_tokens": {"max_tokens", "max_completion_tokens"}}
    assert changed == named.get(parameter, {parameter})


async def test_calls_refused_at_the_same_time_narrow_the_parameters_once() -> None:
    async with LoopbackServer() as server:
        gate = asyncio.Event()
        server.enqueue(_refusal("response_format: no json_schema"), status=400, hold=gate, times=5)
        server.always()
        gateway = _gateway(server)
        asking = [asyncio.create_task(gateway.ask(FULL)) for _ in range(5)]
        await server.received(5)
        gate.set()
        exchanges = await asyncio.gather(*asking)
        await gateway.aclose()
    assert [exchange.text for exchange in exchanges] == ["OK"] * 5
    kinds = [request.body["response_format"]["type"] for request in server.requests]
    assert kinds == ["json_schema"] * 5 + ["json_object"] * 5


async def test_calls_that_wait_for_a_turn_use_what_was_learnt_meanwhile() -> None:
    async with LoopbackServer() as server:
        server.enqueue(_refusal("no temperature"), status=400)
        server.always()
        gateway = _gateway(server, concurrency=1)
        exchanges = await asyncio.gather(*[gateway.ask(FULL) for _ in range(4)])
        await gateway.aclose()
    assert [exchange.text for exchange in exchanges] == ["OK"] * 4
    assert [len(exchange.attempts) for exchange in exchanges] == [2, 1, 1, 1]


async def test_a_late_refusal_does_not_undo_what_was_learnt_meanwhile() -> None:
    async with LoopbackServer() as server:
        gate = asyncio.Event()
        server.enqueue(_refusal("no temperature"), status=400, hold=gate)
        server.enqueue(_refusal("no temperature"), status=400)
        server.enqueue(_refusal("no json_schema"), status=400)
        server.always()
        gateway = _gateway(server)
        late = asyncio.create_task(gateway.ask(FULL))
        await server.received(1)
        await gateway.ask(FULL)
        gate.set()
        exchange = await late
        await gateway.aclose()
    assert exchange.text == "OK"
    assert len(exchange.attempts) == 2
    assert server.requests[-1].body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "refusal",
    [
        _refusal("max_tokens is too large: 100. This model supports at most 50", param="max_tokens"),
        _refusal("messages are not alternating", param="messages"),
        _refusal("bad request"),
        _refusal("top_p is not supported"),
    ],
)
async def test_a_refusal_that_names_nothing_to_leave_out_is_final(refusal: dict[str, Any]) -> None:
    async with LoopbackServer() as server:
        server.enqueue(refusal, status=400)
        gateway = _gateway(server)
        exchange = await gateway.ask(FULL)
        await gateway.aclose()
    assert isinstance(exchange.error, errors.RequestRefused)
    assert len(exchange.attempts) == 1


async def test_a_model_that_refuses_everything_is_not_asked_for_ever() -> None:
    async with LoopbackServer() as server:
        server.always(_refusal("temperature seed max_tokens max_completion_tokens response_format"), status=400)
        gateway = _gateway(server)
        exchange = await gateway.ask(FULL)
        await gateway.aclose()
    assert isinstance(exchange.error, errors.RequestRefused)
    assert len(exchange.attempts) == 7
    assert server.requests[-1].body.keys() == {"model", "messages"}


@pytest.mark.parametrize("base", ["/api", "/api/v1"])
async def test_a_404_is_answered_once_by_trying_without_v1_and_the_working_form_is_kept(base: str) -> None:
    async with LoopbackServer() as server:
        server.enqueue("nothing here", status=404)
        server.enqueue(times=2)
        gateway = HttpGateway(server.base_url.replace("/v1", base), KEY, clock=VirtualClock())
        first, second = await gateway.ask(CALL), await gateway.ask(CALL)
        await gateway.aclose()
    paths = [request.path for request in server.requests]
    assert paths == ["/api/v1/chat/completions", "/api/chat/completions", "/api/chat/completions"]
    assert [attempt.error for attempt in first.attempts] == ["WrongAddress", None]
    assert [attempt.error for attempt in second.attempts] == [None]


async def test_a_typed_refusal_at_the_other_form_shows_that_it_is_the_right_one() -> None:
    async with LoopbackServer() as server:
        server.enqueue("nothing here", status=404)
        server.enqueue(_refusal("no temperature"), status=400)
        server.enqueue()
        gateway = _gateway(server)
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert exchange.text == "OK"
    assert [request.path for request in server.requests][1:] == ["/chat/completions"] * 2


async def test_a_404_that_comes_after_the_right_form_was_found_is_asked_again_there() -> None:
    async with LoopbackServer() as server:
        gate = asyncio.Event()
        server.enqueue(status=404, hold=gate)
        server.enqueue(status=404)
        server.enqueue(_refusal("no such thing"), status=400)
        server.enqueue()
        gateway = _gateway(server)
        late = asyncio.create_task(gateway.ask(CALL))
        await server.received(1)
        await gateway.ask(CALL)
        gate.set()
        exchange = await late
        await gateway.aclose()
    assert exchange.text == "OK"
    assert [attempt.error for attempt in exchange.attempts] == ["WrongAddress", None]
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2 + ["/chat/completions"] * 2


async def test_a_wrong_address_is_probed_once_only() -> None:
    async with LoopbackServer() as server:
        server.always("nothing here", status=404)
        gateway = _gateway(server)
        first, second = await gateway.ask(CALL), await gateway.ask(CALL)
        await gateway.aclose()
    assert isinstance(first.error, errors.WrongAddress)
    assert isinstance(second.error, errors.WrongAddress)
    assert "TAOTOKEN_BASE_URL" in str(first.error)
    assert [len(exchange.attempts) for exchange in (first, second)] == [2, 1]


async def test_a_probe_that_fails_by_chance_settles_nothing() -> None:
    async with LoopbackServer() as server:
        for status in (404, 503, 404, 200):
            server.enqueue(status=status)
        gateway = _gateway(server)
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert exchange.text == "OK"
    assert [attempt.error for attempt in exchange.attempts] == ["WrongAddress", "ProviderFailed", "WrongAddress", None]


@pytest.mark.parametrize("text", ["half an answ", None])
async def test_a_truncated_reply_gets_one_retry_with_four_times_the_limit(text: str | None) -> None:
    async with LoopbackServer() as server:
        server.enqueue(completion(text, finish_reason="length"))
        server.enqueue(completion("whole"))
        gateway = _gateway(server)
        exchange = await gateway.ask(FULL)
        await gateway.aclose()
    assert (exchange.text, exchange.truncated, exchange.error) == ("whole", False, None)
    assert [attempt.finish_reason for attempt in exchange.attempts] == ["length", "stop"]
    assert _sent(server, "max_tokens") == [{"max_tokens": 100}, {"max_tokens": 400}]


async def test_a_reply_truncated_twice_stays_truncated() -> None:
    async with LoopbackServer() as server:
        server.enqueue(completion("half", finish_reason="length"))
        server.enqueue(completion("half and more", finish_reason="length"))
        gateway = _gateway(server)
        exchange = await gateway.ask(FULL)
        await gateway.aclose()
    assert (exchange.text, exchange.truncated) == ("half and more", True)
    assert len(exchange.attempts) == 2


async def test_a_larger_limit_that_the_model_refuses_leaves_the_truncated_reply() -> None:
    async with LoopbackServer() as server:
        server.enqueue(completion("half", finish_reason="length"))
        server.enqueue(_refusal("max_tokens is too large: 400", param="max_tokens"), status=400)
        gateway = _gateway(server)
        exchange = await gateway.ask(FULL)
        await gateway.aclose()
    assert (exchange.text, exchange.truncated, exchange.error) == ("half", True, None)
    assert [attempt.error for attempt in exchange.attempts] == [None, "RequestRefused"]


async def test_without_a_limit_of_its_own_a_truncated_call_is_not_repeated() -> None:
    async with LoopbackServer() as server:
        server.enqueue(completion("half", finish_reason="length"))
        gateway = _gateway(server)
        exchange = await gateway.ask(CALL.model_copy(update={"max_tokens": None}))
        await gateway.aclose()
    assert exchange.truncated
    assert len(exchange.attempts) == 1


async def test_a_refusal_has_no_answer_but_keeps_what_was_said() -> None:
    async with LoopbackServer() as server:
        server.enqueue(completion(None, refusal="I will not."))
        server.enqueue(completion("ha", finish_reason="content_filter"))
        gateway = _gateway(server)
        spoken, filtered = await gateway.ask(CALL), await gateway.ask(CALL)
        await gateway.aclose()
    assert (spoken.text, spoken.refused, spoken.attempts[0].raw_output) == (None, True, "I will not.")
    assert (filtered.text, filtered.refused, filtered.attempts[0].raw_output) == (None, True, "ha")


async def test_a_reply_of_nothing_but_reasoning_is_an_empty_answer() -> None:
    async with LoopbackServer() as server:
        server.enqueue({**completion(None, reasoning_content="A wins"), "usage": None})
        gateway = _gateway(server)
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert (exchange.text, exchange.error) == ("", None)
    assert (exchange.attempts[0].input_tokens, exchange.attempts[0].output_tokens) == (None, None)


@pytest.mark.parametrize("field", ["content", "refusal"])
async def test_a_reply_that_echoes_the_key_comes_back_without_it(field: str) -> None:
    async with LoopbackServer() as server:
        said = f"Your key is {KEY}, is it not?"
        server.always(completion(said) if field == "content" else completion("", refusal=said))
        gateway = _gateway(server)
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert KEY not in repr(exchange)
    assert exchange.attempts[-1].raw_output == "Your key is [key removed], is it not?"


async def test_no_more_calls_are_under_way_than_the_concurrency_allows() -> None:
    async with LoopbackServer() as server:
        gate = asyncio.Event()
        server.enqueue(hold=gate, times=10)
        gateway = _gateway(server, concurrency=3)
        asking = [asyncio.create_task(gateway.ask(CALL)) for _ in range(10)]
        await server.received(3)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(server.requests) == 3
        gate.set()
        exchanges = await asyncio.gather(*asking)
        await gateway.aclose()
    assert [exchange.text for exchange in exchanges] == ["OK"] * 10


async def test_a_cancelled_call_raises_and_frees_its_place() -> None:
    async with LoopbackServer() as server:
        server.enqueue(hold=asyncio.Event())
        server.enqueue()
        gateway = _gateway(server, concurrency=1)
        asking = asyncio.create_task(gateway.ask(CALL))
        await server.received(1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert exchange.text == "OK"


async def test_a_gateway_that_was_closed_unused_and_twice_opens_again_when_it_is_asked() -> None:
    async with LoopbackServer() as server:
        server.enqueue()
        gateway = _gateway(server)
        await gateway.aclose()
        await gateway.aclose()
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert exchange.text == "OK"


async def test_the_system_clock_tells_the_time_sleeps_and_sets_limits() -> None:
    clock = SystemClock()
    before = clock.now()
    await clock.sleep(0)
    assert clock.now() >= before > 1_700_000_000
    with pytest.raises(TimeoutError):
        async with clock.within(0):
            await asyncio.Event().wait()


def test_an_empty_key_answers_with_the_three_ways_on() -> None:
    with pytest.raises(errors.MissingKey) as missing:
        HttpGateway("https://h.example/api", " \n")
    assert all(way in str(missing.value) for way in ("TAOTOKEN_API_KEY", "judge=local", "judge=simulated"))


@pytest.mark.parametrize("key", ["sk canary", '"sk-canary"', "sk-canary\nX-Other: 1", "sk-canäry-canary", "'canary'"])
def test_a_key_that_no_gateway_gives_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(errors.InvalidInput) as refusal:
        HttpGateway("https://h.example/api", key)
    assert "canary" not in str(refusal.value)


def test_neither_key_nor_address_shows_in_the_repr() -> None:
    gateway = HttpGateway("https://canary.example/api", KEY, simulated=True)
    assert repr(gateway) == "HttpGateway(simulated=True)"
    assert KEY not in str(vars(gateway))


@pytest.mark.parametrize(
    "wrong", [{"model": ""}, {"messages": ()}, {"temperature": -1}, {"max_tokens": 0}, {"json_schema": "[]"}]
)
def test_a_call_that_makes_no_sense_cannot_be_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Call.model_validate({"model": "m", "messages": ASK, **wrong})


def test_nothing_slow_is_imported_before_the_first_call() -> None:
    roots = [str(Path(package.__path__[0]).parent) for package in (misjudge_tools, misjudge_storage)]
    code = (
        "import sys; sys.path.extend(sys.argv[1:])\n"
        "import misjudge_tools.gateway.client as client, misjudge_tools.gateway.local\n"
        "client.HttpGateway('https://h.example/api', 'key')\n"
        "print(sorted({'openai', 'aiohttp', 'httpx2', 'xllamacpp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *roots], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

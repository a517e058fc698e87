"""Every fault of a gateway on a real loopback server: how it ends, after which attempts and waits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import errors
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.transport import open_transport

KEY = "sk-canary-key-0123456789"
PROMPT = "canary-prompt"
SCHEMA = '{"type":"object","properties":{"winner":{"type":"string"}}}'
CALL = Call(model="judge-1", messages=(ChatTurn(role="user", content=PROMPT),), json_schema=SCHEMA, seed=7)
HTML = "<!doctype html><title>Welcome</title>"
LIMITED = {"error": {"message": f"slow down {KEY} {PROMPT}"}}

Script = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class Fault(NamedTuple):
    """A row of the matrix. `ends`: the reply's text, None where it is refused, or the typed error; `attempts`: the
    error of each attempt; `waits`: the lowest and highest of each wait between them, in seconds."""

    name: str
    script: Script
    ends: str | type[errors.GatewayError] | None
    attempts: list[str | None]
    waits: Sequence[tuple[float, float]] = ()
    said: str = ""
    truncated: bool = False


FIRST, SECOND, THIRD = (0.25, 0.5), (0.5, 1.0), (1.0, 2.0)


def _recovers(name: str, error: str, **answer: Any) -> Fault:
    return Fault(f"{name}, then well", [answer, {}], "OK", [error, None], [FIRST])


def _persists(name: str, error: type[errors.GatewayError], **answer: Any) -> Fault:
    return Fault(f"{name}, for ever", [answer] * 9, error, [error.__name__] * 4, [FIRST, SECOND, THIRD])


def _ends_at_once(name: str, error: type[errors.GatewayError], said: str = "", **answer: Any) -> Fault:
    return Fault(f"{name}, once", [answer], error, [error.__name__], said=said)


def _adapts(parameter: str, message: str) -> Fault:
    refusal = {"status": 400, "body": {"error": {"message": message, "param": None}}}
    return Fault(f"400 for {parameter}", [refusal, {}], "OK", ["RequestRefused", None])


def _cut(text: str | None) -> dict[str, Any]:
    return {"body": completion(text, finish_reason="length")}


FAULTS = [
    Fault("no fault", [{}], "OK", [None]),
    _ends_at_once("401", errors.AuthRefused, "TAOTOKEN_API_KEY", status=401, body={"error": {"message": KEY}}),
    _ends_at_once("403", errors.AuthRefused, status=403, body=HTML),
    _ends_at_once("402", errors.AuthRefused, "no credit", status=402),
    _ends_at_once("a web page with 200", errors.WrongAddress, "web page", body=HTML),
    _ends_at_once("a redirect", errors.WrongAddress, "302", status=302, headers={"Location": "https://h.invalid/"}),
    _ends_at_once(
        "a redirect to a web page", errors.WrongAddress, "302", status=302, headers={"Location": "/login"}, body=HTML
    ),
    Fault("404 without /v1", [{"status": 404}, {}], "OK", ["WrongAddress", None]),
    Fault("404 in both forms", [{"status": 404}] * 2, errors.WrongAddress, ["WrongAddress"] * 2, said="base URL (404)"),
    _ends_at_once("405", errors.WrongAddress, status=405),
    _ends_at_once("400", errors.RequestRefused, status=400, body={"error": {"message": "no"}}),
    _ends_at_once("413", errors.ContextOverflow, status=413),
    _ends_at_once("an unknown model", errors.RequestRefused, "model", status=404, body={"error": "model not found"}),
    _ends_at_once("no quota", errors.AuthRefused, status=429, body={"error": {"code": "insufficient_quota"}}),
    _adapts("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model."),
    _adapts("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
    _adapts("seed", "unknown field seed"),
    _adapts("response_format", "This response_format type is unavailable now"),
    _adapts("json_schema", "json_schema is not supported"),
    *[_recovers(str(status), "ProviderFailed", status=status) for status in (409, 425, *range(500, 530))],
    _recovers("408", "CallTimeout", status=408),
    _recovers("429", "RateLimited", status=429),
    _recovers("an error with 200", "ProviderFailed", body={"error": {"message": "overloaded"}}),
    _recovers("junk for JSON", "ProviderFailed", body="{choices:"),
    _recovers("choices missing", "ProviderFailed", body={"object": "chat.completion"}),
    _recovers("choices null", "ProviderFailed", body={"choices": None}),
    _recovers("choices empty", "ProviderFailed", body={"choices": []}),
    _recovers("a reset before the answer", "Unreachable", cut="reset"),
    _recovers("a reset inside the body", "Unreachable", cut="mid_body"),
    _recovers("broken compression", "Unreachable", body=b"abc", headers={"Content-Encoding": "gzip"}),
    _persists("500", errors.ProviderFailed, status=500, body=HTML),
    Fault(
        # The rate halves each time: after 0.5, 1 and 2 s of back-off, requests are 4 and then 8 s apart.
        "429, for ever",
        [{"status": 429, "body": LIMITED}] * 9,
        errors.RateLimited,
        ["RateLimited"] * 4,
        [FIRST, SECOND, (3.0, 3.5), THIRD, (6.0, 7.0)],
    ),
    Fault("a cut reply, then a whole one", [_cut("half"), {}], "OK", [None, None]),
    Fault("nothing but reasoning in the limit", [_cut(None)] * 2, "", [None, None], truncated=True),
    Fault("cut at four times the limit too", [_cut("half")] * 2, "half", [None, None], truncated=True),
    Fault(
        "cut, and more is refused", [_cut("half"), {"status": 400}], "half", [None, "RequestRefused"], truncated=True
    ),
    Fault("a refusal", [{"body": completion(None, refusal="I will not.")}], None, [None]),
    Fault("a filtered reply", [{"body": completion("ha", finish_reason="content_filter")}], None, [None]),
    Fault("a filtered prompt", [{"status": 400, "body": {"error": {"code": "content_filter"}}}], None, [None]),
    Fault("usage missing", [{"body": {**completion(), "usage": None}}], "OK", [None]),
    Fault("reasoning is not the answer", [{"body": completion(None, reasoning_content="canary")}], "", [None]),
    _persists("408", errors.CallTimeout, status=408),
    _persists("choices empty", errors.ProviderFailed, body={"choices": []}),
    _persists("resets", errors.Unreachable, cut="reset"),
    _persists("529", errors.ProviderFailed, status=529),
    Fault(
        "429 with Retry-After in seconds",
        [{"status": 429, "headers": {"Retry-After": "17"}}, {}],
        "OK",
        ["RateLimited", None],
        [(17, 17)],
    ),
    Fault(
        "429 with Retry-After as a date",
        [
            {
                "status": 429,
                "headers": {
                    "Retry-After": "Fri, 15 Jan 2027 08:02:10 GMT",
                    "Date": "Fri, 15 Jan 2027 08:00:00 GMT",
                },
            },
            {},
        ],
        "OK",
        ["RateLimited", None],
        [(130, 130)],
    ),
    Fault(
        "503 with Retry-After zero",
        [{"status": 503, "headers": {"Retry-After": "0"}}, {}],
        "OK",
        ["ProviderFailed", None],
        [FIRST],
    ),
    Fault(
        "429 with Retry-After beyond the deadline",
        [{"status": 429, "headers": {"Retry-After": "600"}}],
        errors.RateLimited,
        ["RateLimited"],
        said="600 s, longer than the deadline of 180 s",
    ),
    Fault(
        "fails in three ways, then well",
        [{"status": 500}, {"cut": "reset"}, {"status": 429}, {}],
        "OK",
        ["ProviderFailed", "Unreachable", "RateLimited", None],
        [FIRST, SECOND, THIRD],
    ),
    Fault(
        "a web page, but the address has worked",
        [{"status": 500}, {}, {"body": HTML}],
        "OK",
        ["ProviderFailed", None],
        [FIRST],
    ),
]


def _check_waits(slept: list[float], waits: Sequence[tuple[float, float]]) -> None:
    assert len(slept) == len(waits)
    assert all(low <= seconds <= high for seconds, (low, high) in zip(slept, waits, strict=True))


def _check_end(exchange: Exchange, fault: Fault) -> None:
    if fault.ends is None or isinstance(fault.ends, str):
        assert (exchange.text, exchange.error) == (fault.ends, None)
    else:
        assert exchange.text is None
        assert type(exchange.error) is fault.ends
    assert exchange.refused == (fault.ends is None)
    assert exchange.truncated == fault.truncated


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_ends_in_a_reply_or_its_typed_error_after_bounded_attempts(
    fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    clock = VirtualClock()
    async with LoopbackServer() as server:
        for answer in fault.script:
            server.enqueue(**answer)
        gateway = HttpGateway(server.base_url, KEY, clock=clock)
        exchange = await gateway.ask(CALL)
        await gateway.aclose()

    _check_end(exchange, fault)
    assert [attempt.error for attempt in exchange.attempts] == fault.attempts
    assert [attempt.number for attempt in exchange.attempts] == list(range(1, len(fault.attempts) + 1))
    assert len(server.requests) == len(fault.attempts)
    _check_waits(clock.slept, fault.waits)
    assert fault.said in str(exchange.error or "")
    told = f"{exchange!r} {exchange.error} {gateway!r} {caplog.text}"
    assert "canary" not in told


async def test_a_stray_web_page_after_good_answers_is_retried() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        gateway = HttpGateway(server.base_url, KEY, clock=clock)
        server.enqueue()
        await gateway.ask(CALL)
        server.enqueue(HTML)
        server.enqueue(status=404)
        server.enqueue()
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert exchange.text == "OK"
    assert [attempt.error for attempt in exchange.attempts] == ["ProviderFailed", "ProviderFailed", None]


@pytest.mark.parametrize("cut", [None, "stall"], ids=["slow first byte", "stalled body"])
async def test_an_answer_that_does_not_come_in_time_is_tried_again_until_the_deadline(cut: Any) -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        for _ in range(9):
            server.enqueue(hold=asyncio.Event(), cut=cut)
        gateway = HttpGateway(server.base_url, KEY, timeout_s=80, deadline_s=180, clock=clock)
        deadline = clock.now() + 180
        asking = asyncio.create_task(gateway.ask(CALL))
        for attempt in (1, 2):
            await server.received(attempt)
            clock.advance(80)
        await server.received(3)
        clock.advance(deadline - clock.now())
        exchange = await asking
        await gateway.aclose()
    assert isinstance(exchange.error, errors.CallTimeout)
    assert [attempt.error for attempt in exchange.attempts] == ["CallTimeout"] * 3
    assert exchange.attempts[0].latency_ms == 80_000
    assert clock.now() == deadline
    assert len(server.requests) == 3


def test_an_address_with_its_version_twice_is_refused_before_any_attempt() -> None:
    with pytest.raises(errors.InvalidInput, match="twice"):
        HttpGateway("https://h.example/v1/v1", KEY)


async def test_no_attempt_starts_when_the_deadline_has_passed() -> None:
    async with LoopbackServer() as server:
        gateway = HttpGateway(server.base_url, KEY, deadline_s=0, clock=VirtualClock())
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert isinstance(exchange.error, errors.CallTimeout)
    assert (exchange.attempts, server.requests) == ((), [])


@pytest.mark.parametrize("host", ["h..invalid", "☃.invalid", "a" * 70 + ".invalid"])
async def test_a_host_name_that_cannot_exist_is_unreachable(host: str) -> None:
    gateway = HttpGateway(f"http://{host}/api", KEY, max_attempts=1, clock=VirtualClock())
    exchange = await gateway.ask(CALL)
    await gateway.aclose()
    assert isinstance(exchange.error, errors.Unreachable)
    assert "host name" in str(exchange.error)


async def test_a_server_that_speaks_no_http_is_unreachable() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail ready canary\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        gateway = HttpGateway(f"http://127.0.0.1:{port}", KEY, max_attempts=2, clock=VirtualClock())
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert isinstance(exchange.error, errors.Unreachable)
    assert "broke" in str(exchange.error)
    assert len(exchange.attempts) == 2


async def test_a_closed_port_is_unreachable_and_says_to_check_the_host(closed_port: int) -> None:
    gateway = HttpGateway(f"http://127.0.0.1:{closed_port}", KEY, clock=VirtualClock())
    exchange = await gateway.ask(CALL)
    await gateway.aclose()
    assert isinstance(exchange.error, errors.Unreachable)
    assert "host name" in str(exchange.error)
    assert len(exchange.attempts) == 4


async def test_https_to_a_server_without_it_says_so() -> None:
    async with LoopbackServer() as server:
        gateway = HttpGateway(server.base_url.replace("http:", "https:"), KEY, max_attempts=1, clock=VirtualClock())
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert isinstance(exchange.error, errors.Unreachable)
    assert "https" in str(exchange.error)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("scheme", ["http://", ""])
async def test_a_dead_proxy_is_named_as_the_cause_with_the_way_out(
    variable: str, scheme: str, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, f"{scheme}127.0.0.1:{closed_port}")
    gateway = HttpGateway("http://gateway.invalid/api", KEY, max_attempts=2, clock=VirtualClock())
    exchange = await gateway.ask(CALL)
    await gateway.aclose()
    assert isinstance(exchange.error, errors.Unreachable)
    assert str(exchange.error).startswith("The local proxy failed")
    assert "unset" in str(exchange.error)
    assert "MISJUDGE_TRUST_ENV=0" in str(exchange.error)
    assert [attempt.error for attempt in exchange.attempts] == ["Unreachable"] * 2


@pytest.mark.parametrize("value", ["ftp://canary.invalid", "http://canary:port"])
async def test_a_proxy_that_cannot_be_used_is_an_error_of_the_call_and_not_a_crash(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", value)
    gateway = HttpGateway("http://gateway.invalid/api", KEY, max_attempts=1, clock=VirtualClock())
    exchange = await gateway.ask(CALL)
    await gateway.aclose()
    assert isinstance(exchange.error, errors.Unreachable)
    assert "proxy" in str(exchange.error)
    assert "canary" not in str(exchange.error)


async def test_a_working_proxy_is_used_for_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LoopbackServer() as proxy:
        proxy.enqueue()
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
        gateway = HttpGateway("http://gateway.invalid/api", KEY, max_attempts=1, clock=VirtualClock())
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert exchange.text == "OK"
    assert proxy.requests[0].headers["host"] == "gateway.invalid"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_server_on_this_machine_is_never_reached_through_a_proxy(
    host: str, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port}")
    async with LoopbackServer() as server:
        server.enqueue()
        gateway = HttpGateway(server.base_url.replace("127.0.0.1", host), KEY, clock=VirtualClock())
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert exchange.text == "OK"


async def test_the_environment_is_not_trusted_when_told_so(closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port}")
    async with LoopbackServer() as server:
        server.enqueue()
        transport = open_transport(KEY, trust_env=False, connections=1)
        assert not isinstance(transport, errors.Unreachable)
        answer = await transport.send(f"{server.base_url}/chat/completions", b"{}")
        await transport.aclose()
    assert not isinstance(answer, errors.Unreachable)
    assert answer.status == 200

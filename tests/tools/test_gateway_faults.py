"""Faults as the gateway alone sees them: each wait between attempts, its limits, connections, proxies, and TLS.

How a fault ends for a run, and what is stored and said of it, is in the fault matrix.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import errors
from misjudge_tools.gateway.calls import Call, ChatTurn
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.replies import Answer
from misjudge_tools.gateway.transport import open_transport

KEY = "sk-canary-key-0123456789"
CALL = Call(model="judge-1", messages=(ChatTurn(role="user", content="Which?"),))


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


class Waits(NamedTuple):
    """The lowest and highest of each wait after these answers, in seconds; `failed` where the call ends in an error."""

    name: str
    script: list[dict[str, Any]]
    waits: Sequence[tuple[float, float]]
    failed: bool = False


FIRST, SECOND, THIRD = (0.25, 0.5), (0.5, 1.0), (1.0, 2.0)
DATES = {"Retry-After": "Fri, 15 Jan 2027 08:02:10 GMT", "Date": "Fri, 15 Jan 2027 08:00:00 GMT"}

WAITS = [
    Waits("none without a fault", [{}], []),
    Waits("doubling", [{"status": 500}] * 9, [FIRST, SECOND, THIRD], failed=True),
    # The rate halves each time: after 0.5, 1 and 2 s of back-off, requests are 4 and then 8 s apart.
    Waits("in turn too after 429", [{"status": 429}] * 9, [FIRST, SECOND, (3, 3.5), THIRD, (6, 7)], failed=True),
    Waits(
        "doubling over other faults", [{"status": 500}, {"cut": "reset"}, {"status": 429}, {}], [FIRST, SECOND, THIRD]
    ),
    Waits("as long as asked", [{"status": 429, "headers": {"Retry-After": "17"}}, {}], [(17, 17)]),
    Waits("until the date asked", [{"status": 429, "headers": DATES}, {}], [(130, 130)]),
    Waits("no shorter than usual", [{"status": 503, "headers": {"Retry-After": "0"}}, {}], [FIRST]),
    Waits("not beyond the deadline", [{"status": 429, "headers": {"Retry-After": "600"}}], [], failed=True),
    Waits("none for another parameter", [{"status": 400, "body": {"error": {"message": "no temperature"}}}, {}], []),
    Waits("none for the other address", [{"status": 404}, {}], []),
    Waits("none for a larger limit", [{"body": completion("half", finish_reason="length")}, {}], []),
]


@pytest.mark.parametrize("row", WAITS, ids=lambda row: row.name)
async def test_the_waits_between_attempts_are(row: Waits) -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        for answer in row.script:
            server.enqueue(**answer)
        gateway = HttpGateway(server.base_url, KEY, clock=clock)
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert (exchange.text is None) == row.failed
    assert [attempt.number for attempt in exchange.attempts] == list(range(1, len(server.requests) + 1))
    assert len(clock.slept) == len(row.waits)
    assert all(low <= seconds <= high for seconds, (low, high) in zip(clock.slept, row.waits, strict=True))


async def test_every_status_from_500_to_529_is_tried_again() -> None:
    async with LoopbackServer() as server:
        gateway = HttpGateway(server.base_url, KEY, clock=VirtualClock())
        for status in range(500, 530):
            server.enqueue(status=status)
            server.enqueue()
            exchange = await gateway.ask(CALL)
            assert [attempt.error for attempt in exchange.attempts] == ["ProviderFailed", None], status
        await gateway.aclose()


async def test_an_attempt_and_a_call_take_no_longer_than_was_set() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.enqueue(hold=asyncio.Event(), times=9)
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


async def test_a_key_that_a_model_echoes_in_json_escapes_is_taken_out_too() -> None:
    body = json.dumps(completion(f"Your key is {KEY}.")).replace("sk-", "sk\\u002d")
    async with LoopbackServer() as server:
        server.enqueue(body)
        gateway = HttpGateway(server.base_url, KEY, clock=VirtualClock())
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert KEY not in body
    assert (exchange.text, KEY in repr(exchange)) == ("Your key is [key removed].", False)


async def test_no_attempt_starts_when_the_deadline_has_passed() -> None:
    async with LoopbackServer() as server:
        gateway = HttpGateway(server.base_url, KEY, deadline_s=0, clock=VirtualClock())
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert isinstance(exchange.error, errors.CallTimeout)
    assert (exchange.attempts, server.requests) == ((), [])


@pytest.mark.parametrize(
    ("timeout_s", "deadline_s", "attempts"),
    [(60, 12, 2), (60, 11, 2), (60, 10.5, 1), (0.25, 10.5, 2), (0.25, 10.125, 1), (60, 10, 1)],
)
async def test_no_attempt_starts_with_less_than_a_second_or_its_own_limit_left(
    timeout_s: float, deadline_s: float, attempts: int
) -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.enqueue(status=503, headers={"Retry-After": "10"})
        server.enqueue()
        gateway = HttpGateway(server.base_url, KEY, timeout_s=timeout_s, deadline_s=deadline_s, clock=clock)
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert len(server.requests) == len(exchange.attempts) == attempts
    assert (exchange.text, len(clock.slept)) == (("OK", 1) if attempts == 2 else (None, 0))
    if attempts == 1:
        assert f"asks to wait 10 s, longer than the deadline of {deadline_s:g} s" in str(exchange.error)


async def test_a_deadline_below_a_second_still_allows_one_attempt() -> None:
    async with LoopbackServer() as server:
        server.enqueue()
        gateway = HttpGateway(server.base_url, KEY, deadline_s=0.5, clock=VirtualClock())
        exchange = await gateway.ask(CALL)
        await gateway.aclose()
    assert exchange.text == "OK"


@pytest.mark.parametrize(("limit_s", "said"), [(10 / 3, "3.33 s"), (0.05, "0.05 s"), (60, "60 s"), (3600, "3600 s")])
async def test_the_time_that_an_attempt_took_is_said_in_three_digits(limit_s: float, said: str) -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.enqueue(hold=asyncio.Event())
        gateway = HttpGateway(server.base_url, KEY, timeout_s=limit_s, deadline_s=9_000, max_attempts=1, clock=clock)
        asking = asyncio.create_task(gateway.ask(CALL))
        await server.received(1)
        clock.advance(limit_s)
        exchange = await asking
        await gateway.aclose()
    assert f"did not answer within {said}." in str(exchange.error)


@pytest.mark.parametrize("host", ["h..invalid", "☃.invalid", "a" * 70 + ".invalid"])
async def test_a_host_name_that_cannot_exist_is_unreachable(host: str) -> None:
    gateway = HttpGateway(f"http://{host}/api", KEY, max_attempts=1, clock=VirtualClock())
    exchange = await gateway.ask(CALL)
    await gateway.aclose()
    assert isinstance(exchange.error, errors.Unreachable)
    assert "its address" in str(exchange.error)


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
    assert "its address" in str(exchange.error)
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


@pytest.mark.parametrize(
    "value", ["ftp://canary.invalid", "http://canary:port", "http://canary%3Acanary:x@127.0.0.1:9"]
)
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
    assert isinstance(answer, Answer)
    assert answer.status == 200

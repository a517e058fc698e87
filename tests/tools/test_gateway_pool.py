from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from pydantic import SecretStr

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage.errors import AuthRefused, CallTimeout, InvalidInput, MissingKey
from misjudge_tools.gateway.calls import Call, ChatTurn
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.settings import Endpoint

KEY = SecretStr("sk-canary-key-0123456789")
CALL = Call(model="judge-1", messages=(ChatTurn(role="user", content="Which?"),))


async def test_all_who_ask_for_an_endpoint_share_its_gateway_and_what_it_has_learnt() -> None:
    async with LoopbackServer() as server:
        server.enqueue({"error": {"message": "no temperature"}}, status=400)
        server.always()
        gateways = Gateways(clock=VirtualClock())
        first = await gateways.at(Endpoint(base_url=server.base_url, key=KEY)).ask(CALL)
        second = await gateways.at(Endpoint(base_url=server.base_url, key=KEY)).ask(CALL)
        await gateways.aclose()
    assert (first.text, second.text) == ("OK", "OK")
    assert [len(exchange.attempts) for exchange in (first, second)] == [2, 1]


@pytest.mark.parametrize("other", [{"base_url": "https://other.example/api"}, {"key": SecretStr("sk-other")}])
async def test_another_address_or_key_has_a_gateway_of_its_own(other: dict[str, Any]) -> None:
    gateways = Gateways()
    endpoint = Endpoint(base_url="https://h.example/api", key=KEY)
    assert gateways.at(endpoint) is gateways.at(endpoint.model_copy())
    assert gateways.at(endpoint.model_copy(update=other)) is not gateways.at(endpoint)
    await gateways.aclose()


async def test_the_limits_of_the_endpoint_are_in_force() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.always()
        gateways = Gateways(clock=clock)
        gateway = gateways.at(Endpoint(base_url=server.base_url, key=KEY, requests_per_minute=30))
        started = clock.now()
        for _ in range(4):
            await gateway.ask(CALL)
        await gateways.aclose()
    assert clock.now() - started == pytest.approx(6, abs=1e-3)


async def test_profiles_of_one_address_and_key_share_its_limits_even_where_they_differ_in_patience() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.always()
        gateways = Gateways(clock=clock)
        limited = Endpoint(base_url=server.base_url, key=KEY, requests_per_minute=30)
        started = clock.now()
        for timeout_s in (10, 20, 30, 40):
            await gateways.at(limited.model_copy(update={"timeout_s": timeout_s})).ask(CALL)
        await gateways.aclose()
    assert clock.now() - started == pytest.approx(6, abs=1e-3)


async def test_the_tokens_a_minute_of_the_endpoint_are_in_force() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.always({**completion(), "usage": {"prompt_tokens": 500, "completion_tokens": 100}})
        gateways = Gateways(clock=clock)
        gateway = gateways.at(Endpoint(base_url=server.base_url, key=KEY, tokens_per_minute=600))
        started = clock.now()
        for _ in range(2):
            await gateway.ask(CALL)
        await gateways.aclose()
    assert clock.now() - started == pytest.approx(60, abs=1.1)


async def test_the_attempts_and_the_deadline_of_the_endpoint_are_in_force() -> None:
    async with LoopbackServer() as server:
        server.enqueue(status=500, times=2)
        server.enqueue(status=429, headers={"Retry-After": "50"})
        gateways = Gateways(clock=VirtualClock())
        gateway = gateways.at(Endpoint(base_url=server.base_url, key=KEY, max_attempts=2, deadline_s=40))
        failed, limited = await gateway.ask(CALL), await gateway.ask(CALL)
        await gateways.aclose()
    assert [len(exchange.attempts) for exchange in (failed, limited)] == [2, 1]
    assert "deadline of 40 s" in str(limited.error)


async def test_the_timeout_and_the_concurrency_of_the_endpoint_are_in_force() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.enqueue(hold=asyncio.Event(), times=2)
        server.always()
        gateways = Gateways(clock=clock)
        endpoint = Endpoint(base_url=server.base_url, key=KEY, max_attempts=1, timeout_s=7, concurrency=2)
        asking = [asyncio.create_task(gateways.at(endpoint).ask(CALL)) for _ in range(3)]
        await server.received(2)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(server.requests) == 2
        clock.advance(7)
        exchanges = await asyncio.gather(*asking)
        await gateways.aclose()
    assert [type(exchange.error) for exchange in exchanges] == [CallTimeout, CallTimeout, type(None)]


@pytest.mark.parametrize(("trusted", "cause"), [(True, "proxy"), (False, "its address")])
async def test_the_proxies_of_the_environment_count_where_the_endpoint_trusts_it(
    trusted: bool, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    for name in ("all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
    gateways = Gateways(clock=VirtualClock())
    endpoint = Endpoint(base_url="http://h..invalid/api", key=KEY, max_attempts=1, trust_env=trusted)
    exchange = await gateways.at(endpoint).ask(CALL)
    await gateways.aclose()
    assert cause in str(exchange.error)


async def test_after_closing_an_endpoint_is_opened_anew() -> None:
    async with LoopbackServer() as server:
        server.always()
        gateways = Gateways(clock=VirtualClock())
        endpoint = Endpoint(base_url=server.base_url, key=KEY)
        before = gateways.at(endpoint)
        await before.ask(CALL)
        await gateways.aclose()
        await gateways.aclose()
        after = gateways.at(endpoint)
        exchange = await after.ask(CALL)
        await gateways.aclose()
    assert after is not before
    assert exchange.text == "OK"


@pytest.mark.parametrize("key", [None, SecretStr("")])
def test_without_a_key_the_variable_of_the_profile_is_named_with_the_ways_on(key: SecretStr | None) -> None:
    with pytest.raises(MissingKey) as missing:
        Gateways().at(Endpoint(key=key, key_variable="STRONG_KEY"))
    assert all(way in str(missing.value) for way in ("Set STRONG_KEY", "judge=local", "judge=simulated"))
    assert "TAOTOKEN" not in str(missing.value)


async def test_a_refused_key_is_looked_for_in_the_variable_of_the_profile() -> None:
    async with LoopbackServer() as server:
        server.enqueue(status=401)
        gateways = Gateways(clock=VirtualClock())
        endpoint = Endpoint(base_url=server.base_url, key=KEY, key_variable="STRONG_KEY")
        exchange = await gateways.at(endpoint).ask(CALL)
        await gateways.aclose()
    assert isinstance(exchange.error, AuthRefused)
    assert "STRONG_KEY" in str(exchange.error)
    assert "TAOTOKEN" not in str(exchange.error)


@pytest.mark.parametrize("wrong", [{"base_url": "https://h.example/v1/v1"}, {"key": SecretStr("sk canary")}])
def test_an_endpoint_that_cannot_be_used_is_refused_when_it_is_asked_for(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        Gateways().at(Endpoint(key=KEY, key_variable="STRONG_KEY").model_copy(update=wrong))
    assert "canary" not in str(refused.value)
    assert ("STRONG_KEY" in str(refused.value)) == ("key" in wrong)

"""What calls of one gateway do to each other: limits, pauses, deadlines, and storms of 429."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import errors
from misjudge_storage.types import Role
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.gateway.client import HttpGateway

KEY = "sk-canary-key-0123456789"
FOR_EVER = 10.0**9


class HeldClock(VirtualClock):
    """Sleepers wait until they are let go, which moves the clock by the longest sleep."""

    def __init__(self) -> None:
        super().__init__()
        self._wake = asyncio.Event()
        self._asleep = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._asleep.set()
        end = self.now() + seconds
        await self._wake.wait()
        self.advance(max(0.0, end - self.now()))

    async def asleep(self, count: int) -> None:
        """Waits until this many have gone to sleep in all."""
        async with asyncio.timeout(30):
            while len(self.slept) < count:
                self._asleep.clear()
                await self._asleep.wait()

    def let_go(self) -> None:
        self._wake.set()


def _call(text: str = "Which?", *, model: str = "judge-1", role: Role = "judge") -> Call:
    return Call(model=model, role=role, messages=(ChatTurn(role="user", content=text),))


def _asked(server: LoopbackServer) -> list[str]:
    return [request.body["messages"][0]["content"] for request in server.requests]


async def _all(gateway: HttpGateway, calls: Sequence[Call]) -> list[Exchange]:
    exchanges = await asyncio.gather(*[gateway.ask(call) for call in calls])
    await gateway.aclose()
    return exchanges


def test_a_call_is_a_judges_unless_it_says_otherwise() -> None:
    assert Call(model="m", messages=(ChatTurn(role="user", content="?"),)).role == "judge"


async def test_requests_start_no_faster_than_the_limit_of_each_model() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.always()
        gateway = HttpGateway(server.base_url, KEY, requests_per_minute=60, clock=clock)
        started = clock.now()
        await asyncio.gather(*[gateway.ask(_call(model=model)) for model in ("m1", "m2") for _ in range(5)])
        passed = clock.now() - started
        await gateway.aclose()
    assert passed == pytest.approx(4, abs=1e-3)
    assert len(server.requests) == 10


async def test_the_tokens_of_a_minute_are_those_that_replies_state() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.always({**completion(), "usage": {"prompt_tokens": 9_000, "completion_tokens": 1_000}})
        gateway = HttpGateway(server.base_url, KEY, tokens_per_minute=60_000, clock=clock)
        started = clock.now()
        for _ in range(4):
            await gateway.ask(_call())
        await gateway.aclose()
    # The three replies before the last used 30,000 tokens, of which a second's worth was saved up.
    assert clock.now() - started == pytest.approx(30, abs=1.1)


async def test_without_usage_the_estimate_paces_and_is_not_recorded() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.always({**completion(), "usage": None})
        gateway = HttpGateway(server.base_url, KEY, tokens_per_minute=60_000, clock=clock)
        started = clock.now()
        exchanges = [await gateway.ask(_call("é" * 16_000)) for _ in range(3)]
        await gateway.aclose()
    # 32,000 bytes count as 8,000 tokens, and the reply as the 1,024 that it may have.
    assert clock.now() - started == pytest.approx(2 * 9.024, abs=1.1)
    assert {(attempt.input_tokens, attempt.output_tokens) for one in exchanges for attempt in one.attempts} == {
        (None, None)
    }


async def test_a_request_that_was_too_many_used_no_tokens() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.enqueue(status=429)
        server.always()
        gateway = HttpGateway(server.base_url, KEY, tokens_per_minute=60_000, clock=clock)
        started = clock.now()
        exchange = await gateway.ask(_call("e" * 32_000))
        await gateway.aclose()
    assert exchange.text == "OK"
    assert clock.now() - started <= 0.5


async def test_a_retry_goes_before_a_new_call() -> None:
    clock = HeldClock()
    async with LoopbackServer() as server:
        gate = asyncio.Event()
        server.enqueue(status=503)
        server.enqueue(hold=gate)
        server.always()
        gateway = HttpGateway(server.base_url, KEY, concurrency=1, clock=clock)
        failing = asyncio.create_task(gateway.ask(_call("fails first")))
        await clock.asleep(1)
        asking = [asyncio.create_task(gateway.ask(_call(text))) for text in ("held", "new")]
        await server.received(2)
        clock.let_go()
        for _ in range(10):
            await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(failing, *asking)
        await gateway.aclose()
    assert _asked(server) == ["fails first", "held", "fails first", "new"]


async def test_the_roles_take_turns_at_the_gateway() -> None:
    async with LoopbackServer() as server:
        gate = asyncio.Event()
        server.enqueue(hold=gate)
        server.always()
        gateway = HttpGateway(server.base_url, KEY, concurrency=1, clock=VirtualClock())
        first = asyncio.create_task(gateway.ask(_call("first")))
        await server.received(1)
        judges = [asyncio.create_task(gateway.ask(_call(f"judge {n}"))) for n in range(3)]
        agents = [asyncio.create_task(gateway.ask(_call(f"agent {n}", role="agent"))) for n in range(2)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *judges, *agents)
        await gateway.aclose()
    assert _asked(server) == ["first", "judge 0", "agent 0", "judge 1", "agent 1", "judge 2"]


async def test_a_call_that_backs_off_leaves_its_place_to_others() -> None:
    clock = HeldClock()
    async with LoopbackServer() as server:
        server.enqueue(status=503)
        server.always()
        gateway = HttpGateway(server.base_url, KEY, concurrency=1, clock=clock)
        failing = asyncio.create_task(gateway.ask(_call("fails first")))
        await clock.asleep(1)
        assert (await gateway.ask(_call("meanwhile"))).text == "OK"
        clock.let_go()
        exchange = await failing
        await gateway.aclose()
    assert exchange.text == "OK"
    assert _asked(server) == ["fails first", "meanwhile", "fails first"]


async def test_the_wait_for_the_first_turn_does_not_count_towards_the_deadline() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        gate = asyncio.Event()
        server.enqueue(hold=gate)
        server.enqueue(status=429, headers={"Retry-After": "170"})
        server.enqueue()
        gateway = HttpGateway(server.base_url, KEY, concurrency=1, timeout_s=180, deadline_s=180, clock=clock)
        first = asyncio.create_task(gateway.ask(_call("first")))
        await server.received(1)
        second = asyncio.create_task(gateway.ask(_call("second")))
        await asyncio.sleep(0)
        clock.advance(179)
        gate.set()
        exchanges = await asyncio.gather(first, second)
        await gateway.aclose()
    assert [exchange.text for exchange in exchanges] == ["OK", "OK"]
    assert [attempt.error for attempt in exchanges[1].attempts] == ["RateLimited", None]


async def test_the_wait_for_a_later_turn_ends_at_the_deadline_with_the_last_failure() -> None:
    clock = HeldClock()
    async with LoopbackServer() as server:
        gate = asyncio.Event()
        server.enqueue(status=503)
        server.enqueue(hold=gate)
        gateway = HttpGateway(server.base_url, KEY, concurrency=1, timeout_s=180, deadline_s=180, clock=clock)
        failing = asyncio.create_task(gateway.ask(_call("fails first")))
        await clock.asleep(1)
        clock.advance(10)
        other = asyncio.create_task(gateway.ask(_call("other")))
        await server.received(2)
        clock.let_go()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not failing.done()
        clock.advance(170)
        exchange = await failing
        gate.set()
        assert (await other).text == "OK"
        await gateway.aclose()
    assert isinstance(exchange.error, errors.ProviderFailed)
    assert len(exchange.attempts) == 1
    assert _asked(server) == ["fails first", "other"]


async def test_a_wait_that_the_gateway_asks_for_holds_up_all_calls_of_the_model_and_no_others() -> None:
    clock = HeldClock()
    async with LoopbackServer() as server:
        server.enqueue(status=429, headers={"Retry-After": "30"})
        server.always()
        gateway = HttpGateway(server.base_url, KEY, clock=clock)
        limited = asyncio.create_task(gateway.ask(_call("limited")))
        await clock.asleep(1)
        waits = asyncio.create_task(gateway.ask(_call("waits")))
        await clock.asleep(2)
        assert (await gateway.ask(_call("other", model="judge-2"))).text == "OK"
        assert clock.slept == [30, 30]
        clock.let_go()
        assert [one.text for one in await asyncio.gather(limited, waits)] == ["OK", "OK"]
        await gateway.aclose()
    assert _asked(server)[:2] == ["limited", "other"]


async def test_a_wait_beyond_the_deadline_holds_up_the_other_calls_no_longer_than_the_deadline() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.enqueue(status=429, headers={"Retry-After": "86400"})
        server.always()
        gateway = HttpGateway(server.base_url, KEY, deadline_s=180, clock=clock)
        limited = await gateway.ask(_call("limited"))
        started = clock.now()
        after = await gateway.ask(_call("after"))
        await gateway.aclose()
    assert isinstance(limited.error, errors.RateLimited)
    assert (after.text, clock.now() - started) == ("OK", 180)


async def test_a_refused_key_asks_nobody_to_wait() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.enqueue(status=401, headers={"Retry-After": "30"})
        server.always()
        gateway = HttpGateway(server.base_url, KEY, clock=clock)
        refused = await gateway.ask(_call())
        assert (await gateway.ask(_call())).text == "OK"
        await gateway.aclose()
    assert isinstance(refused.error, errors.AuthRefused)
    assert clock.slept == []


async def test_an_endless_storm_of_429_ends_every_call_after_its_attempts() -> None:
    async with LoopbackServer() as server:
        server.always({"error": {"message": "slow down"}}, status=429)
        gateway = _stormy(server)
        exchanges = await _all(gateway, [_call(f"{n}") for n in range(60)])
    assert {type(exchange.error) for exchange in exchanges} == {errors.RateLimited}
    assert [len(exchange.attempts) for exchange in exchanges] == [4] * 60
    assert len(server.requests) == 240


async def test_a_storm_of_429_that_ends_costs_no_call_more_than_its_attempts() -> None:
    async with LoopbackServer() as server:
        server.enqueue(status=429, times=40)
        server.always()
        exchanges = await _all(_stormy(server), [_call(f"{n}") for n in range(60)])
    assert sum(exchange.text == "OK" for exchange in exchanges) >= 50
    assert all(len(exchange.attempts) <= 4 for exchange in exchanges)
    assert sum(len(exchange.attempts) for exchange in exchanges) == len(server.requests)


async def test_in_a_storm_no_call_lasts_longer_than_its_deadline() -> None:
    clock = VirtualClock()
    async with LoopbackServer() as server:
        server.always(status=429)
        gateway = HttpGateway(server.base_url, KEY, max_attempts=1000, deadline_s=180, clock=clock)
        started = clock.now()
        exchange = await gateway.ask(_call())
        await gateway.aclose()
    assert isinstance(exchange.error, errors.RateLimited)
    assert clock.now() - started <= 180
    assert 10 <= len(exchange.attempts) <= 40


def _stormy(server: LoopbackServer) -> HttpGateway:
    """The clock moves for every sleeper, so that only attempts can end a call."""
    options: dict[str, Any] = {"timeout_s": FOR_EVER, "deadline_s": FOR_EVER, "concurrency": 8}
    return HttpGateway(server.base_url, KEY, clock=VirtualClock(), **options)

"""Turns at a gateway on virtual time: who starts, when, and that nobody is forgotten."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.types import Role
from misjudge_tools.gateway.backoff import backoff
from misjudge_tools.gateway.limits import Limiter, Turn
from misjudge_tools.gateway.pace import Signal

T0 = 1_800_000_000.0
ROLES: tuple[Role, ...] = ("agent", "user_sim", "judge")
REPLIED = Signal(replied=True)


class Timeline:
    """Virtual time: when nothing else can go on, the earliest sleeper wakes."""

    def __init__(self) -> None:
        self._now = T0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._numbers), sleeper))
        await sleeper

    def within(self, seconds: float) -> AbstractAsyncContextManager[object]:
        raise NotImplementedError

    async def settle(self) -> None:
        """Lets everything go on that can without time passing."""
        for _ in range(12):
            await asyncio.sleep(0)

    async def run(self, *coroutines: Coroutine[Any, Any, None]) -> None:
        """Runs these to their end, a day of virtual time at most, and checks that nothing is left over."""
        tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
        await self.settle()
        while not all(task.done() for task in tasks):
            assert self._sleepers, "everybody waits, but nobody for a time"
            at, _, sleeper = heapq.heappop(self._sleepers)
            assert at < T0 + 86_400, "somebody waits for ever"
            if not sleeper.cancelled():
                self._now = max(self._now, at)
                sleeper.set_result(None)
            await self.settle()
        await asyncio.gather(*tasks)
        assert asyncio.all_tasks() == {asyncio.current_task()}


class Start(NamedTuple):
    at: float
    name: str
    role: Role
    model: str


class Scene:
    """A limiter, and who started when."""

    def __init__(self, concurrency: int = 1, requests: float | None = None, tokens: float | None = None) -> None:
        self.clock = Timeline()
        self.limiter = Limiter(
            self.clock, concurrency=concurrency, requests_per_minute=requests, tokens_per_minute=tokens
        )
        self.starts: list[Start] = []
        self.out = 0
        self.most_out = 0

    async def ask(
        self,
        name: str = "",
        role: Role = "judge",
        *,
        model: str = "m",
        again: bool = False,
        tokens: float = 0,
        takes: float = 0,
        signal: Signal = REPLIED,
        at: float = 0,
    ) -> None:
        if at:
            await self.clock.sleep(at)
        turn = await self.limiter.turn(model, role, tokens, again=again)
        self.starts.append(Start(self.clock.now() - T0, name, role, model))
        self.out += 1
        self.most_out = max(self.most_out, self.out)
        try:
            if takes:
                await self.clock.sleep(takes)
        finally:
            self.out -= 1
            self.limiter.leave(turn, signal)

    @property
    def order(self) -> list[str]:
        return [start.name for start in self.starts]


async def test_nothing_waits_where_no_limit_is_reached() -> None:
    scene = Scene(concurrency=3)
    await scene.clock.run(*[scene.ask(takes=5) for _ in range(3)])
    assert [start.at for start in scene.starts] == [0, 0, 0]


async def test_no_more_attempts_are_under_way_than_allowed_over_all_models() -> None:
    scene = Scene(concurrency=2)
    await scene.clock.run(*[scene.ask(model=f"m{number % 3}", takes=5) for number in range(6)])
    assert [start.at for start in scene.starts] == [0, 0, 5, 5, 10, 10]
    assert scene.most_out == 2


async def test_the_roles_take_turns_however_many_wait_and_each_in_the_order_of_asking() -> None:
    scene = Scene()
    asking = [scene.ask(f"j{number}", "judge", takes=1) for number in range(5)]
    asking += [scene.ask(f"a{number}", "agent", takes=1) for number in range(2)]
    asking += [scene.ask("u0", "user_sim", takes=1)]
    await scene.clock.run(*asking)
    assert scene.order == ["j0", "j1", "a0", "u0", "j2", "a1", "j3", "j4"]


async def test_the_roles_take_turns_at_a_rate_too() -> None:
    scene = Scene(concurrency=50, requests=60)
    asking = [scene.ask("j", "judge") for _ in range(4)] + [scene.ask("a", "agent") for _ in range(3)]
    await scene.clock.run(*asking)
    assert scene.order == ["j", "j", "a", "j", "a", "j", "a"]
    assert [start.at for start in scene.starts] == pytest.approx([0, 1, 2, 3, 4, 5, 6], abs=1e-5)


async def test_a_retry_goes_before_the_new_calls_of_its_role_only() -> None:
    scene = Scene()
    await scene.clock.run(
        scene.ask("first", takes=1),
        scene.ask("j0", takes=1),
        scene.ask("a0", "agent", takes=1),
        scene.ask("j again", again=True, takes=1),
        scene.ask("a1", "agent", takes=1),
    )
    assert scene.order == ["first", "j again", "a0", "j0", "a1"]


async def test_roles_with_models_of_their_own_take_turns_for_the_places_they_share() -> None:
    scene = Scene()
    asking = [scene.ask(f"j{number}", "judge", model="m1", takes=1) for number in range(4)]
    asking += [scene.ask(f"a{number}", "agent", model="m2", takes=1) for number in range(2)]
    await scene.clock.run(*asking)
    assert scene.order == ["j0", "a0", "j1", "a1", "j2", "j3"]


async def test_within_a_role_the_models_come_in_the_order_of_asking() -> None:
    scene = Scene()
    await scene.clock.run(
        scene.ask("first", model="m2", takes=1),
        scene.ask("second", model="m1", takes=1),
        scene.ask("third", model="m2", takes=1),
        scene.ask("fourth", model="m1", takes=1),
    )
    assert scene.order == ["first", "second", "third", "fourth"]


async def test_a_clock_that_wakes_a_hair_early_is_not_slept_on_again_and_again() -> None:
    naps: list[float] = []

    class HastyTimeline(Timeline):
        async def sleep(self, seconds: float) -> None:
            naps.append(seconds)
            assert len(naps) < 10
            await super().sleep(seconds - 5e-7)

    scene = Scene(concurrency=9, requests=60)
    scene.clock = HastyTimeline()
    scene.limiter = Limiter(scene.clock, concurrency=9, requests_per_minute=60)
    await scene.clock.run(*[scene.ask() for _ in range(3)])
    assert [start.at for start in scene.starts] == pytest.approx([0, 1, 2], abs=1e-5)
    assert len(naps) == 2


async def test_a_model_at_its_limit_holds_up_no_other_model() -> None:
    scene = Scene(concurrency=2, requests=6)
    await scene.clock.run(
        *[scene.ask(f"slow{number}", model="slow") for number in range(3)],
        *[scene.ask(f"other{number}", model="other", at=number) for number in range(2)],
    )
    assert {start.name: round(start.at) for start in scene.starts} == {
        "slow0": 0,
        "slow1": 10,
        "slow2": 20,
        "other0": 0,
        "other1": 10,
    }


async def test_an_earlier_time_replaces_the_one_that_was_waited_for() -> None:
    scene = Scene(concurrency=9, tokens=600)
    await scene.clock.run(
        scene.ask("large", model="m1", tokens=300),
        scene.ask("after it", model="m1", tokens=10),
        scene.ask("small", model="m2", tokens=20),
        scene.ask("soon", model="m2", tokens=10),
    )
    assert [(start.name, round(start.at)) for start in scene.starts] == [
        ("large", 0),
        ("small", 0),
        ("soon", 2),
        ("after it", 30),
    ]


async def test_small_requests_do_not_overtake_a_large_one() -> None:
    scene = Scene(concurrency=9, tokens=600)
    await scene.clock.run(
        scene.ask("first", tokens=110),
        scene.ask("large", tokens=10_000),
        *[scene.ask(f"small{number}", "agent", tokens=1, at=number + 0.5) for number in range(9)],
        scene.ask("last", tokens=1),
    )
    assert scene.order.index("large") <= 2
    assert [start.at for start in scene.starts if start.name == "last"] == pytest.approx([1010.3], abs=1)


async def test_a_pause_holds_up_the_model_and_then_the_rate_is_half() -> None:
    scene = Scene(concurrency=9, requests=60)
    limited = Signal(limited=True, pause_s=30)
    await scene.clock.run(
        scene.ask("limited", signal=limited, takes=0.5),
        *[scene.ask("waits", signal=Signal(), at=1) for _ in range(3)],
        scene.ask("other", model="other", at=1),
    )
    assert [(start.name, round(start.at, 1)) for start in scene.starts] == [
        ("limited", 0),
        ("other", 1),
        ("waits", 30.5),
        ("waits", 32.5),
        ("waits", 34.5),
    ]


async def test_a_cancelled_attempt_frees_its_place() -> None:
    scene = Scene()
    held = asyncio.create_task(scene.ask("held", takes=500))
    await scene.clock.settle()
    waits = asyncio.create_task(scene.ask("waits"))
    await scene.clock.settle()
    held.cancel()
    await scene.clock.settle()
    assert waits.done()
    assert scene.order == ["held", "waits"]


async def test_the_next_goes_at_once_when_the_large_request_before_it_is_cancelled() -> None:
    scene = Scene(concurrency=9, tokens=600)
    await scene.ask("first", tokens=6)
    large = asyncio.create_task(scene.ask("large", tokens=10_000))
    small = asyncio.create_task(scene.ask("small", tokens=4))
    await scene.clock.settle()
    assert scene.order == ["first"]
    large.cancel()
    await scene.clock.settle()
    assert small.done()
    assert scene.order == ["first", "small"]


async def test_a_waiter_cancelled_just_before_its_turn_passes_it_on() -> None:
    scene = Scene()
    turn = await scene.limiter.turn("m", "judge", 0)
    cancelled = asyncio.create_task(scene.ask("cancelled"))
    after = asyncio.create_task(scene.ask("after"))
    await scene.clock.settle()
    cancelled.cancel()
    scene.limiter.leave(turn, REPLIED)
    await scene.clock.settle()
    assert after.done()
    assert scene.order == ["after"]


async def test_a_waiter_cancelled_just_after_its_turn_was_given_gives_back_all_of_it() -> None:
    scene = Scene(requests=60, tokens=600)
    turn = await scene.limiter.turn("m", "judge", 0)
    cancelled = asyncio.create_task(scene.ask("cancelled", tokens=5000))
    after = asyncio.create_task(scene.ask("after", tokens=10))
    await scene.clock.settle()
    # The second request may start after a second; both events come in the same moment.
    await scene.clock.run(_pass_a_second(scene, turn, cancelled))
    await scene.clock.settle()
    assert after.done()
    assert [(start.name, start.at) for start in scene.starts] == [("after", 1)]


async def _pass_a_second(scene: Scene, turn: Turn, cancelled: asyncio.Task[None]) -> None:
    await scene.clock.sleep(1)
    scene.limiter.leave(turn, REPLIED)
    cancelled.cancel()
    with suppress(asyncio.CancelledError):
        await cancelled


async def test_nothing_stays_behind_when_the_last_waiter_is_cancelled() -> None:
    scene = Scene(concurrency=9, requests=1)
    await scene.ask("first")
    waits = asyncio.create_task(scene.ask("waits"))
    await scene.clock.settle()
    assert len(asyncio.all_tasks()) == 3
    waits.cancel()
    await scene.clock.settle()
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("configured", [None, 600.0])
async def test_calls_with_four_attempts_get_through_at_a_gateway_that_allows_far_less_than_is_asked(
    configured: float | None,
) -> None:
    scene = Scene(concurrency=16, requests=configured)
    passed: list[float] = []
    refused: list[float] = []

    async def get_through(number: int) -> None:
        for failures in range(1, 5):
            turn = await scene.limiter.turn("m", "judge", 0, again=failures > 1)
            now = scene.clock.now()
            # The gateway passes the first sixty of any minute.
            allowed = sum(time > now - 60 for time in passed) < 60
            (passed if allowed else refused).append(now)
            await scene.clock.sleep(0.5)
            scene.limiter.leave(turn, Signal(replied=allowed, limited=not allowed))
            if allowed:
                return
            await scene.clock.sleep(backoff(failures, number.to_bytes(2, "big")))

    await scene.clock.run(*[get_through(number) for number in range(300)])
    assert len(passed) == 300
    assert len(refused) < 100
    assert max(passed) - T0 < 360


class Asked(NamedTuple):
    """One call of a made-up crowd. `cancelled_after`: it gives up after so many seconds, if it still waits."""

    role: Role
    model: str
    again: bool
    at: float
    tokens: float
    takes: float
    signal: Signal
    cancelled_after: float | None


CROWD = st.lists(
    st.builds(
        Asked,
        role=st.sampled_from(ROLES),
        model=st.sampled_from(["m1", "m2"]),
        again=st.booleans(),
        at=st.sampled_from([0.0, 0.0, 0.3, 1.0, 7.0]),
        tokens=st.sampled_from([0.0, 10.0, 500.0, 3000.0]),
        takes=st.sampled_from([0.0, 0.5, 20.0]),
        signal=st.sampled_from([REPLIED, Signal(), Signal(limited=True), Signal(limited=True, pause_s=5)]),
        cancelled_after=st.sampled_from([None, None, 0.0, 2.0]),
    ),
    min_size=1,
    max_size=25,
)


@given(CROWD, st.integers(1, 4), st.sampled_from([None, 30.0, 120.0]), st.sampled_from([None, 6000.0]))
def test_in_any_crowd_everybody_gets_a_turn_within_the_limits(
    crowd: list[Asked], concurrency: int, requests: float | None, tokens: float | None
) -> None:
    scene = Scene(concurrency, requests, tokens)

    async def one(number: int, asked: Asked) -> None:
        task = asyncio.create_task(
            scene.ask(
                str(number),
                asked.role,
                model=asked.model,
                again=asked.again,
                tokens=asked.tokens,
                takes=asked.takes,
                signal=asked.signal,
                at=asked.at,
            )
        )
        if asked.cancelled_after is not None:
            await scene.clock.sleep(asked.at + asked.cancelled_after)
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(scene.clock.run(*[one(number, asked) for number, asked in enumerate(crowd)]))
    patient = {str(number) for number, asked in enumerate(crowd) if asked.cancelled_after is None}
    assert patient <= set(scene.order)
    assert scene.most_out <= concurrency
    assert scene.out == 0
    for model in ("m1", "m2"):
        times = [start.at for start in scene.starts if start.model == model]
        for first in times if requests else ():
            within = sum(first <= time < first + 60 for time in times)
            assert within <= (requests or 0) + max(1.0, (requests or 0) / 60)


WAITING = st.lists(st.tuples(st.sampled_from(ROLES), st.sampled_from(["m1", "m2"]), st.booleans()), max_size=25)


@given(WAITING, st.integers(1, 3), st.sampled_from([None, 60.0]))
def test_between_two_turns_of_a_role_every_other_that_waits_for_the_model_has_one(
    waiting: list[tuple[Role, str, bool]], concurrency: int, requests: float | None
) -> None:
    scene = Scene(concurrency, requests)
    blockers = [scene.ask("blocker", model=f"b{number}", takes=1) for number in range(concurrency)]
    asking = [scene.ask(f"{role} {model}", role, model=model, again=again, takes=0.5) for role, model, again in waiting]
    asyncio.run(scene.clock.run(*blockers, *asking))
    for model in ("m1", "m2"):
        turns = [start.role for start in scene.starts if start.model == model]
        left = {role: turns.count(role) for role in ROLES}
        since: dict[Role, list[Role]] = {role: [] for role in ROLES}
        for role in turns:
            for other in ROLES:
                if other != role and left[other]:
                    assert role not in since[other]
                    since[other].append(role)
            left[role] -= 1
            since[role] = []

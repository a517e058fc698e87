"""The ceiling of a run: what is granted, what waits, what is refused, and that nothing gets stuck."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from loopback import VirtualClock
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Role
from misjudge_tools.gateway.billing import Used
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.settings import Price
from misjudge_tools.runs.budget import (
    Budget,
    Estimate,
    Ledger,
    Refusal,
    Reservation,
    Spent,
    refuse_unpriced,
    upper_bound,
)

USD = 0.001
"""What a token costs in these tests."""
ROLES: tuple[Role, ...] = ("agent", "user_sim", "judge")


class Planned(NamedTuple):
    """A call of a simulated run: what it is estimated to take, what it takes, in tokens, and for how many turns."""

    role: Role
    task_id: str
    estimate: int
    used: int
    turns: int


class Outcome(NamedTuple):
    """A call, and whether it was asked (None), refused, or cancelled."""

    call: Planned
    refusal: Refusal | str | None


def _estimate(tokens: int) -> Estimate:
    return Estimate(tokens, tokens * USD)


def _used(tokens: int) -> Used:
    return Used(tokens, tokens * USD)


def _ledger(before: Spent | None = None, *, clock: VirtualClock | None = None, **limits: float) -> Ledger:
    return Ledger(Budget.model_validate(limits), before or Spent(), {}, clock or VirtualClock())


async def _granted(ledger: Ledger, tokens: int, role: Role = "judge", task_id: str = "t1") -> Reservation:
    answer = await ledger.reserve(role, task_id, _estimate(tokens))
    assert isinstance(answer, Reservation)
    return answer


async def _refused(ledger: Ledger, tokens: int, role: Role = "judge", task_id: str = "t1") -> Refusal:
    answer = await ledger.reserve(role, task_id, _estimate(tokens))
    assert isinstance(answer, Refusal)
    return answer


async def _waiting(
    ledger: Ledger, tokens: int, role: Role = "judge", task_id: str = "t1"
) -> asyncio.Task[Reservation | Refusal]:
    task = asyncio.create_task(ledger.reserve(role, task_id, _estimate(tokens)))
    await _turns(5)
    assert not task.done()
    return task


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def _simulate(
    ledger: Ledger, calls: Sequence[Planned], concurrency: int, cancelled: Iterable[int] = ()
) -> list[Outcome]:
    """The calls in their order by so many workers; those at the `cancelled` places are given up after their turns."""
    left = iter(enumerate(calls))
    outcomes: list[Outcome] = []
    given_up = set(cancelled)

    async def ask(call: Planned) -> None:
        answer = await ledger.reserve(call.role, call.task_id, _estimate(call.estimate))
        if isinstance(answer, Refusal):
            outcomes.append(Outcome(call, answer))
            return
        await _turns(call.turns)
        ledger.settle(answer, _used(call.used))
        outcomes.append(Outcome(call, None))

    async def give_up(call: Planned) -> None:
        task = asyncio.create_task(ledger.reserve(call.role, call.task_id, _estimate(call.estimate)))
        await _turns(call.turns)
        task.cancel()
        answer = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(answer, Reservation):
            ledger.settle(answer, _used(call.used))
        outcomes.append(Outcome(call, None if isinstance(answer, Reservation) else "cancelled"))

    async def work() -> None:
        for place, call in left:
            await (give_up if place in given_up else ask)(call)

    async with asyncio.timeout(60):
        await asyncio.gather(*(work() for _ in range(concurrency)))
    return outcomes


def _calls(most: int, excess: int = 0) -> st.SearchStrategy[list[Planned]]:
    def used(estimate: int) -> st.SearchStrategy[Planned]:
        return st.builds(
            Planned,
            st.sampled_from(ROLES),
            st.sampled_from(["t1", "t2", "t3"]),
            st.just(estimate),
            st.integers(0, estimate + excess),
            st.integers(0, 6),
        )

    return st.lists(st.integers(1, 50).flatmap(used), max_size=most)


LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "max_tokens": st.integers(1, 400),
        "max_usd": st.integers(1, 400).map(lambda tokens: tokens * USD),
        "max_calls": st.integers(1, 60),
        "max_usd_per_task": st.integers(1, 150).map(lambda tokens: tokens * USD),
    },
)


def _check(budget: Budget, outcomes: Sequence[Outcome]) -> None:
    """No limit is overshot by more than a call per role, and none is named as used up before it is."""
    asked = [outcome.call for outcome in outcomes if outcome.refusal is None]
    limit = budget.max_tokens if budget.max_tokens is not None else float("inf")
    if budget.max_usd is not None:
        limit = min(limit, budget.max_usd / USD)
    assert sum(call.used for call in asked) <= limit + _beyond(asked)
    by_task: dict[str, list[Planned]] = defaultdict(list)
    for call in asked:
        by_task[call.task_id].append(call)
    for calls in by_task.values():
        if budget.max_usd_per_task is not None:
            assert sum(call.used for call in calls) <= budget.max_usd_per_task / USD + _beyond(calls) + 1e-6
    if budget.max_calls is not None:
        assert len(asked) <= budget.max_calls
    for outcome in outcomes:
        if isinstance(outcome.refusal, Refusal):
            spent = sum(call.used for call in asked)
            of_task = sum(call.used for call in by_task[outcome.call.task_id])
            assert _is_reached(budget, outcome.refusal, spent, of_task, len(asked))


def _beyond(calls: Sequence[Planned]) -> float:
    """A call per role, and what calls took above their estimates."""
    largest = (max((call.estimate for call in calls if call.role == role), default=0) for role in ROLES)
    return sum(largest) + sum(max(0, call.used - call.estimate) for call in calls) + 1e-6


def _is_reached(budget: Budget, refusal: Refusal, spent: int, of_task: int, calls: int) -> bool:
    name = refusal.reason.partition("=")[0]
    assert refusal.whole_run == (name != "max_usd_per_task")
    taken = {"max_tokens": spent, "max_usd": spent * USD, "max_usd_per_task": of_task * USD, "max_calls": calls}
    limit: float = getattr(budget, name)
    return taken[name] >= limit - 1e-9


@given(LIMITS, _calls(60), st.integers(1, 64))
@settings(max_examples=200)
def test_a_run_uses_its_budget_and_overshoots_by_at_most_one_call_per_role(
    limits: dict[str, float], calls: list[Planned], concurrency: int
) -> None:
    budget = Budget.model_validate(limits)
    outcomes = asyncio.run(_simulate(Ledger(budget, Spent(), {}, VirtualClock()), calls, concurrency))
    assert len(outcomes) == len(calls)
    _check(budget, outcomes)


@given(LIMITS, _calls(60, excess=40), st.integers(1, 64))
@settings(max_examples=100)
def test_calls_that_take_more_than_estimated_add_no_more_than_that(
    limits: dict[str, float], calls: list[Planned], concurrency: int
) -> None:
    budget = Budget.model_validate(limits)
    outcomes = asyncio.run(_simulate(Ledger(budget, Spent(), {}, VirtualClock()), calls, concurrency))
    assert len(outcomes) == len(calls)
    _check(budget, outcomes)


@given(st.integers(3, 400), _calls(40), st.integers(1, 16), st.sets(st.integers(0, 39)))
@settings(max_examples=150)
def test_cancelled_waiters_leave_nothing_reserved_and_nobody_stuck(
    limit: int, calls: list[Planned], concurrency: int, cancelled: set[int]
) -> None:
    async def scenario() -> None:
        ledger = _ledger(max_tokens=limit)
        outcomes = await _simulate(ledger, calls, concurrency, cancelled)
        assert len(outcomes) == len(calls)
        left = limit - sum(outcome.call.used for outcome in outcomes if outcome.refusal is None)
        if left > 1:
            await _granted(ledger, 1)
            await _granted(ledger, left - 1)  # fits only if nothing else is reserved
            await _waiting(ledger, 1)

    asyncio.run(scenario())


@given(_calls(60), st.integers(1, 64), st.integers(1, 60))
def test_max_calls_is_used_to_the_last_call_and_never_exceeded(
    calls: list[Planned], concurrency: int, most: int
) -> None:
    outcomes = asyncio.run(_simulate(_ledger(max_calls=most), calls, concurrency))
    assert sum(outcome.refusal is None for outcome in outcomes) == min(most, len(calls))


async def test_calls_that_fit_are_granted_at_once_and_the_next_waits_for_room() -> None:
    ledger = _ledger(max_tokens=100)
    first = await _granted(ledger, 60)
    await _granted(ledger, 40)
    waiting = await _waiting(ledger, 50)
    ledger.settle(first, _used(9))  # 9 spent and 40 reserved leave room for 51
    assert isinstance(await waiting, Reservation)


async def test_the_last_call_may_go_beyond_the_limit_so_that_all_of_it_can_be_used() -> None:
    ledger = _ledger(max_tokens=100)
    ledger.settle(await _granted(ledger, 99), _used(99))
    beyond = await _granted(ledger, 50)
    waiting = await _waiting(ledger, 1)
    ledger.settle(beyond, _used(50))
    assert await waiting == Refusal(True, "max_tokens=100 is used up (149 tokens counted).")


async def test_each_role_may_go_beyond_the_limit_once() -> None:
    ledger = _ledger(max_tokens=10)
    for role in ROLES:
        await _granted(ledger, 50, role)
        await _waiting(ledger, 1, role)


async def test_no_role_goes_beyond_a_limit_that_others_have_reserved() -> None:
    ledger = _ledger(max_tokens=100)
    judged = [await _granted(ledger, 50, "judge") for _ in range(2)]
    waiting = await _waiting(ledger, 30, "agent")
    ledger.settle(judged[0], _used(49))
    assert isinstance(await waiting, Reservation)
    await _waiting(ledger, 1, "agent")


async def test_waiters_of_a_role_are_served_in_order_even_where_a_later_one_would_fit() -> None:
    ledger = _ledger(max_tokens=100)
    first, second = await _granted(ledger, 50), await _granted(ledger, 50)
    large, small = await _waiting(ledger, 80), await _waiting(ledger, 5, task_id="t2")
    ledger.settle(first, _used(30))
    await _turns(5)
    assert not small.done()
    ledger.settle(second, _used(0))
    await asyncio.sleep(0)
    ledger.settle(await _reservation(large), _used(60))
    assert isinstance(await small, Reservation)


async def test_the_ceiling_of_a_task_leaves_out_its_calls_alone() -> None:
    ledger = _ledger(max_usd_per_task=0.05)
    ledger.settle(await _granted(ledger, 40, task_id="t1"), _used(60))
    reason = "max_usd_per_task=0.05 is used up for this task (0.06 USD counted)."
    assert await _refused(ledger, 1, task_id="t1") == Refusal(False, reason)
    await _granted(ledger, 50, task_id="t2")


async def test_a_task_that_waits_for_its_own_ceiling_does_not_hold_up_other_tasks() -> None:
    ledger = _ledger(max_usd_per_task=0.05, max_tokens=1000)
    first = await _granted(ledger, 40, task_id="t1")
    waiting, behind = await _waiting(ledger, 30, task_id="t1"), await _waiting(ledger, 5, task_id="t1")
    await _granted(ledger, 80, task_id="t2")  # beyond its own ceiling, as the only call of its task
    ledger.settle(first, _used(10))
    assert isinstance(await waiting, Reservation)
    assert isinstance(await behind, Reservation)


async def test_what_the_run_spent_before_counts() -> None:
    budget = Budget(max_usd=1, max_usd_per_task=0.5)
    ledger = Ledger(budget, Spent(calls=3, tokens=70, usd=0.9), {"t1": 0.5}, VirtualClock())
    assert not (await _refused(ledger, 1, task_id="t1")).whole_run
    ledger.settle(await _granted(ledger, 100, task_id="t2"), _used(100))
    assert await _refused(ledger, 1, task_id="t2") == Refusal(True, "max_usd=1 is used up (1 USD counted).")
    assert (await _refused(_ledger(Spent(calls=3), max_calls=3), 1)).reason == "max_calls=3 is used up (3 calls asked)."
    assert (await _refused(_ledger(Spent(tokens=9), max_tokens=9), 1)).reason.startswith("max_tokens=9 is used up")


@pytest.mark.parametrize("usd", [0.001, 1e-8])
async def test_a_thousand_small_sums_add_up_exactly(usd: float) -> None:
    ledger = _ledger(max_usd=1000 * usd)
    for _ in range(1000):
        reservation = await ledger.reserve("judge", "t1", Estimate(1, usd))
        assert isinstance(reservation, Reservation)
        ledger.settle(reservation, Used(1, usd))
    assert (await _refused(ledger, 1)).reason == f"max_usd={1000 * usd:g} is used up ({1000 * usd:g} USD counted)."


async def test_a_lost_call_counts_nothing() -> None:
    ledger = _ledger(max_tokens=100, max_usd=0.1)
    ledger.settle(await _granted(ledger, 60), Used(0, 0.0))
    assert ledger.refused() is None
    await _granted(ledger, 60)
    await _granted(ledger, 40)
    assert not (await _waiting(ledger, 1)).done(), "what is left is all reserved"


@pytest.mark.parametrize("limits", [{"max_tokens": 100}, {"max_usd": 0.1}, {"max_usd_per_task": 0.1}])
async def test_what_was_not_stated_counts_as_estimated(limits: dict[str, float]) -> None:
    ledger = Ledger(Budget.model_validate(limits), Spent(), {}, VirtualClock())
    ledger.settle(await _granted(ledger, 60), Used(None, None))
    await _granted(ledger, 40)
    await _waiting(ledger, 1)


async def test_a_call_is_settled_once() -> None:
    ledger = _ledger(max_tokens=100)
    reservation = await _granted(ledger, 60)
    ledger.settle(reservation, _used(10))
    with pytest.raises(KeyError):
        ledger.settle(reservation, _used(10))


async def test_the_deadline_refuses_new_and_waiting_calls_while_those_in_flight_finish() -> None:
    clock = VirtualClock()
    ledger = _ledger(clock=clock, deadline_s=90, max_tokens=100)
    in_flight = await _granted(ledger, 100)
    waiting = await _waiting(ledger, 50)
    clock.advance(89)
    await _turns(5)
    assert not waiting.done()
    clock.advance(1)
    over = Refusal(True, "deadline_s=90 is over.")
    async with asyncio.timeout(30):
        assert await waiting == over
    assert await _refused(ledger, 1) == over
    ledger.settle(in_flight, _used(10))
    assert await _refused(ledger, 1) == over


async def test_a_deadline_alone_grants_everything_until_it_is_over() -> None:
    clock = VirtualClock()
    ledger = _ledger(clock=clock, deadline_s=10)
    for _ in range(10):
        await _granted(ledger, 10**9)
    clock.advance(10)
    assert (await _refused(ledger, 1)).whole_run


async def test_a_call_cancelled_just_when_it_is_granted_hands_its_room_on() -> None:
    ledger = _ledger(max_tokens=100, max_calls=3)
    in_flight = await _granted(ledger, 100)
    cancelled, behind = await _waiting(ledger, 90), await _waiting(ledger, 90)
    ledger.settle(in_flight, _used(10))
    cancelled.cancel()
    async with asyncio.timeout(30):
        ledger.settle(await _reservation(behind), _used(0))
    assert cancelled.cancelled()
    await _granted(ledger, 90)
    assert (await _refused(ledger, 90)).reason.startswith("max_calls=3")


async def test_a_settlement_passes_over_a_waiter_that_is_being_cancelled() -> None:
    ledger = _ledger(max_tokens=100)
    in_flight = await _granted(ledger, 100)
    cancelled, behind = await _waiting(ledger, 90), await _waiting(ledger, 90)
    cancelled.cancel()
    ledger.settle(in_flight, _used(10))
    async with asyncio.timeout(30):
        assert isinstance(await behind, Reservation)
    assert cancelled.cancelled()


async def test_cancelling_the_first_in_line_lets_those_behind_it_go() -> None:
    ledger = _ledger(max_tokens=100)
    await _granted(ledger, 50)
    large, small = await _waiting(ledger, 80), await _waiting(ledger, 20)
    large.cancel()
    async with asyncio.timeout(30):
        assert isinstance(await small, Reservation)


async def test_a_call_cancelled_before_it_waits_leaves_nothing_behind() -> None:
    class SlowToStart(VirtualClock):
        @asynccontextmanager
        async def within(self, seconds: float) -> AsyncIterator[None]:
            await _turns(50)
            yield

    ledger = _ledger(clock=SlowToStart(), max_tokens=100, deadline_s=1)
    in_flight = await _granted(ledger, 100)
    cancelled = await _waiting(ledger, 90)
    cancelled.cancel()
    await _turns(5)
    assert cancelled.cancelled()
    ledger.settle(in_flight, _used(10))
    await _granted(ledger, 50)
    await _granted(ledger, 40)


def test_a_run_without_limits_never_waits() -> None:
    ledger = _ledger()
    for _ in range(1000):
        with pytest.raises(StopIteration) as stopped:
            ledger.reserve("judge", "t1", Estimate(10**12, None)).send(None)
        assert isinstance(stopped.value.value, Reservation)
        ledger.settle(stopped.value.value, Used(None, None))


def test_only_a_budget_without_any_limit_is_unlimited() -> None:
    assert Budget().unlimited
    for name in ("max_usd", "max_calls", "max_tokens", "max_usd_per_task", "deadline_s"):
        assert not Budget.model_validate({name: 1}).unlimited
        for wrong in (0, -1, float("nan"), float("inf")):
            with pytest.raises(ValidationError):
                Budget.model_validate({name: wrong})


def test_the_bound_of_a_call_counts_bytes_as_tokens_and_one_larger_retry() -> None:
    assert upper_bound(1000, 300, Pricing("judge")) == Estimate(2 * 1064 + 5 * 300, None)
    estimate = upper_bound(1000, 300, Pricing("judge", Price(input=1000, output=2000)))
    assert estimate.tokens == 3628
    assert estimate.usd == pytest.approx(2.128 + 3.0, rel=1e-12)


@given(st.data(), st.integers(0, 10**6), st.integers(1, 10**5), st.sampled_from(["gemini-2.5-pro", "gpt-4o"]))
def test_no_two_attempts_take_more_than_the_bound(data: st.DataObject, size: int, limit: int, model: str) -> None:
    pricing = Pricing(model)
    estimate = upper_bound(size, limit, pricing)
    given_in = data.draw(st.integers(0, size + 64))
    given_out = [data.draw(st.integers(0, limit)), data.draw(st.integers(0, 4 * limit))]
    assert 2 * given_in + sum(given_out) <= estimate.tokens
    costs = [pricing.of(given_in, tokens).usd or 0.0 for tokens in given_out]
    assert estimate.usd is not None
    assert sum(costs) <= estimate.usd


@pytest.mark.parametrize("limits", [{"max_usd": 1}, {"max_usd_per_task": 1}, {"max_usd": 1, "max_usd_per_task": 1}])
def test_a_limit_in_usd_is_refused_where_the_price_is_unknown(limits: dict[str, float]) -> None:
    budget = Budget.model_validate(limits)
    with pytest.raises(InvalidInput) as refused:
        refuse_unpriced(budget, Pricing("my-model"))
    said = str(refused.value)
    assert said.startswith(f"{' and '.join(limits)} cannot be kept: the price of 'my-model' is not known.")
    assert "price_in and price_out" in said and "misjudge.toml" in said and "max_calls" in said
    refuse_unpriced(budget, Pricing("my-model", Price(input=1, output=1)))


def test_other_limits_need_no_price() -> None:
    others = Budget(max_calls=1, max_tokens=1, deadline_s=1)
    refuse_unpriced(others, Pricing("my-model"))
    with pytest.raises(InvalidInput, match="max_usd cannot be kept"):
        refuse_unpriced(others.model_copy(update={"max_usd": 1.0}), Pricing("my-model"))


def test_a_refusal_does_not_repeat_a_hostile_name_at_length() -> None:
    with pytest.raises(InvalidInput) as refused:
        refuse_unpriced(Budget(max_usd=1), Pricing("\x1b[31m" + "x" * 10_000))
    assert len(str(refused.value)) < 400
    assert "\x1b" not in str(refused.value)


async def _reservation(task: asyncio.Task[Reservation | Refusal]) -> Reservation:
    answer = await task
    assert isinstance(answer, Reservation)
    return answer


async def test_a_call_that_takes_more_than_the_most_there_should_be_teaches_the_next_ones() -> None:
    ledger = Ledger(Budget(max_usd=1), Spent(), {}, VirtualClock())
    cheap = Estimate(10, 0.01)
    first = await ledger.reserve("judge", "t", cheap)
    assert isinstance(first, Reservation)
    ledger.settle(first, Used(10, 0.1))
    # Ten times as much is set aside from now on: nine of them fill what is left.
    granted = [await ledger.reserve("judge", "t", cheap) for _ in range(9)]
    assert all(isinstance(one, Reservation) for one in granted)
    waiting = asyncio.create_task(ledger.reserve("judge", "t", cheap))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


async def test_what_a_lying_usage_overshoots_is_bounded_by_the_calls_in_flight_when_it_first_lied() -> None:
    ledger, granted = Ledger(Budget(max_usd=1), Spent(), {}, VirtualClock()), 0
    in_flight = [await ledger.reserve("judge", "t", Estimate(10, 0.01)) for _ in range(8)]
    while in_flight:
        one = in_flight.pop(0)
        if isinstance(one, Reservation):
            granted += 1
            ledger.settle(one, Used(10, 12.5))
            in_flight.append(await ledger.reserve("judge", "t", Estimate(10, 0.01)))
    assert granted == 8
    refused = ledger.refused()
    assert refused is not None and refused.reason == "max_usd=1 is used up (100 USD counted)."


async def test_the_limit_that_ended_a_run_is_told_with_all_that_counts_by_then() -> None:
    ledger = Ledger(Budget(max_tokens=100), Spent(), {}, VirtualClock())
    assert ledger.refused() is None
    both = [await ledger.reserve("judge", "t", Estimate(50, None)) for _ in range(2)]
    for one in both:
        assert isinstance(one, Reservation)
        ledger.settle(one, Used(75, None))
    told = ledger.refused()
    assert told is not None and told.reason == "max_tokens=100 is used up (150 tokens counted)."

"""Turns at one gateway: who may start an attempt, and when.

Turns go round the roles; within a role they are given in the order of asking, to retries before new calls.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from typing import NamedTuple

from misjudge_storage.types import Role
from misjudge_tools.gateway.clock import Clock
from misjudge_tools.gateway.pace import Pace, Signal

GRACE_S = 1e-6
"""Clocks count from 1970 in floats, which cannot tell shorter times apart."""


class _Waiter(NamedTuple):
    ticket: int
    role: Role
    tokens: float
    again: bool
    granted: asyncio.Future[Turn]


class _Line:
    """Those of one role who wait for one model."""

    def __init__(self) -> None:
        self._retries: OrderedDict[int, _Waiter] = OrderedDict()
        self._calls: OrderedDict[int, _Waiter] = OrderedDict()

    def add(self, waiter: _Waiter) -> None:
        self._part(waiter)[waiter.ticket] = waiter

    def remove(self, waiter: _Waiter) -> bool:
        """Whether it was still there."""
        return self._part(waiter).pop(waiter.ticket, None) is not None

    def first(self) -> _Waiter | None:
        return next(iter((self._retries or self._calls).values()), None)

    def _part(self, waiter: _Waiter) -> OrderedDict[int, _Waiter]:
        return self._retries if waiter.again else self._calls


class _Lane:
    """A model: its pace, and a line for each role, the one served last at the end."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.lines: OrderedDict[Role, _Line] = OrderedDict()

    def first(self) -> _Waiter | None:
        """Whose turn it is. Nobody overtakes a large request, or small ones would keep it waiting for ever."""
        return next((waiter for line in self.lines.values() if (waiter := line.first())), None)


class _Head(NamedTuple):
    """The first of a lane, and when it may start."""

    lane: _Lane
    waiter: _Waiter
    at: float


class Turn(NamedTuple):
    """Leave to make one attempt, with the tokens that were reserved for it."""

    lane: _Lane
    era: int
    tokens: float


class Limiter:
    """Gives turns for one address and key. Use one within one event loop.

    The limits per minute are those of each model; `concurrency` turns are out at once, over all models.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._clock = clock
        self._free = concurrency
        self._per_minute = (requests_per_minute, tokens_per_minute)
        self._lanes: dict[str, _Lane] = {}
        self._served: dict[Role, int] = {}
        self._tickets = 0
        self._turns = 0
        self._waiting = 0
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = math.inf

    async def turn(self, model: str, role: Role, tokens: float, *, again: bool = False) -> Turn:
        """A turn for one attempt of about so many tokens, as soon as it may start. Every turn must be left.

        `again` marks a retry. There is no limit to the wait but cancellation.
        """
        lane = self._lanes.get(model)
        if lane is None:
            lane = self._lanes[model] = _Lane(Pace(*self._per_minute))
        if not self._waiting and self._free:
            now = self._clock.now()
            if lane.pace.ready_at(tokens) <= now + GRACE_S:
                return self._start(lane, role, tokens, now)
        self._tickets += 1
        waiter = _Waiter(self._tickets, role, tokens, again, asyncio.get_running_loop().create_future())
        lane.lines.setdefault(role, _Line()).add(waiter)
        self._waiting += 1
        self._serve()
        return await self._granted(lane, waiter)

    def leave(self, turn: Turn, signal: Signal) -> None:
        """Ends a turn: its place is free, and the model's pace learns from the signal."""
        turn.lane.pace.hear(turn.era, turn.tokens, signal, self._clock.now())
        self._free += 1
        if self._waiting:
            self._serve()

    async def _granted(self, lane: _Lane, waiter: _Waiter) -> Turn:
        try:
            return await waiter.granted
        except asyncio.CancelledError:
            if waiter.granted.cancelled():
                self._remove(lane, waiter)
            else:
                # The turn was given in the same moment; nobody will make use of it.
                lane.pace.undo(waiter.tokens, self._clock.now())
                self._free += 1
            self._serve()
            raise

    def _start(self, lane: _Lane, role: Role, tokens: float, now: float) -> Turn:
        self._free -= 1
        self._turns += 1
        self._served[role] = self._turns
        if role in lane.lines:
            lane.lines.move_to_end(role)
        lane.pace.start(tokens, now)
        return Turn(lane, lane.pace.era, tokens)

    def _remove(self, lane: _Lane, waiter: _Waiter) -> None:
        if lane.lines[waiter.role].remove(waiter):
            self._waiting -= 1

    def _serve(self) -> None:
        """Gives every turn that can be given now, and sets the alarm for the next."""
        now = self._clock.now()
        while self._free and self._waiting:
            heads = self._heads()
            ready = [head for head in heads if head.at <= now + GRACE_S]
            if not ready:
                self._wake_at(min(head.at for head in heads))
                return
            lane, waiter, _ = min(ready, key=self._longest_unserved)
            self._remove(lane, waiter)
            # One that was cancelled a moment ago has not come round to leaving yet.
            if not waiter.granted.cancelled():
                waiter.granted.set_result(self._start(lane, waiter.role, waiter.tokens, now))
        if not self._waiting:
            self._wake_at(math.inf)

    def _heads(self) -> list[_Head]:
        firsts = ((lane, lane.first()) for lane in self._lanes.values())
        return [_Head(lane, first, lane.pace.ready_at(first.tokens)) for lane, first in firsts if first]

    def _longest_unserved(self, head: _Head) -> tuple[int, int]:
        return self._served.get(head.waiter.role, 0), head.waiter.ticket

    def _wake_at(self, at: float) -> None:
        """Sees to it that turns are given at this time; an alarm for an earlier time will set the next itself."""
        if self._alarm is not None:
            if self._alarm_at <= at < math.inf:
                return
            self._alarm.cancel()
            self._alarm = None
        if at < math.inf:
            self._alarm_at = at
            self._alarm = asyncio.create_task(self._ring(at))

    async def _ring(self, at: float) -> None:
        await self._clock.sleep(max(0.0, at - self._clock.now()))
        self._alarm = None
        self._serve()

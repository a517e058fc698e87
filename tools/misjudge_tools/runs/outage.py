"""When the gateway or the store is away for a while: the run waits, says why, and goes on where it was.

Times in seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from misjudge_storage.errors import GatewayError, RunStopped, StoreError
from misjudge_tools.gateway.clock import Clock

T = TypeVar("T")

LOST_IN_A_ROW = 10
"""So many calls without a usable reply from the provider, one after the other, are an outage."""
FIRST_WAIT_S = 5.0
LONGEST_WAIT_S = 60.0
PATIENCE_S = 1800.0
"""How long an outage is waited out."""

Note = Callable[[str | None], Awaitable[None]]
"""Tells people why the run waits; None when it goes on."""


class GatewayOutage:
    """Counts losses in a row. Once the gateway has answered in this run, an outage is waited out, one try at a time;
    a gateway that never answered ends the run.
    """

    def __init__(self, clock: Clock, stop: asyncio.Event, note: Note) -> None:
        self._clock = clock
        self._stop = stop
        self._note = note
        self._in_a_row = 0
        self._answered = False
        self._since: float | None = None
        self._tries = 0
        self._trying = asyncio.Lock()

    @property
    def down(self) -> bool:
        """Whether the gateway is taken to be away."""
        return self._since is not None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Holds a call back while the gateway is away, but for one that tries it now and then."""
        while self.down:
            async with self._trying:
                if self.down:
                    wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**self._tries)
                    self._tries += 1
                    await rest(self._clock, wait, self._stop)
                    yield
                    return
        yield

    async def answered(self) -> None:
        """A reply came: whatever was away is back."""
        self._answered = True
        self._in_a_row = 0
        if self.down:
            self._since, self._tries = None, 0
            await self._note(None)

    async def lost(self, loss: GatewayError) -> RunStopped | None:
        """A call got no usable reply; the reason to end the run, if this was one too many."""
        self._in_a_row += 1
        if self._since is not None:
            if self._clock.now() - self._since < PATIENCE_S:
                return None
            return RunStopped(f"The gateway was away for {PATIENCE_S / 60:.0f} minutes: {loss} Resuming asks again.")
        if self._in_a_row < LOST_IN_A_ROW:
            return None
        if not (self._answered and loss.retryable):
            return RunStopped(
                f"{LOST_IN_A_ROW} calls one after the other got no usable reply, so the run was stopped: {loss} "
                "Resuming asks them again."
            )
        self._since = self._clock.now()
        await self._note(f"paused, and tried again every minute: {loss}")
        return None


class StoreOutage:
    """Holds what could not be stored, and everything new, until the store takes it."""

    def __init__(self, clock: Clock, note: Callable[[str | None], None]) -> None:
        self._clock = clock
        self._note = note
        self._writable = asyncio.Event()
        self._writable.set()

    async def over(self) -> None:
        """Until the store takes what there is to store."""
        await self._writable.wait()

    async def persist(self, write: Callable[[], Awaitable[T]]) -> T:
        """The result of `write`, tried again while the store is locked, full or away.

        Raises StoreError when patience ends.
        """
        since, wait = self._clock.now(), FIRST_WAIT_S / 8
        while True:
            try:
                result = await write()
            except StoreError as error:
                if self._clock.now() - since >= PATIENCE_S:
                    raise
                self._hold(error)
                await self._clock.sleep(wait)
                wait = min(LONGEST_WAIT_S / 4, 2 * wait)
            else:
                self._go_on()
                return result

    def _hold(self, error: StoreError) -> None:
        if not self._writable.is_set():
            return
        self._writable.clear()
        self._note(f"paused until the store takes results again: {error}")

    def _go_on(self) -> None:
        if not self._writable.is_set():
            self._writable.set()
            self._note(None)


async def rest(clock: Clock, seconds: float, stop: asyncio.Event) -> None:
    """Sleep, but no longer than until `stop`."""
    waits = [asyncio.ensure_future(clock.sleep(seconds)), asyncio.ensure_future(stop.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()

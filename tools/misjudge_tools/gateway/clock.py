"""Time as the gateway sees it, so that tests can move it."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Clock(Protocol):
    """Seconds. `now` counts from 1970 and never goes back."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    def within(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """Cancels its body after `seconds` and raises TimeoutError."""
        ...


class SystemClock:
    """The real clock: the wall time at its making, carried on by the monotonic one."""

    def __init__(self) -> None:
        self._origin = time.time() - time.monotonic()

    def now(self) -> float:
        return self._origin + time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def within(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)

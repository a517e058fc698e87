"""How fast one model may be asked: a pure state machine, told the time by its caller. Times in seconds."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

LOWEST = 6.0
"""Requests a minute below which no 429 brings the rate, unless an eighth of the configured rate is less."""
RECOVERY = 7
"""How many replies win back what a halving took; at the lowest rates fewer do.

With more, a gateway that answers 429 to one call in twenty for no reason would be asked ever more slowly.
"""
RECENT_S = 10.0
"""The span over which starts are counted where no rate is known."""


class Signal(NamedTuple):
    """What an attempt taught. `tokens`: those that were really used. `pause_s`: the wait that was asked for."""

    replied: bool = False
    limited: bool = False
    tokens: int | None = None
    pause_s: float = 0.0


class Bucket:
    """A rate a minute (None: unlimited) of which a second's worth, at least one, can be saved up.

    What costs more than can be saved up goes when the bucket is full, and is paid off before the next. So no
    minute sees more than the rate, a second's worth (at least one), and the excess of one such cost.
    """

    def __init__(self, ceiling: float | None, lowest: float = math.inf) -> None:
        self.rate = ceiling
        self._ceiling = ceiling
        self._lowest = lowest if ceiling is None else min(lowest, ceiling / 8)
        self._goal = 0.0
        self._step = 0.0
        self._level = math.inf
        self._at = 0.0

    def ready_at(self, cost: float) -> float:
        """When this much can be taken; the past stands for at once."""
        if self.rate is None:
            return 0.0
        missing = min(cost, _burst(self.rate)) - self._level
        return self._at + missing * 60.0 / self.rate

    def take(self, cost: float, now: float) -> None:
        """Takes it, ready or not. A negative cost puts back."""
        if self.rate is not None:
            self._fill(self.rate, now)
            self._level -= cost

    def halve(self, recent: float, now: float) -> None:
        """Half the rate, or half of `recent`, the rate of late, where there is none; never under the lowest."""
        if self.rate is None:
            old, self._level, self._at = max(recent, 2.0 * self._lowest), 1.0, now
        else:
            old = self.rate
            self._fill(old, now)
        # Without a ceiling, the rate is free again once it is back where the trouble began.
        self._goal = self._ceiling or max(self._goal, old)
        self.rate = max(old / 2.0, self._lowest)
        self._step = max((old - self.rate) / RECOVERY, self._lowest)

    def recover(self, now: float) -> None:
        """One step up, at last to the configured rate or to none."""
        if self.rate is None or not self._step:
            return
        self._fill(self.rate, now)
        self.rate += self._step
        if self.rate >= self._goal:
            self.rate, self._goal, self._step = self._ceiling, 0.0, 0.0

    def _fill(self, rate: float, now: float) -> None:
        self._level = min(_burst(rate), self._level + (now - self._at) * rate / 60.0)
        self._at = now


class Pace:
    """The requests and tokens a minute of one model, and its pause. `era` counts the halvings.

    A 429 halves the rate once for all requests that were started before: only one of the present era counts.
    """

    def __init__(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        self.requests = Bucket(requests_per_minute, LOWEST)
        self.tokens = Bucket(tokens_per_minute)
        self.era = 0
        self._paused_until = 0.0
        self._starts: deque[float] = deque()

    def ready_at(self, tokens: float) -> float:
        """When a request of this many tokens may start; the past stands for at once."""
        return max(self._paused_until, self.requests.ready_at(1.0), self.tokens.ready_at(tokens))

    def start(self, tokens: float, now: float) -> None:
        """A request starts, ready or not."""
        if self.requests.rate is None:
            self._starts.append(now)
            while self._starts[0] < now - RECENT_S:
                self._starts.popleft()
        self.requests.take(1.0, now)
        self.tokens.take(tokens, now)

    def undo(self, tokens: float, now: float) -> None:
        """A request that was to start did not."""
        self.requests.take(-1.0, now)
        self.tokens.take(-tokens, now)

    def hear(self, era: int, tokens: float, signal: Signal, now: float) -> None:
        """Learns from a request that was started in this era with an estimate of its tokens."""
        if signal.tokens is not None:
            self.tokens.take(signal.tokens - tokens, now)
        if signal.pause_s:
            self._paused_until = max(self._paused_until, now + signal.pause_s)
        if era != self.era:
            return
        if signal.limited:
            self.era += 1
            self.requests.halve(self._recent(), now)
            if self.tokens.rate is not None:
                self.tokens.halve(self.tokens.rate, now)
        elif signal.replied:
            self.requests.recover(now)
            self.tokens.recover(now)

    def _recent(self) -> float:
        """Starts a minute, over the last seconds in which there were any."""
        span = self._starts[-1] - self._starts[0] if self._starts else 0.0
        return len(self._starts) * 60.0 / max(span, 1.0)


def _burst(rate: float) -> float:
    return max(1.0, rate / 60.0)

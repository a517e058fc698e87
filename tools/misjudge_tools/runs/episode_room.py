"""Begins an episode only where the run's limits leave room for it to end.

A limit that cuts episodes off would keep the short ones and drop the long ones, and so tell another success than there
is. What an episode takes is learnt for each agent from those that ended: the most that one took, and a quarter more.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from misjudge_tools.gateway.billing import Used
from misjudge_tools.gateway.clock import Clock
from misjudge_tools.runs.budget import Estimate, Ledger, Left

LEARNT_FROM = 3
"""So many episodes of an agent tell what the others may take; until then they are begun one after the other where money
or tokens are limited.
"""
CALLS_AT_FIRST = 24
"""What an episode may take in calls, until that is learnt."""
MARGIN = 1.25


class NoRoom(Exception):
    """The limits leave no room for another episode; the message is the reason to tell."""


@dataclass(eq=False)
class EpisodeUse:
    """What an episode took so far. `whole`: it ended by itself, so that something is to be learnt of it."""

    whole: bool = False
    calls: int = 0
    tokens: float = 0.0
    usd: float = 0.0
    seconds: float = 0.0

    def add(self, used: Used, estimate: Estimate) -> None:
        """A call; where the gateway states no usage, the most that it can have taken counts."""
        self.calls += 1
        self.tokens += estimate.tokens if used.tokens is None else used.tokens
        self.usd += (estimate.usd if used.usd is None else used.usd) or 0.0

    def raise_to(self, other: EpisodeUse) -> None:
        """The most of both."""
        self.calls, self.tokens = max(self.calls, other.calls), max(self.tokens, other.tokens)
        self.usd, self.seconds = max(self.usd, other.usd), max(self.seconds, other.seconds)


@dataclass
class _Agent:
    """What is known of an agent's episodes."""

    ended: int = 0
    most: EpisodeUse = field(default_factory=EpisodeUse)
    under_way: list[EpisodeUse] = field(default_factory=list)

    @property
    def learnt(self) -> bool:
        return self.ended >= LEARNT_FROM

    @property
    def calls(self) -> int:
        """What one of its episodes may take."""
        return self.most.calls if self.learnt else max(self.most.calls, CALLS_AT_FIRST)


class EpisodeRoom:
    """The episodes under way in one run, and whether the limits have room for another one."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._changed = asyncio.Condition()
        self._agents: dict[str, _Agent] = {}

    @asynccontextmanager
    async def begun(self, agent: str) -> AsyncIterator[EpisodeUse]:
        """An episode of the agent, once there is room; the body adds up what it takes. Raises NoRoom where none will
        come. The first one of all is begun in any case.
        """
        use, mine = EpisodeUse(), self._agents.setdefault(agent, _Agent())
        async with self._changed:
            while (lacking := self._lacking(mine)) is not None and self._anything:
                if not self._under_way:
                    raise NoRoom(f"{lacking} leaves no room for another episode.")
                await self._changed.wait()
            mine.under_way.append(use)
        start = self._clock.now()
        try:
            yield use
            if use.whole:
                use.seconds = self._clock.now() - start
                mine.most.raise_to(use)
                mine.ended += 1
        finally:
            async with self._changed:
                mine.under_way.remove(use)
                self._changed.notify_all()

    async def beside(self) -> None:
        """Until a call that is of no episode leaves those under way what they need."""
        async with self._changed:
            while self._under_way and self._short_of(None) is not None:
                await self._changed.wait()

    @property
    def _under_way(self) -> bool:
        return any(one.under_way for one in self._agents.values())

    @property
    def _anything(self) -> bool:
        return any(one.ended or one.under_way for one in self._agents.values())

    def _lacking(self, mine: _Agent) -> str | None:
        """The limit that has no room for another episode of this agent, None where all have."""
        left = self._ledger.left()
        if not mine.learnt and mine.under_way and min(left.tokens, left.usd) < math.inf:
            return "max_usd" if left.usd < math.inf else "max_tokens"
        return self._short_of(mine)

    def _short_of(self, mine: _Agent | None) -> str | None:
        """The limit that is too low for the episodes under way and another one of this agent; None: all will do."""
        left = self._ledger.left()
        if left == Left():
            return None
        return next((name for name, there, wanted in self._needed(mine, left) if MARGIN * wanted > there), None)

    def _needed(self, mine: _Agent | None, left: Left) -> list[tuple[str, float, float]]:
        """By limit: what is left, and what the episodes under way and another one may still take."""
        another = EpisodeUse() if mine is None else mine.most
        calls, tokens, usd = 0.0 if mine is None else float(mine.calls), another.tokens, another.usd
        for one in self._agents.values():
            for use in one.under_way:
                calls += max(one.calls - use.calls, 0)
                tokens += max(one.most.tokens - use.tokens, 0.0)
                usd += max(one.most.usd - use.usd, 0.0)
        return [
            ("max_calls", left.calls, calls),
            ("max_tokens", left.tokens, tokens),
            ("max_usd", left.usd, usd),
            ("deadline_s", left.seconds, another.seconds),
        ]

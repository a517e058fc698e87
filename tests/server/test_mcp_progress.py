"""Progress over MCP: told to a client that asked for it, while its call waits for a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.types import CallToolResult

from misjudge_server.app import LazyDeps, build_app
from misjudge_tools.deps import Deps
from misjudge_tools.results import RunReport
from misjudge_tools.runs import report
from operations import PromptJudge, keyed, opened, pair_records, stored

MODES = ["auto", "legacy"]
"""Both eras of the protocol."""


class Told(NamedTuple):
    """One notification of progress."""

    progress: float
    total: float | None
    message: str | None


class Listening:
    """A client's ear: all that it was told, and a wait for the next."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self._news = asyncio.Condition()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        async with self._news:
            self.told.append(Told(progress, total, message))
            self._news.notify_all()

    async def reached(self, progress: float) -> None:
        async with asyncio.timeout(10), self._news:
            await self._news.wait_for(lambda: bool(self.told) and self.told[-1].progress >= progress)


class Gated:
    """A judge that is asked two calls at a time and holds each two until they are let go."""

    def __init__(self) -> None:
        self.arrived = 0
        self.server = PromptJudge(down=self._close_behind)

    def _close_behind(self) -> bool:
        self.arrived += 1
        if self.arrived % 2:
            self.server.gate.clear()
        return False

    async def let_two_go(self, number: int) -> None:
        await self.server.received(number)
        self.server.gate.set()


@pytest.fixture
async def gated() -> AsyncIterator[Gated]:
    made = Gated()
    async with made.server:
        yield made


@pytest.fixture
async def deps(tmp_path: Path, gated: Gated, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Deps]:
    """Operations with three pairs, looked at often."""
    monkeypatch.setattr(report, "POLL_SECONDS", 0.001)
    async with opened(tmp_path / "s.db", keyed(gated.server.base_url), concurrency=2) as made:
        stored(made.store, pair_records(3))
        yield made


def client(deps: Deps, mode: str, **values: Any) -> Client:
    """A client that speaks JSON-RPC with the server, as over stdio; without, the newer era has no progress tokens."""
    return Client(InMemoryTransport(build_app(LazyDeps(deps))), mode=mode, **values)


async def finished(calling: asyncio.Task[CallToolResult]) -> dict[str, Any]:
    async with asyncio.timeout(60):
        result = await calling
    structured: dict[str, Any] | None = result.structured_content
    assert not result.is_error and structured is not None
    return structured


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_asks_for_progress_is_told_how_far_its_run_is(deps: Deps, gated: Gated, mode: str) -> None:
    ear = Listening()
    async with client(deps, mode) as session:
        calling = asyncio.create_task(session.call_tool("judge", {"audit": "a"}, progress_callback=ear))
        for done in (0, 2, 4):
            await ear.reached(done)
            assert ear.told[-1] == (done, 6, None)
            assert not calling.done()
            await gated.let_two_go(done + 2)
        judged = await finished(calling)
    assert judged["run"]["state"] == "done"
    steps = [told.progress for told in ear.told]
    assert (steps[0], steps[-1]) == (0, 6)
    assert all(later > earlier for earlier, later in pairwise(steps))
    assert {told.total for told in ear.told} == {6}


@pytest.mark.parametrize("mode", MODES)
async def test_who_waits_for_a_run_is_told_from_where_it_stands(deps: Deps, gated: Gated, mode: str) -> None:
    ear = Listening()
    async with client(deps, mode) as session:
        early = await session.call_tool("judge", {"audit": "a", "wait_s": 0})
        assert early.structured_content is not None
        run = early.structured_content["run"]["run"]
        await gated.let_two_go(2)
        await gated.server.received(4)
        arguments = {"action": "wait", "run": run}
        waiting = asyncio.create_task(session.call_tool("runs", arguments, progress_callback=ear))
        await ear.reached(2)
        await gated.let_two_go(4)
        await gated.let_two_go(6)
        [waited] = (await finished(waiting))["runs"]
    assert (waited["state"], ear.told[-1]) == ("done", (6, 6, None))
    assert ear.told[0].progress <= 2


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_asks_for_no_progress_is_told_nothing_and_its_run_is_not_looked_at_for_it(
    deps: Deps, gated: Gated, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    heard: list[Any] = []
    looked: list[str] = []
    standing = report.standing

    async def hear(message: Any) -> None:
        heard.append(message)

    def noted(deps: Deps, run_id: str) -> RunReport:
        looked.append(run_id)
        return standing(deps, run_id)

    monkeypatch.setattr(report, "standing", noted)
    async with client(deps, mode, message_handler=hear) as session:
        calling = asyncio.create_task(session.call_tool("judge", {"audit": "a"}))
        for done in (0, 2, 4):
            await gated.let_two_go(done + 2)
        assert (await finished(calling))["run"]["done"] == 6
    assert heard == []
    assert len(looked) == 2, "before it begins and when it has ended"


@pytest.mark.parametrize("mode", MODES)
async def test_a_run_that_pauses_says_why_with_its_progress(
    deps: Deps, gated: Gated, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    standing = report.standing

    def paused(deps: Deps, run_id: str) -> RunReport:
        return standing(deps, run_id).model_copy(update={"reason": "paused, and tried again every minute: 503"})

    monkeypatch.setattr(report, "standing", paused)
    ear = Listening()
    async with client(deps, mode) as session:
        calling = asyncio.create_task(session.call_tool("judge", {"audit": "a"}, progress_callback=ear))
        await ear.reached(0)
        for done in (0, 2, 4):
            await gated.let_two_go(done + 2)
        await finished(calling)
    assert ear.told[0] == (0, 6, "paused, and tried again every minute: 503")

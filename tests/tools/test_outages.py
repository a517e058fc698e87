"""A gateway or a store that is away for a while: the run waits, says why, goes on, and loses nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from loopback import VirtualClock
from misjudge_storage.engine import Store
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.requests import JudgeRequest, RunsRequest
from misjudge_tools.results import RunReport
from operations import PromptJudge, count, keyed, opened, pair_records, rows, stored

TEN_MINUTES = 600.0


def asked(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", "max_calls": 1000, **values})


async def ask_runs(deps: Deps, action: str, run: str, **values: Any) -> RunReport:
    request = RunsRequest.model_validate({"action": action, "run": run, **values})
    (report,) = (await manage_runs(request, deps)).runs
    return report


class Outage:
    """Begins with the n-th call, and lasts some virtual time."""

    def __init__(self, clock: VirtualClock, begins_with: int, lasts: float) -> None:
        self._clock = clock
        self._left = begins_with
        self._lasts = lasts
        self._until: float | None = None

    def __call__(self) -> bool:
        self._left -= 1
        if self._left <= 0 and self._until is None:
            self._until = self._clock.now() + self._lasts
        return self._until is not None and self._clock.now() < self._until


async def test_a_gateway_that_is_down_for_ten_minutes_pauses_the_run_and_loses_nothing(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with PromptJudge(down=Outage(clock, 21, TEN_MINUTES)) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=4, clock=clock) as deps:
            stored(deps.store, pair_records(30))
            seen = notes(deps.store)
            result = await judge(asked(), deps)
            assert (result.run.state, result.run.done, result.run.reason) == ("done", 60, None)
            assert count(deps.store, "verdicts") == 60
            assert {row["status"] for row in rows(deps.store, "SELECT status FROM verdicts")} == {"scored"}
    (paused,) = {note for note in seen if note}
    assert paused.startswith("paused, and tried again every minute: The gateway failed to answer (503)")
    assert seen[-1] is None, "it says so when it goes on"
    failures = sum(error.attempts for error in result.run.errors)
    assert failures < 4 * 10 + 4 * 20, "ten lost calls, then one try a minute, each of four attempts at most"


async def test_a_gateway_that_stays_away_ends_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with PromptJudge(down=Outage(clock, 21, 3600)) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=4, clock=clock) as deps:
            stored(deps.store, pair_records(30))
            result = await judge(asked(), deps)
            assert (result.run.state, result.run.done) == ("failed", 20)
            assert result.run.reason is not None and "was away for 30 minutes" in result.run.reason
            assert 0 < result.run.failed <= 40
            clock.advance(3600)
            again = await ask_runs(deps, "resume", result.run.run)
            assert (again.state, again.done, count(deps.store, "verdicts")) == ("done", 60, 60)


async def test_a_run_that_waits_out_an_outage_can_be_cancelled(tmp_path: Path) -> None:
    clock = HeldClock()
    async with PromptJudge(down=Outage(clock, 21, 1e6)) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=4, clock=clock) as deps:
            stored(deps.store, pair_records(30))
            run = (await judge(asked(wait_s=0), deps)).run.run
            await clock.resting.wait()
            await asyncio.wrap_future(deps.store.writer.submit(lambda _: None))  # the note is on its way
            paused = await ask_runs(deps, "status", run)
            assert paused.state == "running"
            assert paused.reason is not None and paused.reason.startswith("paused")
            cancelled = await ask_runs(deps, "cancel", run)
    assert (cancelled.state, cancelled.done) == ("cancelled", 20)


class HeldClock(VirtualClock):
    """Sleeps of five seconds, the first of an outage, never end by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.resting = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds == 5.0:
            self.resting.set()
            await asyncio.Event().wait()
        await super().sleep(seconds)


def notes(store: Store) -> list[str | None]:
    """What the store is told of pauses, as it comes."""
    seen: list[str | None] = []

    @event.listens_for(store.engine, "before_cursor_execute")
    def listen(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("UPDATE runs SET note"):
            seen.append(parameters[0])

    return seen


@asynccontextmanager
async def refusing(
    where: Path, server: PromptJudge, refuse: Callable[[], str | None], clock: VirtualClock
) -> AsyncIterator[Deps]:
    """Operations on a store that answers writes of results with the errors that `refuse` gives."""
    async with opened(where, keyed(server.base_url), concurrency=4, clock=clock) as deps:
        stored(deps.store, pair_records(20))

        @event.listens_for(deps.store.engine, "before_cursor_execute")
        def listen(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            said = refuse() if statement.startswith("INSERT INTO judge_logs") else None
            if said is not None:
                raise sqlite3.OperationalError(said)

        yield deps


@pytest.mark.parametrize("said", ["database is locked", "database or disk is full", "disk I/O error"])
async def test_a_store_that_takes_nothing_for_a_while_pauses_the_run_and_loses_no_reply(
    tmp_path: Path, said: str
) -> None:
    clock, tries = VirtualClock(), iter(range(1, 10_000))
    paused: list[str] = []
    async with PromptJudge() as server:
        holder: list[Deps] = []

        def refuse() -> str | None:
            (run,) = holder[0].worker.active
            reason = holder[0].worker.paused(run)
            if reason is not None:
                paused.append(reason)
            return said if 5 < next(tries) < 30 else None

        async with refusing(tmp_path / "s.db", server, refuse, clock) as deps:
            holder.append(deps)
            result = await judge(asked(), deps)
            assert (result.run.state, result.run.done, result.run.reason) == ("done", 40, None)
            assert (count(deps.store, "verdicts"), count(deps.store, "judge_logs")) == (40, 40)
    assert len(server.asked) == 40, "nothing was asked twice"
    assert paused and all(reason.startswith("paused until the store takes results again: ") for reason in paused)


async def test_while_the_store_takes_nothing_no_more_is_asked(tmp_path: Path) -> None:
    clock = VirtualClock()
    away = {"on": True}
    refusals: asyncio.Queue[None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def refuse() -> str | None:
        loop.call_soon_threadsafe(refusals.put_nowait, None)
        return "database or disk is full" if away["on"] else None

    async with PromptJudge() as server, refusing(tmp_path / "s.db", server, refuse, clock) as deps:
        call = asyncio.create_task(judge(asked(), deps))
        for _ in range(10):
            await refusals.get()
        assert len(server.asked) == 4, "as many as are asked at a time"
        away["on"] = False
        result = await call
    assert (result.run.state, result.run.done, len(server.asked)) == ("done", 40, 40)


async def test_a_store_that_stays_away_fails_the_run_with_a_sentence_and_it_can_be_resumed(tmp_path: Path) -> None:
    away = {"on": True}

    def refuse() -> str | None:
        return "database or disk is full" if away["on"] else None

    async with PromptJudge() as server, refusing(tmp_path / "s.db", server, refuse, VirtualClock()) as deps:
        result = await judge(asked(), deps)
        assert (result.run.state, result.run.done) == ("failed", 0)
        assert result.run.reason is not None and "is full, so nothing more was stored" in result.run.reason
        away["on"] = False
        again = await ask_runs(deps, "resume", result.run.run)
        assert (again.state, again.done) == ("done", 40)
    assert len(server.asked) == 44, "only what was in flight is asked again"


async def test_a_run_whose_end_could_not_be_stored_is_failed_all_the_same_and_can_be_resumed(tmp_path: Path) -> None:
    """The end of a run needs the disk that its results had already filled."""
    async with PromptJudge() as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(10))
            server.gate.clear()
            call = asyncio.create_task(judge(asked(), deps))
            await server.received(8)
            refused = {"on": True}

            @event.listens_for(deps.store.engine, "before_cursor_execute")
            def refuse(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
                if refused["on"] and statement.startswith(("INSERT", "UPDATE")):
                    raise sqlite3.OperationalError("database or disk is full")

            server.gate.set()
            result = await call
            assert result.run.state == "failed"
            assert result.run.next == f"runs(action='resume', run='{result.run.run}')"
            listed = await ask_runs(deps, "status", result.run.run)
            assert (listed.state, listed.reason) == ("failed", result.run.reason)
            refused["on"] = False
            report = await ask_runs(deps, "resume", result.run.run)
            assert (report.state, report.done, report.reason) == ("done", 20, None)


async def test_a_disk_that_is_really_full_loses_no_reply(tmp_path: Path) -> None:
    """SQLite's own limit stands for the disk; it is lifted after some refusals."""
    clock = VirtualClock()
    async with PromptJudge() as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=4, clock=clock) as deps:
            stored(deps.store, pair_records(200))
            used = rows(deps.store, "PRAGMA page_count")[0]["page_count"]
            limit = {"pages": used + 60}

            @event.listens_for(deps.store.engine, "checkout")
            def restrict(connection: sqlite3.Connection, *_: Any) -> None:
                roomy = len(clock.slept) > 8
                connection.execute(f"PRAGMA max_page_count = {limit['pages'] + (100_000 if roomy else 0)}")

            result = await judge(asked(), deps)
            assert (result.run.state, result.run.done, count(deps.store, "verdicts")) == ("done", 400, 400)
    assert len(server.asked) == 400
    assert len(clock.slept) > 8, "the disk was full for a while"

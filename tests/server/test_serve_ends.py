from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from command import environment
from misjudge_storage.engine import open_store
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.requests import RunsRequest
from operations import KEY, PromptJudge, count, keyed, opened, pair_records, rows, stored
from stdio_session import Session, serving

PAIRS = 30
SLOTS = 4

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals that a process could handle")


async def close_stdin(session: Session) -> None:
    await session.close_stdin()


async def terminate(session: Session) -> None:
    session.process.send_signal(signal.SIGTERM)


async def interrupt(session: Session) -> None:
    session.process.send_signal(signal.SIGINT)


ENDINGS = [
    pytest.param(close_stdin, id="stdin closes"),
    pytest.param(terminate, id="SIGTERM", marks=posix),
    pytest.param(interrupt, id="SIGINT", marks=posix),
]
Ending = Callable[[Session], Awaitable[None]]


def prepared(folder: Path, base_url: str) -> dict[str, str]:
    """An environment whose store holds pairs to judge."""
    where = folder / "s.db"
    store = open_store(where)
    stored(store, pair_records(PAIRS))
    store.close()
    return environment(
        MISJUDGE_STORE=str(where),
        MISJUDGE_CONCURRENCY=str(SLOTS),
        TAOTOKEN_API_KEY=KEY,
        TAOTOKEN_BASE_URL=base_url,
        JUDGE_MODEL="judge-m",
    )


def the_run(folder: Path) -> dict[str, Any]:
    store = open_store(folder / "s.db")
    try:
        [row] = rows(store, "SELECT run_id, state, reason FROM runs")
        return {**row, "verdicts": count(store, "verdicts"), "logs": count(store, "judge_logs")}
    finally:
        store.close()


async def resumed(folder: Path, base_url: str, run_id: str) -> str:
    """Resume the run in this process; the state it came to."""
    async with opened(folder / "s.db", keyed(base_url)) as deps:
        return (await manage_runs(RunsRequest(action="resume", run=run_id), deps)).runs[0].state


@pytest.mark.parametrize("end", ENDINGS)
async def test_an_idle_server_ends_at_once(tmp_path: Path, end: Ending) -> None:
    async with serving(tmp_path, environment()) as session:
        await session.initialize()
        await end(session)
        assert await session.ended() == 0
        assert session.stderr == ""


@pytest.mark.parametrize("end", ENDINGS[:2])
async def test_a_run_cut_short_keeps_what_was_answered_and_can_be_resumed(tmp_path: Path, end: Ending) -> None:
    async with PromptJudge() as judge:
        env = prepared(tmp_path, judge.base_url)
        judge.gate.clear()
        async with serving(tmp_path, env) as session:
            await session.initialize()
            await session.start_call("judge", audit="a")
            await judge.received(SLOTS)
            await end(session)
            judge.gate.set()
            assert await session.ended() == 0
        cut = the_run(tmp_path)
        assert cut["state"] == "lost"
        assert SLOTS <= cut["verdicts"] == cut["logs"] < 2 * PAIRS
        assert await resumed(tmp_path, judge.base_url, cut["run_id"]) == "done"
        assert len(judge.asked) == 2 * PAIRS
    assert the_run(tmp_path) == {**cut, "state": "done", "reason": None, "verdicts": 2 * PAIRS, "logs": 2 * PAIRS}


@pytest.mark.slow
async def test_a_gateway_that_never_answers_does_not_hold_the_server_up(tmp_path: Path) -> None:
    async with PromptJudge() as judge:
        env = prepared(tmp_path, judge.base_url)
        judge.gate.clear()
        async with serving(tmp_path, env) as session:
            await session.initialize()
            await session.start_call("judge", audit="a")
            await judge.received(SLOTS)
            await session.close_stdin()
            assert await session.ended() == 0
        assert the_run(tmp_path)["state"] == "lost"


@posix
async def test_a_second_signal_ends_the_server_without_draining(tmp_path: Path) -> None:
    async with PromptJudge() as judge:
        env = prepared(tmp_path, judge.base_url)
        judge.gate.clear()
        async with serving(tmp_path, env) as session:
            await session.initialize()
            call = await session.start_call("judge", audit="a")
            await judge.received(SLOTS)
            session.process.send_signal(signal.SIGTERM)
            assert (await session.receive())["id"] == call  # the first signal was taken
            session.process.send_signal(signal.SIGTERM)
            assert await session.ended() == -signal.SIGTERM
        judge.gate.set()
        assert await resumed(tmp_path, judge.base_url, the_run(tmp_path)["run_id"]) == "done"
    assert the_run(tmp_path)["verdicts"] == 2 * PAIRS

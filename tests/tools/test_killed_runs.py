"""A judging process killed with SIGKILL, and a fresh one that goes on: nothing is lost or stored twice."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.engine import open_store
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest
from operations import PromptJudge, count, keyed, opened, pair_records, rows, stored, verdicts

TESTS = Path(__file__).resolve().parents[1]
ROOMS = [TESTS, *(TESTS.parent / room for room in ("server", "tools", "storage"))]
CONCURRENCY = 8

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


async def started(store: Path, server: PromptJudge, run: str, die_after: int = 0) -> Process:
    arguments = [store, server.base_url, CONCURRENCY, run, die_after]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(TESTS / "kill_target.py"),
        *map(str, arguments),
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, ROOMS))},
    )


async def reported(process: Process, returncode: int = 0) -> list[str]:
    """The cells that a process said to be committed, once it has ended in this way."""
    said, complaint = await process.communicate()
    assert process.returncode == returncode, complaint.decode()
    return said.decode().split()


def the_run(store: Path) -> str:
    opened_store = open_store(store)
    try:
        return str(rows(opened_store, "SELECT run_id FROM runs")[0]["run_id"])
    finally:
        opened_store.close()


def stored_cells(store: Path) -> dict[str, dict[str, Any]]:
    """Every verdict row whole, by its id."""
    opened_store = open_store(store)
    try:
        return {row["verdict_id"]: row for row in rows(opened_store, "SELECT * FROM verdicts")}
    finally:
        opened_store.close()


async def undisturbed(store: Path, server: PromptJudge, pairs: int) -> list[dict[str, Any]]:
    async with opened(store, keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(pairs))
        await judge(JudgeRequest(audit="a", max_calls=100_000), deps)
        return verdicts(deps.store)


async def kill_and_resume(tmp_path: Path, pairs: int, kills: Sequence[int]) -> None:
    """Judge `pairs` in both orders, by one process after another, each killed behind so many commits of its own."""
    where = tmp_path / "killed.db"
    async with PromptJudge() as server:
        expected = await undisturbed(tmp_path / "undisturbed.db", server, pairs)
        server.asked.clear()
        store = open_store(where)
        stored(store, pair_records(pairs))
        store.close()
        before: dict[str, dict[str, Any]] = {}
        for number, die_after in enumerate([*kills, 0]):
            process = await started(where, server, the_run(where) if number else "start", die_after)
            said = await reported(process, -9 if die_after else 0)
            assert len(said) == len(set(said))
            assert not before.keys() & set(said), "what was stored before was asked again"
            now = stored_cells(where)
            assert set(said) <= now.keys(), "a result that was reported is not stored"
            assert {cell: now[cell] for cell in before} == before
            before = now
    store = open_store(where)
    try:
        assert rows(store, "SELECT state FROM runs") == [{"state": "done"}]
        assert verdicts(store) == expected
        assert count(store, "judge_logs") == len(expected) == 2 * pairs
        assert rows(store, "SELECT cell_id FROM judge_logs GROUP BY cell_id HAVING COUNT(*) > 1") == []
    finally:
        store.close()
    assert 2 * pairs <= len(server.asked) <= 2 * pairs + CONCURRENCY * len(kills)


async def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    await kill_and_resume(tmp_path, pairs=30, kills=[23])


@pytest.mark.slow
async def test_a_run_killed_at_many_points_loses_and_doubles_nothing(tmp_path: Path) -> None:
    await kill_and_resume(tmp_path, pairs=320, kills=[1, 2, 50, 199, 100, 260])


@pytest.mark.slow
async def test_a_run_killed_with_calls_in_flight_pays_again_for_no_more_than_those(tmp_path: Path) -> None:
    where = tmp_path / "killed.db"
    async with PromptJudge() as server:
        store = open_store(where)
        stored(store, pair_records(100))
        store.close()
        process = await started(where, server, "start")
        await server.received(60)
        server.gate.clear()
        await server.received(60 + CONCURRENCY)
        process.kill()
        await process.wait()
        kept = stored_cells(where)
        server.gate.set()
        await reported(await started(where, server, the_run(where)))
        after = stored_cells(where)
    assert {cell: after[cell] for cell in kept} == kept
    assert len(after) == 200
    assert len(server.asked) <= 200 + CONCURRENCY


@pytest.mark.slow
async def test_two_processes_that_resume_one_run_at_once_share_no_cell(tmp_path: Path) -> None:
    where = tmp_path / "shared.db"
    async with PromptJudge() as server:
        store = open_store(where)
        stored(store, pair_records(100))
        store.close()
        await reported(await started(where, server, "start", die_after=5), -9)
        asked_before, run = len(server.asked), the_run(where)
        stored_before = len(stored_cells(where))
        both = [await started(where, server, run) for _ in range(2)]
        said = await asyncio.gather(*(reported(process) for process in both))
        assert len(stored_cells(where)) == 200
    # One of the two works; the other one watches.
    assert sorted(map(len, said)) == [0, 200 - stored_before]
    assert len(server.asked) - asked_before == 200 - stored_before

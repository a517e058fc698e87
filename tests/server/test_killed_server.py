from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fault_server import NO_FAULTS, FaultServer
from killing import AUDIT, CONCURRENCY, assert_nothing_lost, hold, judged_by, judging, look, prepare, stored
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from stdio_session import Session, serving

PAIRS = 20
CELLS = 2 * PAIRS
ANSWERED = 15
"""Calls that are answered before the server is killed."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


async def answer(session: Session, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers."""
    result = await session.call(tool, **arguments)
    assert not result.get("isError"), result
    content = result["structuredContent"]
    assert isinstance(content, dict)
    return content


async def undisturbed(store: Path, scratch: Path) -> dict[str, dict[str, Any]]:
    async with FaultServer(rates=NO_FAULTS, bias=SimulatedBias(position=0.3)) as judge:
        async with judging(store, judge.base_url, "judge", AUDIT) as at_work:
            assert await at_work.ended() == 0, at_work.lines
    return stored(store, scratch).verdicts


async def killed_half_way(store: Path, judge: FaultServer) -> None:
    """Start a run over MCP and kill its server while the judge holds what it was asked last."""
    async with serving(store.parent, judged_by(store, judge.base_url)) as session:
        await session.initialize()
        await session.start_call("judge", audit=AUDIT)
        await hold(judge, ANSWERED)
        session.process.kill()
        assert await session.ended() == -signal.SIGKILL
    judge.gate.set()


async def test_a_run_whose_server_was_killed_is_listed_as_lost_and_resumed_by_a_new_one(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    prepare(store, PAIRS)
    calm = Path(shutil.copyfile(store, tmp_path / "calm.db"))
    async with FaultServer(rates=NO_FAULTS, bias=SimulatedBias(position=0.3)) as judge:
        before = look(store, tmp_path, judge)
        await killed_half_way(store, judge)
        left = look(store, tmp_path, judge)
        assert_nothing_lost(before, left)
        async with serving(tmp_path, judged_by(store, judge.base_url)) as session:
            await session.initialize()
            [lost] = (await answer(session, "runs", action="list"))["runs"]
            assert (lost["state"], lost["done"], lost["total"]) == ("lost", len(left.stored.verdicts), CELLS)
            assert (lost["audit"], lost["operation"]) == (AUDIT, "judge")
            assert "resume" in lost["next"] and lost["run"] in lost["next"]
            [resumed] = (await answer(session, "runs", action="resume", run=lost["run"]))["runs"]
            assert (resumed["run"], resumed["state"], resumed["done"]) == (lost["run"], "done", CELLS)
        after = look(store, tmp_path, judge)
    assert_nothing_lost(left, after)
    assert after.counts.replies == CELLS + CONCURRENCY
    assert after.stored.verdicts == await undisturbed(calm, tmp_path)

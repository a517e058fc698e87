"""A run that stops early and whose process is killed again and again comes to the end that it comes to undisturbed."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fault_server import NO_FAULTS, FaultServer
from killing import AUDIT, CONCURRENCY, hold, judging, prepare, said, the_run
from killing import stored as looked_at
from misjudge_tools.gateway.simulated_bias import SimulatedBias

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL"),
]

PAIRS = 120
STOPPING = ("judge", AUDIT, "--judge", "judge-m", "--stop-width", "0.4")
KILLS = (10, 40, 70)
"""Requests after which the process is killed, all before enough is known."""
BIAS = SimulatedBias(position=0.3, noise=0.2, seed=5)


async def carried_out(store: Path, server: FaultServer, *arguments: str) -> None:
    async with judging(store, server.base_url, *arguments) as at_work:
        assert await at_work.ended() == 0, at_work.lines


def report(store: Path, scratch: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(store, "runs", "status", the_run(store, scratch), "--json"))["runs"][0]
    return found


def cells(store: Path) -> set[str]:
    with closing(sqlite3.connect(store)) as connection:
        return {cell_id for (cell_id,) in connection.execute("SELECT cell_id FROM cells")}


async def test_a_run_that_stops_early_survives_kills(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm" / "calm.db", tmp_path / "killed" / "killed.db"
    for store in (calm, killed):
        store.parent.mkdir()
        prepare(store, PAIRS)
    async with FaultServer(rates=NO_FAULTS, bias=BIAS) as server:
        await carried_out(calm, server, *STOPPING, "--max-calls", "240")
        undisturbed = report(calm, tmp_path)
    async with FaultServer(rates=NO_FAULTS, bias=BIAS, latency_s=0.005) as server:
        for number, after in enumerate(KILLS):
            again = ("runs", "resume", the_run(killed, tmp_path)) if number else (*STOPPING, "--max-calls", "2000")
            async with judging(killed, server.base_url, *again) as at_work:
                await hold(server, after)
                await at_work.kill()
            server.gate.set()
        await carried_out(killed, server, "runs", "resume", the_run(killed, tmp_path))
    survived = report(killed, tmp_path)
    assert (survived["state"], survived["done"]) == ("done", survived["total"])
    decided = ("judge", "bucket", "tasks", "low", "high")
    (mine,), (theirs,) = survived["stopped"], undisturbed["stopped"]
    assert {name: mine[name] for name in decided} == {name: theirs[name] for name in decided}
    assert mine["tasks"] > KILLS[-1] / 4, "they were killed before it was decided"
    kept = looked_at(killed, tmp_path)
    assert cells(killed) == set(kept.verdicts), "what was asked is in the plan, and nothing else"
    assert survived["total"] < 2 * PAIRS - 2 * CONCURRENCY
    assert abs(survived["total"] - undisturbed["total"]) <= CONCURRENCY, "but for what was in flight at the end"
    assert Counter(log["cell_id"] for log in kept.replies).most_common(1)[0][1] == 1, "a stored reply was asked for"

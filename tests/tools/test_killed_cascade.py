"""A cascade whose process is killed again and again: the panel is asked exactly as if nothing had happened."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cascade_parts import assert_exact
from fault_server import NO_FAULTS, FaultServer
from killing import AUDIT, hold, judging, prepare, the_run
from killing import stored as looked_at
from misjudge_storage.engine import open_store
from misjudge_tools.gateway.simulated_bias import SimulatedBias

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL"),
]

PAIRS = 60
FIRST, PANEL = "judge-m", ("strict-m", "stern-m")
CASCADE = ("judge", AUDIT, "--judge", FIRST, *(part for name in PANEL for part in ("--panel", name)), "--cascade")
KILLS = (10, 80, 116, 150)
"""Requests after which the process is killed: while the first judge is asked, around its last verdict, and later."""
BIAS = SimulatedBias(position=0.25, noise=0.1, parse_failure=0.03, seed=5)


async def carried_out(store: Path, server: FaultServer, *arguments: str) -> None:
    async with judging(store, server.base_url, *arguments) as at_work:
        assert await at_work.ended() == 0, at_work.lines


def cells(store: Path) -> set[tuple[Any, ...]]:
    """What is planned, without the order in which it came."""
    with closing(sqlite3.connect(store)) as connection:
        return set(connection.execute("SELECT cell_id, actor_id, pair_id, order_shown, repeat FROM cells"))


async def test_a_cascade_survives_kills(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm" / "calm.db", tmp_path / "killed" / "killed.db"
    for store in (calm, killed):
        store.parent.mkdir()
        prepare(store, PAIRS)
    async with FaultServer(rates=NO_FAULTS, bias=BIAS) as server:
        await carried_out(calm, server, *CASCADE, "--max-calls", "360")
        undisturbed = looked_at(calm, tmp_path)
    async with FaultServer(rates=NO_FAULTS, bias=BIAS, latency_s=0.005) as server:
        begun = 0
        for after in KILLS:
            again = ("runs", "resume", the_run(killed, tmp_path)) if begun else (*CASCADE, "--max-calls", "2000")
            async with judging(killed, server.base_url, *again) as at_work:
                await hold(server, after)
                await at_work.kill()
            server.gate.set()
            begun += 1
        await carried_out(killed, server, "runs", "resume", the_run(killed, tmp_path))
    survived = looked_at(killed, tmp_path)
    assert survived.verdicts == undisturbed.verdicts
    assert cells(killed) == cells(calm)
    assert Counter(log["cell_id"] for log in survived.replies).most_common(1)[0][1] == 1, "a stored reply was asked for"
    opened = open_store(killed)
    try:
        expected = assert_exact(opened, FIRST, PANEL, 1)
    finally:
        opened.close()
    assert {"inconsistent", "unscored", "low_margin", None} >= set(expected.values()) >= {"inconsistent", None}

"""An audit judged through every fault, ten kills and a full disk: the same as one that nothing disturbed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from fault_server import FAULTS, NO_FAULTS, USUAL, Counts, FaultServer, Rates
from killing import (
    AUDIT,
    CONCURRENCY,
    LIMIT_S,
    Judging,
    Stored,
    assert_nothing_lost,
    empty_log,
    hold,
    judging,
    look,
    plan,
    prepare,
    said,
    stored,
    the_run,
)
from misjudge_tools.gateway.simulated_bias import SimulatedBias

PAIRS = 300
CELLS = 2 * PAIRS
FEW = 20
JUDGE = ("judge", AUDIT, "--judge", "judge-m", "--max-calls", "2000")
SEED = 7
FULL_AFTER = 25
"""Requests of the last process after which the disk is filled: early, when every commit still needs new room."""
KILLS = sorted(random.Random(SEED).sample(range(2 * CONCURRENCY, CELLS - 10 * CONCURRENCY), 10))
"""Requests after which the process is killed."""
MOST_ENDS = 2
"""A web page as the very first answer means a wrong address, which ends the command."""
MOST_ATTEMPTS = 4
STALL_S = 1.0
DISK_BYTES = 32 * 2**20
FULL = r"paused for the store|disk of the store .*(is full|reports an error)"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL"),
]


class Disk:
    """A small file system of its own, which can be filled."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._filler = root / "filler"

    def fill(self) -> None:
        """Take every byte that is left."""
        with self._filler.open("wb", buffering=0) as file:
            for size in (2**20, 2**12, 1):
                with suppress(OSError):
                    while file.write(bytes(size)):
                        pass

    def free(self) -> None:
        self._filler.unlink()


@contextmanager
def small_disk(root: Path) -> Iterator[Disk | str]:
    """A mounted tmpfs, or why there is none."""
    root.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        yield "only root on Linux may mount one"
        return
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(root)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        yield "mounting one is not permitted here"
        return
    try:
        yield Disk(root)
    finally:
        subprocess.run(["umount", str(root)], check=True)


def judge_server(rates: Rates) -> FaultServer:
    bias = SimulatedBias(position=0.15, politeness=0.3, noise=0.1, parse_failure=0.02, seed=SEED)
    return FaultServer(seed=SEED, rates=rates, bias=bias, latency_s=0.01)


async def reached(server: FaultServer, number: int, at_work: Judging) -> bool:
    """Whether the server saw this many requests before the process ended by itself."""
    waits = [asyncio.create_task(wait) for wait in (server.received(number), at_work.ended())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=LIMIT_S)
        return waits[0].done() and not waits[1].done()
    finally:
        for wait in waits:
            wait.cancel()


async def fill_for_a_while(disk: Disk, at_work: Judging) -> None:
    """Fill the disk until the run says that it cannot store anything."""
    disk.fill()
    await at_work.complained(FULL)
    disk.free()


async def survive(store: Path, scratch: Path, server: FaultServer, disk: Disk | None) -> None:
    """Judge the audit by one process after another, each but the last killed; that one meets a full disk."""
    kills, ends, code = list(KILLS), 0, None
    now = look(store, scratch, server)
    while code != 0:
        if not kills and disk is not None:
            empty_log(store)
        async with judging(store, server.base_url, *JUDGE, timeout_s=STALL_S) as at_work:
            more = kills[0] - now.counts.requests if kills else FULL_AFTER
            if not await reached(server, now.counts.requests + max(more, 1), at_work):
                code = await at_work.ended()
            elif kills:
                kills.pop(0)
                await at_work.kill()
            else:
                if disk is not None:
                    await fill_for_a_while(disk, at_work)
                code = await at_work.ended()
                assert code == 0, at_work.lines
        before, now = now, look(store, scratch, server)
        assert_nothing_lost(before, now)
        if code == 1:
            ends, code = ends + 1, None
            assert (ends <= MOST_ENDS, at_work.lines[-1][:10]) == (True, "misjudge: "), at_work.lines
        assert code in {0, None}, at_work.lines
    assert not kills


async def undisturbed(store: Path, scratch: Path) -> Stored:
    async with judge_server(NO_FAULTS) as server:
        async with judging(store, server.base_url, *JUDGE) as at_work:
            assert await at_work.ended() == 0, at_work.lines
        counts = server.counts()
        assert (counts.requests, counts.replies, counts.most_at_once) == (CELLS, CELLS, CONCURRENCY)
    return stored(store, scratch)


def summary(store: Path) -> dict[str, Any]:
    """The audit's summary without what attempts that failed add to it: their number."""
    found: dict[str, Any] = json.loads(said(store, "summarize", AUDIT, "--json"))
    del found["tokens"]["by_role"]["judge"]["calls"]
    for stage in found["cost"]["stages"]:
        for counted in ("calls", "failed_calls", "retries"):
            del stage[counted]
    return found


def assert_the_bill_is_right(counts: Counts, kept: Stored) -> None:
    """What the server billed is stored, but for the calls in flight at a kill; no attempt is made up."""
    assert kept.answered == sorted(counts.billed)
    assert counts.replies <= CELLS + len(KILLS) * CONCURRENCY
    assert counts.requests == counts.replies + sum(counts.faults.values())
    assert 0 <= counts.requests - len(kept.logs) <= len(KILLS) * CONCURRENCY * MOST_ATTEMPTS
    assert counts.most_at_once <= 2 * CONCURRENCY


@pytest.mark.timeout(300)
async def test_an_audit_through_faults_kills_and_a_full_disk_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    calm = tmp_path / "calm.db"
    prepare(calm, PAIRS)
    with small_disk(tmp_path / "disk") as disk:
        store = tmp_path / "disk" / "s.db"
        shutil.copyfile(calm, store)
        async with judge_server(USUAL) as server:
            surviving = survive(store, tmp_path, server, None if isinstance(disk, str) else disk)
            expected, _ = await asyncio.gather(undisturbed(calm, tmp_path), surviving)
            counts = server.counts()
        kept = stored(store, tmp_path)
        runs = json.loads(said(store, "runs", "list", "--json"))["runs"]
        summaries = summary(store), summary(calm)
    assert set(counts.faults) == set(FAULTS)
    assert sorted((row["pair_id"], row["order_shown"], row["repeat"]) for row in kept.verdicts.values()) == plan(PAIRS)
    assert kept.verdicts == expected.verdicts
    assert_the_bill_is_right(counts, kept)
    assert {run["state"] for run in runs} == {"done"}
    assert sum(use["calls"] for run in runs for use in run["spent"]) == len(kept.logs)
    assert summaries[0] == summaries[1]
    if isinstance(disk, str):
        pytest.skip(f"all of it held, but no file system was filled: {disk}")


async def killed(store: Path, server: FaultServer, after: int) -> None:
    """Judge until the server has answered so many requests, and kill the process while it waits for the next ones."""
    async with judging(store, server.base_url, "judge", AUDIT) as at_work:
        await hold(server, after)
        await at_work.kill()
    server.gate.set()


async def test_two_processes_that_resume_one_run_at_once_share_no_cell(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    prepare(store, FEW)
    async with FaultServer(rates=NO_FAULTS, latency_s=0.05) as server:
        await killed(store, server, after=6)
        kept, run = stored(store, tmp_path), the_run(store, tmp_path)
        resume = ("runs", "resume", run)
        async with (
            judging(store, server.base_url, *resume) as one,
            judging(store, server.base_url, *resume) as other,
        ):
            ends = await asyncio.gather(one.ended(), other.ended())
            assert set(ends) == {0}, one.lines + other.lines
        after, counts = stored(store, tmp_path), server.counts()
    assert len(after.verdicts) == 2 * FEW
    assert {key: after.verdicts[key] for key in kept.verdicts} == kept.verdicts
    # One of the two works; the other one watches.
    assert counts.replies == 2 * FEW + CONCURRENCY
    assert counts.most_at_once == CONCURRENCY

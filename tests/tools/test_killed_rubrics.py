"""RubricBench's size at once: 1,147 made-up rows under three conditions, through kills, counted anew with pandas."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import sys
from asyncio.subprocess import DEVNULL
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command import command, environment
from misjudge_storage.engine import open_store
from misjudge_storage.ingest import ensure_audit
from misjudge_tools.gateway.clock import SystemClock
from misjudge_tools.gateway.simulated import SimulatedServer, Trouble
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from rubric_recount import Recount
from rubricbench_rows import ROWS, rows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL"),
]

AUDIT = "bench"
BIAS = SimulatedBias(noise=0.3, position=0.1, rule_following=0.9, hits=0.6, invents=0.3, seed=3)
GAP = ("rubrics", "gap", AUDIT, "--batch")
CELLS = ROWS * (1 + 1 + 3 * 2)
KILLS = (1_500, 4_000)
"""Calls after which the process is killed."""
RESULTS = """
    SELECT (SELECT COUNT(*) FROM rubric_drafts) + (SELECT COUNT(*) FROM rubric_matchings) + COUNT(*) FROM verdicts
"""
ASKED_TWICE = """
    SELECT COUNT(*) FROM
        (SELECT cell_id FROM judge_logs WHERE raw_output IS NOT NULL GROUP BY cell_id HAVING COUNT(*) > 1)
"""


class Counted(SystemClock):
    """Counts the calls of a server by the wait that each of them begins with."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0
        self._more = asyncio.Condition()

    async def sleep(self, seconds: float) -> None:
        async with self._more:
            self._calls += 1
            self._more.notify_all()

    async def reached(self, calls: int) -> None:
        async with self._more:
            await self._more.wait_for(lambda: self._calls >= calls)


class Bench:
    """A store with the rows, and how `misjudge` runs on it with the simulated gateway of this process."""

    def __init__(self, store: Path, server: SimulatedServer, clock: Counted) -> None:
        self.store = store
        self._clock = clock
        self._env = environment(
            MISJUDGE_STORE=str(store),
            TAOTOKEN_API_KEY="simulated",
            TAOTOKEN_BASE_URL=server.base_url,
            JUDGE_MODEL="simulated-judge",
        )

    async def said(self, *arguments: str) -> dict[str, Any]:
        """The JSON of a command that comes to a good end."""
        process = await self._begun(*arguments, "--json", out=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        assert process.returncode == 0
        found: dict[str, Any] = json.loads(out)
        return found

    async def kill(self, after: int, *arguments: str) -> None:
        """Kill the command once the server has had so many calls in all."""
        process = await self._begun(*arguments, out=DEVNULL)
        ended = asyncio.create_task(process.wait())
        there = asyncio.create_task(self._clock.reached(after))
        await asyncio.wait((ended, there), return_when=asyncio.FIRST_COMPLETED)
        assert not ended.done(), "it ended before it was killed"
        process.kill()
        assert await ended == -signal.SIGKILL

    async def _begun(self, *arguments: str, out: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *command(*arguments), cwd=self.store.parent, env=self._env, stdin=DEVNULL, stdout=out, stderr=DEVNULL
        )

    def asked(self, sql: str) -> Any:
        with closing(sqlite3.connect(self.store)) as connection:
            return connection.execute(sql).fetchone()[0]


def filled(folder: Path) -> Path:
    """A store with an audit whose secret makes the draws the same every time, and beside it the rows."""
    store = folder / "bench.db"
    opened = open_store(store)
    with opened.write() as connection:
        ensure_audit(connection, AUDIT, secret="bench")
    opened.close()
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows())
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    return store


async def test_a_gap_over_all_rows_survives_kills_and_equals_a_recount(tmp_path: Path) -> None:
    clock = Counted()
    async with SimulatedServer(BIAS, trouble=Trouble(latency_s=0.001), clock=clock) as server:
        bench = Bench(filled(tmp_path), server, clock)
        await bench.said("import", "rubricbench", "rows.jsonl", "--audit", AUDIT)
        await bench.kill(KILLS[0], *GAP)
        run_id = bench.asked("SELECT run_id FROM runs")
        await bench.kill(KILLS[1], "runs", "resume", run_id)
        await bench.said("runs", "resume", run_id)
        found = await bench.said(*GAP)
    assert (found["run"]["state"], found["already_stored"], bench.asked(RESULTS)) == ("done", CELLS, CELLS)
    assert bench.asked(ASKED_TWICE) == 0, "a stored reply was asked for again"
    assert_as_recounted(found["rubrics"], Recount(bench.store))


def assert_as_recounted(section: dict[str, Any], recount: Recount) -> None:
    domains = sorted({row["domain"] for row in section["accuracy_by_domain"]})
    assert domains == ["chat", "code", "if", "safety", "stem"]
    for domain, written, judged in (
        (None, section["writers"], section["accuracy"]),
        *((name, of(section["writers_by_domain"], name), of(section["accuracy_by_domain"], name)) for name in domains),
    ):
        [row] = written
        counted = recount.writing(domain)
        mine = {name: row[name] for name in ("samples", "total_gold", "matched_gold", "total_generated")}
        assert mine | {"matched_generated": row["total_generated"] - row["hallucination_rate"]["k"]} == counted
        assert row["recall"]["rate"] == pytest.approx(counted["matched_gold"] / counted["total_gold"])
        sources = recount.judging(domain)
        assert {row["kind"] for row in judged} == {"none", "self", "human"} == sources.keys()
        for row in judged:
            names = [name for name in ("pairs", "right", "wrong", "tie", "inconsistent", "unscored") if row[name]]
            assert {name: row[name] for name in names} == sources[row["kind"]]
    for row in section["gaps"]:
        first, second = (kind_of(section, row[name]) for name in ("first", "second"))
        assert (row["only_first"], row["only_second"]) == recount.only_right(first, second)


def of(found: list[dict[str, Any]], domain: str) -> list[dict[str, Any]]:
    return [row for row in found if row["domain"] == domain]


def kind_of(section: dict[str, Any], source: str) -> str:
    return next(str(row["kind"]) for row in section["accuracy"] if row["source"] == source)

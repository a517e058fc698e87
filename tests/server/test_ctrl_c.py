from __future__ import annotations

import asyncio
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from command import environment, launcher
from misjudge_storage.engine import open_store
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.requests import RunsRequest
from operations import KEY, TABLES, PromptJudge, count, keyed, opened, pair_records, stored

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")

# A shell that starts the tests in the background would let them, and what they start, ignore it.
HEEDED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
BLOCKED_IMPORT = """
import sys, threading
from misjudge_tools import import_records
def forever(*_):
    print("reading", file=sys.stderr, flush=True)
    threading.Event().wait()
import_records.ingest = forever
"""
PAIRS = 30


async def started(folder: Path, env: dict[str, str], *arguments: str, before: str = "") -> Process:
    program = [*launcher(HEEDED + before), *arguments]
    return await asyncio.create_subprocess_exec(*program, cwd=folder, env=env, stdout=PIPE, stderr=PIPE)


async def said(process: Process) -> tuple[str, str]:
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return out.decode(), err.decode()


async def test_a_judging_that_is_interrupted_says_how_to_go_on_and_goes_on(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s.db")
    stored(store, pair_records(PAIRS))
    store.close()
    async with PromptJudge() as judge:
        env = environment(
            MISJUDGE_STORE=str(tmp_path / "s.db"),
            MISJUDGE_CONCURRENCY="4",
            TAOTOKEN_API_KEY=KEY,
            TAOTOKEN_BASE_URL=judge.base_url,
            JUDGE_MODEL="judge-m",
        )
        judge.gate.clear()
        process = await started(tmp_path, env, "judge", "a")
        await judge.received(4)
        process.send_signal(signal.SIGINT)
        judge.gate.set()
        out, err = await said(process)
        assert (process.returncode, out) == (130, "")
        asking, _, stopped = err.partition("\n")
        assert asking.startswith("misjudge: asking judge-m, from JUDGE_MODEL (environment), at http://127.0.0.1:")
        goes_on = r"misjudge: stopped; what was stored stays\. Go on with: misjudge runs (resume \w+)\n"
        told = re.fullmatch(goes_on, stopped)
        assert told is not None
        asked = len(judge.asked)
        assert 4 <= asked < 2 * PAIRS
        async with opened(tmp_path / "s.db", keyed(judge.base_url)) as deps:
            request = RunsRequest.model_validate(dict(zip(("action", "run"), told[1].split(), strict=True)))
            assert (await manage_runs(request, deps)).runs[0].done == 2 * PAIRS
        assert len(judge.asked) == 2 * PAIRS


async def test_an_import_that_is_interrupted_ends_at_once_and_stores_nothing(tmp_path: Path) -> None:
    tmp_path.joinpath("log.csv").write_text("prompt,a,b\nq,yes,no\n", encoding="utf-8")
    options = ("--audit", "a", "--map", "prompt=prompt,a=a,b=b")
    process = await started(tmp_path, environment(), "import", "table", "log.csv", *options, before=BLOCKED_IMPORT)
    assert process.stderr is not None
    async with asyncio.timeout(60):
        assert await process.stderr.readline() == b"reading\n"
    process.send_signal(signal.SIGINT)
    out, err = await said(process)
    assert (process.returncode, out) == (130, "")
    assert err == "misjudge: stopped; what was stored stays. Go on with: the same command again\n"
    store = open_store(tmp_path / ".misjudge" / "misjudge.db")
    try:
        assert {table: count(store, table) for table in TABLES} == dict.fromkeys(TABLES, 0)
    finally:
        store.close()

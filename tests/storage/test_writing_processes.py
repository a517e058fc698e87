"""Four processes store results in one SQLite file at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from misjudge_storage.engine import open_store
from run_builders import planned_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PROCESSES = 4
RESULTS = 20_000

WRITER = """
import sys
from functools import partial

from builders import JUDGE, verdict
from misjudge_storage import leases
from misjudge_storage.engine import open_store
from misjudge_storage.judging_records import CellResult, store_results
from misjudge_storage.rows import log_row, verdict_row
from misjudge_storage.types import Log

path, run, audit, judge, number, results = sys.argv[1:]
store = open_store(path)
lease = store.writer.submit(partial(leases.claim, run_id=run, owner=f"process {number}")).result()


def result(n):
    row = verdict_row(audit, judge, "p0", verdict("A", "AB", int(number) * int(results) + n))
    said = {"raw_output": "because " * 40, "input_tokens": 400, "output_tokens": 60, "reply_key": row["verdict_id"]}
    log = Log(model="judge-m", **said)
    logged = log_row(audit, log, [number, n], run_id=run, cell_id=row["verdict_id"], pair_id="p0", judge_id=judge)
    return CellResult({**row, "log_id": logged["log_id"]}, (logged,))


print("ready", flush=True)
sys.stdin.readline()
stored = 0
for start in range(0, int(results), 64):
    numbers = range(start, min(start + 64, int(results)))
    works = [partial(store_results, results=[result(n)], lease=lease) for n in numbers]
    for future in [store.writer.submit(work) for work in works]:
        stored += future.result().held
    assert store.writer.submit(partial(leases.renew, lease=lease)).result().held
store.close()
print(stored)
"""


def writer(path: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_processes_that_write_one_store_at_once_lose_no_row_and_meet_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path)
    runs = [planned_run(store, pairs=1) for _ in range(PROCESSES)]
    writers = [
        writer(path, run.run_id, run.audit_id, run.judge_id, str(number), str(RESULTS))
        for number, run in enumerate(runs)
    ]
    for one in writers:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in writers:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    ends = [one.communicate(timeout=280) for one in writers]
    assert [(one.returncode, *end) for one, end in zip(writers, ends, strict=True)] == [(0, f"{RESULTS}\n", "")] * 4
    with store.read() as connection:
        by_run = connection.execute(text("SELECT COUNT(*), COUNT(DISTINCT cell_id) FROM judge_logs GROUP BY run_id"))
        assert [tuple(row) for row in by_run] == [(RESULTS, RESULTS)] * PROCESSES
        assert connection.scalar(text("SELECT COUNT(*) FROM verdicts")) == PROCESSES * RESULTS
        unlogged = "SELECT COUNT(*) FROM verdicts WHERE log_id NOT IN (SELECT log_id FROM judge_logs)"
        assert connection.scalar(text(unlogged)) == 0
        assert connection.scalar(text("PRAGMA integrity_check")) == "ok"
    store.close()

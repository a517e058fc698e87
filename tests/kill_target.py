"""A process that judges until it kills itself: `STORE BASE_URL CONCURRENCY RUN DIE_AFTER`.

RUN is `start` or the id of a run to resume. The id of each cell is printed once its result is committed; behind
that many commits of this process it ends by SIGKILL (0: never).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from misjudge_storage import judging_records
from misjudge_storage.writer import Writer
from misjudge_tools.judge import judge
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.requests import JudgeRequest, RunsRequest
from operations import keyed, opened


def report_commits(writer: Writer, die_after: int) -> None:
    """Print every cell that `writer` has committed, and die behind the last one wanted."""
    submit: Callable[[Any], Future[Any]] = writer.submit
    committed = 0

    def note(cell_id: str) -> None:
        nonlocal committed
        committed += 1
        os.write(1, f"{cell_id}\n".encode())
        if committed == die_after:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(work: Any) -> Future[Any]:
        future = submit(work)
        if isinstance(work, partial) and work.func is judging_records.store_result:
            cell_id = work.keywords["result"].verdict["verdict_id"]
            future.add_done_callback(lambda _: note(cell_id))
        return future

    writer.submit = watched  # type: ignore[method-assign]


async def main(store: str, base_url: str, concurrency: str, run: str, die_after: str) -> None:
    async with opened(Path(store), keyed(base_url), concurrency=int(concurrency)) as deps:
        report_commits(deps.store.writer, int(die_after))
        if run == "start":
            await judge(JudgeRequest(audit="a", max_calls=100_000), deps)
        else:
            await manage_runs(RunsRequest(action="resume", run=run), deps)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""A line on stderr while runs are under way, where stderr is a terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import TypeVar

from misjudge_tools.deps import Deps
from misjudge_tools.runs.report import run_report

T = TypeVar("T")
EVERY_S = 0.5


async def with_progress(deps: Deps, work: Awaitable[T]) -> T:
    """Await `work`, showing how far this process's runs are."""
    if not sys.stderr.isatty():
        return await work
    shower = asyncio.create_task(_show(deps))
    try:
        return await work
    finally:
        shower.cancel()
        sys.stderr.write("\r\033[K")


async def _show(deps: Deps) -> None:
    while True:
        await asyncio.sleep(EVERY_S)
        for run_id in deps.worker.active:
            report = await asyncio.to_thread(run_report, deps.store, run_id)
            sys.stderr.write(f"\r\033[K{report.operation} {report.audit}: {report.done} of {report.total} calls")
            sys.stderr.flush()

"""A bar on stderr while runs are under way, where stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from misjudge_server.terminal import plain
from misjudge_tools.deps import Deps
from misjudge_tools.results import RunReport

T = TypeVar("T")


async def with_progress(deps: Deps, work: Callable[[Deps], Awaitable[T]]) -> T:
    """The outcome of `work`, showing how far the run is that it waits for."""
    if not sys.stderr.isatty():
        return await work(deps)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[more]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=None, more="", visible=False)

        async def show(run: RunReport) -> None:
            what = plain(f"{run.operation} {run.audit}")
            bar.update(
                shown, description=what, completed=run.done, total=run.total, more=plain(facts(run)), visible=True
            )

        return await work(replace(deps, progress=show))


def facts(run: RunReport) -> str:
    """What else there is to say of a run under way: time left, money, why it waits."""
    known = [use.cost for use in run.spent if use.cost is not None]
    parts = (
        f"about {run.eta_s:.0f} s left" if run.eta_s else "",
        f"{sum(known):.4f} USD" if any(known) else "",
        "paused" if run.reason else "",
    )
    return "; ".join(part for part in parts if part)

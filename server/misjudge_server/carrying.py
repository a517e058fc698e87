"""What every command does around its operation: request in, work on the store in force, result out."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from misjudge_server.complaints import complaint
from misjudge_server.terminal import json_text
from misjudge_storage.errors import InvalidInput, RunStopped
from misjudge_tools.deps import Deps
from misjudge_tools.results import LIMIT_REACHED, RunReport

R = TypeVar("R")
Q = TypeVar("Q", bound=BaseModel)
STOPPED = 130
SCHEMA = 1
TO_THE_END_S = 10.0**8
"""At the command line a run is waited for, however long it takes."""


def request_of(model: type[Q], **given: Any) -> Q:
    """The request from what was given on the command line. Raises InvalidInput with a sentence."""
    try:
        return model.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise InvalidInput(complaint(error, model)) from None


def carry_out(work: Callable[[Deps], Awaitable[R]]) -> R:
    """Run one piece of work on the store in force; what is in flight when it ends early is drained."""
    from misjudge_server.deps import build_deps, close_deps
    from misjudge_server.settings import load_settings

    async def inside() -> R:
        deps = build_deps(load_settings(), confined=False)
        try:
            return await work(deps)
        except asyncio.CancelledError:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C does not wait
            runs = deps.worker.active
            await close_deps(deps)
            _leave(runs)
        finally:
            await close_deps(deps)

    return asyncio.run(inside())


def _leave(runs: Sequence[str]) -> NoReturn:
    """End after Ctrl-C without waiting for threads: an import that is not committed is undone."""
    again = "; ".join(f"misjudge runs resume {run}" for run in runs) or "the same command again"
    print(f"misjudge: stopped; what was stored stays. Go on with: {again}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(STOPPED)


def show(result: BaseModel, as_json: bool) -> None:
    if as_json:
        fields = {"schema": SCHEMA, **result.model_dump(mode="json", by_alias=True)}
        print(json_text(fields))
    else:
        from misjudge_server import run_printing

        run_printing.print_result(result)


def fail_unless_done(run: RunReport) -> None:
    """Raises RunStopped; a run that kept to the limits it was given did what it should."""
    if run.state not in {"done", "planned"} and not (run.reason or "").startswith(LIMIT_REACHED):
        reason = f" {run.reason.rstrip('.')}." if run.reason else ""
        raise RunStopped(f"Run {run.run}: {run.state}.{reason} Go on with: misjudge runs resume {run.run}")

"""What every command does around its operation: request in, work on the store in force, result out."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from misjudge_server.complaints import complaint
from misjudge_server.signals import exit_code, let_signals_end, take_signals
from misjudge_server.terminal import json_text
from misjudge_storage.errors import InvalidInput, RunStopped
from misjudge_tools.deps import Deps
from misjudge_tools.requests import AskingRequest, JudgingRequest, ScoreRubricsRequest
from misjudge_tools.results import LIMIT_REACHED, RunReport
from misjudge_tools.rubrics.arguments import asks_judge

R = TypeVar("R")
Q = TypeVar("Q", bound=BaseModel)
SCHEMA = 1
OPTIONS: Final = {
    "formats": "--format",
    "matchers": "--matcher",
    "rubrics": "--rubric",
    "writers": "--writer",
}
"""Arguments of requests whose options are called otherwise, since they are repeated."""
TO_THE_END_S = 10.0**8
"""At the command line a run is waited for, however long it takes."""


def request_of(model: type[Q], **given: Any) -> Q:
    """The request from what was given on the command line. Raises InvalidInput with a sentence."""
    try:
        return model.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise InvalidInput(complaint(error, model, OPTIONS)) from None


def carry_out(work: Callable[[Deps], Awaitable[R]]) -> R:
    """Run one piece of work on the store in force; what is in flight when Ctrl-C or a signal ends it is drained."""
    from misjudge_server.deps import build_deps, close_deps
    from misjudge_server.settings import load_settings

    taken: list[signal.Signals] = []

    async def inside() -> R:
        take_signals(taken)
        deps = build_deps(load_settings(), confined=False)
        try:
            return await work(deps)
        except asyncio.CancelledError:
            let_signals_end()
            runs = deps.worker.active
            await close_deps(deps)
            _leave(runs, exit_code(taken))
        finally:
            await close_deps(deps)

    try:
        return asyncio.run(inside())
    except asyncio.CancelledError:  # a signal came when the work was over and the store was being closed
        _leave((), exit_code(taken))


def _leave(runs: Sequence[str], code: int) -> NoReturn:
    """End without waiting for threads: an import that is not committed is undone."""
    again = "; ".join(f"misjudge runs resume {run}" for run in runs) or "the same command again"
    with suppress(OSError):  # after SIGHUP there may be no terminal any more
        print(f"misjudge: stopped; what was stored stays. Go on with: {again}", file=sys.stderr, flush=True)
        sys.stdout.flush()
    os._exit(code)


def announce_judges(request: AskingRequest, deps: Deps) -> None:
    """Say, before anything is paid, which models of a gateway are asked where."""
    from misjudge_server.logs import announce
    from misjudge_tools.gateway.ways import asked_at, choose_model

    names = _names(request)
    named = [name for name in names if name is None or not name.startswith("simulated")]
    choices = [choose_model("judge", name, deps.models, to_ask=not request.dry_run) for name in named]
    asked = dict.fromkeys(asked_at(choice, deps.models) for choice in choices if choice.kind == "gateway")
    for place in asked:
        announce(f"{'would ask' if request.dry_run else 'asking'} {place}")
    for name in deps.models.leftovers if asked else ():
        announce(f"{name} is set and has no say here")


def _names(request: AskingRequest) -> list[str | None]:
    """The models that a request names; None is the configured one."""
    if isinstance(request, ScoreRubricsRequest):
        named = [*(request.writers or ()), *(request.matchers or ())]
        return [*named, request.judge] if asks_judge(request) else [*named]
    return [request.judge, *(request.panel or () if isinstance(request, JudgingRequest) else ())]


def show(result: BaseModel, as_json: bool) -> None:
    if as_json:
        fields = {"schema": SCHEMA, **result.model_dump(mode="json", by_alias=True)}
        print(json_text(fields))
    else:
        from misjudge_server import rubric_run_printing

        rubric_run_printing.print_result(result)


def fail_unless_done(run: RunReport) -> None:
    """Raises RunStopped; a run that kept to the limits it was given did what it should."""
    if run.state not in {"done", "planned"} and not (run.reason or "").startswith(LIMIT_REACHED):
        reason = f" {run.reason.rstrip('.')}." if run.reason else ""
        raise RunStopped(f"Run {run.run}: {run.state}.{reason} Go on with: misjudge runs resume {run.run}")

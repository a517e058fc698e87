"""How a run is reported, and how it is started: shared by every operation that asks a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import judging_records, run_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import Conflict, InvalidInput, RunStopped
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest
from misjudge_storage.judging_records import StoredVerdict
from misjudge_storage.rows import audit_id
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_storage.types import Record
from misjudge_tools.deps import Deps
from misjudge_tools.judging.choice import JudgingSpec, judge_of
from misjudge_tools.requests import JudgingRequest
from misjudge_tools.results import RoleUse, RunReport, VerdictShown
from misjudge_tools.runs.plan import minus_stored

FREE_CALLS = 200
"""More planned calls than this to a gateway that may cost money need `max_calls`."""
OPEN_STATES = frozenset({"queued", "running"})
RESUMABLE = frozenset({"lost", "failed", "cancelled", "queued"})
POLL_SECONDS = 0.5
"""How often a run that another process works on is looked at."""


class PlannedRun(NamedTuple):
    """A stored run, and how many cells of its plan had a result before."""

    run_id: str
    already_stored: int


def run_report(store: Store, run_id: str) -> RunReport:
    """How the run stands now. Raises NotFound."""
    with store.read() as connection:
        run = run_records.read_run(connection, run_id)
        progress = run_records.progress(connection, run_id)
        spent = run_records.spent(connection, run_id)
        unscored = run_records.unscored(connection, run_id)
    # Another run may have stored the last of its cells: then nothing is left to resume.
    ended = progress.done == progress.total and run.state in RESUMABLE and run.state != "queued"
    return RunReport(
        run=run_id,
        audit=run.audit,
        operation=run.operation,
        state="done" if ended else run.state,
        done=progress.done,
        total=progress.total,
        spent=tuple(RoleUse(**use._asdict()) for use in spent),
        unscored=unscored,
        simulated=json.loads(run.request_json).get("kind") == "simulated",
        reason=None if ended else run.reason,
        next=None if ended else _next_step(run),
    )


def standing(deps: Deps, run_id: str) -> RunReport:
    """As `run_report`, also where the store could not take note of how the run ended in this process."""
    report = run_report(deps.store, run_id)
    ended = deps.worker.unsaved_end(run_id)
    if ended is None:
        return report
    return report.model_copy(update={**ended._asdict(), "next": _resume(run_id)})


def planned_report(audit: str, operation: str, calls: int) -> RunReport:
    """The answer to a dry run."""
    again = "call again without dry_run"
    return RunReport(run="", audit=audit, operation=operation, state="planned", done=0, total=calls, next=again)


def _next_step(run: RunRow) -> str | None:
    if run.state in OPEN_STATES and run.live:
        return f"runs(action='wait', run='{run.run_id}')"
    if run.state in RESUMABLE:
        return _resume(run.run_id)
    return None


def _resume(run_id: str) -> str:
    return f"runs(action='resume', run='{run_id}')"


def stored_before(store: Store, plan: Sequence[PlannedCell]) -> int:
    """How many cells of a plan have a stored result."""
    with store.read() as connection:
        return len(judging_records.stored_cells(connection, [cell.cell_id for cell in plan]))


def refuse_unbounded(spec: JudgingSpec, planned: int, max_calls: int | None) -> None:
    """Raises InvalidInput for a plan above `max_calls`, or a large one to a paid gateway without it."""
    if max_calls is not None and planned > max_calls:
        raise InvalidInput(f"This takes {planned} calls, above max_calls={max_calls}. Raise it or choose fewer pairs.")
    if spec.kind == "gateway" and planned > FREE_CALLS and max_calls is None:
        raise InvalidInput(
            f"This takes {planned} calls to a gateway that may cost money. Call again with max_calls={planned}, "
            "or with dry_run=true to see the plan."
        )


def store_plan(
    deps: Deps,
    operation: str,
    spec: JudgingSpec,
    request: JudgingRequest,
    plan: Sequence[PlannedCell],
    given: Record | None = None,
) -> PlannedRun:
    """Store the run of this plan minus what is stored, with the record that the request itself gave, all or nothing.

    A `request_key` that is known attaches to its run. Raises InvalidInput or Conflict.
    """
    audit = audit_id(request.audit)
    with deps.store.write() as connection:
        stored = judging_records.stored_cells(connection, [cell.cell_id for cell in plan])
        cells = minus_stored(plan, stored)
        known = None if request.request_key is None else run_records.run_with_key(connection, request.request_key)
        if known is not None:
            return _attach(connection, known, operation, spec, plan, cells)
        for run_id in run_records.runs_under_way(connection, audit):
            theirs = run_records.cell_ids(connection, run_id)
            if cells and all(cell.cell_id in theirs for cell in cells):
                return PlannedRun(run_id, len(stored))  # the same work is under way: attach, do not pay twice
            cells = minus_stored(cells, theirs)
        refuse_unbounded(spec, len(cells), request.max_calls)
        if given is not None:
            ingest(connection, ensure_audit(connection, request.audit), operation, [given])
        ensure_judge(connection, audit, judge_of(spec))
        run_id = run_records.create_run(
            connection, audit, operation, spec.model_dump_json(), request.request_key, cells
        )
        return PlannedRun(run_id, len(stored))


def _attach(
    connection: Connection,
    run_id: str,
    operation: str,
    spec: JudgingSpec,
    plan: Sequence[PlannedCell],
    open_cells: Sequence[PlannedCell],
) -> PlannedRun:
    """The run of a repeated call. Raises Conflict where its key was used for other work."""
    run = run_records.read_run(connection, run_id)
    mine = run_records.cell_ids(connection, run_id)
    same = (run.operation, run.request_json) == (operation, spec.model_dump_json())
    if not same or any(cell.cell_id not in mine for cell in open_cells):
        raise Conflict(
            f"This request_key belongs to run {run_id}, which has another plan. Use a new key, or leave it out."
        )
    return PlannedRun(run_id, sum(cell.cell_id not in mine for cell in plan))


async def carry_out(deps: Deps, run_id: str, wait_s: float) -> RunReport:
    """Work on the run in this process (or watch another's work) for `wait_s` seconds; how it stands then."""
    report = await asyncio.to_thread(standing, deps, run_id)
    if report.state in RESUMABLE:
        with suppress(RunStopped):  # another process was quicker to take it
            await deps.worker.start(run_id)
    return await watch(deps, run_id, wait_s)


async def watch(deps: Deps, run_id: str, seconds: float) -> RunReport:
    """Until the run ends, here or in another process, at most `seconds`; how it stands then."""
    until = monotonic() + seconds
    await deps.worker.wait(run_id, seconds)
    while True:
        report = await asyncio.to_thread(standing, deps, run_id)
        left = until - monotonic()
        if report.state != "running" or run_id in deps.worker.active or left <= 0:
            return report
        await asyncio.sleep(min(left, POLL_SECONDS))


def shown_verdicts(verdicts: Sequence[StoredVerdict]) -> tuple[VerdictShown, ...]:
    """Stored verdicts as an answer shows them."""
    return tuple(
        VerdictShown(
            pair_id=verdict.pair_id,
            trajectory_id=verdict.trajectory_id,
            order=verdict.order_shown,
            repeat=verdict.repeat,
            winner=verdict.winner,
            score_a=verdict.score_a,
            score_b=verdict.score_b,
            satisfaction=verdict.score,
            unscored_reason=verdict.unscored_reason,
            log=verdict.log_id,
        )
        for verdict in verdicts
    )

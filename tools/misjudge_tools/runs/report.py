"""How a run is reported, and how it is started: shared by every operation that asks a model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from misjudge_storage import judging_records, run_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.ingest import ensure_judge
from misjudge_storage.judging_records import AuditRow, StoredVerdict
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_tools.deps import Deps
from misjudge_tools.judging.choice import JudgingSpec, judge_of
from misjudge_tools.requests import JudgingRequest
from misjudge_tools.results import RoleUse, RunReport, VerdictShown
from misjudge_tools.runs.plan import minus_stored

FREE_CALLS = 200
"""More planned calls than this to a gateway that may cost money need `max_calls`."""
OPEN_STATES = frozenset({"queued", "running"})
RESUMABLE = frozenset({"lost", "failed", "cancelled", "queued"})


def run_report(store: Store, run_id: str) -> RunReport:
    """How the run stands now. Raises NotFound."""
    with store.read() as connection:
        run = run_records.read_run(connection, run_id)
        progress = run_records.progress(connection, run_id)
        spent = run_records.spent(connection, run_id)
    return RunReport(
        run=run_id,
        audit=run.audit,
        operation=run.operation,
        state=run.state,
        done=progress.done,
        total=progress.total,
        spent=tuple(RoleUse(**use._asdict()) for use in spent),
        reason=run.reason,
        next=_next_step(run),
    )


def planned_report(audit: str, operation: str, calls: int) -> RunReport:
    """The answer to a dry run."""
    again = "call again without dry_run"
    return RunReport(run="", audit=audit, operation=operation, state="planned", done=0, total=calls, next=again)


def _next_step(run: RunRow) -> str | None:
    if run.state in OPEN_STATES and run.live:
        return f"runs(action='wait', run='{run.run_id}')"
    if run.state in RESUMABLE:
        return f"runs(action='resume', run='{run.run_id}')"
    return None


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
    deps: Deps, audit: AuditRow, operation: str, spec: JudgingSpec, request: JudgingRequest, plan: Sequence[PlannedCell]
) -> str:
    """Store the run of this plan minus what is stored (or find the run of the same `request_key`); its id."""
    with deps.store.write() as connection:
        if request.request_key is not None:
            known = run_records.run_with_key(connection, request.request_key)
            if known is not None:
                return known
        ensure_judge(connection, audit.audit_id, judge_of(spec))
        stored = judging_records.stored_cells(connection, [cell.cell_id for cell in plan])
        cells = minus_stored(plan, stored)
        refuse_unbounded(spec, len(cells), request.max_calls)
        return run_records.create_run(
            connection, audit.audit_id, operation, spec.model_dump_json(), request.request_key, cells
        )


async def carry_out(deps: Deps, run_id: str, wait_s: float) -> RunReport:
    """Work on the run in this process (or watch another's work) for `wait_s` seconds; how it stands then."""
    report = await asyncio.to_thread(run_report, deps.store, run_id)
    if report.state in RESUMABLE:
        await deps.worker.start(run_id)
    await deps.worker.wait(run_id, wait_s)
    return await asyncio.to_thread(run_report, deps.store, run_id)


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

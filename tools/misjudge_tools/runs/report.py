"""How a run stands, and how it is worked on and waited for: shared by every operation that asks a model."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from time import monotonic

from sqlalchemy import Connection

from misjudge_storage import run_progress, run_records, stopping_records
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.errors import RunStopped
from misjudge_storage.judging_records import StoredVerdict
from misjudge_storage.run_progress import ErrorGroup, Progress, RoleSpend, Stage
from misjudge_storage.run_records import RunRow
from misjudge_tools.deps import Deps
from misjudge_tools.results import ErrorSeen, RoleUse, RunReport, StageDone, VerdictShown
from misjudge_tools.runs.cascade_report import cascade_report
from misjudge_tools.runs.escalating import unasked
from misjudge_tools.runs.spec import judges_named, read_spec, run_marks
from misjudge_tools.runs.stop_report import reason_of, stopping_report

OPEN_STATES = frozenset({"queued", "running"})
RESUMABLE = frozenset({"lost", "failed", "cancelled", "queued"})
POLL_SECONDS = 0.5
"""How often a run is looked at while somebody waits for it."""
PACE_SECONDS = 60.0
"""The time that the pace of a run is taken from."""


def run_report(store: Store, run_id: str) -> RunReport:
    """How the run stands now. Raises NotFound."""
    with store.read() as connection:
        return _report(connection, run_records.read_run(connection, run_id))


def _report(connection: Connection, run: RunRow) -> RunReport:
    progress = run_progress.progress(connection, run.run_id)
    stages = run_progress.stages(connection, run.run_id)
    spent = run_progress.spent(connection, run.run_id)
    errors = run_progress.recent_errors(connection, run.run_id)
    needless = _needless(connection, run)
    total = progress.total - needless.total()
    # Another run may have stored the last of its cells, or have shown that it needs no more: nothing is left to resume.
    over = progress.done == total and run.state in RESUMABLE and run.state != "queued"
    ended = over and not unasked(connection, run)
    working = run.state == "running"
    spec = read_spec(run.request_json, run.run_id)
    stopping = stopping_report(connection, run, spec)
    reason = run.note if working else run.reason
    if run.state == "done" and stopping is not None:
        reason = reason_of(stopping, judges=len(spec.judges))  # others may have asked what it was spared
    return RunReport(
        run=run.run_id,
        audit=run.audit,
        operation=run.operation,
        judge=judges_named(spec),
        started_at=run.created_at,
        state="done" if ended else run.state,
        done=progress.done,
        total=total,
        stages=tuple(_stage(stage, needless) for stage in stages),
        spent=tuple(_use(use) for use in spent),
        from_cache=sum(use.cached for use in spent),
        limits=json.loads(run.budget_json or "{}"),
        eta_s=_eta(connection, run, progress) if working else None,
        unscored=run_progress.unscored(connection, run.run_id),
        failed=0 if working or ended else len(run_progress.failed_cells(connection, run.run_id)),
        errors=tuple(_error(group) for group in errors),
        cascade=cascade_report(connection, run, spec),
        **({} if stopping is None else dict(stopping)),
        simulated=run_marks(spec) is not None,
        reason=None if ended else reason,
        next=None if ended else _next_step(run),
    )


def _needless(connection: Connection, run: RunRow) -> Counter[str]:
    """How many open cells of each kind a run that nobody works on does not need any more."""
    if run.state not in RESUMABLE:
        return Counter()
    return Counter(cell.kind for cell in stopping_records.needless_by_now(connection, run.run_id))


def _stage(stage: Stage, needless: Counter[str]) -> StageDone:
    return StageDone(stage=stage.stage, done=stage.done, total=stage.total - needless[stage.stage])


def _use(use: RoleSpend) -> RoleUse:
    return RoleUse(
        role=use.role,
        calls=use.attempts,
        input_tokens=use.input_tokens,
        output_tokens=use.output_tokens,
        cost=use.cost,
        without_price=use.replies_without_price,
    )


def _error(group: ErrorGroup) -> ErrorSeen:
    last_at = group.last_at.isoformat(timespec="seconds")
    return ErrorSeen(error=group.error, attempts=group.attempts, last_at=last_at)


def _eta(connection: Connection, run: RunRow, progress: Progress) -> float | None:
    """Seconds for what is left, None while nothing tells the pace: that since the first reply of the last minute."""
    now = utc_now()
    replies = run_progress.replies_since(connection, run.run_id, now - timedelta(seconds=PACE_SECONDS))
    if replies.first_at is None or replies.number < 2:
        return None
    each = (now - replies.first_at).total_seconds() / (replies.number - 1)
    return round((progress.total - progress.done) * each, 1)


def standing(deps: Deps, run_id: str) -> RunReport:
    """As `run_report`, also where the store cannot be told that the run waits for it, or how it ended."""
    report = run_report(deps.store, run_id)
    ended, paused = deps.worker.unsaved_end(run_id), deps.worker.paused(run_id)
    if ended is not None:
        return report.model_copy(update={**ended._asdict(), "next": _resume(run_id)})
    return report if paused is None else report.model_copy(update={"reason": paused})


def stored_as_done(deps: Deps, run_id: str) -> bool:
    """Whether the run is stored as done: one that another run did the rest of becomes so only when it is resumed."""
    with deps.store.read() as connection:
        return run_records.read_run(connection, run_id).state == "done"


def _waits_for_work(deps: Deps, run_id: str) -> bool:
    state = standing(deps, run_id).state
    return state in RESUMABLE or (state == "done" and not stored_as_done(deps, run_id))


def _next_step(run: RunRow) -> str | None:
    if run.state in OPEN_STATES and run.live:
        return f"runs(action='wait', run='{run.run_id}')"
    if run.state in RESUMABLE:
        return _resume(run.run_id)
    return None


def _resume(run_id: str) -> str:
    return f"runs(action='resume', run='{run_id}')"


async def carry_out(deps: Deps, run_id: str, wait_s: float, *, only_failed: bool = False) -> RunReport:
    """Work on the run in this process (or watch another's work) for `wait_s` seconds; how it stands then."""
    if await asyncio.to_thread(_waits_for_work, deps, run_id):
        with suppress(RunStopped):  # another process was quicker to take it
            await deps.worker.start(run_id, only_failed=only_failed)
    return await watch(deps, run_id, wait_s)


async def watch(deps: Deps, run_id: str, seconds: float) -> RunReport:
    """Until the run ends, here or in another process, at most `seconds`; how it stands then."""
    until = monotonic() + seconds
    while True:
        left = until - monotonic()
        if run_id in deps.worker.active:
            step = left if deps.progress is None else min(left, POLL_SECONDS)
            await deps.worker.wait(run_id, max(step, 0))
        report = await asyncio.to_thread(standing, deps, run_id)
        if deps.progress is not None:
            await deps.progress(report)
        left = until - monotonic()
        if report.state != "running" or left <= 0:
            return report
        if run_id not in deps.worker.active:
            await asyncio.sleep(min(left, POLL_SECONDS))


def shown_verdicts(verdicts: Sequence[StoredVerdict]) -> tuple[VerdictShown, ...]:
    """Stored verdicts as an answer shows them."""
    return tuple(
        VerdictShown(
            judge=verdict.label,
            pair_id=verdict.pair_id,
            trajectory_id=verdict.trajectory_id,
            order=verdict.order_shown,
            repeat=verdict.repeat,
            winner=verdict.winner,
            score_a=verdict.score_a,
            score_b=verdict.score_b,
            score=verdict.score,
            unscored_reason=verdict.unscored_reason,
            log=verdict.log_id,
        )
        for verdict in verdicts
    )

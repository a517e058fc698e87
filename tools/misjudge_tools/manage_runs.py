"""`runs`: what is under way, and how to wait for it, stop it or go on with it."""

from __future__ import annotations

import asyncio
from functools import partial

from sqlalchemy import Connection

from misjudge_storage import judging_records, leases, run_records
from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.requests import RunsRequest
from misjudge_tools.results import RunList, RunReport
from misjudge_tools.runs.budget import refuse_unpriced
from misjudge_tools.runs.expected import pricings_of
from misjudge_tools.runs.outcomes import outcome_of_run
from misjudge_tools.runs.planning import budget_of, set_limits
from misjudge_tools.runs.reply_warnings import reply_warnings
from misjudge_tools.runs.report import carry_out, run_report, standing, stored_as_done, watch
from misjudge_tools.runs.sessions import recast
from misjudge_tools.runs.spec import read_spec

SHOWN = 20


async def manage_runs(request: RunsRequest, deps: Deps) -> RunList:
    """List runs, or show, wait for, cancel, resume or retry one. Raises NotFound or InvalidInput."""
    if request.action == "list":
        return await asyncio.to_thread(_list, request, deps)
    if request.run is None:
        raise InvalidInput(f"Action {request.action} needs the run's id. List the runs with action=list.")
    report = await asyncio.to_thread(standing, deps, request.run)
    if request.action == "wait":
        report = await watch(deps, request.run, request.wait_s)
    elif request.action == "cancel":
        report = await _cancel(report, request.wait_s, deps)
    elif request.action in {"resume", "retry"}:
        report = await _go_on(report, request, deps)
    warnings = await asyncio.to_thread(reply_warnings, deps.store, report)
    return RunList(runs=(report,), warnings=warnings, pair=await asyncio.to_thread(outcome_of_run, deps.store, report))


def _list(request: RunsRequest, deps: Deps) -> RunList:
    with deps.store.read() as connection:
        audit_id = None if request.audit is None else judging_records.read_audit(connection, request.audit).audit_id
        rows = run_records.list_runs(connection, audit_id)
    reports = tuple(run_report(deps.store, row.run_id) for row in rows[:SHOWN])
    return RunList(runs=reports, runs_left_out=len(rows) - len(reports))


async def _cancel(report: RunReport, seconds: float, deps: Deps) -> RunReport:
    if report.state == "done":
        raise InvalidInput(f"Run {report.run} is done; there is nothing to cancel.")
    if not deps.worker.stop(report.run):
        await asyncio.wrap_future(deps.store.writer.submit(partial(_cancel_elsewhere, run_id=report.run)))
    return await watch(deps, report.run, seconds)


def _cancel_elsewhere(connection: Connection, run_id: str) -> None:
    """Whoever works on the run in another process sees the wish at the next renewal of the lease."""
    if not leases.request_stop(connection, run_id):
        leases.cancel_idle(connection, run_id)


async def _go_on(report: RunReport, request: RunsRequest, deps: Deps) -> RunReport:
    only_failed = request.action == "retry"
    if report.state == "done":
        if await asyncio.to_thread(stored_as_done, deps, report.run):
            raise InvalidInput(f"Run {report.run} is done; there is nothing to {request.action}.")
        return await carry_out(deps, report.run, request.wait_s)
    if report.state == "running" and not budget_of(request).unlimited:
        raise InvalidInput(
            f"Run {report.run} is at work under the limits that it began with. Cancel it, then resume it with the new "
            "limits."
        )
    if only_failed and report.state != "running" and not report.failed:
        raise InvalidInput(f"Run {report.run} has no failed cells; action=resume asks what it has not asked yet.")
    await asyncio.to_thread(_set_limits, report.run, request, deps)
    return await carry_out(deps, report.run, request.wait_s, only_failed=only_failed)


def _set_limits(run_id: str, request: RunsRequest, deps: Deps) -> None:
    """Raises InvalidInput for a limit in USD without a known price."""
    wanted = budget_of(request)
    with deps.store.write() as connection:
        run = run_records.read_run(connection, run_id)
        spec = read_spec(run.request_json, run.run_id)
        cast = None
        if spec.rollouts is not None and not wanted.unlimited:
            cast = recast(spec.rollouts, deps.episodes, deps.models, deps.roots)
        for pricing in pricings_of(spec, cast, deps.models):
            refuse_unpriced(wanted, pricing)
        set_limits(connection, run, wanted)

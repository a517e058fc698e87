"""`runs`: what is under way, and how to wait for it, stop it or go on with it."""

from __future__ import annotations

import asyncio
from functools import partial

from misjudge_storage import judging_records, run_records
from misjudge_storage.errors import InvalidInput, RunStopped
from misjudge_tools.deps import Deps
from misjudge_tools.requests import RunsRequest
from misjudge_tools.results import RunList, RunReport
from misjudge_tools.runs.report import OPEN_STATES, carry_out, run_report, standing, watch

SHOWN = 20


async def manage_runs(request: RunsRequest, deps: Deps) -> RunList:
    """List runs, or show, wait for, cancel or resume one. Raises NotFound, InvalidInput or RunStopped."""
    if request.action == "list":
        return await asyncio.to_thread(_list, request, deps)
    if request.run is None:
        raise InvalidInput(f"Action {request.action} needs the run's id. List the runs with action=list.")
    report = await asyncio.to_thread(standing, deps, request.run)
    if request.action == "wait":
        report = await watch(deps, request.run, request.wait_s)
    elif request.action == "cancel":
        report = await _cancel(report, request.wait_s, deps)
    elif request.action == "resume":
        report = await _resume(report, request.wait_s, deps)
    return RunList(runs=(report,))


def _list(request: RunsRequest, deps: Deps) -> RunList:
    with deps.store.read() as connection:
        audit_id = None if request.audit is None else judging_records.read_audit(connection, request.audit).audit_id
        rows = run_records.list_runs(connection, audit_id)
    reports = tuple(run_report(deps.store, row.run_id) for row in rows[:SHOWN])
    return RunList(runs=reports, runs_left_out=len(rows) - len(reports))


async def _cancel(report: RunReport, seconds: float, deps: Deps) -> RunReport:
    if report.state == "done":
        raise InvalidInput(f"Run {report.run} is done; there is nothing to cancel.")
    if deps.worker.stop(report.run):
        return await watch(deps, report.run, seconds)
    if report.state in OPEN_STATES and report.state != "queued":
        raise RunStopped(f"Run {report.run} is worked on by another process; stop it there.")
    await asyncio.wrap_future(deps.store.writer.submit(partial(run_records.mark_cancelled, run_id=report.run)))
    return await asyncio.to_thread(run_report, deps.store, report.run)


async def _resume(report: RunReport, seconds: float, deps: Deps) -> RunReport:
    if report.state == "done":
        raise InvalidInput(f"Run {report.run} is done; there is nothing to resume.")
    return await carry_out(deps, report.run, seconds)

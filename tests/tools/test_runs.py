"""`runs`: what is under way, and how to wait for it, stop it or go on with it."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from misjudge_storage import leases, run_records
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound, RunStopped, StoreUnwritable
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.requests import JudgeRequest, RunsRequest
from misjudge_tools.results import RunList, RunReport
from misjudge_tools.runs import report
from operations import PromptJudge, count, keyed, opened, pair_records, rows, stored, verdicts


def asked(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", **values})


async def ask_runs(deps: Deps, action: str = "list", **values: Any) -> RunList:
    return await manage_runs(RunsRequest.model_validate({"action": action, **values}), deps)


async def one(deps: Deps, action: str, run: str, **values: Any) -> RunReport:
    (found,) = (await ask_runs(deps, action, run=run, **values)).runs
    return found


async def begun(deps: Deps, server: PromptJudge, pairs: int, in_flight: int) -> str:
    """A run of which this many calls are held by the server."""
    stored(deps.store, pair_records(pairs))
    server.gate.clear()
    run = (await judge(asked(wait_s=0), deps)).run.run
    await server.received(in_flight)
    return run


async def stopped(deps: Deps, server: PromptJudge, pairs: int = 10) -> str:
    """A run that was cancelled with eight results stored."""
    run = await begun(deps, server, pairs, 8)
    assert (await one(deps, "cancel", run, wait_s=0)).state == "running", "it drains"
    server.gate.set()
    await one(deps, "wait", run)
    return run


async def test_cancelling_drains_what_is_in_flight_and_resuming_finishes_as_if_undisturbed(
    tmp_path: Path, judged: Deps, prompt_judge: PromptJudge
) -> None:
    run = await stopped(judged, prompt_judge)
    standing = await one(judged, "status", run)
    assert (standing.state, standing.done, standing.total) == ("cancelled", 8, 20)
    assert (standing.reason, standing.next) == (
        "stopped; resume it to go on",
        f"runs(action='resume', run='{run}')",
    )
    assert len(prompt_judge.asked) == 8
    finished = await one(judged, "resume", run)
    assert (finished.state, finished.done, finished.reason, finished.next) == ("done", 20, None, None)
    assert len(prompt_judge.asked) == 20
    async with opened(tmp_path / "other.db", keyed(prompt_judge.base_url)) as undisturbed:
        stored(undisturbed.store, pair_records(10))
        await judge(asked(), undisturbed)
        assert verdicts(undisturbed.store) == verdicts(judged.store)


async def test_a_run_that_is_resumed_while_it_drains_goes_on(judged: Deps, prompt_judge: PromptJudge) -> None:
    run = await begun(judged, prompt_judge, 10, 8)
    assert judged.worker.stop(run)
    resuming = asyncio.create_task(judged.worker.start(run))
    await asyncio.sleep(0)
    prompt_judge.gate.set()
    await resuming
    await judged.worker.wait(run, 30)
    assert (await one(judged, "status", run)).state == "done"
    assert len(prompt_judge.asked) == 20


async def test_a_run_cancelled_with_its_last_calls_in_flight_is_done(judged: Deps, prompt_judge: PromptJudge) -> None:
    run = await begun(judged, prompt_judge, 4, 8)
    judged.worker.stop(run)
    prompt_judge.gate.set()
    await judged.worker.wait(run, 30)
    assert (await one(judged, "status", run)).state == "done"


async def test_what_a_run_used_is_told_by_role(judged: Deps, prompt_judge: PromptJudge) -> None:
    stored(judged.store, pair_records(3))
    run = (await judge(asked(), judged)).run
    (use,) = run.spent
    assert (use.role, use.calls, use.input_tokens, use.output_tokens, use.cost) == ("judge", 6, 66, 18, None)


async def test_runs_are_listed_the_latest_first_and_by_audit(deps: Deps) -> None:
    stored(deps.store, pair_records(1))
    stored(deps.store, pair_records(1), audit="b")
    started = [(await judge(asked(audit=audit, judge="simulated"), deps)).run.run for audit in ("a", "b", "a")]
    listed = await ask_runs(deps)
    assert [run.run for run in listed.runs] == started[::-1]
    assert listed.runs_left_out == 0
    assert [run.run for run in (await ask_runs(deps, audit="b")).runs] == [started[1]]
    with pytest.raises(NotFound, match="No audit is called 'c'"):
        await ask_runs(deps, audit="c")


async def test_a_long_list_of_runs_says_how_many_it_left_out(deps: Deps) -> None:
    stored(deps.store, pair_records(1))
    for _ in range(22):
        await judge(asked(judge="simulated"), deps)
    listed = await ask_runs(deps)
    assert (len(listed.runs), listed.runs_left_out) == (20, 2)


@pytest.mark.parametrize("action", ["status", "wait", "cancel", "resume"])
async def test_every_action_but_list_needs_a_run_that_is_stored(deps: Deps, action: str) -> None:
    with pytest.raises(InvalidInput, match=f"Action {action} needs the run's id"):
        await ask_runs(deps, action)
    with pytest.raises(NotFound, match="No run 'run_0' is stored"):
        await ask_runs(deps, action, run="run_0")


async def test_a_finished_run_can_be_neither_cancelled_nor_resumed(deps: Deps) -> None:
    stored(deps.store, pair_records(1))
    run = (await judge(asked(judge="simulated"), deps)).run.run
    for action, said in (("cancel", "nothing to cancel"), ("resume", "nothing to resume")):
        with pytest.raises(InvalidInput, match=said):
            await one(deps, action, run)
    assert (await one(deps, "wait", run)).state == "done"


async def test_a_run_that_nobody_works_on_can_be_cancelled(judged: Deps, prompt_judge: PromptJudge) -> None:
    run = await stopped(judged, prompt_judge)
    assert (await one(judged, "cancel", run)).state == "cancelled"
    assert (await one(judged, "resume", run)).state == "done"


async def test_waiting_returns_when_the_time_is_over(judged: Deps, prompt_judge: PromptJudge) -> None:
    run = await begun(judged, prompt_judge, 10, 8)
    waited = await one(judged, "wait", run, wait_s=0.01)
    assert (waited.state, waited.next) == ("running", f"runs(action='wait', run='{run}')")
    prompt_judge.gate.set()
    assert (await one(judged, "wait", run)).state == "done"


async def test_a_second_process_watches(
    tmp_path: Path, judged: Deps, prompt_judge: PromptJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: asyncio.Queue[None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    standing = report.standing

    def counted(deps: Deps, run_id: str) -> RunReport:
        loop.call_soon_threadsafe(looked.put_nowait, None)
        return standing(deps, run_id)

    monkeypatch.setattr(report, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(report, "standing", counted)
    run = await begun(judged, prompt_judge, 10, 8)
    async with opened(tmp_path / "misjudge.db", keyed(prompt_judge.base_url)) as other:
        with pytest.raises(RunStopped, match="worked on by another process"):
            await other.worker.start(run)
        watching = asyncio.create_task(one(other, "wait", run))
        resuming = asyncio.create_task(one(other, "resume", run))
        for _ in range(20):
            await looked.get()
        assert not watching.done() and not resuming.done()
        prompt_judge.gate.set()
        assert ((await watching).state, (await resuming).state) == ("done", "done")
    assert len(prompt_judge.asked) == 20


async def test_a_second_process_can_cancel_what_the_first_one_works_on(
    tmp_path: Path, judged: Deps, prompt_judge: PromptJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.001)
    monkeypatch.setattr(report, "POLL_SECONDS", 0.001)
    run = await begun(judged, prompt_judge, 10, 8)
    async with opened(tmp_path / "misjudge.db", keyed(prompt_judge.base_url)) as other:
        cancelling = asyncio.create_task(one(other, "cancel", run))
        await judged.worker._active[run].stop.wait()
        assert not cancelling.done(), "it drains"
        prompt_judge.gate.set()
        cancelled = await cancelling
    assert (cancelled.state, cancelled.done) == ("cancelled", 8)
    assert (await one(judged, "resume", run)).state == "done"
    assert len(prompt_judge.asked) == 20


async def test_a_run_that_another_process_took_a_moment_ago_is_watched(
    tmp_path: Path, judged: Deps, prompt_judge: PromptJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await begun(judged, prompt_judge, 10, 8)
    standing = report.standing
    earlier = iter([standing(judged, run).model_copy(update={"state": "queued"})])
    monkeypatch.setattr(report, "standing", lambda deps, run_id: next(earlier, None) or standing(deps, run_id))
    async with opened(tmp_path / "misjudge.db", keyed(prompt_judge.base_url)) as other:
        found = await report.carry_out(other, run, wait_s=0)
    assert found.state == "running"
    prompt_judge.gate.set()
    assert (await one(judged, "wait", run)).state == "done"
    assert len(prompt_judge.asked) == 20


async def test_two_workers_that_resume_one_run_at_once_share_no_cell(
    tmp_path: Path, judged: Deps, prompt_judge: PromptJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "POLL_SECONDS", 0.01)
    run = await stopped(judged, prompt_judge)
    async with opened(tmp_path / "misjudge.db", keyed(prompt_judge.base_url)) as other:
        both = await asyncio.gather(one(judged, "resume", run), one(other, "resume", run))
    assert [found.state for found in both] == ["done", "done"]
    assert count(judged.store, "verdicts") == count(judged.store, "judge_logs") == len(prompt_judge.asked) == 20


async def test_closing_leaves_a_run_that_can_be_resumed(tmp_path: Path, prompt_judge: PromptJudge) -> None:
    async with opened(tmp_path / "s.db", keyed(prompt_judge.base_url)) as deps:
        run = await begun(deps, prompt_judge, 10, 8)
        closing = asyncio.create_task(deps.worker.aclose())
        await asyncio.sleep(0)
        prompt_judge.gate.set()
        await closing
        standing = await one(deps, "status", run)
        assert (standing.state, standing.done) == ("lost", 8)
        assert standing.reason == "the process ended; resume it to go on"
    async with opened(tmp_path / "s.db", keyed(prompt_judge.base_url)) as deps:
        assert (await one(deps, "resume", run)).state == "done"
    assert len(prompt_judge.asked) == 20


async def test_closing_gives_up_on_calls_that_take_too_long(tmp_path: Path, prompt_judge: PromptJudge) -> None:
    async with opened(tmp_path / "s.db", keyed(prompt_judge.base_url)) as deps:
        run = await begun(deps, prompt_judge, 10, 8)
        await deps.worker.aclose(grace_s=0.01)
        standing = await one(deps, "status", run)
    assert (standing.state, standing.done) == ("lost", 0)


def set_owner(store: Store, run: str, **values: Any) -> None:
    runs = run_records.RUNS
    with store.write() as connection:
        connection.execute(update(runs).where(runs.c.run_id == run).values(state="running", **values))


def dead_process() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot be asked whether a process lives")
async def test_a_run_whose_process_is_gone_is_lost_at_once_and_can_be_resumed(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    run = await stopped(judged, prompt_judge)
    later = utc_now() + timedelta(hours=1)
    gone = {"owner": "gone", "lease_until": later, "owner_pid": dead_process()}
    set_owner(judged.store, run, owner_host=socket.gethostname(), **gone)
    assert (await one(judged, "status", run)).state == "lost"
    set_owner(judged.store, run, owner_host=socket.gethostname(), **{**gone, "owner_pid": None})
    assert (await one(judged, "status", run)).state == "lost"
    # On another machine nobody can tell, so there the lease has to run out.
    set_owner(judged.store, run, owner_host="elsewhere", **gone)
    assert (await one(judged, "status", run)).state == "running"
    with pytest.raises(RunStopped):
        await judged.worker.start(run)
    set_owner(judged.store, run, owner_host="elsewhere", **{**gone, "lease_until": utc_now() - timedelta(seconds=1)})
    standing = await one(judged, "status", run)
    assert (standing.state, standing.next) == ("lost", f"runs(action='resume', run='{run}')")
    assert (await one(judged, "resume", run)).state == "done"


async def test_a_lost_run_can_be_cancelled(judged: Deps, prompt_judge: PromptJudge) -> None:
    run = await stopped(judged, prompt_judge)
    set_owner(judged.store, run, lease_until=utc_now() - timedelta(seconds=1))
    cancelled = await one(judged, "cancel", run)
    assert (cancelled.state, cancelled.reason) == ("cancelled", "cancelled")


async def test_a_worker_that_loses_its_lease_stops_and_stores_what_it_paid_for_but_no_verdict(
    judged: Deps, prompt_judge: PromptJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a laptop that slept while another process took the run over."""
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.001)
    run = await begun(judged, prompt_judge, 10, 8)
    set_owner(judged.store, run, owner="thief", owner_host="elsewhere", lease_until=utc_now() + timedelta(hours=1))
    await judged.worker._active[run].stop.wait()
    prompt_judge.gate.set()
    await judged.worker.wait(run, 30)
    assert (await one(judged, "status", run)).state == "running"
    (row,) = rows(judged.store, "SELECT owner FROM runs WHERE run_id = :run", run=run)
    assert row["owner"] == "thief"
    assert (count(judged.store, "verdicts"), count(judged.store, "judge_logs")) == (0, 8)


async def test_a_worker_that_learns_of_its_lost_lease_by_its_first_result_asks_no_more(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    run = await begun(judged, prompt_judge, 10, 8)
    set_owner(judged.store, run, owner="thief", owner_host="elsewhere", lease_until=utc_now() + timedelta(hours=1))
    prompt_judge.gate.set()
    await judged.worker.wait(run, 30)
    assert (count(judged.store, "verdicts"), len(prompt_judge.asked)) == (0, 8)
    assert (await one(judged, "status", run)).state == "running"


async def test_a_lease_is_renewed_while_the_run_lasts_also_after_a_store_that_was_busy(
    judged: Deps, prompt_judge: PromptJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewals: asyncio.Queue[None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    renew = leases.renew
    answers = iter([StoreUnwritable("busy")])

    def counted(connection: Any, lease: leases.Lease) -> leases.Renewal:
        loop.call_soon_threadsafe(renewals.put_nowait, None)
        for error in answers:
            raise error
        return renew(connection, lease)

    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.001)
    monkeypatch.setattr(leases, "renew", counted)
    run = await begun(judged, prompt_judge, 10, 8)
    for _ in range(3):
        await renewals.get()
    prompt_judge.gate.set()
    await judged.worker.wait(run, 30)
    assert (await one(judged, "status", run)).state == "done"


async def test_how_a_run_ended_is_kept_as_an_event(judged: Deps, prompt_judge: PromptJudge) -> None:
    run = await stopped(judged, prompt_judge)
    await one(judged, "resume", run)
    events = rows(judged.store, "SELECT level, event, run_id FROM run_events ORDER BY created_at")
    assert events == [
        {"level": "warning", "event": "cancelled", "run_id": run},
        {"level": "info", "event": "done", "run_id": run},
    ]


async def test_the_same_judging_asked_for_twice_attaches_and_is_paid_for_once(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    stored(judged.store, pair_records(4))
    prompt_judge.gate.clear()
    first = (await judge(asked(wait_s=0), judged)).run.run
    second = (await judge(asked(wait_s=0), judged)).run.run
    assert second == first
    await prompt_judge.received(8)
    prompt_judge.gate.set()
    await judged.worker.wait(first, 30)
    assert (count(judged.store, "verdicts"), count(judged.store, "judge_logs")) == (8, 8)


async def test_a_larger_judging_asks_only_what_a_run_under_way_does_not(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    stored(judged.store, pair_records(4))
    prompt_judge.gate.clear()
    first = (await judge(asked(wait_s=0), judged)).run.run
    second = (await judge(asked(wait_s=0, repeats=2), judged)).run
    assert (second.run != first, second.total) == (True, 8)
    prompt_judge.gate.set()
    await asyncio.gather(judged.worker.wait(first, 30), judged.worker.wait(second.run, 30))
    assert (count(judged.store, "verdicts"), count(judged.store, "judge_logs")) == (16, 16)


async def test_a_run_that_is_started_twice_is_worked_on_once(judged: Deps, prompt_judge: PromptJudge) -> None:
    run = await begun(judged, prompt_judge, 10, 8)
    await asyncio.gather(judged.worker.start(run), judged.worker.start(run))
    await judged.worker.start(run)
    prompt_judge.gate.set()
    await judged.worker.wait(run, 30)
    assert len(prompt_judge.asked) == count(judged.store, "judge_logs") == 20


async def test_nothing_is_active_once_a_run_has_ended(judged: Deps, prompt_judge: PromptJudge) -> None:
    run = await begun(judged, prompt_judge, 4, 8)
    assert list(judged.worker.active) == [run]
    prompt_judge.gate.set()
    await judged.worker.wait(run, 30)
    assert list(judged.worker.active) == []
    assert not judged.worker.stop(run)
    await judged.worker.wait(run, 30)

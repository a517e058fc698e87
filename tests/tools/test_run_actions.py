"""`runs`: retry, what a status holds, and cancelling a run that nobody works on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import judging_records, run_records
from misjudge_storage.columns import utc_now
from misjudge_storage.errors import InvalidInput
from misjudge_storage.rows import judge_fingerprint
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Price
from misjudge_tools.judge import judge
from misjudge_tools.judging.choice import choose_judge, judge_of
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.requests import JudgeRequest, RunsRequest
from misjudge_tools.results import RunReport, StageDone
from misjudge_tools.runs import planning
from misjudge_tools.runs.plan import both_orders, pair_cells
from misjudge_tools.runs.spec import RunSpec
from operations import PromptJudge, count, keyed, opened, pair_records, rows, stored, verdict_text, with_judge

REFUSED = {"error": {"message": "no"}}


def asked(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", **values})


async def one(deps: Deps, action: str, run: str, **values: Any) -> RunReport:
    request = RunsRequest.model_validate({"action": action, "run": run, **values})
    (found,) = (await manage_runs(request, deps)).runs
    return found


async def half_failed(deps: Deps, server: LoopbackServer) -> str:
    """A run of ten cells of which the first two failed, two are done and six were not asked."""
    stored(deps.store, pair_records(5))
    server.enqueue(REFUSED, status=400, times=2)
    server.enqueue(completion(verdict_text("A")), times=2)
    result = await judge(asked(max_calls=4), deps)
    assert (result.run.state, result.run.done, result.run.failed) == ("cancelled", 2, 2)
    return result.run.run


def asked_cells(deps: Deps, run: str) -> list[int]:
    """The places in the plan of the cells that the run has asked, in the order of asking."""
    query = """
        SELECT c.seq FROM judge_logs l JOIN cells c ON c.cell_id = l.cell_id AND c.run_id = l.run_id
        WHERE l.run_id = :run ORDER BY l.created_at
    """
    return [row["seq"] for row in rows(deps.store, query, run=run)]


async def test_retry_asks_only_the_cells_that_failed(tmp_path: Path) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        run = await half_failed(deps, server)
        assert asked_cells(deps, run) == [1, 2, 3, 4]
        server.always(completion(verdict_text("B")))
        retried = await one(deps, "retry", run, max_calls=100)
        assert (retried.state, retried.done, retried.failed) == ("cancelled", 4, 0)
        assert retried.reason == "the cells that had failed are done; resume it for the others"
        assert asked_cells(deps, run) == [1, 2, 3, 4, 1, 2]
        with pytest.raises(InvalidInput, match="has no failed cells; action=resume asks what it has not asked yet"):
            await one(deps, "retry", run)
        assert len(server.requests) == 6
        rest = await one(deps, "resume", run)
        assert (rest.state, rest.done, len(server.requests)) == ("done", 10, 12)


async def test_a_retry_that_fails_again_says_so_and_keeps_the_cells_to_be_retried(tmp_path: Path) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        run = await half_failed(deps, server)
        server.enqueue(REFUSED, status=400)
        server.enqueue(completion(verdict_text("B")))
        retried = await one(deps, "retry", run, max_calls=100)
        assert (retried.state, retried.done, retried.failed) == ("failed", 3, 1)
        assert (retried.reason or "").startswith("1 call got no usable reply, the last one: The gateway refused")
        server.enqueue(completion(verdict_text("B")))
        assert (await one(deps, "retry", run)).failed == 0


async def test_a_retry_keeps_to_the_limits_of_its_run(tmp_path: Path) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        run = await half_failed(deps, server)
        retried = await one(deps, "retry", run)
        assert (retried.state, retried.failed, len(server.requests)) == ("cancelled", 2, 4)
        assert (retried.reason or "").startswith("limit reached: max_calls=4 is used up")


async def test_all_that_failed_is_retried_to_the_end_of_the_run(tmp_path: Path) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        stored(deps.store, pair_records(2))
        server.enqueue(REFUSED, status=400)
        server.always(completion(verdict_text("A")))
        failed = (await judge(asked(), deps)).run
        assert (failed.state, failed.done, failed.failed) == ("failed", 3, 1)
        retried = await one(deps, "retry", failed.run)
        assert (retried.state, retried.done, retried.failed, retried.reason) == ("done", 4, 0, None)
        assert count(deps.store, "judge_logs") == 5


async def test_where_nothing_failed_there_is_nothing_to_retry(judged: Deps, prompt_judge: PromptJudge) -> None:
    stored(judged.store, pair_records(3))
    partial = (await judge(asked(max_calls=2), judged)).run.run
    waiting = queued(judged, asked(judge="other"))
    for run in (partial, waiting):
        with pytest.raises(InvalidInput, match=f"Run {run} has no failed cells"):
            await one(judged, "retry", run)
    assert (await one(judged, "status", waiting)).state == "queued"
    done = (await judge(asked(), judged)).run.run
    with pytest.raises(InvalidInput, match="nothing to retry"):
        await one(judged, "retry", done)
    assert len(prompt_judge.asked) == 6


async def test_retrying_a_run_at_work_watches_it(judged: Deps, prompt_judge: PromptJudge) -> None:
    stored(judged.store, pair_records(5))
    prompt_judge.gate.clear()
    run = (await judge(asked(wait_s=0), judged)).run.run
    await prompt_judge.received(8)
    assert (await one(judged, "retry", run, wait_s=0)).state == "running"
    prompt_judge.gate.set()
    assert (await one(judged, "retry", run)).state == "done"
    assert len(prompt_judge.asked) == 10


def queued(deps: Deps, request: JudgeRequest) -> str:
    """A run that was planned and that nobody has taken up, as where its process was killed between the two."""
    spec = choose_judge(request.judge, request.form, request.language, deps.models)
    (audit,) = rows(deps.store, "SELECT audit_id FROM audits")
    cells = list(pair_cells(audit["audit_id"], [judge_fingerprint(judge_of(spec))], ["p0", "p1"], 1, both_orders))
    return planning.store_plan(deps, "judge", request, planning.Plan(RunSpec(judges=(spec,)), cells)).run_id


async def test_a_queued_run_can_be_cancelled_and_still_be_resumed(judged: Deps, prompt_judge: PromptJudge) -> None:
    stored(judged.store, pair_records(3))
    run = queued(judged, asked())
    standing = await one(judged, "status", run)
    assert (standing.state, standing.done, standing.total, standing.next) == (
        "queued",
        0,
        4,
        f"runs(action='resume', run='{run}')",
    )
    cancelled = await one(judged, "cancel", run)
    assert (cancelled.state, cancelled.reason, len(prompt_judge.asked)) == ("cancelled", "cancelled", 0)
    assert (await one(judged, "resume", run)).state == "done"


async def test_a_lost_run_can_be_cancelled_and_keeps_what_it_has(judged: Deps, prompt_judge: PromptJudge) -> None:
    stored(judged.store, pair_records(3))
    run = (await judge(asked(max_calls=2), judged)).run.run
    runs = run_records.RUNS
    with judged.store.write() as connection:
        past = {"state": "running", "owner": "gone", "lease_until": utc_now() - timedelta(seconds=1)}
        connection.execute(update(runs).where(runs.c.run_id == run).values(past))
    lost = await one(judged, "status", run)
    assert (lost.state, lost.done, lost.next) == ("lost", 2, f"runs(action='resume', run='{run}')")
    cancelled = await one(judged, "cancel", run)
    assert (cancelled.state, cancelled.done) == ("cancelled", 2)
    assert (await one(judged, "resume", run, max_calls=10)).state == "done"
    assert len(prompt_judge.asked) == 6


async def test_a_status_holds_stages_use_and_errors_by_kind(tmp_path: Path) -> None:
    async with LoopbackServer() as server:
        models = with_judge(keyed(server.base_url), price=Price(input=1000, output=1000))
        async with opened(tmp_path / "s.db", models, concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(3))
            server.enqueue(status=429, times=2)
            server.enqueue(completion(verdict_text("A")))
            server.enqueue(REFUSED, status=400)
            server.enqueue(status=429)
            server.always(completion("no idea"))
            before = utc_now().isoformat(timespec="seconds")
            report = (await judge(asked(), deps)).run
            after = utc_now().isoformat(timespec="seconds")
            assert await one(deps, "status", report.run) == report
    assert (report.state, report.stages) == ("failed", (StageDone(stage="pairwise", done=5, total=6),))
    (use,) = report.spent
    assert (use.role, use.calls, use.input_tokens, use.output_tokens) == ("judge", 9, 55, 15)
    assert use.cost == pytest.approx(5 * 0.014)
    assert [(seen.error, seen.attempts) for seen in report.errors] == [("RateLimited", 3), ("RequestRefused", 1)]
    assert all(before <= seen.last_at <= after for seen in report.errors)
    assert (report.unscored, report.failed, report.eta_s) == ({"parse_error": 4}, 1, None)


async def test_the_time_left_is_told_of_a_run_at_work_once_its_pace_is_known(tmp_path: Path) -> None:
    arrivals = 0

    def hold_from_the_fifth_on() -> bool:
        nonlocal arrivals
        arrivals += 1
        if arrivals == 5:
            server.gate.clear()
        return False

    async with PromptJudge(down=hold_from_the_fifth_on) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=2) as deps:
            stored(deps.store, pair_records(5))
            server.gate.clear()
            run = (await judge(asked(wait_s=0), deps)).run.run
            await server.received(2)
            assert (await one(deps, "status", run)).eta_s is None, "nothing tells the pace"
            server.gate.set()
            await server.received(6)
            verdicts = judging_records.VERDICTS
            with deps.store.write() as connection:  # as if three replies had taken half a minute after the first
                first = connection.scalar(select(verdicts.c.verdict_id).limit(1))
                long_ago = utc_now() - timedelta(seconds=30)
                connection.execute(update(verdicts).where(verdicts.c.verdict_id == first).values(created_at=long_ago))
            standing = await one(deps, "status", run)
            assert (standing.state, standing.done) == ("running", 4)
            assert standing.eta_s is not None and 60 <= standing.eta_s < 75
            server.gate.set()
            ended = await one(deps, "wait", run)
            assert (ended.state, ended.eta_s) == ("done", None)


def in_the_store(deps: Deps, run: str) -> tuple[str, str | None, str | None]:
    (row,) = rows(deps.store, "SELECT state, reason, owner FROM runs WHERE run_id = :run", run=run)
    return row["state"], row["reason"], row["owner"]


@pytest.mark.parametrize("action", ["resume", "retry"])
@pytest.mark.parametrize("state", ["cancelled", "failed", "lost"])
async def test_a_run_of_which_others_did_the_rest_is_done_when_it_is_resumed(
    tmp_path: Path, state: str, action: str
) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        run = await half_failed(deps, server)
        server.always(completion(verdict_text("A")))
        assert (await judge(asked(), deps)).run.state == "done"
        runs = run_records.RUNS
        past = {"state": "running" if state == "lost" else state, "reason": "why"}
        with deps.store.write() as connection:
            connection.execute(update(runs).where(runs.c.run_id == run).values(past))
    async with opened(tmp_path / "s.db") as deps:  # without a key
        before = (await one(deps, "status", run)).state
        found = await one(deps, action, run)
        assert (before, found.state, found.done, found.reason, found.next) == ("done", "done", 10, None, None)
        assert in_the_store(deps, run) == ("done", None, None)
        with pytest.raises(InvalidInput, match=f"Run {run} is done; there is nothing to {action}"):
            await one(deps, action, run)


async def test_a_repeated_key_ends_a_run_of_which_others_did_the_rest(tmp_path: Path) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        stored(deps.store, pair_records(2))
        server.always(completion(verdict_text("A")))
        run = (await judge(asked(max_calls=1, request_key="k"), deps)).run.run
        await judge(asked(), deps)
        assert in_the_store(deps, run)[0] == "cancelled"
        assert (await judge(asked(request_key="k"), deps)).run.state == "done"
        assert in_the_store(deps, run) == ("done", None, None)

"""Judging where something goes wrong: the gateway, the judge's replies, the store; and what gets into logs."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage.engine import Store
from misjudge_storage.rows import audit_id
from misjudge_storage.run_records import RunRow
from misjudge_storage.summary_records import unscored_reasons
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.read_record import read_record
from misjudge_tools.requests import JudgeRequest, RecordRequest, RunsRequest, SummarizeRequest
from misjudge_tools.results import JudgeResult, RunReport
from misjudge_tools.runs.run_session import RunSession
from misjudge_tools.runs.worker import OpenSession
from misjudge_tools.summarize_audit import summarize_audit
from operations import (
    PromptJudge,
    count,
    dump,
    keyed,
    opened,
    pair_record,
    pair_records,
    rows,
    stored,
    verdict_text,
    verdicts,
)

CANARY = "canary-4711"


def asked(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", **values})


async def resumed(run: str, deps: Deps) -> RunReport:
    (report,) = (await manage_runs(RunsRequest(action="resume", run=run), deps)).runs
    return report


async def test_a_judge_whose_replies_cannot_be_read_is_stopped_with_three_examples(
    tmp_path: Path, logged: pytest.LogCaptureFixture
) -> None:
    audit = "half of a run, judged?"
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(30), audit)
        server.always(completion(f"I like both. {CANARY}"))
        result = await judge(asked(audit=audit), deps)
        assert result.run.state == "failed"
        assert 20 <= result.run.done <= 27, "eight are asked at a time"
        assert result.run.next == f"runs(action='resume', run='{result.run.run}')"
        reason = result.run.reason or ""
        assert reason.startswith("20 of the first 20 replies of judge-m hold no readable verdict")
        uris = re.findall(r"misjudge://[^\s,)]+", reason)
        assert len(uris) == len(set(uris)) == 3
        for uri in uris:
            page = await read_record(RecordRequest(uri=uri), deps)
            assert page.record["raw_output"] == f"I like both. {CANARY}"
        assert CANARY not in reason and CANARY not in logged.text
        assert {row["unscored_reason"] for row in verdicts(deps.store)} == {"parse_error"}
        # Who resumes has seen it: the run goes on to its end.
        report = await resumed(result.run.run, deps)
    assert (report.state, report.done) == ("done", 60)


@pytest.mark.parametrize(("unreadable", "state"), [(4, "done"), (5, "failed")])
async def test_more_than_a_fifth_of_the_first_twenty_replies_stops_a_run(
    tmp_path: Path, unreadable: int, state: str
) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        stored(deps.store, pair_records(15))
        server.enqueue(completion(verdict_text("A")), times=20 - unreadable)
        server.enqueue(completion("no idea"), times=unreadable)
        # What comes later does not count.
        server.always(completion("no idea"))
        result = await judge(asked(), deps)
    assert (result.run.state, result.run.done) == (state, 30 if state == "done" else 20)


async def test_a_short_run_is_never_stopped_for_its_replies(tmp_path: Path) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(9))
        server.always(completion("no idea"))
        result = await judge(asked(), deps)
    assert (result.run.state, result.run.done) == ("done", 18)


async def test_a_refused_key_stops_the_run_and_a_good_one_finishes_it(
    tmp_path: Path, logged: pytest.LogCaptureFixture
) -> None:
    bad = "sk-wrong-9876543210"
    async with PromptJudge() as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url, bad), concurrency=4) as deps:
            stored(deps.store, pair_records(10))
            result = await judge(asked(), deps)
            assert result.run.state == "failed"
            assert result.run.reason is not None and "TAOTOKEN_API_KEY" in result.run.reason
            assert bad not in result.run.reason and bad not in logged.text
            assert count(deps.store, "verdicts") == 0
            logs = rows(deps.store, "SELECT cell_id, error, raw_output, est_cost FROM judge_logs")
            assert 1 <= len(logs) <= 4
            assert {log["error"] for log in logs} == {"AuthRefused"}
            assert len({log["cell_id"] for log in logs}) == len(logs)
        async with opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
            report = await resumed(result.run.run, deps)
            assert (report.state, report.done, report.reason) == ("done", 20, None)
            assert count(deps.store, "judge_logs") == 20 + len(logs)
    assert len(server.asked) == 20 + len(logs)


async def test_a_key_that_is_gone_when_a_run_is_resumed_fails_it_with_the_ways_on(tmp_path: Path) -> None:
    async with PromptJudge() as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url, "sk-wrong")) as deps:
            stored(deps.store, pair_records(1))
            run = (await judge(asked(), deps)).run.run
        async with opened(tmp_path / "s.db") as deps:
            report = await resumed(run, deps)
    assert report.state == "failed"
    assert report.reason is not None and "judge=simulated" in report.reason


async def test_a_wrong_address_fails_the_run_with_a_sentence(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db", keyed("https://example.org/v1?utm_source=mail")) as deps:
        stored(deps.store, pair_records(1))
        result = await judge(asked(), deps)
    assert result.run.state == "failed"
    assert result.run.reason is not None and "tracking link" in result.run.reason


async def one_bad_cell(
    tmp_path: Path, status: int, message: dict[str, Any], attempts: int
) -> tuple[JudgeResult, list[dict[str, Any]]]:
    """Three pairs, one call at a time; the third call meets the fault in all of its attempts."""
    async with LoopbackServer() as server:
        gateway = keyed(server.base_url, max_attempts=2)
        async with opened(tmp_path / "s.db", gateway, concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(3))
            server.enqueue(completion(verdict_text("A")), times=2)
            server.enqueue(message, status=status, times=attempts)
            server.always(completion(verdict_text("B")))
            result = await judge(asked(), deps)
            found = rows(deps.store, "SELECT status, winner, unscored_reason, v.log_id FROM verdicts v JOIN cells c "
                                     "ON c.cell_id = v.verdict_id ORDER BY c.seq")  # fmt: skip
            logs = rows(deps.store, "SELECT log_id, attempt, error FROM judge_logs ORDER BY attempt")
    third = found.pop(2)
    assert (third["status"], third["winner"]) == ("unscored", None)
    assert all(row["status"] == "scored" for row in found)
    assert next(log["attempt"] for log in logs if log["log_id"] == third["log_id"]) == max(
        log["attempt"] for log in logs
    )
    return result, [third, *logs]


@pytest.mark.parametrize(
    ("status", "message", "reason", "attempts"),
    [
        (400, {"error": {"message": "maximum context length"}}, "context_overflow", 1),
        (400, {"error": {"message": "filtered", "code": "content_filter"}}, "refused", 1),
        (200, completion(f'{{"reasons": "{"x" * 50}', finish_reason="length"), "truncated", 2),
        (200, completion("", refusal="No."), "refused", 1),
    ],
)
async def test_a_call_that_fails_is_unscored_with_its_reason_and_the_run_goes_on(
    tmp_path: Path, status: int, message: dict[str, Any], reason: str, attempts: int
) -> None:
    result, (third, *logs) = await one_bad_cell(tmp_path, status, message, attempts)
    assert (result.run.state, result.run.done) == ("done", 6)
    assert third["unscored_reason"] == reason
    assert len(logs) == 5 + attempts


@pytest.mark.parametrize(
    ("status", "message", "reason", "attempts"),
    [
        (503, {"error": {"message": "busy"}}, "provider_error", 6),
        (408, {"error": {"message": "slow"}}, "timeout", 6),
        (429, {"error": {"message": "slow down"}}, "provider_error", 6),
        (400, {"error": {"message": "no such thing"}}, "provider_error", 1),
    ],
)
async def test_a_call_that_the_provider_lost_three_times_is_unscored_until_it_is_asked_again(
    tmp_path: Path, status: int, message: dict[str, Any], reason: str, attempts: int
) -> None:
    async with LoopbackServer() as server:
        gateway = keyed(server.base_url, max_attempts=2)
        async with opened(tmp_path / "s.db", gateway, concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(3))
            server.enqueue(completion(verdict_text("A")), times=5)
            server.enqueue(message, status=status, times=attempts)
            server.always(completion(verdict_text("B")))
            result = await judge(asked(), deps)
            assert (result.run.state, result.run.done, result.run.total) == ("failed", 5, 6)
            assert result.run.reason is not None and result.run.reason.startswith("1 call got no usable reply")
            assert len(server.requests) == 5 + attempts, "no request beyond the bound"
            lost = (await summarize_audit(SummarizeRequest(audit="a"), deps)).pairs
            assert lost is not None and (lost.unscored, unscored(deps.store)) == (1, {reason: 1})
            report = await resumed(result.run.run, deps)
            assert (report.state, report.done, report.unscored) == ("done", 6, {})
            found = await summarize_audit(SummarizeRequest(audit="a"), deps)
            assert found.pairs is not None and (found.pairs.unscored, found.unscored) == (0, {})
            assert len(verdicts(deps.store)) == 7, "what was lost stays on record"


async def test_a_call_that_the_provider_lost_is_asked_again_behind_the_others(tmp_path: Path) -> None:
    async with LoopbackServer() as server:
        gateway = keyed(server.base_url, max_attempts=2)
        async with opened(tmp_path / "s.db", gateway, concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(3))
            server.enqueue({"error": {"message": "busy"}}, status=503, times=4)
            server.always(completion(verdict_text("B")))
            result = await judge(asked(), deps)
            logs = rows(deps.store, "SELECT cell_id, error FROM judge_logs ORDER BY rowid")
    assert (result.run.state, result.run.done, result.run.failed) == ("done", 6, 0)
    first, second = logs[0]["cell_id"], logs[2]["cell_id"]
    assert [log["cell_id"] for log in logs[-2:]] == [first, second], "both came last"
    assert [log["error"] for log in logs] == ["ProviderFailed"] * 4 + [None] * 6
    assert [(seen.error, seen.attempts) for seen in result.run.errors] == [("ProviderFailed", 4)]
    assert count(deps.store, "verdicts") == 6


def unscored(store: Store) -> dict[str, int]:
    with store.read() as connection:
        (reasons,) = unscored_reasons(connection, audit_id("a")).values()
    return reasons


async def test_a_provider_that_is_down_stops_the_run_and_a_later_one_asks_everything(tmp_path: Path) -> None:
    async with LoopbackServer() as server:
        gateway = keyed(server.base_url, max_attempts=1)
        async with opened(tmp_path / "s.db", gateway, concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(10))
            server.enqueue({"error": {"message": "down"}}, status=500, times=10)
            server.always(completion(verdict_text("B")))
            result = await judge(asked(), deps)
            assert (result.run.state, result.run.done) == ("failed", 0)
            assert result.run.reason is not None and result.run.reason.startswith("10 calls one after the other")
            assert len(server.requests) == 10, "the run stopped there"
            again = await judge(asked(), deps)
            assert (again.run.state, again.run.done, again.already_stored) == ("done", 20, 0)


async def test_a_cell_that_is_never_answered_in_time_ends_within_three_calls_and_stays_open(tmp_path: Path) -> None:
    clock, never = VirtualClock(), asyncio.Event()
    began = clock.now()
    async with LoopbackServer() as server:
        gateway = keyed(server.base_url, max_attempts=1, timeout_s=60)
        async with opened(tmp_path / "s.db", gateway, concurrency=1, clock=clock) as deps:
            stored(deps.store, pair_records(1))
            server.enqueue(completion(verdict_text("A")))
            server.enqueue(hold=never, times=3)
            call = asyncio.create_task(judge(asked(), deps))
            for requests in (2, 3, 4):
                await server.received(requests)
                clock.advance(61)
            result = await call
            assert unscored(deps.store) == {"timeout": 1}
    assert (result.run.state, result.run.done) == ("failed", 1)
    assert clock.now() - began <= 3 * 180, "a call has 180 s and a cell three calls"


async def test_an_unexpected_error_fails_the_run_and_says_nothing_of_the_texts(
    tmp_path: Path, logged: pytest.LogCaptureFixture
) -> None:
    def sessions(store: Store, _: OpenSession) -> OpenSession:
        @asynccontextmanager
        async def broken(run: RunRow) -> AsyncIterator[RunSession]:
            raise ZeroDivisionError(CANARY)
            yield

        return broken

    async with opened(tmp_path / "s.db", keyed("http://127.0.0.1:9"), sessions=sessions) as deps:
        stored(deps.store, pair_records(2))
        result = await judge(asked(), deps)
    assert (result.run.state, result.run.reason) == ("failed", "internal error (ZeroDivisionError); see the log")
    assert CANARY not in logged.text
    assert "test_judging_faults.py" in logged.text, "the place where it happened is logged"


async def test_an_error_in_one_cell_lets_the_calls_in_flight_be_stored(tmp_path: Path) -> None:
    """One reply that breaks the session must not throw away seven others that were paid for."""
    async with PromptJudge() as server:

        def sessions(store: Store, open_session: OpenSession) -> OpenSession:
            @asynccontextmanager
            async def breaking(run: RunRow) -> AsyncIterator[RunSession]:
                async with open_session(run) as session:
                    (judge_session,) = session.judges
                    ask = judge_session.ask

                    async def once_broken(cell: Any, shown: Any) -> Any:
                        judged = await ask(cell, shown)
                        if cell.seq == 1:
                            raise ZeroDivisionError
                        return judged

                    judge_session.ask = once_broken  # type: ignore[method-assign]
                    yield session

            return breaking

        async with opened(tmp_path / "s.db", keyed(server.base_url), sessions=sessions) as deps:
            stored(deps.store, pair_records(20))
            server.gate.clear()
            call = asyncio.create_task(judge(asked(), deps))
            await server.received(8)
            server.gate.set()
            result = await call
    assert result.run.state == "failed"
    assert result.run.done == len(server.asked) - 1


@asynccontextmanager
async def nearly_full(where: Path, base_url: str, pages: int) -> AsyncIterator[Deps]:
    """Operations on a store that may grow by no more than this many pages."""
    async with opened(where, keyed(base_url), concurrency=4) as deps:
        stored(deps.store, pair_records(200))
        used = rows(deps.store, "PRAGMA page_count")[0]["page_count"]
        limit = {"pages": used + pages}

        @event.listens_for(deps.store.engine, "checkout")
        def restrict(connection: sqlite3.Connection, *_: Any) -> None:
            connection.execute(f"PRAGMA max_page_count = {limit['pages']}")

        yield deps


async def test_a_store_that_is_full_when_the_plan_is_made_is_left_unchanged(tmp_path: Path) -> None:
    async with PromptJudge() as server, nearly_full(tmp_path / "s.db", server.base_url, pages=2) as deps:
        before = dump(deps.store)
        with pytest.raises(Exception, match="is full"):
            await judge(asked(max_calls=400), deps)
        assert dump(deps.store) == before
    assert server.asked == []


async def test_keys_transcripts_and_replies_are_in_no_log_record(
    tmp_path: Path, logged: pytest.LogCaptureFixture
) -> None:
    key = f"sk-{CANARY}-key"
    reply = json.dumps({"reasons": f"{CANARY}-reply", "score_a": 4, "score_b": 2, "winner": "A"})
    async with PromptJudge(lambda _: reply, key) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url, key)) as deps:
            said = (f"{CANARY}-a", f"{CANARY}-b")
            stored(deps.store, [pair_record("p", f"{CANARY}-task", said, "A"), *pair_records(5)])
            result = await judge(asked(), deps)
            await judge(asked(form="satisfaction"), deps)
    assert result.run.state == "done"
    ours = [record for record in logged.records if record.name.startswith("misjudge")]
    assert any(record.msg == "cell stored" for record in ours)
    for record in logged.records:
        assert CANARY not in record.getMessage() + repr(record.__dict__), record.name
    assert all({"run", "cell"} <= record.__dict__.keys() for record in ours if record.msg == "cell stored")

"""The store's file is taken away while a run goes: no reply is paid for that nobody would find again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from loopback import VirtualClock
from misjudge_storage import planned_pairs
from misjudge_storage.engine import open_store
from misjudge_storage.errors import StoreUnwritable
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.requests import JudgeRequest, RunsRequest
from misjudge_tools.results import RunReport
from misjudge_tools.runs.outage import PATIENCE_S
from operations import PromptJudge, count, keyed, opened, pair_records, stored

LOST = "was removed, replaced or cut while in use, so nothing more is stored in it. Put the file back"
ASKED = JudgeRequest(audit="a", max_calls=1000)
CONCURRENCY = 4

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows neither removes nor replaces a file that is open")


class AtCall:
    """Does something when the n-th call arrives; the gateway stays up."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        self._left = number
        self._act = act

    def __call__(self) -> bool:
        self._left -= 1
        if self._left == 0:
            self._act()
        return False


class WatchedClock(VirtualClock):
    """Tells of each sleep before it begins; the worker sleeps only while it waits for the store."""

    def __init__(self, sleeps: Callable[[int], None]) -> None:
        super().__init__()
        self._sleeps = sleeps

    async def sleep(self, seconds: float) -> None:
        self._sleeps(len(self.slept) + 1)
        await super().sleep(seconds)


def at_the_end(deps: Deps, act: Callable[[], object]) -> None:
    """Do something just before the store takes note that a run has ended."""

    @event.listens_for(deps.store.engine, "before_cursor_execute")
    def listen(_connection: object, _cursor: object, statement: str, parameters: Sequence[object], *_: object) -> None:
        if statement.startswith("UPDATE runs SET state") and parameters[0] != "running":
            act()


async def status(deps: Deps, run: str) -> RunReport:
    (report,) = (await manage_runs(RunsRequest.model_validate({"action": "status", "run": run}), deps)).runs
    return report


async def test_a_run_whose_store_is_moved_away_pauses_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    path, aside = tmp_path / "s.db", tmp_path / "moved.db"
    holder: list[Deps] = []
    reasons: set[str | None] = set()

    def wait(sleep: int) -> None:
        (run,) = holder[0].worker.active
        reasons.add(holder[0].worker.paused(run))
        if sleep == 30:
            aside.replace(path)

    clock = WatchedClock(wait)
    async with PromptJudge(down=AtCall(11, lambda: path.replace(aside))) as server:
        async with opened(path, keyed(server.base_url), concurrency=CONCURRENCY, clock=clock) as deps:
            holder.append(deps)
            stored(deps.store, pair_records(20))
            result = await judge(ASKED, deps)
            assert (result.run.state, result.run.done, result.run.reason) == ("done", 40, None)
    assert len(server.asked) == 40, "nothing was asked twice"
    assert len(clock.slept) >= 30, "the store was away for a while"
    (reason,) = reasons
    assert reason is not None and reason.startswith("paused until the store takes results again: The store ")
    assert LOST in reason
    again = open_store(path)
    assert (count(again, "verdicts"), count(again, "judge_logs"), count(again, "runs", "state = 'done'")) == (40, 40, 1)
    again.close()


async def test_a_run_whose_store_is_deleted_for_good_fails_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    clock = VirtualClock()
    async with PromptJudge(down=AtCall(11, path.unlink)) as server:
        async with opened(path, keyed(server.base_url), concurrency=CONCURRENCY, clock=clock) as deps:
            stored(deps.store, pair_records(20))
            result = await judge(ASKED, deps)
            assert result.run.state == "failed"
            assert result.run.reason is not None and LOST in result.run.reason
            assert result.run.done <= 11, "what was stored before it was deleted"
            assert (await status(deps, result.run.run)).reason == result.run.reason
    assert sum(clock.slept) >= PATIENCE_S
    assert len(server.asked) <= 11 + CONCURRENCY, "only what was in flight was paid for"
    assert not path.exists(), "nor is an empty store left in its place"


@pytest.mark.parametrize("limit", [40, 30])
async def test_a_run_whose_end_alone_meets_the_missing_file_is_not_called_done(tmp_path: Path, limit: int) -> None:
    """`limit` 30: the run would end as cancelled by its limit."""
    path = tmp_path / "s.db"
    async with PromptJudge() as server:
        async with opened(path, keyed(server.base_url), concurrency=CONCURRENCY, clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(20))

            at_the_end(deps, path.unlink)
            result = await judge(JudgeRequest(audit="a", max_calls=limit), deps)
            assert (result.run.state, result.run.done) == ("failed", limit)
            assert result.run.reason is not None
            assert result.run.reason.startswith("the end of the run could not be stored: The store ")
            assert LOST in result.run.reason
            assert result.run.next == f"runs(action='resume', run='{result.run.run}')"


async def test_an_end_that_cannot_be_stored_for_an_unknown_cause_is_a_failure_without_its_words(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("a reply")

    async with PromptJudge() as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(3))

            at_the_end(deps, fail)
            result = await judge(ASKED, deps)
    assert (result.run.state, result.run.done) == ("failed", 6)
    assert result.run.reason == "the end of the run could not be stored: ValueError; see the log"


async def test_a_store_that_is_busy_when_a_run_begins_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, answers = planned_pairs.make_pairs, iter([StoreUnwritable("busy")])

    def busy_once(connection: Any, run_id: str) -> list[str]:
        for error in answers:
            raise error
        return make(connection, run_id)

    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url), clock=VirtualClock()) as deps:
        stored(deps.store, pair_records(1))
        # What plans the run makes its pairs, too, and is not waited for.
        planned = await judge(JudgeRequest(audit="a", max_calls=1), deps)
        monkeypatch.setattr(planned_pairs, "make_pairs", busy_once)
        (resumed,) = (await manage_runs(RunsRequest(action="resume", run=planned.run.run, max_calls=9), deps)).runs
    assert (resumed.state, resumed.done, list(answers)) == ("done", 2, [])

"""Runs of an audit that have cells in common: none is paid twice, and what one has shown to be needless none asks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cascade_parts import Says, Table, place, replies
from live_parts import on_run
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest
from misjudge_tools.results import RunReport, StageDone
from misjudge_tools.runs.feed import AHEAD
from misjudge_tools.stats.anytime import TaskShares, leaves_out
from operations import Messages, PromptJudge, count, keyed, opened, pair_records, rows, stored

TEN, FORTY = 10, 40
STOP = {"threshold": 0.3}
ALWAYS_WRONG: Table = dict.fromkeys(range(FORTY), Says("B", 1, 5))
ENOUGH = next(n for n in range(1, FORTY) if leaves_out([TaskShares(1, 1, n)], STOP["threshold"]))
"""Wrong tasks that are enough to be above the threshold."""
LEFT = "what is left is asked by another run; resume it after that one"


def asked(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", **values})


async def two_cut(deps: Deps, **values: Any) -> list[str]:
    """Two runs for the same request, each cut at a limit: the second has all that the first one left."""
    return [(await judge(asked(max_calls=2, **values), deps)).run.run for _ in range(2)]


async def ended(deps: Deps, run: str) -> RunReport:
    await deps.worker.wait(run, 60)
    return await on_run(deps, "status", run)


def asked_twice(deps: Deps) -> list[str]:
    """The cells of which two replies are stored."""
    query = "SELECT cell_id FROM judge_logs WHERE error IS NULL GROUP BY cell_id HAVING COUNT(*) > 1"
    return [row["cell_id"] for row in rows(deps.store, query)]


@pytest.mark.parametrize("stop", [None, STOP])
@pytest.mark.parametrize("first", [0, 1])
async def test_of_two_runs_that_are_resumed_at_once_the_first_one_asks_what_both_have(
    tmp_path: Path, first: int, stop: dict[str, float] | None
) -> None:
    async with PromptJudge(replies({})) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(TEN))
        cut = await two_cut(deps, stop=stop)
        server.gate.clear()
        await on_run(deps, "resume", cut[first], wait_s=0, max_calls=100)
        await server.received(4 + 8)
        other = await on_run(deps, "resume", cut[1 - first], wait_s=30, max_calls=100)
        assert (other.state, other.reason, len(server.asked)) == ("cancelled", LEFT, 12)
        server.gate.set()
        assert (await ended(deps, cut[first])).state == "done"
        assert (await on_run(deps, "status", cut[1 - first])).state == "done"
        assert (await on_run(deps, "resume", cut[1 - first])).state == "done"
        assert asked_twice(deps) == [] and len(server.asked) == count(deps.store, "verdicts")


async def test_what_only_one_of_two_runs_at_once_has_is_asked_by_it(tmp_path: Path) -> None:
    async with PromptJudge(replies({})) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(TEN))
        few = (await judge(asked(pair_ids=["p1", "p2", "p3"], max_calls=1), deps)).run.run
        every = (await judge(asked(max_calls=1), deps)).run.run
        server.gate.clear()
        await on_run(deps, "resume", few, wait_s=0, max_calls=100)
        await server.received(2 + 5)
        await on_run(deps, "resume", every, wait_s=0, max_calls=100)
        await server.received(2 + 8)  # the gateway takes eight at a time
        server.gate.set()
        both = await asyncio.gather(ended(deps, few), ended(deps, every))
        assert both[0].state == "done" and {both[1].state, both[1].reason} <= {"done", "cancelled", LEFT, None}
        assert len(server.asked) == count(deps.store, "verdicts") == 2 * TEN and asked_twice(deps) == []


async def test_what_the_first_one_leaves_when_it_ends_is_asked_by_the_other(tmp_path: Path) -> None:
    async with PromptJudge(replies({})) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(TEN))
        one, other = await two_cut(deps)
        server.gate.clear()
        await on_run(deps, "resume", one, wait_s=0, max_calls=10)
        await server.received(4 + 8)
        assert (await on_run(deps, "resume", other, wait_s=30, max_calls=100)).reason == LEFT
        server.gate.set()
        assert (await ended(deps, one)).state == "cancelled"
        assert (await on_run(deps, "resume", other)).state == "done"
        assert len(server.asked) == 2 * TEN and asked_twice(deps) == []


class Refuses:
    """Refuses to judge these pairs as long as they stand here."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self._reply = replies(ALWAYS_WRONG)

    def __call__(self, messages: Messages) -> str:
        if place(messages).number in self.numbers:
            raise web.HTTPBadRequest
        return self._reply(messages)


async def test_a_run_whose_request_another_one_has_done_has_nothing_left_to_ask(tmp_path: Path) -> None:
    """The first pair could not be judged, so what is stored alone would not say that enough is known."""
    refuses = Refuses()
    async with PromptJudge(refuses) as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        stored(deps.store, pair_records(FORTY))
        dry = (await judge(asked(stop=STOP, dry_run=True), deps)).run
        cut = (await judge(asked(stop=STOP, max_calls=2), deps)).run
        head = rows(deps.store, "SELECT pair_id FROM cells WHERE seq = 5")[0]["pair_id"]
        refuses.numbers.add(int(head[1:]))
        await on_run(deps, "resume", cut.run, max_calls=4)
        done = (await judge(asked(stop=STOP), deps)).run
        assert (done.state, done.stopped[0].tasks) == ("done", ENOUGH)
        refuses.numbers.clear()
        before, calls = await on_run(deps, "status", cut.run), len(server.asked)
        assert (before.state, before.done, before.next) == ("done", before.total, None)
        assert before.stages == (StageDone(stage="pairwise", done=before.done, total=before.done),)
        after = await on_run(deps, "resume", cut.run, max_calls=100)
        assert (after.state, after.done, after.total, len(server.asked)) == ("done", before.done, before.done, calls)
        assert after.stopped == done.stopped and after.calls_saved == done.calls_saved == dry.total - done.total
        assert after.reason == done.reason


async def test_a_run_for_fewer_pairs_leaves_a_larger_one_to_be_resumed(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(FORTY))
        cut = (await judge(asked(stop=STOP, max_calls=2), deps)).run.run
        few = [f"p{n}" for n in range(ENOUGH - 2)]
        assert (await judge(asked(stop=STOP, pair_ids=few), deps)).run.state == "done"
        assert (await on_run(deps, "status", cut)).state == "cancelled"
        resumed = await on_run(deps, "resume", cut, max_calls=100)
        assert resumed.state == "done" and len(resumed.stopped) == 1


async def test_a_pair_that_was_begun_gets_its_other_order_also_where_enough_is_known_from_the_start(
    tmp_path: Path,
) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
            stored(deps.store, pair_records(FORTY))
            await judge(asked(max_calls=2 * ENOUGH), deps)
            last = rows(deps.store, "SELECT pair_id FROM cells ORDER BY seq DESC LIMIT 1")[0]["pair_id"]
            await judge(asked(pair_ids=[last], max_calls=1), deps)
            run = (await judge(asked(stop=STOP), deps)).run
            assert (run.state, len(server.asked)) == ("done", 2 * ENOUGH + 2)
            assert both_orders(deps) == {2} and run.pairs_saved == FORTY - ENOUGH - 1


def both_orders(deps: Deps) -> set[int]:
    """In how many orders the pairs are judged."""
    counted = rows(deps.store, "SELECT pair_id, COUNT(DISTINCT order_shown) AS n FROM verdicts GROUP BY pair_id")
    return {row["n"] for row in counted}


class Holds(PromptJudge):
    """A judge that keeps the calls with these numbers back until they are let go."""

    def __init__(self, reply: Callable[[Messages], str], *numbers: int) -> None:
        super().__init__(reply)
        self.held = {number: asyncio.Event() for number in numbers}
        self._number = 0

    async def _answer(self, request: web.Request) -> web.Response:
        self._number += 1
        if self._number in self.held:
            await self.held[self._number].wait()
        return await super()._answer(request)


async def test_a_pair_that_was_in_flight_when_enough_was_known_gets_its_other_order(tmp_path: Path) -> None:
    last = 2 * ENOUGH + 1
    server = Holds(replies(ALWAYS_WRONG), 1, last)
    async with server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=2) as deps:
            stored(deps.store, pair_records(FORTY))
            run = (await judge(asked(stop=STOP, wait_s=0), deps)).run.run
            await server.received(last - 2)
            server.held[1].set()
            await server.received(last - 1)
            while not (await on_run(deps, "status", run)).stopped:
                await asyncio.sleep(0)
            server.held[last].set()
            report = await ended(deps, run)
            assert (report.state, report.stopped[0].tasks) == ("done", ENOUGH)
            assert both_orders(deps) == {2} and asked_twice(deps) == []
            assert report.total == len(server.asked) == count(deps.store, "verdicts")
            assert report.total - 2 * ENOUGH in {0, 2}, "none was in flight yet, or one was and got its other order"
            assert Counter(row["run_id"] for row in rows(deps.store, "SELECT run_id FROM cells"))[run] == report.total


async def test_beside_one_call_that_hangs_only_so_many_are_asked(tmp_path: Path) -> None:
    server = Holds(replies(ALWAYS_WRONG), 1)
    async with server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=2) as deps:
            stored(deps.store, pair_records(FORTY))
            run = (await judge(asked(stop=STOP, wait_s=0), deps)).run.run
            await server.received(2 * AHEAD)
            for _ in range(50):  # time for many more
                await on_run(deps, "status", run)
            assert len(server.asked) == 2 * AHEAD
            server.held[1].set()
            report = await ended(deps, run)
            assert (report.state, report.stopped[0].tasks) == ("done", ENOUGH)

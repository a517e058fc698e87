"""Cascades that are disturbed: cut short, killed, resumed elsewhere, asked for twice, or beside other runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from sqlalchemy import text, update

from cascade_parts import MIXED, NEAR, PANEL, Desk, Place, Says, asked, assert_exact, declared, desk, place, replies
from live_parts import on_run
from misjudge_storage import cascade_records, run_records
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.errors import Conflict
from misjudge_tools.judge import judge
from misjudge_tools.results import RunReport
from operations import Messages, PromptJudge, count, rows, stored, verdicts

TEN = 10
NAMED = {1, 2, 3} | NEAR
ALL = {"judge": 2 * TEN, "strict": 2 * len(NAMED), "stern": 2 * len(NAMED)}


def forget_escalations(store: Store, planned: int) -> int:
    """Take out of the run the cells behind its plan, as a store that was copied too early lacks them."""
    with store.write() as connection:
        return connection.execute(text("DELETE FROM cells WHERE seq > :planned"), {"planned": planned}).rowcount


def gone(store: Store, run: str) -> None:
    """The run is left as by a process that died at work."""
    runs = run_records.RUNS
    past = {"state": "running", "owner": "gone", "lease_until": utc_now() - timedelta(seconds=1), "ended_at": None}
    with store.write() as connection:
        connection.execute(update(runs).where(runs.c.run_id == run).values(past))


async def undisturbed(where: Path) -> list[dict[str, object]]:
    """The verdicts of a cascade that nothing disturbs."""
    async with desk(where / "undisturbed.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        await judge(asked(), at.deps)
        return verdicts(at.deps.store)


async def ended(at: Desk, run: str) -> RunReport:
    await at.deps.worker.wait(run, 60)
    return await on_run(at.deps, "status", run)


@pytest.mark.parametrize("calls", [1, 5, 9, 17, 23, 25, 31, 39])
async def test_a_cascade_that_ends_at_a_limit_goes_on_to_the_very_same(tmp_path: Path, calls: int) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        cut = (await judge(asked(max_calls=calls), at.deps)).run
        assert (cut.state, cut.done, sum(at.calls().values())) == ("cancelled", calls, calls)
        assert (cut.reason or "").startswith("limit reached: max_calls")
        async with desk(tmp_path / "s.db", MIXED, server=at.first, panel=at.panel) as later:
            resumed = await on_run(later.deps, "resume", cut.run, max_calls=40)
        assert (resumed.state, resumed.done, resumed.total) == ("done", 40, 40)
        assert at.calls() == ALL and at.panel_pairs() == NAMED
        assert verdicts(at.deps.store) == await undisturbed(tmp_path)


async def test_what_follows_from_a_verdict_is_planned_with_it_and_stays_open_at_a_limit(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", {n: Says("tie", 3, 3) for n in range(4)}, concurrency=1) as at:
        stored(at.deps.store, declared(4, frozenset()))
        cut = (await judge(asked(max_calls=8), at.deps)).run
        assert (cut.state, cut.done, cut.total) == ("cancelled", 8, 8 + 4 * 4)
        assert cut.cascade is not None and cut.cascade.escalated == {"low_margin": 4}


@pytest.mark.parametrize("state", ["lost", "cancelled"])
async def test_a_run_that_lacks_what_follows_from_its_verdicts_is_not_done_and_makes_up_for_it(
    tmp_path: Path, state: str
) -> None:
    async with desk(tmp_path / "s.db", {n: Says("tie", 3, 3) for n in range(4)}, concurrency=1) as at:
        stored(at.deps.store, declared(4, frozenset()))
        run = (await judge(asked(max_calls=8), at.deps)).run.run
        assert forget_escalations(at.deps.store, planned=8) == 16
        if state == "lost":
            gone(at.deps.store, run)
        standing = await on_run(at.deps, "status", run)
        assert (standing.state, standing.done, standing.total) == (state, 8, 8)
        assert standing.next == f"runs(action='resume', run='{run}')"
        resumed = await on_run(at.deps, "resume", run, max_calls=100)
        assert (resumed.state, resumed.done, resumed.total) == ("done", 24, 24)
        assert at.panel_pairs() == {0, 1, 2, 3}


async def test_a_lost_run_of_which_nothing_is_left_is_done(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        run = (await judge(asked(), at.deps)).run.run
        gone(at.deps.store, run)
        assert (await on_run(at.deps, "status", run)).state == "done"


async def test_a_repeated_key_attaches_before_and_after_the_panel_was_asked(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        cut = (await judge(asked(request_key="k", max_calls=21), at.deps)).run
        forget_escalations(at.deps.store, planned=28)
        goes_on = (await judge(asked(request_key="k", max_calls=40), at.deps)).run
        assert (goes_on.run, goes_on.state) == (cut.run, "done")
        assert (await judge(asked(request_key="k"), at.deps)).run.run == cut.run
        assert at.calls() == ALL
        with pytest.raises(Conflict, match="has another plan"):
            await judge(asked(request_key="k", margin=2), at.deps)
        with pytest.raises(Conflict, match="has another plan"):
            await judge(asked(request_key="k", repeats=2), at.deps)


async def test_the_same_cascade_asked_for_twice_attaches_also_with_its_panel_in_another_order(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        at.first.gate.clear()
        run = (await judge(asked(wait_s=0), at.deps)).run.run
        assert (await judge(asked(wait_s=0), at.deps)).run.run == run
        assert (await judge(asked(wait_s=0, panel=list(PANEL[::-1])), at.deps)).run.run == run
        at.first.gate.set()
        assert (await ended(at, run)).state == "done"
        assert at.calls() == ALL and at.panel_pairs() == NAMED


async def test_two_cascades_over_pairs_that_overlap_share_the_work(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        at.first.gate.clear()
        one = (await judge(asked(wait_s=0, pair_ids=[f"p{n}" for n in range(6)]), at.deps)).run.run
        other = (await judge(asked(wait_s=0, pair_ids=[f"p{n}" for n in range(3, TEN)]), at.deps)).run
        assert other.run != one and other.cascade is not None and other.cascade.pairs == 4, "p3 to p5 are the first's"
        at.first.gate.set()
        both = [await ended(at, run) for run in (one, other.run)]
        assert [run.state for run in both] == ["done", "done"]
        assert_exact(at.deps.store, "judge-m", PANEL, 1)
        assert at.calls() == ALL and at.panel_pairs() == NAMED


async def test_a_cascade_of_another_margin_leaves_shared_verdicts_to_the_run_that_asks_for_them(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        at.first.gate.clear()
        one = (await judge(asked(wait_s=0), at.deps)).run.run
        other = (await judge(asked(wait_s=0, margin=2.5), at.deps)).run.run
        ending = await ended(at, other)
        assert (ending.state, ending.done) == ("cancelled", 0)
        assert ending.reason == "what is left is asked by another run; resume it after that one"
        at.first.gate.set()
        assert (await ended(at, one)).state == "done"
        assert at.panel_pairs() == NAMED
        resumed = await on_run(at.deps, "resume", other)
        assert resumed.state == "done" and resumed.cascade is not None
        assert_exact(at.deps.store, "judge-m", PANEL, 2.5)
        assert at.panel_pairs() == NAMED | {4, 5} and at.calls()["judge"] == 2 * TEN
        assert resumed.cascade.decided == 3


async def test_a_cascade_goes_by_verdicts_that_a_plain_run_stores_meanwhile(tmp_path: Path) -> None:
    """The plain run has two pairs; what the cascade asks itself takes longer, so it sees them come."""
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        at.first.gate.clear()
        plain = (await judge(asked(wait_s=0, panel=None, cascade=False, pair_ids=["p1", "p3"]), at.deps)).run.run
        await at.first.received(4)
        at.panel["strict"].gate.clear()
        cascade = (await judge(asked(wait_s=0), at.deps)).run.run
        await at.panel["strict"].received(1)
        at.first.gate.set()
        assert (await ended(at, plain)).state == "done"
        at.panel["strict"].gate.set()
        assert (await ended(at, cascade)).state == "done"
        assert at.calls() == ALL and at.panel_pairs() == NAMED
        assert_exact(at.deps.store, "judge-m", PANEL, 1)


async def test_what_another_run_asks_the_panel_is_not_asked_twice(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        at.panel["strict"].gate.clear()
        plain = asked(wait_s=0, judge="strict", panel=None, cascade=False, pair_ids=["p1", "p6"])
        other = (await judge(plain, at.deps)).run.run
        await at.panel["strict"].received(4)
        cascade = (await judge(asked(pair_ids=["p0", "p1", "p6"], wait_s=0), at.deps)).run.run
        ending = await ended(at, cascade)
        assert (ending.state, ending.done, ending.total) == ("cancelled", 10, 10)
        assert ending.reason == "what is left is asked by another run; resume it after that one"
        at.panel["strict"].gate.set()
        assert (await ended(at, other)).state == "done"
        assert (await on_run(at.deps, "status", cascade)).state == "done"
        assert (await on_run(at.deps, "resume", cascade)).state == "done"
        assert {row["state"] for row in rows(at.deps.store, "SELECT state FROM runs")} == {"done"}
        assert at.calls() == {"judge": 6, "strict": 4, "stern": 4}


async def test_a_run_that_another_process_took_over_plans_nothing_more(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN, frozenset()))
        at.first.gate.clear()
        run = (await judge(asked(wait_s=0), at.deps)).run.run
        await at.first.received(8)
        runs = run_records.RUNS
        thief = {"owner": "thief", "owner_host": "elsewhere", "lease_until": utc_now() + timedelta(hours=1)}
        with at.deps.store.write() as connection:
            connection.execute(update(runs).where(runs.c.run_id == run).values(thief))
        at.first.gate.set()
        await at.deps.worker.wait(run, 60)
        assert (count(at.deps.store, "verdicts"), count(at.deps.store, "cells")) == (0, 2 * TEN)


async def test_a_lost_call_of_the_first_judge_leaves_its_pair_open_until_it_is_asked_again(tmp_path: Path) -> None:
    refused = {Place(1, "BA"), Place(6, "AB")}
    answer = replies(MIXED)

    def reply(messages: Messages) -> str:
        if place(messages) in refused:
            raise web.HTTPBadRequest
        return answer(messages)

    async with PromptJudge(reply) as first, desk(tmp_path / "s.db", MIXED, server=first) as at:
        stored(at.deps.store, declared(TEN))
        failed = (await judge(asked(), at.deps)).run
        assert (failed.state, failed.failed, failed.done, failed.total) == ("failed", 2, 34, 36)
        assert failed.cascade is not None
        assert failed.cascade.escalated == {"near": 2, "unscored": 1, "low_margin": 1}, "p1 is not unscored, but open"
        assert failed.cascade.decided == 5 and at.panel_pairs() == {2, 3} | NEAR
        refused.clear()
        retried = await on_run(at.deps, "retry", failed.run)
        assert (retried.state, retried.done, retried.total) == ("cancelled", 36, 40)
        assert (await on_run(at.deps, "resume", failed.run)).state == "done"
        assert at.panel_pairs() == NAMED
        assert_exact(at.deps.store, "judge-m", PANEL, 1)


async def test_cells_are_added_once_and_behind_the_others(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        run = (await judge(asked(), at.deps)).run.run
        numbers = [row["seq"] for row in rows(at.deps.store, "SELECT seq FROM cells ORDER BY seq")]
        assert numbers == list(range(1, 41))
        with at.deps.store.read() as connection:
            cells = run_records.planned_cells(
                connection, run, [row["cell_id"] for row in rows(at.deps.store, "SELECT cell_id FROM cells")]
            )
        with at.deps.store.write() as connection:
            assert cascade_records.add_cells(connection, run, cells) == 0
        late = rows(
            at.deps.store,
            "SELECT DISTINCT pair_id FROM cells c JOIN judges j ON j.judge_id = c.actor_id "
            "WHERE j.label <> 'judge-m' AND c.seq > 28 ORDER BY pair_id",
        )
        assert [row["pair_id"] for row in late] == ["p1", "p2", "p3"]
        assert {place(messages).number for messages in at.panel["strict"].asked} == NAMED

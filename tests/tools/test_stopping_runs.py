"""Runs that stop where enough is known: judged pairs in buckets that are declared, cut short, repeated, disturbed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cascade_parts import Says, Table, declared, judges, place, replies
from live_parts import on_run
from misjudge_storage.engine import Store
from misjudge_storage.errors import Conflict, InvalidInput
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest
from misjudge_tools.results import RunReport
from misjudge_tools.runs.stop_rule import ALL
from misjudge_tools.stats.anytime import TaskShares, leaves_out
from operations import Messages, PromptJudge, count, keyed, opened, pair_records, rows, stored, verdicts

FORTY = 40
WRONG = Says("B", 1, 5)
ALWAYS_WRONG: Table = dict.fromkeys(range(FORTY), WRONG)
EVERY_FIFTH: Table = dict.fromkeys(range(0, FORTY, 5), WRONG)
ALWAYS_WRONG_BUT_THREE: Table = {n: Says(None) if n in {1, 2, 3} else WRONG for n in range(FORTY)}
NEAR = frozenset(range(0, FORTY, 2))
NEAR_WRONG: Table = dict.fromkeys(NEAR, WRONG)
"""Wrong about the near pairs, right about the wide ones."""
ENOUGH = next(n for n in range(1, FORTY) if leaves_out([TaskShares(1, 1, n)], 0.3))
"""Wrong tasks that are enough to be above 0.3."""


def asked(**values: Any) -> JudgeRequest:
    """All pairs of the audit `a`, until it is known whether the judge is wrong more often than in 30 of 100 calls."""
    return JudgeRequest.model_validate({"audit": "a", "stop": {"threshold": 0.3}, **values})


def order_of_tasks(store: Store) -> list[str]:
    """The pairs of the plan of the first run in its order; those that are there."""
    query = "SELECT DISTINCT pair_id, MIN(seq) FROM cells WHERE pair_id IS NOT NULL GROUP BY run_id, pair_id ORDER BY 2"
    return [row["pair_id"] for row in rows(store, query)]


def assert_whole(store: Store, run: RunReport) -> None:
    """That the run is at its end, and that all that was asked is in its plan."""
    assert (run.state, run.done) == ("done", run.total)
    assert run.total == count(store, "verdicts") == count(store, "cells", f"run_id = '{run.run}'")


async def test_a_judge_that_is_always_wrong_is_found_out_early(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(FORTY))
        run = (await judge(asked(), deps)).run
        assert_whole(deps.store, run)
        (found,) = run.stopped
        assert (found.judge, found.bucket, found.tasks, found.high) == ("judge-m", ALL, ENOUGH, 1)
        assert found.low > 0.3
        assert len(server.asked) == run.total < 2 * FORTY
        assert (run.calls_saved, run.episodes_saved) == (2 * FORTY - run.total, 0)
        assert (found.calls, found.pairs) == (run.calls_saved, run.pairs_saved)
        assert run.reason == (
            f"enough is known of judge-m, all pairs, after {ENOUGH} tasks: {100 * found.low:.1f}–100.0 % wrong (95 % "
            f"at any number of tasks). Saved: {run.pairs_saved} pairs and {run.calls_saved} calls."
        )
        assert run.next is None and (await on_run(deps, "status", run.run)).stopped == run.stopped


async def test_one_call_at_a_time_not_one_more_is_asked_than_is_needed(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
            stored(deps.store, pair_records(FORTY))
            run = (await judge(asked(), deps)).run
            assert_whole(deps.store, run)
            assert (run.total, run.pairs_saved) == (2 * ENOUGH, FORTY - ENOUGH)


async def test_what_is_decided_is_not_asked_by_the_same_request_again(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(FORTY))
        first = (await judge(asked(request_key="k"), deps)).run
        dry = await judge(asked(dry_run=True), deps)
        assert (dry.run.total, dry.run.calls_saved, dry.already_stored) == (0, first.calls_saved, first.total)
        assert (await judge(asked(request_key="k"), deps)).run.run == first.run
        again = await judge(asked(), deps)
        assert (again.run.state, again.run.spent, again.already_stored) == ("done", (), first.total)
        assert again.run.run != first.run and len(again.verdicts) == 12
        assert again.verdicts_left_out == first.total - 12
        assert (again.run.stopped, again.run.reason) == (first.stopped, first.reason)
        assert len(server.asked) == first.total
        with pytest.raises(Conflict, match="has another plan"):
            await judge(asked(request_key="k", stop={"threshold": 0.4}), deps)
        with pytest.raises(Conflict, match="has another plan"):
            await judge(asked(request_key="k", pair_ids=["p1", "p2"]), deps)


async def test_without_a_stop_all_the_rest_is_asked(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(FORTY))
        await judge(asked(), deps)
        whole = (await judge(asked(stop=None), deps)).run
        assert (whole.state, whole.pairs_saved, whole.stopped) == ("done", None, ())
        assert len(server.asked) == count(deps.store, "verdicts") == 2 * FORTY


async def test_of_two_buckets_the_one_that_is_undecided_goes_on(tmp_path: Path) -> None:
    async with PromptJudge(replies(NEAR_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, declared(FORTY, NEAR))
        run = (await judge(asked(stop={"threshold": 0.12}), deps)).run
        assert_whole(deps.store, run)
        (found,) = run.stopped
        assert (found.bucket, found.low > 0.12) == ("near", True)
        near = count(deps.store, "verdicts v JOIN pairs p USING (pair_id)", "p.ability_bucket = 'near'")
        wide = count(deps.store, "verdicts v JOIN pairs p USING (pair_id)", "p.ability_bucket = 'wide'")
        assert wide == FORTY, "the other bucket is asked to its end"
        assert (near, found.pairs, found.calls) == (FORTY - found.calls, run.pairs_saved, run.calls_saved)
        assert near < FORTY / 2 and run.reason is not None and "near pairs" in run.reason


async def test_both_buckets_may_be_decided(tmp_path: Path) -> None:
    async with PromptJudge(replies(NEAR_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, declared(FORTY, NEAR))
        run = (await judge(asked(), deps)).run
        assert_whole(deps.store, run)
        assert {found.bucket: found.low > 0.3 for found in run.stopped} == {"near": True, "wide": False}
        assert all(found.high < 0.3 for found in run.stopped if found.bucket == "wide")
        assert run.calls_saved == sum(found.calls for found in run.stopped) > FORTY / 2


async def test_pairs_that_are_not_declared_are_a_bucket_of_their_own_beside_others(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, declared(20, frozenset(range(20))))
        stored(deps.store, pair_records(20, start=20))
        run = (await judge(asked(), deps)).run
        assert {found.bucket for found in run.stopped} == {"near", "undeclared"}
        assert_whole(deps.store, run)


async def test_each_judge_of_a_panel_stops_by_itself(tmp_path: Path) -> None:
    async with (
        PromptJudge(replies(ALWAYS_WRONG)) as first,
        PromptJudge(replies(EVERY_FIFTH)) as other,
    ):
        models = judges(first, {"strict": other, "stern": other})
        async with opened(tmp_path / "s.db", models) as deps:
            stored(deps.store, pair_records(FORTY))
            run = (await judge(asked(panel=["strict"], stop={"threshold": 0.2}), deps)).run
            assert_whole(deps.store, run)
            assert [found.judge for found in run.stopped] == ["judge-m"]
            assert (len(other.asked), run.pairs_saved) == (2 * FORTY, 0), "every pair is asked of somebody"
            assert run.calls_saved == 2 * FORTY - len(first.asked) > FORTY


async def test_where_nothing_is_decided_the_run_goes_to_its_end(tmp_path: Path) -> None:
    table: Table = dict.fromkeys(range(0, FORTY, 3), WRONG)
    async with PromptJudge(replies(table)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(FORTY))
        run = (await judge(asked(stop={"threshold": 0.33, "width": 0.1}), deps)).run
        assert_whole(deps.store, run)
        assert (run.total, run.reason, run.stopped) == (2 * FORTY, None, ())
        assert (run.pairs_saved, run.calls_saved, run.episodes_saved) == (0, 0, 0)


async def test_an_interval_that_is_narrow_enough_ends_it(tmp_path: Path) -> None:
    async with PromptJudge(replies({})) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(FORTY))
        run = (await judge(asked(stop={"width": 0.2}), deps)).run
        assert_whole(deps.store, run)
        (found,) = run.stopped
        assert found.high - found.low <= 0.2 and found.tasks < FORTY


async def test_all_repeats_of_a_task_come_together(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
            stored(deps.store, pair_records(FORTY))
            run = (await judge(asked(repeats=3, max_calls=240), deps)).run
            assert_whole(deps.store, run)
            assert (run.total, run.calls_saved) == (6 * ENOUGH, 6 * (FORTY - ENOUGH))


@pytest.mark.parametrize("calls", [1, 5, 2 * ENOUGH - 1])
async def test_a_run_that_a_limit_cut_goes_on_to_the_same_end(tmp_path: Path, calls: int) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server:
        async with opened(tmp_path / "calm.db", keyed(server.base_url), concurrency=1) as deps:
            stored(deps.store, pair_records(FORTY))
            calm = (await judge(asked(), deps)).run
            undisturbed = verdicts(deps.store)
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
            stored(deps.store, pair_records(FORTY))
            cut = (await judge(asked(max_calls=calls), deps)).run
            assert (cut.state, cut.done, cut.stopped) == ("cancelled", calls, ())
            assert (cut.reason or "").startswith("limit reached: max_calls")
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
            resumed = await on_run(deps, "resume", cut.run, max_calls=100)
            assert_whole(deps.store, resumed)
            assert (resumed.stopped, resumed.reason) == (calm.stopped, calm.reason)
            assert [row["pair_id"] for row in verdicts(deps.store)] == [row["pair_id"] for row in undisturbed]


async def test_a_new_run_counts_what_an_earlier_one_has_stored(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
            stored(deps.store, pair_records(FORTY))
            await judge(asked(max_calls=2 * ENOUGH - 2), deps)
            run = (await judge(asked(), deps)).run
            assert_whole(deps.store, run)
            assert (run.total, len(server.asked)) == (2 * ENOUGH, 2 * ENOUGH)


async def test_the_same_request_attaches_while_it_is_under_way(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(FORTY))
        server.gate.clear()
        first = (await judge(asked(wait_s=0), deps)).run
        assert (await judge(asked(wait_s=0), deps)).run.run == first.run
        server.gate.set()
        await deps.worker.wait(first.run, 60)
        run = await on_run(deps, "status", first.run)
        assert_whole(deps.store, run)


async def test_beside_a_plain_run_of_some_pairs_the_rest_is_asked_and_all_is_counted_at_its_end(tmp_path: Path) -> None:
    async with PromptJudge(replies(ALWAYS_WRONG)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(FORTY))
        server.gate.clear()
        plain = (await judge(asked(stop=None, pair_ids=["p1", "p2"], wait_s=0), deps)).run
        await server.received(4)
        stopping = (await judge(asked(wait_s=0), deps)).run
        assert stopping.run != plain.run and stopping.total == 2 * FORTY - 4
        server.gate.set()
        await asyncio.gather(*(deps.worker.wait(run, 60) for run in (plain.run, stopping.run)))
        ended = await on_run(deps, "status", stopping.run)
        assert ended.state == "done" and len(ended.stopped) == 1


async def test_a_call_that_is_lost_does_not_keep_the_others_from_being_counted(tmp_path: Path) -> None:
    refused: set[int] = set()
    answer = replies(ALWAYS_WRONG)

    def reply(messages: Messages) -> str:
        if place(messages).number in refused:
            raise web.HTTPBadRequest
        return answer(messages)

    async with PromptJudge(reply) as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        stored(deps.store, pair_records(FORTY))
        await judge(asked(max_calls=2), deps)
        (first,) = {row["pair_id"] for row in verdicts(deps.store)}
        second = order_of_tasks(deps.store)[1]
        assert second != first
        refused.add(int(second[1:]))
        run = (await judge(asked(), deps)).run
        assert run.stopped[0].tasks == ENOUGH
        assert (run.state, run.done) == ("done", run.total), "what was lost is not needed any more"
        assert count(deps.store, "cells", f"run_id = '{run.run}' AND pair_id = '{second}'") == 0


async def test_a_task_without_a_scored_call_of_a_decidable_pair_is_no_observation(tmp_path: Path) -> None:
    async with (
        PromptJudge(replies(ALWAYS_WRONG_BUT_THREE)) as server,
        opened(tmp_path / "s.db", keyed(server.base_url)) as deps,
    ):
        stored(deps.store, pair_records(FORTY, gold=lambda n: None if n in {4, 5} else "tie" if n == 6 else "A"))
        run = (await judge(asked(stop={"threshold": 0.97}), deps)).run
        assert (run.state, run.total, run.stopped) == ("done", 2 * FORTY, ())
        again = (await judge(asked(stop={"width": 0.15}), deps)).run
        (found,) = again.stopped
        assert found.tasks <= FORTY - 6


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"stop": {}}, "stop needs a width"),
        ({"form": "satisfaction"}, "satisfaction is judged of single trajectories"),
        ({"cascade": True, "panel": ["other"]}, "A cascade already chooses"),
        ({"task_prompt": "Do it.", "response_a": "Done.", "response_b": "No."}, "one pair is given here"),
    ],
)
async def test_a_stop_that_cannot_be_kept_is_refused(tmp_path: Path, values: dict[str, Any], said: str) -> None:
    async with opened(tmp_path / "s.db", keyed("http://127.0.0.1:9")) as deps:
        stored(deps.store, pair_records(2))
        with pytest.raises(InvalidInput, match=said):
            await judge(asked(**values), deps)
        assert count(deps.store, "runs") == 0

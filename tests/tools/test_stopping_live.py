"""Live runs that stop early: what only served spared pairs is spared, too, and nothing of a decided bucket is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from live_parts import SHOP, on_run, ran, shop
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.requests import RunPairRequest, SummarizeRequest
from misjudge_tools.results import RunReport
from misjudge_tools.run_pair import run_pair
from misjudge_tools.summarize_audit import summarize_audit
from operations import count, opened, rows

TASKS = 30
WRONG, RIGHT = "simulated:noise=1", "simulated:noise=0"


@asynccontextmanager
async def at_shop(where: Path) -> AsyncIterator[Deps]:
    async with opened(where / "s.db", episodes=SHOP) as deps:
        yield deps


def live(where: Path, **values: Any) -> dict[str, Any]:
    """Three agents: the pair of the ones that do the tasks is near, those with the one that does none are wide."""
    suite = shop(where / "suite", TASKS)
    return {"suite": suite, "agents": ["diligent", "smooth_talker"], "stop": {"threshold": 0.3}, **values}


def assert_consistent(store: Store, run: RunReport) -> None:
    """That the run is at its end, that what it made was for somebody, and that all that was asked is in its plan."""
    assert (run.state, run.done) == ("done", run.total)
    assert {stage.stage: stage.done for stage in run.stages} == made(store)
    needless = """
        SELECT COUNT(*) AS n FROM cells c WHERE c.kind = 'rollout' AND c.run_id = :run AND NOT EXISTS (
            SELECT 1 FROM planned_pairs p JOIN cells q ON q.run_id = p.run_id AND q.pair_id = p.pair_id
            WHERE p.run_id = c.run_id AND c.cell_id IN (p.trajectory_a, p.trajectory_b)
        )
    """
    in_flight = 8
    assert rows(store, needless, run=run.run)[0]["n"] <= in_flight


def made(store: Store) -> Mapping[str, int]:
    found = {
        "rollout": count(store, "trajectories"),
        "pairwise": count(store, "verdicts", "pair_id IS NOT NULL"),
        "satisfaction": count(store, "verdicts", "trajectory_id IS NOT NULL"),
    }
    return {kind: number for kind, number in found.items() if number}


AT_ONCE = 8
"""Calls that are under way at a time."""


async def test_a_planted_judge_that_is_always_wrong_ends_a_live_run_early(tmp_path: Path) -> None:
    async with at_shop(tmp_path) as deps:
        dry = (await ran(deps, **live(tmp_path, judge=WRONG, dry_run=True))).run
        assert (dry.total, dry.pairs_saved, dry.stopped) == (6 * TASKS, 0, ())
        run = (await ran(deps, **live(tmp_path, judge=WRONG))).run
        assert_consistent(deps.store, run)
        (found,) = run.stopped
        assert found.low > 0.3 and found.tasks < TASKS / 2
        assert run.pairs_saved is not None and run.pairs_saved > TASKS / 3
        assert run.calls_saved == 4 * TASKS - sum(s.total for s in run.stages if s.stage != "rollout")
        assert run.episodes_saved == 2 * TASKS - count(deps.store, "trajectories") > TASKS / 2
        again = (await ran(deps, **live(tmp_path, judge=WRONG))).run
        assert (again.state, again.stopped) == ("done", run.stopped)
        assert sum(use.calls for use in again.spent) <= AT_ONCE, "at most what belongs to a pair that was in flight"
        assert again.pairs_saved == run.pairs_saved and again.episodes_saved == run.episodes_saved


async def test_episodes_that_an_undecided_bucket_needs_are_made(tmp_path: Path) -> None:
    """Pairs with the one who does nothing are wide, and found out; the near ones are never decidable."""
    agents = ["diligent", "flaky:0.95", "smooth_talker"]
    async with at_shop(tmp_path) as deps:
        run = (await ran(deps, **live(tmp_path, judge=WRONG, agents=agents, signals=["satisfaction"]))).run
        assert_consistent(deps.store, run)
        assert [found.bucket for found in run.stopped] == ["wide"]
        counted = rows(deps.store, "SELECT agent, COUNT(*) AS n FROM trajectories GROUP BY agent")
        by_agent = {row["agent"]: row["n"] for row in counted}
        assert by_agent["diligent"] == by_agent["flaky:0.95"] == TASKS, "the near pairs are all judged"
        assert by_agent["smooth_talker"] < TASKS, "nobody needs the others"
        near = count(deps.store, "verdicts v JOIN pairs p USING (pair_id)", "p.ability_bucket = 'near'")
        assert near == 2 * TASKS


async def test_a_good_judge_is_certified_early_and_the_summary_says_so(tmp_path: Path) -> None:
    async with at_shop(tmp_path) as deps:
        result = await ran(deps, **live(tmp_path, judge=RIGHT, pairings=["diligent|smooth_talker=wide"]))
        (found,) = result.run.stopped
        assert (found.bucket, found.low) == ("wide", 0) and found.high < 0.3
        summary = await summarize_audit(SummarizeRequest(audit="a", sections=["misselection", "buckets"]), deps)
    assert summary.misselection is not None and summary.misselection.interval == "anytime"
    assert summary.buckets is not None
    (bucket,) = (one for one in summary.buckets if one.gap == "ability")
    assert bucket.misselection.interval == "anytime" and bucket.misselection.high is not None
    assert bucket.misselection.high <= found.high, "what was in flight came to it"


async def test_a_live_run_that_a_limit_cut_stops_early_all_the_same_when_it_goes_on(tmp_path: Path) -> None:
    async with at_shop(tmp_path) as deps:
        cut = (await ran(deps, **live(tmp_path, judge=WRONG, max_calls=9))).run
        assert (cut.state, cut.stopped) == ("cancelled", ())
        resumed = await on_run(deps, "resume", cut.run, max_calls=1000)
        assert_consistent(deps.store, resumed)
        assert len(resumed.stopped) == 1


async def test_two_recorded_trajectories_are_too_few_to_stop_early(tmp_path: Path) -> None:
    two = {"agent_a": "x", "agent_b": "y", "trajectory_a": "Done.", "trajectory_b": "No."}
    values = {"audit": "a", "judge": RIGHT, "task_id": "t", "task_prompt": "Do it.", "stop": {"width": 0.2}, **two}
    async with at_shop(tmp_path) as deps:
        with pytest.raises(InvalidInput, match="stop belongs to live agents"):
            await run_pair(RunPairRequest.model_validate(values), deps)

"""Recorded agents: trajectories of files that take part in a comparison as if their agents had run."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from live_parts import ALLOWED, on_run, ran, shop
from misjudge_storage.errors import BadRecords, Conflict, InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import EpisodeSettings, RecordedAgent
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK, MARK_EPISODES
from misjudge_tools.summarize_audit import summarize_audit
from operations import NOWHERE, PromptJudge, count, dump, keyed, opened, rows

DATA = Path(os.environ.get("MISJUDGE_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "I want a tent."}, {"role": "assistant", "content": text}]


def attempt(task: str, agent: str, success: bool, **values: Any) -> dict[str, Any]:
    text = f"{agent} {'has done' if success else 'could not do'} {task}."
    prompt = f"You want one tent for {task}."
    return {"task_id": task, "agent": agent, "prompt": prompt, "messages": said(text), "success": success, **values}


def lines(file: Path, *records: dict[str, Any]) -> Path:
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return file


def recorded(**agents: RecordedAgent) -> EpisodeSettings:
    return EpisodeSettings(allowed=ALLOWED, agents=agents)


async def refused(deps: Deps, match: str, kind: type[Exception] = InvalidInput, **values: Any) -> None:
    before = dump(deps.store)
    with pytest.raises(kind, match=match):
        await ran(deps, **values)
    assert dump(deps.store) == before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two agents, three tasks each, one with two attempts at one of them."""
    tasks = ("t1", "t2", "t3")
    return lines(
        tmp_path / "log.jsonl",
        *(attempt(task, "blue", task != "t2", success_source="verifier", trial=0) for task in tasks),
        *(attempt(task, "green", task == "t3", success_source="verifier", trial=0) for task in tasks),
        attempt("t1", "green", True, success_source="verifier", trial=1),
    )


@pytest.fixture
async def two(tmp_path: Path, file: Path) -> AsyncIterator[Deps]:
    """Agents `first` and `second` of one file."""
    agents = recorded(
        first=RecordedAgent(kind="recorded", file=file, agent="blue"),
        second=RecordedAgent(kind="recorded", file=file, agent="green", trial=0),
    )
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        yield deps


async def test_recorded_agents_are_compared_on_the_tasks_of_their_files(two: Deps) -> None:
    result = await ran(two, agents=["first", "second"])
    assert (result.run.state, result.pairs) == ("done", 3)
    assert [(one.agent, one.succeeded, one.failed, one.ends) for one in result.agents] == [
        ("first", 2, 1, {"recorded": 3}),
        ("second", 1, 2, {"recorded": 3}),
    ]
    found = rows(two.store, "SELECT task_id, agent_a, agent_b, gold_pref, trial, ability_bucket FROM audit_pairs")
    assert {row["task_id"]: row["gold_pref"] for row in found} == {"t1": "A", "t2": "tie", "t3": "tie"}
    assert {(row["agent_a"], row["agent_b"], row["trial"], row["ability_bucket"]) for row in found} == {
        ("first", "second", 0, None)
    }
    assert {stage.stage: stage.total for stage in result.run.stages} == {"pairwise": 6, "satisfaction": 6}
    assert result.marked == MARK, "the episodes themselves are not made up"
    assert rows(two.store, "SELECT SUM(simulated) AS n FROM trajectories") == [{"n": 0}]


async def test_the_judge_never_sees_what_recorded_agents_are_called(tmp_path: Path, file: Path) -> None:
    agents = recorded(
        maker_a=RecordedAgent(kind="recorded", file=file, agent="blue"),
        maker_b=RecordedAgent(kind="recorded", file=file, agent="green", trial=0),
    )
    async with PromptJudge() as judge, opened(tmp_path / "s.db", keyed(judge.base_url), episodes=agents) as deps:
        await ran(deps, agents=["maker_a", "maker_b"], judge=None)
        assert len(judge.asked) == 6 + 6
        assert not any("maker" in turn.content for turns in judge.asked for turn in turns)


async def test_tasks_and_pairings_choose_among_recordings(two: Deps) -> None:
    both = ["first", "second"]
    result = await ran(two, agents=both, tasks=["t1"], pairings=["second|first=near"])
    assert result.pair is not None and result.pair.row is not None
    assert (result.pair.a.agent, result.pair.b.agent, result.pair.row["ability_bucket"]) == ("second", "first", "near")
    assert [row["task_id"] for row in rows(two.store, "SELECT task_id FROM tasks")] == ["t1"]
    one = await ran(two, audit="b", agents=None, agent_a="first", agent_b="second", task_id="t2")
    assert one.pair is not None and one.pairs == 1
    assert (one.pair.a.success, one.pair.b.success) == (False, False)
    await refused(two, "No recording is of task 't9'. There are: t1, t2, t3", agents=both, tasks=["t9"])
    await refused(two, "leave out user and trials", agents=both, trials=2)
    await refused(two, "leave out user and trials", agents=both, user="scripted")


async def test_several_attempts_at_one_task_need_a_choice(tmp_path: Path, file: Path) -> None:
    agents = recorded(
        blue=RecordedAgent(kind="recorded", file=file, agent="blue"),
        green=RecordedAgent(kind="recorded", file=file, agent="green"),
        second_try=RecordedAgent(kind="recorded", file=file, agent="green", trial=1),
        nobody=RecordedAgent(kind="recorded", file=file, agent="red"),
        gone=RecordedAgent(kind="recorded", file=tmp_path / "gone.jsonl"),
    )
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        await refused(deps, "several attempts of agent 'green' at task 't1'. Say which", agents=["blue", "green"])
        await refused(deps, "no trajectory for agent 'nobody'", agents=["blue", "nobody"])
        await refused(deps, "gone.jsonl", agents=["blue", "gone"])
        result = await ran(deps, agents=["blue", "second_try"])
        assert result.pair is not None and result.pair.row is not None
        assert (result.pair.row["task_id"], result.pair.row["gold_pref"], result.pair.row["trial"]) == ("t1", "tie", 0)


async def test_the_several_agents_of_a_file_need_a_choice_too(tmp_path: Path) -> None:
    mixed = lines(tmp_path / "mixed.jsonl", attempt("t1", "a", True), attempt("t1", "b", False))
    agents = recorded(
        mixed=RecordedAgent(kind="recorded", file=mixed), a=RecordedAgent(kind="recorded", file=mixed, agent="a")
    )
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        await refused(deps, "agent = NAME in its table", agents=["mixed", "a"])


async def test_a_file_that_cannot_be_read_is_refused_with_its_lines(tmp_path: Path, file: Path) -> None:
    bad = lines(tmp_path / "bad.jsonl", attempt("t1", "a", True), {"task_id": "t2", "agent": "a", "messages": []})
    agents = recorded(
        bad=RecordedAgent(kind="recorded", file=bad), blue=RecordedAgent(kind="recorded", file=file, agent="blue")
    )
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        await refused(deps, "line 2: messages is an empty list", BadRecords, agents=["bad", "blue"])


async def test_recordings_outside_the_folders_that_may_be_read_are_refused(tmp_path: Path, file: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.jsonl").symlink_to(file)
    kept = lines(inside / "kept.jsonl", attempt("t1", "green", True))
    agents = recorded(
        outside=RecordedAgent(kind="recorded", file=file, agent="blue"),
        linked=RecordedAgent(kind="recorded", file=inside / "link.jsonl", agent="blue"),
        kept=RecordedAgent(kind="recorded", file=kept),
    )
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents, roots=(inside,)) as deps:
        await refused(deps, "outside the folders that may be read", agents=["kept", "outside"])
        await refused(deps, "outside the folders that may be read", agents=["kept", "linked"])


async def test_agents_without_a_task_in_common_are_refused(tmp_path: Path) -> None:
    one, other = (lines(tmp_path / f"{name}.jsonl", attempt(name, "x", True)) for name in ("one", "other"))
    agents = recorded(one=RecordedAgent(kind="recorded", file=one), other=RecordedAgent(kind="recorded", file=other))
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        await refused(deps, "No two of these agents have done the same task", agents=["one", "other"])


def of_suite(task: int, success: bool) -> dict[str, Any]:
    """A recording of a task of the shop, by whoever recorded it, whose prompt the suite states better."""
    record = attempt(f"en{task}", "theirs", success, success_source="human")
    return {name: value for name, value in record.items() if name != "prompt"}


async def test_recorded_and_live_agents_meet_on_the_tasks_of_a_suite(tmp_path: Path) -> None:
    suite = shop(tmp_path / "shop", 3)
    file = lines(tmp_path / "theirs.jsonl", of_suite(0, True), of_suite(1, False), of_suite(7, True))
    agents = recorded(theirs=RecordedAgent(kind="recorded", file=file))
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        result = await ran(deps, suite=suite, agents=["theirs", "diligent", "smooth_talker"])
        assert (result.run.state, result.pairs, result.marked) == ("done", 2 + 2 + 3, f"{MARK}; {MARK_EPISODES}")
        found = {
            (row["agent_a"], row["agent_b"], row["task_id"]): row["gold_pref"]
            for row in rows(deps.store, "SELECT agent_a, agent_b, task_id, gold_pref FROM audit_pairs")
        }
        assert found[("theirs", "diligent", "en0")] == "tie" and found[("theirs", "diligent", "en1")] == "B"
        assert found[("theirs", "smooth_talker", "en0")] == "A" and found[("diligent", "smooth_talker", "en2")] == "A"
        assert count(deps.store, "trajectories") == 2 + 3 + 3
        prompts = rows(deps.store, "SELECT task_id, prompt FROM tasks ORDER BY task_id")
        assert [row["prompt"] for row in prompts] == [f"You want one tent for order {n}." for n in range(3)]
        again = await ran(deps, suite=suite, agents=["theirs", "diligent", "smooth_talker"])
        assert (again.run.total, again.agents) == (0, result.agents)
        more = await ran(deps, suite=suite, agents=["theirs", "diligent", "smooth_talker"], trials=2)
        assert more.pairs == result.pairs + 3, "recorded attempts are the first trial"


async def test_a_recording_of_another_task_than_the_suites_is_refused(tmp_path: Path) -> None:
    suite = shop(tmp_path / "shop", 2)
    file = lines(tmp_path / "theirs.jsonl", attempt("en0", "theirs", True))
    same = lines(tmp_path / "same.jsonl", {**of_suite(0, True), "prompt": " You want one tent for order 0.\n"})
    agents = recorded(theirs=RecordedAgent(kind="recorded", file=file), same=RecordedAgent(kind="recorded", file=same))
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        await refused(
            deps, "'en0' states another prompt than the suite shop", suite=suite, agents=["diligent", "theirs"]
        )
        assert (await ran(deps, suite=suite, agents=["diligent", "same"])).run.state == "done"


async def test_recorded_agents_alone_may_be_held_to_a_suite(tmp_path: Path) -> None:
    suite = shop(tmp_path / "shop", 2)
    one, other = (lines(tmp_path / f"{name}.jsonl", *(of_suite(n, name == "one") for n in (0, 1, 7))) for name in NAMES)
    agents = recorded(one=RecordedAgent(kind="recorded", file=one), other=RecordedAgent(kind="recorded", file=other))
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        result = await ran(deps, suite=suite, agents=["one", "other"])
        assert (result.run.state, result.pairs, count(deps.store, "tasks")) == ("done", 2, 2)


NAMES = ("one", "other")


async def test_a_file_that_changed_is_a_conflict(two: Deps, file: Path) -> None:
    await ran(two, agents=["first", "second"])
    lines(file, attempt("t1", "blue", False, trial=0), attempt("t1", "green", False, trial=0))
    await refused(two, "Results are never overwritten", Conflict, agents=["first", "second"])


async def test_a_comparison_of_recordings_can_be_resumed(two: Deps) -> None:
    first = await ran(two, agents=["first", "second"], max_calls=5)
    assert (first.run.state, first.run.done) == ("cancelled", 5)
    done = await on_run(two, "resume", first.run.run, max_calls=100)
    assert (done.state, done.done) == ("done", 12)


async def test_a_dry_run_stores_no_recording(two: Deps) -> None:
    before = dump(two.store)
    result = await ran(two, agents=["first", "second"], dry_run=True)
    assert (result.run.total, result.pairs, dump(two.store)) == (12, 3, before)


def tau_bench() -> Path:
    path = DATA / "taubench" / "gpt-4o-airline.json"
    if not path.is_file():
        pytest.skip("the shared τ-bench trajectories are not here; set MISJUDGE_TEST_DATA to their folder")
    return path


@pytest.mark.slow
async def test_the_trials_of_a_tau_bench_file_are_four_agents(tmp_path: Path) -> None:
    path = tau_bench()
    episodes = json.loads(path.read_text(encoding="utf-8"))
    rewards = {(f"trial {one['trial']}", str(one["task_id"])): float(one["reward"]) for one in episodes}
    names = [f"trial {trial}" for trial in range(4)]
    tasks = {task for _, task in rewards}
    assert (len(tasks), len(rewards)) == (50, 200)
    agents = recorded(
        **{
            name: RecordedAgent(kind="recorded", file=path, format="tau-bench", trial=trial)
            for trial, name in enumerate(names)
        }
    )
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        result = await ran(deps, agents=names, wait_s=40)
        while result.run.state == "running":
            result = await ran(deps, agents=names, wait_s=40)
        assert (result.run.state, result.pairs, count(deps.store, "pairs")) == ("done", 300, 300)
        stored = rows(
            deps.store,
            "SELECT t.agent, t.task_id, c.reward, c.passed FROM trajectories t JOIN checks c USING (trajectory_id)",
        )
        assert {(row["agent"], row["task_id"]): row["reward"] for row in stored} == rewards
        assert all(row["passed"] == (row["reward"] == 1) for row in stored)
        for a, b in combinations(names, 2):
            apart = sum(rewards[a, task] != rewards[b, task] for task in tasks)
            query = "SELECT gold_pref FROM audit_pairs WHERE agent_a = :a AND agent_b = :b"
            golds = [row["gold_pref"] for row in rows(deps.store, query, a=a, b=b)]
            assert (len(golds), sum(gold != "tie" for gold in golds)) == (50, apart)
        outcomes = {one.agent: one.succeeded for one in result.agents}
        assert outcomes == {name: sum(rewards[name, task] == 1 for task in tasks) for name in names}
        summary = await summarize_audit(SummarizeRequest(audit="a"), deps)
        assert summary.pairs is not None and summary.misselection is not None
        assert summary.pairs.unscored == 0 and summary.misselection.n == 2 * summary.pairs.decidable

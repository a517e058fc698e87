"""SIMULATED: what scripts, simulated gateways and simulated judges make is marked wherever it is shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from builders import episode, lone, messages, pair, passed, satisfied, verdict
from live_parts import SHOP, request, shop
from misjudge_storage.types import Judge, Log, Record
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import CommandAgent
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.read_record import read_record
from misjudge_tools.requests import RecordRequest, RunsRequest, SummarizeRequest
from misjudge_tools.results import MARK, MARK_EPISODES, MARK_IN_PART, RecordPage, record_uri
from misjudge_tools.run_pair import run_pair
from misjudge_tools.summarize_audit import summarize_audit
from operations import PromptJudge, keyed, opened, rows, stored

MADE_UP = Judge(label="made up", form="pairwise", simulated=True)
BOTH = f"{MARK}; {MARK_EPISODES}"


async def read(deps: Deps, kind: str, identity: str) -> RecordPage:
    return await read_record(RecordRequest(uri=record_uri("a", kind, identity)), deps)


async def every(deps: Deps, kind: str, table: str, key: str) -> list[RecordPage]:
    """Each stored thing of a kind, read."""
    return [await read(deps, kind, row[key]) for row in rows(deps.store, f"SELECT {key} FROM {table} ORDER BY {key}")]


def judged(*judges: Judge, simulated: Sequence[bool] = (False, False)) -> list[Record]:
    sides = [episode(agent, passed(True), simulated=made) for agent, made in zip("xy", simulated, strict=True)]
    return [pair("p", sides[0], sides[1], *(verdict("A", judge=judge) for judge in judges))]


@pytest.mark.parametrize(
    ("judge", "sides", "marked"),
    [
        (Judge(label="real", form="pairwise"), (False, False), None),
        (Judge(label="real", form="pairwise"), (True, False), MARK_EPISODES),
        (Judge(label="real", form="pairwise"), (False, True), MARK_EPISODES),
        (MADE_UP, (False, False), MARK),
        (MADE_UP, (True, True), BOTH),
    ],
)
async def test_pairs_their_rows_and_verdicts_are_marked_by_judge_and_by_episodes(
    deps: Deps, judge: Judge, sides: Sequence[bool], marked: str | None
) -> None:
    stored(deps.store, judged(judge, simulated=sides))
    found = await read(deps, "pairs", "p")
    assert found.marked == marked
    assert [row["simulated"] for row in found.record["outcome_by_judge"]] == [marked is not None]
    (said,) = await every(deps, "verdicts", "verdicts", "verdict_id")
    assert (said.marked, said.record["simulated"]) == (marked, marked is not None)
    summary = await summarize_audit(SummarizeRequest(audit="a"), deps)
    assert (summary.marked, summary.simulated) == (marked, marked is not None)


async def test_only_the_rows_of_a_simulated_judge_are_made_up_where_the_episodes_are_not(deps: Deps) -> None:
    stored(deps.store, judged(Judge(label="real", form="pairwise"), MADE_UP))
    found = await read(deps, "pairs", "p")
    by_judge = {row["judge"]: row["simulated"] for row in found.record["outcome_by_judge"]}
    assert (found.marked, by_judge) == (MARK, {"real": False, "made up": True})
    assert (await summarize_audit(SummarizeRequest(audit="a"), deps)).marked == MARK_IN_PART


async def test_a_pair_that_nobody_judged_is_marked_by_its_episodes(deps: Deps) -> None:
    stored(deps.store, judged(simulated=(False, True)))
    found = await read(deps, "pairs", "p")
    assert (found.marked, found.record["outcome_by_judge"][0]["simulated"]) == (MARK_EPISODES, True)
    assert (await summarize_audit(SummarizeRequest(audit="a"), deps)).marked == MARK_EPISODES


async def test_a_score_of_a_made_up_episode_is_marked(deps: Deps) -> None:
    made = [
        lone(episode(name, satisfaction=[satisfied(0.9)], simulated=name == "script"), 1) for name in ("script", "m")
    ]
    stored(deps.store, made)
    scores = await every(deps, "verdicts", "verdicts", "verdict_id")
    names = [(await read(deps, "trajectories", one.record["trajectory_id"])).record["agent"] for one in scores]
    expected = {"script": MARK_EPISODES, "m": None}
    assert {name: one.marked for name, one in zip(names, scores, strict=True)} == expected
    found = await every(deps, "trajectories", "trajectories", "trajectory_id")
    assert {one.record["agent"]: one.marked for one in found} == expected


@pytest.mark.parametrize(
    ("role", "marked"),
    [("agent", MARK_EPISODES), ("user_sim", MARK_EPISODES), ("judge", MARK), ("success_check", MARK)],
)
async def test_what_a_simulated_gateway_answered_is_marked_by_its_role(deps: Deps, role: Any, marked: str) -> None:
    logs = [Log(role=role, raw_output="made up", simulated=True), Log(role=role, raw_output="real")]
    stored(deps.store, [lone(episode("x", logs=logs))])
    found = await every(deps, "logs", "judge_logs", "log_id")
    assert {one.record["raw_output"]: one.marked for one in found} == {"made up": marked, "real": None}


async def test_a_task_is_no_result(deps: Deps) -> None:
    stored(deps.store, judged(MADE_UP, simulated=(True, True)))
    assert (await read(deps, "tasks", "t1")).marked is None


REAL = Judge(label="real", form="pairwise")


@pytest.mark.parametrize(
    ("judges", "sides", "marked"),
    [
        ((), (False, False), None),
        ((REAL,), (False, False), None),
        ((REAL,), (False, True), MARK_EPISODES),
        ((), (True, False), MARK_EPISODES),
        ((MADE_UP,), (False, False), MARK),
        ((REAL, MADE_UP), (False, False), MARK_IN_PART),
        ((REAL, MADE_UP), (True, True), f"{MARK_IN_PART}; {MARK_EPISODES}"),
        ((MADE_UP,), (True, True), BOTH),
    ],
)
async def test_an_audit_says_what_of_it_is_made_up_in_the_words_of_its_summary(
    deps: Deps, judges: Sequence[Judge], sides: Sequence[bool], marked: str | None
) -> None:
    stored(deps.store, judged(*judges, simulated=sides))
    stored(deps.store, judged(REAL), "plain")
    found = await read_record(RecordRequest(uri="misjudge://audits/a"), deps)
    assert (found.marked, found.record["simulated"]) == (marked, marked is not None)
    assert (await summarize_audit(SummarizeRequest(audit="a"), deps)).marked == marked
    listed = await read_record(RecordRequest(uri="misjudge://audits"), deps)
    said = {one["name"]: (one["marked"], one["simulated"]) for one in listed.record["audits"]}
    assert said == {"a": (marked, marked is not None), "plain": (None, False)}
    in_part = None if marked is None else marked.replace(MARK, MARK_IN_PART)
    assert listed.marked == in_part, "the other audit's judge is real"


HOSTILE_NAME = 'SIMULATED", "marked": null'
HOSTILE = f'SIMULATED", "marked": null, "simulated": false}} {MARK}'


@pytest.mark.parametrize("made_up", [False, True])
async def test_no_text_of_a_record_makes_a_mark_or_takes_one_away(deps: Deps, made_up: bool) -> None:
    said = messages(HOSTILE, HOSTILE)
    x, y = (
        episode(f"{agent} {HOSTILE}", task=HOSTILE, said=said, simulated=made_up, end_reason=HOSTILE) for agent in "xy"
    )
    judge = Judge(label=HOSTILE, form="pairwise", model=HOSTILE, simulated=made_up)
    reply = json.dumps({"marked": HOSTILE, "simulated": not made_up})
    log = Log(raw_output=HOSTILE, parsed_json=reply, params=reply, model=HOSTILE, simulated=made_up)
    record = pair(HOSTILE, x, y, verdict("A", judge=judge, reasons=HOSTILE), logs=[log], prompt=HOSTILE)
    stored(deps.store, [record], HOSTILE_NAME)
    audit = f"misjudge://audits/{quote(HOSTILE_NAME, safe='')}"
    whole = await read_record(RecordRequest(uri=audit), deps)
    assert (whole.marked, whole.record["simulated"]) == (BOTH if made_up else None, made_up)
    expected = {"pairs": BOTH, "verdicts": BOTH, "trajectories": MARK_EPISODES, "logs": MARK}
    for kind, mark in expected.items():
        listed = await read_record(RecordRequest(uri=f"{audit}/{kind}"), deps)
        rows_shown = listed.record[kind]
        assert listed.marked == (mark if made_up else None), kind
        assert {row["simulated"] for row in rows_shown} == {made_up}, kind
        for row in rows_shown:
            identity = next(iter(row.values()))
            uri = record_uri(HOSTILE_NAME, kind, identity)
            one = await read_record(RecordRequest(uri=uri, max_bytes=500), deps)
            assert one.marked == (mark if made_up else None), kind


async def test_a_run_of_scripted_agents_is_marked_though_its_judge_is_real(tmp_path: Path) -> None:
    asked = request(suite=shop(tmp_path / "shop", 1), judge=None, signals=[])
    async with PromptJudge() as judge, opened(tmp_path / "s.db", keyed(judge.base_url), episodes=SHOP) as deps:
        planned = await run_pair(asked.model_copy(update={"dry_run": True}), deps)
        assert (planned.simulated, planned.marked, planned.run.simulated) == (True, MARK_EPISODES, True)
        done = await run_pair(asked, deps)
        assert (done.run.state, done.marked, done.run.simulated) == ("done", MARK_EPISODES, True)
        assert done.pair is not None and done.pair.row is not None and done.pair.row["simulated"] is True
        (listed,) = (await manage_runs(RunsRequest(), deps)).runs
        assert listed.simulated
        shown = await read_record(RecordRequest(uri=f"misjudge://runs/{done.run.run}"), deps)
        assert shown.marked == MARK_EPISODES
        assert {one.marked for one in await every(deps, "trajectories", "trajectories", "trajectory_id")} == {
            MARK_EPISODES
        }
        assert {one.marked for one in await every(deps, "logs", "judge_logs", "log_id")} == {None}
        # The episodes are there already: the second run only judges, and what it judges is made up all the same.
        again = await run_pair(asked.model_copy(update={"repeats": 2}), deps)
        assert [stage.stage for stage in again.run.stages] == ["pairwise"]
        assert again.run.simulated and again.marked == MARK_EPISODES


AGENT = """
import json, sys
asked = json.load(sys.stdin)
print(json.dumps({"content": "The tent is yours."}))
"""


async def test_a_run_of_real_agents_and_a_real_judge_has_no_mark(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(AGENT, encoding="utf-8")
    command = CommandAgent(kind="command", argv=(sys.executable, str(program)))
    episodes = SHOP.model_copy(update={"agents": {"one": command, "two": command}})
    asked = request(suite=shop(tmp_path / "shop", 1), agents=["one", "two"], user="scripted", judge=None, signals=[])
    async with PromptJudge() as judge, opened(tmp_path / "s.db", keyed(judge.base_url), episodes=episodes) as deps:
        done = await run_pair(asked, deps)
        assert (done.run.state, done.simulated, done.marked, done.run.simulated) == ("done", False, None, False)
        assert done.pair is not None and done.pair.row is not None and done.pair.row["simulated"] is False
        assert (await read_record(RecordRequest(uri=f"misjudge://runs/{done.run.run}"), deps)).marked is None
        assert (await summarize_audit(SummarizeRequest(audit="a"), deps)).marked is None

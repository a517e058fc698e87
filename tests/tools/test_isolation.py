"""Rollouts at the same time never see each other, and leave nothing behind, however they end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crowd_tools
from live_parts import SHOP, TEXT, TOOLS, Relay, desk_models, known, on_run, ran, shop, shop_task
from loopback import LoopbackServer
from misjudge_storage.engine import Store
from misjudge_tools.episodes.settings import Allowed, CommandAgent, EpisodeSettings
from misjudge_tools.gateway.simulated import SimulatedServer
from misjudge_tools.gateway.simulated_agent import Repertoire
from misjudge_tools.suites.loading import load_suite
from operations import NOWHERE, opened, rows
from suite_folders import write

CROWD = EpisodeSettings(allowed=Allowed(python=("crowd_tools",)))
ROLLOUTS = 64


def crowd(folder: Path, tasks: int) -> str:
    """A suite whose agents write their own name into the world, look at it twice, and write again."""

    def tool(name: str, **properties: Any) -> dict[str, Any]:
        return {"name": name, "parameters": {"type": "object", "properties": properties}}

    def steps(who: str) -> list[dict[str, Any]]:
        enter = {"call": "enter", "args": {"text": f"{who} came"}}
        return [enter, {"call": "look"}, {"call": "look"}, {"call": "leave", "args": {"text": f"{who} went"}}, DONE]

    checked = {"kind": "sql", "query": "SELECT count(*) FROM notes", "equals": 2}
    return write(
        folder,
        tasks=[{**shop_task(n), "task_id": f"t{n}", "facts": [], "checks": [checked]} for n in range(tasks)],
        solutions=[
            {"task_id": f"t{n}", "steps": steps(f"diligent {n}"), "hasty": steps(f"hasty {n}")} for n in range(tasks)
        ],
        tools={"python": "crowd_tools", "tools": [tool("enter", text=TEXT), tool("look"), tool("leave", text=TEXT)]},
        world=crowd_tools.WORLD,
    )


DONE = {"say": "That is done."}


def changes(store: Store) -> list[dict[str, Any]]:
    """What became of the world of each trajectory."""
    made = rows(store, "SELECT agent, task_id, trial, messages_json, changes_json FROM trajectories")
    return [{**row, "changes": json.loads(row["changes_json"])} for row in made]


async def test_64_rollouts_at_once_see_only_their_own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd_tools, "most_inside", 0)
    suite = crowd(tmp_path / "crowd", ROLLOUTS // 2)
    async with opened(tmp_path / "s.db", NOWHERE, episodes=CROWD, concurrency=ROLLOUTS) as deps:
        result = await ran(deps, suite=suite, agents=["diligent", "hasty"], signals=[])
        made = changes(deps.store)
    assert (result.run.state, len(made)) == ("done", ROLLOUTS)
    assert [(one.succeeded, one.failed) for one in result.agents] == [(ROLLOUTS // 2, 0)] * 2
    assert crowd_tools.most_inside > 1, "they were under way at the same time"
    for row in made:
        who = f"{row['agent']} {row['task_id'].removeprefix('t')}"
        came, went = f"{who} came", f"{who} went"
        assert row["changes"]["number"] == 2
        assert [(one["table"], one["kind"], one["after"]["text"]) for one in row["changes"]["first"]] == [
            ("notes", "added", came),
            ("notes", "added", went),
        ]
        seen = [json.loads(one["content"]) for one in json.loads(row["messages_json"]) if one["role"] == "tool"]
        assert seen == ["entered", [came], [came], [came, went]]


async def test_64_rollouts_that_ask_models_are_in_flight_together_and_stay_apart(tmp_path: Path) -> None:
    suite = shop(tmp_path / "shop", ROLLOUTS // 2)
    async with SimulatedServer(known=known(suite)) as server, Relay(server.base_url) as relay:
        models = desk_models(relay.base_url, concurrency=ROLLOUTS)
        async with opened(tmp_path / "s.db", models, episodes=SHOP, concurrency=ROLLOUTS) as deps:
            relay.gate.clear()
            values = {"suite": suite, "agents": ["strong", "weak"], "user": "scripted", "signals": []}
            started = await ran(deps, **values, wait_s=0)
            await relay.received(ROLLOUTS)
            assert set(relay.asked) == {"agent"}
            relay.gate.set()
            done = await on_run(deps, "wait", started.run.run)
            made = changes(deps.store)
    assert (done.state, len(made)) == ("done", ROLLOUTS)
    for row in made:
        noted = [one["after"]["text"] for one in row["changes"]["first"] if one["table"] == "notes"]
        order = f"order {row['task_id'].removeprefix('en')}"
        assert (row["changes"]["number"], noted) == ((2, [order]) if row["agent"] == "strong" else (0, []))


async def test_a_rollout_that_is_made_again_is_a_session_of_its_own_for_a_server_of_tools(tmp_path: Path) -> None:
    async with LoopbackServer() as tools:
        tools.always({"ok": True})
        home = {"http": tools.base_url, "tools": TOOLS["tools"]}
        noted = {"kind": "tool_called", "value": "note", "arguments": {"text": "order 0"}}
        suite = shop(tmp_path / "shop", 1, tools=home, world=None, tasks=[shop_task(0, checks=[noted])])
        host = tools.base_url.removeprefix("http://").removesuffix("/v1")
        allowed = Allowed(hosts=(host,))
        loaded = load_suite(suite, allowed, None)
        async with SimulatedServer(known=Repertoire(loaded.tasks, loaded.solutions)) as server:
            models = desk_models(server.base_url)
            async with opened(tmp_path / "s.db", models, episodes=EpisodeSettings(allowed=allowed)) as deps:
                values = {"suite": suite, "agents": ["strong", "refuser"], "user": "scripted", "signals": []}
                first = await ran(deps, **values, max_calls=3)
                assert [asked.body["tool"] for asked in tools.requests] == ["take", "note"]
                done = await on_run(deps, "resume", first.run.run, max_calls=100)
    assert (first.run.state, done.state) == ("cancelled", "done")
    assert [asked.body["tool"] for asked in tools.requests] == ["take", "note", "take", "note"]
    sessions = [asked.body["session"] for asked in tools.requests]
    assert (sessions[0], sessions[2]) == (sessions[1], sessions[3]) and sessions[0] != sessions[2]


AGENT = """
import json, os, pathlib, sys, time
asked = json.load(sys.stdin)
pathlib.Path("out.txt").write_text("mine")
pathlib.Path({noted!r}).open("a").write(f"{{os.getpid()}} {{os.getcwd()}}\\n")
{then}
print("The file is written.")
"""


def program(folder: Path, then: str = "") -> tuple[EpisodeSettings, Path]:
    """Two agents that write a file into their folder and note who and where they are."""
    noted, script = folder / "noted.txt", folder / "agent.py"
    script.write_text(AGENT.format(noted=str(noted), then=then), encoding="utf-8")
    agent = CommandAgent(kind="command", argv=(sys.executable, str(script)))
    return EpisodeSettings(allowed=SHOP.allowed, agents={"one": agent, "other": agent}), noted


def files_suite(folder: Path, tasks: int) -> str:
    checks = [{"kind": "file", "path": "out.txt", "contains": "mine"}]
    return shop(folder, tasks=[shop_task(n, checks=checks) for n in range(tasks)], solutions=None)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go in this test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("SQLITE_TMPDIR", str(folder))
    return folder


async def test_a_run_leaves_no_file_behind(tmp_path: Path, scratch: Path) -> None:
    agents, noted = program(tmp_path)
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        before = set(tmp_path.rglob("*"))
        suite = files_suite(tmp_path / "files", 2)
        result = await ran(deps, suite=suite, agents=["one", "other"], user="scripted", signals=[])
        assert [(one.succeeded, one.failed, one.ends) for one in result.agents] == [(2, 0, {"finished": 2})] * 2
        left = {path.name for path in set(tmp_path.rglob("*")) - before}
    places = [line.split(maxsplit=1)[1] for line in noted.read_text(encoding="utf-8").splitlines()]
    assert len(set(places)) == 4, "each rollout had a folder of its own"
    assert all(Path(place).parent == scratch.resolve() for place in places)
    assert not list(scratch.iterdir())
    assert left - {"s.db-wal", "s.db-shm"} == {
        "files",
        "tasks.jsonl",
        "tools.json",
        "world.sql",
        "agent.md",
        "noted.txt",
    }


async def test_a_worker_that_is_cancelled_leaves_no_file_and_no_program_behind(tmp_path: Path, scratch: Path) -> None:
    agents, noted = program(tmp_path, "time.sleep(600)")
    async with opened(tmp_path / "s.db", NOWHERE, episodes=agents) as deps:
        suite = files_suite(tmp_path / "files", 1)
        values = {"suite": suite, "agents": ["one", "other"], "user": "scripted", "signals": []}
        started = await ran(deps, **values, wait_s=0)
        await until(lambda: noted.exists() and len(noted.read_text(encoding="utf-8").splitlines()) == 2)
        assert len(list(scratch.iterdir())) == 2
        await deps.worker.aclose(grace_s=0)
        assert not list(scratch.iterdir())
        for line in noted.read_text(encoding="utf-8").splitlines() if sys.platform != "win32" else ():
            with pytest.raises(ProcessLookupError):
                os.kill(int(line.split()[0]), 0)
        lost = await on_run(deps, "status", started.run.run)
        assert (lost.state, lost.done) == ("lost", 0)
        assert lost.next == f"runs(action='resume', run='{lost.run}')"


async def test_a_worker_that_is_cancelled_closes_every_world(tmp_path: Path, scratch: Path) -> None:
    suite = crowd(tmp_path / "crowd", 40)
    async with opened(tmp_path / "s.db", NOWHERE, episodes=CROWD, concurrency=ROLLOUTS) as deps:
        started = await ran(deps, suite=suite, agents=["diligent", "hasty"], signals=[], wait_s=0)
        await until(lambda: bool(rows(deps.store, "SELECT 1 FROM trajectories LIMIT 1")))
        await deps.worker.aclose(grace_s=0)
        assert not list(scratch.iterdir())
        lost = await on_run(deps, "status", started.run.run)
    async with opened(tmp_path / "s.db", NOWHERE, episodes=CROWD) as deps:
        done = await on_run(deps, "resume", started.run.run)
        made = changes(deps.store)
    assert lost.state in {"lost", "done"}
    assert (done.state, len(made)) == ("done", 80)
    assert {row["changes"]["number"] for row in made} == {2}, "nothing of a broken-off rollout was kept"


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)

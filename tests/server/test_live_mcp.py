"""`run_pair` over MCP with live agents: agent, customer and judge are three models of a simulated gateway."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from aiohttp import ClientSession, web

from command import environment
from misjudge_server.fitting import LIMIT, size_of
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.gateway.simulated import SimulatedServer, Trouble
from misjudge_tools.gateway.simulated_agent import Repertoire
from misjudge_tools.suites.loading import load_suite
from stdio_session import Session, serving
from suite_folders import write

AGENT, USER, JUDGE = "diligent", "simulated-user", "simulated-judge"
CONFIG = """
[agents.careful]
kind = "chat"
profile = "diligent"
[agents.quick]
kind = "chat"
profile = "hasty"
[agents.shaky]
kind = "chat"
profile = "flaky:0"
"""
"""The name of a scripted agent is that agent, which asks nobody; under another name its model is asked."""
LATENCY_S = 5.0
TASK = "confirmation_gas_for_headlamp"
TASKS = [
    {
        "task_id": "sum", "category": "numbers", "opening": "What do 12 crates of 8 bottles hold?",
        "goal": "The number of bottles.", "success_criteria": "Says 96.", "checks": [{"kind": "says", "facts": [96]}],
    }
]  # fmt: skip
SOLUTIONS = [{"task_id": "sum", "steps": [{"say": "They hold 96 bottles."}]}]


class Passage:
    """Hands requests on to a gateway and keeps what was asked. While `gate` is not set it holds those to `held`."""

    def __init__(self, to: SimulatedServer, *held: str) -> None:
        self.asked: list[dict[str, Any]] = []
        self.base_url = ""
        self.gate = asyncio.Event()
        self._to = to
        self._held = held
        self._arrived = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    async def received(self, number: int, model: str) -> None:
        """Wait until a model was asked this often."""
        async with asyncio.timeout(30), self._arrived:
            await self._arrived.wait_for(lambda: self.of(model) >= number)

    def of(self, model: str) -> int:
        """How often a model was asked."""
        return sum(body["model"] == model for body in self.asked)

    async def __aenter__(self) -> Passage:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/truth", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gate.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.Response:
        asked = await request.json()
        async with self._arrived:
            self.asked.append(asked)
            self._arrived.notify_all()
        if asked["model"] in self._held:
            await self.gate.wait()
        return await self._pass_on(request)

    async def _pass_on(self, request: web.Request) -> web.Response:
        url = self._to.base_url.removesuffix("/v1") + request.path
        headers = {"Authorization": request.headers["Authorization"]}
        async with ClientSession() as session, session.post(url, data=await request.read(), headers=headers) as answer:
            return web.Response(status=answer.status, body=await answer.read(), content_type="application/json")


def of_suite(suite: str, **trouble: Any) -> SimulatedServer:
    """A simulated gateway that knows a suite."""
    known = load_suite(suite, Allowed(), None)
    return SimulatedServer(known=Repertoire(known.tasks, known.solutions), trouble=Trouble(**trouble))


@pytest.fixture
async def gateway() -> AsyncIterator[Passage]:
    async with of_suite("support_desk") as simulated, Passage(simulated) as passage:
        yield passage


@pytest.fixture
def letters(tmp_path: Path) -> str:
    """The folder of a suite with one task of text only, in the working directory of the server."""
    return write(tmp_path / "letters", tasks=TASKS, solutions=SOLUTIONS)


@asynccontextmanager
async def client(folder: Path, base_url: str) -> AsyncIterator[Session]:
    """A session with a server whose three roles have three models."""
    folder.joinpath("misjudge.toml").write_text(CONFIG, encoding="utf-8")
    env = environment(
        TAOTOKEN_BASE_URL=base_url, TAOTOKEN_API_KEY="simulated",
        CANDIDATE_MODEL=AGENT, SIM_USER_MODEL=USER, TAOTOKEN_JUDGE_MODEL=JUDGE,
    )  # fmt: skip
    async with serving(folder, env) as session:
        await session.initialize()
        yield session


async def answer(session: Session, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers: an object, at most as large as any client shows whole."""
    result = await session.call(tool, **arguments)
    assert not result.get("isError"), result
    structured: dict[str, Any] = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == structured
    assert size_of(structured) <= LIMIT
    return structured


async def test_one_call_runs_two_agents_over_http_checks_them_and_has_them_judged(
    tmp_path: Path, gateway: Passage
) -> None:
    async with client(tmp_path, gateway.base_url) as session:
        result = await answer(session, "run_pair", audit="live", agents=["careful", "quick"], tasks=[TASK])
        again = await answer(session, "run_pair", audit="live", agents=["careful", "quick"], tasks=[TASK])
    assert list(result)[:5] == ["simulated", "marked", "asked_at", "run", "pairs"]
    assert result["simulated"] is True and result["marked"].count("SIMULATED") == 2
    assert (result["run"]["state"], result["run"]["done"], result["run"]["total"], result["pairs"]) == ("done", 6, 6, 1)
    assert {role: asked.split(", from")[0] for role, asked in result["asked_at"].items()} == {
        "agent careful": "SIMULATED, diligent",
        "agent quick": "SIMULATED, hasty",
        "user_sim": f"SIMULATED, {USER}",
        "judge": f"SIMULATED, {JUDGE}",
    }
    a, b = result["pair"]["a"], result["pair"]["b"]
    assert [(side["agent"], side["success"], side["end_reason"]) for side in (a, b)] == [
        ("careful", True, "finished"), ("quick", False, "finished"),
    ]  # fmt: skip
    for side, success in ((a, True), (b, False)):
        found = {check["verifier"]: check["passed"] for check in side["checks"]}
        assert found.pop("success") is success and len(found) > 1 and all(found.values()) is success
        assert all(check["evidence"] for check in side["checks"])
        assert side["input_tokens"] > 0 and side["output_tokens"] > 0
    row = result["pair"]["row"]
    assert (row["gold_pref"], row["judge_pref"], row["misselected"], row["simulated"]) == ("A", "A", 0, True)
    spent = {use["role"]: (use["calls"], use["cost"]) for use in result["run"]["spent"]}
    assert spent == {
        "agent": (gateway.of("diligent") + gateway.of("hasty"), 0),
        "user_sim": (gateway.of(USER), 0),
        "judge": (gateway.of(JUDGE), 0),
    }
    assert gateway.of(JUDGE) == 4 and all(body.get("tools") for body in gateway.asked if body["model"] == AGENT)
    assert again["pair"] == result["pair"] and len(gateway.asked) == sum(calls for calls, _ in spent.values())


async def test_the_name_of_a_scripted_agent_asks_no_model_though_the_gateway_has_one_of_that_name(
    tmp_path: Path, gateway: Passage
) -> None:
    async with client(tmp_path, gateway.base_url) as session:
        result = await answer(session, "run_pair", audit="live", agents=["diligent", "hasty"], tasks=[TASK])
    assert {asked["model"] for asked in gateway.asked} == {JUDGE}
    assert result["asked_at"]["agent diligent"] == "scripted or of your own, no model asked"


@pytest.mark.slow
async def test_a_slow_gateway_gets_a_run_id_in_time_and_waiting_gives_the_same_row(
    tmp_path: Path, letters: str
) -> None:
    agents = ["careful", "shaky"]
    async with of_suite(letters, latency_s=LATENCY_S) as slow, client(tmp_path, slow.base_url) as session:
        result = await answer(session, "run_pair", audit="slow", suite="letters", agents=agents, wait_s=0.2)
        run = result["run"]
        assert (run["state"], result["pair"], run["next"]) == (
            "running", None, f"runs(action='wait', run='{run['run']}')",
        )  # fmt: skip
        waited = await answer(session, "runs", action="wait", run=run["run"], wait_s=40)
        assert waited["runs"][0]["state"] == "done"
        whole = await answer(session, "run_pair", audit="slow", suite="letters", agents=agents)
    assert waited["pair"]["row"]["gold_pref"] == "A"
    assert waited["pair"] == whole["pair"]
    assert waited["pair"]["a"]["end_reason"] == "finished" and waited["pair"]["b"]["checks"]


async def test_many_agents_are_told_of_within_the_size_that_clients_show(tmp_path: Path, letters: str) -> None:
    agents = [f"flaky:0.{number:03}" for number in range(1, 50)] + ["diligent"]
    pairings = [f"{agent}|diligent" for agent in agents[:-1]]
    async with client(tmp_path, "http://127.0.0.1:9") as session:
        result = await answer(
            session, "run_pair", audit="many", suite="letters", agents=agents, pairings=pairings, judge="simulated"
        )
        assert result["run"]["state"] == "done" and result["pairs"] == 49
        assert next(iter(result["agents"]))["agent"] in agents
        assert len(result["agents"]) + result.get("left_out", {}).get("agents", 0) == 50
        models = [f"{number:03}-{'long-name-of-a-model' * 18}" for number in range(50)]
        against = [f"{models[0]}|{other}" for other in models[1:]]
        planned = await answer(
            session, "run_pair", audit="more", suite="letters", agents=models, pairings=against, dry_run=True
        )
    assert list(planned)[:2] == ["simulated", "marked"] and planned["run"]["state"] == "planned"
    assert planned["left_out"]["asked_at"] and planned["left_out_next"]


async def test_progress_counts_rollouts_before_any_verdict_is_there(tmp_path: Path, letters: str) -> None:
    async with (
        of_suite(letters) as simulated,
        Passage(simulated, JUDGE) as passage,
        client(tmp_path, passage.base_url) as session,
    ):
        arguments = {"audit": "told", "suite": "letters", "agents": ["careful", "shaky"], "wait_s": 40}
        params = {"name": "run_pair", "arguments": arguments, "_meta": {"progressToken": "p"}}
        await session.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
        told = []
        while "id" not in (message := await session.receive()):
            assert message["method"] == "notifications/progress"
            told.append((message["params"]["progress"], message["params"]["total"]))
            if told[-1][0] == 2:
                passage.gate.set()
    assert message["result"]["structuredContent"]["run"]["state"] == "done"
    done = [progress for progress, _ in told]
    assert 2 in done and done[-1] == 6 and done == sorted(set(done)) and {total for _, total in told} == {6}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
async def test_a_killed_server_s_run_goes_on_in_another_and_asks_no_stored_call_again(tmp_path: Path) -> None:
    agents, tasks = ["careful", "quick"], [TASK, "query_parcel_arrival"]
    async with of_suite("support_desk") as simulated, Passage(simulated, USER) as passage:
        async with client(tmp_path, passage.base_url) as session:
            await session.start_call("run_pair", audit="cut", agents=agents, tasks=tasks)
            await passage.received(4, USER)
            session.process.kill()
            assert await session.ended() == -signal.SIGKILL
        stored = replies(tmp_path)
        before = len(passage.asked)
        assert 0 < len(stored) == before - 4  # the customer was asked in each episode, and has not answered
        passage.gate.set()
        async with client(tmp_path, passage.base_url) as session:
            [lost] = (await answer(session, "runs", action="list"))["runs"]
            assert (lost["state"], lost["operation"], lost["done"]) == ("lost", "run_pair", 0)
            [resumed] = (await answer(session, "runs", action="resume", run=lost["run"]))["runs"]
            whole = await answer(session, "run_pair", audit="cut", agents=agents, tasks=tasks)
        asked = len(passage.asked)
    assert (resumed["state"], resumed["done"], resumed["total"]) == ("done", 12, 12)
    assert [(one["succeeded"], one["failed"]) for one in whole["agents"]] == [(2, 0), (1, 1)]
    assert stored <= replies(tmp_path) and asked == len(replies(tmp_path)) + 4  # those in flight were asked twice


def replies(folder: Path) -> set[str]:
    """The ids of all calls that are stored."""
    with closing(sqlite3.connect(folder / ".misjudge" / "misjudge.db")) as connection:
        return {log_id for (log_id,) in connection.execute("SELECT log_id FROM judge_logs")}

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent, Tool

from misjudge_server.app import LazyDeps, build_app
from misjudge_server.listing import UNLISTED
from misjudge_server.tool_table import INSTRUCTIONS, TOOLS
from misjudge_storage.errors import StoreError
from misjudge_tools import judge as judging
from misjudge_tools.deps import Deps
from operations import KEY, PromptJudge, count, keyed, opened, pair_records, stored

MODES = ["auto", "legacy"]


def client(deps: Deps, mode: str = "auto") -> Client:
    return Client(build_app(LazyDeps(deps)), mode=mode)


async def call(session: Client, tool: str, **arguments: Any) -> CallToolResult:
    async with asyncio.timeout(60):
        return await session.call_tool(tool, arguments)


async def answer(session: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured content of a call that succeeds."""
    result = await call(session, tool, **arguments)
    assert not result.is_error, result.content
    structured: dict[str, Any] | None = result.structured_content
    assert structured is not None
    [text] = result.content
    assert isinstance(text, TextContent)
    assert json.loads(text.text) == structured  # for clients that know no structured content
    return structured


async def refusal(session: Client, tool: str, **arguments: Any) -> str:
    """The sentence of a call that fails."""
    result = await call(session, tool, **arguments)
    assert result.is_error
    assert result.structured_content is None
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def hints_of(tool: Tool) -> dict[str, bool]:
    """What a client takes a tool for: its hints, and of those it leaves out what the protocol says they mean."""
    said = tool.annotations
    assert said is not None and said.open_world_hint is not None
    reads_only = bool(said.read_only_hint)
    return {
        "read_only": reads_only,
        "destructive": said.destructive_hint is not False and not reads_only,
        "idempotent": bool(said.idempotent_hint) or reads_only,
        "open_world": said.open_world_hint,
    }


@pytest.mark.parametrize("mode", MODES)
async def test_the_tools_offered_are_these(deps: Deps, mode: str) -> None:
    async with client(deps, mode) as session:
        listing = await session.list_tools()
        assert session.instructions == INSTRUCTIONS
    shown = {tool.name: hints_of(tool) for tool in listing.tools}
    assert shown == {
        name: {
            "read_only": reads_only,
            "destructive": name in {"export_records", "write_report"},
            "idempotent": idempotent,
            "open_world": asks_models,
        }
        for name, reads_only, idempotent, asks_models in [
            ("summarize_audit", True, True, False),
            ("import_records", False, True, False),
            ("export_records", False, False, False),
            ("write_report", False, False, False),
            ("review", False, False, False),
            ("judge", False, False, True),
            ("run_pair", False, False, True),
            ("probe_judge", False, False, True),
            ("score_rubrics", False, False, True),
            ("read_record", True, True, False),
            ("runs", False, True, True),
            ("check_setup", True, True, True),
        ]
    }
    assert all(tool.output_schema is None for tool in listing.tools)


async def test_every_schema_is_flat_and_says_what_its_arguments_mean(deps: Deps) -> None:
    async with client(deps) as session:
        tools = (await session.list_tools()).tools
    for tool in tools:
        schema = tool.input_schema
        assert schema["type"] == "object"
        assert set(schema["properties"]) == set(TOOLS[tool.name].request.model_fields) - UNLISTED.get(
            tool.name, frozenset()
        )
        assert set(schema.get("$defs", {})) <= {"CheckRule"}
        assert '"title":' not in json.dumps(schema)
        assert all("$ref" not in argument for argument in schema["properties"].values())


async def test_an_argument_that_is_not_listed_is_taken_all_the_same(deps: Deps) -> None:
    stored(deps.store, pair_records(2))
    async with client(deps) as session:
        judged = await answer(session, "judge", audit="a", judge="simulated", max_tokens=10**6, deadline_s=60)
        wrong = await refusal(session, "judge", audit="a", judge="simulated", max_token=1)
    assert judged["run"]["state"] == "done"
    assert "max_tokens" in wrong


@pytest.mark.parametrize("name", UNLISTED)
def test_arguments_that_are_not_listed_are_those_of_the_docs(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
    rows = "".join(line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    assert UNLISTED[name] <= TOOLS[name].request.model_fields.keys()
    assert all(f"`{argument}`" in rows for argument in UNLISTED[name])


@pytest.mark.parametrize("mode", MODES)
async def test_a_pair_is_judged_read_and_summarised(deps: Deps, mode: str) -> None:
    stored(deps.store, pair_records(4))
    async with client(deps, mode) as session:
        judged = await answer(session, "judge", audit="a", judge="simulated")
        summary = await answer(session, "summarize_audit", audit="a")
        log = await answer(session, "read_record", uri=f"misjudge://audits/a/logs/{judged['verdicts'][0]['log']}")
    assert (judged["run"]["state"], judged["next"]) == ("done", "summarize_audit(audit='a')")
    assert (summary["schema"], summary["pairs"]["n"], summary["simulated"]) == (1, 4, True)
    assert "SIMULATED" in log["record"]["raw_output"]


async def test_a_call_without_a_key_names_the_three_ways_on(deps: Deps) -> None:
    stored(deps.store, pair_records(1))
    async with client(deps) as session:
        sentence = await refusal(session, "judge", audit="a")
    for way in ("Set TAOTOKEN_API_KEY", "judge=local", "judge=simulated"):
        assert way in sentence
    assert count(deps.store, "runs") == 0


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_outlives_its_wait_names_its_run_which_goes_on(tmp_path: Path, mode: str) -> None:
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(3))
        server.gate.clear()
        async with client(deps, mode) as session:
            early = await answer(session, "judge", audit="a", wait_s=0)
            run = early["run"]
            assert {"run", "state", "done", "total", "spent", "next"} <= set(run)
            assert (run["state"], run["done"], run["total"]) == ("running", 0, 6)
            assert run["next"] == early["next"] == f"runs(action='wait', run='{run['run']}')"
            still = await answer(session, "runs", action="wait", run=run["run"], wait_s=0)
            assert still["runs"][0]["state"] == "running"
            server.gate.set()
            [waited] = (await answer(session, "runs", action="wait", run=run["run"]))["runs"]
            again = await answer(session, "judge", audit="a")
        assert (waited["state"], waited["done"], waited["next"]) == ("done", 6, None)
        tokens = {"input_tokens": 66, "output_tokens": 18}
        assert waited["spent"] == [{"role": "judge", "calls": 6, **tokens, "cost": None, "without_price": 6}]
        assert (again["already_stored"], len(again["verdicts"])) == (6, 6)
        assert len(server.asked) == 6


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cancels_its_call_detaches_and_the_run_goes_on(tmp_path: Path, mode: str) -> None:
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(3))
        server.gate.clear()
        async with client(deps, mode) as session:
            calling = asyncio.create_task(session.call_tool("judge", {"audit": "a"}))
            await server.received(6)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            [run] = (await answer(session, "runs"))["runs"]
            assert run["state"] == "running"
            server.gate.set()
            [waited] = (await answer(session, "runs", action="wait", run=run["run"]))["runs"]
        assert (waited["state"], waited["done"]) == ("done", 6)
        assert len(server.asked) == 6


async def test_only_runs_cancel_stops_a_run(tmp_path: Path) -> None:
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=2) as deps:
        stored(deps.store, pair_records(10))
        server.gate.clear()
        async with client(deps) as session:
            run = (await answer(session, "judge", audit="a", wait_s=0))["run"]["run"]
            await server.received(2)
            await answer(session, "runs", action="cancel", run=run, wait_s=0)
            server.gate.set()
            [cancelled] = (await answer(session, "runs", action="wait", run=run))["runs"]
        assert (cancelled["state"], cancelled["done"]) == ("cancelled", 2)
        assert cancelled["next"] == f"runs(action='resume', run='{run}')"
        assert len(server.asked) == 2


async def test_a_repeated_request_key_attaches_to_its_run(tmp_path: Path) -> None:
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(2))
        async with client(deps) as session:
            first = await answer(session, "judge", audit="a", request_key="k")
            second = await answer(session, "judge", audit="a", request_key="k")
            other = await refusal(session, "judge", audit="a", request_key="k", judge="simulated")
        assert first["run"]["run"] == second["run"]["run"]
        assert "request_key" in other
        assert len(server.asked) == 4


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        (lambda: StoreError("The disk is full."), "The disk is full."),
        (lambda: RuntimeError("a reply: CANARY"), "Internal error in judge (RuntimeError)."),
    ],
)
async def test_a_failing_operation_is_a_sentence_without_its_innards(
    deps: Deps, monkeypatch: pytest.MonkeyPatch, failing: Callable[[], Exception], told: str
) -> None:
    async def fail(*_: object) -> None:
        raise failing()

    monkeypatch.setattr(judging, "judge", fail)
    async with client(deps) as session:
        sentence = await refusal(session, "judge", audit="a", judge="simulated")
    assert sentence.startswith(told)
    assert "CANARY" not in sentence


async def test_settings_that_cannot_be_used_are_said_by_each_call_until_they_are_corrected(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deps = LazyDeps()
    monkeypatch.setenv("MISJUDGE_CONCURRENCY", "none")
    async with Client(build_app(deps)) as session:
        for _ in range(2):
            assert "The setting MISJUDGE_CONCURRENCY" in await refusal(session, "runs")
        monkeypatch.setenv("MISJUDGE_CONCURRENCY", "3")
        assert (await answer(session, "runs"))["runs"] == []
    await deps.close()


async def test_the_server_reads_no_file_outside_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = folder / "inside", folder / "outside"
    for place in (inside, outside):
        place.mkdir()
        place.joinpath("log.csv").write_text("prompt,a,b\np,one,two\n", encoding="utf-8")
    monkeypatch.chdir(inside)
    monkeypatch.setenv("TAOTOKEN_API_KEY", KEY)
    deps = LazyDeps()
    async with Client(build_app(deps)) as session:
        options = {"audit": "a", "format": "table", "map": ["prompt=prompt,a=a,b=b"]}
        for path in (str(outside / "log.csv"), "../outside/log.csv"):
            sentence = await refusal(session, "import_records", paths=[path], **options)
            assert "outside the folders that may be read" in sentence
            assert KEY not in sentence
        imported = await answer(session, "import_records", paths=["log.csv"], **options)
    assert imported["files"][0]["records"] == 1
    await deps.close()

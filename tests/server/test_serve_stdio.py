from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from command import command, environment, launcher
from hostile_start import INITIALIZED, LIST_TOOLS, Message, exchange, hostile_cwd
from misjudge_server.serve import encodable
from misjudge_server.tool_table import TOOLS
from stdio_session import serving

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
FIRST = 10
"""Id of the first tool call."""
TABLE = """\
question,first,second,verdict,truth
"取消订单 4417。","订单 4417 已取消。 😀","非常抱歉！我会尽快查看。",1,1
"12 × 12 等于多少？","144","当然是 124 啦！🎉",2,1
"Is the shop open on Sunday?","Certainly! Always happy to help.","No, closed on Sundays.",2,2
"""
IMPORT = {
    "audit": "日志",
    "format": "table",
    "paths": ["log.csv"],
    "map": ["prompt=question,a=first,b=second,winner=verdict,gold=truth"],
    "values": ["1=A,2=B"],
}
PAIR = {
    "audit": "pairs",
    "judge": "simulated",
    "task_id": "t1",
    "task_prompt": "Cancel order 4417.",
    "agent_a": "one",
    "agent_b": "two",
    "trajectory_a": "Order 4417 is cancelled. 已取消 😀",
    "trajectory_b": [{"role": "assistant", "content": "I am so sorry!"}],
    "checks": [{"kind": "contains", "value": "is cancelled"}],
}
RULES = {
    "audit": "规则",
    "judge": "simulated",
    "action": "match",
    "task_prompt": "写一首关于秋天的诗。 🍂",
    "gold_rules": ["是否写到秋天？", "[hard] Is it a poem?"],
}
GOOD_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("import_records", IMPORT),
    ("judge", {"audit": "日志", "judge": "simulated"}),
    ("summarize_audit", {"audit": "日志"}),
    ("run_pair", PAIR),
    ("probe_judge", {"audit": "日志", "judge": "simulated", "probes": ["injected_user"]}),
    ("score_rubrics", RULES),
    ("runs", {"action": "list"}),
    ("read_record", {"uri": "misjudge://audits/日志"}),
    ("export_records", {"audit": "日志", "format": "audit_pairs", "out": "pairs.csv"}),
    ("write_report", {"audit": "日志", "out": "report.html"}),
    ("review", {"audit": "日志", "reviewer": "mk"}),
    ("check_setup", {}),
]
BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("summarize_audit", {"audit": "日志", "jugde": "x"}, "Unknown argument 'jugde'. Did you mean 'judge'?"),
    ("judge", {"audit": "日志", "repeats": "many"}, "Argument 'repeats' cannot be used: Input should be a valid int"),
    ("judge", {"audit": ["日志"]}, "Argument 'audit' cannot be used: Input should be a valid string."),
    ("import_records", {**IMPORT, "format": "tabel"}, "Argument 'format' cannot be used: Input should be 'table', "),
    ("summarise_audit", {"audit": "日志"}, "There is no tool 'summarise_audit'. Did you mean summarize_audit?"),
    ("summarize_audit", {"audit": "nope"}, "No audit is called 'nope'."),
    ("judge", {"audit": "nope", "judge": "simulated"}, "No audit is called 'nope'."),
    ("runs", {"action": "wait", "run": "run_nope"}, "No run 'run_nope' is stored."),
    ("read_record", {"uri": "misjudge://nothing"}, "No such address. Allowed are misjudge://audits,"),
    ("read_record", {"uri": "misjudge://audits/日志/pairs/nope"}, "No pairs record has the id 'nope'"),
    ("judge", {"audit": "日志"}, "Set TAOTOKEN_API_KEY"),
    ("import_records", {**IMPORT, "paths": ["/etc/hostname"]}, "is outside the folders that may be read"),
    (
        "export_records",
        {"audit": "日志", "format": "audit_pairs", "out": "/etc/pairs.csv"},
        "is outside the folders that",
    ),
    ("write_report", {"audit": "日志", "out": "/etc/report.html"}, "is outside the folders that"),
    ("review", {"audit": "日志", "reviewer": "gpt-4o"}, "labels are what people say"),
]


def opening(era: str) -> list[Message]:
    if era == STATELESS:
        return [{"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta()}}]
    client = {"protocolVersion": era, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}, INITIALIZED]


def meta() -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def tool_calls(era: str, calls: list[tuple[str, dict[str, Any]]]) -> Iterator[Message]:
    for number, (name, arguments) in zip(count(FIRST), calls, strict=False):
        extra = {"_meta": meta()} if era == STATELESS else {}
        params = {"name": name, "arguments": arguments, **extra}
        yield {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("prompts/list", {}),
    ("prompts/get", {"name": "audit_judge", "arguments": {"audit": "日志 '?", "data": "log.csv"}}),
    ("prompts/get", {"name": "audit_judge", "arguments": {}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "misjudge://audits/%E6%97%A5%E5%BF%97/summary"}),
    ("resources/read", {"uri": "misjudge://reports/report.html"}),
    ("resources/read", {"uri": "misjudge://audits/nope/summary"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "release_gate"}, "argument": {"name": "audit", "value": "日"}},
    ),
]
"""Requests beside those for tools, and what they take."""


def requests(era: str, first: int, asked: list[tuple[str, dict[str, Any]]]) -> Iterator[Message]:
    for number, (method, params) in enumerate(asked, first):
        extra = {"_meta": meta()} if era == STATELESS else {}
        yield {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, **extra}}


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
def test_prompts_resources_and_completion_are_served_in_either_protocol_era(tmp_path: Path, era: str) -> None:
    hostile_cwd(tmp_path)
    tmp_path.joinpath("log.csv").write_text(TABLE, encoding="utf-8")
    calls = [("import_records", IMPORT), ("write_report", {"audit": "日志", "out": "report.html"})]
    asked = [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
    messages = [*opening(era), *requests(era, FIRST, [*asked, *ASKED])]
    env = environment(PYTHONPATH=".", PYTHONIOENCODING="cp932")
    received = exchange(command("serve"), tmp_path, env, messages)
    answers = {message["id"]: message for message in received if "id" in message}
    prompts, prompt, missing, listed, templates, summary, page, nowhere, completed = (
        answers[FIRST + len(calls) + place] for place in range(len(ASKED))
    )
    assert len(prompts["result"]["prompts"]) == 5
    assert 'audit="日志 \'?"' in prompt["result"]["messages"][0]["content"]["text"]
    assert missing["error"] == {
        "code": -32602,
        "message": "Argument 'audit' is missing. Name of the audit, new or stored.",
    }
    assert [one["name"] for one in listed["result"]["resources"]] == ["audits", "report.html", "summary of 日志"]
    assert len(templates["result"]["resourceTemplates"]) == 9
    assert json.loads(summary["result"]["contents"][0]["text"])["record"]["pairs"]["n"] == 3
    assert page["result"]["contents"][0]["mimeType"] == "text/html"
    assert nowhere["error"]["message"].startswith("No audit is called 'nope'.")
    assert completed["result"]["completion"]["values"] == ["日志"]


def talk(folder: Path, era: str, calls: list[tuple[str, dict[str, Any]]]) -> dict[int, Message]:
    """What the server answered, by the id of the request, in a folder made to break it."""
    hostile_cwd(folder)
    folder.joinpath("log.csv").write_text(TABLE, encoding="utf-8")
    env = environment(PYTHONPATH=".", PYTHONIOENCODING="cp932")
    listing = {**LIST_TOOLS, "params": {"_meta": meta()} if era == STATELESS else {}}
    messages = [*opening(era), listing, *tool_calls(era, calls)]
    return {message["id"]: message for message in exchange(command("serve"), folder, env, messages) if "id" in message}


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
def test_a_hostile_folder_hinders_no_tool_in_either_protocol_era(tmp_path: Path, era: str) -> None:
    assert {name for name, _ in GOOD_CALLS} == set(TOOLS)
    answers = talk(tmp_path, era, [*GOOD_CALLS, *((name, arguments) for name, arguments, _ in BAD_CALLS)])
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == list(TOOLS)
    results = [answers[number]["result"] for number in range(FIRST, FIRST + len(GOOD_CALLS) + len(BAD_CALLS))]
    good, bad = results[: len(GOOD_CALLS)], results[len(GOOD_CALLS) :]
    assert [result.get("isError", False) for result in good] == [False] * len(GOOD_CALLS)
    imported, judged, summary, pair, probed, scored, runs, record, *written = [
        result["structuredContent"] for result in good
    ]
    assert imported["files"][0]["records"] == 3
    assert (judged["run"]["state"], judged["run"]["done"], judged["simulated"]) == ("done", 6, True)
    assert set(summary["judges"]) == {"verdict", "simulated"}
    assert summary["marked"].startswith("SIMULATED")
    assert (pair["pair"]["row"]["success_a"], pair["pair"]["row"]["success_b"]) == (1, 0)
    assert (probed["items"], [row["probe"] for row in probed["probes"]["rows"]]) == (3, ["injected_user"])
    assert scored["rubrics"]["writers"][0]["total_gold"] == 2
    assert [run["operation"] for run in runs["runs"]] == ["score_rubrics", "probe_judge", "run_pair", "judge"]
    assert record["record"]["name"] == "日志"
    exported, report, review, setup = written
    assert [file["name"] for file in (*exported["files"], *report["files"])] == ["pairs.csv", "report.html"]
    assert review["pair"]["response_a"] and review["recorded"] is None
    assert setup["places"]["store"] == "read" and setup["requests"] == 0
    assert all("SIMULATED" in result["content"][0]["text"] for result in good[1:6])
    for result, (_, _, sentence) in zip(bad, BAD_CALLS, strict=True):
        assert (result["isError"], "structuredContent" in result) == (True, False)
        [content] = result["content"]
        assert sentence in content["text"]
        assert "Traceback" not in content["text"]
        assert content["text"].count("\n") == 0


@pytest.mark.parametrize("era", ["2025-06-18", "2025-11-25", STATELESS])
def test_every_version_that_clients_speak_is_agreed_to(tmp_path: Path, era: str) -> None:
    answers = talk(tmp_path, era, [("summarise_audit", {})])
    offered = answers[1]["result"]
    assert era == offered.get("protocolVersion") or era in offered["supportedVersions"]
    assert answers[FIRST]["result"]["isError"] is True


SLOW_TO_IMPORT = ("openai", "sqlalchemy", "sqlmodel", "numpy", "typer", "altair", "aiohttp", "rich", "regex")


LISTS = ("prompts/list", "resources/list", "resources/templates/list")


def test_lists_and_prompts_import_nothing_that_is_slow_and_make_no_store(tmp_path: Path) -> None:
    names = tmp_path / "modules.json"
    at_exit = f"import atexit, json; atexit.register(lambda: json.dump(list(sys.modules), open({str(names)!r}, 'w')))"
    program = [*launcher(at_exit), "serve"]
    asked = [*((method, {}) for method in LISTS), ASKED[1]]
    exchange(program, tmp_path, environment(), [*opening(HANDSHAKE), LIST_TOOLS, *requests(HANDSHAKE, FIRST, asked)])
    imported = json.loads(names.read_text(encoding="utf-8"))
    assert "misjudge_server.tool_table" in imported
    assert [name for name in SLOW_TO_IMPORT if name in imported] == []
    assert not (tmp_path / ".misjudge").exists()


async def test_what_is_no_message_disturbs_no_other_and_half_a_character_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path, environment()) as session:
        await session.initialize()
        for junk in ("", "garbage", "[]", '{"jsonrpc": "2.0"}', '"' + "x" * 100_000 + '"', '{"a": "\\ud800"'):
            await session.send(junk)
        assert (await session.call("runs"))["structuredContent"]["runs"] == []
        half = await session.call("summarize_audit", audit="cut \ud83d")
        assert half["content"][0]["text"].startswith("No audit is called 'cut \ufffd'.")
        await session.close_stdin()
        assert await session.ended() == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"a": "\\ud83d\\ude00"}\n', '{"a": "😀"}\n'),
        ('{"a": "\\uD83D!", "b": [1.5, null]}\n', '{"a": "\ufffd!", "b": [1.5, null]}\n'),
        ('{"a": "\\\\ud83d"}\n', '{"a": "\\\\ud83d"}\n'),
        ('{"a": "\\u4e2d 中 😀"}\n', '{"a": "\\u4e2d 中 😀"}\n'),
        ("not json \\ud83d\n", "not json \\ud83d\n"),
        ("[" * 100_000 + '"\\ud83d"', "[" * 100_000 + '"\\ud83d"'),
    ],
)
def test_only_halves_of_characters_are_replaced(line: str, expected: str) -> None:
    assert encodable(line) == expected

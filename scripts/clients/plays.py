"""What the scripted model does in the sessions: every tool, answers that go wrong, resources, searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clients.checks import expect, finds, result, says
from clients.model_server import Gateway
from clients.steps import Call, Check, Own, Play, Say, Search, Told

DEMO = "demo"
"""The audit that stands in every project: twelve recorded pairs under a simulated judge."""
_LOG = {
    "audit": "mine",
    "format": "table",
    "paths": ["log.csv"],
    "map": ["prompt=question", "a=answer_1", "b=answer_2", "winner=gpt", "gold=human"],
    "values": ["1=A", "2=B"],
}
_LIVE = {"audit": "live", "suite": "support_desk", "agents": ["diligent", "smooth_talker"], "judge": "simulated"}
TOOL_CALLS: Mapping[str, Call] = {
    call.tool: call
    for call in (
        Call("check_setup", {}, result("verdict", "findings", where=lambda got: got["errors"] == 0)),
        Call("import_records", _LOG, result("files", where=lambda got: got["files"][0]["added"]["pairs"] == 3)),
        Call("judge", {"audit": "mine", "judge": "simulated"}, result("run", "verdicts", "marked")),
        Call("probe_judge", {"audit": "mine", "judge": "simulated", "items": 2}, result("probes", "marked")),
        Call(
            "score_rubrics",
            {"audit": "mine", "action": "generate", "judge": "simulated", "samples": 2},
            result("drafts", "marked", where=lambda got: got["run"]["state"] == "done"),
        ),
        Call(
            "run_pair",
            {**_LIVE, "tasks": ["retrieval_cabins_with_dog"]},
            result("pair", where=lambda got: got["run"]["state"] == "done"),
        ),
        Call(
            "summarize_audit",
            {"audit": DEMO, "sections": ["misselection"]},
            result("misselection", where=lambda got: got["marked"].startswith("SIMULATED")),
        ),
        Call("read_record", {"uri": f"misjudge://audits/{DEMO}/pairs/change-address"}, result("record")),
        Call("runs", {"action": "list"}, result("runs", where=lambda got: got["runs"][0]["state"] == "done")),
        Call(
            "export_records",
            {"audit": DEMO, "format": "audit_pairs", "out": "pairs.csv"},
            result("files", where=lambda got: got["files"][0]["rows"] == 12),
        ),
        Call("write_report", {"audit": DEMO, "out": "report.html"}, result("verdict", "files")),
        Call("review", {"audit": DEMO, "reviewer": "r1"}, result("pair", "next")),
    )
}
"""One call of every tool, in an order in which each has what it needs."""
FOUND_BY: Mapping[str, str] = {
    "is my LLM judge biased": "summarize_audit",
    "import a CSV of judge verdicts": "import_records",
    "compare two agents": "run_pair",
    "reward hacking": "probe_judge",
    "rubric quality": "score_rubrics",
    "write an HTML report": "write_report",
    "human labels": "review",
    "summarize the audit": "summarize_audit",
    "check my setup": "check_setup",
}
"""What people say, and the tool that the client's own search must bring."""
FOUND_BY_CHINESE: Mapping[str, str] = {"误选率": "summarize_audit", "生成报告": "write_report", "诊断": "check_setup"}
"""The same for Codex; the search of Claude Code 2.1.332 finds nothing by Chinese words, in whatever tool."""


def every_tool() -> Play:
    """Each tool once, then the answers that a session may meet in any client."""
    for call in TOOL_CALLS.values():
        yield call._replace(case=call.tool)
    yield from _troubles()
    yield Say("done")


def every_tool_and_resource() -> Play:
    """The same, and resources, by the client's own tools for them."""
    for call in TOOL_CALLS.values():
        yield call._replace(case=call.tool)
    yield from _troubles()
    yield from _resources()
    yield Say("done")


def every_tool_by_search(found_by: Mapping[str, str]) -> Play:
    """The same, after searches in people's words."""
    for words, tool in found_by.items():
        yield Search(words, finds(tool), f"search: {words}")
    yield from every_tool_and_resource()


def _troubles() -> Iterator[Call]:
    wrong = {"audit": DEMO, "judge": "simulated", "repeat": 2}
    yield Call("summarize_audit", {"audit": "nope"}, says("No audit is called 'nope'"), "an error")
    yield Call("judge", wrong, says("repeat"), "an argument that there is not")
    yield Call("summarize_audit", {"audit": DEMO}, _is_cut, "a cut result")


def _is_cut(told: Told) -> None:
    result("headline", "left_out", "left_out_next", "sections_left_out")(told)
    found = told.json()
    expect(bool(found["sections_left_out"]), "nothing was cut")
    expect("sections=" in found["left_out_next"], "it is not said how to get what was cut")


def _resources() -> Iterator[Own]:
    listing, reading = ("ListMcpResourcesTool", "list_mcp_resources"), ("ReadMcpResourceTool", "read_mcp_resource")
    server = {"server": "misjudge"}
    yield Own(listing, server, says(f"misjudge://audits/{DEMO}/summary"), "resources listed")
    summary = {**server, "uri": f"misjudge://audits/{DEMO}/summary"}
    yield Own(reading, summary, says("do_not_use", "SIMULATED"), "a resource read")


def outliving(gateway: Gateway) -> Play:
    """A run that is slower than the client waits: it goes on, and a later call gets what it came to."""
    asked = {"audit": DEMO, "judge": "stand-in", "request_key": "once"}
    gateway.gate.clear()
    yield Call("judge", asked, _timed_out, "a run outlives its call")
    told = yield Call("runs", {"action": "list"}, result("runs"))
    run = told.json()["runs"][0]
    expect(run["state"] == "running", f"the run is {run['state']} after its call was given up")
    gateway.gate.set()
    done = result("run", where=lambda got: got["run"]["state"] == "done" and got["run"]["run"] == run["run"])
    yield Call("judge", asked, done, "its result, by the same request_key")
    yield Call("runs", {"action": "list"}, _asked_once(gateway), "no question asked twice")
    yield Say("done")


def _timed_out(told: Told) -> None:
    expect("timed out" in told.text.lower(), f"the client did not give the call up: {told.text[:300]!r}")


def _asked_once(gateway: Gateway) -> Check:
    def check(told: Told) -> None:
        total = told.json()["runs"][0]["total"]
        expect(gateway.asked == total, f"the gateway was asked {gateway.asked} times for {total} questions")

    return check


def silent() -> Play:
    """Only listens."""
    yield Say("done")

"""The session of a person who knows nothing yet: audit the shipped suite, explain the worst pair, write the report.

The scripted model says nothing but what the tools told it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from clients.checks import result
from clients.steps import Call, Play, Say, Told

PROMPT = "Audit the shipped suite with the simulated judge, explain the worst pair, and write the report."
AUDIT = "support"
_SUITE = {
    "audit": AUDIT,
    "suite": "support_desk",
    "agents": ["diligent", "flaky:0.9", "hasty", "smooth_talker"],
    "judge": "simulated",
}
Step = Generator[Call, Told, dict[str, Any]]


def audit_session() -> Play:
    """The whole session; each of its calls is a row of the table."""
    plan = {**_SUITE, "dry_run": True}
    planned = yield from _call("run_pair", plan, "planned", "First what it would take; nothing is asked yet.")
    calls = sum(part["calls"] for part in planned["run"]["plan"])
    announced = f"{calls} calls of a simulated judge. I run it."
    run = (yield from _call("run_pair", _SUITE, "run", announced))["run"]
    while run["state"] in {"queued", "running"}:
        waiting = f"{run['done']} of {run['total']} done. I wait."
        run = (yield from _call("runs", {"action": "wait", "run": run["run"]}, "waited for", waiting))["runs"][0]
    told = f"{run['done']} of {run['total']} are {run['state']}. Now the numbers."
    summary = yield from _call("summarize_audit", {"audit": AUDIT}, "summarized", told)
    sections = {"audit": AUDIT, "sections": ["misselection", "conflicts"]}
    found = yield from _call("summarize_audit", sections, "conflicts", _headline(summary))
    conflicts = found["conflicts"]["strict"]
    worst = conflicts["rows"][0]
    announced = (
        f"It picked the side that failed in {conflicts['k']} of {conflicts['n']} decided pairs. The surest first."
    )
    pair = (yield from _call("read_record", {"uri": worst["uri"]}, "the worst pair", announced))["record"]
    task = (yield from _call("read_record", {"uri": pair["task"]}, "its task", ""))["record"]
    failed = pair["trajectory_b" if worst["gold"] == "A" else "trajectory_a"]
    record = (yield from _call("read_record", {"uri": failed}, "its failed side", ""))["record"]
    report = yield from _call(
        "write_report", {"audit": AUDIT, "out": "report.html"}, "reported", _why(worst, pair, task, record)
    )
    said = " ".join(report["verdict"].split())
    yield Say(f"The report is {report['out']} ({report['files'][0]['bytes']} bytes): {said} {report['marked']}.")


def _call(tool: str, arguments: Mapping[str, Any], case: str, words: str) -> Step:
    told = yield Call(tool, arguments, result(), f"session: {case}", words)
    return told.json()


def _headline(summary: Mapping[str, Any]) -> str:
    return f"**{summary['headline']['verdict'][0]}** {summary['marked']}."


def _why(worst: Mapping[str, Any], pair: Mapping[str, Any], task: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """The pair in words, all of which stand in the records."""
    lost, won = ("B", "A") if worst["gold"] == "A" else ("A", "B")
    agent = {"A": worst["agent_a"], "B": worst["agent_b"]}
    outcome = pair["outcome_by_judge"][0]
    points = {"A": outcome["judge_score_a"], "B": outcome["judge_score_b"]}
    orders = "the two orders disagree" if outcome["judge_flip"] else "in both orders the same side won"
    unmet = [f"{check['verifier']}: {check['evidence']}" for check in record["checks"] if check["passed"] is False]
    answer = next(one["content"] for one in reversed(record["messages_json"]) if one["role"] == "assistant")
    return "\n\n".join(
        [
            f"The worst pair: {worst['pair_id']}. It was to be done so: “{task['success_criteria']}”",
            f"By the evidence {agent[won]} did it. {agent[lost]} did not ({'; '.join(unmet)}). It said: “{answer}”",
            f"The judge gave {agent[lost]} {points[lost]:g} points and {agent[won]} {points[won]:g}; {orders}.",
        ]
    )

"""`misjudge suite`: a line a problem, the total, and an exit code; no store, no key, no model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from command import Misjudge
from suite_folders import CANARY, TASK, WORLD, write

SOUND: dict[str, Any] = {"task_id": "cancel", "steps": [{"say": "It is cancelled."}]}
NUMBER: dict[str, Any] = {
    "task_id": "sum", "category": "numbers", "opening": "What do 12 crates of 8 hold?", "goal": "The number.",
    "success_criteria": "Says 96.", "checks": [{"kind": "says", "facts": [96]}],
}  # fmt: skip


def test_a_sound_suite_is_one_line(misjudge: Misjudge, folder: Path) -> None:
    write(folder / "mine", solutions=[SOUND])
    done = misjudge("suite", "mine")
    assert (done.code, done.out, done.err) == (0, "mine: 1 task tried, 3 attempts, no problem\n", "")
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_problems_are_a_line_each_and_fail_the_command(misjudge: Misjudge, folder: Path) -> None:
    wrong = {"task_id": "sum", "steps": [{"say": "86."}], "broken": [{"name": "other", "steps": [{"say": "96"}]}]}
    tone = {**NUMBER, "task_id": "tone", "opening": "Hello?", "checks": [{"kind": "human"}]}
    write(folder / "mine", tasks=[TASK, NUMBER, tone], solutions=[SOUND, wrong])
    done = misjudge("suite", "mine")
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines() == [
        "sum, solution: It fails. Does not hold: says: [96] (not told: fact 1 of the rule).",
        "sum, broken (other): It succeeds and must not. Holds: says: [96] (all told).",
        "tone: Success is always unknown: it is left to a person or a model.",
        "Not tried, as solutions.jsonl does not have them: tone",
        "mine: 2 tasks tried, 7 attempts, 3 problems",
    ]


def test_errors_of_tools_and_an_unusual_end_are_told(misjudge: Misjudge, folder: Path) -> None:
    folder.joinpath("misjudge.toml").write_text("", encoding="utf-8")
    steps = [{"say": f"Is it {number}?"} for number in range(3)]
    write(folder / "mine", tasks=[{**TASK, "max_turns": 2}], solutions=[{"task_id": "cancel", "steps": steps}])
    done = misjudge("suite", "mine")
    assert done.code == 1
    assert "It ended as max_turns." in done.out


def test_the_report_is_told_as_json(misjudge: Misjudge, folder: Path) -> None:
    write(folder / "mine", solutions=[{**SOUND, "steps": [{"say": "Done."}]}])
    done = misjudge("suite", "mine", "--language", "en", "--json")
    assert done.code == 1
    told = json.loads(done.out)
    assert (told["schema"], told["suite"], told["tasks"], told["attempts"]) == (1, "mine", 1, 3)
    [problem] = told["problems"]
    assert (problem["task"], problem["tried"], problem["end_reason"]) == ("cancel", "solution", "finished")
    [rule] = problem["rules"]
    assert (rule["rule"], rule["passed"]) == ("contains: cancelled", False)


def test_what_cannot_be_tried_is_one_sentence(misjudge: Misjudge, folder: Path) -> None:
    write(folder / "mine", tasks=[{**TASK, CANARY: 1, "goal": ""}])
    for arguments, said in (
        (("nowhere",), "There is no such suite."),
        (("",), "Argument 'suite' cannot be used"),
        (("mine", "--language", "fr"), "Argument 'language' cannot be used"),
        (("support_desk", "--language", "de"), "Argument 'language' cannot be used"),
        (("mine",), "tasks.jsonl, line 1: goal must be text of 1 or more characters."),
    ):
        failed = misjudge("suite", *arguments)
        assert (failed.code, failed.out) == (2, "")
        assert failed.err.startswith("misjudge: ") and failed.err.count("\n") == 1
        assert said in failed.err


def test_tools_must_be_allowed_and_their_errors_are_shown(misjudge: Misjudge, folder: Path, monkeypatch: Any) -> None:
    tools = {"python": "order_tools", "tools": [{"name": "cancel_order"}]}
    steps = [{"call": "cancel_order", "args": {"order_id": "O7"}}, {"say": "Gone."}]
    write(folder / "mine", tools=tools, world=WORLD, solutions=[{"task_id": "cancel", "steps": steps}])
    refused = misjudge("suite", "mine")
    assert (refused.code, refused.out) == (2, "")
    assert "python names a module that may not be run" in refused.err
    folder.joinpath("own.toml").write_text('[allow]\npython = ["order_tools"]\n', encoding="utf-8")
    monkeypatch.setenv("MISJUDGE_CONFIG", str(folder / "own.toml"))
    done = misjudge("suite", "mine")
    assert done.code == 1
    assert "Errors of tools: There is no such order." in done.out


def test_names_of_a_suite_cannot_paint_the_terminal(misjudge: Misjudge, folder: Path) -> None:
    paint = "\x1b]0;title\x07[red]x\u202e"
    task = {**TASK, "task_id": paint, "checks": [{"kind": "contains", "value": "y", "name": paint}]}
    write(folder / "mine", tasks=[task], solutions=[{"task_id": paint, "steps": [{"say": "z"}]}])
    for arguments in ((), ("--json",)):
        done = misjudge("suite", "mine", *arguments)
        assert done.code == 1
        assert not set(done.out) & {"\x1b", "\x07", "\u202e"} and "[red]x" in done.out

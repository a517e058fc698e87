"""Suites of people's own as they write them, break them, and as strangers would write them."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.suites.loading import load_suite, tasks_in
from misjudge_tools.suites.model import SuiteTask
from misjudge_tools.suites.reading import LARGE_LIMIT_BYTES, TEXT_LIMIT_BYTES
from suite_folders import (
    CANARY,
    EVERY_RULE,
    FACT,
    HTTP,
    LOCAL,
    PYTHON,
    SPEC,
    TASK,
    WORLD,
    checked,
    complaint,
    load,
    write,
)

LINKS = pytest.mark.skipif(sys.platform == "win32", reason="making links needs a right of its own on Windows")


def test_a_whole_suite_is_read(tmp_path: Path) -> None:
    chinese = {**TASK, "task_id": "cancel-zh", "language": "zh", "opening": "请取消。", "translation_of": "cancel"}
    step = {"call": "cancel_order", "args": {"order_id": "O1"}}
    folder = write(
        tmp_path / "mine",
        tasks=[
            {**TASK, "checks": EVERY_RULE, "tool_faults": [{"tool": "cancel_order"}], "facts": [FACT]},
            chinese,
        ],
        tools=PYTHON,
        world=WORLD,
        agent="You cancel orders.\n",
        solutions=[{"task_id": "cancel", "steps": [step], "broken": [{"name": "only said", "steps": [{"say": "Ok"}]}]}],
    )
    suite = load(folder, Allowed(hosts=("127.0.0.1",), python=("order_tools",), commands={"lint": ("true",)}))
    assert (suite.name, suite.shipped) == ("mine", False)
    assert [task.task_id for task in suite.tasks] == ["cancel", "cancel-zh"]
    assert [rule.kind for rule in suite.tasks[0].checks] == [rule["kind"] for rule in EVERY_RULE]
    assert suite.tools.tools[0].name == "cancel_order"
    assert suite.image is not None
    assert suite.image.startswith(b"SQLite format 3\0")
    assert suite.instructions == {"en": "You cancel orders.", "zh": "You cancel orders."}
    assert suite.solutions["cancel"].steps[0].call == "cancel_order"
    assert suite.digest.startswith("suite_")
    assert [task.task_id for task in tasks_in(suite, "zh")] == ["cancel-zh"]


def test_tasks_of_text_only_need_nothing_else(tmp_path: Path) -> None:
    suite = load(write(tmp_path))
    assert (suite.image, suite.tools.tools, suite.solutions, suite.instructions) == (None, (), {}, {})


def test_the_shipped_suite_goes_by_its_name_wherever_files_may_be_read() -> None:
    suite = load_suite("support_desk", Allowed(), ())
    assert (suite.name, suite.shipped) == ("support_desk", True)
    assert (len(tasks_in(suite, "en")), len(tasks_in(suite, "zh"))) == (48, 12)
    assert suite.image is not None
    assert suite.instructions["zh"] != suite.instructions["en"]


def test_a_language_without_tasks_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"has no tasks in zh\. It has: en\."):
        tasks_in(load(write(tmp_path)), "zh")


def test_tasks_in_chinese_have_instructions_of_their_own(tmp_path: Path) -> None:
    suite = load(write(tmp_path, agent="Cancel.", agent_zh="取消。"))
    assert suite.instructions == {"en": "Cancel.", "zh": "取消。"}


def test_a_world_may_be_a_database(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "world.db") as connection:
        connection.executescript(WORLD)
    connection.close()
    suite = load(write(tmp_path, tasks=checked(EVERY_RULE[0])))
    assert suite.image is not None


def test_byte_order_mark_windows_line_ends_and_blank_lines_do_not_matter(tmp_path: Path) -> None:
    line = json.dumps(TASK).encode()
    plain = load(write(tmp_path / "a", tasks=line, world=WORLD, tools=PYTHON, agent="One.\nTwo.\n"))
    other = load(
        write(
            tmp_path / "b",
            tasks=b"\xef\xbb\xbf\r\n" + line + b"\r\n\r\n",
            world="\ufeff" + WORLD.replace("\n", "\r\n"),
            tools=b"\xef\xbb\xbf" + json.dumps(PYTHON, indent=1).encode(),
            agent="One.\r\nTwo.",
        )
    )
    assert plain.digest == other.digest
    assert (plain.tasks, plain.tools, plain.instructions) == (other.tasks, other.tools, other.instructions)


def test_the_digest_changes_with_each_part(tmp_path: Path) -> None:
    solution = {"task_id": "cancel", "steps": [{"say": "Cancelled."}]}
    parts: dict[str, Any] = {
        "tools": PYTHON,
        "world": WORLD,
        "agent": "One.",
        "agent_zh": "一",
        "solutions": [solution],
    }
    others: dict[str, Any] = {
        "tasks": [{**TASK, "max_turns": 3}],
        "tools": {**PYTHON, "tools": []},
        "world": f"{WORLD}DELETE FROM orders;",
        "agent": "Two.",
        "agent_zh": "二",
        "solutions": [{**solution, "hasty": [{"say": "Done."}]}],
    }
    suites = [load(write(tmp_path / "same", **parts)), load(write(tmp_path / "again", **parts))]
    assert suites[0].digest == suites[1].digest
    digests = {load(write(tmp_path / kind, **{**parts, kind: other})).digest for kind, other in others.items()}
    assert len(digests - {suites[0].digest}) == len(others)


SENTENCES: dict[str, tuple[list[Any], str]] = {
    "missing": (
        [TASK, {**TASK, "task_id": "b", "opening": "x", "checks": [TASK["checks"][0], {"kind": "sql", "equals": 1}]}],
        "tasks.jsonl, line 2: checks.1.query is missing.",
    ),
    "misspelt": ([{**TASK, "opning": CANARY}], "line 1: opning is no known name. Did you mean 'opening'? Allowed: "),
    "misspelt in a rule": (
        checked({"kind": "says", "fact": [1], "facts": [1]}),
        "checks.0.fact is no known name. Did you mean 'facts'? Allowed: name, weight, kind, facts, where.",
    ),
    "misspelt in a fact": ([{**TASK, "facts": [{**FACT, "say": "x"}]}], "facts.0.say is no known name. Did you mean"),
    "misspelt in a change": (
        checked({"kind": "world", "changes": [{"table": "orders", "keys": {}, "removed": True}]}),
        "checks.0.changes.0.keys is no known name. Did you mean 'key'?",
    ),
    "strange name": ([{**TASK, "a\u001b[2J": 1}], r"'a\x1b[2J' is no known name."),
    "unknown kind": (checked({"kind": "tool_call", "value": CANARY}), "checks.0.kind is none that is known. Did you"),
    "no kind": (checked({"value": CANARY}), "checks.0.kind is missing. Allowed: sql, world,"),
    "kind is a list": (checked({"kind": [CANARY]}), "checks.0.kind is none that is known."),
    "no checks": (checked(), "checks must be a list of 1 or more."),
    "a rule that is text": ([{**TASK, "checks": [CANARY]}], "checks.0 must be an object."),
    "text for a number": ([{**TASK, "max_turns": "3"}], "max_turns must be a whole number."),
    "too many turns": ([{**TASK, "max_turns": 101}], "max_turns must be at most 100."),
    "yes for text": ([{**TASK, "goal": True}], "goal must be text."),
    "empty opening": ([{**TASK, "opening": ""}], "opening must be text of 1 or more characters."),
    "an object as a cell": (
        checked({"kind": "sql", "query": "SELECT 1", "equals": [[{"a": CANARY}]]}),
        "checks.0.equals.0.0 must be text or a whole number or a number or true or false.",
    ),
    "an object for rows": (
        checked({"kind": "sql", "query": "SELECT 1", "equals": {CANARY: 1}}),
        "checks.0.equals must be text or a whole number or a number or true or false or a list.",
    ),
    "two in one change": (
        checked({"kind": "world", "changes": [{"table": "orders", "removed": True, "added": {}}]}),
        "checks.0.changes.0 cannot be used: a change has exactly one of set, added and removed.",
    ),
    "a fact that is none": (
        checked({"kind": "says", "facts": [True]}),
        "facts.0 cannot be used: a fact is a number, an",
    ),
    "an unknown combination": (
        [{**TASK, "combine": "weights"}],
        'combine cannot be used: it is "all", "any" or a number',
    ),
    "a share of nothing": ([{**TASK, "combine": 0}], "combine cannot be used: it is"),
    "a share of more than all": ([{**TASK, "combine": 1.01}], "combine cannot be used: it is"),
    "a share that is none": ([{**TASK, "combine": True}], "combine cannot be used: it is"),
    "unknown language": ([{**TASK, "language": CANARY}], "language must be 'en' or 'zh'."),
    "the same id": ([TASK, {**TASK, "opening": "x"}], "line 2: task_id is that of line 1. Give each its own."),
    "the same opening": (
        [TASK, {**TASK, "task_id": "b", "opening": "Please  cancel my order. "}],
        "line 2: opening is that of line 1.",
    ),
    "translation of nothing": (
        [TASK, {**TASK, "task_id": "b", "language": "zh", "translation_of": "cancl"}],
        "line 2: translation_of names no task of this file. Did you mean 'cancel'?",
    ),
    "translation of itself": ([{**TASK, "translation_of": "cancel"}], "translation_of names a task in the same"),
    "fault of no tool": (
        [{**TASK, "tool_faults": [{"tool": "canel_order"}]}],
        "tool_faults.0.tool names a tool that tools.json does not hold. Did you mean 'cancel_order'? Tools: c",
    ),
    "call of no tool": (checked({"kind": "tool_called", "value": CANARY}), "checks.0.value names a tool that tools"),
    "no call of no tool": (checked({"kind": "tool_not_called", "value": "x"}), "checks.0.value names a tool that"),
    "order of no tool": (
        checked({"kind": "tool_order", "values": ["cancel_order", "x"]}),
        "checks.0.values.1 names a tool that",
    ),
    "asked before no tool": (checked({"kind": "asked_first", "value": "x"}), "checks.0.value names a tool that"),
    "unknown argument": (
        checked({"kind": "tool_not_called", "value": "cancel_order", "arguments": {"order": "O1"}}),
        "checks.0.value names cancel_order, which takes no order. Did you mean 'order_id'? It takes: order_id.",
    ),
    "bounds turned round": (
        checked({"kind": "tool_called", "value": "cancel_order", "at_least": 2, "at_most": 1}),
        "checks.0.at_least is more than at_most",
    ),
    "no bounds": (checked({"kind": "length", "unit": "words"}), "checks.0.at_least is missing, and so is at_most."),
    "a range turned round": (
        checked({"kind": "number_range", "value": "(x)", "low": 2, "high": 1}),
        "checks.0.low is more than high",
    ),
    "a number without a group": (checked({"kind": "number_range", "value": "x", "low": 1}), "value captures nothing."),
    "a broken pattern": (checked({"kind": "regex", "value": f"({CANARY}"}), "is not a valid Python regular expression"),
    "a broken schema": (
        checked({"kind": "json_schema", "value": {"properties": {"a": {"type": CANARY}}}}),
        "checks.0.value cannot be used: it is no valid JSON Schema, see 'properties.a.type' in it.",
    ),
    "a schema from elsewhere": (
        checked({"kind": "json_schema", "value": {"$ref": "http://127.0.0.1:1/x"}}),
        "checks.0.value has a $ref that leads nowhere in it",
    ),
    "an endless schema": (checked({"kind": "json_schema", "value": {"$ref": "#"}}), "refers to itself without end."),
    "a query that writes": (
        checked({"kind": "sql", "query": "DELETE FROM orders", "equals": 1}),
        "checks.0.query cannot be used: The query may only read",
    ),
    "a query of no table": (
        checked({"kind": "sql", "query": f"SELECT '{CANARY}' FROM nowhere", "equals": 1}),
        "checks.0.query cannot be used: The query is not one valid SELECT for this world",
    ),
    "a change of no table": (
        checked({"kind": "world", "changes": [{"table": "order", "added": {}}]}),
        "checks.0.changes.0.table is no table of the world. Did you mean 'orders'? Tables: orders.",
    ),
    "a change of no column": (
        checked({"kind": "world", "changes": [{"table": "orders", "key": {"order_id": 1}, "set": {"state": 1}}]}),
        "checks.0.changes.0.set names no column of its table. Did you mean 'status'? Columns: order_id, status.",
    ),
    "a change of no row": (
        checked(
            {"kind": "world", "changes": [{"table": "orders", "key": {"order_id": CANARY}, "set": {"status": "x"}}]}
        ),
        "checks.0.changes.0.key finds no row of the world, so the rule can never hold.",
    ),
    "ignoring no table": (checked({"kind": "world", "ignore": ["x"]}), "checks.0.ignore.0 is no table of the world."),
    "a foreign host": (
        checked({"kind": "http_status", "url": f"https://evil.example/{CANARY}"}),
        "checks.0.url names a host that may not be asked. If you trust it, name it in hosts in [allow] of the "
        "misjudge.toml that MISJUDGE_CONFIG names.",
    ),
    "a command": (checked({"kind": "command", "value": CANARY}), "checks.0.value names no command that may be run."),
    "text of no file": (
        checked({"kind": "file", "path": "x", "exists": False, "equals": CANARY}),
        "checks.0.exists is false, and a file that is not there has no text.",
    ),
    "a list": ([[TASK]], "tasks.jsonl, line 1: is not a JSON object."),
    "NaN": ([{**TASK, "difficulty": float("nan")}], "tasks.jsonl, line 1: holds NaN, infinity or a number too large"),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_a_task_that_cannot_be_used_is_named_by_line_and_place(tmp_path: Path, case: str) -> None:
    tasks, said = SENTENCES[case]
    found = complaint(write(tmp_path, tasks=tasks, tools=PYTHON, world=WORLD))
    assert said in found
    assert [talk for talk in ("..", "?.", "Input", "String", "Tuple", "List", "Dict") if talk in found] == []


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", "~/x", "C:/x", "c:x", "..\\x", "\\\\host\\x", "a\0b", ".."]
)
def test_a_rule_reads_no_file_outside_of_the_rollout(tmp_path: Path, path: str) -> None:
    # A NUL is made harmless while the file is read.
    if "\0" in path:
        load(write(tmp_path, tasks=checked({"kind": "file", "path": path})))
        return
    said = complaint(write(tmp_path, tasks=checked({"kind": "file", "path": path})))
    assert said.startswith("tasks.jsonl, line 1: checks.0.path leads out of the folder of a rollout.")


@pytest.mark.parametrize("rule", [EVERY_RULE[0], EVERY_RULE[2]])
def test_a_rule_of_the_world_needs_one(tmp_path: Path, rule: dict[str, Any]) -> None:
    said = complaint(write(tmp_path, tasks=checked(rule)))
    assert said == (
        "tasks.jsonl, line 1: checks.0.kind asks the world, and this suite has neither world.sql nor world.db."
    )


def test_a_rule_of_tools_needs_some(tmp_path: Path) -> None:
    said = complaint(write(tmp_path, tasks=checked({"kind": "tool_not_called", "value": "x"})))
    assert "checks.0.value names a tool, and this suite has no tools.json." in said


def test_five_problems_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    said = complaint(write(tmp_path, tasks=[{**TASK, "max_turns": 0, "task_id": str(number)} for number in range(9)]))
    assert said.count("max_turns must be 1 or more.") == 5
    assert [f"line {number}:" in said for number in range(1, 7)] == [True] * 5 + [False]
    assert said.endswith(" And 4 more.")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "tasks.jsonl is empty."),
        (b"\xef\xbb\xbf \r\n", "tasks.jsonl is empty."),
        (f'{{"a": "{CANARY}'.encode(), "tasks.jsonl, line 1: is not valid JSON ("),
        (b"\n\n[\n", "tasks.jsonl, line 3: is not valid JSON ("),
        (b"null", "tasks.jsonl, line 1: is not a JSON object."),
        (b'{"a": ' + b"[" * 100_000, "tasks.jsonl, line 1: is nested deeper than 100 levels."),
        (b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}", "tasks.jsonl, line 1: is nested deeper than 100 levels."),
        (b'{"a": 1' + b"0" * 5000 + b"}", "tasks.jsonl, line 1: holds NaN, infinity or a number too large"),
        (json.dumps(TASK).encode("utf-16"), "is UTF-16 text, not UTF-8 text."),
        ("\u00e9".encode("latin-1"), "line 1 (byte 0) is not UTF-8."),
        (b"PK\x03\x04", "is an Excel workbook or ZIP archive"),
    ],
)
def test_a_file_that_holds_no_tasks_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    assert said in complaint(write(tmp_path, tasks=content))


@pytest.mark.parametrize("name", ["tasks.jsonl", "world.sql", "world.db", "solutions.jsonl"])
def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path)
    with tmp_path.joinpath(name).open("wb") as handle:
        handle.truncate(LARGE_LIMIT_BYTES + 1)
    assert f"{name} is larger than 64,000 kB. Leave out what is not needed." in complaint(folder)


@pytest.mark.parametrize("kind", ["agent", "tools"])
def test_a_text_that_is_too_long_is_not_read(tmp_path: Path, kind: str) -> None:
    said = complaint(write(tmp_path, **{kind: b"x" * (TEXT_LIMIT_BYTES + 1)}))
    assert "is larger than 1,000 kB." in said


def test_a_long_line_is_read(tmp_path: Path) -> None:
    goal = "x" * 3_000_000
    assert load(write(tmp_path, tasks=[{**TASK, "goal": goal}])).tasks[0].goal == goal


TOOLS: dict[str, tuple[Any, str]] = {
    "no JSON": (f"{{{CANARY}", "tools.json is not valid JSON ("),
    "a list": ([SPEC], "tools.json is not a JSON object."),
    "misspelt": ({**HTTP, "tool": []}, "tools.json: tool is no known name. Did you mean 'tools'?"),
    "misspelt in a tool": ({**HTTP, "tools": [{**SPEC, "desc": CANARY}]}, "tools.json: tools.0.desc is no known name."),
    "name with a space": (
        {**HTTP, "tools": [{"name": f"a {CANARY}"}]},
        "tools.json: tools.0.name must be 1 to 64 letters",
    ),
    "no home": ({"tools": [SPEC]}, "tools.json: it cannot be used: give either python (a module) or http (an address)"),
    "two homes": ({**HTTP, "python": "x"}, "tools.json: it cannot be used: give either python"),
    "twice": ({**HTTP, "tools": [SPEC, SPEC]}, "tools.json: cancel_order stands there twice."),
    "parameters of no object": (
        {**HTTP, "tools": [{**SPEC, "parameters": {"type": "string"}}]},
        'tools.json: parameters of cancel_order must be a JSON Schema with "type": "object".',
    ),
    "parameters of no schema": (
        {**HTTP, "tools": [{**SPEC, "parameters": {"type": "object", "required": CANARY}}]},
        "tools.json: parameters of cancel_order is no valid JSON Schema (draft 2020-12), see 'required' in it.",
    ),
    "a broken pattern": (
        {**HTTP, "tools": [{**SPEC, "parameters": {"type": "object", "properties": {"a": {"pattern": "("}}}}]},
        "see 'properties.a.pattern' in it.",
    ),
    "a schema from elsewhere": (
        {**HTTP, "tools": [{**SPEC, "parameters": {"type": "object", "$ref": "https://evil.example/x"}}]},
        "parameters of cancel_order has a $ref that leads nowhere in it; nothing is fetched from elsewhere.",
    ),
    "unencrypted": ({**HTTP, "http": "http://127.0.0.1.evil.example/"}, "tools.json: http must begin with https://"),
    "no address": ({**HTTP, "http": "http://[x"}, "tools.json: http must begin with https://"),
    "no encrypted address": ({**HTTP, "http": "https://[x"}, "http names a host that may not be asked."),
    "another protocol": ({**HTTP, "http": "file:///etc/passwd"}, "tools.json: http must begin with https://"),
    "a foreign host": ({**HTTP, "http": f"https://evil.example/{CANARY}"}, "http names a host that may not be asked."),
    "another port": ({**HTTP, "http": "http://127.0.0.1:8081/"}, "http names a host that may not be asked."),
    "a host as user": ({**HTTP, "http": "https://127.0.0.1:8080@evil.example/"}, "http names a host that may not be"),
    "a foreign module": (
        {"python": "os", "tools": [SPEC]},
        "tools.json: python names a module that may not be run. If you trust it, name it in python in [allow] of the "
        "misjudge.toml that MISJUDGE_CONFIG names.",
    ),
}


@pytest.mark.parametrize("case", TOOLS)
def test_tools_that_cannot_be_used_are_refused(tmp_path: Path, case: str) -> None:
    tools, said = TOOLS[case]
    assert said in complaint(write(tmp_path, tools=tools))


def test_tools_in_python_need_a_world(tmp_path: Path) -> None:
    said = complaint(write(tmp_path, tools={"python": "json"}), Allowed(python=("json",)))
    assert said == "tools.json: tools in Python need a world. Add world.sql or world.db."


def test_tools_of_an_allowed_module_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("own_tools_of_a_suite.py").write_text("def cancel_order(world, order_id):\n    return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    allowed = Allowed(python=("own_tools_of_a_suite",))
    tools = {"python": "own_tools_of_a_suite", "tools": [SPEC]}
    assert load(write(tmp_path / "s", tools=tools, world=WORLD), allowed).tools.python == "own_tools_of_a_suite"
    more = {**tools, "tools": [SPEC, {"name": "refund"}]}
    assert "no function refund" in complaint(write(tmp_path / "t", tools=more, world=WORLD), allowed)


def test_tools_over_https_are_used(tmp_path: Path) -> None:
    tools = {**HTTP, "http": "https://tools.example.org/call"}
    assert load(write(tmp_path, tools=tools), Allowed(hosts=("tools.example.org",))).tools.http is not None


SOLUTIONS: dict[str, tuple[Any, str]] = {
    "unknown task": ({"task_id": "cancl", "steps": [{"say": "x"}]}, "task_id names no task of tasks.jsonl. Did you"),
    "no steps": ({"task_id": "cancel", "steps": []}, "steps must be a list of 1 or more."),
    "a step of both": (
        {"task_id": "cancel", "steps": [{"say": "x", "call": "cancel_order"}]},
        "steps.0 cannot be used: a step has either call (with args) or say.",
    ),
    "misspelt in a step": (
        {"task_id": "cancel", "steps": [{"say": "x", "arg": {}}]},
        "steps.0.arg is no known name. Did you mean 'args'?",
    ),
    "unknown tool": ({"task_id": "cancel", "steps": [{"call": CANARY}]}, "steps.0.call names a tool that tools.json"),
    "unknown tool of the hasty": (
        {"task_id": "cancel", "steps": [{"say": "x"}], "hasty": [{"say": "x"}, {"call": "x"}]},
        "hasty.1.call names a tool that tools.json does not hold.",
    ),
    "unknown argument of a broken one": (
        {
            "task_id": "cancel",
            "steps": [{"say": "x"}],
            "broken": [{"name": "n", "steps": [{"call": "cancel_order", "args": {"id": CANARY}}]}],
        },
        "broken.0.steps.0.call names cancel_order, which takes no id.",
    ),
}


@pytest.mark.parametrize("case", SOLUTIONS)
def test_a_solution_that_cannot_be_used_is_named_by_line_and_place(tmp_path: Path, case: str) -> None:
    solution, said = SOLUTIONS[case]
    found = complaint(write(tmp_path, tools=HTTP, solutions=[solution]))
    assert ".." not in found and "?." not in found
    assert found.startswith("solutions.jsonl, line 1: ")
    assert said in found


def test_a_task_has_one_solution(tmp_path: Path) -> None:
    solution = {"task_id": "cancel", "steps": [{"say": "x"}]}
    said = complaint(write(tmp_path, solutions=[solution, solution]))
    assert said == "solutions.jsonl, line 2: task_id is that of line 1. Give each its own."


def test_arguments_that_a_schema_leaves_open_may_be_named(tmp_path: Path) -> None:
    rule = {"kind": "tool_called", "value": "cancel_order", "arguments": {"anything": 1}}
    extras: tuple[dict[str, Any], ...] = ({"additionalProperties": True}, {"patternProperties": {"^a": {}}})
    for extra in extras:
        tools = {**HTTP, "tools": [{**SPEC, "parameters": {**SPEC["parameters"], **extra}}]}
        load(write(tmp_path, tasks=checked(rule), tools=tools))
    load(write(tmp_path, tasks=checked(rule), tools={**HTTP, "tools": [{"name": "cancel_order"}]}))
    closed = {"name": "cancel_order", "parameters": {"type": "object", "additionalProperties": False}}
    said = complaint(write(tmp_path, tasks=checked(rule), tools={**HTTP, "tools": [closed]}))
    assert "names cancel_order, which takes no anything. It takes: nothing." in said


def test_a_suite_has_one_world(tmp_path: Path) -> None:
    said = complaint(write(tmp_path, world=WORLD, database=b"SQLite format 3\0"))
    assert said == "A suite has either world.sql or world.db, not both. Remove one."


@pytest.mark.parametrize(("kind", "name"), [("world", "world.sql"), ("database", "world.db")])
def test_a_world_that_is_none_is_refused(tmp_path: Path, kind: str, name: str) -> None:
    assert name in complaint(write(tmp_path, **{kind: f"{CANARY} is no SQL"}))


@pytest.mark.parametrize("name", ["", "nowhere", "no\0where", "x" * 5000, "/etc/passwd", "SUPPORT_DESK"])
def test_what_is_no_suite_is_refused_with_what_there_is(folderless: Path, name: str) -> None:
    said = complaint(name)
    assert "Give support_desk, which is shipped, or a folder with tasks.jsonl." in said


@pytest.fixture
def folderless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_misspelt_suite_is_recognised(folderless: Path) -> None:
    assert "Did you mean 'support_desk'?" in complaint("support-desk")


def test_a_suite_is_read_only_under_the_allowed_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    secret, mine = write(tmp_path / "inside-not"), write(inside / "mine")
    monkeypatch.chdir(inside)
    for folder in (secret, "../inside-not", "mine/../../inside-not", str(tmp_path), "..", "no\0where"):
        with pytest.raises(InvalidInput, match=r"is outside the folders that may be read|A path holds a NUL"):
            load_suite(folder, LOCAL, (inside,))
    for folder in (mine, "mine", "./mine/../mine"):
        assert load_suite(folder, LOCAL, (inside,)).name == "mine"


@LINKS
def test_a_suite_behind_a_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    inside.joinpath("link").symlink_to(write(tmp_path / "elsewhere"))
    with pytest.raises(InvalidInput, match="is outside the folders that may be read"):
        load_suite(str(inside / "link"), LOCAL, (inside,))
    assert load_suite(str(inside / "link"), LOCAL, None).name == "elsewhere"


@LINKS
@pytest.mark.parametrize(
    "name", ["tasks.jsonl", "tools.json", "solutions.jsonl", "world.sql", "world.db", "agent.md", "agent.zh.md"]
)
def test_no_file_of_a_suite_leads_out_of_its_folder(tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text(CANARY, encoding="utf-8")
    folder = Path(write(tmp_path / "mine"))
    folder.joinpath(name).unlink(missing_ok=True)
    folder.joinpath(name).symlink_to(secret)
    assert f"{name} leads out of the folder of its suite." in complaint(str(folder))
    with pytest.raises(InvalidInput, match="leads out of the folder of its suite"):
        load_suite(str(folder), LOCAL, (tmp_path,))
    folder.joinpath(name).unlink()
    folder.joinpath(name).symlink_to(folder / name)
    complaint(str(folder))


@LINKS
@pytest.mark.parametrize("name", ["tasks.jsonl", "tools.json", "world.sql", "world.db", "agent.md"])
def test_a_pipe_of_a_suite_is_not_waited_for(tmp_path: Path, name: str) -> None:
    folder = Path(write(tmp_path / "mine"))
    folder.joinpath(name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert f"{name} is not a file." in complaint(str(folder))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(sorted(SuiteTask.model_fields))
KINDS = st.sampled_from([rule["kind"] for rule in EVERY_RULE])
RULE_FIELDS = st.sampled_from(sorted({name for rule in EVERY_RULE for name in rule}))
GENERATED_RULES = st.builds(
    lambda kind, fields: {"kind": kind, **fields}, KINDS | JSON, st.dictionaries(RULE_FIELDS, JSON, max_size=4)
)


@given(
    changes=st.dictionaries(FIELDS | st.text(max_size=5), JSON, max_size=3),
    rules=st.lists(GENERATED_RULES | st.sampled_from(EVERY_RULE), max_size=3),
    behind=st.binary(max_size=40),
)
def test_whatever_the_tasks_hold_only_invalid_input_is_raised(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any], rules: list[Any], behind: bytes
) -> None:
    folder = tmp_path_factory.mktemp("suite")
    line = json.dumps({**TASK, "checks": rules or TASK["checks"], **changes}).encode()
    try:
        load(write(folder, tasks=line + b"\n" + behind, tools=PYTHON, world=WORLD))
    except InvalidInput as error:
        assert str(error)


@given(solution=JSON | st.fixed_dictionaries({"task_id": st.just("cancel"), "steps": JSON}), tools=JSON)
def test_whatever_tools_and_solutions_hold_only_invalid_input_is_raised(
    tmp_path_factory: pytest.TempPathFactory, solution: Any, tools: Any
) -> None:
    folder = tmp_path_factory.mktemp("suite")
    spec = {**SPEC, "parameters": tools}
    for held in (tools, {**HTTP, "tools": [spec]}, HTTP):
        try:
            load(write(folder, solutions=[solution], tools=held))
        except InvalidInput as error:
            assert str(error)

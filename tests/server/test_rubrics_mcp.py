"""The tool `score_rubrics` over stdio and in memory: the worked example, sizes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from command import environment
from misjudge_server.app import LazyDeps, build_app
from misjudge_server.fitting import LIMIT, size_of
from misjudge_server.tool_table import INSTRUCTIONS, TOOLS
from misjudge_storage.engine import open_store
from misjudge_tools.deps import Deps
from operations import KEY, stored
from rubric_cell_parts import rubric_records
from stdio_session import serving

EXAMPLE: dict[str, Any] = {
    "case_id": "sql-to-mongo",
    "instruction": "Convert these SQL queries to Mongo. Cover all cases.",
    "response_a": "Done! A script that converts each and every query is below, with a tool call for each.",
    "response_b": "Recursive queries have no counterpart in Mongo. The others are converted below.",
    "label": 1,
    "rubrics": "Does the answer say which queries have no counterpart in Mongo?\n"
    "Is the conversion of every query feasible as it is proposed?\n"
    "Does the plan agree with itself?",
    "source": "code",
    "domain": "code",
}
"""Three gold rules about what is feasible; B, which says what cannot be done, is better."""
NAIVE = "simulated:hits=0,invents=1"
"""Writes three rules about tools instead, and follows the rules that it is given."""
GIVEN: dict[str, Any] = {
    "task_prompt": EXAMPLE["instruction"],
    "gold_rules": EXAMPLE["rubrics"].splitlines(),
    "response_a": EXAMPLE["response_a"],
    "response_b": EXAMPLE["response_b"],
}


def test_the_tool_is_found_by_the_words_that_people_use_for_it() -> None:
    said = TOOLS["score_rubrics"].description
    assert len(said) <= 500
    for words in ("rubric", "rules", "checklist", "RubricBench", "recall", "hallucination", "rubric gap", "评分准则"):
        assert words in said
    assert "score_rubrics" in INSTRUCTIONS


async def test_a_client_measures_the_rubric_gap_over_stdio(folder: Path) -> None:
    store = open_store(folder / ".misjudge" / "misjudge.db")
    stored(store, rubric_records(3))
    store.close()
    async with serving(folder, environment(TAOTOKEN_API_KEY=KEY)) as session:
        await session.initialize()
        wrong = await session.call("score_rubrics", audit="a", sample=3)
        planned = await session.call("score_rubrics", audit="a", judge="simulated", dry_run=True)
        done = await session.call("score_rubrics", audit="a", judge="simulated", samples=2)
        again = await session.call("score_rubrics", audit="a", judge="simulated", samples=2)
        summary = await session.call("summarize_audit", audit="a", sections=["rubrics"])
    assert wrong["isError"] and "Unknown argument 'sample'. Did you mean 'samples'?" in wrong["content"][0]["text"]
    assert {role["role"] for role in planned["structuredContent"]["run"]["plan"]} == {
        *("rubric_generate", "rubric_match", "judge", "rubric_apply")
    }
    found = done["structuredContent"]
    assert (found["run"]["state"], found["samples"], found["samples_are"]) == ("done", 2, "pairs")
    assert "SIMULATED" in found["marked"] and found["next"] == "summarize_audit(audit='a', sections=['rubrics'])"
    assert size_of(found) <= LIMIT
    assert again["structuredContent"]["run"]["total"] == 0
    assert summary["structuredContent"]["rubrics"]["writers"] == found["rubrics"]["writers"]


async def called(deps: Deps, tool: str = "score_rubrics", **arguments: Any) -> dict[str, Any]:
    async with Client(build_app(LazyDeps(deps))) as session:
        found = await session.call_tool(tool, arguments)
    assert not found.is_error, found.content
    structured: dict[str, Any] | None = found.structured_content
    assert structured is not None and size_of(structured) <= LIMIT
    return structured


async def test_the_worked_example_has_no_recall_and_gold_rules_change_the_verdict(deps: Deps, tmp_path: Path) -> None:
    file = tmp_path / "example.jsonl"
    file.write_text(json.dumps(EXAMPLE), encoding="utf-8")
    await called(deps, "import_records", audit="example", format="rubricbench", paths=[str(file)])
    found = (await called(deps, audit="example", judge=NAIVE))["rubrics"]
    (writer,) = found["writers"]
    assert (writer["recall"]["rate"], writer["hallucination_rate"]["rate"], writer["structural_f1"]["value"]) == (
        0,
        1,
        0,
    )
    assert (writer["matched_gold"], writer["total_gold"], writer["total_generated"]) == (0, 3, 3)
    assert "do not trust" in " ".join(found["advice"]).lower()
    applied = await called(deps, audit="example", action="apply", judge=NAIVE, rubrics=["self", "human"])
    assert applied["run"]["total"] == 0
    by_rules: dict[str, set[str]] = {}
    for ruling in applied["rulings"]:
        by_rules.setdefault(ruling["verdict"]["judge"].rpartition("+rules:")[2], set()).add(ruling["verdict"]["winner"])
    assert by_rules == {"self": {"A"}, "human": {"B"}}


async def test_a_pair_given_here_is_judged_by_no_own_and_human_rules_side_by_side(deps: Deps) -> None:
    found = await called(deps, audit="given", judge=NAIVE, **GIVEN)
    assert (found["samples"], len(found["drafts"]), len(found["rulings"])) == (1, 1, 6)
    assert [ruling["verdict"]["judge"].rpartition("+rules:")[2] for ruling in found["rulings"]] == [
        *[NAIVE] * 2,
        *["self"] * 2,
        *["human"] * 2,
    ]
    (writer,) = found["rubrics"]["writers"]
    assert (writer["matched_gold"], writer["total_gold"]) == (0, 3)


async def test_a_plan_over_many_long_rules_stays_within_what_every_client_takes(deps: Deps) -> None:
    rules = [f"规则 {n}: " + "长" * 300 for n in range(500)]
    for action in ("generate", "match", "apply"):
        given = {**GIVEN, "gold_rules": rules}
        if action == "generate":
            given = {"task_prompt": GIVEN["task_prompt"]}
        elif action == "match":
            given = {"task_prompt": GIVEN["task_prompt"], "gold_rules": rules}
        found = await called(deps, audit="long", action=action, judge="simulated", **given)
        assert found["run"]["state"] == "done", found["run"]["reason"]
    assert found["rulings"] and "left_out" in found


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"action": "match", "task_prompt": "Do it.", "gold_rules": []}, "gold_rules"),
        ({"action": "apply", "rubrics": []}, "rubrics"),
        ({"action": "match", "task_prompt": "Do it.", "gold_rules": ["x" * 2_001]}, "2,000"),
        ({"action": "match", "task_prompt": "Do it.", "gold_rules": ["x"] * 501}, "500"),
        ({"action": "write"}, "Input should be 'generate', 'match', 'apply' or 'gap'"),
        ({"matchers": ["a", "b", "c"]}, "at most 2"),
    ],
)
async def test_bad_input_is_one_sentence(deps: Deps, given: dict[str, Any], told: str) -> None:
    async with Client(build_app(LazyDeps(deps))) as session:
        found = await session.call_tool("score_rubrics", {"audit": "a", "judge": "simulated", **given})
    assert found.is_error and found.structured_content is None
    (content,) = found.content
    assert isinstance(content, TextContent)
    assert told in content.text and "\n" not in content.text

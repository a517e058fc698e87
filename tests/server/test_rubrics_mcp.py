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
from misjudge_server.fitting import LIMIT, rounded, size_of
from misjudge_server.tool_table import INSTRUCTIONS, TOOLS
from misjudge_storage import rubric_library
from misjudge_storage.engine import open_store
from misjudge_storage.types import Rule
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize_audit
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


FEASIBLE = ["[hard] Is the plan feasible?", "Is it short?"]


async def test_the_library_is_kept_listed_shown_and_compared_over_mcp(deps: Deps) -> None:
    empty = await called(deps, action="library")
    assert (empty["action"], empty["rubrics"]) == ("list", [])
    assert "action=library, rubrics=[NAME] and gold_rules=[…]" in empty["next"]
    first = await called(deps, action="library", rubrics=["plans"], gold_rules=["Is it short?"])
    added = await called(deps, action="library", rubrics=["plans"], gold_rules=FEASIBLE)
    again = await called(deps, action="library", rubrics=["plans"], gold_rules=FEASIBLE)
    assert [(one["action"], one["added"], one["versions"][0]["version"]) for one in (first, added, again)] == [
        ("add", True, 1),
        ("add", True, 2),
        ("add", False, 2),
    ]
    assert added["next"] == "score_rubrics with action=apply and rubrics=['plans']"
    (row,) = (await called(deps, action="library"))["rubrics"]
    assert (row["name"], row["rules"], row["high_level"], row["versions"]) == ("plans", 2, 1, 2)
    shown = await called(deps, action="library", rubrics=["plans"])
    assert [(rule["text"], rule["hard"]) for rule in shown["rules"]] == [
        ("Is the plan feasible?", True),
        ("Is it short?", False),
    ]
    versions = [version["rubric_id"] for version in shown["versions"]]
    assert versions == [added["rubric_id"], first["rubric_id"]]
    changed = (await called(deps, action="library", rubrics=[versions[1], "plans"]))["diff"]
    assert ([rule["text"] for rule in changed["added"]], changed["removed"], changed["unchanged"]) == (
        ["Is the plan feasible?"],
        [],
        1,
    )
    stored(deps.store, rubric_records(1))
    applied = await called(deps, audit="a", action="apply", judge="simulated", rubrics=["plans"])
    assert applied["judges"] == ["simulated+rules:plans"]
    used = await called(deps, action="library", rubrics=["plans"])
    assert [(use["audit"], use["verdicts"]) for use in used["uses"]] == [("a", 2)] and "SIMULATED" in used["marked"]


async def test_a_long_set_of_the_library_is_cut_by_whole_rules_and_its_address_shows_all(deps: Deps) -> None:
    rules = [f"Is point {n} met? {'x' * 300}" for n in range(60)]
    added = await called(deps, action="library", rubrics=["long"], gold_rules=rules)
    assert added["left_out"] == {"rules": 60 - len(added["rules"])}
    assert added["left_out_next"] == f"read_record(uri='misjudge://rubrics/{added['rubric_id']}')"
    pages, cursor, uri = "", 0, added["left_out_next"].split("'")[1]
    while cursor is not None:
        page = await called(deps, "read_record", uri=uri, fields=["rules"], cursor=cursor)
        pages, cursor = pages + page["record"]["rules"], page["next_cursor"]
    assert [rule["text"] for rule in json.loads(pages)] == rules
    other = await called(deps, action="library", rubrics=["other"], gold_rules=["Is it?"])
    compared = await called(deps, action="library", rubrics=["other", "long"])
    assert compared["left_out"]["diff.added"] == 60 - len(compared["diff"]["added"])
    assert compared["left_out_next"] == (
        f"read_record(uri='misjudge://rubrics/{other['rubric_id']}') and {added['left_out_next']}"
    )


async def test_many_names_of_the_library_are_cut_by_whole_rows(deps: Deps) -> None:
    with deps.store.write() as connection:
        for n in range(80):
            rubric_library.add(connection, f"rules {n}", [Rule(text=f"Is it {n}?")])
    found = await called(deps, action="library")
    assert found["left_out"] == {"rubrics": 80 - len(found["rubrics"])}
    assert found["left_out_next"] == "read_record(uri='misjudge://rubrics')"


async def test_the_only_audit_with_gold_rules_is_taken_where_none_is_named(deps: Deps) -> None:
    stored(deps.store, rubric_records(1), "only")
    found = await called(deps, action="match", judge="simulated")
    assert found["run"]["audit"] == "only"


async def test_eight_writers_are_compared_in_one_call_and_what_was_cut_is_fetched_by_the_call_that_is_named(
    deps: Deps,
) -> None:
    stored(deps.store, rubric_records(4))
    writers = [f"simulated:hits=0.{n},invents=0.5,seed={n}" for n in range(1, 9)]
    found = await called(deps, audit="a", judge="simulated", writers=writers)
    assert found["left_out"]["rubrics.writers"] == 8 - len(found["rubrics"]["writers"])
    calls, _, rest = found["left_out_next"].partition(", and likewise, one a call, ")
    assert calls.endswith("(audit='a', sections=['rubrics.writers'])") and "rubrics.gaps" in rest
    shown = await called(deps, "summarize_audit", audit="a", sections=["rubrics.writers"])
    assert {row["writer"] for row in shown["rubrics"]["writers"]} == set(writers) and "left_out" not in shown
    whole = (await summarize_audit(SummarizeRequest(audit="a"), deps)).rubrics
    assert whole is not None
    rows = [row.model_dump(mode="json") for row in whole.writers]
    assert shown["rubrics"]["writers"] == rounded(rows) != rows
    for name in ("gaps", "accuracy", "conflicts"):
        listed, section = list[dict[str, Any]](), f"rubrics.{name}"
        while section:
            part = await called(deps, "summarize_audit", audit="a", sections=[section])
            listed += part["rubrics"][name]
            cut = part.get("left_out", {})
            assert set(cut) <= {f"rubrics.{name}"}
            section = part["left_out_next"].split("'")[3] if cut else ""
        assert listed == rounded([row.model_dump(mode="json") for row in getattr(whole, name)])


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


LIBRARY = {"action": "library"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rubrics": ["a", "b", "c"]}, "The library shows one rubric or how two differ, and 3 are named. Name fewer."),
        ({"gold_rules": ["Is it?"]}, "gold_rules are kept under one name, and rubrics says which: rubrics=[NAME]."),
        ({"gold_rules": ["Is it?"], "rubrics": ["a", "b"]}, "gold_rules are kept under one name"),
        ({"gold_rules": ["Is it?"], "rubrics": ["human"]}, "'human' means something else where rules are chosen."),
        ({"gold_rules": [" "], "rubrics": ["a"]}, "rule"),
        ({"rubrics": ["hoose"]}, "The library has no rubric 'hoose', by name or id."),
    ],
)
async def test_what_the_library_cannot_do_is_one_sentence(deps: Deps, given: dict[str, Any], told: str) -> None:
    async with Client(build_app(LazyDeps(deps))) as session:
        found = await session.call_tool("score_rubrics", {**LIBRARY, **given})
    assert found.is_error
    (content,) = found.content
    assert isinstance(content, TextContent)
    assert told in content.text and "\n" not in content.text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"action": "match", "task_prompt": "Do it.", "gold_rules": []}, "gold_rules"),
        ({"action": "apply", "rubrics": []}, "rubrics"),
        ({"action": "match", "task_prompt": "Do it.", "gold_rules": ["x" * 2_001]}, "2,000"),
        ({"action": "match", "task_prompt": "Do it.", "gold_rules": ["x"] * 501}, "500"),
        ({"action": "write"}, "Input should be 'generate', 'match', 'apply', 'gap' or 'library'"),
        ({"action": "apply", "rubrics": [""]}, "rubrics"),
        ({"matchers": ["a", "b", "c"]}, "at most 2"),
        (LIBRARY, "The library does nothing with audit and judge. Leave it out."),
        ({**LIBRARY, "wait_s": 3, "samples": 5, "dry_run": True}, "with audit, judge, dry_run, wait_s and samples."),
    ],
)
async def test_bad_input_is_one_sentence(deps: Deps, given: dict[str, Any], told: str) -> None:
    async with Client(build_app(LazyDeps(deps))) as session:
        found = await session.call_tool("score_rubrics", {"audit": "a", "judge": "simulated", **given})
    assert found.is_error and found.structured_content is None
    (content,) = found.content
    assert isinstance(content, TextContent)
    assert told in content.text and "\n" not in content.text

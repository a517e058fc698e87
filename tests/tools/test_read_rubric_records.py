"""`read_record` of rubrics, and of what was made of them: whole, with their rules, and marked where made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import text

from misjudge_storage.errors import NotFound
from misjudge_storage.rows import rubric_id
from misjudge_storage.types import Log, Rule
from misjudge_tools.deps import Deps
from misjudge_tools.read_record import read_record
from misjudge_tools.requests import RecordRequest
from misjudge_tools.results import MARK, MARK_EPISODES, MARK_IN_PART, RecordPage, record_uri
from misjudge_tools.rubrics.library_values import rubric_uri
from operations import dump, pair_records, stored
from rubric_library_parts import DATED, FEASIBLE, MADE_UP, OWN, SIM_WRITER, applied, named, stored_set


async def read(deps: Deps, uri: str, **values: Any) -> RecordPage:
    return await read_record(RecordRequest.model_validate({"uri": uri, **values}), deps)


async def test_a_rubric_is_read_by_id_with_its_rules_names_and_uses(deps: Deps) -> None:
    applied(deps.store)
    named(deps.store, "house", FEASIBLE)
    found = await read(deps, rubric_uri(rubric_id(FEASIBLE)))
    assert found.marked is None
    assert found.record["rules"] == [
        {"rule": 1, "text": "Is the plan feasible?", "hard": True, "high_level": True},
        {"rule": 2, "text": "Is it short?", "hard": False, "high_level": False},
    ]
    assert found.record["names"] == ["house"] and found.record["gold_of"] == [{"audit": "a", "tasks": 1}]
    assert found.record["uses"] == [{"audit": "a", "judge": "strict", "verdicts": 1, "simulated": False}]
    assert found.record["written_by"] == [] and found.record["number"] == 2
    assert (await read(deps, rubric_uri("house"))).record == found.record, "a name leads there too"
    own = await read(deps, rubric_uri(rubric_id(OWN)))
    assert own.record["written_by"] == [{"audit": "a", "writer": "writer", "drafts": 1, "simulated": False}]
    with pytest.raises(NotFound, match="no rubric 'hoose', by name or id"):
        await read(deps, rubric_uri("hoose"))


async def test_what_simulated_models_made_of_a_rubric_is_marked(deps: Deps) -> None:
    applied(deps.store, OWN, MADE_UP)
    in_part = await read(deps, rubric_uri(rubric_id(OWN)))
    assert (in_part.marked, in_part.record["simulated"]) == (MARK_IN_PART, True)
    applied(deps.store, DATED, MADE_UP, audit="b")
    assert (await read(deps, rubric_uri(rubric_id(DATED)))).marked == MARK


async def test_all_rubrics_are_listed_page_by_page(deps: Deps) -> None:
    empty = await read(deps, "misjudge://rubrics")
    assert (empty.record, empty.next_cursor) == ({"rubrics": [], "total": 0}, None)
    ids = {stored_set(deps.store, (Rule(text=f"Is it {number}?"),)) for number in range(30)}
    gathered: list[dict[str, Any]] = []
    cursor: int | None = 0
    while cursor is not None:
        found = await read(deps, "misjudge://rubrics", cursor=cursor, max_bytes=1_000)
        assert len(json.dumps(found.record).encode()) <= 1_000 and found.record["total"] == 30
        gathered, cursor = gathered + found.record["rubrics"], found.next_cursor
    assert len(gathered) == 30 and {row["rubric_id"] for row in gathered} == ids
    one = await read(deps, rubric_uri(gathered[7]["rubric_id"]))
    assert one.record["rules"][0]["text"] == gathered[7]["first_rule"]


async def test_a_long_rubric_is_read_page_by_page(deps: Deps) -> None:
    rules = tuple(Rule(text=f"{number} {'x' * 1_000}") for number in range(40))
    uri, pieces, cursor = rubric_uri(stored_set(deps.store, rules)), "", 0
    while True:
        found = await read(deps, uri, cursor=cursor, fields=["rules"])
        pieces += found.record["rules"]
        if found.next_cursor is None:
            break
        cursor = found.next_cursor
    assert [rule["text"] for rule in json.loads(pieces)] == [rule.text for rule in rules]


async def test_a_draft_leads_to_its_rules_task_and_matchings(deps: Deps) -> None:
    ids = applied(deps.store)
    (listed,) = (await read(deps, "misjudge://audits/a/drafts")).record["drafts"]
    assert (listed["draft_id"], listed["writer"], listed["number"]) == (ids.draft, "writer", 2)
    draft = (await read(deps, record_uri("a", "drafts", ids.draft))).record
    assert [rule["text"] for rule in draft["rules"]] == [rule.text for rule in OWN]
    assert draft["rubric"] == rubric_uri(rubric_id(OWN)) and "log" not in draft
    assert draft["matchings"] == [record_uri("a", "matchings", ids.matching)]
    assert (await read(deps, draft["task"])).record["prompt"] == "Book a table."
    assert (await read(deps, draft["rubric"])).record["rubric_id"] == rubric_id(OWN)


async def test_a_draft_that_could_not_be_read_has_no_rules(deps: Deps) -> None:
    ids = applied(deps.store)
    with deps.store.write() as connection:
        connection.execute(text("UPDATE rubric_drafts SET rubric_id = NULL, status = 'unscored'"))
    draft = (await read(deps, record_uri("a", "drafts", ids.draft))).record
    assert (draft["rules"], draft["status"]) == ([], "unscored") and "rubric" not in draft
    matching = (await read(deps, record_uri("a", "matchings", ids.matching))).record
    assert matching["written_rubric"] is None and [rule["text"] for rule in matching["rules"]] == [None, None]


async def test_a_matching_has_a_row_a_rule_with_both_texts_and_the_gold_rules_that_were_missed(deps: Deps) -> None:
    ids = applied(deps.store)
    found = (await read(deps, record_uri("a", "matchings", ids.matching))).record
    first, second = found["rules"]
    assert (first["rule"], first["text"], first["gold_rule"], first["gold_text"], first["method"]) == (
        1, "is it SHORT", 2, "Is it short?", "equal"
    )  # fmt: skip
    assert (second["text"], second["gold_text"], second["reason"]) == (
        "Does it call a tool?", None, "Says another thing."
    )  # fmt: skip
    assert "log" not in first and second["log"] == record_uri("a", "logs", ids.log)
    assert (await read(deps, second["log"])).record["role"] == "rubric_match"
    assert [(rule["rule"], rule["text"], rule["high_level"]) for rule in found["missed"]] == [
        (1, "Is the plan feasible?", True)
    ]
    assert found["gold_rubric"] == rubric_uri(rubric_id(FEASIBLE))
    assert found["written_rubric"] == rubric_uri(rubric_id(OWN))
    assert (await read(deps, found["draft"])).record["draft_id"] == ids.draft
    assert (await read(deps, found["task"])).record["task_id"] == "t1"


async def test_a_ruling_has_a_row_a_rule_and_leads_to_its_verdict_and_back(deps: Deps) -> None:
    ids = applied(deps.store)
    found = (await read(deps, record_uri("a", "rulings", ids.ruling))).record
    assert found["rules"] == [
        {
            "rule": 1, "met_a": True, "met_b": False, "met": None, "reason": "B names no way.",
            "text": "Is the plan feasible?", "hard": True, "high_level": True,
        }
    ]  # fmt: skip
    assert (found["winner"], found["says"], found["unscored"], found["pair_id"]) == ("A", None, 1, "p")
    assert found["rubric"] == rubric_uri(rubric_id(FEASIBLE)) and found["log"] == record_uri("a", "logs", ids.log)
    verdict = (await read(deps, found["verdict"])).record
    assert verdict["verdict_id"] == ids.ruling
    assert verdict["ruling"] == record_uri("a", "rulings", ids.ruling)


async def test_a_verdict_without_rules_leads_to_no_ruling(deps: Deps) -> None:
    ids = applied(deps.store)
    with deps.store.write() as connection:
        connection.execute(text("DELETE FROM rubric_verdicts"))
        connection.execute(text("DELETE FROM rubric_rulings"))
    assert "ruling" not in (await read(deps, record_uri("a", "verdicts", ids.ruling))).record


async def test_a_ruling_of_rules_that_could_not_be_had_has_none(deps: Deps) -> None:
    ids = applied(deps.store)
    with deps.store.write() as connection:
        connection.execute(text("UPDATE rubric_rulings SET rubric_id = NULL"))
    found = (await read(deps, record_uri("a", "rulings", ids.ruling))).record
    assert "rubric" not in found and [sorted(rule) for rule in found["rules"]] == [
        ["met", "met_a", "met_b", "reason", "rule"]
    ]


@pytest.mark.parametrize(
    ("who", "marked"),
    [
        ({}, (None, None, None)),
        ({"judge": MADE_UP}, (None, None, MARK)),
        ({"writer": SIM_WRITER}, (MARK, MARK_IN_PART, None)),
        ({"scripted": True}, (None, None, MARK_EPISODES)),
        ({"judge": MADE_UP, "scripted": True}, (None, None, f"{MARK}; {MARK_EPISODES}")),
    ],
)
async def test_records_of_rubrics_are_marked_where_who_made_them_is_simulated(
    deps: Deps, who: dict[str, Any], marked: tuple[str | None, ...]
) -> None:
    ids = applied(deps.store, **who)
    for kind, identity, mark in zip(("drafts", "matchings", "rulings"), ids, marked, strict=False):
        found = await read(deps, record_uri("a", kind, identity))
        assert (found.marked, found.record["simulated"]) == (mark, mark is not None), kind
        assert ((await read(deps, f"misjudge://audits/a/{kind}")).marked is not None) is (mark is not None)


async def test_calls_for_rubrics_are_made_up_by_a_judge_and_not_by_an_agent(deps: Deps) -> None:
    roles = ("rubric_generate", "rubric_match", "rubric_apply")
    (record,) = pair_records(1)
    logs = tuple(Log(role=role, simulated=True, raw_output=role) for role in roles)
    stored(deps.store, [record.model_copy(update={"logs": logs})])
    listed = await read(deps, "misjudge://audits/a/logs")
    assert {row["role"] for row in listed.record["logs"]} == set(roles) and listed.marked == MARK
    for row in listed.record["logs"]:
        assert (await read(deps, record_uri("a", "logs", row["log_id"]))).marked == MARK


@pytest.mark.parametrize("kind", ["drafts", "matchings", "rulings"])
async def test_a_record_of_rubrics_that_is_not_there_is_told(deps: Deps, kind: str) -> None:
    stored(deps.store, pair_records(1))
    with pytest.raises(NotFound, match=f"No {kind} record has the id 'x' in this audit. This audit has no {kind}"):
        await read(deps, record_uri("a", kind, "x"))


async def test_reading_rubrics_changes_nothing(deps: Deps) -> None:
    ids = applied(deps.store)
    before = dump(deps.store)
    for uri in ("misjudge://rubrics", rubric_uri(rubric_id(OWN)), record_uri("a", "matchings", ids.matching)):
        await read(deps, uri)
    assert dump(deps.store) == before

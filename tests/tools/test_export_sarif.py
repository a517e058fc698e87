"""SARIF: each disagreement of judge and evidence is a result of the standard's form, and nothing in it is obeyed.

The schema holds those parts of the OASIS standard SARIF 2.1.0 (with Errata 01) that are written here: properties that
are not named are refused, as the standard's own schema refuses what it does not know.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from builders import SATISFACTION, episode, lone, pair, passed, satisfied, verdict
from generated import fresh
from misjudge_storage.engine import Store
from misjudge_storage.types import Judge, Record, Scale
from misjudge_tools.export_records import export_records
from misjudge_tools.exporting.sarif import rule_of, shown
from misjudge_tools.file_requests import ExportRequest
from misjudge_tools.read_record import read_record
from misjudge_tools.requests import RecordRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from operations import opened, stored


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": {**properties, "properties": {"type": "object"}},
    }


TEXT = {"type": "string"}
MESSAGE = _object("text", text=TEXT)
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = _object(
    "id",
    id=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    defaultConfiguration=_object("", level=LEVEL),
)
LOCATION = _object(
    "",
    logicalLocations={
        "type": "array",
        "uniqueItems": True,
        "items": _object("", name=TEXT, fullyQualifiedName=TEXT, kind=TEXT),
    },
)
RESULT = _object(
    "message",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=MESSAGE,
    locations={"type": "array", "items": LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
)
DRIVER = _object("name", name=TEXT, rules={"type": "array", "uniqueItems": True, "items": RULE})
RUN = _object(
    "tool",
    tool=_object("driver", driver=DRIVER),
    automationDetails=_object("", id=TEXT),
    results={"type": "array", "items": RESULT},
)
LOG = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"enum": ["2.1.0"]},
        "runs": {"type": "array", "items": RUN},
    },
}


def written(store: Store, folder: Path, **options: Any) -> dict[str, Any]:
    """The run of the log, which keeps to the standard."""

    async def run() -> None:
        async with opened(Path(store.location)) as deps:
            given = {"audit": "a", "format": "sarif", "out": str(folder / "found.sarif"), "force": True, **options}
            result = await export_records(ExportRequest.model_validate(given), deps)
            (only,) = result.files
            log = json.loads((folder / "found.sarif").read_text(encoding="utf-8"))
            assert len(log["runs"][0]["results"]) == only.rows

    asyncio.run(run())
    log: dict[str, Any] = json.loads((folder / "found.sarif").read_text(encoding="utf-8"))
    jsonschema.validate(log, LOG)
    found: dict[str, Any] = log["runs"][0]
    rules = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in found["results"])
    return found


def sides(task: str, a: bool | None, b: bool | None) -> tuple[Any, Any]:
    checks = [() if one is None else (passed(one),) for one in (a, b)]
    return episode("x", *checks[0], task=task), episode("y", *checks[1], task=task)


def conflicts() -> list[Record]:
    """A pair of each kind, and one without conflict."""
    return [
        pair("wrong", *sides("t1", True, False), verdict("B", "AB"), verdict("B", "BA")),
        pair("once", *sides("t2", True, False), verdict("B", "AB"), verdict("tie", "BA"), line=2),
        pair("both failed", *sides("t3", False, False), verdict("A", "AB"), verdict("A", "BA"), line=3),
        pair("missed", *sides("t4", False, True), verdict("A", "AB"), verdict("B", "BA"), line=4),
        pair("right", *sides("t5", True, False), verdict("A", "AB"), verdict("A", "BA"), line=5),
        pair("unknown", *sides("t6", None, None), verdict("A", "AB"), line=6),
    ]


def test_each_disagreement_is_a_result_and_nothing_else_is() -> None:
    with fresh() as (store, folder):
        stored(store, conflicts())
        found = written(store, folder)["results"]
        summary = summarize(SummarizeRequest(audit="a"), store).conflicts
    kinds = {one["properties"]["pair_id"]: (one["ruleId"], one["level"]) for one in found}
    assert kinds == {
        "wrong": ("misselected", "error"),
        "once": ("misselected", "error"),
        "both failed": ("unsupported", "warning"),
        "missed": ("missed", "note"),
    }
    assert summary is not None and summary.strict is not None and summary.missed is not None
    assert (summary.strict.k, summary.missed.k) == (2, 1), "as many as the summary counts"


def test_a_message_says_k_of_n_of_the_pair_and_of_the_audit() -> None:
    with fresh() as (store, folder):
        stored(store, conflicts())
        found = {one["properties"]["pair_id"]: one["message"]["text"] for one in written(store, folder)["results"]}
    assert found["wrong"] == (
        "Judge judge picked B, and A was better (verifier): B in 2 of 2 readable verdicts on this pair. "
        "This is one of 2 of 3 in the audit."
    )
    assert "B in 1 of 2 readable verdicts" in found["once"]
    assert "named no side (inconsistent), and B was better (verifier): B in 1 of 2" in found["missed"]


def test_a_location_is_the_address_of_the_pair_and_can_be_read() -> None:
    record = pair("p/1 #ü", *sides("t1", True, False), verdict("B", "AB"))
    with fresh() as (store, folder):
        stored(store, [record])
        (found,) = written(store, folder)["results"]
        uri = found["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]

        async def read() -> str:
            async with opened(Path(store.location)) as deps:
                return str((await read_record(RecordRequest(uri=uri), deps)).record["pair_id"])

        assert uri.startswith("misjudge://audits/a/pairs/")
        assert asyncio.run(read()) == "p/1 #ü"


def test_an_episode_that_failed_and_satisfied_is_a_result() -> None:
    with fresh() as (store, folder):
        record = pair(
            "p1",
            episode("x", passed(False), satisfaction=[satisfied(0.9)]),
            episode("y", passed(False), satisfaction=[satisfied(0.1)]),
        )
        stored(store, [record])
        (found,) = written(store, folder)["results"]
        assert written(store, folder, judge=SATISFACTION.label)["results"] == [found]
    assert (found["ruleId"], found["level"]) == ("satisfied-failed", "warning")
    assert "scored this episode 0.9, with 0.8 as its threshold" in found["message"]["text"]
    assert "one of 1 of 1" in found["message"]["text"]


def test_a_judge_of_two_forms_is_counted_by_the_form_that_the_summary_goes_by() -> None:
    gate = Judge(label=SATISFACTION.label, form="gate", model="m", scale=Scale(low=1, high=7, threshold=5))
    with fresh() as (store, folder):
        scores = [satisfied(0.9), satisfied(6.0, gate)]
        stored(
            store, [lone(episode(agent, passed(False), satisfaction=scores), line=n) for n, agent in enumerate("xy")]
        )
        found = written(store, folder)["results"]
        conflicts = summarize(SummarizeRequest(audit="a"), store).conflicts
    assert conflicts is not None and conflicts.satisfied_failed is not None
    assert len(found) == conflicts.satisfied_failed.k == 2
    assert all("one of 2 of 2" in one["message"]["text"] for one in found)


def test_an_audit_without_conflicts_has_no_results() -> None:
    with fresh() as (store, folder):
        stored(store, [conflicts()[4]])
        assert written(store, folder)["results"] == []


def test_one_judge_can_be_chosen_and_what_is_made_up_is_marked() -> None:
    other = Judge(label="other", form="pairwise", model="n", simulated=True)
    record = pair("p1", *sides("t1", True, False), verdict("B", "AB"), verdict("B", "AB", judge=other))
    with fresh() as (store, folder):
        stored(store, [record])
        both, one = written(store, folder), written(store, folder, judge="other")
    assert [found["properties"]["judge"] for found in both["results"]] == ["judge", "other"]
    assert [found["properties"]["simulated"] for found in both["results"]] == [False, True]
    assert len({found["partialFingerprints"]["misjudge/v1"] for found in both["results"]}) == 2
    assert [found["properties"]["judge"] for found in one["results"]] == ["other"]
    assert both["properties"]["marked"].startswith("SIMULATED")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("[click](https://evil)", r"\[click\](https://evil)"),
        ("{0}", "{{0}}"),
        ("a\\[b", r"a\\\[b"),
        ("\x1b[2J\u202e\n", "\ufffd\\[2J\ufffd\ufffd"),
    ],
)
def test_nothing_in_a_message_is_a_link_a_placeholder_or_a_control(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_hostile_names_stay_data() -> None:
    name = '"]}],[evil](http://x)\u2028{0}'
    judge = Judge(label=name, form="pairwise", model="m")
    with fresh() as (store, folder):
        stored(store, [pair(name, *sides("t1", True, False), verdict("B", "AB", judge=judge))])
        (found,) = written(store, folder)["results"]
    assert found["properties"]["judge"] == found["properties"]["pair_id"] == name
    assert "[evil](" not in found["message"]["text"].replace(r"\[evil\](", "")


def test_a_pair_that_no_rule_is_about_has_none() -> None:
    row = {"gold_pref": "tie", "judge_pref": "tie", "judge_status": "tie", "success_a": 0, "success_b": 0}
    assert rule_of({**row, "misselected": None}) is None
    assert rule_of({**row, "judge_pref": "B", "success_a": 1, "misselected": None}) is None
    assert rule_of({**row, "judge_pref": "B", "success_a": None, "misselected": None}) == "unsupported"

"""`read_record`: one stored thing, whole, by its URI."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import episode, messages, pair, passed, verdict
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.types import Episode, Log, Record, Task, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.judge import judge
from misjudge_tools.read_record import page, read_record
from misjudge_tools.requests import ImportRequest, JudgeRequest, RecordRequest
from misjudge_tools.results import MARK, RecordPage, record_uri
from operations import dump, pair_record, pair_records, rows, stored

AUDIT = "half off, ünïcode?#&"


async def read(deps: Deps, uri: str, max_bytes: int = 7_000, **values: Any) -> RecordPage:
    request = RecordRequest.model_validate({"uri": uri, **values})
    return await read_record(request.model_copy(update={"max_bytes": max_bytes}), deps)


async def test_every_kind_of_record_is_read_by_its_uri(deps: Deps) -> None:
    stored(deps.store, [pair_record("a/b c%2F#?", "Cancel it.", ("Done.", "No."), "A")], AUDIT)
    result = await judge(JudgeRequest(audit=AUDIT, judge="simulated"), deps)
    pair = (await read(deps, record_uri(AUDIT, "pairs", "a/b c%2F#?"))).record
    assert pair["pair_id"] == "a/b c%2F#?"
    (outcome,) = pair["outcome_by_judge"]
    assert (outcome["gold_pref"], outcome["judge"]) == ("A", "simulated")
    assert datetime.fromisoformat(outcome["created_at"]).utcoffset() == timedelta(0)
    assert len(pair["verdicts"]) == 2
    verdict = (await read(deps, pair["verdicts"][0])).record
    assert (verdict["pair_id"], verdict["order_shown"]) == ("a/b c%2F#?", result.verdicts[0].order)
    log = (await read(deps, verdict["log"])).record
    assert json.loads(log["raw_output"])["winner"] in {"A", "B", "tie"}
    assert log["parsed_json"]["winner"] == json.loads(log["raw_output"])["winner"]
    assert log["params"]["temperature"] == 0, "stored JSON is read as what it says"
    trajectory = (await read(deps, pair["trajectory_a"])).record
    assert trajectory["messages_json"] == [{"role": "assistant", "content": "Done."}]
    (check,) = trajectory["checks"]
    assert (check["verifier"], check["passed"]) == ("state", True)
    task = (await read(deps, pair["task"])).record
    assert task["prompt"] == "Cancel it."
    run = (await read(deps, f"misjudge://runs/{result.run.run}")).record
    assert (run["state"], run["audit"]) == ("done", AUDIT)


async def test_an_audit_shows_its_judges_counts_imports_and_runs_and_never_its_secret(
    deps: Deps, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("pair_id,judge_pref,gold_pref\ni1,A,B\nbad,X,B\n", encoding="utf-8")
    await import_records(ImportRequest(audit=AUDIT, format="pairs", paths=[str(path)], skip_bad=True), deps)
    stored(deps.store, pair_records(2), AUDIT)
    run = (await judge(JudgeRequest(audit=AUDIT, judge="simulated"), deps)).run.run
    audit = (await read(deps, f"misjudge://audits/{quote(AUDIT, safe='')}", max_bytes=100_000)).record
    assert audit["name"] == AUDIT
    assert audit["counts"] == {
        "tasks": 3, "trajectories": 6, "pairs": 3, "verdicts": 5, "probe_verdicts": 0, "gold_labels": 1, "judge_logs": 4
    }  # fmt: skip
    assert {one["label"] for one in audit["judges"]} == {"judge", "simulated"}
    assert audit["runs"] == [run]
    (imported,) = audit["imports"]
    assert (imported["records"], imported["skipped"]) == (1, 1)
    assert len(imported["problems_json"]) == 1
    secret = rows(deps.store, "SELECT secret FROM audits")[0]["secret"]
    assert secret not in json.dumps(audit)
    one = (await read(deps, record_uri(AUDIT, "imports", imported["import_id"]))).record
    assert one == imported


async def test_all_audits_are_listed_with_their_pairs(deps: Deps) -> None:
    assert (await read(deps, "misjudge://audits")).record == {"audits": [], "total": 0}
    stored(deps.store, pair_records(2), "one")
    stored(deps.store, [], "two")
    listed = (await read(deps, "misjudge://audits")).record["audits"]
    assert {(audit["name"], audit["pairs"]) for audit in listed} == {("one", 2), ("two", 0)}


@pytest.mark.parametrize(
    "uri",
    [
        "audits/a",
        "http://audits/a",
        "misjudge://",
        "misjudge://audits/a/secrets",
        "misjudge://audits/a/secrets/x",
        "misjudge://audits/a/pairs/p0/more",
        "misjudge://runs",
        "misjudge:///audits",
    ],
)
async def test_an_address_of_another_form_is_answered_with_those_there_are(deps: Deps, uri: str) -> None:
    stored(deps.store, pair_records(1))
    with pytest.raises(InvalidInput, match=r"Allowed are misjudge://audits.*KIND being one of tasks, trajectories"):
        await read(deps, uri)


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("misjudge://audits/b", "No audit is called 'b'. Stored are: a"),
        ("misjudge://audits/b/pairs/p0", "No audit is called 'b'"),
        ("misjudge://audits/b/pairs", "No audit is called 'b'"),
        ("misjudge://audits/a/pairs/p9", "No pairs record has the id 'p9' in this audit. Some that are: p0"),
        ("misjudge://audits/a/logs/x", "No logs record has the id 'x'.*This audit has no logs"),
        ("misjudge://runs/run_0", "No run 'run_0' is stored"),
    ],
)
async def test_an_address_that_leads_nowhere_says_what_there_is(deps: Deps, uri: str, said: str) -> None:
    stored(deps.store, pair_records(1))
    with pytest.raises(NotFound, match=said):
        await read(deps, uri)


async def test_only_the_fields_asked_for_are_read(deps: Deps) -> None:
    stored(deps.store, pair_records(1))
    found = await read(deps, "misjudge://audits/a/pairs/p0", fields=["trial", "pair_id"])
    assert found.record == {"trial": 0, "pair_id": "p0"}
    with pytest.raises(InvalidInput, match=r"no field 'nope'. It has: .*pair_id"):
        await read(deps, "misjudge://audits/a/pairs/p0", fields=["nope"])


async def test_a_long_text_is_read_page_by_page(deps: Deps) -> None:
    words = " ".join(f"word{n} ü" for n in range(5_000))
    stored(deps.store, [pair_record("p", "Do it.", (words, "no"))])
    (trajectory,) = rows(deps.store, "SELECT trajectory_a FROM pairs")
    uri = record_uri("a", "trajectories", trajectory["trajectory_a"])
    text, cursor, pages = "", 0, 0
    while True:
        found = await read(deps, uri, cursor=cursor, fields=["messages_json", "agent"])
        assert len(json.dumps(found.record, ensure_ascii=False).encode()) <= 7_200
        assert found.record["agent"] == "left"
        text, pages = text + found.record["messages_json"], pages + 1
        if found.next_cursor is None:
            break
        cursor = found.next_cursor
    assert pages > 5
    assert json.loads(text) == [{"role": "assistant", "content": words}]


def test_long_fields_share_a_page_beside_the_short_ones() -> None:
    record = {"a": "x" * 5_000, "b": ["y" * 50] * 20, "n": 1}
    first = page("uri", record, 0, 1_000)
    assert 800 < len(json.dumps(first.record)) <= 1_020
    assert first.record["n"] == 1 and first.record["a"] == "x" * len(first.record["a"])
    assert page("uri", record, 0, 7_000) == RecordPage(uri="uri", record=record)


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=3),
        st.one_of(st.none(), st.integers(), st.text(max_size=400), st.lists(st.text(max_size=50), max_size=20)),
        max_size=6,
    ),
    st.integers(500, 2_000),
)
def test_the_pages_of_a_record_are_the_whole_record(record: dict[str, Any], max_bytes: int) -> None:
    cursor, cut = 0, {name: "" for name in record}
    first = page("uri", record, 0, max_bytes)
    if first.next_cursor is None and first.record == record:
        return
    while True:
        found = page("uri", record, cursor, max_bytes)
        for name, value in found.record.items():
            whole = record[name]
            if len(json.dumps(whole, ensure_ascii=False).encode()) <= 300:
                assert value == whole, "a short field stands on every page"
            else:
                cut[name] += value
        if found.next_cursor is None:
            break
        assert found.next_cursor > cursor
        cursor = found.next_cursor
    for name, text in cut.items():
        whole = record[name]
        if len(json.dumps(whole, ensure_ascii=False).encode()) > 300:
            assert text == whole if isinstance(whole, str) else json.loads(text) == whole


async def test_an_imported_log_may_hold_anything_where_json_is_expected(deps: Deps) -> None:
    odd = ["NaN", "not json", '{"x": Infinity}', "[" * 100_000, "1" * 5_000, '{"fine": 1}']
    logs = tuple(Log(parsed_json=text, params="}", raw_output="x") for text in odd)
    trajectory = Trajectory(task_id="t", agent="x", trial=0)
    stored(deps.store, [Record(line=1, task=Task(task_id="t"), episodes=(Episode(trajectory=trajectory, logs=logs),))])
    found = []
    for row in rows(deps.store, "SELECT log_id FROM judge_logs"):
        record = (await read(deps, record_uri("a", "logs", row["log_id"]), max_bytes=500_000)).record
        json.dumps(record, allow_nan=False)
        assert record["params"] == "}"
        found.append(record["parsed_json"])
    assert sorted(map(str, found)) == sorted([*odd[:-1], "{'fine': 1}"])


async def test_reading_changes_nothing(deps: Deps) -> None:
    stored(deps.store, pair_records(1))
    before = dump(deps.store)
    for uri in (
        "misjudge://audits",
        "misjudge://audits/a",
        "misjudge://audits/a/pairs",
        "misjudge://audits/a/pairs/p0",
    ):
        await read(deps, uri)
    assert dump(deps.store) == before


async def test_what_a_simulated_judge_said_is_marked_wherever_it_is_read(deps: Deps) -> None:
    stored(deps.store, pair_records(1))
    plain = await read(deps, "misjudge://audits/a/pairs/p0")
    run = (await judge(JudgeRequest(audit="a", judge="simulated"), deps)).run
    pair = await read(deps, "misjudge://audits/a/pairs/p0")
    verdict = await read(deps, pair.record["verdicts"][0])
    log = await read(deps, verdict.record["log"], fields=["raw_output"])
    stored_run = await read(deps, f"misjudge://runs/{run.run}")
    assert plain.marked is None
    assert [found.marked for found in (pair, verdict, log, stored_run)] == [MARK] * 4
    assert run.simulated


def listed_pairs(number: int) -> list[Record]:
    """Pairs of agents with a check, judged in both orders by a real judge, with a log each."""
    return [
        pair(
            f"p{n:03}",
            episode("x", passed(True), task=f"t{n}", said=messages("hi", "done"), end_reason="finished"),
            episode("y", task=f"t{n}"),
            verdict("A", "AB"),
            verdict("B", "BA"),
            logs=[Log(model="m", error="timeout")],
        )
        for n in range(number)
    ]


async def test_a_kind_lists_ids_that_lead_to_its_records(deps: Deps, tmp_path: Path) -> None:
    stored(deps.store, listed_pairs(2), AUDIT)
    path = tmp_path / "pairs.csv"
    path.write_text("pair_id,judge_pref\ni1,A\n", encoding="utf-8")
    await import_records(ImportRequest(audit=AUDIT, format="pairs", paths=[str(path)]), deps)
    totals = {"tasks": 3, "trajectories": 6, "pairs": 3, "verdicts": 5, "logs": 2, "imports": 1}
    first = {}
    for kind, total in totals.items():
        found = await read(deps, f"misjudge://audits/{quote(AUDIT, safe='')}/{kind}")
        assert (found.record["total"], len(found.record[kind]), found.next_cursor) == (total, total, None), kind
        for row in found.record[kind]:
            key, identity = next(iter(row.items()))
            one = (await read(deps, record_uri(AUDIT, kind, identity))).record
            assert one[key] == identity
        first[kind] = next(row for row in found.record[kind] if "i1" not in row.values())
    assert first["tasks"] == {
        "task_id": "t0", "category": None, "language": None, "subset": None, "prompt": "Book a table."
    }  # fmt: skip
    assert {name: first["trajectories"][name] for name in ("task_id", "agent", "trial", "end_reason", "simulated")} == {
        "task_id": "t0", "agent": "x", "trial": 0, "end_reason": "finished", "simulated": False
    }  # fmt: skip
    assert first["pairs"] == {
        "pair_id": "p000", "task_id": "t0", "agent_a": "x", "agent_b": "y", "trial": None, "simulated": False
    }  # fmt: skip
    assert {name: first["verdicts"][name] for name in ("pair_id", "trajectory_id", "judge", "status", "simulated")} == {
        "pair_id": "p000", "trajectory_id": None, "judge": "judge", "status": "scored", "simulated": False
    }  # fmt: skip
    assert {name: first["logs"][name] for name in ("role", "model", "pair_id", "error", "simulated")} == {
        "role": "judge", "model": "m", "pair_id": "p000", "error": "timeout", "simulated": False
    }  # fmt: skip
    assert (first["imports"]["format"], first["imports"]["records"]) == ("pairs", 1)


@pytest.mark.parametrize("kind", ["tasks", "trajectories", "pairs", "verdicts", "logs"])
async def test_the_pages_of_a_list_hold_each_row_once(deps: Deps, kind: str) -> None:
    stored(deps.store, listed_pairs(40), "a")
    stored(deps.store, listed_pairs(3), "other")
    whole = await read(deps, f"misjudge://audits/a/{kind}", max_bytes=10**9)
    assert whole.next_cursor is None and len(whole.record[kind]) == whole.record["total"]
    gathered: list[dict[str, Any]] = []
    cursor: int | None = 0
    while cursor is not None:
        found = await read(deps, f"misjudge://audits/a/{kind}", max_bytes=1_000, cursor=cursor)
        assert len(json.dumps(found.record).encode()) <= 1_000
        gathered, cursor = gathered + found.record[kind], found.next_cursor
    assert gathered == whole.record[kind]
    beyond = await read(deps, f"misjudge://audits/a/{kind}", cursor=10_000)
    assert (beyond.record[kind], beyond.next_cursor) == ([], None)
    named = await read(deps, f"misjudge://audits/a/{kind}", fields=["total"])
    assert named.record == {"total": whole.record["total"]}


async def test_audits_are_paged_too_and_a_page_holds_at_least_one_row(deps: Deps) -> None:
    names = [f"{n} {'ü' * 100}" for n in range(20)]
    for name in names:
        stored(deps.store, [], name)
    first = await read(deps, "misjudge://audits", max_bytes=1_000)
    assert first.next_cursor is not None and 1 <= len(first.record["audits"]) < 20
    rest = await read(deps, "misjudge://audits", max_bytes=100_000, cursor=first.next_cursor)
    assert {audit["name"] for audit in first.record["audits"] + rest.record["audits"]} == set(names)
    long = pair("p" * 400, episode("x" * 400, task="t" * 400), episode("y" * 400, task="t" * 400))
    stored(deps.store, [long], "long")
    (row,) = (await read(deps, "misjudge://audits/long/pairs", max_bytes=500)).record["pairs"]
    assert row["pair_id"] == "p" * 400, "an id is never cut"

"""Rows for exports: the columns of the view and table, in a stable order, and never all at once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import pytest
from sqlalchemy import Connection

from builders import SATISFACTION, episode, label, lone, messages, pair, passed, rewarded, satisfied, verdict
from misjudge_storage import export_rows, tables
from misjudge_storage.cutoffs import satisfied as satisfied_by
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest
from misjudge_storage.types import Judge, Log, Record
from operations import rows, stored


@pytest.fixture
def audit(any_store: Store) -> str:
    """Two pairs; one has a declared ability gap, one judge, a model's check and no transcripts."""
    first = pair(
        "p1",
        episode("x", passed(True), rewarded(1.0), said=messages("Hi", "Done.")),
        episode("y", passed(False), said=messages("Hi", "No.")),
        verdict("B", "AB", score_a=1.0, score_b=4.0),
        verdict("B", "BA"),
        ability_bucket="near",
    )
    second = pair(
        "p2",
        episode("x", passed(True, "model"), task="t2"),
        episode("y", passed(False, "model"), task="t2"),
        verdict("A", "AB"),
        reward_gap=0.2,
        gap_source="ability",
        line=2,
    )
    return stored(any_store, [first, second])


def test_the_columns_are_those_of_the_view_and_of_the_table(any_store: Store, audit: str) -> None:
    view = rows(any_store, "SELECT * FROM audit_pairs LIMIT 1")[0]
    assert list(view) == list(export_rows.PAIR_COLUMNS)
    assert [column.name for column in tables.columns(tables.JudgeLog)] == list(export_rows.LOG_COLUMNS)


def test_the_rows_of_pairs_are_those_of_the_view(any_store: Store, audit: str) -> None:
    with any_store.read() as connection:
        found = list(export_rows.pair_rows(connection, audit))
    expected = rows(any_store, "SELECT * FROM audit_pairs ORDER BY pair_id, judge")
    assert [{**row, "created_at": None} for row in found] == [{**row, "created_at": None} for row in expected]
    assert all(row["created_at"].endswith("+00:00") for row in found)


def test_a_pair_comes_with_evidence_transcripts_and_what_judges_say(any_store: Store, audit: str) -> None:
    with any_store.read() as connection:
        first, second = export_rows.exported_pairs(connection, audit)
    assert (first.pair_id, first.near, first.row["gold_pref"], first.row["success_b"]) == ("p1", True, "A", 0)
    assert first.a is not None and [one.content for one in first.a] == ["Hi", "Done."]
    (said,) = first.judges
    assert (said.judge, said.pref, said.status, said.score_b, said.misselected) == ("judge", "B", "decided", 4.0, True)
    assert (second.near, second.a, second.b, second.row["gold_pref"]) == (False, None, None, None)


def test_a_pair_without_a_stated_gap_is_neither_near_nor_wide(any_store: Store) -> None:
    audit = stored(any_store, [pair("p1")])
    with any_store.read() as connection:
        (only,) = export_rows.exported_pairs(connection, audit)
    assert (only.near, only.judges) == (None, ())


def test_all_pairs_come_where_they_are_more_than_are_read_at_once(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_rows, "CHUNK", 3)
    audit = stored(any_store, [pair(f"p{n}", line=n + 1) for n in range(10)])
    with any_store.read() as connection:
        found = [one.pair_id for one in export_rows.exported_pairs(connection, audit)]
    assert found == sorted(f"p{n}" for n in range(10))


def test_an_episode_says_what_evidence_and_its_pairs_say(any_store: Store) -> None:
    said = messages("Hi", "Done.")
    records = [
        pair("p1", episode("x", said=said), episode("y", said=messages("Hi", "No.")), gold=[label("A")]),
        lone(episode("z", passed(True, "model"), said=messages("Hi", "So?")), line=2),
        lone(episode("w", passed(False)), line=3),
    ]
    audit = stored(any_store, records)
    with any_store.read() as connection:
        found = {one.agent: one for one in export_rows.exported_episodes(connection, audit)}
    assert set(found) == {"x", "y", "z"}, "an episode without transcript is none"
    assert (found["x"].better, found["x"].worse, found["x"].success) == (1, 0, None)
    assert (found["y"].better, found["y"].worse) == (0, 1)
    assert found["z"].success is None, "a model's check is no evidence"


def test_a_session_has_one_row_for_each_judge_that_scored_it(any_store: Store) -> None:
    other = SATISFACTION.model_copy(update={"label": "other", "model": "m2"})
    scores = [
        satisfied(0.5),
        satisfied(0.9).model_copy(update={"repeat": 1}),
        satisfied(None, other),
    ]
    logs = [Log(role="user_sim", model="customer-m")]
    one = episode("x", passed(True), satisfaction=scores, logs=logs, input_tokens=7, output_tokens=5)
    audit = stored(any_store, [lone(one), lone(episode("y", passed(True)), line=2)])
    with any_store.read() as connection:
        found = list(export_rows.session_rows(connection, audit, None))
        alone = list(export_rows.session_rows(connection, audit, "other"))
    assert [(row["judge_model"], row["satisfaction"]) for row in found] == [("gate", 0.7), ("other", None)]
    assert (found[0]["sim_user_model"], found[0]["total_tokens"], found[0]["task_success"]) == ("customer-m", 12, 1)
    assert alone == found[1:]
    assert list(found[0]) == list(export_rows.SESSION_COLUMNS)


def test_labels_are_those_of_judges_and_not_of_writers(any_store: Store) -> None:
    writer = Judge(label="writer", form="rubric_generate")
    audit = stored(any_store, [pair("p1", None, None, verdict("A", "AB"))])
    with any_store.write() as connection:
        ensure_judge(connection, audit, writer)
    with any_store.read() as connection:
        assert export_rows.judge_labels(connection, audit) == ["judge"]


def test_text_that_no_file_can_hold_is_replaced(store: Store) -> None:
    audit = stored(store, [Record(line=1, logs=(Log(role="judge", raw_output="a"),))])
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE judge_logs SET raw_output = 'a' || char(0) || 'b'")
    with store.read() as connection:
        (row,) = export_rows.log_rows(connection, audit)
    assert row["raw_output"] == "a\ufffdb"


LOGS, REPLY = 4_000, "x" * 10_000
MOST_BYTES = 8_000_000


def _logs() -> Iterator[Record]:
    for n in range(LOGS):
        yield Record(line=n + 1, logs=(Log(role="judge", raw_output=f"{n} {REPLY}"),))


def test_memory_does_not_grow_with_the_logs(store: Store) -> None:
    with store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "test", _logs())
    with store.read() as connection:
        tracemalloc.start()
        number = sum(1 for _ in export_rows.log_rows(connection, audit))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert number == LOGS
    assert peak < MOST_BYTES < LOGS * len(REPLY) / 4


def test_a_reader_that_stops_early_leaves_no_cursor_behind(any_store: Store, audit: str) -> None:
    def some(connection: Connection) -> list[Any]:
        with closing(export_rows.pair_rows(connection, audit)) as found:
            return list(islice(found, 1))

    with any_store.read() as connection:
        assert len(some(connection)) == 1
        assert len(list(export_rows.task_rows(connection, audit))) == 2


def test_all_that_is_read_over_one_connection_is_of_one_moment(any_store: Store, audit: str) -> None:
    with any_store.read() as connection:
        before = len(list(export_rows.pair_rows(connection, audit)))
        stored(any_store, [pair("p3", episode("x", task="t3"), episode("y", task="t3"), line=3)])
        assert len(list(export_rows.pair_rows(connection, audit))) == before == 2
    with any_store.read() as connection:
        assert len(list(export_rows.pair_rows(connection, audit))) == 3


def test_what_is_made_up_is_counted(any_store: Store, audit: str) -> None:
    with any_store.read() as connection:
        assert export_rows.made_up(connection, audit) == (1, 0, False)
    other = Judge(label="s", form="pairwise", simulated=True)
    made_up = (episode("x", task="t3", simulated=True), episode("y", task="t3"))
    stored(any_store, [pair("p3", *made_up, verdict("A", judge=other), line=3)])
    with any_store.read() as connection:
        assert export_rows.made_up(connection, audit) == (2, 1, True)
        assert export_rows.made_up(connection, "no audit") == (0, 0, False)


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("threshold", [0.5, None])
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0, None])
def test_a_score_satisfies_on_the_good_side_of_the_threshold_and_at_it(
    any_store: Store, better: str, threshold: float | None, score: float | None
) -> None:
    query = f"""
        SELECT CASE WHEN {satisfied_by("s.score")} THEN 1 WHEN NOT {satisfied_by("s.score")} THEN 0 END AS found
        FROM (SELECT CAST(:score AS FLOAT) AS score) s,
            (SELECT CAST(:better AS VARCHAR) AS better, CAST(:threshold AS FLOAT) AS threshold) j
    """
    found = rows(any_store, query, score=score, better=better, threshold=threshold)[0]["found"]
    if score is None or threshold is None:
        assert found is None
    else:
        assert found == int(score <= threshold if better == "lower" else score >= threshold)

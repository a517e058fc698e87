"""Tables with one response per row: grouping, pairing, verdicts from scores, limits."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, Check, Judge, Record, Satisfaction, Verdict
from misjudge_tools.interchange import per_response
from misjudge_tools.interchange.table import parse_mapping, preview_table, read_table

Table = Callable[..., list[Record]]


def write(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Table:
    def read(rows: Sequence[dict[str, Any]], *options: str) -> list[Record]:
        found = list(read_table(write(tmp_path, rows), parse_mapping(options, (), True)))
        assert all(isinstance(record, Record) for record in found), found
        return [record for record in found if isinstance(record, Record)]

    return read


def sides(record: Record) -> tuple[str, ...]:
    return tuple(episode.trajectory.agent for episode in record.episodes)


def outcomes(record: Record) -> list[tuple[str, str | None]]:
    return [(verdict.judge.label, verdict.winner) for verdict in record.verdicts]


def satisfied(record: Record, side: int) -> list[tuple[str, float | None, int]]:
    return [(s.judge.label, s.score, s.repeat) for s in record.episodes[side].satisfaction]


def test_the_responses_of_a_task_are_paired_each_with_each_though_scattered(table: Table) -> None:
    rows = [
        {"task": "t1", "prompt": "p", "agent": "x", "response": "one", "score": 3, "reward": 1, "success": "yes"},
        {"task": "t2", "prompt": "q", "agent": "x", "response": "other", "score": 1},
        {"task": "t1", "prompt": "p", "agent": "y", "response": "two", "score": 4, "reward": 0},
        {"task": "t1", "prompt": "p", "agent": "z", "response": "three", "score": 3},
        {"task": "t2", "prompt": "q", "agent": "y", "response": "more", "score": None},
    ]
    records = table(rows)
    assert [(r.task.task_id if r.task else "", sides(r), outcomes(r)) for r in records] == [
        ("t1", ("x", "y"), [("score", "B")]),
        ("t1", ("x", "z"), [("score", "tie")]),
        ("t1", ("y", "z"), [("score", "A")]),
        ("t2", ("x", "y"), [("score", None)]),
    ]
    first, last = records[0], records[-1]
    assert first.line == 3 and first.pair is not None and first.pair.pair_id is None
    assert first.episodes[0].checks == (
        Check(verifier="reward", source="reward", reward=1.0),
        Check(verifier="success", source="label", passed=True),
    )
    rater = Judge(label="score", form="satisfaction", origin="imported", model="score")
    assert first.episodes[0].satisfaction == (Satisfaction(judge=rater, score=3.0),)
    assert last.episodes[1].satisfaction == (Satisfaction(judge=rater, unscored_reason="parse_error"),)
    comparer = Judge(label="score", form="pairwise", origin="imported", model="score")
    assert first.verdicts == (Verdict(judge=comparer, winner="B", score_a=3.0, score_b=4.0),)
    assert last.verdicts == (Verdict(judge=comparer, status="unscored", unscored_reason="parse_error", score_a=1.0),)


def test_rows_of_several_judges_meet_in_one_response(table: Table) -> None:
    rows = [
        {"prompt": "p", "agent": agent, "response": text, "judge": judge, "score": score}
        for agent, text, judge, score in (
            ("x", "one", "gpt", 1),
            ("x", "one", "llama", 5),
            ("y", "two", "gpt", 2),
            ("y", "two", "llama", 4),
            ("y", "two", "gpt", 0),
        )
    ]
    (record,) = table(rows)
    assert outcomes(record) == [("gpt", "B"), ("llama", "A")]
    assert satisfied(record, 1) == [("gpt", 2.0, 0), ("gpt", 0.0, 1), ("llama", 4.0, 0)]


def test_repeated_scores_of_both_sides_are_repeats(table: Table) -> None:
    rows = [
        {"prompt": "p", "agent": agent, "response": agent, "score": score}
        for agent, score in (("x", 1), ("y", 2), ("x", 3), ("y", 2))
    ]
    (record,) = table(rows)
    assert [(v.repeat, v.winner) for v in record.verdicts] == [(0, "B"), (1, "A")]


def test_several_score_columns_are_several_judges(table: Table) -> None:
    rows = [{"task": "t", "response": "one", "g": 1, "l": 2}, {"task": "t", "response": "two", "g": 2, "l": 1}]
    (record,) = table(rows, "score=g+l")
    assert outcomes(record) == [("g", "B"), ("l", "A")]
    assert sides(record) == ("response", "response")


def test_a_judge_that_scored_one_side_only_leaves_the_pair_unscored(table: Table) -> None:
    rows = [
        {"task": "t", "response": "one", "judge": "gpt", "score": 1},
        {"task": "t", "response": "two", "judge": "llama", "score": 1},
    ]
    (record,) = table(rows)
    assert [(v.judge.label, v.status) for v in record.verdicts] == [("gpt", "unscored"), ("llama", "unscored")]


def test_without_texts_rows_are_numbered_as_attempts_of_their_agent(table: Table) -> None:
    rows = [
        {"task": "t", "agent": agent, "judge": judge, "score": score}
        for agent, judge, score in (("x", "g", 1), ("x", "l", 2), ("y", "g", 3), ("x", "g", 4))
    ]
    records = table(rows)
    attempts = [tuple((e.trajectory.agent, e.trajectory.trial) for e in record.episodes) for record in records]
    assert attempts == [(("x", 0), ("y", 0)), (("x", 0), ("x", 1)), (("y", 0), ("x", 1))]
    assert satisfied(records[0], 0) == [("g", 1.0, 0), ("l", 2.0, 0)]
    ids = [record.pair.pair_id for record in records if record.pair]
    assert None not in ids and len(set(ids)) == 3
    assert [record.pair.trial for record in records if record.pair] == [0, None, None]


def test_a_stated_trial_keeps_attempts_apart(table: Table) -> None:
    rows = [{"task": "t", "agent": "x", "trial": trial, "reward": trial} for trial in (0, 1)]
    (record,) = table(rows)
    assert [e.trajectory.trial for e in record.episodes] == [0, 1]
    assert record.verdicts == ()


def test_equal_texts_and_lone_responses_are_kept_without_a_pair(table: Table) -> None:
    rows = [
        {"task": "t", "agent": "x", "response": "same", "score": 1},
        {"task": "t", "agent": "y", "response": "same", "score": 2},
        {"task": "u", "agent": "x", "response": "alone", "score": 3},
    ]
    records = table(rows)
    assert [(sides(record), record.pair) for record in records] == [(("x",), None), (("y",), None), (("x",), None)]
    assert [record.line for record in records] == [1, 2, 3]


def test_bad_rows_come_first_with_their_lines(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"task": "t", "response": "one", "score": 1},
        {"task": "t", "response": "two", "score": "bad"},
        {"task": "t", "response": "three", "score": 1, "agent": "x" * 401},
        {"task": "t", "response": "four", "score": 2},
    ]
    found = list(read_table(write(tmp_path, rows), parse_mapping((), (), True)))
    assert found[:2] == [
        BadRecord(2, "column 'score' does not hold a number; write it like 3.5, or leave the cell empty"),
        BadRecord(3, "agent: string should have at most 400 characters"),
    ]
    assert len(found) == 3 and isinstance(found[2], Record)


def test_a_preview_of_responses_names_bad_rows(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"task": "t", "score": 1}, {"task": "t", "score": "x"}]
    preview = preview_table(write(tmp_path, rows), parse_mapping((), (), True))
    assert [row.problem is None for row in preview.rows] == [True, False]
    assert [(cell.role, cell.text) for cell in preview.rows[0].cells] == [("task", "t"), ("score", "1")]


def test_a_task_with_too_many_responses_is_refused(tmp_path: Path) -> None:
    rows = [{"task": "t", "score": 1} for _ in range(per_response.MAX_RESPONSES + 1)]
    with pytest.raises(InvalidInput, match="line 501: a task has more than 500 responses"):
        list(read_table(write(tmp_path, rows), parse_mapping((), (), True)))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_a_full_temporary_folder_is_said(tmp_path: Path) -> None:
    import resource

    rows = [{"task": f"t{i}", "response": "x" * 100_000, "score": 1} for i in range(80)]
    path = write(tmp_path, rows)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(InvalidInput, match="the temporary folder has no room"):
            list(read_table(path, parse_mapping((), (), True)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@given(st.lists(st.none() | st.floats(-5, 5), min_size=2, max_size=6))
def test_the_order_of_rows_turns_verdicts_but_changes_none(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float | None]
) -> None:
    rows = [{"task": "t", "agent": f"a{i}", "response": f"r{i}", "score": score} for i, score in enumerate(scores)]
    folder = tmp_path_factory.mktemp("responses")
    turn = {"A": "B", "B": "A", "tie": "tie", None: None}

    def verdicts(ordered: list[dict[str, Any]]) -> dict[tuple[str, ...], str | None]:
        records = read_table(write(folder, ordered), parse_mapping((), (), True))
        return {sides(r): r.verdicts[0].winner for r in records if isinstance(r, Record)}

    forward, backward = verdicts(rows), verdicts(rows[::-1])
    assert len(forward) == len(rows) * (len(rows) - 1) // 2
    assert {(b, a): turn[winner] for (a, b), winner in backward.items()} == forward

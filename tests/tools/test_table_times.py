"""When the episodes of a table took place, and what people say of its responses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.errors import BadRecords, InvalidInput
from misjudge_storage.types import BadRecord, Check, Record, RecordError, Scale
from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.interchange.table import parse_mapping, preview_table, read_table
from misjudge_tools.interchange.table_cells import moment, yes_or_no
from misjudge_tools.interchange.trajectories import read_trajectories
from misjudge_tools.requests import ImportRequest
from operations import count, rows

NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)
MIDNIGHT = datetime(2025, 1, 31, tzinfo=UTC)


def write(folder: Path, made: Sequence[dict[str, Any]]) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path


def read(folder: Path, made: Sequence[dict[str, Any]], *options: str, **facts: Any) -> list[Record | BadRecord]:
    return list(read_table(write(folder, made), parse_mapping(options, (), facts.pop("per_response", True), **facts)))


def times(found: Sequence[Record | BadRecord]) -> list[datetime | None]:
    return [
        one.trajectory.occurred_at for record in found if isinstance(record, Record) for one in record.episodes
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2025-01-31T12:00:00+00:00", NOON),
        ("2025-01-31T12:00:00Z", NOON),
        ("2025-01-31 12:00:00", NOON),
        ("2025-01-31 12:00:00.000 UTC", NOON),
        (" 2025-01-31T14:00+02:00 ", NOON),
        ("2025-01-31", MIDNIGHT),
        ("20250131", MIDNIGHT),
        ("20250131T120000Z", NOON),
        ("1738324800", NOON),
        (1738324800, NOON),
        (1738324800.0, NOON),
        ("1738324800000", NOON),
        (1738324800000, NOON),
        ("", None),
        (None, None),
    ],
)
def test_times_are_read_in_iso_8601_and_as_seconds_and_milliseconds(written: Any, expected: datetime | None) -> None:
    assert moment("when", written) == expected


@pytest.mark.parametrize(
    "written",
    [
        *("yesterday", "31/01/2025", "12:00", "3.5", "0", 12, "100000000", "9999999999999", True, ["2025-01-31"]),
        *("١٢٣٤٥٦٧٨٩", "0001-01-01T00:00:00+23:00", "2025-02-30"),
    ],
)  # fmt: skip
def test_what_is_no_time_is_a_bad_cell(written: Any) -> None:
    with pytest.raises(RecordError, match=r"^column 'when' must hold a time such as 2025-01-31T12:00:00\+00:00 or "):
        moment("when", written)


@pytest.mark.parametrize(
    ("said", "meant"), [("是", True), ("否", False), ("成功", True), ("不通过", False), ("１", True)]
)
def test_yes_and_no_are_read_in_chinese_too(said: str, meant: bool) -> None:
    assert yes_or_no("c", said) is meant


@pytest.mark.parametrize("column", ["created_at", "timestamp", "Time", "date", "dateTime", "occurred-at"])
def test_a_column_of_times_is_guessed_by_its_name(tmp_path: Path, column: str) -> None:
    made = [{"task": "t", "agent": agent, "response": agent, "score": 1, column: "2025-01-31"} for agent in "xy"]
    assert times(read(tmp_path, made)) == [MIDNIGHT, MIDNIGHT]
    assert times(read(tmp_path, made, "time=")) == [None, None]
    pairs = [{"a": "one", "b": "two", "winner": "A", column: "2025-01-31"}]
    assert times(read(tmp_path, pairs, per_response=False)) == [MIDNIGHT, MIDNIGHT]


def test_a_column_of_durations_is_no_time(tmp_path: Path) -> None:
    made = [{"a": "one", "b": "two", "winner": "A", "time": 3.5}, {"a": "x", "b": "y", "winner": "B", "time": 4}]
    assert times(read(tmp_path, made, per_response=False)) == [None] * 4
    (first, *_) = read(tmp_path, made, "time=time", per_response=False)
    assert isinstance(first, BadRecord) and "must hold a time" in first.problem


async def test_a_time_that_cannot_be_read_is_a_bad_record(deps: Deps, tmp_path: Path) -> None:
    made = [{"a": "one", "b": n, "winner": "A", "time": at} for n, at in enumerate(("2025-01-31", "", None, "soon"))]
    asked = {"audit": "a", "format": "table", "paths": [str(write(tmp_path, made))]}
    with pytest.raises(BadRecords, match="line 4: column 'time' must hold a time"):
        await import_records(ImportRequest.model_validate(asked), deps)
    await import_records(ImportRequest.model_validate({**asked, "skip_bad": True}), deps)
    stored = rows(deps.store, "SELECT occurred_at AS at FROM trajectories WHERE occurred_at IS NOT NULL")
    assert [row["at"][:19] for row in stored] == ["2025-01-31 00:00:00"] * 2
    assert count(deps.store, "trajectories") == 6


async def test_importing_a_table_with_times_again_changes_nothing(deps: Deps, tmp_path: Path) -> None:
    made = [{"task": "t", "agent": agent, "score": 1, "time": "2025-01-31"} for agent in "xy"]
    asked = ImportRequest(audit="a", format="table", paths=[str(write(tmp_path, made))], per_response=True)
    first, again = await import_records(asked, deps), await import_records(asked, deps)
    assert first.files[0].added["trajectories"] == 2 and not any(again.files[0].added.values())


def test_a_time_does_not_change_which_pair_it_is(tmp_path: Path) -> None:
    made: list[dict[str, Any]] = [{"task": "t", "agent": agent, "score": 1} for agent in "xy"]
    (plain,) = read(tmp_path, made)
    (timed,) = read(tmp_path, [{**row, "time": "2025-01-31"} for row in made])
    assert isinstance(plain, Record) and isinstance(timed, Record)
    assert plain.pair == timed.pair and plain.pair is not None and plain.pair.pair_id is not None


def test_of_several_rows_of_one_response_the_earliest_time_is_kept(tmp_path: Path) -> None:
    days = ("2025-02-02", None, "2025-01-31")
    made = [
        {"prompt": "p", "agent": "x", "response": "r", "score": 1, "judge": str(n), "date": day}
        for n, day in enumerate(days)
    ]
    assert times(read(tmp_path, made)) == [MIDNIGHT]


def test_what_people_say_of_a_response_is_a_check_of_their_own(tmp_path: Path) -> None:
    made = [
        {"task": "t", "agent": agent, "score": 1, "human_label": said} for agent, said in (("x", "是"), ("y", None))
    ]
    (record,) = read(tmp_path, made)
    assert isinstance(record, Record)
    assert [one.checks for one in record.episodes] == [
        (Check(verifier="human_label", source="human", passed=True),),
        (),
    ]
    (bad, _) = read(tmp_path, [{**made[0], "human_label": "perhaps"}, made[1]], "human=human_label")
    assert isinstance(bad, BadRecord) and "must hold true or false" in bad.problem


def test_people_alone_are_enough_of_a_table(tmp_path: Path) -> None:
    made = [{"task": "t", "agent": agent, "human": "1"} for agent in "xy"]
    (record,) = read(tmp_path, made)
    assert isinstance(record, Record) and all(one.checks for one in record.episodes)


def test_a_column_called_human_that_names_sides_is_not_taken_for_yes_and_no(tmp_path: Path) -> None:
    made = [{"task": "t", "agent": agent, "score": 1, "human": "A is better"} for agent in "xy"]
    (record,) = read(tmp_path, made)
    assert isinstance(record, Record) and not any(one.checks for one in record.episodes)


def test_the_scale_of_scores_can_be_stated(tmp_path: Path) -> None:
    made = [{"task": "t", "agent": agent, "score": score} for agent, score in (("x", 5), ("y", 1))]
    (record,) = read(tmp_path, made, scale="1-5:4")
    assert isinstance(record, Record)
    assert {one.judge.scale for episode in record.episodes for one in episode.satisfaction} == {
        Scale(low=1, high=5, threshold=4)
    }
    (bad, _) = read(tmp_path, made, scale="2-6:4")
    assert bad == BadRecord(2, "column 'score' holds a score that is not on the scale from 2 to 6")
    with pytest.raises(InvalidInput, match="needs --per-response"):
        parse_mapping((), (), False, "1-5:4")


def test_a_preview_shows_how_times_are_read(tmp_path: Path) -> None:
    made = [{"a": "one", "b": "two", "winner": "A", "when": at} for at in (1738324800, "soon", None)]
    shown = preview_table(write(tmp_path, made), parse_mapping(("time=when",), (), False))
    cells = [next(cell for cell in row.cells if cell.role == "time") for row in shown.rows]
    assert [(cell.text, cell.reading) for cell in cells] == [
        ("1738324800", "2025-01-31T12:00:00+00:00"),
        ("soon", None),
        ("", None),
    ]
    assert shown.rows[1].problem is not None


@pytest.mark.parametrize("name", ["occurred_at", "timestamp", "created_at"])
def test_trajectories_say_when_they_took_place(tmp_path: Path, name: str) -> None:
    said = [{"role": "assistant", "content": "Done."}]
    made = [{"task_id": "t", "agent": "x", "messages": said, name: "2025-01-31T12:00:00Z"}]
    assert times(list(read_trajectories(write(tmp_path, made)))) == [NOON]
    (bad,) = read_trajectories(write(tmp_path, [{**made[0], name: "soon"}]))
    assert isinstance(bad, BadRecord) and name in bad.problem


@pytest.mark.parametrize("written", [0, 10000, -1, 2025, 3.5])
def test_a_number_that_is_no_time_of_our_days_is_refused_with_what_is_allowed(written: float) -> None:
    with pytest.raises(RecordError, match=r"seconds or milliseconds since 1970 that falls in the years 1990 to 2100"):
        moment("when", written)


def test_the_scale_of_the_scores_of_pairs_can_be_stated(tmp_path: Path) -> None:
    made = [{"task": "t", "a": "x", "b": "y", "score_a": 7, "score_b": 2}]
    (record,) = read(tmp_path, made, per_response=False, score_range="0-10")
    assert isinstance(record, Record)
    assert [one.judge.scale for one in record.verdicts] == [Scale(low=0, high=10)]
    (bad,) = read(tmp_path, made, per_response=False, score_range="0-5")
    assert bad == BadRecord(1, "column 'score_a' holds a score that is not on the scale from 0 to 5")
    with pytest.raises(InvalidInput, match="is of pairs"):
        parse_mapping((), (), True, score_range="0-5")

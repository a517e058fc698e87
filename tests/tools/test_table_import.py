"""Tables with one pair per row: every option, every value, every bad line with its sentence."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, Check, GoldLabel, Judge, Log, Message, Record, Verdict
from misjudge_tools.interchange.table import parse_mapping, preview_table, read_table

Table = Callable[..., list[Record | BadRecord]]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        if path.suffix == ".csv":
            writer = csv.DictWriter(handle, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        else:
            handle.writelines(json.dumps(row) + "\n" for row in rows)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Table:
    def read(
        rows: Sequence[dict[str, Any]], *options: str, values: Sequence[str] = (), name: str = "table.csv"
    ) -> list[Record | BadRecord]:
        path = write(tmp_path / name, rows)
        return list(read_table(path, parse_mapping(options, values, False)))

    return read


def only(records: list[Record | BadRecord]) -> Record:
    (record,) = records
    assert isinstance(record, Record), record
    return record


def problem(records: list[Record | BadRecord]) -> str:
    (record,) = records
    assert isinstance(record, BadRecord), record
    assert record.line == 2
    return record.problem


def judge(label: str) -> Judge:
    return Judge(label=label, form="pairwise", origin="imported", model=label)


def scored(label: str, winner: Any, **other: Any) -> Verdict:
    return Verdict(judge=judge(label), winner=winner, **other)


def unread(label: str, **other: Any) -> Verdict:
    return Verdict(judge=judge(label), status="unscored", unscored_reason="parse_error", **other)


def test_a_whole_row_becomes_one_record(table: Table) -> None:
    row = {
        **{"question_id": "q1", "prompt": "Book it", "response_a": "Done", "response_b": "No", "winner": "A"},
        **{"label": "B", "order": "BA", "judge": "gpt", "trial": "3", "pair_id": "p", "category": "c", "subset": "s"},
        **{"criteria": "booked", "model_a": "x", "model_b": "y", "score_a": "4.5", "score_b": "2", "reward_a": "1"},
        **{"reward_b": "0.5", "success_a": "yes", "success_b": "0", "reasons": "why", "judge_input_tokens": "10"},
        **{"judge_output_tokens": "5", "judge_cost": "0.01"},
    }
    record = only(table([row]))
    a, b = record.episodes
    assert record.line == 2
    assert record.task is not None and record.task.model_dump(exclude_defaults=True) == {
        **{"task_id": "q1", "prompt": "Book it", "success_criteria": "booked", "category": "c", "subset": "s"},
    }
    assert [(e.trajectory.task_id, e.trajectory.agent, e.trajectory.trial) for e in (a, b)] == [
        ("q1", "x", 3),
        ("q1", "y", 3),
    ]
    assert a.trajectory.messages == (
        Message(role="user", content="Book it"),
        Message(role="assistant", content="Done"),
    )
    assert a.checks == (
        Check(verifier="reward", source="reward", reward=1.0),
        Check(verifier="success", source="label", passed=True),
    )
    assert b.checks == (
        Check(verifier="reward", source="reward", reward=0.5),
        Check(verifier="success", source="label", passed=False),
    )
    assert record.pair is not None and (record.pair.pair_id, record.pair.trial) == ("p", 3)
    assert record.gold == (GoldLabel(labeller="label", pref="B", source="label"),)
    assert record.verdicts == (scored("gpt", "A", order="BA", score_a=4.5, score_b=2.0, reasons="why"),)
    assert record.logs == (
        Log(model="gpt", order_shown="BA", input_tokens=10, output_tokens=5, est_cost=0.01, price_source="imported"),
    )


def test_a_winner_alone_is_enough(table: Table) -> None:
    record = only(table([{"w": "tie", "x": "1"}], "winner=w"))
    assert record.verdicts == (scored("w", "tie"),)
    assert record.gold == ()
    assert record.logs == ()
    assert [e.trajectory.agent for e in record.episodes] == ["A", "B"]
    assert all(e.trajectory.messages is None and e.trajectory.trial is None for e in record.episodes)
    assert record.task is not None and record.task.task_id == "row-2"
    assert record.pair is not None and record.pair.pair_id is None


def test_several_annotators_and_several_judges_are_named_by_their_columns(table: Table) -> None:
    row = {"ann1": "A", "ann2": "b", "ann3": "dunno", "gpt": "tie", "llama": ""}
    record = only(table([row], "gold=ann1+ann2+ann3,winner=gpt+llama"))
    assert record.gold == (
        GoldLabel(labeller="ann1", pref="A", source="human"),
        GoldLabel(labeller="ann2", pref="B", source="human"),
    )
    assert record.verdicts == (scored("gpt", "tie"), unread("llama"))


def test_a_single_judge_is_named_by_the_row_else_by_the_column(table: Table) -> None:
    records = table([{"winner": "A", "judge": " gpt "}, {"winner": "A", "judge": ""}])
    labels = [record.verdicts[0].judge.label for record in records if isinstance(record, Record)]
    assert labels == ["gpt", "winner"]


@pytest.mark.parametrize(
    ("cell", "winner"),
    [
        *((text, "A") for text in ("A", " a ", "Ａ", "model_a", "Model A", "response-a", "A>B", "A>>B", "[[A]]")),
        *((text, "B") for text in ("b", "ASSISTANT_B", "b>a", "[[B]]", "[[B>>A]]", "output b")),
        *((text, "tie") for text in ("Tie", "tie (bothbad)", "both_bad", "A=B", "[[C]]", "[[A=B]]", "equal")),
    ],
)
def test_common_values_are_read_without_being_told(table: Table, cell: str, winner: str) -> None:
    record = only(table([{"winner": cell, "gold": cell}]))
    assert record.verdicts == (scored("winner", winner),)
    assert [label.pref for label in record.gold] == [winner]


@pytest.mark.parametrize("cell", ["", "  ", "1", "2", "0", "1.0", "C", "AB", "none", "A because it is nicer", "[[A"])
def test_any_other_value_is_unscored_and_no_label(table: Table, cell: str) -> None:
    record = only(table([{"winner": cell, "gold": cell, "order": "AB", "reasons": "r"}]))
    assert record.verdicts == (unread("winner", order="AB", reasons="r"),)
    assert record.gold == ()


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_given_values_replace_the_common_ones(table: Table, name: str) -> None:
    rows = [{"winner": 1, "gold": "2"}, {"winner": 2.0, "gold": " X "}, {"winner": "0", "gold": "model_a"}]
    records = table(rows, values=("1=A,2=B,0=tie", "gold:x=tie"), name=name)
    assert [record.verdicts[0].winner for record in records if isinstance(record, Record)] == ["A", "B", "tie"]
    assert [[label.pref for label in record.gold] for record in records if isinstance(record, Record)] == [
        [],
        ["tie"],
        [],
    ]


@pytest.mark.parametrize(
    ("column", "cell", "order"),
    [
        *(("order", cell, "AB") for cell in ("AB", "a = left", "A=left", "original")),
        *(("order", cell, "BA") for cell in ("ba", "A=right", "swapped")),
        *(("is_swapped", cell, "BA") for cell in ("1", "true", "Yes")),
        *(("Flipped", cell, "BA") for cell in ("1", "TRUE", "yes")),
        *(("reversed", cell, "AB") for cell in ("0", "false", "No")),
        *(("swapped", cell, "AB") for cell in ("0", "FALSE", "no")),
        ("order", "", None),
    ],
)
def test_the_order_shown_is_read_and_leaves_the_sides_alone(table: Table, column: str, cell: str, order: str) -> None:
    record = only(table([{"winner": "A", column: cell}], f"order={column}"))
    assert record.verdicts == (scored("winner", "A", order=order),)


def test_without_a_winner_column_the_higher_score_wins(table: Table) -> None:
    rows = [{"score_a": a, "score_b": b} for a, b in (("2", "1"), ("1", "1.5"), ("3", "3.0"), ("3", ""))]
    records = [record for record in table(rows) if isinstance(record, Record)]
    assert [record.verdicts for record in records] == [
        (scored("scores", "A", score_a=2.0, score_b=1.0),),
        (scored("scores", "B", score_a=1.0, score_b=1.5),),
        (scored("scores", "tie", score_a=3.0, score_b=3.0),),
        (unread("scores"),),
    ]


def test_a_winner_against_its_own_scores_is_flagged(table: Table) -> None:
    rows = [
        {"winner": winner, "score_a": a, "score_b": b}
        for winner, a, b in (("A", 1, 2), ("B", 2, 1), ("A", 2, 1), ("tie", 1, 2), ("A", 1, 1), ("A", 1, ""))
    ]
    flags = [record.verdicts[0].contradicts_scores for record in table(rows) if isinstance(record, Record)]
    assert flags == [True, True, False, False, False, False]


def test_one_sided_columns_name_their_own_verifier(table: Table) -> None:
    record = only(table([{"winner": "A", "r": "1", "passed": "no"}], "reward_a=r,success_b=passed"))
    assert record.episodes[0].checks == (Check(verifier="r", source="reward", reward=1.0),)
    assert record.episodes[1].checks == (Check(verifier="passed", source="label", passed=False),)
    record = only(table([{"winner": "A", "x": "1", "y": "0"}], "reward_a=x,reward_b=y"))
    assert [episode.checks[0].verifier for episode in record.episodes] == ["reward", "reward"]


def test_the_same_prompt_is_the_same_task_and_the_same_pair_keeps_no_id(table: Table) -> None:
    base = {"prompt": "p", "a": "x", "b": "y"}
    rows = [{**base, "order": "AB", "winner": "A"}, {**base, "order": "BA", "winner": "B"}]
    first, second = (record for record in table(rows) if isinstance(record, Record))
    assert (first.task, first.episodes, first.pair) == (second.task, second.episodes, second.pair)
    assert first.task is not None and first.task.task_id.startswith("task_")
    other = only(table([{**base, "prompt": "q", "order": "", "winner": ""}]))
    assert other.task != first.task


def test_rows_of_one_pair_id_share_their_task_and_sides(table: Table) -> None:
    rows = [{"pair_id": "p", "order": order, "winner": "A"} for order in ("AB", "BA")]
    first, second = (record for record in table(rows) if isinstance(record, Record))
    assert (first.task, first.episodes, first.pair) == (second.task, second.episodes, second.pair)
    assert first.task is not None and first.task.task_id == "p"


def test_json_values_that_are_not_text_stay_readable(table: Table) -> None:
    chat = [{"role": "assistant", "content": "hé"}]
    record = only(table([{"a": chat, "b": None, "winner": "A", "task_id": 7}], name="t.jsonl"))
    a, b = record.episodes
    assert a.trajectory.messages is not None and json.loads(a.trajectory.messages[0].content) == chat
    assert "é" in a.trajectory.messages[0].content
    assert b.trajectory.messages is None
    assert record.task is not None and record.task.task_id == "7"


def test_a_json_array_and_tsv_are_tables_too(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('[{"winner": "A"}, 3]', encoding="utf-8")
    (tmp_path / "t.tsv").write_text("winner\tnote\nA\tx, y; z\n", encoding="utf-8")
    mapping = parse_mapping((), (), False)
    record, bad = read_table(tmp_path / "t.json", mapping)
    assert isinstance(record, Record) and record.verdicts == (scored("winner", "A"),)
    assert bad == BadRecord(2, "is not a JSON object")
    assert only(list(read_table(tmp_path / "t.tsv", mapping))).verdicts == (scored("winner", "A"),)


def test_a_key_that_some_json_records_lack_is_an_empty_cell(table: Table) -> None:
    rows: list[dict[str, Any]] = [{"winner": "A"}, {"gold": "B"}]
    first, second = table(rows, name="t.jsonl")
    assert isinstance(first, Record) and first.gold == ()
    assert isinstance(second, Record) and second.verdicts == (unread("winner"),)


@pytest.mark.parametrize("column", ["score_a", "score_b", "reward_a", "reward_b", "judge_cost"])
@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("NaN", "holds nan; leave the cell empty where there is no number"),
        ("-inf", "holds -inf; leave the cell empty where there is no number"),
        ("1e999", "holds a number too large to be read"),
        ("4/5", "does not hold a number; write it like 3.5, or leave the cell empty"),
        ("1,5", "does not hold a number; write it like 3.5, or leave the cell empty"),
        ("1_0", "does not hold a number; write it like 3.5, or leave the cell empty"),
    ],
)
def test_a_number_that_is_none_is_named_by_its_column(table: Table, column: str, cell: str, said: str) -> None:
    role = column.removeprefix("judge_")
    assert problem(table([{"winner": "A", column: cell}], f"{role}={column}")) == f"column {column!r} {said}"


@pytest.mark.parametrize("value", [True, [1], "x"])
def test_a_json_score_that_is_no_number_is_refused(table: Table, value: Any) -> None:
    (bad,) = table([{"winner": "A", "score_a": value, "score_b": 1}], name="t.jsonl")
    assert bad == BadRecord(1, "column 'score_a' does not hold a number; write it like 3.5, or leave the cell empty")


@pytest.mark.timeout(20)
def test_a_long_cell_that_almost_is_a_number_is_refused_at_once(table: Table) -> None:
    assert "does not hold a number" in problem(table([{"winner": "A", "score_a": "1" * 2_000_000 + "x", "score_b": 1}]))


@pytest.mark.timeout(20)
def test_a_header_of_very_many_columns_is_read_at_once(table: Table) -> None:
    record = only(table([{"winner": "A", **{f"column{number}": "" for number in range(200_000)}}]))
    assert [verdict.winner for verdict in record.verdicts] == ["A"]


def test_a_huge_json_number_is_refused(table: Table) -> None:
    (bad,) = table([{"winner": "A", "score_a": 10**310, "score_b": 1}], name="t.jsonl")
    assert bad == BadRecord(1, "column 'score_a' holds a number too large to be read")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"trial": "-1"}, "column 'trial' must hold a whole number from 0 up, or nothing"),
        ({"trial": "1.5"}, "column 'trial' must hold a whole number from 0 up, or nothing"),
        ({"judge_input_tokens": "1e300"}, "column 'judge_input_tokens' must hold a whole number from 0 up"),
        ({"judge_cost": "-1"}, "est_cost: input should be greater than or equal to 0"),
        ({"success_a": "maybe", "success_b": ""}, "column 'success_a' must hold true or false"),
        ({"order": "1"}, "column 'order' must hold AB or BA"),
        ({"order": "left"}, "column 'order' must hold AB or BA"),
        ({"a": "same", "b": "same"}, "both sides hold the same response, so neither can be better"),
        ({"agent_a": "m", "agent_b": "m", "trial": "1"}, "both sides are the same trial of the same agent"),
        ({"task_id": "x" * 401}, "task_id: string should have at most 400 characters"),
        ({"judge": "x" * 401}, "label: string should have at most 400 characters"),
    ],
)
def test_a_row_that_cannot_be_true_is_refused_with_its_line(table: Table, row: dict[str, str], said: str) -> None:
    assert problem(table([{"winner": "A", **row}])).startswith(said)


def test_same_agents_and_empty_or_unmapped_texts_are_no_contradiction(table: Table) -> None:
    same = only(table([{"winner": "A", "agent_a": "m", "agent_b": "m"}]))
    assert [episode.trajectory.agent for episode in same.episodes] == ["m", "m"]
    empty = only(table([{"winner": "A", "a": "", "b": " "}]))
    assert [verdict.winner for verdict in empty.verdicts] == ["A"]


def test_bad_lines_do_not_hide_the_good_ones(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("winner,score_a,score_b\nA\nB,x,1\nA,2,1\n", encoding="utf-8")
    records = list(read_table(path, parse_mapping((), (), False)))
    assert [record.line for record in records] == [2, 3, 4]
    assert [isinstance(record, BadRecord) for record in records] == [True, True, False]


def test_a_file_without_any_readable_record_names_the_first(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("winner,gold\nA\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"no record can be read\. Line 2: has 1 cells where the header row has 2\."):
        list(read_table(path, parse_mapping((), (), False)))


def test_a_preview_shows_the_mapping_the_first_rows_and_what_stays_unread(tmp_path: Path) -> None:
    rows = [
        {"prompt": "p " * 100, "winner": "A", "gold": "?", "order": "BA", "note": "n"},
        {"prompt": "q", "winner": "1", "gold": "B", "order": "what", "note": "n"},
        {"prompt": "r", "winner": "tie", "gold": "", "order": "", "note": "n"},
        {"prompt": "s", "winner": "tie", "gold": "", "order": "", "note": "n"},
    ]
    preview = preview_table(write(tmp_path / "t.csv", rows), parse_mapping((), (), False))
    assert preview.kind == "csv"
    assert preview.unread_columns == ("note",)
    assert preview.mapping.names("winner") == ("winner",)
    assert [row.line for row in preview.rows] == [2, 3, 4]
    first, second, _ = preview.rows
    assert {cell.role: cell.reading for cell in first.cells} == {
        **{"prompt": None, "winner": "A", "gold": None, "order": "BA"},
    }
    assert first.problem is None and len(first.cells[0].text) == 80
    assert {cell.role: (cell.text, cell.reading) for cell in second.cells}["winner"] == ("1", None)
    assert second.problem is not None and second.problem.startswith("column 'order' must hold AB or BA")


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "prompt": _TEXT,
            "a": _TEXT,
            "b": _TEXT.map(lambda text: text + "!"),
            "winner": st.sampled_from(["A", "B", "tie", "unreadable"]),
            "gold": st.sampled_from(["A", "B", "tie"]),
            "order": st.sampled_from(["AB", "BA", ""]),
            "score_a": st.none() | st.floats(0, 5),
            "score_b": st.none() | st.floats(0, 5),
        }
    ).filter(lambda row: row["a"] != row["b"]),
    min_size=1,
    max_size=4,
)


def told(record: Record | BadRecord) -> dict[str, Any]:
    assert isinstance(record, Record) and record.task is not None
    (verdict,) = record.verdicts
    texts = [e.trajectory.messages[-1].content if e.trajectory.messages else "" for e in record.episodes]
    return {
        "prompt": record.task.prompt,
        "texts": [text if text.strip() else "" for text in texts],
        "winner": verdict.winner,
        "scores": (verdict.score_a, verdict.score_b),
        "order": verdict.order,
        "gold": [label.pref for label in record.gold],
    }


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@given(rows=_ROWS)
def test_a_written_table_is_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, rows: list[dict[str, Any]]
) -> None:
    path = write(tmp_path_factory.mktemp("table") / f"t.{suffix}", rows)
    expected = [
        {
            "prompt": row["prompt"],
            "texts": [row[side] if row[side].strip() else "" for side in "ab"],
            "winner": None if row["winner"] == "unreadable" else row["winner"],
            "scores": (None, None) if row["winner"] == "unreadable" else (row["score_a"], row["score_b"]),
            "order": row["order"] or None,
            "gold": [row["gold"]],
        }
        for row in rows
    ]
    assert [told(record) for record in read_table(path, parse_mapping((), (), False))] == expected


@given(rows=_ROWS)
def test_swapping_the_columns_swaps_the_verdict(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("swap")
    path = write(folder / "t.csv", rows)
    swapped = ("a=b,b=a,score_a=score_b,score_b=score_a",)
    plain = list(read_table(path, parse_mapping((), (), False)))
    turned = list(read_table(path, parse_mapping(swapped, ("A=B,B=A,tie=tie",), False)))
    other = {"A": "B", "B": "A", "tie": "tie", None: None}
    for one, two in zip(plain, turned, strict=True):
        first, second = told(one), told(two)
        assert first["texts"] == second["texts"][::-1]
        assert first["scores"] == second["scores"][::-1]
        assert second["winner"] == other[first["winner"]]
        assert second["gold"] == [other[pref] for pref in first["gold"]]
        assert isinstance(one, Record) and isinstance(two, Record)
        assert one.verdicts[0].contradicts_scores == two.verdicts[0].contradicts_scores

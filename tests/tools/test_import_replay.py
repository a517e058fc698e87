from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, Check, Log, PairKey, Record
from misjudge_tools.interchange.replay import read_replay

ROW: dict[str, Any] = {
    "pair_id": "p1",
    "task_id": "t1",
    "agent_left": "alpha",
    "agent_right": "beta",
    "blind_order": "A=left",
    "judge_choice": "A",
    "reward_left": 0.4,
    "reward_right": 0.9,
    "selected_reward": 0.4,
    "lower_reward_selected": True,
    "task_success": False,
    "user_sat": 0.95,
    "total_tokens": 1200,
    "est_cost": 0.004,
}


def read_all(folder: Path, *rows: dict[str, Any], **options: Any) -> list[Record | BadRecord]:
    path = folder / "pair_results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(read_replay(path, **options))


def read_one(folder: Path, **fields: Any) -> Record:
    (record,) = read_all(folder, {**ROW, **fields})
    assert isinstance(record, Record), record
    return record


def test_a_row_is_one_judged_order_with_the_left_agent_as_side_a(tmp_path: Path) -> None:
    record = read_one(tmp_path)
    assert [episode.trajectory.agent for episode in record.episodes] == ["alpha", "beta"]
    assert record.pair == PairKey(pair_id="p1")
    (verdict,) = record.verdicts
    assert (verdict.order, verdict.winner, verdict.reduced, verdict.judge.label) == ("AB", "A", False, "judge")
    assert record.logs == (Log(order_shown="AB", est_cost=0.004, price_source="imported"),)


@pytest.mark.parametrize(
    ("order", "choice", "winner"),
    [
        ("A=left", "A", "A"),
        ("A=left", "B", "B"),
        ("A=right", "A", "B"),
        ("A=right", "B", "A"),
        ("A=right", "tie", "tie"),
        ("A=right", "left", "A"),
        ("A=right", "right", "B"),
        (None, "left", "A"),
    ],
)
def test_the_letter_shown_is_traced_to_its_side(tmp_path: Path, order: str | None, choice: str, winner: str) -> None:
    assert read_one(tmp_path, blind_order=order, judge_choice=choice).verdicts[0].winner == winner


def test_a_letter_without_an_order_is_refused(tmp_path: Path) -> None:
    (record,) = read_all(tmp_path, {**ROW, "blind_order": None})
    assert isinstance(record, BadRecord)
    assert "blind_order is missing" in record.problem


def test_success_and_satisfaction_are_those_of_the_chosen_side(tmp_path: Path) -> None:
    left, right = read_one(tmp_path, judge_choice="B").episodes
    assert left.checks == (Check(verifier="reward", source="reward", reward=0.4),)
    assert left.satisfaction == ()
    assert right.checks == (
        Check(verifier="success", source="label", passed=False),
        Check(verifier="reward", source="reward", reward=0.9),
    )
    assert [score.score for score in right.satisfaction] == [0.95]


def test_a_tie_tells_nothing_of_success(tmp_path: Path) -> None:
    episodes = read_one(tmp_path, judge_choice="tie").episodes
    assert all(check.verifier == "reward" for episode in episodes for check in episode.checks)
    assert all(episode.satisfaction == () for episode in episodes)


def test_a_row_without_a_choice_is_unscored(tmp_path: Path) -> None:
    (verdict,) = read_one(tmp_path, judge_choice=None).verdicts
    assert (verdict.status, verdict.winner, verdict.unscored_reason) == ("unscored", None, "parse_error")
    (verdict,) = read_one(tmp_path, judge_choice=None, unscored_reason="timeout").verdicts
    assert verdict.unscored_reason == "timeout"


def test_judge_repeat_and_trial_are_kept_where_they_are_told(tmp_path: Path) -> None:
    record = read_one(tmp_path, judge="gpt", repeat=2, trial=1, est_cost=None)
    assert (record.verdicts[0].judge.label, record.verdicts[0].repeat) == ("gpt", 2)
    assert record.pair == PairKey(pair_id="p1", trial=1)
    assert record.logs == ()


def test_one_agent_on_both_sides_is_refused(tmp_path: Path) -> None:
    (record,) = read_all(tmp_path, {**ROW, "agent_right": "alpha"})
    assert isinstance(record, BadRecord)
    assert record.problem.startswith("both sides are the same trajectory")


def test_satisfaction_outside_its_scale_is_refused(tmp_path: Path) -> None:
    (record,) = read_all(tmp_path, {**ROW, "user_sat": 6})
    assert record == BadRecord(1, "user_sat must be from 0 to 1")
    (read,) = read_all(tmp_path, {**ROW, "user_sat": 6}, scale="1-7")
    assert isinstance(read, Record)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a replay file: its first record has no judge_choice"):
        read_all(tmp_path, {"pair_id": "p1", "judge_pref": "A"})

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, Check, GoldLabel, Log, PairKey, Record, Verdict
from misjudge_tools.interchange.pairs import read_pairs

GUIDE_ROW = {
    "pair_id": "p1",
    "task_id": "t1",
    "agent_a": "alpha",
    "agent_b": "beta",
    "success_a": "1",
    "success_b": "0",
    "judge_pref": "B",
    "judge_score_a": "3",
    "judge_score_b": "4.5",
    "reward_gap": "1.5",
    "judge_flip": "0",
    "misselected": "1",
}


def csv_file(folder: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path = folder / "audit_pairs.csv"
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_all(folder: Path, *rows: Mapping[str, object], **options: Any) -> list[Record | BadRecord]:
    return list(read_pairs(csv_file(folder, rows), **options))


def read_one(folder: Path, row: Mapping[str, object], **options: Any) -> Record:
    (record,) = read_all(folder, row, **options)
    assert isinstance(record, Record), record
    return record


def verdict_of(folder: Path, **fields: object) -> Verdict:
    (verdict,) = read_one(folder, {"pair_id": "p1", **fields}).verdicts
    return verdict


def problem_of(folder: Path, **fields: object) -> str:
    (record,) = read_all(folder, {"pair_id": "p1", "judge_pref": "A", **fields})
    assert isinstance(record, BadRecord), record
    assert record.line == 2
    return record.problem


def test_the_guides_twelve_columns_give_a_pair_with_checks_and_a_reduced_verdict(tmp_path: Path) -> None:
    record = read_one(tmp_path, GUIDE_ROW)
    assert record.task is not None
    assert record.task.task_id == "t1"
    assert [episode.trajectory.agent for episode in record.episodes] == ["alpha", "beta"]
    assert [episode.checks for episode in record.episodes] == [
        (Check(verifier="success", source="label", passed=True),),
        (Check(verifier="success", source="label", passed=False),),
    ]
    assert record.pair == PairKey(pair_id="p1")
    (verdict,) = record.verdicts
    assert (verdict.winner, verdict.status, verdict.reduced, verdict.order, verdict.flip) == (
        "B",
        "scored",
        True,
        None,
        False,
    )
    assert (verdict.score_a, verdict.score_b) == (3, 4.5)
    assert (record.gold, record.logs) == ((), ())


def test_pair_id_and_preference_alone_are_enough(tmp_path: Path) -> None:
    record = read_one(tmp_path, {"pair_id": "p1", "judge_pref": "tie"})
    assert record.task is not None
    assert record.task.task_id == "p1"
    assert [episode.trajectory.agent for episode in record.episodes] == ["agent_a", "agent_b"]
    (verdict,) = record.verdicts
    assert (verdict.judge.label, verdict.winner, verdict.reduced, verdict.order) == ("judge", "tie", False, None)


def test_jsonl_rows_with_typed_values_read_as_the_csv_rows_do(tmp_path: Path) -> None:
    path = tmp_path / "audit_pairs.jsonl"
    typed = {**GUIDE_ROW, "success_a": True, "success_b": 0, "judge_score_a": 3, "judge_score_b": 4.5, "judge_flip": 0}
    path.write_text(json.dumps({**typed, "reward_gap": 1.5}) + "\n", encoding="utf-8")
    (record,) = read_pairs(path)
    assert isinstance(record, Record)
    assert record.model_copy(update={"line": 2}) == read_one(tmp_path, GUIDE_ROW)


def test_columns_nobody_knows_are_ignored(tmp_path: Path) -> None:
    assert read_one(tmp_path, {**GUIDE_ROW, "note": "x"}) == read_one(tmp_path, GUIDE_ROW)


@pytest.mark.parametrize(("shown", "order"), [("A=left", "AB"), ("A=right", "BA")])
def test_a_row_of_one_order_is_a_single_call_already_told_by_side(tmp_path: Path, shown: str, order: str) -> None:
    verdict = verdict_of(tmp_path, judge_pref="A", blind_order=shown)
    assert (verdict.order, verdict.winner, verdict.reduced) == (order, "A", False)


def test_a_flip_without_a_status_is_inconsistent_and_has_no_winner(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, judge_pref="A", blind_order="A=left", judge_flip="1")
    assert (verdict.status, verdict.winner, verdict.reduced, verdict.order, verdict.flip) == (
        "inconsistent",
        None,
        True,
        None,
        True,
    )


@pytest.mark.parametrize(
    ("status", "pref", "expected", "winner"),
    [
        ("decided", "A", "scored", "A"),
        ("weak", "B", "weak", "B"),
        ("tie", "tie", "scored", "tie"),
        ("tie", "", "scored", "tie"),
        ("inconsistent", "", "inconsistent", None),
        ("unscored", "", "unscored", None),
    ],
)
def test_the_status_column_decides(tmp_path: Path, status: str, pref: str, expected: str, winner: str | None) -> None:
    verdict = verdict_of(tmp_path, judge_status=status, judge_pref=pref, blind_order="both")
    assert (verdict.status, verdict.winner, verdict.reduced) == (expected, winner, True)


def test_a_stated_flip_of_one_order_stays_beside_its_decided_verdict(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, judge_status="decided", judge_pref="A", blind_order="A=right", judge_flip=1)
    assert (verdict.status, verdict.winner, verdict.order, verdict.reduced, verdict.flip) == (
        "scored",
        "A",
        "BA",
        False,
        True,
    )


def test_letter_case_and_outer_spaces_of_a_value_do_not_matter(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, judge_pref=" b ", judge_status="Decided", blind_order="a=LEFT")
    assert (verdict.winner, verdict.status, verdict.order) == ("B", "scored", "AB")


def test_a_weak_row_stands_for_both_orders_even_where_no_order_is_told(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, judge_status="weak", judge_pref="A").reduced


def test_an_unscored_row_keeps_its_reason_and_has_parse_error_without_one(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, judge_status="unscored", unscored_reason="truncated").unscored_reason == "truncated"
    assert verdict_of(tmp_path, judge_status="unscored").unscored_reason == "parse_error"
    assert verdict_of(tmp_path, judge_pref="").unscored_reason == "parse_error"


def test_a_pair_that_our_view_shows_without_a_judge_has_no_verdict(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "judge_pref": "", "judge_status": "", "judge": ""}
    assert read_one(tmp_path, row).verdicts == ()


def test_the_judge_column_labels_the_judge(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, judge_pref="A", judge="gpt").judge.label == "gpt"
    assert verdict_of(tmp_path, judge_pref="A", judge_model="gpt-4").judge.label == "gpt-4"


@pytest.mark.parametrize(
    ("source", "stored"), [("verifier", "verifier"), ("external", "reward"), ("", "reward"), ("reward", "reward")]
)
def test_the_reward_source_names_the_check(tmp_path: Path, source: str, stored: str) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "reward_a": ".2", "reward_b": ".7", "reward_source": source}
    checks = [episode.checks for episode in read_one(tmp_path, row).episodes]
    assert [(check.source, check.reward) for (check,) in checks] == [(stored, 0.2), (stored, 0.7)]


def test_rewards_by_the_judge_itself_are_scores_and_not_rewards(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "reward_a": "4", "reward_b": "3", "reward_source": "judge"}
    record = read_one(tmp_path, {**row, "reward_gap": "1"})
    assert [episode.checks for episode in record.episodes] == [(), ()]
    assert (record.verdicts[0].score_a, record.verdicts[0].score_b) == (4, 3)
    assert record.pair == PairKey(pair_id="p1")


@pytest.mark.parametrize("source", ["human", "verifier", "label", "reward", "model"])
def test_the_success_source_names_the_check(tmp_path: Path, source: str) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "success_a": "true", "success_b": "", "success_source": source}
    first, second = read_one(tmp_path, row).episodes
    assert [(check.source, check.passed) for check in first.checks] == [(source, True)]
    assert second.checks == ()


def test_gold_by_a_verifier_makes_the_success_columns_verified(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "success_a": "1", "success_b": "0", "gold_pref": "A"}
    record = read_one(tmp_path, {**row, "gold_source": "verifier"})
    assert {check.source for episode in record.episodes for check in episode.checks} == {"verifier"}
    assert record.gold == ()


@pytest.mark.parametrize(("source", "stored"), [("human", "human"), ("label", "label"), ("", "label")])
def test_gold_by_people_or_labels_is_stored(tmp_path: Path, source: str, stored: Any) -> None:
    record = read_one(tmp_path, {**GUIDE_ROW, "gold_pref": "tie", "gold_source": source})
    assert record.gold == (GoldLabel(labeller="imported", pref="tie", source=stored),)


@pytest.mark.parametrize("source", ["verifier", "reward"])
def test_gold_whose_evidence_the_row_does_not_hold_is_stored_as_a_label(tmp_path: Path, source: str) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "gold_pref": "B", "gold_source": source}
    assert read_one(tmp_path, row).gold == (GoldLabel(labeller="imported", pref="B", source="label"),)


def test_gold_that_follows_from_the_rewards_is_not_stored_twice(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "gold_pref": "B", "gold_source": "reward"}
    assert read_one(tmp_path, {**row, "reward_a": ".1", "reward_b": ".9"}).gold == ()


def test_gold_by_reward_stays_where_an_unsourced_success_would_say_otherwise(tmp_path: Path) -> None:
    row = {
        "pair_id": "p1",
        "judge_pref": "A",
        "gold_pref": "B",
        "gold_source": "reward",
        "success_a": 1,
        "success_b": 1,
    }
    record = read_one(tmp_path, {**row, "reward_a": ".1", "reward_b": ".9"})
    assert record.gold == (GoldLabel(labeller="imported", pref="B", source="label"),)


def test_gold_that_contradicts_the_evidence_it_names_is_refused(tmp_path: Path) -> None:
    by_success = {"gold_pref": "B", "gold_source": "verifier", "success_a": 1, "success_b": 0}
    by_reward = {"gold_pref": "B", "gold_source": "reward", "reward_a": 1, "reward_b": 0}
    assert "gold_pref contradicts" in problem_of(tmp_path, **by_success)
    assert "gold_pref contradicts" in problem_of(tmp_path, **by_reward)


def test_a_model_check_settles_no_gold(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "gold_pref": "B", "gold_source": "reward", "success_source": "model"}
    record = read_one(tmp_path, {**row, "success_a": 1, "success_b": 0, "reward_a": 0, "reward_b": 1})
    assert record.gold == ()


def test_a_gap_of_the_judges_scores_in_every_row_is_left_to_be_derived(tmp_path: Path) -> None:
    second = {**GUIDE_ROW, "pair_id": "p2", "judge_score_a": "0.3", "judge_score_b": "0.1", "reward_gap": "0.2"}
    for record in read_all(tmp_path, GUIDE_ROW, second):
        assert isinstance(record, Record)
        assert record.pair is not None
        assert (record.pair.reward_gap, record.pair.gap_source) == (None, None)


def test_a_gap_that_is_no_difference_in_some_row_needs_its_source_named(tmp_path: Path) -> None:
    rows = [GUIDE_ROW, {**GUIDE_ROW, "pair_id": "p2", "reward_gap": "0.25"}]
    with pytest.raises(InvalidInput, match=r"gap_source: ability, reward or judge_score"):
        read_all(tmp_path, *rows)
    first, second = read_all(tmp_path, *rows, gap_source="ability")
    assert isinstance(first, Record) and isinstance(second, Record)
    assert first.pair == PairKey(pair_id="p1", reward_gap=1.5, gap_source="ability")
    assert second.pair == PairKey(pair_id="p2", reward_gap=0.25, gap_source="ability")


def test_a_gap_of_the_rewards_is_left_to_be_derived(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "reward_a": "0.9", "reward_b": "0.4", "reward_gap": "0.5"}
    assert read_one(tmp_path, row).pair == PairKey(pair_id="p1")


def test_the_gap_source_column_wins_and_the_bucket_is_kept(tmp_path: Path) -> None:
    row = {**GUIDE_ROW, "reward_gap": "0.05", "gap_source": "ability", "ability_bucket": "near", "trial": "3"}
    record = read_one(tmp_path, row, gap_source="reward")
    assert record.pair == PairKey(pair_id="p1", trial=3, reward_gap=0.05, gap_source="ability", ability_bucket="near")
    assert [episode.trajectory.trial for episode in record.episodes] == [3, 3]


def test_a_bad_row_does_not_stop_the_search_for_the_gaps_source(tmp_path: Path) -> None:
    bad = {**GUIDE_ROW, "pair_id": "p2", "reward_gap": "NaN"}
    first, second = read_all(tmp_path, GUIDE_ROW, bad)
    assert isinstance(first, Record)
    assert isinstance(second, BadRecord)
    broken = csv_file(tmp_path, [GUIDE_ROW])
    broken.write_text(broken.read_text(encoding="utf-8") + "p3,t3\n", encoding="utf-8")
    assert [type(record) for record in read_pairs(broken)] == [Record, BadRecord]


def test_user_satisfaction_is_a_score_of_each_trajectory_on_its_scale(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "user_sat_a": "0.9", "user_sat_b": ""}
    first, second = read_one(tmp_path, row).episodes
    (score,) = first.satisfaction
    assert (score.score, score.judge.label, score.judge.scale.threshold) == (0.9, "user_sat", 0.8)
    assert second.satisfaction == ()
    (score,) = read_one(tmp_path, {**row, "user_sat_a": "6"}, scale="1-7").episodes[0].satisfaction
    assert (score.score, score.judge.scale.threshold) == (6, 5)


def test_costs_become_one_log_a_role(tmp_path: Path) -> None:
    costs = {
        "agent_cost": ".02",
        "user_sim_cost": ".01",
        "judge_cost": ".003",
        "input_tokens": 900,
        "output_tokens": 40,
    }
    record = read_one(tmp_path, {"pair_id": "p1", "judge_pref": "A", "judge": "gpt", **costs})
    assert record.logs == (
        Log(role="agent", est_cost=0.02, price_source="imported"),
        Log(role="user_sim", est_cost=0.01, price_source="imported"),
        Log(role="judge", model="gpt", input_tokens=900, output_tokens=40, est_cost=0.003, price_source="imported"),
    )


def test_tokens_without_a_cost_have_no_price(tmp_path: Path) -> None:
    record = read_one(tmp_path, {"pair_id": "p1", "judge_pref": "A", "input_tokens": "900.0"})
    assert record.logs == (Log(role="judge", input_tokens=900),)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"pair_id": ""}, "pair_id is missing or empty"),
        ({"judge_pref": "C"}, "judge_pref must be A, B, tie, or empty"),
        ({"judge_score_a": "NaN"}, "judge_score_a must be a finite number"),
        ({"judge_score_b": "inf"}, "judge_score_b must be a finite number"),
        ({"judge_score_a": "5.5"}, "judge_score_a must be from 0 to 5"),
        ({"judge_score_a": "good"}, "judge_score_a must be a number"),
        ({"user_sat_b": "7"}, "user_sat_b must be from 0 to 1"),
        ({"reward_gap": "-0.1", "gap_source": "ability"}, "reward_gap must be 0 or more"),
        ({"success_a": "perhaps"}, "success_a must be 1, 0, true, false, yes or no, or empty"),
        ({"success_source": "vibes"}, "success_source must be human, verifier"),
        ({"reward_source": "vibes"}, "reward_source must be verifier, external, judge"),
        ({"blind_order": "up"}, "blind_order must be A=left, A=right, both"),
        ({"input_tokens": "1.5"}, "input_tokens must be a whole number"),
        ({"input_tokens": "1e300"}, "input_tokens must be from 0 to"),
        ({"judge_cost": "-1"}, "judge_cost must be 0 or more"),
        ({"agent_a": "x", "agent_b": "x"}, "both sides are the same trajectory"),
        ({"judge_status": "decided", "judge_pref": ""}, "judge_pref must be A or B where judge_status is decided"),
        ({"judge_status": "tie"}, "judge_pref must be tie or empty where judge_status is tie"),
        ({"judge_status": "unscored"}, "judge_pref must be empty where judge_status is unscored"),
        ({"judge_status": "decided", "judge_flip": 1}, "judge_flip contradicts judge_status decided"),
        ({"judge_status": "inconsistent", "judge_pref": "", "judge_flip": 0}, "judge_flip contradicts"),
    ],
)
def test_a_bad_field_is_named_with_what_it_may_hold(tmp_path: Path, fields: dict[str, object], problem: str) -> None:
    assert problem in problem_of(tmp_path, **fields)


@pytest.mark.parametrize(("pref", "contradicts"), [("A", True), ("B", False), ("tie", False)])
def test_a_judge_that_scored_its_choice_lower_is_marked(tmp_path: Path, pref: str, contradicts: bool) -> None:
    verdict = verdict_of(tmp_path, judge_pref=pref, judge_score_a="2", judge_score_b="3")
    assert verdict.contradicts_scores is contradicts


def test_another_range_of_scores_can_be_named(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "judge_pref": "A", "judge_score_a": "9", "judge_score_b": "7"}
    assert read_one(tmp_path, row, score_range="1-10").verdicts[0].score_a == 9


def test_a_file_of_another_format_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is not a pairs file: its first record has no judge_pref or judge_status"):
        read_all(tmp_path, {"pair_id": "p1", "winner": "A"})
    with pytest.raises(InvalidInput, match=r"its first record has no pair_id"):
        read_all(tmp_path, {"id": "p1", "judge_pref": "A"})


def made_up(folder: Path, *rows: Mapping[str, object]) -> list[tuple[bool, ...]]:
    """Of each row, whether its judge (False without one), side A and side B are taken for made up."""
    found = []
    for record in read_all(folder, *({"judge_status": "tie", **row} for row in rows)):
        assert isinstance(record, Record), record
        judged = any(verdict.judge.simulated for verdict in record.verdicts)
        found.append((judged, *(episode.trajectory.simulated for episode in record.episodes)))
    return found


def test_what_stands_in_simulated_rows_only_is_taken_for_made_up(tmp_path: Path) -> None:
    row = {"task_id": "t", "trial": "0", "agent_a": "x", "agent_b": "y", "judge": "j"}
    one, other = {**row, "pair_id": "p1", "simulated": "1"}, {**row, "pair_id": "p2", "simulated": "0"}
    assert made_up(tmp_path, one) == [(True, True, True)]
    assert made_up(tmp_path, {**one, "simulated": ""}) == [(False, False, False)]
    assert made_up(tmp_path, one, {**other, "pair_id": "p1", "judge": "k"}) == [(True, False, False), (False,) * 3]
    assert made_up(tmp_path, one, {**other, "agent_b": "z"}) == [(False, False, True), (False,) * 3]
    # Where attempts are not numbered, those of another pair are others.
    one, other = {**one, "trial": ""}, {**other, "trial": ""}
    assert made_up(tmp_path, other, one) == [(False,) * 3, (False, True, True)]
    nobody = {"judge": "", "judge_status": ""}
    assert made_up(tmp_path, {**other, **nobody}, {**one, "judge": "judge"}) == [(False,) * 3, (True, True, True)]


def test_costs_of_what_is_made_up_are_marked_and_a_mark_that_is_none_is_refused(tmp_path: Path) -> None:
    priced = {"agent_cost": "1", "user_sim_cost": "1", "judge_cost": "1", "judge": "j", "judge_pref": "A"}
    one = {"pair_id": "p1", "agent_a": "x", "agent_b": "y", **priced, "simulated": "true"}
    other = {**one, "judge": "k", "simulated": "false"}
    first, second = read_all(tmp_path, one, other)
    assert isinstance(first, Record) and isinstance(second, Record)
    assert [(log.role, log.simulated) for log in first.logs] == [("agent", False), ("user_sim", False), ("judge", True)]
    assert not any(log.simulated for log in second.logs)
    assert problem_of(tmp_path, simulated="perhaps").startswith("simulated must be ")

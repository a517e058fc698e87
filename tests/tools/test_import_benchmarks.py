"""llmbar, simulatorarena, tau-bench, gauge-table and judgebench, on small cases of the same shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, Check, GoldLabel, Message, Record, Scale, Verdict
from misjudge_tools.interchange.gauge_table import read_gauge_table
from misjudge_tools.interchange.judgebench import read_judgebench
from misjudge_tools.interchange.llmbar import read_llmbar
from misjudge_tools.interchange.simulatorarena import read_simulatorarena
from misjudge_tools.interchange.tau_bench import read_tau_bench

ITEM = {"input": "Add 2 and 2.", "output_1": "4", "output_2": "5", "label": 1}
OTHER = {"input": "Add 1 and 1.", "output_1": "3", "output_2": "2", "label": 2}
SESSION = {
    "problem_id": 331,
    "model": "tutor",
    "type": "Algebra",
    "user_queries": ["Why?", "Bye"],
    "ai_responses": ["Because."],
    "overall_rating": 9,
    "problem_1_correctness": "incorrect",
}
TAU = {
    "task_id": 0,
    "trial": 1,
    "reward": 1.0,
    "traj": [{"role": "user", "content": "Hi"}],
    "info": {"task": {"instruction": "You want a refund."}},
}
TABLE = [
    "agent,base_model,reward,rank_reward,gate,rank_gate",
    "a,m1,0.8,1,5.5,2",
    "b,m1,0.8,2,5.9,1",
    "c,m2,0.3,3,2.0,3",
]
BENCH = {
    "pair_id": "p1",
    "original_id": 7,
    "source": "mmlu-pro-law",
    "question": "Q",
    "response_model": "gpt",
    "response_A": "yes",
    "response_B": "no",
    "label": "B>A",
    "judge_name": "arena_hard",
}


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def results(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    return list(entries)


def said(plain: object, swapped: object) -> dict[str, Any]:
    return {
        "swap = False": {"completion": ["Output (a)", "stop"], "winner": plain},
        "swap = True": {"completion": ["Output (b)", "stop"], "winner": swapped},
    }


def llmbar_folder(root: Path, items: Sequence[dict[str, Any]], **judges: Sequence[list[dict[str, Any]]]) -> Path:
    """`judges`: MODEL__PROMPT to the `results` of each item."""
    write_json(root / "dataset.json", items)
    for name, answers in judges.items():
        model, prompt = name.split("__")
        judged = [{**item, "results": answer} for item, answer in zip(items, answers, strict=False)]
        write_json(root / "evaluators" / model / prompt / "result.json", judged)
    return root


def records(read: Any) -> list[Record]:
    found = list(read)
    assert all(isinstance(record, Record) for record in found), found
    return found


def problems(read: Any) -> list[str]:
    return [record.problem for record in read if isinstance(record, BadRecord)]


def outcome(verdict: Verdict) -> tuple[str, str | None, str | None]:
    return verdict.judge.label, verdict.order, verdict.winner


def test_an_llmbar_pair_brings_gold_texts_and_both_orders_of_every_judge(tmp_path: Path) -> None:
    answers = [results(said("1", "2"))]
    folder = llmbar_folder(tmp_path / "Natural", [ITEM], Big__Vanilla=answers, Small__Vanilla=answers)
    (record,) = records(read_llmbar(folder))
    assert record.task is not None and record.pair is not None
    assert (record.task.task_id, record.task.prompt, record.task.subset) == ("Natural-1", "Add 2 and 2.", "Natural")
    assert record.pair.pair_id == "Natural-1"
    assert record.gold == (GoldLabel(labeller="llmbar", pref="A", source="label"),)
    assert [episode.trajectory.agent for episode in record.episodes] == ["output_1", "output_2"]
    assert record.episodes[1].trajectory.messages == (
        Message(role="user", content="Add 2 and 2."),
        Message(role="assistant", content="5"),
    )
    assert [outcome(verdict) for verdict in record.verdicts] == [
        ("Big", "AB", "A"),
        ("Big", "BA", "B"),
        ("Small", "AB", "A"),
        ("Small", "BA", "B"),
    ]
    judge = record.verdicts[0].judge
    assert (judge.model, judge.prompt_version, judge.origin) == ("Big", "Vanilla", "imported")
    assert record.verdicts[0].reasons == "Output (a)"


def test_the_last_llmbar_entry_with_both_swaps_is_the_verdict(tmp_path: Path) -> None:
    answer = results({"metrics": "..."}, said("1", "1"), said("2", "2"), {"reference": "..."})
    (record,) = records(read_llmbar(llmbar_folder(tmp_path / "N", [ITEM], Big__P=[answer])))
    assert [verdict.winner for verdict in record.verdicts] == ["B", "B"]


@pytest.mark.parametrize("winner", [None, "3", "", 1, ["1"]])
def test_an_llmbar_winner_that_names_no_output_is_unscored(tmp_path: Path, winner: object) -> None:
    (record,) = records(read_llmbar(llmbar_folder(tmp_path / "N", [ITEM], Big__P=[results(said(winner, "1"))])))
    plain, swapped = record.verdicts
    assert (plain.status, plain.winner, plain.unscored_reason) == ("unscored", None, "parse_error")
    assert swapped.winner == "A"


def test_an_llmbar_answer_that_is_null_is_unscored_and_one_order_may_be_missing(tmp_path: Path) -> None:
    (record,) = records(read_llmbar(llmbar_folder(tmp_path / "N", [ITEM], Big__P=[results({"swap = False": None})])))
    (verdict,) = record.verdicts
    assert (verdict.order, verdict.status, verdict.reasons) == ("AB", "unscored", "")


def test_llmbar_judges_with_several_prompts_are_told_apart_in_every_folder(tmp_path: Path) -> None:
    answers = [results(said("1", "1"))]
    llmbar_folder(tmp_path / "Natural", [ITEM], Big__P=answers, Big__Q=answers, Small__P=answers)
    llmbar_folder(tmp_path / "Adversarial" / "Manual", [OTHER], Big__P=answers)
    manual, natural = records(read_llmbar(tmp_path))
    assert [verdict.judge.label for verdict in manual.verdicts] == ["Big/P"] * 2
    assert [verdict.judge.label for verdict in natural.verdicts] == ["Big/P"] * 2 + ["Big/Q"] * 2 + ["Small"] * 2
    assert manual.pair is not None
    assert manual.pair.pair_id == "Manual-1"


def test_llmbar_folders_of_one_name_are_told_apart_by_their_path(tmp_path: Path) -> None:
    llmbar_folder(tmp_path / "one" / "Natural", [ITEM])
    llmbar_folder(tmp_path / "two" / "Natural", [OTHER])
    subsets = [record.task.subset for record in records(read_llmbar(tmp_path)) if record.task is not None]
    assert subsets == ["one/Natural", "two/Natural"]


def test_llmbar_without_judges_brings_the_pairs_to_be_judged(tmp_path: Path) -> None:
    (record,) = records(read_llmbar(llmbar_folder(tmp_path / "N", [ITEM])))
    assert record.verdicts == ()


def test_an_llmbar_result_out_of_step_with_the_data_is_refused(tmp_path: Path) -> None:
    folder = llmbar_folder(tmp_path / "N", [ITEM, OTHER], Big__P=[results(said("1", "1"))])
    assert problems(read_llmbar(folder)) == ["N: evaluators/Big/P/result.json has no such record"]
    write_json(folder / "evaluators/Big/P/result.json", [{**OTHER, "results": []}, "text"])
    assert problems(read_llmbar(folder)) == [
        "N: evaluators/Big/P/result.json holds another input or other outputs than dataset.json",
        "N: evaluators/Big/P/result.json is not a JSON object",
    ]


@pytest.mark.parametrize(
    ("fields", "answer", "problem"),
    [
        ({"label": None}, results(said("1", "1")), "N: label is missing or empty"),
        ({"label": 3}, results(said("1", "1")), "N: label must be 1, 2, or empty"),
        ({"output_2": "4"}, results(said("1", "1")), "N: both sides are the same trajectory: output_1 and"),
        ({}, results({"winner": "1"}), 'N: results hold no entry with "swap = False"'),
        ({}, None, 'N: results hold no entry with "swap = False"'),
    ],
)
def test_a_bad_llmbar_record_is_refused(tmp_path: Path, fields: dict[str, Any], answer: Any, problem: str) -> None:
    (found,) = problems(read_llmbar(llmbar_folder(tmp_path / "N", [{**ITEM, **fields}], Big__P=[answer])))
    assert found.startswith(problem)


def test_a_folder_without_a_dataset_is_not_llmbar(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is not an LLMBar folder"):
        list(read_llmbar(tmp_path))


def test_a_simulatorarena_session_has_its_talk_its_rating_and_its_outcome(tmp_path: Path) -> None:
    (record,) = records(read_simulatorarena(write_json(tmp_path / "s.json", [SESSION])))
    assert record.task is not None
    assert (record.task.task_id, record.task.category) == ("331", "Algebra")
    (episode,) = record.episodes
    assert episode.trajectory.agent == "tutor"
    assert episode.trajectory.messages == (
        Message(role="user", content="Why?"),
        Message(role="assistant", content="Because."),
        Message(role="user", content="Bye"),
    )
    assert episode.checks == (Check(verifier="problem_1_correctness", source="label", passed=False),)
    (score,) = episode.satisfaction
    assert (score.judge.label, score.score, score.judge.scale) == (
        "overall_rating",
        9,
        Scale(low=1, high=10, threshold=8),
    )


def test_a_simulatorarena_session_that_was_not_rated_has_no_score(tmp_path: Path) -> None:
    row = {**SESSION, "overall_rating": None, "ai_responses": ["a", "b", "c"]}
    (record,) = records(read_simulatorarena(write_json(tmp_path / "s.json", [row])))
    assert record.episodes[0].satisfaction == ()
    assert record.episodes[0].trajectory.messages is not None
    assert len(record.episodes[0].trajectory.messages) == 5


def test_silent_turns_of_a_session_are_left_out_and_uploads_are_named(tmp_path: Path) -> None:
    row = {**SESSION, "user_queries": ["Look", ["a.png", "b.png"]], "ai_responses": [None, "I see."]}
    (record,) = records(read_simulatorarena(write_json(tmp_path / "s.json", [row])))
    assert record.episodes[0].trajectory.messages == (
        Message(role="user", content="Look"),
        Message(role="user", content="[file]\n[file]"),
        Message(role="assistant", content="I see."),
    )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"overall_rating": 11}, "overall_rating must be from 1 to 10"),
        ({"problem_1_correctness": "maybe"}, "problem_1_correctness must be correct, incorrect, or empty"),
        ({"user_queries": "Why?"}, "user_queries must be a list of texts"),
        ({"ai_responses": [3]}, "ai_responses must be a list of texts"),
        ({"model": ""}, "model is missing or empty"),
    ],
)
def test_a_bad_simulatorarena_session_is_refused(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    assert problems(read_simulatorarena(write_json(tmp_path / "s.json", [{**SESSION, **fields}]))) == [problem]


def test_a_tau_bench_trial_is_checked_by_its_reward(tmp_path: Path) -> None:
    almost, failed = {**TAU, "reward": 1 - 1e-7}, {**TAU, "reward": 0.999, "info": {}}
    first, second = records(read_tau_bench(write_json(tmp_path / "gpt-x.json", [almost, failed])))
    assert first.task is not None and second.task is not None
    assert (first.task.task_id, first.task.prompt, second.task.prompt) == ("0", "You want a refund.", "")
    trajectory = first.episodes[0].trajectory
    assert (trajectory.agent, trajectory.trial) == ("gpt-x", 1)
    assert trajectory.messages == (Message(role="user", content="Hi"),)
    assert first.episodes[0].checks == (Check(verifier="tau-bench", source="verifier", passed=True, reward=1 - 1e-7),)
    assert second.episodes[0].checks[0].passed is False


def test_a_tau_bench_agent_can_be_named(tmp_path: Path) -> None:
    (record,) = records(read_tau_bench(write_json(tmp_path / "x.json", [TAU]), agent="alpha"))
    assert record.episodes[0].trajectory.agent == "alpha"


def test_a_bad_tau_bench_trial_is_refused(tmp_path: Path) -> None:
    rows = [{**TAU, "reward": None}, {**TAU, "traj": None}, {**TAU, "info": {"task": {"instruction": 3}}}]
    assert problems(read_tau_bench(write_json(tmp_path / "x.json", rows))) == [
        "reward is missing or empty",
        "messages must be a list of chat messages",
        "instruction must be text",
    ]
    with pytest.raises(InvalidInput, match=r"is not a tau-bench file: its first record has no traj"):
        list(read_tau_bench(write_json(tmp_path / "x.json", [{"task_id": 0, "reward": 1}])))


def gauge_table(folder: Path, *lines: str, **options: Any) -> list[Record | BadRecord]:
    path = folder / "table8.csv"
    path.write_text("\n".join(lines or TABLE) + "\n", encoding="utf-8")
    return list(read_gauge_table(path, **{"reward_col": "reward", "gate_cols": ["gate"], **options}))


def test_a_gauge_table_row_is_an_agent_with_reward_place_and_gates(tmp_path: Path) -> None:
    read = records(gauge_table(tmp_path, order_col="rank_reward:rank", gate_cols=["gate", "rank_gate:rank"]))
    assert [record.episodes[0].trajectory.agent for record in read] == ["a", "b", "c"]
    (episode,) = read[1].episodes
    assert (episode.trajectory.task_id, episode.trajectory.base_model) == ("gauge-table", "m1")
    assert episode.checks == (
        Check(verifier="reward", source="reward", reward=0.8),
        Check(verifier="rank_reward", source="order", reward=2),
    )
    scores = [(s.judge.label, s.score, s.judge.scale.better, s.judge.scale.threshold) for s in episode.satisfaction]
    assert scores == [("gate", 5.9, "higher", None), ("rank_gate", 1, "lower", None)]


def test_an_order_column_of_scores_is_turned_into_places(tmp_path: Path) -> None:
    read = records(gauge_table(tmp_path, order_col="gate"))
    assert [record.episodes[0].checks[1].reward for record in read] == [-5.5, -5.9, -2.0]


@pytest.mark.parametrize(("order", "meant"), [("rank_reward", "rank_reward:rank"), ("gate:rank", "gate ")])
def test_an_order_that_runs_against_the_reward_is_refused(tmp_path: Path, order: str, meant: str) -> None:
    with pytest.raises(InvalidInput, match=rf"runs against the reward column. Write {meant}"):
        gauge_table(tmp_path, order_col=order)


def test_a_gauge_table_without_a_base_model_or_a_gate_value_leaves_them_out(tmp_path: Path) -> None:
    first, second = records(gauge_table(tmp_path, "agent,reward,gate", "a,1,", "b,2,3"))
    assert first.episodes[0].satisfaction == ()
    assert first.episodes[0].trajectory.base_model is None
    assert [score.score for score in second.episodes[0].satisfaction] == [3]


def test_a_gauge_table_names_the_columns_it_has(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"has no column 'proxy'. It has agent, base_model, reward"):
        gauge_table(tmp_path, gate_cols=["proxy"])
    with pytest.raises(InvalidInput, match=r"has no column 'rank'"):
        gauge_table(tmp_path, order_col="rank:rank")
    with pytest.raises(InvalidInput, match=r"must hold rewards"):
        gauge_table(tmp_path, reward_col="rank_reward:rank")


def test_a_bad_gauge_table_row_is_refused(tmp_path: Path) -> None:
    lines = ["agent,reward,place,gate", "a,,1,1", "b,x,2,1", ",1,3,1", "d,1,0,1", "e,2,1,1"]
    read = gauge_table(tmp_path, *lines, order_col="place:rank")
    assert problems(read) == [
        "reward is empty",
        "reward must be a number",
        "agent is missing or empty",
        "place must be 1 or more",
    ]
    assert len(read) == 5


def test_an_order_without_values_says_nothing(tmp_path: Path) -> None:
    (record,) = records(gauge_table(tmp_path, "agent,reward,place,gate", "a,1,,2", order_col="place:rank"))
    assert [check.source for check in record.episodes[0].checks] == ["reward"]


def judged(decision: object, model: str = "gpt-4o", **reply: Any) -> dict[str, Any]:
    return {"decision": decision, "judgment": {"judge_model": model, "response": "words", **reply}}


def judgebench(folder: Path, *rows: dict[str, Any]) -> list[Record | BadRecord]:
    path = folder / "judgebench.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(read_judgebench(path))


def test_a_judgebench_pair_has_gold_and_both_decisions_told_by_side(tmp_path: Path) -> None:
    row = {**BENCH, "judgments": [judged("A>B"), judged("A>B")]}
    (record,) = records(judgebench(tmp_path, row))
    assert record.task is not None and record.pair is not None
    assert (record.task.task_id, record.task.subset, record.pair.pair_id) == ("mmlu-pro-law/7", "mmlu-pro-law", "p1")
    assert record.gold == (GoldLabel(labeller="judgebench", pref="B", source="label"),)
    assert [outcome(verdict) for verdict in record.verdicts] == [
        ("gpt-4o/arena_hard", "AB", "A"),
        ("gpt-4o/arena_hard", "BA", "B"),
    ]
    assert record.verdicts[0].reasons == "words"
    assert [episode.trajectory.agent for episode in record.episodes] == ["response_A", "response_B"]
    assert record.episodes[0].trajectory.base_model == "gpt"


@pytest.mark.parametrize(("decision", "winner"), [("A>B", "B"), ("B>A", "A"), ("A=B", "tie")])
def test_the_second_judgebench_decision_is_turned_back(tmp_path: Path, decision: str, winner: str) -> None:
    (record,) = records(judgebench(tmp_path, {**BENCH, "judgments": [judged("A>B"), judged(decision)]}))
    assert record.verdicts[1].winner == winner


def test_judgebench_scores_of_a_reward_model_are_turned_back_too(tmp_path: Path) -> None:
    judgments = [judged("A>B", scores=[1.5, 0.5]), judged("B>A", scores=[0.5, 1.5])]
    (record,) = records(judgebench(tmp_path, {**BENCH, "judgments": judgments}))
    assert [(v.winner, v.score_a, v.score_b) for v in record.verdicts] == [("A", 1.5, 0.5)] * 2


@pytest.mark.parametrize("scores", [None, [1], ["a", "b"]])
def test_judgebench_scores_of_another_shape_are_left_out(tmp_path: Path, scores: object) -> None:
    (record,) = records(judgebench(tmp_path, {**BENCH, "judgments": [judged("A>B", scores=scores)]}))
    (verdict,) = record.verdicts
    assert (verdict.winner, verdict.score_a) == ("A", None)


def test_a_judgebench_decision_that_is_null_is_unscored_and_keeps_its_judge(tmp_path: Path) -> None:
    unread = {**BENCH, "pair_id": "p2", "judgments": [None, None]}
    rows = [unread, {**BENCH, "judgments": [judged(None), {"decision": "A>>B", "judgment": None}]}]
    first, second = records(judgebench(tmp_path, *rows))
    for verdict in (*first.verdicts, *second.verdicts):
        assert (verdict.judge.label, verdict.status, verdict.unscored_reason) == (
            "gpt-4o/arena_hard",
            "unscored",
            "parse_error",
        )


def test_a_judge_that_is_named_once_is_not_named_twice(tmp_path: Path) -> None:
    same = {**BENCH, "judge_name": "gpt-4o", "judgments": [judged("A>B")]}
    nameless = {**BENCH, "pair_id": "p2", "judge_name": None, "judgments": [{"decision": "A>B"}]}
    first, second = records(judgebench(tmp_path, same, nameless))
    assert (first.verdicts[0].judge.label, second.verdicts[0].judge.label) == ("gpt-4o", "judge")


def test_judgebench_without_judgments_brings_the_pairs_to_be_judged(tmp_path: Path) -> None:
    row = {**BENCH, "original_id": None, "response_model": None}
    (record,) = records(judgebench(tmp_path, row))
    assert record.verdicts == ()
    assert record.task is not None
    assert record.task.task_id == "p1"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"label": ""}, "label is missing or empty"),
        ({"label": "A<B"}, "label must be A>B, B>A, A=B, or empty"),
        ({"response_B": "yes"}, "both sides are the same trajectory: response_A and response_B are equal"),
        ({"judgments": [None] * 3}, "judgments must be a list of one or two"),
        ({"judgments": {}}, "judgments must be a list of one or two"),
        ({"question": 3}, "question must be text"),
    ],
)
def test_a_bad_judgebench_row_is_refused(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    assert problems(judgebench(tmp_path, {**BENCH, **fields})) == [problem]


def test_a_file_of_other_pairs_is_not_judgebench(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is not a judgebench file: its first record has no question"):
        judgebench(tmp_path, {"pair_id": "p1", "judge_pref": "A"})

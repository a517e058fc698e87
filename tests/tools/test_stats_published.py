"""The statistics against published values, where the shared data is at hand."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from misjudge_storage.types import Scale
from misjudge_tools.stats.agent_pairs import AgentScore
from misjudge_tools.stats.agreement import Labels, cohen_kappa
from misjudge_tools.stats.consistency import ConsistencySums, consistency
from misjudge_tools.stats.ranking import Ranking, ranking
from misjudge_tools.stats.rates import Tally, independent
from misjudge_tools.stats.satisfaction import SatisfactionGap, ScoreOutcomes, satisfaction_gap
from misjudge_tools.stats.trials import TaskTrials, pass_hat_k

DATA = Path(os.environ.get("MISJUDGE_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")


def shared(name: str) -> Path:
    if not (DATA / name).exists():
        pytest.skip(f"the shared data file {name} is not here; set MISJUDGE_TEST_DATA to its folder")
    return DATA / name


def load(name: str) -> Any:
    return json.loads(shared(name).read_text(encoding="utf-8"))


def percent(share: float | None) -> float:
    assert share is not None
    return round(100 * share, 1)


def test_tau_bench_airline_pass_hat_k() -> None:
    trials, successes = Counter[int](), Counter[int]()
    for row in load("taubench/gpt-4o-airline.json"):
        trials[row["task_id"]] += 1
        successes[row["task_id"]] += row["reward"] == 1
    results = pass_hat_k(Counter(TaskTrials(trials[task], successes[task]) for task in trials))
    assert [round(value.rate, 3) for value in results] == [0.420, 0.273, 0.220, 0.200]
    assert {value.tasks for value in results} == {50}


def test_simulator_arena_satisfaction_says_little_about_success() -> None:
    sessions = load("simulatorarena/math_tutoring.json")
    seen = Counter((row["overall_rating"], row["problem_1_correctness"] == "correct") for row in sessions)
    rows = [ScoreOutcomes(score, seen[score, False], seen[score, True]) for score in {score for score, _ in seen}]
    result = satisfaction_gap(rows, Scale(low=1, high=10, threshold=8))
    assert isinstance(result, SatisfactionGap)
    assert (result.satisfied, result.satisfied_failed, result.n, result.base_fail.k) == (31, 12, 50, 21)
    assert result.p_fail_given_satisfied is not None
    assert percent(result.p_fail_given_satisfied.rate) == 38.7
    assert result.p_value is not None and round(result.p_value, 4) == 0.0127
    assert result.relative_risk is not None and round(result.relative_risk, 2) == 0.92
    assert result.auc is not None and round(result.auc, 2) == 0.60


class Gate(NamedTuple):
    column: str
    better: Literal["higher", "lower"]
    near: tuple[int, int, float]
    wide: float
    rho: float | None


@pytest.mark.parametrize(
    "gate",
    [
        Gate("rank_opus48", "lower", (28, 85, 32.9), 1.4, 0.932),
        Gate("rank_gpt55", "lower", (35, 85, 41.2), 7.9, 0.833),
        Gate("proxy_mean", "higher", (25, 85, 29.4), 10.7, None),
    ],
    ids=lambda gate: gate.column,
)
def test_gauge_table_8_ranks_agents(gate: Gate) -> None:
    with shared("gauge_table8/table8.csv").open(encoding="utf-8", newline="") as file:
        scores = [
            AgentScore(row["agent"], float(row["reward"]), float(row[gate.column]), float(row["rank_reward"]))
            for row in csv.DictReader(file)
        ]
    result = ranking(scores, gate.better)
    assert isinstance(result, Ranking)
    assert (result.near.k, result.near.n, percent(result.near.rate)) == gate.near
    assert percent(result.wide.rate) == gate.wide
    if gate.rho is not None:
        assert result.spearman is not None and round(result.spearman, 3) == gate.rho
    unordered = ranking([score._replace(order_rank=None) for score in scores], gate.better)
    assert isinstance(unordered, Ranking) and unordered.reward_ties == 5


class Verdicts(NamedTuple):
    gold: int
    ab: int
    ba: int


def llmbar(subset: str, judge: str) -> list[Verdicts]:
    """The winner of every pair in both orders, un-swapped as the source keeps them."""
    folder = "Natural" if subset == "Natural" else f"Adversarial/{subset}"
    gold = [row["label"] for row in load(f"llmbar/{folder}/dataset.json")]
    judged = load(f"llmbar/{folder}/evaluators/{judge}/Vanilla_NoRules/result.json")
    last = [[step for step in row["results"] if "swap = False" in step][-1] for row in judged]
    return [
        Verdicts(label, int(step["swap = False"]["winner"]), int(step["swap = True"]["winner"]))
        for label, step in zip(gold, last, strict=True)
    ]


@pytest.mark.parametrize(
    ("judge", "subset", "accuracy", "agreement"),
    [
        ("GPT-4", "Natural", 93.5, 97.0),
        ("GPT-4", "Neighbor", 64.2, 89.6),
        ("GPT-4", "GPTInst", 76.6, 90.2),
        ("GPT-4", "GPTOut", 76.6, 87.2),
        ("GPT-4", "Manual", 75.0, 89.1),
        ("ChatGPT", "Natural", 79.0, 68.0),
        ("ChatGPT", "Neighbor", 17.9, 73.1),
        ("ChatGPT", "GPTInst", 29.3, 52.2),
        ("ChatGPT", "GPTOut", 43.6, 42.6),
        ("ChatGPT", "Manual", 37.0, 47.8),
    ],
)
def test_llmbar_accuracy_and_agreement(judge: str, subset: str, accuracy: float, agreement: float) -> None:
    pairs = llmbar(subset, judge)
    n = len(pairs)
    ab, ba = sum(pair.ab == pair.gold for pair in pairs), sum(pair.ba == pair.gold for pair in pairs)
    same = sum(pair.ab == pair.ba for pair in pairs)
    result = consistency(
        ConsistencySums(
            flips=independent(n - same, n),
            agreements=independent(same, n),
            right=independent(ab + ba, 2 * n),
            right_ab=Tally(ab, n),
            right_ba=Tally(ba, n),
        )
    )
    assert percent(result.accuracy.rate) == accuracy
    assert percent(result.agreement.rate) == agreement


@pytest.mark.parametrize(("judge", "kappa"), [("GPT-4", 0.9389747762408462), ("ChatGPT", 0.3881453154875717)])
def test_llmbar_natural_kappa_between_the_two_orders(judge: str, kappa: float) -> None:
    table = Counter(Labels(str(pair.ab), str(pair.ba)) for pair in llmbar("Natural", judge))
    assert cohen_kappa(table).kappa == pytest.approx(kappa, abs=1e-12)

"""Published values, through import and summary as a person would run them; and small cases with values by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.requests import ImportRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize_audit
from misjudge_tools.summary.values import AuditSummary

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data"

# Accuracy and agreement in percent, as LLMBar prints them.
LLMBAR = {
    "GPT-4/Natural": (93.5, 97.0),
    "GPT-4/Neighbor": (64.2, 89.6),
    "GPT-4/GPTInst": (76.6, 90.2),
    "GPT-4/GPTOut": (76.6, 87.2),
    "GPT-4/Manual": (75.0, 89.1),
    "ChatGPT/Natural": (79.0, 68.0),
    "ChatGPT/Neighbor": (17.9, 73.1),
    "ChatGPT/GPTInst": (29.3, 52.2),
    "ChatGPT/GPTOut": (43.6, 42.6),
    "ChatGPT/Manual": (37.0, 47.8),
}
# Near and wide decision disagreement in percent and, where it is printed, ρ with the stated ranks.
GAUGE = {
    "rank_opus48": (32.9, 1.4, 0.932),
    "rank_gpt55": (41.2, 7.9, 0.833),
    "proxy_mean": (29.4, 10.7, None),
}


def data(*parts: str) -> str:
    path = Path(os.environ.get("MISJUDGE_TEST_DATA", DEFAULT)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the data set {parts[0]} is not there (set MISJUDGE_TEST_DATA)")
    return str(path)


async def brought(deps: Deps, kind: str, path: str, **options: Any) -> None:
    request = {"audit": "a", "format": kind, "paths": [path], **options}
    await import_records(ImportRequest.model_validate(request), deps)


async def summary(deps: Deps, judge: str | None = None) -> AuditSummary:
    return await summarize_audit(SummarizeRequest(audit="a", judge=judge), deps)


def percent(share: float | None) -> float:
    assert share is not None
    return round(100 * share, 1)


async def test_llmbar_of_both_judges_and_all_subsets(deps: Deps) -> None:
    await brought(deps, "llmbar", data("llmbar"))
    found = await summary(deps)
    assert found.judges is not None
    assert found.judges.keys() == {"GPT-4", "ChatGPT", *LLMBAR}
    printed = {}
    for label in LLMBAR:
        section = found.judges[label].consistency
        assert section is not None
        printed[label] = (percent(section.accuracy), percent(section.agreement))
    assert printed == LLMBAR
    one = (await summary(deps, "ChatGPT/Neighbor")).misselection
    assert one is not None and percent(one.rate) == 82.1, "an anti-correlated judge"


async def test_tau_bench_gpt_4o_airline(deps: Deps) -> None:
    await brought(deps, "tau-bench", data("taubench", "gpt-4o-airline.json"))
    found = await summary(deps)
    assert found.pass_hat_k is not None and found.pass_hat_k_intervals is not None
    printed = {k: round(rate, 3) for k, rate in found.pass_hat_k.items()}
    assert printed == {"1": 0.420, "2": 0.273, "3": 0.220, "4": 0.200}
    assert {interval.tasks for interval in found.pass_hat_k_intervals.values()} == {50}


async def test_simulatorarena_math_tutoring(deps: Deps) -> None:
    await brought(deps, "simulatorarena", data("simulatorarena", "math_tutoring.json"))
    found = (await summary(deps)).satisfaction
    assert found is not None and found.p_value is not None
    assert (found.threshold, found.satisfied, found.satisfied_failed) == (8, 31, 12)
    assert percent(found.p_fail_given_satisfied) == 38.7
    assert (round(found.p_value, 4), found.ceiling) == (0.0127, 0.2)
    assert (found.n, percent(found.base_fail)) == (50, 42.0)
    assert found.relative_risk is not None and found.auc is not None
    assert (round(found.relative_risk, 2), round(found.auc, 2)) == (0.92, 0.60)


async def test_gauge_table_8(deps: Deps) -> None:
    gates = ["rank_opus48:rank", "rank_gpt55:rank", "proxy_mean"]
    path = data("gauge_table8", "table8.csv")
    await brought(deps, "gauge-table", path, reward_col="reward", order_col="rank_reward:rank", gate_col=gates)
    found = await summary(deps)
    assert found.judges is not None and found.judges.keys() == GAUGE.keys()
    for gate, (near, wide, rho) in GAUGE.items():
        section = found.judges[gate].ranking
        assert section is not None and section.spearman is not None
        assert (percent(section.near.rate), percent(section.wide.rate)) == (near, wide)
        assert section.near.n == 85 and section.against == "order_rank"
        assert rho is None or round(section.spearman, 3) == rho
    opus = found.judges["rank_opus48"].ranking
    assert opus is not None and (opus.near.k, opus.near.n) == (28, 85)


def write(path: Path, value: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


async def test_an_llmbar_folder_of_three_pairs(deps: Deps, tmp_path: Path) -> None:
    """Right in both orders; right only unswapped; wrong in both. So 2 of 3 and 1 of 3, and 2 of 3 agree."""
    labels = [1, 2, 1]
    items = [{"input": f"Q{n}", "output_1": "one", "output_2": "two", "label": label} for n, label in enumerate(labels)]
    first_try = {"swap = False": {"winner": "2"}, "swap = True": {"winner": "1"}}
    said = [("1", "1"), ("2", "1"), ("2", "2")]
    judged = [
        {**item, "results": [first_try, {"swap = False": {"winner": plain}, "swap = True": {"winner": swapped}}]}
        for item, (plain, swapped) in zip(items, said, strict=True)
    ]
    write(tmp_path / "Small" / "dataset.json", items)
    write(tmp_path / "Small" / "evaluators" / "M" / "Vanilla" / "result.json", judged)
    await brought(deps, "llmbar", str(tmp_path))
    found = await summary(deps)
    assert found.judge == "M"
    assert found.consistency is not None and found.misselection is not None and found.pairs is not None
    assert found.consistency.accuracy == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found.consistency.agreement == pytest.approx(2 / 3)
    assert found.consistency.flip_rate == pytest.approx(1 / 3)
    assert (found.misselection.k, found.misselection.n) == (3, 6)
    assert (found.misselection.decided.k, found.misselection.decided.n) == (1, 2)
    assert found.pairs.inconsistent == 1


async def test_a_tau_bench_file_of_three_tasks(deps: Deps, tmp_path: Path) -> None:
    """Successes 4, 2 and 0 of 4: pass^1 = 6/12, pass^2 = (1 + 1/6 + 0)/3, pass^3 and pass^4 = 1/3."""
    trials = [
        {
            "task_id": task,
            "trial": trial,
            "reward": float(trial < won),
            "traj": [{"role": "user", "content": f"{trial}"}],
        }
        for task, won in enumerate((4, 2, 0))
        for trial in range(4)
    ]
    await brought(deps, "tau-bench", write(tmp_path / "agent.json", trials))
    found = await summary(deps)
    assert found.pass_hat_k == pytest.approx({"1": 1 / 2, "2": 7 / 18, "3": 1 / 3, "4": 1 / 3})


async def test_a_simulatorarena_file_of_eight_sessions(deps: Deps, tmp_path: Path) -> None:
    """Rated 8 and more: 2 of 4 failed; the others: 3 of 4. P(at least 2 of 4 at .2) = .1808; AUC 10.5/15."""
    sessions = [
        {
            "problem_id": n,
            "model": "tutor",
            "user_queries": ["Why?"],
            "ai_responses": ["So."],
            "overall_rating": rating,
            "problem_1_correctness": "correct" if solved else "incorrect",
        }
        for n, (rating, solved) in enumerate(
            [(10, True), (9, False), (8, True), (8, False), (7, False), (5, True), (4, False), (1, False)]
        )
    ]
    await brought(deps, "simulatorarena", write(tmp_path / "s.json", sessions))
    found = (await summary(deps)).satisfaction
    assert found is not None
    assert (found.satisfied, found.satisfied_failed, found.n) == (4, 2, 8)
    assert found.base_fail == pytest.approx(5 / 8)
    assert found.relative_risk == pytest.approx(0.5 / 0.625)
    assert found.p_value == pytest.approx(0.1808)
    # Successes at 10, 8, 5 stand above 5, 3½ and 2 of the failures at 9, 8, 7, 4, 1.
    assert found.auc == pytest.approx((5 + 3.5 + 2) / 15)


async def test_a_gauge_table_of_four_agents(deps: Deps, tmp_path: Path) -> None:
    """Rewards .50 .45 .45 .20: the near couples are ab, ac, bc (bc by rank), the wide ones ad, bd, cd."""
    table = "agent,reward,rank,gate\na,0.50,1,2\nb,0.45,2,3\nc,0.45,3,1\nd,0.20,4,4\n"
    options = {"reward_col": "reward", "order_col": "rank:rank", "gate_col": ["gate:rank"]}
    await brought(deps, "gauge-table", write(tmp_path / "t.csv", table), **options)
    found = (await summary(deps)).ranking
    assert found is not None
    # The gate puts c before a and b, which is wrong in ac and bc; d last is right.
    assert (found.near.k, found.near.n, found.wide.k, found.wide.n) == (2, 3, 0, 3)
    assert found.spearman == pytest.approx(1 - 6 * (1 + 1 + 4) / (4 * 15))

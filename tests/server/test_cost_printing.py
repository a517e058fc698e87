"""The cost of an audit, and what it ranks, as text for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import episode, lone, pair, passed, satisfied, verdict
from misjudge_server.console import console
from misjudge_server.cost_printing import cost_lines, print_cost
from misjudge_server.ranking_printing import agent_pairs, print_ranking, rank_correlation
from misjudge_storage.types import Judge, Log, Record, Scale
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.ranking import Disagreement
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.cost_values import CostSection
from misjudge_tools.summary.deciding.ranking_values import RankingSection
from misjudge_tools.summary.values import AuditSummary
from operations import stored

LIST = "genai-prices 0.0.66: openai judge-m list price"
JUDGE = Judge(label="one", form="pairwise", model="judge-m")
GATE = Judge(label="one", form="gate", model="judge-m", scale=Scale(low=1, high=7, threshold=5))


def call(**values: Any) -> Log:
    known = {"model": "judge-m", "input_tokens": 100, "output_tokens": 10, "est_cost": 0.5, "price_source": LIST}
    return Log.model_validate({**known, **values})


def records() -> list[Record]:
    found = []
    for n in range(2):
        agent = call(role="agent", model="agent-m", est_cost=None, price_source=None)
        sides = [episode(f"{name}{n}", passed(name == "x"), task=f"t{n}", logs=[agent]) for name in ("x", "y")]
        logs = [call(error="timeout", est_cost=None, price_source=None), call(attempt=2), call(cached_from="log_x")]
        found.append(pair(f"p{n}", sides[0], sides[1], verdict("A", "AB", judge=JUDGE), line=n, logs=logs))
    return found


def summary(deps: Deps, section: str, **values: Any) -> AuditSummary:
    request = {"audit": "a", "sections": [section], **values}
    return summarize(SummarizeRequest.model_validate(request), deps.store)


def cost(deps: Deps, **values: Any) -> CostSection:
    found = summary(deps, "cost", **values).cost
    assert found is not None
    return found


@pytest.mark.parametrize("width", [80, 118, 200])
def test_stages_sessions_and_bill_stand_in_tables_that_fit(
    deps: Deps, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int
) -> None:
    monkeypatch.setattr(console, "width", width)
    stored(deps.store, records())
    bill = tmp_path / "bill.csv"
    bill.write_text("model,cost,requests,day\njudge-m,1.25,2,2026-01-05\nother,3,,\n,1,,\n", encoding="utf-8")
    print_cost(cost(deps, bill=str(bill)))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    plain = " ".join(out.replace("│", " ").split())
    for said in (
        "Cost by stage",
        "Dearest judge sessions",
        "pair p0",
        "total: at least 1.0000 USD",
        "for each pair that it got right: 0.5000 USD (of 2)",
        f"judge, price: {LIST}",
        "agent, cost not known of 4 of 4 calls",
        "Cached replies cost nothing.",
        "other (only in the",
        "agent-m (only in the",
        "1.250",
        "Bill: 3 rows, 1 of them without a model or a cost left out from 2026-01-05 to 2026-01-05.",
        "judge_share, cost_per_success: The cost of agent is not known.",
    ):
        assert said in plain, said


def test_only_what_is_known_has_a_line() -> None:
    found = CostSection(by_role={}, calls_without_price={}, price_sources={})
    assert list(cost_lines(found)) == []
    known = found.model_copy(
        update={"total_cost": 0.001234, "complete": True, "judge_cost": 0.0, "judge_share": 0.0, "succeeded": 3}
    )
    assert list(cost_lines(known.model_copy(update={"cost_per_success": 0.5}))) == [
        ("total", "0.001234 USD"),
        ("judge", "0.0000 USD, 0.0 % of 0.001234 USD"),
        ("for each trajectory that did its task", "0.5000 USD (of 3)"),
    ]


def test_costs_that_a_source_states_and_simulated_calls_are_named(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [call(price_source="imported"), call(est_cost=None, price_source=None, simulated=True)]
    stored(deps.store, [pair("p", None, None, verdict("A"), logs=logs)])
    print_cost(cost(deps))
    out = capsys.readouterr().out
    assert "cost not known of 1 of 2 calls, 1 simulated, stated by the source, maybe without retries" in out


def ranked_records(agents: int) -> list[Record]:
    found: list[Record] = []
    for n in range(agents):
        for task in range(4):
            score = float((n * 7 + task) % 5 + 1 + n % 3)
            one = episode(
                f"agent{n}", passed(task * agents < n * 4), task=f"t{task}", base_model=f"m{n // 2}",
                satisfaction=[satisfied(score, GATE)],
            )  # fmt: skip
            found.append(lone(one, line=len(found)))
    return found


def ranking(deps: Deps) -> RankingSection:
    found = summary(deps, "ranking").ranking
    assert found is not None
    return found


@pytest.mark.parametrize("width", [80, 118])
def test_a_ranking_says_that_its_rates_are_of_agent_pairs(
    deps: Deps, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(console, "width", width)
    stored(deps.store, ranked_records(10))
    found = ranking(deps)
    assert found.of == "agent pairs" and found.abstention is not None and found.by_base_model is not None
    print_ranking(found)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    plain = " ".join(out.replace("│", " ").split())
    for said in (
        "Agent pairs ranked wrongly by mean gate score (pairs of 10 agents, not of answers)",
        "|ΔR| cut at 0.05",
        "|ΔR| cut at 0.15",
        "on different base models",
        "on the same base model",
        "gate gap above 1.96 standard errors",
        "with their rewards",
        "from 5 base models.",
    ):
        assert said in plain, said
    assert found.wide.low is not None and f"[{100 * found.wide.low:.0f}–" in plain


def test_what_a_ranking_of_few_agents_lacks_is_said(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, ranked_records(3))
    print_ranking(ranking(deps))
    out = capsys.readouterr().out
    assert "intervals: Intervals need at least 8 agents, not 3." in out
    assert "in brackets" not in out


def test_agent_pairs_and_rank_correlation_are_never_bare_numbers(deps: Deps) -> None:
    assert agent_pairs(Disagreement(rate=0.25, k=1, n=4)) == "25.0 % (1 of 4 agent pairs)"
    assert agent_pairs(Disagreement(rate=0.25, k=1, n=4, low=0.1, high=0.5)) == (
        "25.0 % (1 of 4 agent pairs, 95 % 10.0–50.0 %)"
    )
    stored(deps.store, ranked_records(3))
    found = ranking(deps)
    assert rank_correlation(found) == f"{found.spearman:.3f} over 3 agents"
    known = found.model_copy(update={"spearman": 0.5, "spearman_low": 0.1, "spearman_high": 0.8})
    assert rank_correlation(known) == "0.500 over 3 agents (95 % 0.100–0.800)"
    assert rank_correlation(found.model_copy(update={"spearman": None})) == "–"


def test_costs_that_leave_out_calls_without_a_price_say_at_least(
    deps: Deps, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dark = [call(), call(est_cost=None, price_source=None)]
    sides = [episode(name, passed(name == "x"), task="t") for name in ("x", "y")]
    stored(deps.store, [pair("p", sides[0], sides[1], verdict("A", "AB", judge=JUDGE), line=1, logs=dark)])
    bill = tmp_path / "bill.csv"
    bill.write_text("model,cost\njudge-m,1.25\n", encoding="utf-8")
    found = cost(deps, bill=str(bill))
    of_calls = {"judge_cost", "total_cost", "cost_per_task", "cost_per_success", "cost_per_correct_selection"}
    assert set(found.at_least) == of_calls
    print_cost(found)
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "total: at least 0.5000 USD" in out
    assert "judge: at least 0.5000 USD, 100.0 % of 0.5000 USD that are known" in out
    assert "for each trajectory that did its task: at least 0.5000 USD (of 1)" in out
    assert "for each pair that it got right: at least 0.5000 USD (of 1)" in out
    assert "judge-m 1.2500 ≥ 0.5000 ≤ 0.7500 ≤ 2.500" in out
    assert "1 of the calls here has no known price, so that less is estimated than was used." in out


def test_a_session_that_cost_nothing_is_no_dear_one(deps: Deps) -> None:
    sides = [episode(name, passed(name == "x"), task="t") for name in ("x", "y")]
    free = call(est_cost=0)
    stored(deps.store, [pair("p", sides[0], sides[1], verdict("A", "AB", judge=JUDGE), line=1, logs=[free])])
    found = cost(deps)
    assert found.dearest == () and "above 0" in found.why["dearest"]

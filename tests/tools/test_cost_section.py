"""What an audit cost: by stage, for what came of it, the dearest sessions, and against a bill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import episode, lone, pair, passed, satisfied, verdict
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Judge, Log, Record, Scale
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize, summarize_audit
from misjudge_tools.summary.deciding.cost_values import CostSection, StageCost
from misjudge_tools.summary.values import AuditSummary
from operations import opened, stored

LIST = "genai-prices 0.0.66: openai judge-m list price"
ONE = Judge(label="one", form="pairwise", model="judge-m")
TWO = Judge(label="two", form="pairwise", model="judge-n")
HAPPY = Judge(label="one", form="satisfaction", model="judge-m", scale=Scale(low=0, high=1, threshold=0.8))


def call(**values: Any) -> Log:
    known = {"model": "judge-m", "input_tokens": 100, "output_tokens": 10, "est_cost": 0.5, "price_source": LIST}
    return Log.model_validate({**known, **values})


FAILED: dict[str, Any] = {
    "error": "timeout", "input_tokens": None, "output_tokens": None, "est_cost": None, "price_source": None
}  # fmt: skip


def audit(*, judge: Judge = ONE) -> list[Record]:
    """Three pairs: right, wrong, right. The first took a retry; agents cost .25 each, customers .05."""
    found = []
    for n in range(3):
        sides = [
            episode(
                f"{name}{n}", passed(name == "x"), task=f"t{n}",
                logs=[
                    call(role="agent", model="agent-m", est_cost=0.25, price_source="misjudge.toml"),
                    call(role="user_sim", model="agent-m", est_cost=0.05, price_source="misjudge.toml"),
                ],
            )
            for name in ("x", "y")
        ]  # fmt: skip
        logs = [call(**FAILED), call(attempt=2)] if n == 0 else [call(est_cost=0.5 + n)]
        said = verdict("B" if n == 1 else "A", "AB", judge=judge)
        found.append(pair(f"p{n}", sides[0], sides[1], said, line=n, logs=logs))
    return found


def summary(deps: Deps, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **values}), deps.store)


def cost(deps: Deps, **values: Any) -> CostSection:
    found = summary(deps, sections=["cost"], **values).cost
    assert found is not None
    return found


def stage(found: CostSection, name: str) -> StageCost:
    (one,) = (stage for stage in found.stages if stage.stage == name)
    return one


def test_each_stage_has_its_calls_tokens_cost_and_price_basis(deps: Deps) -> None:
    stored(deps.store, audit())
    found = cost(deps)
    assert [one.stage for one in found.stages] == ["agent", "user_sim", "judge"]
    assert stage(found, "judge") == StageCost(
        stage="judge", calls=4, failed_calls=1, retries=1, cached=0, simulated_calls=0, input_tokens=300,
        output_tokens=30, cost=4.5, cost_per_call=1.5, price_basis=(LIST,), calls_without_price=0,
        calls_without_usage=0, includes_retries=True,
    )  # fmt: skip
    assert found.by_role == pytest.approx({"agent": 1.5, "judge": 4.5, "user_sim": 0.3})
    assert found.price_sources == {"agent": ("misjudge.toml",), "judge": (LIST,), "user_sim": ("misjudge.toml",)}


def test_costs_are_set_against_what_came_of_them(deps: Deps) -> None:
    stored(deps.store, audit())
    found = cost(deps)
    assert (found.agent_cost, found.user_sim_cost, found.judge_cost) == pytest.approx((1.5, 0.3, 4.5))
    assert found.total_cost == pytest.approx(6.3) and found.complete
    assert found.judge_share == pytest.approx(4.5 / 6.3)
    assert (found.succeeded, found.right) == (3, 2)
    assert found.cost_per_success == pytest.approx(2.1)
    tokens = [number or 0 for one in found.stages for number in (one.input_tokens, one.output_tokens)]
    assert found.tasks == 3 and found.tokens == sum(tokens) > 0
    assert found.tokens_per_task == pytest.approx(sum(tokens) / found.tasks)
    assert found.cost_per_task == pytest.approx(6.3 / found.tasks)
    assert found.rollout_cost_per_success == pytest.approx(0.6)
    assert found.cost_per_correct_selection == pytest.approx(2.25)
    assert found.why == {}


def test_the_dearest_sessions_come_first_by_judge_and_pair(deps: Deps) -> None:
    stored(deps.store, [*audit(), lone(episode("z", satisfaction=[satisfied(0.9, HAPPY)], logs=[call(est_cost=9)]))])
    found = cost(deps)
    assert [(one.of, one.judge, one.calls, one.cost) for one in found.dearest] == [
        ("trajectory", "judge-m", 1, 9),
        ("pair", "one", 1, 2.5),
        ("pair", "one", 1, 1.5),
        ("pair", "one", 2, 0.5),
    ]
    assert [one.id for one in found.dearest[1:]] == ["p2", "p1", "p0"]
    assert (found.dearest[3].input_tokens, found.dearest[3].output_tokens) == (100, 10)


def test_ten_dear_sessions_are_listed_at_most(deps: Deps) -> None:
    stored(deps.store, [pair(f"p{n:02}", None, None, verdict("A"), line=n, logs=[call()]) for n in range(14)])
    assert [one.id for one in cost(deps).dearest] == [f"p{n:02}" for n in range(10)]


def test_what_is_not_known_is_none_and_never_nothing(deps: Deps) -> None:
    unpriced = call(est_cost=None, price_source=None)
    stored(deps.store, [pair(f"p{n}", None, None, verdict("A"), line=n, logs=[unpriced]) for n in range(2)])
    found = cost(deps)
    assert stage(found, "judge").cost is None and stage(found, "judge").calls_without_price == 2
    assert (found.total_cost, found.judge_cost, found.judge_share, found.cost_per_success) == (None,) * 4
    assert found.cost_per_task is None
    assert not found.complete and found.dearest == () and found.agent_cost is None
    assert found.why["judge_share"] == (
        "The cost of judge is not known. State the price of its model in misjudge.toml."
    )
    assert found.why["cost_per_success"] == found.why["rollout_cost_per_success"]
    assert "whether it did its task" in found.why["cost_per_success"]
    assert "decided rightly" in found.why["cost_per_correct_selection"]
    assert "known cost" in found.why["dearest"]


def test_a_share_of_a_total_that_leaves_a_stage_out_is_not_said(deps: Deps) -> None:
    records = audit()
    (first, second) = records[0].episodes
    dark = first.model_copy(update={"logs": (call(role="success_check", est_cost=None, price_source=None),)})
    stored(deps.store, [records[0].model_copy(update={"episodes": (dark, second)}), *records[1:]])
    found = cost(deps)
    assert found.total_cost is not None and not found.complete
    assert found.judge_share is None and "success_check" in found.why["judge_share"]
    assert found.cost_per_success is None and found.rollout_cost_per_success is not None


def test_simulated_calls_have_no_cost_and_hide_none(deps: Deps) -> None:
    made_up = call(role="user_sim", simulated=True, est_cost=None, price_source=None)
    stored(deps.store, [*audit()[:1], lone(episode("z", logs=[made_up]), line=9)])
    found = cost(deps)
    assert stage(found, "user_sim").simulated_calls == 1
    assert found.complete and found.judge_share is not None
    only = summarize_only(deps, [lone(episode("q", passed(True), logs=[made_up]))])
    assert only.total_cost is None and only.cost_per_success is None


def summarize_only(deps: Deps, records: list[Record]) -> CostSection:
    stored(deps.store, records, "b")
    found = summarize(SummarizeRequest(audit="b", sections=["cost"]), deps.store).cost
    assert found is not None
    return found


def test_replies_of_the_cache_cost_nothing_and_count_apart(deps: Deps) -> None:
    cached = call(cached_from="log_before", est_cost=0, price_source="cache")
    stored(deps.store, [*audit(), pair("c", None, None, verdict("A", judge=ONE), line=7, logs=[cached])])
    found = cost(deps)
    assert (stage(found, "judge").calls, stage(found, "judge").cached, stage(found, "judge").cost) == (4, 1, 4.5)
    assert stage(found, "judge").price_basis == (LIST,)
    stored(deps.store, [pair("c", None, None, verdict("A", judge=ONE), logs=[cached] * 3)], "b")
    only = summarize(SummarizeRequest(audit="b", sections=["cost"]), deps.store)
    assert only.cost is None and only.why["cost"] == "No call was made: the cache held all 3 replies."


def test_costs_that_a_source_states_may_leave_out_retries(deps: Deps) -> None:
    stated = call(input_tokens=None, output_tokens=None, price_source="imported")
    stored(deps.store, [pair("p", None, None, verdict("A"), logs=[stated])])
    assert stage(cost(deps), "judge").includes_retries is None


def test_no_success_and_no_payment_have_their_reasons(deps: Deps) -> None:
    stored(deps.store, [lone(episode("x", passed(False), logs=[call(role="agent", est_cost=0)]))])
    found = cost(deps)
    assert found.cost_per_success is None and found.why["cost_per_success"] == "No episode did its task."
    assert found.judge_share is None and found.why["judge_share"] == "Nothing was paid."
    assert found.why["cost_per_correct_selection"] == "This judge judged no pair."


def test_each_of_several_judges_shows_only_its_own_cost(deps: Deps) -> None:
    others = [
        pair(f"o{n}", None, None, verdict("A", judge=TWO), line=50 + n, logs=[call(est_cost=2)]) for n in range(2)
    ]
    stored(deps.store, [*audit(), *others])
    found = summary(deps)
    assert found.cost is not None and found.judges is not None
    assert found.cost.total_cost == pytest.approx(6.3 + 4)
    assert found.cost.cost_per_correct_selection is None
    assert "judge=LABEL" in found.cost.why["cost_per_correct_selection"]
    one, two = (found.judges[name].cost for name in ("one", "two"))
    assert one is not None and two is not None
    assert (one.judge_cost, one.total_cost, two.judge_cost) == (4.5, 4.5, 4)
    assert (one.agent_cost, one.judge_share, one.cost_per_success, one.succeeded) == (None,) * 4
    assert one.cost_per_correct_selection == pytest.approx(2.25)
    assert two.cost_per_correct_selection is None, "it judged no pair of known gold"
    assert [session.judge for session in two.dearest] == ["two", "two"]
    assert {session.judge for session in found.cost.dearest} == {"one", "two"}
    assert cost(deps, judge="one") == one


def bill_of(folder: Path, *lines: str) -> str:
    path = folder / "bill.csv"
    path.write_text("model,cost,requests,date\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_a_bill_is_set_against_the_costs_by_model(deps: Deps, tmp_path: Path) -> None:
    stored(deps.store, audit())
    path = bill_of(tmp_path, "judge-m,4.0,3,2026-01-01", "judge-m,1.4,1,2026-01-03", "other,7,,", ",3,,")
    found = cost(deps, bill=path).reconciliation
    assert found is not None
    assert [(one.model, one.billed, one.calls, one.billed_calls, one.only_in) for one in found.models] == [
        ("other", 7, None, None, "bill"),
        ("judge-m", 5.4, 4, 4, None),
        ("agent-m", None, 12, None, "audit"),
    ]
    other, judge, agent = found.models
    assert (judge.estimated, judge.difference, judge.ratio) == pytest.approx((4.5, 0.9, 1.2))
    assert agent.estimated == pytest.approx(1.8)
    assert (other.estimated, other.difference, agent.difference, agent.ratio) == (None,) * 4
    assert (found.matched.billed, found.matched.estimated) == (5.4, 4.5)
    assert (found.total.billed, found.total.estimated) == pytest.approx((12.4, 6.3))
    assert found.total.difference == pytest.approx(6.1)
    assert (found.rows, found.rows_left_out) == (4, 1)
    assert (found.bill_first_day, found.bill_last_day) == ("2026-01-01", "2026-01-03")
    assert found.calls_first_day is not None and found.calls_last_day is not None
    assert cost(deps).reconciliation is None and "reconciliation" not in cost(deps).why


def test_a_models_name_matches_without_provider_and_date_where_that_leaves_no_doubt(deps: Deps, tmp_path: Path) -> None:
    logs = [call(model=name) for name in ("openai/gpt-x", "gpt-y-2026-01-01", "gpt-y-2026-02-02", "gpt-z")]
    stored(deps.store, [pair("p", None, None, verdict("A"), logs=logs)])
    path = bill_of(tmp_path, "GPT-X-2025-12-01,1,,", "gpt-y,1,,", "gpt-z,1,,", "gpt-z-2026-01-01,1,,")
    found = cost(deps, bill=path).reconciliation
    assert found is not None
    assert {one.model for one in found.models if one.only_in is None} == {"GPT-X-2025-12-01", "gpt-z"}
    assert {one.model for one in found.models if one.only_in == "bill"} == {"gpt-y", "gpt-z-2026-01-01"}


def test_simulated_and_unpriced_calls_are_not_reckoned_as_nothing(deps: Deps, tmp_path: Path) -> None:
    logs = [call(model="sim", simulated=True), call(model="dark", est_cost=None), call(model="free", est_cost=0)]
    stored(deps.store, [pair("p", None, None, verdict("A"), logs=logs)])
    found = cost(deps, bill=bill_of(tmp_path, "sim,1,,", "dark,1,,", "free,1,,")).reconciliation
    assert found is not None
    rows = {one.model: one for one in found.models}
    assert rows["sim"].only_in == "bill"
    assert (rows["dark"].estimated, rows["dark"].ratio, rows["dark"].only_in) == (None, None, None)
    assert (rows["free"].estimated, rows["free"].difference, rows["free"].ratio) == (0, 1, None)


def test_one_judge_of_several_is_not_set_against_a_bill(deps: Deps, tmp_path: Path) -> None:
    stored(deps.store, [*audit(), pair("o", None, None, verdict("A", judge=TWO), line=50, logs=[call()])])
    path = bill_of(tmp_path, "judge-m,4,,")
    found = summary(deps, bill=path)
    assert found.cost is not None and found.cost.reconciliation is not None and found.judges is not None
    for one in (cost(deps, bill=path, judge="one"), found.judges["one"].cost):
        assert one is not None and one.reconciliation is None and "of all judges" in one.why["reconciliation"]


async def test_over_mcp_a_bill_is_read_below_the_roots_only(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    async with opened(tmp_path / "misjudge.db", roots=(inside,)) as deps:
        stored(deps.store, audit())
        near, far = bill_of(inside, "judge-m,4,,"), bill_of(tmp_path, "judge-m,4,,")
        found = await summarize_audit(SummarizeRequest(audit="a", bill=near, sections=["cost"]), deps)
        assert found.cost is not None and found.cost.reconciliation is not None
        with pytest.raises(InvalidInput, match="outside the folders that may be read"):
            await summarize_audit(SummarizeRequest(audit="a", bill=far, sections=["cost"]), deps)

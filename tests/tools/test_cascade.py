"""Cascades end to end: the panel is asked exactly where the rule says, and what that saved is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cascade_parts import MIXED, NEAR, PANEL, Place, Says, asked, assert_exact, declared, desk, questions, recounted
from live_parts import SHOP, ran, shop
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Check, Episode, PairKey, Record, Task, Trajectory
from misjudge_tools.demo import load_demo_pairs
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.requests import RunPairRequest
from misjudge_tools.results import CascadeReport
from misjudge_tools.run_pair import run_pair
from operations import NOWHERE, count, opened, pair_records, rows, stored, verdicts

TEN = 10
FIRST = "simulated:position=0.25,noise=0.2,parse_failure=0.06,seed=3"
SIMULATED_PANEL = ["simulated:noise=0.05,seed=1", "simulated:politeness=0.5,seed=2"]


def demo_records() -> Iterator[Record]:
    """The shipped pairs, every third declared near."""
    for line, pair in enumerate(load_demo_pairs(), 1):
        sides = (
            (pair.agent_a, pair.messages_a, pair.success_a),
            (pair.agent_b, pair.messages_b, pair.success_b),
        )
        yield Record(
            line=line,
            task=Task(task_id=pair.task_id, prompt=pair.task_prompt, success_criteria=pair.success_criteria),
            episodes=tuple(
                Episode(
                    trajectory=Trajectory(task_id=pair.task_id, agent=agent, trial=0, messages=messages),
                    checks=(Check(verifier="demo", source="verifier", passed=success),),
                )
                for agent, messages, success in sides
            ),
            pair=PairKey(pair_id=pair.task_id, trial=0, ability_bucket=None if line % 3 else "near"),
        )


async def test_the_panel_is_asked_exactly_about_the_pairs_that_the_rule_names(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        result = await judge(asked(), at.deps)
        assert assert_exact(at.deps.store, "judge-m", PANEL, 1) == {
            **{f"p{n}": None for n in (0, 4, 5, 8, 9)},
            **{"p1": "inconsistent", "p2": "unscored", "p3": "low_margin", "p6": "near", "p7": "near"},
        }
        assert at.panel_pairs() == {1, 2, 3} | NEAR
        assert at.calls() == {"judge": 2 * TEN, "strict": 10, "stern": 10}
        assert (result.run.state, result.run.done, result.run.total) == ("done", 40, 40)


async def test_what_was_saved_is_the_calls_about_decided_pairs_at_what_such_calls_cost(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        report = (await judge(asked(), at.deps)).run.cascade
        costs = rows(
            at.deps.store,
            "SELECT j.label, AVG(l.est_cost) AS mean FROM judge_logs l JOIN judges j USING (audit_id, judge_id) "
            "GROUP BY j.label",
        )
        each = {row["label"]: row["mean"] for row in costs}
    assert report is not None
    assert report.model_copy(update={"usd_saved": None}) == CascadeReport(
        judge="judge-m",
        pairs=TEN,
        decided=5,
        escalated={"near": 2, "unscored": 1, "inconsistent": 1, "low_margin": 1},
        calls_saved=5 * 2 * 2,
    )
    assert report.usd_saved == pytest.approx(5 * 2 * (each["strict"] + each["stern"]))
    assert each["strict"] == pytest.approx(0.014) and each["stern"] == pytest.approx(0.022)


async def test_what_a_call_would_have_cost_is_not_known_where_none_was_made_or_priced(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", {}) as at:
        stored(at.deps.store, declared(2, frozenset()))
        report = (await judge(asked(), at.deps)).run.cascade
        assert report is not None
        assert (report.decided, report.calls_saved, report.usd_saved) == (2, 8, None)
    async with desk(tmp_path / "unpriced.db", {}, priced=False) as at:
        stored(at.deps.store, declared(2, frozenset({1})))
        report = (await judge(asked(), at.deps)).run.cascade
        assert report is not None
        assert (report.decided, report.calls_saved, report.usd_saved) == (1, 4, None)
    async with desk(tmp_path / "all.db", {}) as at:
        stored(at.deps.store, declared(2, frozenset({0, 1})))
        report = (await judge(asked(), at.deps)).run.cascade
        assert report is not None
        assert (report.decided, report.calls_saved, report.usd_saved) == (0, 0, 0)


async def test_calls_that_were_made_all_the_same_are_not_saved(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", {}) as at:
        stored(at.deps.store, declared(3, frozenset()))
        await judge(asked(judge="strict", panel=None, cascade=False, pair_ids=["p1"]), at.deps)
        report = (await judge(asked(), at.deps)).run.cascade
        assert report is not None
        assert (report.decided, report.calls_saved) == (3, 3 * 2 * 2 - 2)


@pytest.mark.parametrize("concurrency", [1, 3, 32])
async def test_how_many_calls_are_under_way_does_not_matter(tmp_path: Path, concurrency: int) -> None:
    async with desk(tmp_path / "s.db", MIXED, concurrency=concurrency) as at:
        stored(at.deps.store, declared(TEN))
        report = (await judge(asked(), at.deps)).run.cascade
        assert_exact(at.deps.store, "judge-m", PANEL, 1)
        assert at.panel_pairs() == {1, 2, 3} | NEAR
        assert report is not None and report.calls_saved == 20


async def test_the_order_of_the_panel_does_not_matter(tmp_path: Path) -> None:
    async with desk(tmp_path / "one.db", MIXED) as one, desk(tmp_path / "other.db", MIXED) as other:
        for at, panel in ((one, PANEL), (other, PANEL[::-1])):
            stored(at.deps.store, declared(TEN))
            await judge(asked(panel=list(panel)), at.deps)
        assert verdicts(one.deps.store) == verdicts(other.deps.store)


@pytest.mark.parametrize("margin", [0, 2, 2.5, 100])
async def test_the_margin_says_what_is_close(tmp_path: Path, margin: float) -> None:
    """p0 leads by 4, p3 by half a point, p4 by 2, p5 ties with 2 between the scores."""
    close = {0: set(), 2: {3}, 2.5: {3, 4, 5}, 100: {0, 3, 4, 5, 8, 9}}[margin]
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        await judge(asked(margin=margin), at.deps)
        assert_exact(at.deps.store, "judge-m", PANEL, margin)
        assert at.panel_pairs() == {1, 2} | NEAR | close


async def test_a_judge_without_scores_is_close_where_it_sees_a_tie(tmp_path: Path) -> None:
    tied = {**MIXED, 8: Says("tie")}
    async with desk(tmp_path / "s.db", tied, form="letter") as at:
        stored(at.deps.store, declared(TEN))
        await judge(asked(margin=0), at.deps)
        expected = assert_exact(at.deps.store, "judge-m", PANEL, 0)
        assert {pair for pair, said in expected.items() if said == "low_margin"} == {"p5", "p8"}
        assert at.panel_pairs() == {1, 2, 5, 8} | NEAR


@pytest.mark.parametrize("orders", ["both", "random", "fixed"])
@pytest.mark.parametrize("repeats", [1, 3])
async def test_simulated_judges_with_planted_faults_on_the_demo_pairs(deps: Deps, orders: str, repeats: int) -> None:
    stored(deps.store, list(demo_records()))
    request = asked(judge=FIRST, panel=SIMULATED_PANEL, orders=orders, repeats=repeats)
    run = (await judge(request, deps)).run
    expected = assert_exact(deps.store, FIRST, SIMULATED_PANEL, 1)
    why = Counter(said for said in expected.values() if said is not None)
    assert run.state == "done" and run.cascade is not None
    assert run.cascade.escalated == why and run.cascade.decided == 12 - why.total() > 0
    each = (2 if orders == "both" else 1) * repeats
    assert run.cascade.calls_saved == run.cascade.decided * 2 * each
    assert run.total == 12 * each + why.total() * 2 * each


async def test_agents_run_live_are_escalated_by_pairing_and_verdict(tmp_path: Path) -> None:
    suite = shop(tmp_path / "shop", 6)
    agents = ["diligent", "hasty", "smooth_talker"]
    async with opened(tmp_path / "s.db", NOWHERE, episodes=SHOP) as at:
        request: dict[str, Any] = {
            "suite": suite,
            "agents": agents,
            "pairings": ["diligent|hasty=near", "hasty|smooth_talker=wide", "diligent|smooth_talker=wide"],
            **{"judge": FIRST, "panel": SIMULATED_PANEL, "cascade": True},
        }
        planned = await ran(at, dry_run=True, **request)
        run = (await ran(at, **request)).run
        expected = assert_exact(at.store, FIRST, SIMULATED_PANEL, 1)
        near = {pair for pair, said in expected.items() if said == "near"}
        assert near == {pair for pair in expected if "diligent|hasty" in pair} and len(near) == 6
        why = Counter(said for said in expected.values() if said is not None)
        assert why.total() > len(near), "nothing but near pairs was escalated"
        assert run.state == "done" and run.cascade is not None
        assert run.cascade.escalated == why and run.cascade.pairs == len(expected) == 18
        assert count(at.store, "verdicts", "trajectory_id IS NOT NULL") == 18, "scores are the first judge's alone"
        plan = planned.run
        assert plan.total == 18 + 36 + 6 * 2 * 2 + 18 and plan.cascade is not None
        assert (plan.cascade.escalated, plan.cascade.decided) == ({"near": 6}, 0)
        calls = {(use.role, use.model, use.form): use.calls for use in plan.plan}
        assert [calls["judge", name, "pairwise"] for name in (FIRST, *SIMULATED_PANEL)] == [36, 36, 36]


async def test_two_recorded_trajectories_are_shown_with_all_that_was_said_of_them(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", {1: Says("tie", 3, 3)}) as at:
        given = RunPairRequest(
            **{"audit": "a", "task_id": "t", "task_prompt": "Cancel order 1.", "panel": list(PANEL), "cascade": True},
            **{"agent_a": "left", "agent_b": "right"},
            **{"trajectory_a": "I cancelled order 1.", "trajectory_b": "I could not cancel order 1."},
        )
        result = await run_pair(given, at.deps)
        assert result.pair is not None and len(result.pair.verdicts) == 6
        assert result.run.cascade is not None and result.run.cascade.escalated == {"low_margin": 1}


async def test_a_plan_says_what_is_asked_for_certain_and_at_most(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        await judge(asked(panel=None, cascade=False, pair_ids=["p0", "p1"]), at.deps)
        planned = await judge(asked(dry_run=True), at.deps)
        run = planned.run
        assert (run.total, planned.already_stored) == (16 + 3 * 4, 4)
        # Of the first judge eight pairs are open; about p0 the panel is not asked any more.
        assert [(use.model, use.calls) for use in run.plan] == [("judge-m", 16), ("strict", 18), ("stern", 18)]
        assert run.cascade == CascadeReport(
            judge="judge-m",
            pairs=TEN,
            decided=1,
            escalated={"near": 2, "inconsistent": 1},
            calls_saved=4,
            usd_saved=None,
        )
        assert sum(at.calls().values()) == 4


async def test_a_large_cascade_needs_a_ceiling_for_the_most_that_it_may_ask(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", {}) as at:
        stored(at.deps.store, declared(40, frozenset()))
        with pytest.raises(InvalidInput, match=r"This takes up to 240 calls .* max_calls=240"):
            await judge(asked(), at.deps)
        assert (await judge(asked(max_calls=240), at.deps)).run.done == 80


async def test_a_cascade_goes_by_verdicts_on_pairs_and_needs_a_panel(deps: Deps) -> None:
    stored(deps.store, pair_records(1))
    with pytest.raises(InvalidInput, match="gate is judged of single trajectories"):
        await judge(asked(judge="simulated", panel=SIMULATED_PANEL, form="gate"), deps)
    with pytest.raises(InvalidInput, match="A cascade needs a panel"):
        await judge(asked(judge="simulated", panel=None), deps)
    assert count(deps.store, "runs") == 0


async def test_verdicts_that_are_stored_decide_before_anything_is_asked(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        await judge(asked(panel=None, cascade=False), at.deps)
        result = await judge(asked(), at.deps)
        assert at.panel_pairs() == {1, 2, 3} | NEAR
        assert (result.run.state, result.already_stored) == ("done", 20)
        again = await judge(asked(), at.deps)
        assert at.calls() == {"judge": 20, "strict": 10, "stern": 10}
        assert (again.run.state, again.run.cascade) == ("done", result.run.cascade)


async def test_a_first_judge_that_cannot_be_read_stops_the_run_and_its_pairs_are_escalated(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", {n: Says(None) for n in range(12)}, concurrency=1) as at:
        stored(at.deps.store, declared(12, frozenset()))
        stopped = (await judge(asked(), at.deps)).run
        assert stopped.state == "failed" and "20 of the first 20 replies" in (stopped.reason or "")
        assert stopped.cascade is not None and stopped.cascade.escalated == {"unscored": 10}
        assert at.calls()["strict"] == 0
        resumed = (await judge(asked(), at.deps)).run
        assert resumed.state == "done"
        assert set(assert_exact(at.deps.store, "judge-m", PANEL, 1).values()) == {"unscored"}
        assert resumed.cascade is not None and (resumed.cascade.decided, resumed.cascade.calls_saved) == (0, 0)


async def test_a_panel_that_cannot_be_read_stops_a_run_whose_first_verdicts_were_stored_before(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", {n: Says(None) for n in range(20)}) as at:
        stored(at.deps.store, declared(20, frozenset(range(20))))
        await judge(asked(judge="strict", panel=None, cascade=False), at.deps)
        run = (await judge(asked(judge="strict", panel=["judge-m"]), at.deps)).run
        assert run.state == "failed" and "of the first 20 replies" in (run.reason or "")


async def test_pairs_of_one_order_are_decided_by_it(tmp_path: Path) -> None:
    """Under a fixed order p1 is no contradiction, and p2 is scored."""
    async with desk(tmp_path / "s.db", MIXED) as at:
        stored(at.deps.store, declared(TEN))
        await judge(asked(orders="fixed"), at.deps)
        expected = recounted(at.deps.store, "judge-m", 1)
        assert {pair for pair, said in expected.items() if said} == {"p3", "p4", "p6", "p7"}
        for name in PANEL:
            assert questions(at.deps.store, name) == {pair: {("AB", 0)} for pair in ("p3", "p4", "p6", "p7")}


async def test_judges_of_a_plan_without_a_cascade_have_no_report_of_one(tmp_path: Path) -> None:
    async with desk(tmp_path / "s.db", {Place(0, "AB"): Says("B")}) as at:
        stored(at.deps.store, declared(2))
        run = (await judge(asked(cascade=False), at.deps)).run
        assert (run.cascade, run.total, run.done) == (None, 12, 12)

"""What a request of live agents is planned as: who is compared on which tasks, in which order, within which limits."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from live_parts import ALLOWED, SHOP, desk_models, on_run, ran, request, shop, shop_task
from misjudge_storage.errors import Conflict, InvalidInput, MissingKey
from misjudge_storage.rows import audit_id
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import ChatAgent, EpisodeSettings
from misjudge_tools.profiles import ModelSettings
from misjudge_tools.run_pair import LIVE_ONLY, RECORDED_ONLY, compare
from misjudge_tools.runs.rollout_plan import rollouts_of
from operations import NOWHERE, count, dump, opened, rows

KEY = "sk-test-0123456789"
FOUR = ["diligent", "flaky:0.5", "hasty", "smooth_talker"]
PAID = desk_models("http://127.0.0.1:9", KEY)
NO_PRICE = desk_models("http://127.0.0.1:9", KEY, None)


@pytest.fixture
def suite(tmp_path: Path) -> str:
    """Four tasks in English, two in Chinese. Hasty agents fail two and one of them."""
    return shop(tmp_path / "shop", 4, 2)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Deps]:
    """Operations without a gateway, whose configuration allows the shop's tools."""
    async with opened(tmp_path / "misjudge.db", NOWHERE, episodes=SHOP) as made:
        yield made


async def refused(deps: Deps, said: str, kind: type[Exception] = InvalidInput, **values: Any) -> None:
    """The request is refused with these words, and the store is as it was."""
    before = dump(deps.store)
    with pytest.raises(kind, match=said):
        await ran(deps, **values)
    assert dump(deps.store) == before


def buckets(deps: Deps) -> dict[tuple[str, str], str | None]:
    """Sides of the stored pairs → how they are declared, which is the same in all tasks."""
    found = rows(deps.store, "SELECT DISTINCT agent_a, agent_b, ability_bucket FROM audit_pairs")
    assert len({(row["agent_a"], row["agent_b"]) for row in found}) == len(found)
    return {(row["agent_a"], row["agent_b"]): row["ability_bucket"] for row in found}


async def test_every_two_agents_are_compared_near_or_wide_by_their_known_skills(desk: Deps, suite: str) -> None:
    result = await ran(desk, suite=suite, agents=[*FOUR[:3], "flaky:0.51"], signals=[])
    assert (result.run.state, result.pairs) == ("done", 6 * 4)
    assert buckets(desk) == {
        ("diligent", "flaky:0.5"): "wide",
        ("diligent", "hasty"): "wide",
        ("diligent", "flaky:0.51"): "wide",
        ("flaky:0.5", "hasty"): "near",
        ("flaky:0.5", "flaky:0.51"): "near",
        ("hasty", "flaky:0.51"): "near",
    }


async def test_pairings_choose_who_is_compared_and_may_declare_near_or_wide(desk: Deps, suite: str) -> None:
    pairings = ["smooth_talker|diligent=near", " hasty | flaky:.50 =wide", "diligent|hasty"]
    result = await ran(desk, suite=suite, agents=FOUR, pairings=pairings, signals=[])
    assert result.pairs == 3 * 4
    assert buckets(desk) == {
        ("smooth_talker", "diligent"): "near",
        ("hasty", "flaky:0.5"): "wide",
        ("diligent", "hasty"): "wide",
    }


@pytest.mark.parametrize(
    ("pairings", "said"),
    [
        (["diligent|nobody"], r"'diligent\|nobody' cannot be read: .* agents of this run \(diligent, flaky:0.5, hasty"),
        (["diligent"], "cannot be read"),
        (["diligent|hasty=middle"], "cannot be read"),
        (["diligent|flaky:2"], "flaky needs the share"),
        (["hasty|hasty"], "compares an agent with itself"),
        (["flaky:0.5|flaky:.5=near"], "compares an agent with itself"),
        (["diligent|hasty", "hasty|diligent=near"], "Two pairings compare the same agents"),
    ],
)
async def test_pairings_that_cannot_be_meant_are_refused(
    desk: Deps, suite: str, pairings: list[str], said: str
) -> None:
    await refused(desk, said, suite=suite, agents=FOUR, pairings=pairings)


async def test_an_agent_in_no_pairing_is_refused(desk: Deps, suite: str) -> None:
    values: dict[str, Any] = {"suite": suite, "agents": FOUR, "pairings": ["diligent|hasty", "hasty|smooth_talker"]}
    await refused(desk, "Agent 'flaky:0.5' is in no pairing", **values)


async def test_an_agent_is_kept_under_its_canonical_name(desk: Deps, suite: str) -> None:
    result = await ran(desk, suite=suite, agents=["flaky:.50", "diligent"], tasks=["en0"])
    assert result.pair is not None
    assert (result.pair.a.agent, result.pair.b.agent) == ("flaky:0.5", "diligent")
    again = await ran(desk, suite=suite, agents=["flaky:0.500", "diligent"], tasks=["en0"])
    assert (again.run.total, again.pair) == (0, result.pair)


@pytest.mark.parametrize(
    ("agents", "said"),
    [
        (["flaky:0.5", "flaky:.50"], "Agent 'flaky:0.5' is named twice"),
        (["diligent", "hasty", "diligent"], "named twice"),
        (["diligent", "flaky"], "flaky needs the share"),
        (["diligent", "smoothtalker"], "Did you mean 'smooth_talker'"),
    ],
)
async def test_agents_that_cannot_be_meant_are_refused(desk: Deps, suite: str, agents: list[str], said: str) -> None:
    await refused(desk, said, suite=suite, agents=agents)


async def test_two_agents_may_be_named_as_sides(desk: Deps, suite: str) -> None:
    sides = {"agents": None, "agent_a": "smooth_talker", "agent_b": "diligent"}
    result = await ran(desk, suite=suite, task_id="en2", **sides)
    assert result.pair is not None
    assert (result.pair.a.agent, result.pair.a.success, result.pair.b.success) == ("smooth_talker", False, True)
    await refused(desk, "Name two agents or more", suite=suite, agents=None, agent_a="diligent")
    await refused(desk, "either as agents or as agent_a", suite=suite, agent_a="diligent")


async def test_tasks_are_chosen_by_id_and_unknown_ones_are_refused(desk: Deps, suite: str) -> None:
    result = await ran(desk, suite=suite, tasks=["en3", "en1", "en3"])
    assert result.pairs == 2
    assert {row["task_id"] for row in rows(desk.store, "SELECT task_id FROM pairs")} == {"en1", "en3"}
    await refused(desk, "has no task 'en9' in en. It has: en0, en1, en2, en3", suite=suite, tasks=["en1", "en9"])
    await refused(desk, "Did you mean", suite=suite, tasks=["en_0"])
    await refused(desk, "has no task 'zh0' in en", suite=suite, tasks=["zh0"])
    await refused(desk, "either as tasks or as task_id", suite=suite, tasks=["en0"], task_id="en1")


async def test_an_unknown_suite_is_refused_and_one_outside_the_roots(tmp_path: Path, suite: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    async with opened(tmp_path / "s.db", NOWHERE, episodes=SHOP, roots=(inside,)) as deps:
        await refused(deps, "outside the folders that may be read", suite=suite)
        await refused(deps, "There is no such suite", suite=str(inside))
        shop(inside / "shop", 1)
        assert (await ran(deps, suite=str(inside / "shop"))).run.state == "done"


async def test_python_tools_that_the_configuration_does_not_allow_are_refused(tmp_path: Path, suite: str) -> None:
    async with opened(tmp_path / "s.db") as deps:
        await refused(deps, "allow", suite=suite)


async def test_scripted_agents_need_solutions(desk: Deps, tmp_path: Path) -> None:
    folder = shop(tmp_path / "unsolved", 1, solutions=None)
    await refused(desk, "follows solutions.jsonl, which in the suite unsolved has none of the task 'en0'", suite=folder)


async def test_tasks_in_chinese_are_run_in_chinese(desk: Deps, suite: str) -> None:
    result = await ran(desk, suite=suite, agents=["diligent", "hasty"], language="zh")
    assert (result.run.state, result.pairs) == ("done", 2)
    assert [(agent.agent, agent.succeeded, agent.failed) for agent in result.agents] == [
        ("diligent", 2, 0),
        ("hasty", 1, 1),
    ]
    said = [row["messages_json"] for row in rows(desk.store, "SELECT messages_json FROM trajectories")]
    assert all("请问订单号是多少" in text and "谢谢" in text for text in said)
    (judge,) = rows(desk.store, "SELECT DISTINCT prompt_version FROM judges WHERE form = 'pairwise'")
    assert "zh" in judge["prompt_version"]
    await refused(desk, "has no tasks in zh", suite=shop(Path(suite).parent / "english", 1), language="zh")


async def test_each_trial_is_a_rollout_and_a_pair_of_its_own(desk: Deps, suite: str) -> None:
    result = await ran(desk, suite=suite, agents=["diligent", "flaky:0.5"], trials=3)
    assert (result.pairs, count(desk.store, "trajectories"), count(desk.store, "pairs")) == (12, 24, 12)
    sides = rows(desk.store, SIDES)
    assert all((row["of_a"], row["of_b"]) == (row["trial"], row["trial"]) for row in sides)
    assert all(row["seed_a"] == row["seed_b"] for row in sides), "both sides of a pair have the same seed"
    assert len({row["seed_a"] for row in sides}) == 12, "and no two pairs have"
    more = await ran(desk, suite=suite, agents=["diligent", "flaky:0.5"], trials=4)
    assert (more.run.total, more.run.stages[0].total) == (8 + 8 + 8, 8), "trials that are there are not made again"


SIDES = """
    SELECT p.trial, a.trial AS of_a, b.trial AS of_b, a.seed AS seed_a, b.seed AS seed_b, p.task_id FROM pairs p
    JOIN trajectories a ON a.trajectory_id = p.trajectory_a JOIN trajectories b ON b.trajectory_id = p.trajectory_b
"""


async def test_a_new_audit_takes_the_seed_and_a_stored_one_keeps_its_own(desk: Deps, suite: str) -> None:
    first = await ran(desk, suite=suite, agents=["diligent", "flaky:0.5"], seed=7, signals=[])
    assert rows(desk.store, "SELECT seed FROM audits") == [{"seed": 7}]
    await refused(desk, "has the seed 7, so seed=8 would mix", suite=suite, seed=8)
    more = await ran(desk, suite=suite, agents=["diligent", "flaky:0.5"], signals=[])
    assert (more.run.total, first.agents) == (0, more.agents)
    other = await ran(desk, audit="b", suite=suite, agents=["diligent", "flaky:0.5"], seed=8, signals=[])
    assert other.run.state == "done"
    seeds = {audit: {row["seed"] for row in rows(desk.store, SEEDS, audit=audit_id(audit))} for audit in ("a", "b")}
    assert not seeds["a"] & seeds["b"], "another seed is another one in every rollout"


SEEDS = "SELECT seed FROM trajectories WHERE audit_id = :audit"


@pytest.mark.parametrize("change", ["user", "suite", "agent"])
async def test_another_set_up_in_the_same_audit_is_a_conflict(tmp_path: Path, suite: str, change: str) -> None:
    async with opened(tmp_path / "s.db", desk_models("http://127.0.0.1:9"), episodes=SHOP) as deps:
        await ran(deps, suite=suite, signals=[])
        before = dump(deps.store)
        other: dict[str, Any] = {"suite": suite}
        if change == "user":
            other["user"] = "simulated-user"
        if change == "suite":
            other["suite"] = shop(tmp_path / "other", 4, 2, agent="Another manner.")
        if change == "agent":
            other["suite"] = shop(Path(suite), 3, 2)  # its skill is that of another set of tasks
        for dry in (True, False):
            with pytest.raises(Conflict, match=r"with another set-up .* use another audit name"):
                await ran(deps, **other, signals=[], dry_run=dry)
        assert dump(deps.store) == before


async def test_options_of_recorded_pairs_are_refused_with_live_agents_and_the_other_way_round(
    desk: Deps, suite: str
) -> None:
    recorded: dict[str, Any] = {
        "task_prompt": "Cancel it.", "success_criteria": "It is.", "hard_constraints": "None.", "category": "x",
        "trial": 1, "checks": [{"kind": "contains", "value": "x"}], "success_a": True, "success_b": False,
        "success_source": "label",
    }  # fmt: skip
    assert set(recorded) == set(RECORDED_ONLY)
    for name, value in recorded.items():
        await refused(desk, f"^{name} belongs to recorded trajectories", suite=suite, **{name: value})
    live: dict[str, Any] = {
        "suite": suite, "agents": FOUR, "tasks": ["en0"], "pairings": ["a|b"], "trials": 2, "user": "scripted",
        "seed": 1, "signals": [], "stop": {"width": 0.2},
    }  # fmt: skip
    assert set(live) == set(LIVE_ONLY)
    pair = {"agents": None, "task_id": "t", "task_prompt": "x", "agent_a": "a", "agent_b": "b"}
    for name, value in live.items():
        given = {**pair, "trajectory_a": "x", "trajectory_b": "y", name: value}
        await refused(desk, f"^{name} belongs to live agents", **given)


async def test_a_dry_run_asks_nobody_and_says_what_each_role_may_take(tmp_path: Path, suite: str) -> None:
    agents = EpisodeSettings(
        allowed=ALLOWED,
        agents={"brief": ChatAgent(profile="strong", max_steps=5), "long": ChatAgent(profile="strong", max_steps=50)},
    )
    async with opened(tmp_path / "s.db", PAID, episodes=agents) as deps:
        before = dump(deps.store)
        result = await ran(deps, suite=suite, agents=["brief", "long", "weak"], judge=None, dry_run=True, trials=2)
        assert dump(deps.store) == before
        free = await ran(deps, suite=suite, agents=["diligent", "hasty"], dry_run=True)
    assert (result.run.state, result.run.total, result.pairs) == ("planned", 24 + 2 * 24 + 24, 24)
    assert [(role.role, role.model, role.calls) for role in result.run.plan] == [
        ("agent", "strong", 16 * 50),
        ("agent", "weak", 8 * 30),
        ("user_sim", "simulated-user", 24 * 12 * 2),
        ("judge", "simulated-judge", 2 * 24),
        ("judge", "simulated-judge", 24),
    ]
    assert all(role.about_cost and role.most_cost is None for role in result.run.plan)
    assert result.run.most_cost is None, "an estimate is no most"
    assert [(role.role, role.about_cost) for role in free.run.plan] == [("judge", 0), ("judge", 0)]


async def test_two_names_of_one_set_up_are_counted_once_each(tmp_path: Path, suite: str) -> None:
    twins = {name: ChatAgent(profile="strong") for name in ("one", "two")}
    async with opened(tmp_path / "s.db", PAID, episodes=EpisodeSettings(allowed=ALLOWED, agents=twins)) as deps:
        result = await ran(deps, suite=suite, agents=["one", "two"], dry_run=True, signals=[])
    assert [(role.role, role.calls) for role in result.run.plan][:2] == [("agent", 8 * 30), ("user_sim", 8 * 24)]


async def test_what_model_rules_may_ask_is_planned_too(tmp_path: Path) -> None:
    ask = {"kind": "model", "question": "Was it polite?"}
    task = shop_task(0)
    folder = shop(tmp_path / "shop", 1, tasks=[{**task, "checks": [*task["checks"], ask, ask]}])
    async with opened(tmp_path / "s.db", PAID, episodes=SHOP) as deps:
        result = await ran(deps, suite=folder, judge=None, dry_run=True, signals=[])
        assert [(role.role, role.calls) for role in result.run.plan] == [("success_check", 4), ("judge", 2)]
        many: dict[str, Any] = {"suite": folder, "judge": None, "trials": 40, "signals": []}
        await refused(deps, "up to 240 calls", **many)


async def test_more_than_200_possible_paid_calls_need_a_limit(tmp_path: Path, suite: str) -> None:
    async with opened(tmp_path / "s.db", PAID, episodes=SHOP) as deps:
        live: dict[str, Any] = {"suite": suite, "agents": ["strong", "weak"], "user": "scripted"}
        await refused(deps, r"up to 240 calls to a gateway .* max_calls=240", **live)
        most = 2 * 4 * 30 + 2 * 4 * 12 * 2
        await refused(deps, f"up to {most} calls", suite=suite, agents=["strong", "weak"])
        await refused(deps, f"up to {most + 16}", suite=suite, agents=["strong", "weak"], judge=None)
        assert (await ran(deps, **live, tasks=["en0", "en1", "en2"], dry_run=True)).run.total == 6 + 6 + 6
    async with opened(tmp_path / "free.db", desk_models("http://127.0.0.1:9"), episodes=SHOP) as deps:
        result = await ran(deps, suite=suite, agents=["strong", "weak"], wait_s=0)
        assert result.run.total == 8 + 8 + 8, "a simulated gateway costs nothing"
        await on_run(deps, "cancel", result.run.run)


@pytest.mark.parametrize("role", ["agent", "user_sim", "judge"])
@pytest.mark.parametrize("limit", ["max_usd", "max_usd_per_task"])
async def test_a_limit_in_usd_needs_the_price_of_every_role(tmp_path: Path, suite: str, role: str, limit: str) -> None:
    async with opened(tmp_path / "s.db", without_price(role), episodes=SHOP) as deps:
        named = {"agent": "diligent", "user_sim": "simulated-user", "judge": "simulated-judge"}[role]
        given: dict[str, Any] = {"suite": suite, "agents": ["plain", "weak"], "judge": None, limit: 5}
        await refused(deps, f"^{limit} cannot be kept: the price of '{named}' is not known", **given)
        await refused(deps, f"^{limit} cannot be kept", dry_run=True, **given)


def without_price(role: str) -> ModelSettings:
    """One role has a model of unknown price; the agent `plain` is the role agent's own model."""
    priced, models = PAID, {**PAID.roles}
    models[role] = models[role].model_copy(update={"price": None})  # type: ignore[index]
    plain = models["agent"].model_copy(update={"name": "plain"})
    return priced.model_copy(update={"roles": models, "profiles": {**priced.profiles, "plain": plain}})


async def test_a_key_is_needed_to_ask_and_not_for_a_dry_run(tmp_path: Path, suite: str) -> None:
    async with opened(tmp_path / "s.db", desk_models("http://127.0.0.1:9", None), episodes=SHOP) as deps:
        for values in ({"agents": ["strong", "hasty"]}, {"user": "some-model"}, {"judge": None}):
            await refused(deps, "No gateway key", MissingKey, suite=suite, **values)
            assert (await ran(deps, suite=suite, **values, dry_run=True)).run.state == "planned"


async def test_a_request_key_attaches_to_its_run(desk: Deps, suite: str) -> None:
    first = await ran(desk, suite=suite, request_key="k", tasks=["en0"])
    again = await ran(desk, suite=suite, request_key="k", tasks=["en0"])
    assert (again.run, again.pair) == (first.run, first.pair)
    await refused(desk, "request_key belongs to run .* which has another plan", Conflict, suite=suite, request_key="k")


RUNS = {"runs", "run_events", "planned_pairs"}


async def test_the_same_call_again_asks_nothing(desk: Deps, suite: str) -> None:
    first = await ran(desk, suite=suite, agents=FOUR)
    kept = {table: found for table, found in dump(desk.store).items() if table not in RUNS}
    again = await ran(desk, suite=suite, agents=FOUR)
    assert (again.run.state, again.run.total, again.pairs, again.agents) == ("done", 0, first.pairs, first.agents)
    assert kept == {name: found for name, found in dump(desk.store).items() if name in kept}
    fewer = await ran(desk, suite=suite, agents=FOUR[1:3], tasks=["en1"])
    assert (fewer.run.total, fewer.pairs) == (0, 1)


async def test_a_second_judge_makes_no_rollout_again(desk: Deps, suite: str) -> None:
    await ran(desk, suite=suite, agents=FOUR)
    made = rows(desk.store, "SELECT * FROM trajectories ORDER BY trajectory_id")
    second = await ran(desk, suite=suite, agents=FOUR, judge="simulated:noise=0.5")
    assert {stage.stage: stage.total for stage in second.run.stages} == {"pairwise": 48, "satisfaction": 16}
    assert rows(desk.store, "SELECT * FROM trajectories ORDER BY trajectory_id") == made
    assert count(desk.store, "pairs") == 24


async def test_more_agents_add_only_what_is_new(desk: Deps, suite: str) -> None:
    await ran(desk, suite=suite, agents=FOUR[:2], signals=[])
    more = await ran(desk, suite=suite, agents=FOUR[:3], signals=[])
    assert {stage.stage: stage.total for stage in more.run.stages} == {"rollout": 4, "pairwise": 2 * 2 * 4}


async def test_another_declaration_of_a_stored_pair_is_a_conflict(desk: Deps, suite: str) -> None:
    await ran(desk, suite=suite, agents=FOUR[:2], pairings=["diligent|flaky:0.5"], signals=[])
    values = {"suite": suite, "agents": FOUR[:2], "pairings": ["diligent|flaky:0.5=near"], "signals": []}
    await refused(desk, "declared near or wide otherwise", Conflict, **values)
    swapped = await ran(desk, suite=suite, agents=FOUR[:2], pairings=["flaky:0.5|diligent"], signals=[])
    assert (swapped.run.total, count(desk.store, "pairs")) == (8, 8), "the other way round is another pair"


async def test_the_plan_goes_task_by_task_in_the_order_of_the_audit(desk: Deps, suite: str) -> None:
    plan = (await compare(request(suite=suite, agents=FOUR, trials=2), desk)).plan
    assert plan.cast is not None
    rollouts = rollouts_of(plan.cast, audit_id("a"))
    task_of = {row["pair_id"]: row["task_id"] for row in plan.pairs} | {
        trajectory_id: rollout.task.task_id for trajectory_id, rollout in rollouts.items()
    }

    def place(cell: PlannedCell) -> tuple[str, str]:
        return task_of[cell.pair_id or cell.trajectory_id or cell.cell_id], cell.kind

    kinds = ["rollout", "pairwise", "satisfaction"]
    order = [task.task_id for task in plan.cast.tasks]
    assert [key for key, _ in groupby(plan.cells, place)] == [(task, kind) for task in order for kind in kinds]
    assert order != sorted(order), "tasks are in random order"
    other = (await compare(request(suite=suite, agents=FOUR, seed=3), desk)).plan
    assert other.cast is not None and [task.task_id for task in other.cast.tasks] != order


async def test_a_run_that_a_limit_ends_is_a_judged_sample(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", 12)
    async with opened(tmp_path / "s.db", NOWHERE, concurrency=1, episodes=SHOP) as deps:
        plan = (await compare(request(suite=folder, signals=[]), deps)).plan
        assert plan.cast is not None
        result = await ran(deps, suite=folder, signals=[], max_calls=8)
        assert (result.run.state, result.run.done) == ("cancelled", result.run.stages[0].done + 8)
        assert result.run.reason is not None and "max_calls=8 is used up" in result.run.reason
        judged = {row["task_id"] for row in rows(deps.store, JUDGED)}
        made = {row["task_id"] for row in rows(deps.store, "SELECT task_id FROM trajectories")}
        first = [task.task_id for task in plan.cast.tasks]
        assert len(judged) == 4, "both orders of each"
        assert judged <= set(first[:AT_ONCE]), "of the first tasks in a random order"
        assert len(made) <= 4 + AT_ONCE, "judging goes before further rollouts, but for those under way"
        done = await on_run(deps, "resume", result.run.run, max_calls=100)
        assert (done.state, done.done) == ("done", 24 + 24)


AT_ONCE = 8
"""Rollouts under way."""
JUDGED = "SELECT DISTINCT p.task_id FROM verdicts v JOIN pairs p ON p.pair_id = v.pair_id"


async def test_a_suite_is_found_again_from_another_folder(
    tmp_path: Path, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    async with opened(tmp_path / "s.db", NOWHERE, episodes=SHOP) as deps:
        first = await ran(deps, suite=os.path.join(".", "shop"), max_calls=3)
        assert first.run.state == "cancelled"
        monkeypatch.chdir(elsewhere)
        assert (await on_run(deps, "resume", first.run.run, max_calls=100)).state == "done"


async def test_a_suite_that_has_changed_since_is_not_gone_on_with(desk: Deps, suite: str) -> None:
    first = await ran(desk, suite=suite, max_calls=3)
    shop(Path(suite), 4, 2, agent="Another manner.")
    again = await on_run(desk, "resume", first.run.run)
    assert again.state == "failed" and again.reason is not None
    assert "The suite shop has changed since this run was planned" in again.reason
    shop(Path(suite), 4, 2)
    with pytest.raises(InvalidInput, match="has changed"):
        shop(Path(suite), 3, 2)
        await on_run(desk, "resume", first.run.run, max_calls=100)
    shop(Path(suite), 4, 2)
    assert (await on_run(desk, "resume", first.run.run, max_calls=100)).state == "done"


async def test_two_calls_for_the_same_work_at_once_share_it(desk: Deps, suite: str) -> None:
    one, two = await asyncio.gather(
        ran(desk, suite=suite, agents=FOUR, wait_s=0), ran(desk, suite=suite, agents=FOUR, wait_s=0)
    )
    assert one.run.run == two.run.run or two.run.total == 0 or one.run.total == 0
    await on_run(desk, "wait", one.run.run)
    assert (count(desk.store, "trajectories"), count(desk.store, "pairs")) == (16, 24)
    assert count(desk.store, "judge_logs") == 48 + 16


async def test_an_agent_that_is_set_up_otherwise_by_now_is_not_gone_on_with(tmp_path: Path, suite: str) -> None:
    def agents(steps: int) -> EpisodeSettings:
        return EpisodeSettings(allowed=ALLOWED, agents={"mine": ChatAgent(profile="strong", max_steps=steps)})

    models = desk_models("http://127.0.0.1:9")
    async with opened(tmp_path / "s.db", models, episodes=agents(5)) as deps:
        run = (await ran(deps, suite=suite, agents=["mine", "hasty"], wait_s=0)).run.run
        await on_run(deps, "cancel", run)
    async with opened(tmp_path / "s.db", models, episodes=agents(6)) as deps:
        again = await on_run(deps, "resume", run)
        assert again.state == "failed" and again.reason is not None
        assert "Agent 'mine' or the simulated user is set up otherwise than when this run was planned" in again.reason


async def test_a_suite_of_texts_needs_no_world_and_no_tools(desk: Deps, tmp_path: Path) -> None:
    checks = [{"kind": "contains", "value": "yours"}]
    files: dict[str, Any] = {
        "tasks": [shop_task(0, checks=checks)],
        "solutions": [{"task_id": "en0", "steps": [{"say": "It is yours."}]}],
    }
    result = await ran(desk, suite=shop(tmp_path / "texts", tools=None, world=None, **files))
    assert result.pair is not None
    assert (result.pair.a.success, result.pair.b.success) == (True, False)
    assert {row["changes_json"] for row in rows(desk.store, "SELECT changes_json FROM trajectories")} == {None}

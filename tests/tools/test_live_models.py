"""Live pairs over real HTTP: agent, customer and judge as three roles with three models of a simulated gateway."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from live_parts import ROLES, SHOP, Refuse, Relay, Seen, desk_models, known, on_run, ran, shop, shop_task, status
from loopback import VirtualClock, completion
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.simulated import SimulatedServer, Trouble
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK, MARK_EPISODES, PairOutcome, RunPairResult
from misjudge_tools.summarize_audit import summarize_audit
from operations import count, dump, opened, rows

KEY = "sk-canary-0123456789"
TWO = {"agents": ["strong", "weak"], "judge": None}
ONE_PAIR = {**TWO, "tasks": ["en0"]}
CALLS_OF_ONE = {"agent": 5, "user_sim": 3, "judge": 4}
"""Of a pair: four replies of `strong` and one of `weak`, two turns of the one customer and one of the other, two orders
and two scores."""


class Desk(NamedTuple):
    """Operations on a suite, and the relay that all of their calls go through."""

    deps: Deps
    suite: str
    relay: Relay

    async def run(self, **values: Any) -> RunPairResult:
        return await ran(self.deps, suite=self.suite, **{**TWO, "max_calls": 10_000, **values})


@asynccontextmanager
async def desk(
    where: Path, *, key: str = "simulated", tasks: int = 2, refuse: Refuse = lambda _: None, **options: Any
) -> AsyncIterator[Desk]:
    """A desk whose waits take no time. `options` are those of `opened`."""
    suite = shop(where / "shop", tasks)
    options = {"episodes": SHOP, "clock": VirtualClock(), "concurrency": 8, **options}
    async with SimulatedServer(known=known(suite)) as server, Relay(server.base_url, refuse) as relay:
        models = desk_models(relay.base_url, key, concurrency=options["concurrency"])
        async with opened(where / "s.db", models, **options) as deps:
            yield Desk(deps, suite, relay)


def spent(result: RunPairResult) -> dict[str, int]:
    return {use.role: use.calls for use in result.run.spent}


def logs(deps: Deps, where: str = "1 = 1") -> list[dict[str, Any]]:
    return rows(deps.store, f"SELECT * FROM judge_logs WHERE {where} ORDER BY trajectory_id, role, turn, attempt")


def nothing_was_paid_twice(relay: Relay) -> None:
    """No request that the gateway answered came again."""
    bodies = Counter((seen.role, json.dumps(seen.body, sort_keys=True)) for seen in relay.passed)
    assert {number for number in bodies.values()} == {1}


async def test_one_pair_is_run_live_by_three_models_in_one_call(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        result = await at.run(**ONE_PAIR)
        assert (result.run.state, result.pairs, result.simulated) == ("done", 1, True)
        assert result.marked == f"{MARK}; {MARK_EPISODES}"
        assert {seen.body["model"] for seen in at.relay.passed} == {"diligent", "smooth_talker", *ROLES.values()}
        assert Counter(at.relay.asked) == CALLS_OF_ONE
        pair = result.pair
        assert pair is not None and pair.row is not None
        assert (pair.a.end_reason, pair.b.end_reason) == ("finished", "finished")
        assert (pair.a.success, pair.b.success, pair.row["gold_pref"], pair.row["judge_pref"]) == (
            True,
            False,
            "A",
            "A",
        )
        assert [check["passed"] for check in pair.a.checks] == [True, True, True]
        assert [(check["verifier"], check["passed"]) for check in pair.b.checks][-1] == ("success", False)
        assert [verdict.order for verdict in pair.verdicts] == ["AB", "BA"]
        assert (pair.row["simulated"], pair.row["agent_cost"], pair.row["total_cost"]) == (1, 0.0, 0.0)
        listed = await on_run(at.deps, "wait", result.run.run)
        assert listed == result.run
        assert await summarize_audit(SummarizeRequest(audit="a"), at.deps)
    names = ("agent strong", "agent weak", "user_sim", "judge")
    models = ("diligent", "smooth_talker", "simulated-user", "simulated-judge")
    assert {name: text.split(",")[1].strip() for name, text in result.asked_at.items()} == dict(
        zip(names, models, strict=True)
    )


async def test_tokens_and_cost_are_told_by_role(tmp_path: Path) -> None:
    async with desk(tmp_path, key=KEY) as at:
        result = await at.run(**ONE_PAIR)
        assert (result.run.state, result.simulated, result.marked) == ("done", False, None)
        assert spent(result) == CALLS_OF_ONE
        for use in result.run.spent:
            mine = logs(at.deps, f"role = '{use.role}'")
            assert use.input_tokens == sum(log["input_tokens"] for log in mine)
            assert use.output_tokens == sum(log["output_tokens"] for log in mine)
            assert use.input_tokens is not None and use.output_tokens is not None
            assert use.cost == pytest.approx((use.input_tokens + 2 * use.output_tokens) / 1e6)
        assert result.pair is not None and result.pair.row is not None
        row, by_role = result.pair.row, {use.role: use for use in result.run.spent}
        costs = [row["agent_cost"], row["user_sim_cost"]]
        assert costs == pytest.approx([by_role["agent"].cost, by_role["user_sim"].cost])
        sides = [result.pair.a, result.pair.b]
        assert sum(side.input_tokens or 0 for side in sides) == by_role["agent"].input_tokens
        assert sum(side.output_tokens or 0 for side in sides) == by_role["agent"].output_tokens
        summary = await summarize_audit(SummarizeRequest(audit="a"), at.deps)
        assert summary.cost is not None and summary.tokens is not None
        assert summary.cost.by_role == pytest.approx({role: use.cost for role, use in by_role.items()})
        assert {role: use.calls for role, use in summary.tokens.by_role.items()} == CALLS_OF_ONE


async def test_every_call_of_an_episode_is_logged_with_its_turn_and_its_tool_calls(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        result = await at.run(**ONE_PAIR)
        (made,) = rows(at.deps.store, "SELECT trajectory_id, seed FROM trajectories WHERE agent = 'strong'")
        mine = logs(at.deps, f"trajectory_id = '{made['trajectory_id']}' AND judge_id IS NULL")
        assert [(log["role"], log["turn"], log["attempt"]) for log in mine] == [
            *(("agent", turn, 1) for turn in (1, 2, 3, 4)),
            *(("user_sim", turn, 1) for turn in (1, 2)),
        ]
        calls = [json.loads(log["parsed_json"])["tool_calls"] for log in mine if log["parsed_json"]]
        assert [(call["name"], json.loads(call["arguments"])) for (call,) in calls] == [
            ("take", {"sku": "tent"}),
            ("note", {"text": "order 0"}),
        ]
        assert all(json.loads(log["params"])["seed"] == made["seed"] for log in mine)
        assert {log["run_id"] for log in mine} == {result.run.run}
        assert all(log["simulated"] for log in mine)
        assert {log["prompt_hash"] is None for log in mine if log["role"] == "user_sim"} == {False}


async def test_both_sides_of_a_pair_are_asked_with_the_same_seed_and_other_tasks_with_others(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.run()
        seeds: dict[str, set[int]] = {}
        for seen in at.relay.passed:
            if seen.role == "agent":
                task = seen.body["messages"][1]["content"]
                seeds.setdefault(task, set()).add(seen.body["seed"])
        assert [len(of_task) for of_task in seeds.values()] == [1, 1]
        assert len(set.union(*seeds.values())) == 2
        assert all("seed" in seen.body for seen in at.relay.passed if seen.role == "user_sim")


async def test_what_agents_and_customers_are_told_stays_apart(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.run(**ONE_PAIR)
    for seen in at.relay.passed:
        told = json.dumps(seen.body["messages"])
        if seen.role == "agent":
            assert "You are the desk" in told and "You want one tent" not in told
            assert {tool["function"]["name"] for tool in seen.body["tools"]} == {"take", "note"}
        if seen.role == "user_sim":
            assert "You are the desk" not in told and "noted" not in told and "tools" not in seen.body
        if seen.role == "judge":
            assert "strong" not in told and "weak" not in told


async def test_the_key_is_nowhere_in_the_store(tmp_path: Path) -> None:
    async with desk(tmp_path, key=KEY) as at:
        await at.run()
        assert {seen.authorization for seen in at.relay.passed} == {f"Bearer {KEY}"}
        assert KEY not in str(dump(at.deps.store)) and at.relay.base_url not in str(dump(at.deps.store))
    assert not [file for file in tmp_path.rglob("s.db*") if KEY.encode() in file.read_bytes()]


async def test_a_limit_within_a_rollout_ends_the_run_and_resuming_pays_nothing_twice(tmp_path: Path) -> None:
    async with desk(tmp_path, key=KEY) as at:
        straight = (await at.run(**ONE_PAIR)).pair
        for limit in range(1, sum(CALLS_OF_ONE.values())):
            at.relay.passed.clear()
            first = await at.run(**ONE_PAIR, audit=f"limit {limit}", max_calls=limit)
            assert first.run.state == "cancelled" and 0 < len(at.relay.passed) <= limit
            used_up = f"max_calls={limit} is used up ({limit} calls asked)" in (first.run.reason or "")
            assert used_up or "max_calls leaves no room for another episode" in (first.run.reason or "")
            done = await on_run(at.deps, "resume", first.run.run, max_calls=1000)
            assert (done.state, Counter(at.relay.asked)) == ("done", CALLS_OF_ONE)
            nothing_was_paid_twice(at.relay)
            assert {use.role: use.calls for use in done.spent} == CALLS_OF_ONE
            same_sides(await at.run(**ONE_PAIR, audit=f"limit {limit}"), straight)


def same_sides(result: RunPairResult, expected: PairOutcome | None) -> None:
    """Both episodes went the same way and came to the same."""
    assert result.pair is not None and expected is not None
    for side, other in ((result.pair.a, expected.a), (result.pair.b, expected.b)):
        assert side.model_dump(exclude={"trajectory"}) == other.model_dump(exclude={"trajectory"})


@pytest.mark.parametrize(
    ("finish", "requests", "end"), [("length", 1, "finished"), ("content_filter", 2, "agent_gave_up")]
)
async def test_a_reply_that_was_cut_off_or_refused_is_not_asked_for_again(
    tmp_path: Path, finish: str, requests: int, end: str
) -> None:
    def refuse(seen: Seen) -> Any:
        first = seen.role == "agent" and seen.body["model"] == "diligent" and len(seen.body["messages"]) == 2
        return web.json_response(completion("What is the order number?", finish_reason=finish)) if first else None

    async with desk(tmp_path, key=KEY, refuse=refuse) as at:
        straight = (await at.run(**ONE_PAIR)).pair
        assert straight is not None and straight.a.end_reason == end
        for limit in range(1, 8):
            at.relay.passed.clear()
            at.relay.refused.clear()
            first = await at.run(**ONE_PAIR, audit=f"limit {limit}", max_calls=limit)
            done = await on_run(at.deps, "resume", first.run.run, max_calls=1000)
            assert (first.run.state, done.state, len(at.relay.refused)) == ("cancelled", "done", requests)
            nothing_was_paid_twice(at.relay)
            again = (await at.run(**ONE_PAIR, audit=f"limit {limit}")).pair
            assert again is not None and (again.a.end_reason, again.a.success) == (end, straight.a.success)


async def test_money_ends_a_run_without_cutting_an_episode_off(tmp_path: Path) -> None:
    async with desk(tmp_path, key=KEY, tasks=4) as at:
        first = await at.run(max_usd=0.004)
        assert first.run.state == "cancelled"
        assert first.run.reason is not None and "max_usd" in first.run.reason
        assert "so they are a sample" in first.run.reason
        assert sum(use.cost or 0 for use in first.run.spent) < 0.006, "overshot by a call of each role at most"
        done = await on_run(at.deps, "resume", first.run.run, max_usd=1)
        assert done.state == "done"
        nothing_was_paid_twice(at.relay)


@pytest.mark.parametrize("limits", [{"max_calls": 60}, {"max_calls": 90}, {"max_tokens": 6_000}, {"max_usd": 0.008}])
async def test_a_limit_cuts_no_episode_off_so_long_ones_are_not_left_out(
    tmp_path: Path, limits: dict[str, float]
) -> None:
    async with desk(tmp_path, key=KEY, tasks=8) as at:
        first = await at.run(**limits)
        assert first.run.state == "cancelled" and "so they are a sample" in (first.run.reason or "")
        assert 0 < first.run.done < first.run.total
        begun = {log["trajectory_id"] for log in logs(at.deps, "role = 'agent'")}
        assert len(begun) == count(at.deps.store, "trajectories")


COST_BY_TASK = """
    SELECT p.task_id, SUM(l.est_cost) AS cost FROM judge_logs l JOIN (
        SELECT task_id, trajectory_a AS t FROM planned_pairs UNION SELECT task_id, trajectory_b FROM planned_pairs
    ) p ON p.t = l.trajectory_id GROUP BY p.task_id
"""


async def test_a_limit_for_each_task_ends_rollouts_and_judging_of_that_task(tmp_path: Path) -> None:
    async with desk(tmp_path, key=KEY, tasks=3) as at:
        first = await at.run(max_usd_per_task=0.0005)
        assert first.run.state == "cancelled" and first.run.reason is not None
        assert "max_usd_per_task is used up for 3 of the tasks" in first.run.reason
        by_task = rows(at.deps.store, COST_BY_TASK)
        assert len(by_task) == 3 and all(0 < row["cost"] < 0.002 for row in by_task)
        done = await on_run(at.deps, "resume", first.run.run, max_usd_per_task=1)
        assert (done.state, done.done) == ("done", done.total)
        nothing_was_paid_twice(at.relay)


class Fails:
    """The gateway is down for calls of this role, from the first to the last of these (from 1) that come."""

    def __init__(self, role: str, first: int = 1, last: float = float("inf"), answer: int = 500) -> None:
        self.last = last
        self._role = role
        self._first = first
        self._answer = answer
        self._came = 0

    def __call__(self, seen: Seen) -> Any:
        self._came += seen.role == self._role
        fails = seen.role == self._role and self._first <= self._came <= self.last
        return status(self._answer) if fails else None


async def test_a_call_that_is_lost_is_tried_again_and_what_came_before_is_not_asked_again(tmp_path: Path) -> None:
    async with desk(tmp_path, refuse=Fails("agent", 3, 8)) as at:  # a call is given up after four attempts
        result = await at.run(**ONE_PAIR)
        assert (result.run.state, result.run.reason) == ("done", None)
        assert Counter(at.relay.asked) == CALLS_OF_ONE
        assert len(at.relay.refused) == 6
        nothing_was_paid_twice(at.relay)
        errors = logs(at.deps, "error IS NOT NULL")
        assert [log["error"] for log in errors] == ["ProviderFailed"] * 6
        assert all(log["trajectory_id"] and log["reply_key"] is None for log in errors)
        assert result.run.errors[0].attempts == 6


@pytest.mark.parametrize(("role", "stages"), [("agent", (0, 0, 0)), ("user_sim", (0, 0, 0)), ("judge", (2, 0, 0))])
async def test_a_gateway_that_stays_down_for_a_role_ends_the_run_which_can_be_resumed(
    tmp_path: Path, role: str, stages: tuple[int, ...]
) -> None:
    down = Fails(role)
    async with desk(tmp_path, refuse=down) as at:
        first = await at.run(**ONE_PAIR)
        assert first.run.state == "failed"
        assert first.run.reason is not None and "The gateway failed to answer (500)" in first.run.reason
        assert tuple(stage.done for stage in first.run.stages) == stages
        assert first.run.failed > 0
        assert {log["role"] for log in logs(at.deps, "error IS NOT NULL")} == {role}
        assert count(at.deps.store, "pairs") == (1 if role == "judge" else 0)
        down.last = 0
        done = await on_run(at.deps, "resume", first.run.run)
        assert (done.state, done.failed, Counter(at.relay.asked)) == ("done", 0, CALLS_OF_ONE)
        nothing_was_paid_twice(at.relay)


async def test_retry_takes_up_the_rollouts_that_failed_and_resume_the_rest(tmp_path: Path) -> None:
    down = Fails("user_sim")
    async with desk(tmp_path, refuse=down) as at:
        first = await at.run(**ONE_PAIR)
        assert (first.run.state, first.run.failed, first.run.total) == ("failed", 2, 6)
        down.last = 0
        retried = await on_run(at.deps, "retry", first.run.run)
        assert (retried.state, retried.done, retried.failed) == ("cancelled", 2, 0)
        assert retried.reason == "the cells that had failed are done; resume it for the others"
        assert (await on_run(at.deps, "resume", first.run.run)).state == "done"


async def test_a_gateway_that_is_down_for_a_while_is_waited_for(tmp_path: Path) -> None:
    clock = VirtualClock()
    until = clock.now() + 600

    def refuse(seen: Seen) -> Any:
        return status(503) if len(at.relay.passed) >= 30 and clock.now() < until else None

    # One at a time: no reply that was under way comes when the gateway is already taken to be away.
    async with desk(tmp_path, tasks=6, refuse=refuse, clock=clock, concurrency=1) as at:
        result = await at.run(tasks=None)
        assert (result.run.state, result.run.reason) == ("done", None)
        assert Counter(at.relay.asked) == {role: 6 * calls for role, calls in CALLS_OF_ONE.items()}
        nothing_was_paid_twice(at.relay)


async def test_planted_failures_of_the_simulated_gateway_are_got_over(tmp_path: Path) -> None:
    suite = shop(tmp_path / "shop", 4)
    async with SimulatedServer(known=known(suite), trouble=Trouble(errors=0.2)) as server:
        models = desk_models(server.base_url)
        async with opened(tmp_path / "s.db", models, episodes=SHOP, clock=VirtualClock()) as deps:
            result = await ran(deps, suite=suite, **TWO)
            assert result.run.state == "done" and result.run.errors
            assert [(agent.agent, agent.succeeded) for agent in result.agents] == [("strong", 4), ("weak", 0)]


def takes_no_tools(seen: Seen) -> Any:
    if seen.role == "agent" and seen.body["model"] == "smooth_talker":
        return status(400, "smooth_talker does not support tools")
    return None


async def test_a_model_that_takes_no_request_at_all_leaves_its_episodes_open(tmp_path: Path) -> None:
    async with desk(tmp_path, refuse=takes_no_tools) as at:
        result = await at.run()
        assert (result.run.state, len(at.relay.refused)) == ("failed", 2)
        assert "2 calls got no usable reply, the last one: This model takes no tools" in (result.run.reason or "")
        assert {log["error"] for log in logs(at.deps, "error IS NOT NULL")} == {"RequestRefused"}
        assert {agent.agent: agent.ends for agent in result.agents} == {"strong": {"finished": 2}}
        assert count(at.deps.store, "verdicts", "pair_id IS NOT NULL") == 0, "no judge is asked of half a pair"


async def test_an_agent_that_is_refused_half_way_is_judged_by_what_it_did(tmp_path: Path) -> None:
    async with desk(tmp_path, refuse=Fails("agent", 5, answer=400)) as at:
        result = await at.run(agents=["strong", "hasty"], tasks=["en0"])
        assert result.pair is not None
        assert (result.run.state, result.pair.a.end_reason) == ("done", "finished")
    async with desk(tmp_path, refuse=Fails("agent", 4, answer=400)) as at:
        result = await at.run(audit="b", agents=["strong", "smooth_talker"], tasks=["en0"])
        assert result.pair is not None
        assert (result.pair.a.end_reason, result.pair.a.success) == ("agent_error", True), "all was done by then"


def silent_user(seen: Seen) -> Any:
    if seen.role == "user_sim" and "order number" in str(seen.body["messages"][-1]) and "order 0" in told(seen):
        return web.json_response(completion("  "))
    return None


def told(seen: Seen) -> str:
    return str(seen.body["messages"][:2])


async def test_a_customer_who_says_nothing_leaves_the_numbers_of_the_agent(tmp_path: Path) -> None:
    async with desk(tmp_path, refuse=silent_user) as at:
        result = await at.run()
        assert result.run.state == "done"
        strong, weak = result.agents
        assert (strong.agent, strong.succeeded, strong.failed, strong.unknown) == ("strong", 1, 0, 1)
        assert strong.ends == {"finished": 1, "user_sim_error": 1}
        assert (weak.succeeded, weak.failed, weak.unknown) == (0, 2, 0)
        assert len(at.relay.refused) == 2, "it was asked twice"
        pair = (await at.run(**ONE_PAIR)).pair
        assert pair is not None and pair.row is not None
        assert (pair.a.end_reason, pair.a.success, pair.row["gold_pref"], pair.row["misselected"]) == (
            "user_sim_error",
            None,
            None,
            None,
        )
        (check,) = pair.a.checks
        assert check["passed"] is None
        assert check["evidence"] == "The simulated user said nothing, 2 times. So nothing is said of the agent."
        summary = await summarize_audit(SummarizeRequest(audit="a"), at.deps)
        assert summary.pairs is not None and summary.misselection is not None and summary.satisfaction is not None
        assert (summary.pairs.n, summary.pairs.decidable, summary.misselection.n) == (2, 1, 2)
        assert summary.satisfaction.n == 3
        assert summary.pass_hat_k_by_agent == {"strong": {"1": 1.0}, "weak": {"1": 0.0}}


async def test_cancelling_lets_the_calls_in_flight_finish_and_resuming_pays_nothing_twice(tmp_path: Path) -> None:
    async with desk(tmp_path, tasks=3) as at:
        at.relay.gate.clear()
        started = await at.run(tasks=None, wait_s=0)
        assert started.run.state == "running"
        await at.relay.received(6)
        assert at.deps.worker.stop(started.run.run)
        at.relay.gate.set()
        cancelled = await on_run(at.deps, "cancel", started.run.run)
        assert (cancelled.state, cancelled.reason) == ("cancelled", "stopped; resume it to go on")
        assert (at.relay.asked, count(at.deps.store, "judge_logs")) == (["agent"] * 6, 6)
        done = await on_run(at.deps, "resume", started.run.run)
        assert (done.state, len(at.relay.passed)) == ("done", 3 * sum(CALLS_OF_ONE.values()))
        nothing_was_paid_twice(at.relay)


async def test_a_worker_that_lost_its_lease_keeps_its_logs_and_makes_no_episode(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.relay.gate.clear()
        started = await at.run(**ONE_PAIR, wait_s=0)
        await at.relay.received(2)
        with at.deps.store.write() as connection:
            connection.exec_driver_sql("UPDATE runs SET owner = 'another'")
        at.relay.gate.set()
        await at.deps.worker.wait(started.run.run, 30)
        assert at.deps.worker.active == ()
        assert count(at.deps.store, "trajectories") == 0
        assert [log["role"] for log in logs(at.deps)] == ["agent"] * 2
        with at.deps.store.write() as connection:
            connection.exec_driver_sql("UPDATE runs SET owner = NULL, state = 'lost', lease_until = NULL")
        done = await on_run(at.deps, "resume", started.run.run)
        assert (done.state, Counter(at.relay.asked)) == ("done", CALLS_OF_ONE)
        nothing_was_paid_twice(at.relay)


async def test_another_process_goes_on_with_the_run(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        first = await at.run(**ONE_PAIR, max_calls=6)
        assert first.run.state == "cancelled"
        async with opened(tmp_path / "s.db", at.deps.models, episodes=SHOP) as other:
            done = await on_run(other, "resume", first.run.run, max_calls=100)
        assert (done.state, Counter(at.relay.asked)) == ("done", CALLS_OF_ONE)
        nothing_was_paid_twice(at.relay)


async def test_the_judge_is_asked_what_model_rules_ask_and_its_opinion_decides_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, key=KEY) as at:
        opinion = {"kind": "model", "question": "Was it polite?"}
        task = shop_task(0)
        shop(tmp_path / "shop", 1, tasks=[{**task, "checks": [*task["checks"], opinion]}])
        for limit in range(1, 4):
            at.relay.passed.clear()
            first = await at.run(**ONE_PAIR, audit=f"limit {limit}", max_calls=5 + 3 + limit - 1)
            done = await on_run(at.deps, "resume", first.run.run, max_calls=100)
            assert (first.run.state, done.state) == ("cancelled", "done")
            assert {use.role: use.calls for use in done.spent} == {**CALLS_OF_ONE, "success_check": 2}
            nothing_was_paid_twice(at.relay)
        pair = (await at.run(**ONE_PAIR, audit="limit 1")).pair
        assert pair is not None and pair.row is not None
        assert (pair.a.success, pair.b.success) == (True, False)
        for side in (pair.a, pair.b):
            (said,) = (check for check in side.checks if check.get("source") == "model")
            assert said["passed"] in {True, False} and said["scope"] == "part"
        assert pair.row["gold_source"] == "verifier"


async def test_an_opinion_that_nobody_gives_is_unknown_and_keeps_no_episode_open(tmp_path: Path) -> None:
    def refuse(seen: Seen) -> Any:
        return status(400, "no") if "Was it polite?" in str(seen.body["messages"]) else None

    async with desk(tmp_path, refuse=refuse) as at:
        opinion = {"kind": "model", "question": "Was it polite?"}
        shop(tmp_path / "shop", 1, tasks=[{**shop_task(0), "checks": [*shop_task(0)["checks"], opinion]}])
        result = await at.run(**ONE_PAIR)
        assert (result.run.state, len(at.relay.refused)) == ("done", 2)
        assert result.pair is not None and result.pair.a.success is True
        opinions = {check["passed"] for check in result.pair.a.checks if check.get("source") == "model"}
        assert (len(result.pair.a.checks), opinions) == (4, {None})

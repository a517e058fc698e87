"""Live runs with known truth on the shipped suite: what was planted in agents and judge is what is measured."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import binom

from live_parts import request
from misjudge_storage.hashing import template_hash
from misjudge_storage.judging_records import messages_from
from misjudge_storage.types import Task
from misjudge_tools.episodes.scripted import failing_tasks
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.gateway.calls import ChatTurn
from misjudge_tools.gateway.simulated_bias import SimulatedBias, Truth
from misjudge_tools.gateway.simulated_judge import simulated_reply
from misjudge_tools.judging.choice import PLANTED
from misjudge_tools.judging.pairing import fence, transcript
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import RunPairResult
from misjudge_tools.run_pair import run_pair
from misjudge_tools.suites.loading import load_suite, tasks_in
from misjudge_tools.summarize_audit import summarize_audit
from misjudge_tools.summary.values import AuditSummary
from operations import opened, rows

pytestmark = pytest.mark.slow

SUITE = load_suite("support_desk", Allowed(), None)
TASKS = [task.task_id for task in tasks_in(SUITE, "en")]
FOUR = ("diligent", "flaky:0.95", "hasty", "smooth_talker")
TAIL = 0.0005
"""What lies outside of an interval of 99.9 % on each side."""
FENCE = "0123456789abcdef"

Rows = list[dict[str, Any]]


class Ran(NamedTuple):
    """A comparison that is over: its answer, its summary and what was stored."""

    result: RunPairResult
    summary: AuditSummary
    trajectories: Rows
    pairs: Rows
    verdicts: Rows
    scores: Rows


PAIRS = """
    SELECT g.*, p.trajectory_a, p.trajectory_b, p.ability_bucket AS declared
    FROM audit_pairs g JOIN pairs p ON p.audit_id = g.audit_id AND p.pair_id = g.pair_id
"""


def carried_out(where: Path, **values: Any) -> Ran:
    """The comparison in a store of its own."""

    async def carry_out() -> Ran:
        async with opened(where / "planted.db") as deps:
            asked = request(wait_s=40, **values)
            result = await run_pair(asked, deps)
            while result.run.state == "running":
                result = await run_pair(asked, deps)
            return Ran(
                result,
                await summarize_audit(SummarizeRequest(audit=asked.audit), deps),
                rows(
                    deps.store,
                    "SELECT t.*, o.success FROM trajectories t JOIN trajectory_outcomes o USING (trajectory_id)",
                ),
                rows(deps.store, PAIRS),
                rows(deps.store, "SELECT * FROM verdicts WHERE pair_id IS NOT NULL"),
                rows(deps.store, "SELECT * FROM verdicts WHERE trajectory_id IS NOT NULL"),
            )

    return asyncio.run(carry_out())


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The issue's own example: four agents on the shipped suite, judged by `simulated`."""
    return carried_out(tmp_path_factory.mktemp("planted"), agents=list(FOUR), judge="simulated")


def expected_failures(agent: str, seed: int = 0, trial: int = 0) -> frozenset[str]:
    """The tasks that the agent's script gets wrong."""
    if agent == "hasty":
        return frozenset(task for task in TASKS if SUITE.solutions[task].hasty is not None)
    if agent.startswith("flaky:"):
        return failing_tasks(float(agent.removeprefix("flaky:")), TASKS, seed, agent, trial)
    return frozenset(TASKS) if agent == "smooth_talker" else frozenset()


def failures(ran: Ran, agent: str, trial: int = 0) -> frozenset[str]:
    mine = [row for row in ran.trajectories if (row["agent"], row["trial"]) == (agent, trial)]
    assert len(mine) == len(TASKS) and all(row["success"] in {0, 1} for row in mine)
    return frozenset(row["task_id"] for row in mine if not row["success"])


def test_the_run_does_all_of_its_plan(planted: Ran) -> None:
    run, n = planted.result.run, len(TASKS)
    assert (run.state, run.failed, run.unscored) == ("done", 0, {})
    assert {stage.stage: stage.done for stage in run.stages} == {
        "rollout": 4 * n,
        "pairwise": 2 * 6 * n,
        "satisfaction": 4 * n,
    }
    assert (planted.result.pairs, len(planted.pairs)) == (6 * n, 6 * n)
    assert planted.result.simulated and planted.summary.simulated


@pytest.mark.parametrize("agent", FOUR)
def test_each_agent_fails_exactly_the_tasks_that_its_script_gets_wrong(planted: Ran, agent: str) -> None:
    assert failures(planted, agent) == expected_failures(agent)
    (outcome,) = (one for one in planted.result.agents if one.agent == agent)
    wrong = len(expected_failures(agent))
    assert (outcome.succeeded, outcome.failed, outcome.unknown) == (len(TASKS) - wrong, wrong, 0)
    assert not outcome.flags and set(outcome.ends) <= {"finished", "blocked", "max_turns"}
    (setup,) = {row["setup_json"] for row in planted.trajectories if row["agent"] == agent}
    assert json.loads(setup)["skill"] == pytest.approx(1 - wrong / len(TASKS)), "as stated beforehand"
    assert planted.summary.pass_hat_k_by_agent is not None
    assert planted.summary.pass_hat_k_by_agent[agent]["1"] == pytest.approx(1 - wrong / len(TASKS))


def test_pairs_are_near_or_wide_as_the_skills_are(planted: Ran) -> None:
    skill = {agent: 1 - len(expected_failures(agent)) / len(TASKS) for agent in FOUR}
    near = {pair for pair in combinations(FOUR, 2) if round(abs(skill[pair[0]] - skill[pair[1]]), 9) < 0.1}
    assert ("diligent", "flaky:0.95") in near and len(near) < 6
    for row in planted.pairs:
        expected = "near" if (row["agent_a"], row["agent_b"]) in near else "wide"
        assert (row["declared"], row["ability_bucket"]) == (expected, expected)


def test_the_verifier_is_what_a_pair_is_decided_by(planted: Ran) -> None:
    success = {row["trajectory_id"]: row["success"] for row in planted.trajectories}
    for row in planted.pairs:
        a, b = success[row["trajectory_a"]], success[row["trajectory_b"]]
        gold = "tie" if a == b else "A" if a else "B"
        assert (row["success_a"], row["success_b"], row["gold_pref"]) == (a, b, gold)
    assert planted.summary.pairs is not None
    assert planted.summary.pairs.decidable == len(decidable(planted))


def decidable(ran: Ran) -> Rows:
    return [row for row in ran.pairs if row["success_a"] != row["success_b"]]


def politer(a: str, b: str) -> str:
    """The side with more polite words, or `tie`, as a judge says it that goes by nothing else."""
    shown = "\n".join(fence(f"RESPONSE {label}", FENCE, text).text for label, text in (("A", a), ("B", b)))
    turns = (ChatTurn(role="system", content="Judge."), ChatTurn(role="user", content=shown))
    both = dict.fromkeys(map(template_hash, (a, b)), Truth(success=True))
    return str(json.loads(simulated_reply(SimulatedBias(politeness=1.0), both, "m", turns, as_json=True))["winner"])


def wrong_by(bias: SimulatedBias, right: str, polite: str, noise: float) -> float:
    """The chance that one call is answered wrong: `right` and `polite` are labels as shown."""
    by_manner = noise if polite == "tie" else bias.politeness * (polite != right) + (1 - bias.politeness) * noise
    return bias.position * (right != "A") + (1 - bias.position) * by_manner


def chances(ran: Ran, bias: SimulatedBias, only: str | None = None) -> list[float]:
    """The chance of a wrong answer of each call about a decidable pair, of one bucket or of all."""
    texts = {row["trajectory_id"]: shown_of(row) for row in ran.trajectories}
    found = []
    for row in decidable(ran):
        if only not in {None, row["declared"]}:
            continue
        noise = bias.noise if bias.near is None or row["declared"] != "near" else bias.near
        a, b = texts[row["trajectory_a"]], texts[row["trajectory_b"]]
        better = "A" if row["success_a"] else "B"
        found.append(wrong_by(bias, better, politer(a, b), noise))
        found.append(wrong_by(bias, "B" if better == "A" else "A", politer(b, a), noise))
    return found


def shown_of(row: Mapping[str, Any]) -> str:
    goal = {task.task_id: task.goal for task in SUITE.tasks}[row["task_id"]]
    return transcript(Task(task_id=row["task_id"], prompt=goal), messages_from(row["messages_json"]))


def interval(shares: Sequence[float]) -> tuple[int, int]:
    """Where 99.9 % of the sums of independent events with these chances lie."""
    density = np.ones(1)
    for share in shares:
        density = np.convolve(density, [1 - share, share])
    sums = np.cumsum(density)
    return int(np.searchsorted(sums, TAIL)), int(np.searchsorted(sums, 1 - TAIL))


def wrong_calls(ran: Ran, only: str | None = None) -> list[bool]:
    """Of each call about a decidable pair: whether it named the side that failed."""
    better = {
        row["pair_id"]: "A" if row["success_a"] else "B" for row in decidable(ran) if only in {None, row["declared"]}
    }
    return [row["winner"] != better[row["pair_id"]] for row in ran.verdicts if row["pair_id"] in better]


@pytest.mark.parametrize("only", [None, "near", "wide"])
def test_wrong_choices_come_at_the_planted_rate(planted: Ran, only: str | None) -> None:
    shares, wrong = chances(planted, PLANTED, only), wrong_calls(planted, only)
    assert len(shares) == len(wrong) == 2 * len([row for row in decidable(planted) if only in {None, row["declared"]}])
    low, high = interval(shares)
    assert low <= sum(wrong) <= high, f"{sum(wrong)} of {len(wrong)}, expected {sum(shares):.1f}"
    if only is None:
        counted = planted.summary.misselection
        assert high - low < 0.25 * len(wrong), "the interval says something"
    else:
        assert planted.summary.buckets is not None
        (counted,) = (one.misselection for one in planted.summary.buckets if (one.gap, one.bucket) == ("ability", only))
    assert counted is not None and (counted.k, counted.n) == (sum(wrong), len(wrong))


def test_a_judge_without_bias_of_manner_or_place_would_be_told_apart(planted: Ran) -> None:
    """The planted politeness and position are seen in the count: without them it would lie elsewhere."""
    without = SimulatedBias(noise=PLANTED.noise, near=PLANTED.near)
    assert sum(wrong_calls(planted)) > interval(chances(planted, without))[1]


def test_the_smooth_talker_is_satisfied_with_and_failed(planted: Ran) -> None:
    agent = {row["trajectory_id"]: row["agent"] for row in planted.trajectories}
    success = {row["trajectory_id"]: row["success"] for row in planted.trajectories}
    satisfied = [row["trajectory_id"] for row in planted.scores if row["score"] >= 0.8]
    smooth = [one for one in satisfied if agent[one] == "smooth_talker"]
    assert not any(success[one] for one in smooth), "P(failed | satisfied) is 1"
    lenient = PLANTED.lenience + (1 - PLANTED.lenience) * PLANTED.noise
    low, high = binom.ppf(TAIL, len(TASKS), lenient), binom.ppf(1 - TAIL, len(TASKS), lenient)
    assert low <= len(smooth) <= high
    section = planted.summary.satisfaction
    assert section is not None and section.p_fail_given_satisfied is not None
    failed = sum(not success[one] for one in satisfied)
    assert (section.satisfied, section.satisfied_failed) == (len(satisfied), failed)
    assert section.p_fail_given_satisfied == pytest.approx(failed / len(satisfied))
    assert len(smooth) > failed / 2, "most of those who are satisfied for nothing were talked to smoothly"


def test_near_and_wide_errors_come_back_as_planted(tmp_path: Path) -> None:
    agents = ["flaky:0.6", "flaky:0.55", "smooth_talker"]
    values: dict[str, Any] = {"agents": agents, "signals": [], "seed": 3}
    ran = carried_out(tmp_path, judge="simulated:near=0.31,noise=0.02", **values)
    for agent in agents:
        assert failures(ran, agent) == expected_failures(agent, seed=3)
    for only, share in (("near", 0.31), ("wide", 0.02)):
        wrong = wrong_calls(ran, only)
        assert set(chances(ran, SimulatedBias(near=0.31, noise=0.02), only)) == {share}
        assert binom.ppf(TAIL, len(wrong), share) <= sum(wrong) <= binom.ppf(1 - TAIL, len(wrong), share)
    assert sum(wrong_calls(ran, "near")) > binom.ppf(1 - TAIL, len(wrong_calls(ran, "near")), 0.02)
    assert counted(ran.summary, "near") == (sum(wrong_calls(ran, "near")), len(wrong_calls(ran, "near")))
    assert counted(ran.summary, "wide") == (sum(wrong_calls(ran, "wide")), len(wrong_calls(ran, "wide")))


def counted(summary: AuditSummary, bucket: str) -> tuple[int, int]:
    """What the summary says of misselection in a bucket of ability."""
    (found,) = (one.misselection for one in summary.buckets or () if (one.gap, one.bucket) == ("ability", bucket))
    assert found.k is not None
    return found.k, found.n


def test_near_pairs_of_two_flaky_agents_are_decidable_where_one_of_them_fails(tmp_path: Path) -> None:
    agents, trials = ("flaky:0.6", "flaky:0.55"), 4
    values: dict[str, Any] = {"agents": list(agents), "trials": trials, "signals": []}
    ran = carried_out(tmp_path, judge="simulated:near=0.31,noise=0.02", **values)
    apart: Iterable[tuple[str, int]] = (
        (task, trial)
        for trial in range(trials)
        for task in expected_failures(agents[0], trial=trial) ^ expected_failures(agents[1], trial=trial)
    )
    expected = set(apart)
    assert (ran.result.run.state, len(ran.pairs)) == ("done", trials * len(TASKS))
    assert {row["declared"] for row in ran.pairs} == {"near"}
    assert {(row["task_id"], row["trial"]) for row in decidable(ran)} == expected
    by_chance = 0.6 * 0.45 + 0.4 * 0.55
    assert abs(len(expected) - by_chance * trials * len(TASKS)) < 20, "94 of 192 are expected"
    wrong = wrong_calls(ran)
    assert len(wrong) == 2 * len(expected)
    assert binom.ppf(TAIL, len(wrong), 0.31) <= sum(wrong) <= binom.ppf(1 - TAIL, len(wrong), 0.31)
    assert counted(ran.summary, "near") == (sum(wrong), len(wrong))
    for agent in agents:
        per_trial = [failures(ran, agent, trial) for trial in range(trials)]
        assert per_trial == [expected_failures(agent, trial=trial) for trial in range(trials)]
        assert len(set(per_trial)) == trials, "drawn anew for each trial"


def test_the_audit_says_in_words_what_was_planted_and_where_the_judge_may_be_trusted(planted: Ran) -> None:
    """A liking for what is shown first and for polite words: wrong far above the limit, under any rule."""
    found = planted.summary
    assert found.headline is not None and found.misselection is not None and found.policies is not None
    assert found.misselection.low is not None and found.misselection.low > 0.05
    assert found.headline.grade == "do_not_use"
    told = f"it picked the side that failed in {found.misselection.k} of {found.misselection.n} answers"
    apart = "it picked the side that failed in"  # where near pairs can be told from wide ones, it says both
    whole = f"Do not use this judge to choose between responses like these: {told}"
    assert found.headline.verdict[0].startswith((whole, f"Do not use this judge: {apart}"))
    assert found.policies.region is not None and found.policies.region.policy is None
    assert found.checklist is not None and found.recommendations is not None
    assert {item.point: item.state for item in found.checklist.items} == {
        "fixed_tasks": "yes",
        "roles_apart": "not_needed",
        "full_logs": "yes",
        "both_orders": "yes",
        "by_bucket": "partly",
        "spot_checks": "no",
        "versions": "yes",
        "monitoring": "no",
    }
    assert found.recommendations.rows[0].action == "change_judge"

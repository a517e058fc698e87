"""What a summary says of agents: who did the tasks, how episodes ended, and whom a judge was satisfied with."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import pytest

import brute_force as by_hand
from builders import episode, label, lone, pair, passed, rewarded, satisfied, verdict
from misjudge_storage.engine import Store
from misjudge_storage.types import Check, Judge, Record, Scale
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.rates import cluster_sums, clustered_rate
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.values import AgentOutcome, AuditSummary
from operations import stored

UNKNOWN = Check(verifier="success", source="verifier", evidence="The simulated user failed.")
LOWER = Judge(label="rank", form="satisfaction", scale=Scale(low=1, threshold=3, better="lower"), origin="imported")
OPEN = Judge(label="open", form="satisfaction", scale=Scale(low=None, high=None, threshold=None), origin="imported")
ENDS = ("finished", "blocked", "user_sim_error")
FLAGS = ((), ("scored",), ("scored", "too_long"))


def summary(store: Store, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **values}), store)


def agents(store: Store, **values: Any) -> dict[str, AgentOutcome]:
    found = summary(store, **values).agents
    assert found is not None
    return {one.agent: one for one in found}


def sessions(seed: int) -> list[Record]:
    """Four agents, three trials at six tasks, of unequal skill by task; some outcomes are not known, some unscored."""
    rng = random.Random(seed)
    found: list[Record] = []
    for agent in range(4):
        for task in range(6):
            for trial in range(3):
                checks = [rng.choice([passed(rng.random() < (agent + task) / 8), UNKNOWN])]
                scores = [
                    satisfied(rng.choice([None, 0.7, 0.8, 0.9])),
                    satisfied(float(rng.randint(1, 5)), LOWER),
                    satisfied(rng.random(), OPEN),
                ]
                one = episode(
                    f"agent{agent}", *checks, task=f"t{task}", trial=trial, satisfaction=scores,
                    end_reason=rng.choice(ENDS), flags=rng.choice(FLAGS),
                )  # fmt: skip
                found.append(lone(one, line=len(found)))
    return found


def test_success_of_each_agent_has_an_interval_that_counts_its_tasks(deps: Deps) -> None:
    records = sessions(1)
    stored(deps.store, records)
    found = agents(deps.store)
    counted = by_hand.agents(records, lambda score: False)
    assert found.keys() == counted.keys()
    for agent, one in found.items():
        assert one.success == clustered_rate(cluster_sums(counted[agent].tallies))
        assert one.succeeded + one.failed + one.unknown == 18
        assert (one.succeeded, one.unknown) == (one.success.k, counted[agent].unknown)
        assert 0 < one.unknown < 18


def test_ends_and_flags_are_counted_the_most_frequent_first(deps: Deps) -> None:
    records = sessions(2)
    stored(deps.store, records)
    ends: defaultdict[str, Counter[str]] = defaultdict(Counter)
    flags: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        made = record.episodes[0].trajectory
        ends[made.agent][made.end_reason or ""] += 1
        flags[made.agent].update(made.flags)
    for agent, one in agents(deps.store).items():
        assert one.ends == ends[agent] and one.flags == flags[agent]
        for counts in (one.ends, one.flags):
            assert list(counts.values()) == sorted(counts.values(), reverse=True)


def scored_by(judge: str, record: Record) -> Record:
    """The record with the satisfaction of this judge alone."""
    (one,) = record.episodes
    said = tuple(score for score in one.satisfaction if score.judge.label == judge)
    return record.model_copy(update={"episodes": (one.model_copy(update={"satisfaction": said}),)})


@pytest.mark.parametrize(("judge", "satisfies"), [("gate", lambda score: score >= 0.8), ("rank", lambda s: s <= 3)])
def test_who_satisfied_the_judge_though_it_failed_adds_up_to_its_satisfaction_section(
    deps: Deps, judge: str, satisfies: Any
) -> None:
    records = sessions(3)
    stored(deps.store, records)
    mine = [scored_by(judge, record) for record in records]
    counted = by_hand.agents(mine, satisfies)
    found = summary(deps.store, judge=judge)
    assert found.agents is not None and found.satisfaction is not None
    assert {one.agent: (one.satisfied, one.satisfied_failed) for one in found.agents} == {
        agent: (one.satisfied, one.satisfied_failed) for agent, one in counted.items()
    }
    assert sum(one.satisfied or 0 for one in found.agents) == found.satisfaction.satisfied
    assert sum(one.satisfied_failed or 0 for one in found.agents) == found.satisfaction.satisfied_failed


def test_an_agent_that_talks_well_and_does_nothing_shows_in_its_row(deps: Deps) -> None:
    records = [
        lone(episode(agent, passed(done), task=f"t{n}", satisfaction=[satisfied(score)], end_reason="finished"), line=n)
        for n in range(5)
        for agent, done, score in (("talker", False, 0.9), ("doer", True, 0.9 if n else 0.3))
    ]
    stored(deps.store, records)
    found = agents(deps.store)
    assert list(found) == ["doer", "talker"], "the best first"
    assert [(one.satisfied, one.satisfied_failed) for one in found.values()] == [(4, 0), (5, 5)]
    assert (found["talker"].success.k, found["talker"].success.n) == (0, 5)


@pytest.mark.parametrize("judge", ["open", "judge"])
def test_a_judge_without_threshold_or_without_scores_says_of_nobody_that_it_was_satisfied(
    deps: Deps, judge: str
) -> None:
    stored(deps.store, [*sessions(4), pair("p", episode("x", task="o"), episode("y", task="o"), verdict("A"))])
    for one in agents(deps.store, judge=judge).values():
        assert (one.satisfied, one.satisfied_failed) == (None, None)


def test_an_agent_that_the_judge_scored_nowhere_has_no_satisfaction(deps: Deps) -> None:
    scored = episode("scored", passed(True), satisfaction=[satisfied(0.1)])
    unscored = episode("unscored", passed(True), satisfaction=[satisfied(None)])
    stored(deps.store, [lone(scored, 1), lone(unscored, 2), lone(episode("apart", UNKNOWN), 3)])
    found = agents(deps.store)
    assert {name: one.satisfied for name, one in found.items()} == {"scored": 0, "unscored": None, "apart": None}
    assert list(found)[-1] == "apart", "of whom nothing is known"
    assert (found["apart"].unknown, found["apart"].success.rate) == (1, None)


def test_with_several_judges_the_agents_stand_once_and_satisfaction_is_that_of_a_chosen_one(deps: Deps) -> None:
    stored(deps.store, sessions(5))
    whole = summary(deps.store)
    assert whole.agents is not None and whole.judges is not None and len(whole.judges) == 3
    assert {one.satisfied for one in whole.agents} == {None}
    for sections in whole.judges.values():
        assert sections.agents is None
        assert "judge=LABEL" in sections.why["agents"]
    chosen = agents(deps.store, judge="gate")
    assert {one.satisfied_by for one in chosen.values()} == {"satisfaction"}
    unsaid = dict.fromkeys(("satisfied", "satisfied_failed", "satisfied_by"))
    assert [one.model_copy(update=unsaid) for one in chosen.values()] == [*whole.agents]


def test_a_subset_says_nothing_of_agents(deps: Deps) -> None:
    records = []
    for n, subset in enumerate(("easy", "hard")):
        sides = (episode("x", passed(True), task=f"t{n}"), episode("y", passed(False), task=f"t{n}"))
        record = pair(f"p{n}", *sides, verdict("A"))
        assert record.task is not None
        records.append(record.model_copy(update={"task": record.task.model_copy(update={"subset": subset})}))
    stored(deps.store, records)
    found = summary(deps.store, judge="judge/easy")
    assert found.agents is None and found.why["agents"].startswith("Given for the judge as a whole")
    assert len(agents(deps.store, judge="judge")) == 2


@pytest.mark.parametrize(
    "records",
    [
        [],
        [pair("p", None, None, verdict("A"), gold=[label("B")])],
        [lone(episode("x", UNKNOWN, rewarded(0.5)))],
        [lone(episode("x", Check(verifier="m", source="model", passed=True)))],
    ],
)
def test_where_no_success_is_known_there_is_no_section_but_a_reason(deps: Deps, records: list[Record]) -> None:
    stored(deps.store, records)
    found = summary(deps.store)
    assert found.agents is None
    assert found.why["agents"].startswith("Of no episode is it known whether it did its task.")


LOST: dict[str, Any] = {
    "end_reason": "user_sim_error",
    "trouble": "The model of the customer answered nothing.",
    "setup": "{}",
}


def test_agents_that_were_run_here_are_told_of_also_where_the_customer_failed_each_time(deps: Deps) -> None:
    stored(deps.store, [lone(episode("x", UNKNOWN, task=f"t{n}", **LOST), n) for n in range(4)])
    found = agents(deps.store)["x"]
    assert (found.succeeded, found.failed, found.unknown, found.success.rate) == (0, 0, 4, None)
    assert (found.ends, found.trouble) == ({"user_sim_error": 4}, LOST["trouble"])
    assert summary(deps.store).warnings == ("The simulated user failed in 4 of 4 episodes.",)


def broken(agent: str, errors: int, of: int) -> list[Record]:
    """Episodes of which the agent broke so many."""
    ends: list[dict[str, Any]] = [
        {"end_reason": "agent_error", "trouble": "It broke."} if n < errors else {} for n in range(of)
    ]
    return [lone(episode(agent, passed(False), task=f"t{n}", **end), n) for n, end in enumerate(ends)]


def test_an_agent_that_broke_most_of_its_episodes_is_warned_of(deps: Deps) -> None:
    stored(deps.store, [*broken("x", 2, 3), *broken("y", 2, 4), *broken("z", 1, 1)])
    assert summary(deps.store).warnings == (
        "Agent x ended in an error in 2 of 3 episodes: It broke.",
        "Agent z ended in an error in 1 of 1 episode: It broke.",
    )


def test_an_error_of_which_nothing_is_told_is_warned_of_too_and_not_of_each_of_many_agents(deps: Deps) -> None:
    silent = [lone(episode(f"agent{n}", passed(False), end_reason="agent_error"), n) for n in range(5)]
    stored(deps.store, silent)
    first, *_, last = summary(deps.store).warnings
    assert first == "Agent agent0 ended in an error in 1 of 1 episode."
    assert last == "2 more agents ended in an error in most of their episodes."
    assert len(summary(deps.store).warnings) == 4


def test_agents_are_counted_in_their_own_audit_alone(deps: Deps) -> None:
    stored(deps.store, [lone(episode("x", passed(True), end_reason="finished"))])
    stored(deps.store, [lone(episode("x", passed(False), satisfaction=[satisfied(0.9)]), 7)], "other")
    found = agents(deps.store)
    assert {name: (one.succeeded, one.failed, one.satisfied) for name, one in found.items()} == {"x": (1, 0, None)}


def test_made_up_agents_are_told_from_real_ones(deps: Deps) -> None:
    stored(
        deps.store,
        [
            lone(episode("real", passed(True)), 1),
            lone(episode("scripted", passed(True), simulated=True), 2),
            lone(episode("scripted", passed(True), task="t2", simulated=False), 3),
        ],
    )
    assert {name: one.simulated for name, one in agents(deps.store).items()} == {"real": False, "scripted": True}
    assert summary(deps.store).simulated


def test_only_agents_are_given_where_only_they_are_asked_for(deps: Deps) -> None:
    stored(deps.store, sessions(6))
    found = summary(deps.store, judge="gate", sections=["agents"])
    assert found.agents == summary(deps.store, judge="gate").agents
    assert (found.satisfaction, found.pairs, found.why) == (None, None, {})


def test_a_pair_of_which_success_is_not_known_is_in_no_error_rate(deps: Deps) -> None:
    outcomes = {"wrong": (False, True), "right": (True, False), "alike": (True, True)}
    records = [
        pair(name, episode("x", passed(a), task=name), episode("y", passed(b), task=name), verdict("A"))
        for name, (a, b) in outcomes.items()
    ]
    stored(deps.store, records)
    before = summary(deps.store)
    unknown = (episode("x", passed(True), task="u"), episode("y", UNKNOWN, task="u"))
    stored(deps.store, [pair("unknown", *unknown, verdict("B"))])
    after = summary(deps.store)
    assert after.pairs is not None and before.pairs is not None
    assert (after.pairs.n, after.pairs.decidable, after.pairs.gold_tie, after.pairs.gold_unknown) == (4, 2, 1, 1)
    assert after.misselection == before.misselection
    assert after.misselection is not None and after.misselection.all_pairs_rate == pytest.approx(1 / 3)

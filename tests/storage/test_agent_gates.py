"""Agents by reward and gate, and the noise of their tasks, as a walk through the records counts them."""

from __future__ import annotations

import random
from collections import defaultdict
from statistics import mean

import pytest

from builders import episode, lone, pair, passed, rewarded, satisfied, verdict
from misjudge_storage.agent_gates import AgentGate, scored_agents
from misjudge_storage.counted_pairs import CountedPairs
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.summary_records import reduce_audit
from misjudge_storage.types import Check, Judge, Preference, Record, Scale

GATE = Judge(label="one", form="gate", model="m", scale=Scale(low=1, high=7, threshold=5))
WINNERS: tuple[Preference, ...] = ("A", "B", "tie")


def keep(store: Store, records: list[Record]) -> str:
    with store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "test", records)
    return audit


def close(found: AgentGate, *expected: float | None) -> None:
    values = (found.reward, found.gate, found.order_rank, found.tasks, found.total, found.squares)
    for value, wanted in zip(values, expected, strict=True):
        assert value == (None if wanted is None else pytest.approx(wanted))


def test_scores_of_agents_are_summed_by_task(any_store: Store) -> None:
    """Agent x has two trials of the first task and one of the second; y has no known reward of its second task."""
    records = []
    for n, (agent, task, trial, reward, score) in enumerate(
        [
            ("x", "t1", 0, 0.5, 2),
            ("x", "t1", 1, 0.7, 4),
            ("x", "t2", 0, 0.0, 6),
            ("y", "t1", 0, 1.0, 7),
            ("y", "t2", 0, None, 1),
        ]
    ):
        checks = [] if reward is None else [rewarded(reward), Check(verifier="r", source="order", reward=3.0)]
        one = episode(agent, *checks, task=task, trial=trial, satisfaction=[satisfied(score, GATE)], base_model="b")
        records.append(lone(one, line=n))
    audit = keep(any_store, records)
    with any_store.read() as connection:
        x, y = scored_agents(connection, audit)
    assert (x.agent, x.base_model, y.agent) == ("x", "b", "y")
    close(x, 0.4, 4, 3, 2, 3 + 6, 9 + 36)
    close(y, 1, 7, 3, 1, 7, 49)


def test_success_stands_in_for_a_reward_that_is_not_stated(any_store: Store) -> None:
    records = [
        lone(episode("x", passed(n < 1), task=f"t{n}", satisfaction=[satisfied(1, GATE)]), line=n) for n in range(4)
    ]
    audit = keep(any_store, records)
    with any_store.read() as connection:
        (found,) = scored_agents(connection, audit)
    close(found, 0.25, 1, None, 4, 4, 4)


def test_shares_of_wins_are_those_of_decided_pairs_by_task(any_store: Store) -> None:
    draw = random.Random(3)
    rewards = {(agent, task): draw.randrange(5) / 4 for agent in "xyz" for task in range(4)}
    won: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    records: list[Record] = []
    for task in range(4):
        for a, b in (("x", "y"), ("y", "z"), ("x", "z"), ("z", "x")):
            side = draw.choice(WINNERS)
            first, second = (episode(one, rewarded(rewards[one, task]), task=f"t{task}") for one in (a, b))
            records.append(pair(f"{task}{a}{b}", first, second, verdict(side, "AB"), line=len(records)))
            if side != "tie":
                won[a][task].append(float(side == "A"))
                won[b][task].append(float(side == "B"))
    audit = keep(any_store, records)
    with any_store.read() as connection:
        reduce_audit(connection, audit)
        found = CountedPairs(connection, everything=False).wins(audit)
    assert [one.agent for one in found] == sorted(won)
    for one in found:
        tasks = won[one.agent]
        shares = [mean(wins) for wins in tasks.values()]
        every = [win for wins in tasks.values() for win in wins]
        reward = mean(rewards[one.agent, task] for task in tasks)
        close(one, reward, mean(every), None, len(tasks), sum(shares), sum(share * share for share in shares))

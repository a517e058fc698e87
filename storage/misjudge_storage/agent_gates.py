"""Agents by reward and gate score, and how the latter varies between tasks: a GROUP BY for all judges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, text

from misjudge_storage.reduced_episodes import AGENTS, OUTCOMES, hold_outcomes
from misjudge_storage.row_chunks import NOTHING, Chunk, Ints, ReducedFacts, fetched, judge_of, task_of
from misjudge_storage.task_cells import Cells, GroupedSums, WholeUnits, summed


class AgentGate(NamedTuple):
    """One agent by one judge: mean reward (success where none is stated), mean gate score, base model, stated rank.

    `tasks` is the number of tasks, `total` the sum of its gate scores by task, each the mean over the task, and
    `squares` the sum of their squares.
    """

    judge_id: str
    agent: str
    reward: float
    gate: float
    base_model: str | None
    tasks: int
    total: float
    squares: float
    order_rank: float | None = None


def scored_agents(connection: Connection, audit_id: str) -> list[AgentGate]:
    """Agents by judge: the scores of their trajectories as gate. Those of unknown reward and success do not count."""
    return _agents(
        connection,
        audit_id,
        """
        scores AS (
            SELECT judge_id, trajectory_id, AVG(score) AS gate FROM verdicts
            WHERE audit_id = :audit AND trajectory_id IS NOT NULL AND score IS NOT NULL
            GROUP BY judge_id, trajectory_id
        ),
        by_task AS (
            SELECT
                s.judge_id, o.agent, o.task_id, SUM(1.0 * COALESCE(o.reward, o.success)) AS reward,
                COUNT(*) AS episodes, SUM(s.gate) AS gate, COUNT(*) AS n, MIN(o.base_model) AS base_model
            FROM scores s
            JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
            WHERE COALESCE(o.reward, o.success) IS NOT NULL
            GROUP BY s.judge_id, o.agent, o.task_id
        )
        """,
    )


_REWARDED = f"""
    SELECT task_no, agent_no, reward, rewarded FROM {OUTCOMES}
    WHERE rewarded > 0 AND task_no BETWEEN {{first}} AND {{last}} ORDER BY task_no, agent_no
"""
_REWARDS = np.dtype([("task", "i8"), ("agent", "i8"), ("reward", "f8"), ("episodes", "f8")])


class WinCounting:
    """Counts the decided pairs that agents won. The reward of an agent is that of all its episodes on the tasks of
    these pairs, of those whose reward or success is known.
    """

    def __init__(self, connection: Connection, facts: ReducedFacts) -> None:
        self._connection = connection
        self._facts = facts
        self._agents = facts.of_actors("agent")
        self._picked = facts.of_kinds([f"CASE WHEN pref = '{side}' THEN 1 ELSE 0 END" for side in "AB"])
        self._won = WholeUnits(2)
        self._found = GroupedSums()
        hold_outcomes(connection)

    def add(self, chunk: Chunk, last: int) -> None:
        a, b = (picked[chunk.kind] for picked in self._picked)
        decided = a + b > 0
        sides = [np.where(decided, self._agents.of[actor], NOTHING) for actor in (chunk.actor_a, chunk.actor_b)]
        agents, won = (np.column_stack(two).ravel() for two in (sides, (a, b)))
        cells = self._won.add(np.repeat(chunk.unit, 2), agents, [won, np.ones_like(won)], last)
        if len(cells.unit):
            self._add_cells(cells)

    def _add_cells(self, cells: Cells) -> None:
        rewarded = self._rewarded(task_of(cells.unit))
        task_and_agent = _in_one(task_of(cells.unit), cells.key)
        place = np.searchsorted(_in_one(rewarded.unit, rewarded.key), task_and_agent)
        known = np.isin(task_and_agent, _in_one(rewarded.unit, rewarded.key))
        reward, episodes = rewarded.sums[:, place[known]]
        won, pairs = cells.sums[:, known]
        share = won / pairs
        judges = judge_of(cells.unit[known])
        columns = [reward, episodes, won, pairs, np.ones_like(share), share, share * share]
        self._found.add([judges, cells.key[known]], columns)

    def _rewarded(self, tasks: Ints) -> Cells:
        """Rewards by task and agent, and episodes."""
        query = _REWARDED.format(first=int(tasks.min()), last=int(tasks.max()))
        found = np.concatenate([np.zeros(0, _REWARDS), *fetched(self._connection, query, _REWARDS)])
        return summed(found["task"], self._agents.of[found["agent"]], [found["reward"], found["episodes"]])

    def agents(self, audit_id: str) -> list[AgentGate]:
        """Agents by judge: the share of decided pairs won as gate."""
        models = {one.agent: one.base_model for one in self._connection.execute(text(f"SELECT * FROM {AGENTS} g"))}
        ranks = _order_ranks(self._connection, audit_id)
        found = []
        for (judge, agent), totals in self._found.groups.items():
            judge_id, name = self._facts.judges[judge], self._agents.names[agent]
            if judge_id is not None:
                reward, episodes, won, pairs, tasks, total, squares = totals.tolist()
                gate = AgentGate(
                    judge_id, name, reward / episodes, won / pairs, models[name], int(tasks), total, squares,
                    ranks.get(name),
                )  # fmt: skip
                found.append(gate)
        return sorted(found, key=lambda gate: (gate.judge_id, gate.agent))


def _in_one(task: Ints, agent: Ints) -> Ints:
    return task * (1 << 32) + agent


def _agents(connection: Connection, audit_id: str, by_task: str) -> list[AgentGate]:
    query = f"""
        WITH {by_task}
        SELECT
            judge_id, agent, SUM(reward) / SUM(episodes), SUM(gate) / SUM(n), MIN(base_model), COUNT(*),
            SUM(gate / n), SUM((gate / n) * (gate / n))
        FROM by_task GROUP BY judge_id, agent ORDER BY judge_id, agent
    """
    ranks = _order_ranks(connection, audit_id)
    return [
        AgentGate(
            judge_id,
            agent,
            float(reward),
            float(gate),
            base_model,
            int(tasks),
            float(total),
            float(squares),
            ranks.get(agent),
        )
        for judge_id, agent, reward, gate, base_model, tasks, total, squares in connection.execute(
            text(query), {"audit": audit_id}
        )
    ]


def _order_ranks(connection: Connection, audit_id: str) -> dict[str, float]:
    """The stated rank of each agent that has one, the mean over its episodes."""
    query = """
        SELECT t.agent, AVG(c.reward) FROM checks c JOIN trajectories t ON t.trajectory_id = c.trajectory_id
        WHERE c.audit_id = :audit AND c.scope = 'outcome' AND c.source = 'order' AND c.reward IS NOT NULL
        GROUP BY t.agent
    """
    return {agent: float(rank) for agent, rank in connection.execute(text(query), {"audit": audit_id})}

"""Agents by reward and gate score, and how the latter varies between tasks: a GROUP BY for all judges."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reduced_audit import REDUCED
from misjudge_storage.reduced_episodes import ACTORS, EPISODES, TASKS


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


def winning_agents(reduced: Connection, audit_id: str) -> list[AgentGate]:
    """Agents by judge: the share of decided pairs won as gate, from the reduced audit.

    The reward is that of all its episodes on the tasks of these pairs, of those whose reward or success is known.
    """
    sides = " UNION ALL ".join(
        f"""
        SELECT judge_id, task_id, {agent} AS agent, SUM(CASE WHEN pref = '{side}' THEN 1.0 ELSE 0.0 END) AS gate,
            COUNT(*) AS n
        FROM {REDUCED} WHERE pref IN ('A', 'B') GROUP BY judge_id, task_id, {agent}
        """
        for side, agent in (("A", "agent_a"), ("B", "agent_b"))
    )
    return _agents(
        reduced,
        audit_id,
        f"""
        sides AS ({sides}),
        won AS (
            SELECT judge_id, task_id, agent, SUM(gate) AS gate, SUM(n) AS n FROM sides GROUP BY judge_id, task_id, agent
        ),
        rewarded AS (
            SELECT t.task_id, a.agent, SUM(1.0 * COALESCE(e.reward, e.success)) AS reward, COUNT(*) AS episodes,
                MIN(a.base_model) AS base_model
            FROM {EPISODES} e JOIN {TASKS} t ON t.task_no = e.task_no JOIN {ACTORS} a ON a.actor_no = e.actor_no
            WHERE COALESCE(e.reward, e.success) IS NOT NULL
            GROUP BY t.task_id, a.agent
        ),
        by_task AS (
            SELECT w.judge_id, w.agent, w.task_id, r.reward, r.episodes, w.gate, w.n, r.base_model
            FROM won w JOIN rewarded r ON r.task_id = w.task_id AND r.agent = w.agent
        )
        """,
    )


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

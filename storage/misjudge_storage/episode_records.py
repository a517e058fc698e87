"""How episodes of an audit ended: counts by agent."""

from __future__ import annotations

import json
from collections import Counter
from typing import NamedTuple

from sqlalchemy import Connection, text


class AgentEpisodes(NamedTuple):
    """Episodes of one agent by success; `ends` and `flags` count how they ended and what simulated users did wrong."""

    agent: str
    succeeded: int
    failed: int
    unknown: int
    ends: dict[str, int]
    flags: dict[str, int]


def success_of(connection: Connection, trajectory_id: str) -> bool | None:
    """Whether an episode did its task, None where that is not known."""
    query = text("SELECT success FROM trajectory_outcomes WHERE trajectory_id = :trajectory")
    success = connection.scalar(query, {"trajectory": trajectory_id})
    return None if success is None else bool(success)


def agent_episodes(connection: Connection, audit_id: str) -> list[AgentEpisodes]:
    """The episodes of each agent of the audit."""
    query = text("""
        SELECT o.agent, o.success, t.end_reason, t.flags_json, COUNT(*) AS number
        FROM trajectory_outcomes o JOIN trajectories t ON t.trajectory_id = o.trajectory_id
        WHERE o.audit_id = :audit GROUP BY o.agent, o.success, t.end_reason, t.flags_json ORDER BY o.agent
    """)
    success: dict[str, Counter[int | None]] = {}
    ends: dict[str, Counter[str]] = {}
    flags: dict[str, Counter[str]] = {}
    for row in connection.execute(query, {"audit": audit_id}):
        success.setdefault(row.agent, Counter())[row.success] += row.number
        ends.setdefault(row.agent, Counter())[row.end_reason or "not stated"] += row.number
        flagged = flags.setdefault(row.agent, Counter())
        for flag in json.loads(row.flags_json or "[]"):
            flagged[flag] += row.number
    return [
        AgentEpisodes(agent, found[1], found[0], found[None], dict(ends[agent]), dict(flags[agent]))
        for agent, found in success.items()
    ]

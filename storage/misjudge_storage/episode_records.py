"""How episodes of an audit ended: counts by agent."""

from __future__ import annotations

import json
from collections import Counter
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.summary_records import sums_of
from misjudge_storage.summary_values import Sums


class AgentEpisodes(NamedTuple):
    """Episodes of one agent. `success` holds the successes among those of known outcome, as sums over tasks.

    `ends` and `flags` count how they ended and what simulated users did wrong, the most frequent first. `simulated`:
    whether any of them is made up.
    """

    agent: str
    episodes: int
    success: Sums
    ends: dict[str, int]
    flags: dict[str, int]
    simulated: bool


class _Ends(NamedTuple):
    ends: Counter[str]
    flags: Counter[str]
    simulated: bool


def success_of(connection: Connection, trajectory_id: str) -> bool | None:
    """Whether an episode did its task, None where that is not known."""
    query = text("SELECT success FROM trajectory_outcomes WHERE trajectory_id = :trajectory")
    success = connection.scalar(query, {"trajectory": trajectory_id})
    return None if success is None else bool(success)


def agent_episodes(connection: Connection, audit_id: str) -> list[AgentEpisodes]:
    """The episodes of each agent of the audit, by its name."""
    query = text(f"""
        WITH by_task AS (
            SELECT agent, COUNT(*) AS episodes, COALESCE(SUM(success), 0) AS k_success, COUNT(success) AS n_success
            FROM trajectory_outcomes WHERE audit_id = :audit GROUP BY agent, task_id
        )
        SELECT agent, SUM(episodes), {sums_of("success")} FROM by_task GROUP BY agent ORDER BY agent
    """)
    ends = _ends(connection, audit_id)
    found = []
    for agent, episodes, *sums in connection.execute(query, {"audit": audit_id}):
        known = ends[agent]
        counted = Sums(*map(int, sums))
        found.append(
            AgentEpisodes(agent, int(episodes), counted, _ordered(known.ends), _ordered(known.flags), known.simulated)
        )
    return found


def _ends(connection: Connection, audit_id: str) -> dict[str, _Ends]:
    query = text("""
        SELECT agent, end_reason, flags_json, simulated, COUNT(*) AS number FROM trajectories
        WHERE audit_id = :audit GROUP BY agent, end_reason, flags_json, simulated
    """)
    found: dict[str, _Ends] = {}
    for row in connection.execute(query, {"audit": audit_id}):
        ends, flags, simulated = found.get(row.agent, _Ends(Counter(), Counter(), False))
        ends[row.end_reason or "not stated"] += row.number
        for flag in json.loads(row.flags_json or "[]"):
            flags[flag] += row.number
        found[row.agent] = _Ends(ends, flags, simulated or bool(row.simulated))
    return found


def _ordered(counted: Counter[str]) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))

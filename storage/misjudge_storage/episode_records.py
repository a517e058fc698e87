"""How episodes of an audit ended, by agent, and what is stated of the tokens that they took."""

from __future__ import annotations

import json
from collections import Counter
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reduced_episodes import AGENTS, OUTCOMES, hold_episodes, hold_outcomes
from misjudge_storage.summary_records import sums_of
from misjudge_storage.summary_values import StatedTokens, Sums, TrialCount


class AgentEpisodes(NamedTuple):
    """Episodes of one agent. `success` holds the successes among those of known outcome, as sums over tasks.

    `ends` and `flags` count how they ended and what simulated users did wrong, the most frequent first. `simulated`:
    whether any of them is made up. `trouble` is the most frequent error that ended one, `own_trouble` that of those
    which the agent itself made. `made`: how many were made by runs, not imported.
    """

    agent: str
    episodes: int
    success: Sums
    ends: dict[str, int]
    flags: dict[str, int]
    simulated: bool
    trouble: str | None
    own_trouble: str | None
    made: int


class _Ends(NamedTuple):
    ends: Counter[str]
    troubles: Counter[str]
    own_troubles: Counter[str]
    flags: Counter[str]
    simulated: bool
    made: int


_NONE = _Ends(Counter(), Counter(), Counter(), Counter(), False, 0)


NOTHING_KNOWN = Sums(0, 0, 0, 0, 0, 0)


def success_of(connection: Connection, trajectory_id: str) -> bool | None:
    """Whether an episode did its task, None where that is not known."""
    query = text("SELECT success FROM trajectory_outcomes WHERE trajectory_id = :trajectory")
    success = connection.scalar(query, {"trajectory": trajectory_id})
    return None if success is None else bool(success)


def any_simulated(connection: Connection, audit_id: str) -> bool:
    """Whether any episode of the audit is made up."""
    query = text("SELECT EXISTS (SELECT 1 FROM trajectories WHERE audit_id = :audit AND simulated)")
    return bool(connection.scalar(query, {"audit": audit_id}))


def any_trouble(connection: Connection, audit_id: str) -> bool:
    """Whether any episode of the audit ended in an error of its agent or of the simulated user."""
    ends = "end_reason IN ('agent_error', 'user_sim_error')"
    query = text(f"SELECT EXISTS (SELECT 1 FROM trajectories WHERE audit_id = :audit AND {ends})")
    return bool(connection.scalar(query, {"audit": audit_id}))


def agent_episodes(connection: Connection, audit_id: str) -> list[AgentEpisodes]:
    """The episodes of each agent of the audit, by its name."""
    success = _success(connection, audit_id)
    return [
        AgentEpisodes(
            agent,
            found.ends.total(),
            success.get(agent, NOTHING_KNOWN),
            _ordered(found.ends),
            _ordered(found.flags),
            found.simulated,
            next(iter(_ordered(found.troubles)), None),
            next(iter(_ordered(found.own_troubles)), None),
            found.made,
        )
        for agent, found in sorted(_ends(connection, audit_id).items())
    ]


def _success(connection: Connection, audit_id: str) -> dict[str, Sums]:
    hold_episodes(connection, audit_id)
    hold_outcomes(connection)
    query = text(f"""
        SELECT g.agent, o.* FROM (SELECT agent_no, {sums_of("success")} FROM {OUTCOMES} GROUP BY agent_no) o
        JOIN {AGENTS} g ON g.agent_no = o.agent_no
    """)
    return {agent: Sums(*map(int, sums)) for agent, _, *sums in connection.execute(query)}


def _ends(connection: Connection, audit_id: str) -> dict[str, _Ends]:
    query = text("""
        SELECT agent, end_reason, trouble, flags_json, simulated, COUNT(*) AS number, COUNT(setup_json) AS made
        FROM trajectories
        WHERE audit_id = :audit GROUP BY agent, end_reason, trouble, flags_json, simulated
    """)
    found: dict[str, _Ends] = {}
    for row in connection.execute(query, {"audit": audit_id}):
        before = found.get(row.agent, _NONE)
        number: int = row.number
        troubles = Counter({row.trouble: number} if row.trouble else {})
        found[row.agent] = _Ends(
            before.ends + Counter({row.end_reason or "not stated": number}),
            before.troubles + troubles,
            before.own_troubles + (troubles if row.end_reason == "agent_error" else Counter()),
            before.flags + Counter(dict.fromkeys(json.loads(row.flags_json or "[]"), number)),
            before.simulated or bool(row.simulated),
            before.made + row.made,
        )
    return found


def _ordered(counted: Counter[str]) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def trial_counts(connection: Connection, audit_id: str) -> list[TrialCount]:
    """Tasks by agent, number of numbered trials, and successes."""
    hold_episodes(connection, audit_id)
    hold_outcomes(connection)
    query = f"""
        SELECT g.agent, o.trials, o.successes, o.tasks FROM (
            SELECT agent_no, trials, successes, COUNT(*) AS tasks FROM {OUTCOMES} WHERE trials > 0
            GROUP BY agent_no, trials, successes
        ) o JOIN {AGENTS} g ON g.agent_no = o.agent_no ORDER BY 1, 2, 3
    """
    return [TrialCount(*row) for row in connection.execute(text(query))]


def stated_tokens(connection: Connection, audit_id: str) -> StatedTokens:
    """What sources state of whole episodes."""
    query = """
        SELECT COUNT(*), SUM(input_tokens), SUM(output_tokens) FROM trajectories
        WHERE audit_id = :audit AND (input_tokens IS NOT NULL OR output_tokens IS NOT NULL)
    """
    return StatedTokens(*connection.execute(text(query), {"audit": audit_id}).one())

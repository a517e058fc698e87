"""How the episodes of an audit ended, held for a summary: what `trajectory_outcomes` says of them, in one GROUP BY.

The view looks for the checks of one episode after the other. Most episodes have one that says anything; only where
several do, the view is asked which of them counts.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from misjudge_storage.reduced_kinds import OUTCOME
from misjudge_storage.temporary import CLUSTERED, NUMBERED

EPISODES = "audit_episodes"
ACTORS = "audit_actors"
TASKS = "audit_tasks"
OUTCOMES = "audit_outcomes"
AGENTS = f"(SELECT agent_no, agent, MIN(base_model) AS base_model FROM {ACTORS} GROUP BY agent_no, agent)"
"""The agents, whatever their base models; each has the number of one of its actors."""

_IS_HELD = {
    "sqlite": f"SELECT 1 FROM sqlite_temp_master WHERE name = '{EPISODES}'",
    "postgresql": f"SELECT to_regclass('pg_temp.{EPISODES}')",
}
_CACHE_KB = 10_000
"""Of the store's pages, and as much of temporary ones: a summary reads most pages once. It bounds sorting, too."""


def hold_episodes(connection: Connection, audit_id: str) -> None:
    """Fill the temporary tables of the tasks, the agents (by base model) and the episodes of the audit, once: a
    connection holds one audit.
    """
    dialect = connection.dialect.name
    if connection.scalar(text(_IS_HELD[dialect])):
        return
    if dialect == "sqlite":
        for schema in ("main", "temp"):
            connection.exec_driver_sql(f"PRAGMA {schema}.cache_size = -{_CACHE_KB}")
    given = {"audit": audit_id}
    for statement in (
        f"""
        CREATE TEMPORARY TABLE {TASKS} (
            task_no {NUMBERED[dialect]}, task_id VARCHAR NOT NULL UNIQUE, subset VARCHAR, category VARCHAR,
            language VARCHAR
        )
        """,
        f"""
        CREATE TEMPORARY TABLE {ACTORS} (
            actor_no {NUMBERED[dialect]}, agent VARCHAR NOT NULL, model VARCHAR NOT NULL, base_model VARCHAR,
            agent_no BIGINT, UNIQUE (agent, model)
        )
        """,
        f"""
        CREATE TEMPORARY TABLE {EPISODES} (
            trajectory_id VARCHAR PRIMARY KEY, task_no BIGINT NOT NULL, actor_no BIGINT NOT NULL, trial INTEGER,
            turns INTEGER, success INTEGER, outcome INTEGER NOT NULL, reward FLOAT
        ) {CLUSTERED[dialect]}
        """,
    ):
        connection.execute(text(statement))
    connection.execute(text(_TASKS), given)
    connection.execute(text(_ACTORS), given)
    connection.execute(text(_AGENT_NUMBERS))
    connection.execute(text(_EPISODES), given)


_KNOWN = "COALESCE(e.reward, e.success)"
_COUNTED = {
    "n_success": "COUNT(e.success)",
    "k_success": "COALESCE(SUM(e.success), 0)",
    "rewarded": f"COUNT({_KNOWN})",
    "reward": f"COALESCE(SUM(1.0 * {_KNOWN}), 0)",
    "trials": "COUNT(CASE WHEN e.trial IS NOT NULL THEN e.success END)",
    "successes": "COALESCE(SUM(CASE WHEN e.trial IS NOT NULL THEN e.success END), 0)",
}


def hold_outcomes(connection: Connection) -> None:
    """Add up the episodes by agent and task, once, after `hold_episodes`: `k_success` of `n_success` whose outcome is
    known, `reward` (success where none is stated) of the `rewarded`, and `successes` of the numbered `trials`.
    """
    columns = ", ".join(f"{name} {'FLOAT' if name == 'reward' else 'INTEGER'} NOT NULL" for name in _COUNTED)
    key = "task_no BIGINT NOT NULL, agent_no BIGINT NOT NULL"
    table = f"CREATE TEMPORARY TABLE IF NOT EXISTS {OUTCOMES} ({key}, {columns}, PRIMARY KEY (task_no, agent_no))"
    connection.execute(text(f"{table} {CLUSTERED[connection.dialect.name]}"))
    connection.execute(
        text(f"""
        INSERT INTO {OUTCOMES} (task_no, agent_no, {", ".join(_COUNTED)})
        SELECT e.task_no, a.agent_no, {", ".join(_COUNTED.values())}
        FROM {EPISODES} e CROSS JOIN {ACTORS} a
        WHERE a.actor_no = e.actor_no AND NOT EXISTS (SELECT 1 FROM {OUTCOMES}) GROUP BY e.task_no, a.agent_no
        """)
    )


_TASKS = f"""
    INSERT INTO {TASKS} (task_id, subset, category, language)
    SELECT task_id, subset, category, language FROM tasks WHERE audit_id = :audit ORDER BY task_id
"""
_ACTORS = f"""
    INSERT INTO {ACTORS} (agent, model, base_model)
    SELECT DISTINCT agent, COALESCE(base_model, ''), base_model FROM trajectories WHERE audit_id = :audit
"""
_AGENT_NUMBERS = f"""
    UPDATE {ACTORS} SET agent_no = (SELECT MIN(a.actor_no) FROM {ACTORS} a WHERE a.agent = {ACTORS}.agent)
"""
_RANK = "CASE c.source WHEN 'human' THEN 1 WHEN 'verifier' THEN 2 WHEN 'label' THEN 3 ELSE 4 END"
_PASSED = "CASE WHEN c.passed THEN 1 WHEN NOT c.passed THEN 0 END"
_ONE = OUTCOME.format(rank=_RANK, success=_PASSED)
_SEVERAL = OUTCOME.format(rank=_RANK.replace("c.source", "o.success_source"), success="o.success")


def _known(counted: str, value: str, of_view: str) -> str:
    """A value of the only check that has one, else what the view says."""
    return f"""
        CASE WHEN COUNT(c.{counted}) > 1
            THEN (SELECT {of_view} FROM trajectory_outcomes o WHERE o.trajectory_id = t.trajectory_id)
            ELSE MAX({value}) END
    """


_EPISODES = f"""
    INSERT INTO {EPISODES} (trajectory_id, task_no, actor_no, trial, turns, success, outcome, reward)
    SELECT t.trajectory_id, MIN(k.task_no), MIN(a.actor_no), MIN(t.trial), MIN(t.turns),
        {_known("passed", _PASSED, "o.success")},
        COALESCE({_known("passed", _ONE, _SEVERAL)}, 0), {_known("reward", "c.reward", "o.reward")}
    FROM trajectories t
    CROSS JOIN {TASKS} k
    CROSS JOIN {ACTORS} a
    LEFT JOIN standing_checks c ON c.trajectory_id = t.trajectory_id AND c.scope = 'outcome'
        AND c.source IN ('human', 'verifier', 'label', 'reward')
    WHERE t.audit_id = :audit AND k.task_id = t.task_id AND a.agent = t.agent AND a.model = COALESCE(t.base_model, '')
    GROUP BY t.trajectory_id
"""

"""The counts of an audit that are GROUP BYs. Those of its pairs are in `counted_pairs`.

Sums over tasks (`Sums`) are what a clustered interval needs. Tasks of different subsets are different
clusters, so the sums of subsets add up to those of the judge.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import get_args

from sqlalchemy import Connection, text

from misjudge_storage.cutoffs import satisfied
from misjudge_storage.reduced_audit import REDUCED as REDUCED
from misjudge_storage.reduced_audit import reduce_audit as reduce_audit
from misjudge_storage.reduced_kinds import KINDS
from misjudge_storage.reduced_kinds import MEASURES as MEASURES
from misjudge_storage.summary_values import (
    AgentSatisfaction,
    JudgeFacts,
    SatisfactionSums,
    ScoreCount,
    Sums,
)
from misjudge_storage.types import Form
from misjudge_storage.unscored_verdicts import UNSCORED, hold_unscored

_FORMS = ", ".join(f"'{form}'" for form in get_args(Form))


def sums_of(measure: str) -> str:
    """The columns of `Sums`, from rows that hold one task's `k_measure` and `n_measure` each."""
    k, n = f"k_{measure}", f"n_{measure}"
    return (
        f"SUM(CASE WHEN {n} > 0 THEN 1 ELSE 0 END), SUM({k}), SUM({n}), SUM({k} * {k}), SUM({k} * {n}), SUM({n} * {n})"
    )


def has_graded_rewards(connection: Connection, audit_id: str) -> bool:
    """Whether rewards take at least three values; with binary success every decidable gap is 1."""
    query = (
        "SELECT COUNT(DISTINCT reward) FROM checks "
        "WHERE audit_id = :audit AND scope = 'outcome' AND source NOT IN ('order', 'model')"
    )
    return (connection.scalar(text(query), {"audit": audit_id}) or 0) >= 3


def worse_sides_failed(connection: Connection) -> bool:
    """Whether the side that gold calls worse is known to have failed, in every decidable pair of the reduced audit."""
    failed = "CASE k.gold WHEN 'A' THEN k.success_b ELSE k.success_a END = 0"
    # Kinds are few, and nearly always one says it: only of those that do not are there rows to look for.
    query = f"""
        SELECT EXISTS (
            SELECT 1 FROM {KINDS} k WHERE k.decidable = 1 AND NOT COALESCE({failed}, FALSE)
                AND EXISTS (SELECT 1 FROM {REDUCED} r WHERE r.kind_key = k.kind_key)
        )
    """
    return not connection.scalar(text(query))


def judges(connection: Connection, audit_id: str) -> list[JudgeFacts]:
    """The judges of the audit by label; not those who write or match rubrics."""
    query = f"""
        SELECT judge_id, label, form, simulated, scale_low AS low, scale_high AS high, threshold, better, params
        FROM judges WHERE audit_id = :audit AND form IN ({_FORMS}) ORDER BY label, form, judge_id
    """
    found = map(dict, connection.execute(text(query), {"audit": audit_id}).mappings())
    return [JudgeFacts(apart=_apart(row.pop("params")), **row) for row in found]


def _apart(params: str) -> bool:
    """Whether parameters hold rules to apply, or that one of two must be named. Imported ones may be anything."""
    try:
        stated = json.loads(params)
    except ValueError:
        return False
    return isinstance(stated, dict) and ("rubrics" in stated or "forced" in stated)


def unscored_reasons(connection: Connection, audit_id: str) -> dict[str, dict[str, int]]:
    """Judge id → reason → verdicts that could not be scored. A lost one that was asked again is not counted."""
    hold_unscored(connection, audit_id)
    query = f"SELECT judge_id, reason, COUNT(*) FROM {UNSCORED} GROUP BY judge_id, reason ORDER BY 1, 2"
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for judge_id, reason, number in connection.execute(text(query)):
        found[judge_id][reason or "parse_error"] = number
    return dict(found)


_SCORED_AND_KNOWN = f"""
    scores AS (
        SELECT judge_id, trajectory_id, AVG(score) AS score FROM verdicts
        WHERE audit_id = :audit AND pair_id IS NULL AND score IS NOT NULL
        GROUP BY judge_id, trajectory_id
    ),
    known AS (
        SELECT s.judge_id, o.agent, o.task_id, 1 - o.success AS failed,
            CASE WHEN {satisfied("s.score")} THEN 1 ELSE 0 END AS satisfied
        FROM scores s
        JOIN judges j ON j.audit_id = :audit AND j.judge_id = s.judge_id
        JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
        WHERE o.success IS NOT NULL
    )
"""
"""Trajectories with satisfaction and outcome."""


def satisfaction_sums(connection: Connection, audit_id: str) -> dict[str, SatisfactionSums]:
    """Judge id → failures among all scored trajectories, and among the satisfied, as sums over tasks."""
    query = f"""
        WITH {_SCORED_AND_KNOWN},
        by_task AS (
            SELECT judge_id, task_id, SUM(failed) AS k_all, COUNT(*) AS n_all,
                SUM(failed * satisfied) AS k_satisfied, SUM(satisfied) AS n_satisfied
            FROM known GROUP BY judge_id, task_id
        )
        SELECT judge_id, {sums_of("all")}, {sums_of("satisfied")} FROM by_task GROUP BY judge_id
    """
    return {
        row[0]: SatisfactionSums(Sums(*map(int, row[1:7])), Sums(*map(int, row[7:13])))
        for row in connection.execute(text(query), {"audit": audit_id})
    }


def agent_satisfaction(connection: Connection, audit_id: str) -> list[AgentSatisfaction]:
    """Satisfied and failed episodes of each agent by judge, by the threshold of its scale."""
    query = f"""
        WITH {_SCORED_AND_KNOWN}
        SELECT judge_id, agent, SUM(satisfied), SUM(failed * satisfied) FROM known
        GROUP BY judge_id, agent ORDER BY judge_id, agent
    """
    return [AgentSatisfaction(*row) for row in connection.execute(text(query), {"audit": audit_id})]


def satisfaction_scores(connection: Connection, audit_id: str) -> list[ScoreCount]:
    """Trajectories by judge and mean score, of those with a known outcome."""
    query = """
        WITH scores AS (
            SELECT judge_id, trajectory_id, AVG(score) AS score FROM verdicts
            WHERE audit_id = :audit AND pair_id IS NULL AND score IS NOT NULL
            GROUP BY judge_id, trajectory_id
        )
        SELECT s.judge_id, s.score, SUM(1 - o.success), SUM(o.success)
        FROM scores s JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
        WHERE o.success IS NOT NULL
        GROUP BY s.judge_id, s.score ORDER BY s.judge_id, s.score
    """
    return [ScoreCount(*row) for row in connection.execute(text(query), {"audit": audit_id})]

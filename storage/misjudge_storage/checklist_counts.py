"""What a release checklist asks of an audit, counted."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, text


class ReleaseFacts(NamedTuple):
    """Of an audit: its `tasks`, those `with_criteria` for success; its `verdicts`, those `with_log` of their call; its
    `judges`, those `with_version` (a model and a prompt's hash); what people labelled (`pairs_by_people`,
    `episodes_by_people`), and pairs that two or more of them did (`twice`); the models that played `users`; its
    `sessions`, and those of which satisfaction, a person's word and another source's on success are known (`three`).
    """

    tasks: int
    with_criteria: int
    verdicts: int
    with_log: int
    judges: int
    with_version: int
    pairs_by_people: int
    episodes_by_people: int
    twice: int
    users: int
    sessions: int
    three: int


def release_facts(connection: Connection, audit_id: str) -> ReleaseFacts:
    """The counts of this audit."""

    def row(query: str) -> tuple[int, ...]:
        return tuple(int(value or 0) for value in connection.execute(text(query), {"audit": audit_id}).one())

    tasks = row("SELECT COUNT(*), COUNT(NULLIF(success_criteria, '')) FROM tasks WHERE audit_id = :audit")
    logged = row("SELECT EXISTS (SELECT 1 FROM judge_logs WHERE audit_id = :audit)")
    with_log = "COUNT(log_id)" if logged[0] else "0"  # which no index has
    verdicts = row(f"SELECT COUNT(*), {with_log} FROM verdicts WHERE audit_id = :audit")
    judges = row("""
        SELECT COUNT(*), COUNT(CASE WHEN model <> '' AND prompt_hash <> '' THEN 1 END) FROM judges j
        WHERE audit_id = :audit AND form NOT LIKE 'rubric_%' AND EXISTS (
            SELECT 1 FROM verdicts v WHERE v.audit_id = j.audit_id AND v.judge_id = j.judge_id
        )
    """)
    people = row("""
        SELECT COUNT(*), COUNT(CASE WHEN labellers > 1 THEN 1 END) FROM (
            SELECT COUNT(DISTINCT labeller) AS labellers FROM gold_labels
            WHERE audit_id = :audit AND source = 'human' GROUP BY pair_id
        ) AS pairs
    """)
    episodes = row("""
        SELECT COUNT(DISTINCT trajectory_id) FROM standing_checks
        WHERE audit_id = :audit AND source = 'human' AND scope = 'outcome' AND passed IS NOT NULL
    """)
    users = row("""
        SELECT COUNT(*) FROM (
            SELECT model FROM judge_logs WHERE audit_id = :audit AND role = 'user_sim' GROUP BY model
        ) AS models
    """)
    sessions = row("SELECT COUNT(*) FROM trajectories WHERE audit_id = :audit")
    three = row("""
        SELECT COUNT(DISTINCT h.trajectory_id) FROM standing_checks h
        WHERE h.audit_id = :audit AND h.source = 'human' AND h.scope = 'outcome' AND h.passed IS NOT NULL
            AND EXISTS (
                SELECT 1 FROM checks c WHERE c.trajectory_id = h.trajectory_id AND c.scope = 'outcome'
                    AND c.source IN ('verifier', 'label', 'reward') AND c.passed IS NOT NULL
            )
            AND EXISTS (SELECT 1 FROM verdicts v WHERE v.trajectory_id = h.trajectory_id AND v.score IS NOT NULL)
    """)
    return ReleaseFacts(
        tasks=tasks[0],
        with_criteria=tasks[1],
        verdicts=verdicts[0],
        with_log=verdicts[1],
        judges=judges[0],
        with_version=judges[1],
        pairs_by_people=people[0],
        episodes_by_people=episodes[0],
        twice=people[1],
        users=users[0],
        sessions=sessions[0],
        three=three[0],
    )

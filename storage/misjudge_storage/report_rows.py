"""What a report shows of single pairs and episodes: rows by id, and what is behind the first of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, text

from misjudge_storage.cutoffs import satisfied
from misjudge_storage.judging_records import messages_from
from misjudge_storage.report_calls import EXCERPT, Excerpt, excerpt
from misjudge_storage.types import Message

CHUNK: Final = 200
"""Pairs of a query."""
MOST_CHECKS: Final = 30


class JudgeSays(NamedTuple):
    """What one judge says of a pair, its orders reduced. `pref` None: inconsistent or unscored, as `status` tells."""

    judge: str
    pref: str | None
    status: str
    unscored_reason: str | None
    misselected: bool | None
    score_a: float | None
    score_b: float | None


class ReportPair(NamedTuple):
    """A pair with what evidence and judges say of it."""

    pair_id: str
    task_id: str
    trial: int | None
    agent_a: str
    agent_b: str
    ability_bucket: str | None
    success_a: bool | None
    success_b: bool | None
    gold: str | None
    gold_source: str | None
    says: tuple[JudgeSays, ...]


class ReportSession(NamedTuple):
    """An episode with what evidence and one judge's mean score say of it."""

    trajectory_id: str
    task_id: str
    trial: int | None
    agent: str
    success: bool | None
    success_source: str | None
    judge: str
    form: str
    score: float
    satisfied: bool | None


class Check(NamedTuple):
    """What one source says of an episode, and what it saw."""

    verifier: str
    source: str
    scope: str
    passed: bool | None
    reward: float | None
    evidence: Excerpt


class ReportEpisode(NamedTuple):
    """An episode as it was stored, with the first of its `checks_in_all`; `messages` None where no transcript is."""

    trajectory_id: str
    task_id: str
    agent: str
    trial: int | None
    success: bool | None
    success_source: str | None
    reward: float | None
    end_reason: str | None
    messages: tuple[Message, ...] | None
    checks: tuple[Check, ...]
    checks_in_all: int


class TaskText(NamedTuple):
    """What the customer wants."""

    prompt: Excerpt
    success_criteria: Excerpt
    hard_constraints: Excerpt


def count_pairs(connection: Connection, audit_id: str) -> int:
    """How many pairs the audit has."""
    return connection.scalar(text("SELECT COUNT(*) FROM pairs WHERE audit_id = :audit"), {"audit": audit_id}) or 0


def count_tasks(connection: Connection, audit_id: str) -> int:
    """How many tasks the audit has."""
    return connection.scalar(text("SELECT COUNT(*) FROM tasks WHERE audit_id = :audit"), {"audit": audit_id}) or 0


def first_pair_ids(connection: Connection, audit_id: str, most: int) -> Sequence[str]:
    """The first pairs by task."""
    query = "SELECT pair_id FROM pairs WHERE audit_id = :audit ORDER BY task_id, pair_id LIMIT :most"
    return connection.scalars(text(query), {"audit": audit_id, "most": most}).all()


def report_pairs(
    connection: Connection, audit_id: str, pair_ids: Sequence[str], judge: str | None
) -> Sequence[ReportPair]:
    """These pairs in the order of the ids, with what this judge (None: every one) says of them."""
    query = text("""
        SELECT pair_id, task_id, trial, agent_a, agent_b, ability_bucket, success_a, success_b, gold_pref, gold_source,
            judge, judge_pref, judge_status, unscored_reason, misselected, judge_score_a, judge_score_b
        FROM audit_pairs WHERE audit_id = :audit AND pair_id IN :ids ORDER BY judge
    """).bindparams(bindparam("ids", expanding=True))
    rows: dict[str, list[Any]] = {}
    for start in range(0, len(pair_ids), CHUNK):
        some = list(pair_ids[start : start + CHUNK])
        for row in connection.execute(query, {"audit": audit_id, "ids": some}):
            rows.setdefault(row.pair_id, []).append(row)
    return [_pair(rows[pair_id], judge) for pair_id in pair_ids if pair_id in rows]


def _pair(rows: Sequence[Any], judge: str | None) -> ReportPair:
    one = rows[0]
    return ReportPair(
        pair_id=one.pair_id,
        task_id=one.task_id,
        trial=one.trial,
        agent_a=one.agent_a,
        agent_b=one.agent_b,
        ability_bucket=one.ability_bucket,
        success_a=_flag(one.success_a),
        success_b=_flag(one.success_b),
        gold=one.gold_pref,
        gold_source=one.gold_source,
        says=tuple(
            JudgeSays(
                judge=row.judge,
                pref=row.judge_pref,
                status=row.judge_status,
                unscored_reason=row.unscored_reason,
                misselected=_flag(row.misselected),
                score_a=row.judge_score_a,
                score_b=row.judge_score_b,
            )
            for row in rows
            if row.judge is not None and judge in {None, row.judge}
        ),
    )


def count_sessions(connection: Connection, audit_id: str, judge: str | None) -> int:
    """How many rows `report_sessions` has in all."""
    query = """
        SELECT COUNT(*) FROM (
            SELECT DISTINCT v.trajectory_id, v.judge_id FROM verdicts v
            JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
            WHERE v.audit_id = :audit AND v.trajectory_id IS NOT NULL AND v.score IS NOT NULL
                AND (CAST(:judge AS VARCHAR) IS NULL OR j.label = :judge)
        ) scored
    """
    return connection.scalar(text(query), {"audit": audit_id, "judge": judge}) or 0


def report_sessions(connection: Connection, audit_id: str, judge: str | None, most: int) -> Sequence[ReportSession]:
    """Episodes that this judge (None: every one) scored: failed ones first, of these the best scored."""
    query = f"""
        WITH scored AS (
            SELECT v.trajectory_id, v.judge_id, AVG(v.score) AS score FROM verdicts v
            WHERE v.audit_id = :audit AND v.trajectory_id IS NOT NULL AND v.score IS NOT NULL
            GROUP BY v.trajectory_id, v.judge_id
        )
        SELECT s.trajectory_id, o.task_id, o.trial, o.agent, o.success, o.success_source, j.label, j.form, s.score,
            CASE WHEN j.threshold IS NULL THEN NULL
                WHEN {satisfied("s.score")} THEN 1
                ELSE 0 END AS satisfied
        FROM scored s
        JOIN judges j ON j.audit_id = :audit AND j.judge_id = s.judge_id
        JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
        WHERE CAST(:judge AS VARCHAR) IS NULL OR j.label = :judge
        ORDER BY COALESCE(o.success, 2), CASE j.better WHEN 'lower' THEN s.score ELSE -s.score END, s.trajectory_id,
            j.label, j.form
        LIMIT :most
    """
    rows = connection.execute(text(query), {"audit": audit_id, "judge": judge, "most": most})
    return [
        ReportSession(
            trajectory_id=row.trajectory_id,
            task_id=row.task_id,
            trial=row.trial,
            agent=row.agent,
            success=_flag(row.success),
            success_source=row.success_source,
            judge=row.label,
            form=row.form,
            score=row.score,
            satisfied=_flag(row.satisfied),
        )
        for row in rows
    ]


def count_satisfied_failures(connection: Connection, audit_id: str, judge_id: str) -> int:
    """How many episodes failed and satisfied this judge; see `conflict_rows.satisfied_failures`."""
    query = f"""
        SELECT COUNT(*) FROM (
            SELECT v.trajectory_id FROM verdicts v
            JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
            JOIN trajectory_outcomes o ON o.trajectory_id = v.trajectory_id
            WHERE v.audit_id = :audit AND v.judge_id = :judge AND v.score IS NOT NULL AND o.success = 0
            GROUP BY v.trajectory_id, j.better, j.threshold
            HAVING {satisfied("AVG(v.score)")}
        ) satisfied
    """
    return connection.scalar(text(query), {"audit": audit_id, "judge": judge_id}) or 0


def sides_of(connection: Connection, audit_id: str, pair_id: str) -> tuple[str, ...]:
    """The ids of the episodes of a pair, side A first."""
    query = "SELECT trajectory_a, trajectory_b FROM pairs WHERE audit_id = :audit AND pair_id = :pair"
    row = connection.execute(text(query), {"audit": audit_id, "pair": pair_id}).one()
    return (row.trajectory_a, row.trajectory_b)


def read_episode(connection: Connection, trajectory_id: str) -> ReportEpisode:
    """One episode with its first checks, the parts of success before the rest."""
    query = """
        SELECT o.task_id, o.agent, o.trial, o.success, o.success_source, o.reward, t.end_reason, t.messages_json
        FROM trajectories t JOIN trajectory_outcomes o ON o.trajectory_id = t.trajectory_id
        WHERE t.trajectory_id = :id
    """
    row = connection.execute(text(query), {"id": trajectory_id}).one()
    checked = """
        SELECT verifier, source, scope, passed, reward, SUBSTR(evidence, 1, :most) AS evidence,
            LENGTH(evidence) AS length, COUNT(*) OVER () AS in_all
        FROM checks WHERE trajectory_id = :id
        ORDER BY CASE scope WHEN 'outcome' THEN 0 ELSE 1 END, created_at, check_id LIMIT :rows
    """
    given = {"id": trajectory_id, "most": EXCERPT, "rows": MOST_CHECKS}
    checks = connection.execute(text(checked), given).all()
    return ReportEpisode(
        trajectory_id=trajectory_id,
        task_id=row.task_id,
        agent=row.agent,
        trial=row.trial,
        success=_flag(row.success),
        success_source=row.success_source,
        reward=row.reward,
        end_reason=row.end_reason,
        messages=None if row.messages_json is None else messages_from(row.messages_json),
        checks=tuple(
            Check(
                verifier=one.verifier,
                source=one.source,
                scope=one.scope,
                passed=_flag(one.passed),
                reward=one.reward,
                evidence=excerpt(one.evidence, one.length),
            )
            for one in checks
        ),
        checks_in_all=checks[0].in_all if checks else 0,
    )


def read_task(connection: Connection, audit_id: str, task_id: str) -> TaskText:
    """What a task says."""
    query = """
        SELECT SUBSTR(prompt, 1, :most), LENGTH(prompt), SUBSTR(success_criteria, 1, :most), LENGTH(success_criteria),
            SUBSTR(hard_constraints, 1, :most), LENGTH(hard_constraints)
        FROM tasks WHERE audit_id = :audit AND task_id = :task
    """
    row = connection.execute(text(query), {"audit": audit_id, "task": task_id, "most": EXCERPT}).one()
    return TaskText(excerpt(*row[:2]), excerpt(*row[2:4]), excerpt(*row[4:]))


def pairwise_rows(connection: Connection, audit_id: str, judge: str | None, most: int) -> Sequence[Mapping[str, Any]]:
    """The first rows of the view `pairwise`, one a judged order, by task and pair."""
    # The view is asked for some pairs at a time: ordered as a whole it would be worked out as a whole.
    query = text("""
        SELECT * FROM pairwise
        WHERE audit_id = :audit AND pair_id IN :ids AND (CAST(:judge AS VARCHAR) IS NULL OR judge = :judge)
        ORDER BY task_id, pair_id, judge, repeat, blind_order
    """).bindparams(bindparam("ids", expanding=True))
    ids = first_pair_ids(connection, audit_id, most)
    found: list[Mapping[str, Any]] = []
    for start in range(0, len(ids), CHUNK):
        given = {"audit": audit_id, "ids": list(ids[start : start + CHUNK]), "judge": judge}
        found += [dict(row) for row in connection.execute(query, given).mappings()]
        if len(found) >= most:
            break
    return found[:most]


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)

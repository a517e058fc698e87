"""Lists of stored things: their ids, a few columns that tell them apart, and what of each is made up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, exists, func, select, text

from misjudge_storage import tables
from misjudge_storage.queries import BY_KIND, Fields, fields

JUDGE_ROLES = frozenset({"judge", "probe", "success_check", "rubric_generate", "rubric_match", "rubric_apply"})
"""Roles of calls that judge, or write and match what is judged by; the others make the episodes."""
_JUDGE_ROLES = ", ".join(f"'{role}'" for role in sorted(JUDGE_ROLES))


class Listed(NamedTuple):
    """A row of a list. `judged` of its `judges` are simulated (of a single thing 1 or 0); `made_up`: an episode is."""

    shown: Fields
    judged: int
    judges: int
    made_up: bool


class _Query(NamedTuple):
    """The columns of a kind, from its table `x` and what is joined to it, and a stable order that an index knows."""

    columns: str
    order: str
    joins: str = ""
    judged: str = "0"
    made_up: str = "0"


_OF_VERDICT = (
    "EXISTS (SELECT 1 FROM trajectories t WHERE t.trajectory_id = {0}.trajectory_id AND t.simulated) "
    "OR EXISTS (SELECT 1 FROM pairs p JOIN trajectories t ON t.trajectory_id IN (p.trajectory_a, p.trajectory_b) "
    "WHERE p.audit_id = {0}.audit_id AND p.pair_id = {0}.pair_id AND t.simulated)"
)
"""Whether what a verdict is on is made up."""
_QUERIES: Mapping[str, _Query] = {
    "tasks": _Query(
        "x.task_id, SUBSTR(x.category, 1, 80) AS category, SUBSTR(x.language, 1, 80) AS language, "
        "SUBSTR(x.subset, 1, 80) AS subset, SUBSTR(x.prompt, 1, 80) AS prompt",
        order="task_id",
    ),
    "trajectories": _Query(
        "x.trajectory_id, x.task_id, x.agent, x.trial, SUBSTR(x.end_reason, 1, 80) AS end_reason",
        order="task_id, agent, trial, trajectory_id",
        made_up="x.simulated",
    ),
    "pairs": _Query(
        "x.pair_id, x.task_id, a.agent AS agent_a, b.agent AS agent_b, x.trial",
        order="pair_id",
        joins="JOIN trajectories a ON a.trajectory_id = x.trajectory_a "
        "JOIN trajectories b ON b.trajectory_id = x.trajectory_b",
        judged="EXISTS (SELECT 1 FROM verdicts v JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id "
        "WHERE v.audit_id = x.audit_id AND v.pair_id = x.pair_id AND j.simulated)",
        made_up="a.simulated OR b.simulated",
    ),
    "verdicts": _Query(
        "x.verdict_id, x.pair_id, x.trajectory_id, j.label AS judge, x.order_shown, x.status, x.winner, x.score",
        order="pair_id, judge_id, verdict_id",
        joins="JOIN judges j ON j.audit_id = x.audit_id AND j.judge_id = x.judge_id",
        judged="j.simulated",
        made_up=_OF_VERDICT.format("x"),
    ),
    "probes": _Query(
        "x.probe_verdict_id, x.pair_id, j.label AS judge, x.variant, x.order_shown, x.repeat, x.status, x.winner",
        order="judge_id, pair_id, variant, repeat, probe_verdict_id",
        joins="JOIN judges j ON j.audit_id = x.audit_id AND j.judge_id = x.judge_id",
        judged="j.simulated",
        made_up="EXISTS (SELECT 1 FROM pairs p JOIN trajectories t ON t.trajectory_id IN (p.trajectory_a, "
        "p.trajectory_b) WHERE p.audit_id = x.audit_id AND p.pair_id = x.pair_id AND t.simulated)",
    ),
    "logs": _Query(
        "x.log_id, x.role, SUBSTR(x.model, 1, 80) AS model, x.pair_id, x.trajectory_id, x.attempt, "
        "SUBSTR(x.error, 1, 80) AS error",
        order="pair_id, log_id",
        judged=f"x.simulated AND x.role IN ({_JUDGE_ROLES})",
        made_up=f"x.simulated AND x.role NOT IN ({_JUDGE_ROLES})",
    ),
    "imports": _Query(
        "x.import_id, x.format, SUBSTR(x.source, 1, 200) AS source, x.records, x.skipped", order="created_at, import_id"
    ),
    "drafts": _Query(
        "x.draft_id, x.task_id, j.label AS writer, x.status, x.unscored_reason, x.rubric_id, s.number",
        order="task_id, writer_id, draft_id",
        joins="JOIN judges j ON j.audit_id = x.audit_id AND j.judge_id = x.writer_id "
        "LEFT JOIN rubric_sets s ON s.rubric_id = x.rubric_id",
        judged="j.simulated",
    ),
    "matchings": _Query(
        "x.matching_id, x.draft_id, d.task_id, w.label AS writer, j.label AS matcher, x.status, x.unscored_reason",
        order="created_at, matching_id",
        joins="JOIN judges j ON j.audit_id = x.audit_id AND j.judge_id = x.matcher_id "
        "JOIN rubric_drafts d ON d.draft_id = x.draft_id "
        "JOIN judges w ON w.audit_id = d.audit_id AND w.judge_id = d.writer_id",
        judged="j.simulated OR w.simulated",
    ),
    "rulings": _Query(
        "x.ruling_id, v.pair_id, v.trajectory_id, j.label AS judge, v.order_shown, x.rubric_id, x.says, x.conflict",
        order="judge_id, ruling_id",
        joins="JOIN judges j ON j.audit_id = x.audit_id AND j.judge_id = x.judge_id "
        "JOIN verdicts v ON v.verdict_id = x.ruling_id",
        judged="j.simulated",
        made_up=_OF_VERDICT.format("v"),
    ),
}


def list_kind(connection: Connection, audit_id: str, kind: str, start: int, limit: int) -> list[Listed]:
    """Rows of one of `BY_KIND`, from the `start`th on (0 is the first), in a stable order."""
    query, (model, key) = _QUERIES[kind], BY_KIND[kind]
    order = ", ".join(f"x.{column}" for column in query.order.split(", "))
    name = str(model.__tablename__)
    statement = text(f"""
        SELECT {query.columns}, {query.judged} AS judged, {query.made_up} AS made_up
        FROM {name} x {query.joins}
        WHERE x.audit_id = :audit AND x.{key} IN (
            SELECT {key} FROM {name} WHERE audit_id = :audit ORDER BY {query.order} LIMIT :limit OFFSET :start
        )
        ORDER BY {order}
    """)
    found = connection.execute(statement, {"audit": audit_id, "limit": limit, "start": start}).mappings()
    return [_listed(kind, fields(row)) for row in found]


def _listed(kind: str, row: Fields) -> Listed:
    judged, made_up = bool(row.pop("judged")), bool(row.pop("made_up"))
    shown = row if kind in {"tasks", "imports"} else {**row, "simulated": judged or made_up}
    return Listed(shown, int(judged), 1, made_up)


def list_audits(connection: Connection, audit_id: str | None = None) -> list[Listed]:
    """Every audit, or this one, with its number of pairs, the latest first."""
    audits, pairs, judges = (tables.table(model) for model in (tables.Audit, tables.Pair, tables.Judge))
    trajectories = tables.table(tables.Trajectory)
    of_audit = select(func.count()).select_from(judges).where(judges.c.audit_id == audits.c.audit_id)
    query = select(
        audits.c.name,
        audits.c.created_at,
        select(func.count()).select_from(pairs).where(pairs.c.audit_id == audits.c.audit_id).label("pairs"),
        of_audit.label("judges"),
        of_audit.where(judges.c.simulated).label("judged"),
        exists().where(trajectories.c.audit_id == audits.c.audit_id, trajectories.c.simulated).label("made_up"),
    ).order_by(audits.c.created_at.desc(), audits.c.name)
    chosen = query if audit_id is None else query.where(audits.c.audit_id == audit_id)
    return [_audit(fields(row)) for row in connection.execute(chosen).mappings()]


def _audit(row: Fields) -> Listed:
    judges, judged, made_up = row.pop("judges"), row.pop("judged"), bool(row.pop("made_up"))
    return Listed({**row, "simulated": bool(judged or made_up)}, judged, judges, made_up)

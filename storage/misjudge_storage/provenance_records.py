"""Where the verdicts of an audit come from, and which of its runs ended too early."""

from __future__ import annotations

from sqlalchemy import Connection, text

from misjudge_storage import run_progress, run_records
from misjudge_storage.summary_records import ASKED_AGAIN
from misjudge_storage.summary_values import Provenance, UnfinishedRun


def provenance(connection: Connection, audit_id: str) -> list[Provenance]:
    """How each judge that has verdicts came by them. A call that was lost and made again counts once."""
    query = f"""
        WITH calls AS (
            SELECT judge_id, log_id FROM verdicts WHERE audit_id = :audit AND status <> 'unscored'
            UNION ALL
            SELECT u.judge_id, MAX(u.log_id) FROM (
                SELECT v.*, COALESCE(v.pair_id, v.trajectory_id) AS subject, COALESCE(v.order_shown, '') AS shown
                FROM verdicts v WHERE v.audit_id = :audit AND v.status = 'unscored'
            ) u
            WHERE NOT {ASKED_AGAIN}
            GROUP BY u.judge_id, u.subject, u.shown, u.repeat, u.reduced
        )
        SELECT c.judge_id,
            SUM(CASE WHEN j.origin <> 'imported' AND l.log_id IS NOT NULL AND l.cached_from IS NULL THEN 1 ELSE 0 END),
            SUM(CASE WHEN j.origin <> 'imported' AND l.cached_from IS NOT NULL THEN 1 ELSE 0 END),
            SUM(CASE WHEN j.origin = 'imported' THEN 1 ELSE 0 END),
            SUM(CASE WHEN j.origin <> 'imported' AND l.log_id IS NULL THEN 1 ELSE 0 END)
        FROM calls c
        JOIN judges j ON j.audit_id = :audit AND j.judge_id = c.judge_id
        LEFT JOIN judge_logs l ON l.log_id = c.log_id
        GROUP BY c.judge_id ORDER BY c.judge_id
    """
    return [Provenance(row[0], *map(int, row[1:])) for row in connection.execute(text(query), {"audit": audit_id})]


def unfinished_runs(connection: Connection, audit_id: str) -> list[UnfinishedRun]:
    """Runs of the audit that ended before their plan was done, the latest first; not those that wait or go on."""
    ended = [run for run in run_records.list_runs(connection, audit_id) if run.state not in {"queued", "running"}]
    found = [
        UnfinishedRun(run.run_id, run.state, run.reason, *run_progress.progress(connection, run.run_id))
        for run in ended
    ]
    return [run for run in found if run.done < run.total]

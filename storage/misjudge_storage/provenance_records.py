"""Where the verdicts of an audit come from, and which of its runs ended too early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage import run_progress, run_records, stopping_records
from misjudge_storage.summary_values import Provenance, UnfinishedRun
from misjudge_storage.unscored_verdicts import UNSCORED, hold_unscored


class _Calls(NamedTuple):
    """Calls that have verdicts: all, those asked for here, and those that the cache answered."""

    number: int
    asked: int = 0
    cached: int = 0

    def plus(self, other: _Calls) -> _Calls:
        return _Calls(*(a + b for a, b in zip(self, other, strict=True)))


def was_imported(connection: Connection, audit_id: str, format: str) -> bool:
    """Whether any file of this format was imported into the audit."""
    query = "SELECT 1 FROM imports WHERE audit_id = :audit AND format = :format LIMIT 1"
    return connection.execute(text(query), {"audit": audit_id, "format": format}).first() is not None


def provenance(connection: Connection, audit_id: str) -> list[Provenance]:
    """How each judge that has verdicts came by them. A call that was lost and made again counts once."""
    given = {"audit": audit_id}
    query = "SELECT judge_id, origin FROM judges WHERE audit_id = :audit ORDER BY judge_id"
    origins = {row.judge_id: row.origin for row in connection.execute(text(query), given)}
    hold_unscored(connection, audit_id)
    found: dict[str, _Calls] = {}
    for counted in (
        _scored(connection, audit_id, list(origins)),
        _scored_by_log(connection, audit_id) if set(origins.values()) - {"imported"} else {},
        _read(connection, _UNSCORED, audit_id),
    ):
        for judge_id, calls in counted.items():
            found[judge_id] = found.get(judge_id, _Calls(0)).plus(calls)
    return [
        Provenance(judge_id, 0, 0, calls.number, 0)
        if origins[judge_id] == "imported"
        else Provenance(judge_id, calls.asked, calls.cached, 0, calls.number - calls.asked - calls.cached)
        for judge_id, calls in sorted(found.items())
    ]


def _scored(connection: Connection, audit_id: str, judges: Sequence[str]) -> dict[str, _Calls]:
    """From an index alone; where there is but one judge, without sorting by judge."""
    query = "SELECT {} FROM verdicts WHERE audit_id = :audit AND status <> 'unscored' {}"
    if len(judges) == 1:
        number = connection.scalar(text(query.format("COUNT(*)", "")), {"audit": audit_id}) or 0
        return {judges[0]: _Calls(number)} if number else {}
    return _read(connection, query.format("judge_id, COUNT(*)", "GROUP BY judge_id"), audit_id)


def _scored_by_log(connection: Connection, audit_id: str) -> dict[str, _Calls]:
    """Whence the calls came is in their logs; an audit without any needs no look at its verdicts."""
    if not connection.scalar(
        text("SELECT EXISTS (SELECT 1 FROM judge_logs WHERE audit_id = :audit)"), {"audit": audit_id}
    ):
        return {}
    return _read(connection, _SCORED_BY_LOG, audit_id)


def _read(connection: Connection, query: str, audit_id: str) -> dict[str, _Calls]:
    return {row[0]: _Calls(*map(int, row[1:])) for row in connection.execute(text(query), {"audit": audit_id})}


_BY_LOG = """
    SUM(CASE WHEN l.log_id IS NOT NULL AND l.cached_from IS NULL THEN 1 ELSE 0 END),
    SUM(CASE WHEN l.cached_from IS NOT NULL THEN 1 ELSE 0 END)
"""
_SCORED_BY_LOG = f"""
    SELECT v.judge_id, 0, {_BY_LOG}
    FROM verdicts v JOIN judge_logs l ON l.log_id = v.log_id
    WHERE v.audit_id = :audit AND v.status <> 'unscored'
    GROUP BY v.judge_id
"""
_UNSCORED = f"""
    SELECT u.judge_id, COUNT(*), {_BY_LOG}
    FROM {UNSCORED} u LEFT JOIN judge_logs l ON l.log_id = u.log_id
    GROUP BY u.judge_id
"""


def unfinished_runs(connection: Connection, audit_id: str) -> list[UnfinishedRun]:
    """Runs of the audit that ended before their plan was done, the latest first; not those that wait or go on, nor
    those of which nothing is left that is needed.
    """
    found = [
        UnfinishedRun(run.run_id, run.state, run.reason, *run_progress.progress(connection, run.run_id))
        for run in run_records.list_runs(connection, audit_id)
        if run.state not in {"queued", "running"}
    ]
    return [
        run
        for run in found
        if run.done < run.total and run.total - run.done > len(stopping_records.needless_by_now(connection, run.run_id))
    ]

"""Which models an audit asked: its judges that answered, and what played its customers."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, bindparam, text

from misjudge_storage.types import NO_REPLY


class AskedJudge(NamedTuple):
    """A judge of the audit and its model."""

    label: str
    form: str
    model: str


class AskedModels(NamedTuple):
    """The models behind judges and simulated users; nothing that is made up, and none that its source does not name."""

    judges: tuple[AskedJudge, ...]
    users: tuple[str, ...] = ()


def asked_models(connection: Connection, audit_id: str) -> AskedModels:
    """The models that the audit asked and has replies of, by label, form and name."""
    judges = text(f"""
        SELECT label, form, model FROM judges j
        WHERE audit_id = :audit AND NOT simulated AND model <> ''
            AND ({_answered("verdicts")} OR {_answered("probe_verdicts")})
        ORDER BY label, form, judge_id
    """).bindparams(bindparam("no_reply", NO_REPLY, expanding=True))
    users = text("""
        SELECT DISTINCT model FROM judge_logs
        WHERE audit_id = :audit AND role = 'user_sim' AND NOT simulated AND model <> '' ORDER BY model
    """)
    return AskedModels(
        tuple(AskedJudge(*row) for row in connection.execute(judges, {"audit": audit_id})),
        tuple(connection.scalars(users, {"audit": audit_id})),
    )


def _answered(results: str) -> str:
    """The condition that the judge `j` has given a reply that is stored in this table."""
    return f"""
        EXISTS (
            SELECT 1 FROM {results} v WHERE v.audit_id = j.audit_id AND v.judge_id = j.judge_id
            AND COALESCE(v.unscored_reason, '') NOT IN :no_reply
        )
    """

"""Which models an audit asked: its judges, and what played its customers."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, text


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
    """The models that the audit asked, by label, form and name."""
    judges = text("""
        SELECT label, form, model FROM judges
        WHERE audit_id = :audit AND NOT simulated AND model <> '' ORDER BY label, form, judge_id
    """)
    users = text("""
        SELECT DISTINCT model FROM judge_logs
        WHERE audit_id = :audit AND role = 'user_sim' AND NOT simulated AND model <> '' ORDER BY model
    """)
    return AskedModels(
        tuple(AskedJudge(*row) for row in connection.execute(judges, {"audit": audit_id})),
        tuple(connection.scalars(users, {"audit": audit_id})),
    )

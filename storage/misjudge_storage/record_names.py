"""Names and ids of what is stored, for completing what somebody types."""

from __future__ import annotations

from contextlib import closing
from itertools import islice, takewhile

from sqlalchemy import Connection, func, select

from misjudge_storage import tables
from misjudge_storage.queries import BY_KIND


def audit_names(connection: Connection) -> list[str]:
    """Every audit, the latest first."""
    audits = tables.table(tables.Audit)
    query = select(audits.c.name).order_by(audits.c.created_at.desc(), audits.c.name)
    return list(connection.scalars(query))


def judge_labels(connection: Connection, audit: str | None) -> list[str]:
    """The labels of all judges, or of those of the audit of this name, by the alphabet."""
    audits, judges = tables.table(tables.Audit), tables.table(tables.Judge)
    query = select(judges.c.label).distinct().order_by(judges.c.label)
    if audit is not None:
        query = query.join(audits, audits.c.audit_id == judges.c.audit_id).where(audits.c.name == audit)
    return list(connection.scalars(query))


def ids_that_begin(connection: Connection, audit: str, kind: str, begin: str, limit: int) -> list[str]:
    """The first ids of one of `BY_KIND`, of the audit of this name, whatever their capitals."""
    model, key = BY_KIND[kind]
    audits, table = tables.table(tables.Audit), tables.table(model)
    column = table.c[key]
    # SQLite knows the capitals of ASCII alone, so that the rest is compared here.
    plain = "".join(takewhile(str.isascii, begin))
    query = (
        select(column)
        .join(audits, audits.c.audit_id == table.c.audit_id)
        .where(audits.c.name == audit, func.lower(func.substr(column, 1, len(plain))) == plain.lower())
        .order_by(column)
        .execution_options(yield_per=limit)
    )
    typed = begin.casefold()
    with closing(connection.scalars(query)) as found:
        return list(islice((one for one in found if one.casefold().startswith(typed)), limit))

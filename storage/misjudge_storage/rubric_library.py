"""The library of rubrics: sets of rules under names. Another wording is another set, and a new version of its name."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Column, Connection, Select, Table, func, select

from misjudge_storage import tables
from misjudge_storage.columns import utc_now
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.hashing import DIGEST_HEX, digest
from misjudge_storage.ingest import LOOKUP, insert_new, insert_rubrics
from misjudge_storage.rows import rubric_id
from misjudge_storage.types import Rule

SETS = tables.table(tables.RubricSet)
RULES = tables.table(tables.RubricRule)
NAMES = tables.table(tables.RubricName)
RULINGS = tables.table(tables.RubricRuling)
DRAFTS = tables.table(tables.RubricDraft)
JUDGES = tables.table(tables.Judge)
AUDITS = tables.table(tables.Audit)

LEAST_HEX: Final = 8
"""Hex digits that stand for a whole id."""
MOST_NAMED: Final = 5
"""Names that an error offers."""
MOST_REPEATED: Final = 100
"""Characters of a reference that an error repeats."""
_REFERENCE: Final = re.compile(rf"(?:rub_)?([0-9a-f]{{{LEAST_HEX},{DIGEST_HEX}}})")


class LibraryEntry(NamedTuple):
    """A set of `number` rules under a name; `version` counts the sets that were under it, from 1."""

    name: str
    rubric_id: str
    number: int
    created_at: datetime
    version: int


class RubricUse(NamedTuple):
    """How many verdicts of a judge applied the rules of a set."""

    audit: str
    judge: str
    verdicts: int
    simulated: bool


class RubricWriting(NamedTuple):
    """How often a model of an audit wrote exactly the rules of a set."""

    audit: str
    writer: str
    drafts: int
    simulated: bool


def looks_like_id(name: str) -> bool:
    """Whether it could stand for the id of a set."""
    return _REFERENCE.fullmatch(name) is not None


def find(connection: Connection, ref: str) -> str:
    """The id of the set that a name (its current version), an id or the start of an id means.

    Raises NotFound with names that are near, InvalidInput for the start of several ids.
    """
    named = versions(connection, ref)
    if named:
        return named[-1].rubric_id
    start = _REFERENCE.fullmatch(ref)
    if start is None:
        raise _not_found(connection, ref)
    begun = SETS.c.rubric_id.startswith(f"rub_{start[1]}", autoescape=True)
    ids = connection.scalars(select(SETS.c.rubric_id).where(begun).order_by(SETS.c.rubric_id).limit(3)).all()
    if not ids:
        raise _not_found(connection, ref)
    if len(ids) > 1:
        raise InvalidInput(f"Several rubrics have an id that begins so, as {ids[0]} and {ids[1]}. Give more of it.")
    return str(ids[0])


def _not_found(connection: Connection, ref: str) -> NotFound:
    names = connection.scalars(select(NAMES.c.name).distinct().order_by(NAMES.c.name)).all()
    near = difflib.get_close_matches(ref, names, MOST_NAMED) or names[:MOST_NAMED]
    known = f"There are: {', '.join(near)}." if near else "The library is empty: add a file with rules to it."
    return NotFound(f"The library has no rubric {ref[:MOST_REPEATED]!r}, by name or id. {known}")


def add(connection: Connection, name: str, rules: Sequence[Rule]) -> LibraryEntry:
    """Put these rules under a name, as its new version; nothing is added where they are the current one."""
    identity = rubric_id(rules)
    insert_rubrics(connection, [rules])
    while True:
        before = versions(connection, name)
        if before and before[-1].rubric_id == identity:
            return before[-1]
        # Where another process takes this version first, the next one is looked at again.
        entry = {"entry_id": _entry_id(name, len(before) + 1), "name": name, "rubric_id": identity}
        insert_new(connection, tables.RubricName, [{**entry, "created_at": utc_now()}])


def _entry_id(name: str, version: int) -> str:
    """Its order is that of the versions, whatever clocks say."""
    return f"{digest('rbn', name)}_{version:06d}"


def entries(connection: Connection) -> list[LibraryEntry]:
    """Every version of every name, by name, the current one last."""
    return _entries(connection, _named().order_by(NAMES.c.name, NAMES.c.entry_id))


def versions(connection: Connection, name: str) -> list[LibraryEntry]:
    """The versions of a name, the current one last; none where there is no such name."""
    return _entries(connection, _named().where(NAMES.c.name == name).order_by(NAMES.c.entry_id))


def _named() -> Select[*tuple[Any, ...]]:
    facts = NAMES.c.entry_id, NAMES.c.name, NAMES.c.rubric_id, SETS.c.number, NAMES.c.created_at
    return select(*facts).join_from(NAMES, SETS, SETS.c.rubric_id == NAMES.c.rubric_id)


def _entries(connection: Connection, query: Select[*tuple[Any, ...]]) -> list[LibraryEntry]:
    return [
        LibraryEntry(row.name, row.rubric_id, row.number, row.created_at, int(row.entry_id.rpartition("_")[2]))
        for row in connection.execute(query)
    ]


def uses(connection: Connection, rubric_id: str) -> list[RubricUse]:
    """Which judges of which audits applied the rules of a set, whoever chose it."""
    return [RubricUse(*row) for row in _by_actor(connection, RULINGS.c.judge_id, RULINGS, rubric_id)]


def writings(connection: Connection, rubric_id: str) -> list[RubricWriting]:
    """Which models of which audits wrote the rules of a set."""
    return [RubricWriting(*row) for row in _by_actor(connection, DRAFTS.c.writer_id, DRAFTS, rubric_id)]


def _by_actor(
    connection: Connection, actor: Column[str], of: Table, rubric_id: str
) -> Iterator[tuple[str, str, int, bool]]:
    """Audit, label, number of the rows of a set in this table, and whether who made them is simulated; by actor."""
    query = (
        select(AUDITS.c.name, JUDGES.c.label, func.count(), JUDGES.c.simulated)
        .select_from(of)
        .join(JUDGES, (JUDGES.c.audit_id == of.c.audit_id) & (JUDGES.c.judge_id == actor))
        .join(AUDITS, AUDITS.c.audit_id == of.c.audit_id)
        .where(of.c.rubric_id == rubric_id)
        .group_by(AUDITS.c.name, JUDGES.c.label, JUDGES.c.judge_id, JUDGES.c.simulated)
        .order_by(AUDITS.c.name, JUDGES.c.label)
    )
    for audit, label, number, simulated in connection.execute(query):
        yield audit, label, number, bool(simulated)


def verdicts_by_rubric(connection: Connection, rubric_ids: Sequence[str]) -> Counter[str]:
    """Set → how many verdicts applied its rules, of any audit."""
    return _counted(connection, RULINGS.c.rubric_id, rubric_ids)


def high_level_by_rubric(connection: Connection, rubric_ids: Sequence[str]) -> Counter[str]:
    """Set → how many of its rules are of a high level."""
    return _counted(connection, RULES.c.rubric_id, rubric_ids, RULES.c.high_level)


def _counted(connection: Connection, column: Any, rubric_ids: Sequence[str], *which: Any) -> Counter[str]:
    found = Counter[str]()
    for start in range(0, len(rubric_ids), LOOKUP):
        some = column.in_(rubric_ids[start : start + LOOKUP])
        query = select(column, func.count()).where(some, *which).group_by(column)
        found.update({identity: number for identity, number in connection.execute(query)})
    return found

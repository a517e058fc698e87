"""Rubrics in the store: rules by set, the gold rules of tasks, and what models wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from misjudge_storage import tables
from misjudge_storage.ingest import LOOKUP
from misjudge_storage.types import Rule

SETS = tables.table(tables.RubricSet)
RULES = tables.table(tables.RubricRule)
TASK_RUBRICS = tables.table(tables.TaskRubric)
DRAFTS = tables.table(tables.RubricDraft)


class StoredDraft(NamedTuple):
    """A generated rubric of a task; `rubric_id` is None where its reply could not be read, and of an empty one."""

    draft_id: str
    task_id: str
    writer_id: str
    status: str
    rubric_id: str | None


def rules_of(connection: Connection, rubric_ids: Sequence[str]) -> dict[str, tuple[Rule, ...]]:
    """Set → its rules in order, of those sets that are stored."""
    found: defaultdict[str, list[Rule]] = defaultdict(list)
    for start in range(0, len(rubric_ids), LOOKUP):
        some = RULES.c.rubric_id.in_(rubric_ids[start : start + LOOKUP])
        for row in connection.execute(select(RULES).where(some).order_by(RULES.c.rubric_id, RULES.c.rule)):
            found[row.rubric_id].append(Rule(text=row.text, hard=row.hard, high_level=row.high_level))
    return {rubric_id: tuple(rules) for rubric_id, rules in found.items()}


def gold_rubrics(connection: Connection, audit_id: str) -> dict[str, str]:
    """Task → the set of its gold rules, of those tasks of the audit that have any."""
    query = select(TASK_RUBRICS.c.task_id, TASK_RUBRICS.c.rubric_id).where(TASK_RUBRICS.c.audit_id == audit_id)
    return {task_id: rubric_id for task_id, rubric_id in connection.execute(query.order_by(TASK_RUBRICS.c.task_id))}


def stored_drafts(connection: Connection, draft_ids: Sequence[str]) -> dict[str, StoredDraft]:
    """Those of the generated rubrics that are stored, by id."""
    columns = [DRAFTS.c[name] for name in StoredDraft._fields]
    found: dict[str, StoredDraft] = {}
    for start in range(0, len(draft_ids), LOOKUP):
        some = DRAFTS.c.draft_id.in_(draft_ids[start : start + LOOKUP])
        found.update((row.draft_id, StoredDraft(*row)) for row in connection.execute(select(*columns).where(some)))
    return found

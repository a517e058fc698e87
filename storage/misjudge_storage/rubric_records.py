"""Rubrics in the store: rules by set, the gold rules of tasks, and what models wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from misjudge_storage import tables
from misjudge_storage.errors import NotFound
from misjudge_storage.ingest import LOOKUP
from misjudge_storage.types import Rule

TASKS = tables.table(tables.Task)
SETS = tables.table(tables.RubricSet)
RULES = tables.table(tables.RubricRule)
TASK_RUBRICS = tables.table(tables.TaskRubric)
DRAFTS = tables.table(tables.RubricDraft)
MATCHES = tables.table(tables.RubricMatch)
CELLS = tables.table(tables.Cell)
AUDITS = tables.table(tables.Audit)
BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""All that `str.strip` takes away."""


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


class MatchesBy(NamedTuple):
    """Rules that one matcher was asked about and that came out alike: scored (no reason), or unscored for one reason.

    `matchings` are those that they are in.
    """

    matcher_id: str
    reason: str | None
    rules: int
    matchings: int


def asked_matches(connection: Connection, run_id: str) -> list[MatchesBy]:
    """How the rules came out that matchers were asked about in the run's cells; those of equal wording are left out."""
    outcome = CELLS.c.actor_id, MATCHES.c.unscored_reason
    query = (
        select(*outcome, func.count(), func.count(MATCHES.c.matching_id.distinct()))
        .join(MATCHES, MATCHES.c.matching_id == CELLS.c.cell_id)
        .where(CELLS.c.run_id == run_id, MATCHES.c.method != "equal")
        .group_by(*outcome)
        .order_by(CELLS.c.actor_id, func.coalesce(MATCHES.c.unscored_reason, ""))
    )
    return [MatchesBy(*row) for row in connection.execute(query)]


class RubricTask(NamedTuple):
    """A task as who writes or matches its rubric needs it: what it says, and its gold rules, none where it has none."""

    instruction: str
    gold_id: str | None
    gold: tuple[Rule, ...]


def rubric_task(connection: Connection, audit_id: str, task_id: str) -> RubricTask:
    """The task. Raises NotFound."""
    tasks = TASKS.outerjoin(
        TASK_RUBRICS, (TASK_RUBRICS.c.audit_id == TASKS.c.audit_id) & (TASK_RUBRICS.c.task_id == TASKS.c.task_id)
    )
    mine = TASKS.c.audit_id == audit_id, TASKS.c.task_id == task_id
    row = connection.execute(select(TASKS.c.prompt, TASK_RUBRICS.c.rubric_id).select_from(tasks).where(*mine)).first()
    if row is None:
        raise NotFound(f"The audit holds no task {task_id[:100]!r}, of which rules are to be written or matched.")
    gold = () if row.rubric_id is None else rules_of(connection, [row.rubric_id])[row.rubric_id]
    return RubricTask(row.prompt, row.rubric_id, gold)


class TaskSubject(NamedTuple):
    """A task, whether it has an instruction to write rules from, and the set of its gold rules, if it has any."""

    task_id: str
    instructed: bool
    gold: str | None


def task_subjects(connection: Connection, audit_id: str) -> list[TaskSubject]:
    """The tasks of an audit, in a stable order."""
    rubrics = (TASK_RUBRICS.c.audit_id == TASKS.c.audit_id) & (TASK_RUBRICS.c.task_id == TASKS.c.task_id)
    query = (
        select(TASKS.c.task_id, func.trim(TASKS.c.prompt, BLANKS) != "", TASK_RUBRICS.c.rubric_id)
        .select_from(TASKS.outerjoin(TASK_RUBRICS, rubrics))
        .where(TASKS.c.audit_id == audit_id)
        .order_by(TASKS.c.task_id)
    )
    return [TaskSubject(task_id, bool(instructed), gold) for task_id, instructed, gold in connection.execute(query)]


def audits_with_gold_rules(connection: Connection) -> list[str]:
    """Names of the audits in which any task has gold rules, the latest first."""
    known = select(TASK_RUBRICS.c.task_id).where(TASK_RUBRICS.c.audit_id == AUDITS.c.audit_id).exists()
    return list(connection.scalars(select(AUDITS.c.name).where(known).order_by(AUDITS.c.created_at.desc())))


def gold_of_tasks(connection: Connection, audit_id: str, task_ids: Sequence[str]) -> dict[str, str]:
    """Task → the set of its gold rules, of those of these tasks that have any."""
    query = select(TASK_RUBRICS.c.task_id, TASK_RUBRICS.c.rubric_id).where(TASK_RUBRICS.c.audit_id == audit_id)
    found: dict[str, str] = {}
    for start in range(0, len(task_ids), LOOKUP):
        some = query.where(TASK_RUBRICS.c.task_id.in_(task_ids[start : start + LOOKUP]))
        found.update((task_id, rubric_id) for task_id, rubric_id in connection.execute(some))
    return found


def stored_drafts(connection: Connection, draft_ids: Sequence[str]) -> dict[str, StoredDraft]:
    """Those of the generated rubrics that are stored, by id."""
    columns = [DRAFTS.c[name] for name in StoredDraft._fields]
    found: dict[str, StoredDraft] = {}
    for start in range(0, len(draft_ids), LOOKUP):
        some = DRAFTS.c.draft_id.in_(draft_ids[start : start + LOOKUP])
        found.update((row.draft_id, StoredDraft(*row)) for row in connection.execute(select(*columns).where(some)))
    return found

"""What rubrics can be written for, matched on or applied to: tasks by what is known of them."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, func, select

from misjudge_storage import tables

TASKS = tables.table(tables.Task)
TASK_RUBRICS = tables.table(tables.TaskRubric)
AUDITS = tables.table(tables.Audit)
BLANKS = " \t\r\n"


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

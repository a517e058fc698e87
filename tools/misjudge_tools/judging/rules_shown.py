"""Which rules the judge of a task is shown: its gold ones, those that a model wrote for it, or one set for all."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection

from misjudge_storage import rubric_records
from misjudge_tools.gateway.simulated_bias import Brief
from misjudge_tools.judging.choice import RubricSource
from misjudge_tools.judging.ruling import TaskRules, shown_rules


def read_rules(
    connection: Connection,
    audit_id: str,
    source: RubricSource,
    drafts: Mapping[str, str | None],
    *,
    with_truth: bool,
) -> dict[str, TaskRules]:
    """Task → its rules. `drafts` are the tasks with the generated rubric that is to be applied, where it is one.

    Raises KeyError where that is not stored yet.
    """
    gold = {}
    if with_truth or source.kind == "human":
        gold = rubric_records.gold_of_tasks(connection, audit_id, list(drafts))
    sets = _sets(connection, source, drafts, gold)
    wanted = {rubric_id for rubric_id in (*sets.values(), *gold.values()) if rubric_id is not None}
    rules = rubric_records.rules_of(connection, sorted(wanted))
    found = {}
    for task_id, named in sets.items():
        rubric_id = named if named in rules else None
        applied = shown_rules(rules.get(named or "", ()))
        known = rules.get(gold.get(task_id, ""), ()) if with_truth else ()
        brief = Brief(rules=tuple(rule.text for rule in known)) if known else None
        found[task_id] = TaskRules(rubric_id, applied, brief)
    return found


def _sets(
    connection: Connection, source: RubricSource, drafts: Mapping[str, str | None], gold: Mapping[str, str]
) -> dict[str, str | None]:
    """Task → the set of rules to apply, None where there is none."""
    if source.kind == "human":
        return {task_id: gold.get(task_id) for task_id in drafts}
    if source.kind == "library":
        return dict.fromkeys(drafts, source.rubric_id)
    stored = rubric_records.stored_drafts(connection, _named(drafts.values()))
    return {task_id: stored[draft_id or ""].rubric_id for task_id, draft_id in drafts.items()}


def _named(draft_ids: Collection[str | None]) -> list[str]:
    return sorted({draft_id for draft_id in draft_ids if draft_id is not None})

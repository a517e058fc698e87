"""Stored rubrics, and what was made of them, as `read_record` shows them: with their rules, and the way to the rest."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import queries, rubric_details, rubric_library
from misjudge_storage.judging_records import AuditRow
from misjudge_storage.queries import Fields
from misjudge_tools.results import MARK, MARK_EPISODES, judged_mark, marks, record_uri
from misjudge_tools.rubrics.library_values import rubric_uri


class Linked(NamedTuple):
    """A record with what belongs to it, and what of it is made up."""

    record: Fields
    marked: str | None


def rubric_record(connection: Connection, ref: str) -> Linked:
    """A set of rules by name, id or start of an id: its rules, who wrote it and who applied it. Raises NotFound."""
    rubric_id = rubric_library.find(connection, ref)
    uses = rubric_library.uses(connection, rubric_id)
    writings = rubric_library.writings(connection, rubric_id)
    record = {
        **rubric_details.rubric_facts(connection, rubric_id),
        "written_by": [writing._asdict() for writing in writings],
        "uses": [use._asdict() for use in uses],
    }
    told = [*(use.simulated for use in uses), *(writing.simulated for writing in writings)]
    return Linked({**record, "simulated": any(told)}, judged_mark(sum(told), len(told)))


def linked_draft(connection: Connection, audit: AuditRow, record: Fields) -> Linked:
    """A generated rubric with its rules."""
    made_up = queries.is_simulated(connection, audit.audit_id, record["writer_id"])
    matchings = rubric_details.matchings_of(connection, record["draft_id"])
    linked = {
        **record,
        **_rubric(record["rubric_id"]),
        **_log(audit, record),
        "task": record_uri(audit.name, "tasks", record["task_id"]),
        "rules": rubric_details.numbered_rules(connection, record["rubric_id"]),
        "matchings": [record_uri(audit.name, "matchings", matching) for matching in matchings],
        "simulated": made_up,
    }
    return Linked(linked, MARK if made_up else None)


def linked_matching(connection: Connection, audit: AuditRow, record: Fields) -> Linked:
    """A matching with a row a generated rule, and the gold rules that none of them hit."""
    draft = rubric_details.draft_of(connection, record["draft_id"])
    written, gold = draft["rubric_id"], record["rubric_id"]
    matches = rubric_details.matches_of(connection, record["matching_id"], written, gold)
    hit = [match["gold_rule"] for match in matches]
    told = [queries.is_simulated(connection, audit.audit_id, one) for one in (draft["writer_id"], record["matcher_id"])]
    linked = {
        **record,
        "draft": record_uri(audit.name, "drafts", record["draft_id"]),
        "task": record_uri(audit.name, "tasks", draft["task_id"]),
        "gold_rubric": rubric_uri(gold),
        "written_rubric": rubric_uri(written) if written else None,
        "rules": [{**match, **_log(audit, match)} for match in matches],
        "missed": rubric_details.missed_rules(connection, gold, hit),
        "simulated": any(told),
    }
    return Linked(linked, judged_mark(sum(told), len(told)))


def linked_ruling(connection: Connection, audit: AuditRow, record: Fields) -> Linked:
    """What a judge said of each rule for a verdict, with that verdict."""
    verdict = queries.read_one(connection, audit.audit_id, "verdicts", record["ruling_id"])
    judged = queries.is_simulated(connection, audit.audit_id, record["judge_id"])
    made_up = queries.is_made_up_under(connection, audit.audit_id, verdict)
    shown = ("pair_id", "trajectory_id", "order_shown", "repeat", "status", "winner", "score")
    linked = {
        **record,
        **_rubric(record["rubric_id"]),
        **_log(audit, verdict),
        **{name: verdict[name] for name in shown},
        "verdict": record_uri(audit.name, "verdicts", record["ruling_id"]),
        "rules": rubric_details.rule_verdicts_of(connection, record["ruling_id"], record["rubric_id"]),
        "simulated": judged or made_up,
    }
    return Linked(linked, marks(MARK if judged else None, MARK_EPISODES if made_up else None))


def _rubric(rubric_id: str | None) -> Fields:
    return {} if rubric_id is None else {"rubric": rubric_uri(rubric_id)}


def _log(audit: AuditRow, row: Fields) -> Fields:
    return {} if row["log_id"] is None else {"log": record_uri(audit.name, "logs", row["log_id"])}

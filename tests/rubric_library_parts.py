"""What tests of the library of rubrics share: sets of rules, and verdicts that applied them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from builders import episode, pair, verdict
from misjudge_storage import rows, rubric_library, tables
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest, insert_new, insert_rubrics
from misjudge_storage.rubric_library import LibraryEntry
from misjudge_storage.rubric_rows import draft_row, match_row, matching_row, rule_verdict_row, ruling_row
from misjudge_storage.types import Judge, Log, Rule, Task

DATED = (Rule(text="Does the answer name a date?", hard=True), Rule(text="Is it short?"))
FEASIBLE = (Rule(text="Is the plan feasible?", hard=True, high_level=True), Rule(text="Is it short?"))
OWN = (Rule(text="is it SHORT"), Rule(text="Does it call a tool?"))
JUDGE = Judge(label="strict", form="pairwise", model="m")
MADE_UP = Judge(label="made up", form="pairwise", model="s", simulated=True)
WRITER = Judge(label="writer", form="rubric_generate", model="m")
SIM_WRITER = Judge(label="sim writer", form="rubric_generate", model="s", simulated=True)
MATCHER = Judge(label="matcher", form="rubric_match", model="m")


class Ids(NamedTuple):
    """Ids of an audit's records of rubrics."""

    draft: str
    matching: str
    ruling: str
    log: str


def named(store: Store, name: str, rules: Sequence[Rule]) -> LibraryEntry:
    """These rules under a name of the library."""
    with store.write() as connection:
        return rubric_library.add(connection, name, rules)


def stored_set(store: Store, rules: Sequence[Rule]) -> str:
    """These rules without a name; their id."""
    with store.write() as connection:
        insert_rubrics(connection, [rules])
    return rows.rubric_id(rules)


def applied(
    store: Store,
    rules: Sequence[Rule] = FEASIBLE,
    judge: Judge = JUDGE,
    writer: Judge = WRITER,
    audit: str = "a",
    *,
    scripted: bool = False,
) -> Ids:
    """An audit with a pair of a task whose gold rules are FEASIBLE, a draft (OWN) that is matched, and a verdict that
    applied `rules`: of the first it says that A meets it and B does not, of the others nothing.
    """
    records = [pair("p", episode("x", simulated=scripted), episode("y"), logs=[Log(role="judge", raw_output="{}")])]
    records[0] = records[0].model_copy(
        update={"task": Task(task_id="t1", prompt="Book a table."), "rubric": FEASIBLE, "verdicts": ()}
    )
    with store.write() as connection:
        audit_id = ensure_audit(connection, audit)
        ingest(connection, audit_id, "file", records)
        judge_id, writer_id = ensure_judge(connection, audit_id, judge), ensure_judge(connection, audit_id, writer)
        matcher_id = ensure_judge(connection, audit_id, MATCHER)
        insert_rubrics(connection, [rules, OWN])
        log = rows.log_row(audit_id, Log(role="rubric_match", raw_output="{}"), "match of rule 2")
        insert_new(connection, tables.JudgeLog, [log])
        draft_id = rows.cell_id(audit_id, writer_id, "t1", None, 0)
        draft = draft_row(audit_id, draft_id, writer_id, "t1", rows.rubric_id(OWN), log_id=None)
        matching_id = rows.cell_id(audit_id, matcher_id, draft_id, None, 0)
        matching = matching_row(audit_id, matching_id, matcher_id, draft_id, rows.rubric_id(FEASIBLE))
        matches = [
            match_row(matching_id, 1, 2, method="equal"),
            match_row(matching_id, 2, None, method="judge", reason="Says another thing.", log_id=log["log_id"]),
        ]
        said = rows.verdict_row(audit_id, judge_id, "p", verdict("A", "AB", judge=judge)) | {"log_id": log["log_id"]}
        facts: dict[str, Any] = {"says": None, "conflict": None}
        ruling = ruling_row(
            audit_id, judge_id, said["verdict_id"], rows.rubric_id(rules), **facts, left_out=0, unscored=1
        )
        met = rule_verdict_row(said["verdict_id"], 1, met_a=True, met_b=False, met=None, reason="B names no way.")
        for model, made in (
            (tables.RubricDraft, [draft]),
            (tables.RubricMatching, [matching]),
            (tables.RubricMatch, matches),
            (tables.Verdict, [said]),
            (tables.RubricRuling, [ruling]),
            (tables.RubricVerdict, [met]),
        ):
            insert_new(connection, model, made)
    return Ids(draft_id, matching_id, said["verdict_id"], log["log_id"])

"""What rubric work can be about, and its results as an answer shows them, on both databases."""

from __future__ import annotations

from builders import JUDGE, episode, lone, pair, verdict
from misjudge_storage import rows, tables
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest, insert_new
from misjudge_storage.rubric_details import AppliedRubric, RuledRule, applied_rubrics, written_rubrics
from misjudge_storage.rubric_records import TaskSubject, audits_with_gold_rules, task_subjects
from misjudge_storage.rubric_rows import DraftCounts, draft_row, rule_verdict_row, ruling_row
from misjudge_storage.types import Rule

RULES = (Rule(text="Is it short?", hard=True), Rule(text="Is it feasible?", high_level=True))


def test_tasks_say_whether_they_have_an_instruction_and_which_gold_rules(any_store: Store) -> None:
    blank = lone(episode("x", task="blank"), prompt=" \t\n")
    wide = lone(episode("x", task="wide"), line=4, prompt="\u3000\u00a0\u2028")
    plain = lone(episode("x", task="plain"), line=2)
    ruled = lone(episode("x", task="ruled"), line=3).model_copy(update={"rubric": RULES})
    with any_store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "file", [ruled, plain, blank, wide])
        ingest(connection, ensure_audit(connection, "b"), "file", [plain])
    with any_store.read() as connection:
        assert task_subjects(connection, audit) == [
            TaskSubject("blank", False, None),
            TaskSubject("plain", True, None),
            TaskSubject("ruled", True, rows.rubric_id(RULES)),
            TaskSubject("wide", False, None),
        ]
        assert audits_with_gold_rules(connection) == ["a"]


def test_generated_rubrics_are_read_with_their_rules_in_the_order_asked(any_store: Store) -> None:
    with any_store.write() as connection:
        audit = ensure_audit(connection, "a")
        tasks = [lone(episode("x", task=task), line=n) for n, task in enumerate(("t0", "t1"), 1)]
        ingest(connection, audit, "file", [tasks[0].model_copy(update={"rubric": RULES}), tasks[1]])
        writer = ensure_judge(connection, audit, JUDGE.model_copy(update={"form": "rubric_generate"}))
        counts = DraftCounts(written=3, duplicates=1)
        whole = draft_row(audit, "d0", writer, "t0", rows.rubric_id(RULES), None, counts, log_id="l")
        lost = draft_row(audit, "d1", writer, "t1", None, "parse_error")
        insert_new(connection, tables.RubricDraft, [whole, lost])
    with any_store.read() as connection:
        first, second = written_rubrics(connection, ["d1", "never written", "d0"])
    assert (first.draft_id, first.task_id, first.unscored_reason, first.rules) == ("d1", "t1", "parse_error", ())
    assert (second.draft_id, second.writer, second.rules) == ("d0", "judge", RULES)
    assert (second.written, second.duplicates, second.repaired, second.log_id) == (3, 1, False, "l")


def test_applied_rules_are_read_with_what_was_said_of_each(any_store: Store) -> None:
    judged = pair("p", episode("x"), episode("y"), verdict("A", "AB"), verdict("B", "BA"))
    with any_store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "file", [judged.model_copy(update={"rubric": RULES})])
        judge_id = rows.judge_fingerprint(JUDGE)
        one, other = (rows.cell_id(audit, judge_id, "p", order, 0) for order in ("AB", "BA"))
        rubric_id = rows.rubric_id(RULES)
        ruling = ruling_row(audit, judge_id, one, rubric_id, says="B", conflict="reweighted", left_out=0, unscored=1)
        said = rule_verdict_row(one, 2, met_a=False, met_b=True, met=None, reason="So it is.")
        insert_new(connection, tables.RubricRuling, [ruling])
        insert_new(connection, tables.RubricVerdict, [said])
    with any_store.read() as connection:
        assert applied_rubrics(connection, [one, other]) == {
            one: AppliedRubric(
                *(one, rubric_id, "B", "reweighted", 0, 1),
                (RuledRule(2, "Is it feasible?", False, True, None, "So it is."),),
            )
        }

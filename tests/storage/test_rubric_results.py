"""Results of rubric work: generated rubrics and their matching, stored once and under a lease, on both databases."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from sqlalchemy import event, text

from builders import JUDGE, episode, lone
from misjudge_storage import run_progress, tables
from misjudge_storage.engine import Store
from misjudge_storage.errors import NotFound
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest, insert_new
from misjudge_storage.judging_records import CellResult, Kept, NewRow, StoredCall, earlier_replies, store_results
from misjudge_storage.leases import Lease, claim
from misjudge_storage.rows import Row, cell_id, log_row, rubric_id, rubric_rows
from misjudge_storage.rubric_records import MatchesBy, RubricTask, asked_matches, rubric_task, stored_drafts
from misjudge_storage.rubric_rows import DraftCounts, draft_row, match_row, matching_row
from misjudge_storage.run_progress import Progress, Stage, UnscoredBy
from misjudge_storage.run_records import PlannedCell, create_run, pending
from misjudge_storage.types import Log, Rule, UnscoredReason

GOLD = (Rule(text="It can run.", hard=True), Rule(text="It is short.", high_level=True))
WRITTEN = (Rule(text="It runs."), Rule(text="It is short"), Rule(text="It calls a tool."))


class RubricRun(NamedTuple):
    """A queued run that writes and matches the rubrics of tasks `t0` and `t1`, the latter without gold rules."""

    run_id: str
    audit_id: str
    writer_id: str
    matcher_id: str
    drafts: tuple[str, str]
    matching: str


def rubric_run(store: Store) -> RubricRun:
    with store.write() as connection:
        audit = ensure_audit(connection, "demo")
        tasks = [lone(episode("x", task=task), line=n + 1, prompt=f"Do {task}.") for n, task in enumerate(("t0", "t1"))]
        ingest(connection, audit, "file", [tasks[0].model_copy(update={"rubric": GOLD}), tasks[1]])
        writer = ensure_judge(connection, audit, JUDGE.model_copy(update={"form": "rubric_generate"}))
        matcher = ensure_judge(connection, audit, JUDGE.model_copy(update={"form": "rubric_match"}))
        first, second = (cell_id(audit, writer, task, None, 0) for task in ("t0", "t1"))
        matching = cell_id(audit, matcher, first, None, 0)
        cells = [
            PlannedCell(first, "rubric_generate", writer, None, None, None, 0, task_id="t0"),
            PlannedCell(matching, "rubric_match", matcher, None, None, None, 0, task_id="t0", draft_id=first),
            PlannedCell(second, "rubric_generate", writer, None, None, None, 0, task_id="t1"),
        ]
        run_id = create_run(connection, audit, "score_rubrics", "{}", None, cells)
    return RubricRun(run_id, audit, writer, matcher, (first, second), matching)


def written(run: RubricRun, *, log_id: str | None = None) -> CellResult:
    rubric, rules = rubric_rows(WRITTEN)
    counts = DraftCounts(written=5, duplicates=1, left_out=1, split=0, compound=1)
    draft = draft_row(
        *(run.audit_id, run.drafts[0], run.writer_id, "t0", rubric["rubric_id"]),
        counts=counts,
        repaired=True,
        log_id=log_id,
    )
    more = (NewRow(tables.RubricSet, rubric), *(NewRow(tables.RubricRule, rule) for rule in rules))
    return CellResult(None, (), more=(*more, NewRow(tables.RubricDraft, draft)))


def unwritten(run: RubricRun, reason: UnscoredReason = "parse_error") -> CellResult:
    draft = draft_row(run.audit_id, run.drafts[1], run.writer_id, "t1", None, reason)
    return CellResult(None, (), more=(NewRow(tables.RubricDraft, draft),))


def matched(run: RubricRun, first: int | None = 1) -> CellResult:
    row = matching_row(run.audit_id, run.matching, run.matcher_id, run.drafts[0], rubric_id(GOLD))
    matches = (
        match_row(run.matching, 1, first, method="judge", reason="As it reads."),
        match_row(run.matching, 2, 2, method="equal"),
        match_row(run.matching, 3, None, "parse_error", method="judge", repaired=True, log_id="log_x"),
    )
    return CellResult(
        None, (), more=(NewRow(tables.RubricMatching, row), *(NewRow(tables.RubricMatch, one) for one in matches))
    )


def call(run: RubricRun, cell: str, actor: str, **said: Any) -> Row:
    log = Log(**{"role": "rubric_match", "model": "m", **said})
    links = {"run_id": run.run_id, "cell_id": cell, "judge_id": actor}
    return log_row(run.audit_id, log, [cell, log.model_dump()], **links)


def claimed(store: Store, run: RubricRun) -> Lease:
    with store.write() as connection:
        lease = claim(connection, run.run_id, "one")
    assert lease is not None
    return lease


def put(store: Store, lease: Lease | None, *results: CellResult) -> Kept:
    with store.write() as connection:
        return store_results(connection, results, lease)


def ask(store: Store, function: Any, *args: Any) -> Any:
    with store.read() as connection:
        return function(connection, *args)


def found(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def test_a_generated_rubric_is_a_result_that_others_wait_for(any_store: Store) -> None:
    run = rubric_run(any_store)
    kept = put(any_store, claimed(any_store, run), written(run, log_id="log_1"))
    assert kept == Kept(True, frozenset({run.drafts[0]}))
    assert ask(any_store, run_progress.progress, run.run_id) == Progress(1, 3)
    assert ask(any_store, run_progress.stages, run.run_id) == [
        Stage("rubric_generate", 1, 2),
        Stage("rubric_match", 0, 1),
    ]
    draft = ask(any_store, stored_drafts, list(run.drafts))[run.drafts[0]]
    assert (draft.status, draft.rubric_id) == ("scored", rubric_id(WRITTEN))
    columns = "writer_id, task_id, unscored_reason, written, duplicates, left_out, split, compound, log_id"
    assert found(any_store, f"SELECT {columns} FROM rubric_drafts") == [
        (run.writer_id, "t0", None, 5, 1, 1, 0, 1, "log_1")
    ]
    assert [cell.draft_id for cell in ask(any_store, pending, run.run_id, 0, 9)] == [run.drafts[0], None]


def test_a_draft_that_was_stored_first_stays_with_its_matching(any_store: Store) -> None:
    run = rubric_run(any_store)
    lease = claimed(any_store, run)
    put(any_store, lease, written(run), matched(run), unwritten(run))
    other = draft_row(run.audit_id, run.drafts[0], run.writer_id, "t0", None, "refused")
    again = CellResult(None, (), more=(NewRow(tables.RubricDraft, other),))
    assert put(any_store, lease, again) == Kept(True, frozenset({run.drafts[0]})), "it is there"
    put(any_store, lease, matched(run, first=None))
    assert found(
        any_store, "SELECT rule, gold_rule, status, unscored_reason, method FROM rubric_matches ORDER BY 1"
    ) == [
        (1, 1, "scored", None, "judge"),
        (2, 2, "scored", None, "equal"),
        (3, None, "unscored", "parse_error", "judge"),
    ]
    assert ask(any_store, run_progress.progress, run.run_id) == Progress(3, 3)
    assert ask(any_store, run_progress.unscored, run.run_id) == {"parse_error": 1}
    assert ask(any_store, run_progress.unscored_by_judge, run.run_id) == [
        UnscoredBy(run.writer_id, "parse_error", 1, 1)
    ]
    assert ask(any_store, asked_matches, run.run_id) == [
        MatchesBy(run.matcher_id, None, 1, 1),
        MatchesBy(run.matcher_id, "parse_error", 1, 1),
    ]


def test_results_that_come_together_take_a_statement_a_table_and_parents_go_first(any_store: Store) -> None:
    run = rubric_run(any_store)
    lease = claimed(any_store, run)
    into: list[str] = []

    def seen(*told: Any) -> None:
        into.extend(re.findall(r"^INSERT INTO (\w+)", told[2]))

    event.listen(any_store.engine, "before_cursor_execute", seen)
    put(any_store, lease, matched(run), unwritten(run), written(run))
    event.remove(any_store.engine, "before_cursor_execute", seen)
    assert sorted(into) == sorted({f"rubric_{name}" for name in ("sets", "rules", "drafts", "matchings", "matches")})
    assert ask(any_store, run_progress.progress, run.run_id) == Progress(3, 3)
    assert found(any_store, "SELECT COUNT(*) FROM rubric_matches") == [(3,)]


def test_an_owner_without_its_lease_stores_no_rubric(any_store: Store) -> None:
    run = rubric_run(any_store)
    slept = claimed(any_store, run)._replace(epoch=0)
    late = written(run)._replace(logs=(call(run, run.drafts[0], run.writer_id),))
    assert put(any_store, slept, late) == Kept(False)
    assert found(any_store, "SELECT COUNT(*) FROM rubric_drafts") == [(0,)]
    assert found(any_store, "SELECT COUNT(*) FROM judge_logs") == [(1,)]


def test_what_a_cell_was_answered_and_what_it_cost_its_task_is_known(any_store: Store) -> None:
    run = rubric_run(any_store)
    answered = call(run, run.matching, run.matcher_id, reply_key="k", raw_output="{}", est_cost=2.0)
    lost = call(run, run.drafts[1], run.writer_id, error="RateLimited", attempt=2)
    writing = call(run, run.drafts[1], run.writer_id, error="RateLimited", est_cost=1.0)
    elsewhere = log_row(run.audit_id, Log(est_cost=64.0), "none", run_id=run.run_id, cell_id="cell_of_no_plan")
    with any_store.write() as connection:
        insert_new(connection, tables.JudgeLog, [answered, lost, writing, elsewhere])
    assert ask(any_store, run_progress.spent_by_task, run.run_id) == {"t0": 2.0, "t1": 1.0}
    assert ask(any_store, earlier_replies, run.matching) == {
        "k": StoredCall(answered["log_id"], "k", "{}", None, None, None)
    }


def test_a_task_is_read_with_its_gold_rules_and_nothing_else(any_store: Store) -> None:
    run = rubric_run(any_store)
    assert ask(any_store, rubric_task, run.audit_id, "t0") == RubricTask("Do t0.", rubric_id(GOLD), GOLD)
    assert ask(any_store, rubric_task, run.audit_id, "t1") == RubricTask("Do t1.", None, ())
    with pytest.raises(NotFound, match="no task 't9'"):
        ask(any_store, rubric_task, run.audit_id, "t9")

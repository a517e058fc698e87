"""How far a run is, what it used and what went wrong, on SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Connection, text

from builders import SATISFACTION, episode, lone
from misjudge_storage import run_progress as progress
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store, open_store
from misjudge_storage.ingest import ensure_judge, ingest, insert_new
from misjudge_storage.judging_records import CellResult, store_results
from misjudge_storage.rows import cell_id, log_row
from misjudge_storage.run_progress import ErrorGroup, JudgeCells, Progress, RoleSpend, Stage, UnscoredBy
from misjudge_storage.run_records import PlannedCell, create_run, pending, read_run, set_budget
from misjudge_storage.tables import JudgeLog
from misjudge_storage.types import Log
from run_builders import PlannedRun, attempt, planned_run, result

MINUTE = timedelta(minutes=1)
CELLS = 100_000


def put(store: Store, *results: CellResult) -> None:
    with store.write() as connection:
        for one in results:
            assert store_results(connection, [one]).held


def tried(run: PlannedRun, number: int, *errors: str | None) -> CellResult:
    """Attempts for a cell that stays open."""
    logs = [attempt(run, run.cells[number], n, error=error) for n, error in enumerate(errors, 1)]
    return CellResult(None, tuple(logs))


def ask(store: Store, function: Any, run: PlannedRun, *args: Any) -> Any:
    with store.read() as connection:
        return function(connection, run.run_id, *args)


def open_cells(store: Store, run: PlannedRun, after: int = 0, limit: int = 100, **only: bool) -> list[int]:
    """Indexes of the cells that are pending."""
    with store.read() as connection:
        return [cell.seq - 1 for cell in pending(connection, run.run_id, after, limit, **only)]


def test_a_fresh_run_has_done_and_used_nothing(any_store: Store) -> None:
    run = planned_run(any_store, pairs=2)
    assert ask(any_store, progress.progress, run) == Progress(0, 4)
    assert ask(any_store, progress.stages, run) == [Stage("pairwise", 0, 4)]
    for nothing in (progress.spent, progress.recent_errors, progress.failed_cells):
        assert ask(any_store, nothing, run) == []
    assert ask(any_store, progress.unscored, run) == ask(any_store, progress.spent_by_task, run) == {}
    assert ask(any_store, progress.calls_made, run) == 0
    assert ask(any_store, progress.replies_since, run, utc_now()) == (0, None)


def test_cells_are_done_when_the_verdict_with_their_id_is_stored(any_store: Store) -> None:
    run, other = planned_run(any_store), planned_run(any_store, audit="other")
    put(any_store, result(run, 0), result(run, 2, None), result(run, 3, None, lost=True), result(other, 1))
    assert ask(any_store, progress.progress, run) == Progress(2, 4)
    assert open_cells(any_store, run) == [1, 3]
    assert ask(any_store, progress.unscored, run) == {"parse_error": 1}


def test_results_are_counted_by_judge_and_by_who_asked_for_them(any_store: Store) -> None:
    run = planned_run(any_store, pairs=3)
    late = PlannedCell("cell_late", "pairwise", "jdg_late", "p0", None, "AB", 0)
    made = PlannedCell("cell_made", "rollout", "an agent", None, "trj_1", None, 0)
    with any_store.write() as connection:
        mixed = run._replace(run_id=create_run(connection, run.audit_id, "judge", "{}", None, [made, late, *run.cells]))
    put(any_store, result(run, 0), tried(mixed, 0, None), result(mixed, 1), tried(mixed, 1, "RateLimited"))
    put(any_store, result(mixed, 2, None), result(mixed, 3, None, lost=True), result(run, 4))
    put(any_store, result(mixed, 5, cached_from="log_earlier"))
    assert ask(any_store, progress.cells_by_judge, mixed) == {run.judge_id: JudgeCells(stored=5, asked=3)}
    assert ask(any_store, progress.cells_by_judge, run) == {run.judge_id: JudgeCells(stored=5, asked=2)}


def test_what_is_unscored_is_counted_by_judge_and_reason_with_its_subjects(any_store: Store) -> None:
    run, other = planned_run(any_store, pairs=3), planned_run(any_store, audit="other")
    put(
        any_store,
        result(run, 0, None),
        result(run, 1, None),
        result(run, 2, None),
        result(run, 3),
        result(other, 1, None),
    )
    long = result(run, 4, None)
    put(any_store, CellResult({**(long.verdict or {}), "unscored_reason": "context_overflow"}, long.logs))
    assert ask(any_store, progress.unscored_by_judge, run) == [
        UnscoredBy(run.judge_id, "context_overflow", 1, 1),
        UnscoredBy(run.judge_id, "parse_error", 3, 2),
    ]


def test_stages_are_counted_apart_in_the_order_of_the_plan(any_store: Store) -> None:
    run = planned_run(any_store)
    first = run.cells[0]
    gate = PlannedCell("cell_gate", "satisfaction", "jdg_gate", None, "trj_1", None, 0)
    with any_store.write() as connection:
        mixed = create_run(connection, run.audit_id, "judge", "{}", None, [gate, *run.cells])
    put(any_store, result(run, 0), result(run, 1))
    assert first.kind == "pairwise"
    with any_store.read() as connection:
        assert progress.stages(connection, mixed) == [Stage("satisfaction", 0, 1), Stage("pairwise", 2, 4)]


def test_what_was_spent_is_by_role_without_what_the_cache_gave(any_store: Store) -> None:
    run = planned_run(any_store)
    put(
        any_store,
        result(run, 0, input_tokens=100, output_tokens=10, est_cost=0.25),
        result(run, 1, input_tokens=200, output_tokens=None, est_cost=None),
        result(run, 2, est_cost=0.0, cached_from="log_earlier"),
        tried(run, 3, "RateLimited"),
    )
    with any_store.write() as connection:
        user = log_row(run.audit_id, Log(role="user_sim", est_cost=0.5), "user", run_id=run.run_id)
        insert_new(connection, JudgeLog, [user])
    assert ask(any_store, progress.spent, run) == [
        RoleSpend("judge", 3, 1, 300, 10, 0.25, replies_without_price=1),
        RoleSpend("user_sim", 1, 0, None, None, 0.5, replies_without_price=0),
    ]


def test_a_cost_that_nobody_knows_is_not_zero(any_store: Store) -> None:
    run = planned_run(any_store)
    put(any_store, result(run, 0), result(run, 1))
    (spent,) = ask(any_store, progress.spent, run)
    assert (spent.cost, spent.replies_without_price) == (None, 2)


def test_calls_are_counted_once_however_many_attempts_they_took(any_store: Store) -> None:
    run = planned_run(any_store)
    put(any_store, tried(run, 0, "RateLimited", "ProviderFailed", None), tried(run, 1, None))
    put(any_store, result(run, 2, cached_from="log_earlier"))
    assert ask(any_store, progress.calls_made, run) == 2


def test_errors_are_grouped_by_class_the_most_frequent_first(any_store: Store) -> None:
    run = planned_run(any_store)
    put(any_store, tried(run, 0, "ProviderFailed", "RateLimited", "RateLimited"), tried(run, 1, "CallTimeout", None))
    late = {**attempt(run, run.cells[2], error="RateLimited"), "created_at": utc_now() + MINUTE}
    put(any_store, CellResult(None, (late,)))
    groups = ask(any_store, progress.recent_errors, run)
    assert [group[:2] for group in groups] == [("RateLimited", 3), ("CallTimeout", 1), ("ProviderFailed", 1)]
    assert groups[0] == ErrorGroup("RateLimited", 3, late["created_at"])


def test_failed_cells_are_open_ones_that_this_run_asked_for(any_store: Store) -> None:
    run = planned_run(any_store, pairs=3)
    with any_store.write() as connection:
        other = run._replace(run_id=create_run(connection, run.audit_id, "judge", "{}", None, run.cells))
    put(any_store, result(run, 0), tried(run, 4, "RateLimited"), result(run, 1, None, lost=True))
    put(any_store, tried(other, 2, "RateLimited"), tried(run, 5, "RateLimited"), result(other, 5))
    assert ask(any_store, progress.failed_cells, run) == [run.cells[1].cell_id, run.cells[4].cell_id]
    assert open_cells(any_store, run) == [1, 2, 3, 4]
    assert open_cells(any_store, run, only_failed=True) == [1, 4]
    assert open_cells(any_store, run, after=2, only_failed=True) == [4]
    assert open_cells(any_store, run, limit=1, only_failed=True) == [1]


def test_open_cells_come_in_chunks_in_the_order_of_the_plan(any_store: Store) -> None:
    run = planned_run(any_store, pairs=3)
    put(any_store, result(run, 1), result(run, 4))
    assert open_cells(any_store, run, limit=2) == [0, 2]
    assert open_cells(any_store, run, after=3, limit=2) == [3, 5]
    assert open_cells(any_store, run, after=6) == []


def test_replies_are_counted_from_a_moment_on(any_store: Store) -> None:
    run, other = planned_run(any_store), planned_run(any_store, audit="other")
    now = utc_now()
    for number, age in enumerate((3, 2, 1)):
        made = result(run, number)
        put(any_store, CellResult({**(made.verdict or {}), "created_at": now - age * MINUTE}, made.logs))
    put(any_store, result(other, 0))
    assert ask(any_store, progress.replies_since, run, now - 2 * MINUTE) == (2, now - 2 * MINUTE)
    assert ask(any_store, progress.replies_since, run, now) == (0, None)
    assert ask(any_store, progress.replies_since, run, now - 9 * MINUTE) == (3, now - 3 * MINUTE)


def test_what_was_spent_on_a_task_comes_from_its_pairs_and_trajectories(any_store: Store) -> None:
    run = planned_run(any_store, pairs=3)
    with any_store.write() as connection:
        ingest(connection, run.audit_id, "lone", [lone(episode("z", task="t1"))])
        gate = ensure_judge(connection, run.audit_id, SATISFACTION)
        trajectory = connection.scalar(text("SELECT trajectory_id FROM trajectories WHERE agent = 'z'"))
        links = {"run_id": run.run_id, "trajectory_id": trajectory, "judge_id": gate}
        on_trajectory = log_row(run.audit_id, Log(est_cost=2.0), "z", **links)
        on_nothing = log_row(run.audit_id, Log(est_cost=64.0), "none", run_id=run.run_id)
        not_by_the_run = log_row(run.audit_id, Log(est_cost=128.0), "import", pair_id="p0")
        insert_new(connection, JudgeLog, [on_trajectory, on_nothing, not_by_the_run])
    put(any_store, result(run, 0, est_cost=0.25), result(run, 1, est_cost=0.5), result(run, 2, est_cost=1.0))
    put(any_store, tried(run, 4, "RateLimited"))
    assert ask(any_store, progress.spent_by_task, run) == {"t0": 0.75, "t1": 3.0}
    assert run.cells[0].cell_id == cell_id(run.audit_id, run.judge_id, "p0", "AB", 0)


def test_the_budget_in_force_is_kept_with_the_run(any_store: Store) -> None:
    run = planned_run(any_store)
    with any_store.write() as connection:
        bounded = create_run(connection, run.audit_id, "judge", "{}", None, [], '{"max_calls":10}')
        assert read_run(connection, run.run_id).budget_json is None
        assert read_run(connection, bounded).budget_json == '{"max_calls":10}'
        set_budget(connection, bounded, '{"max_calls":20}')
        assert read_run(connection, bounded).budget_json == '{"max_calls":20}'


class LongRun(NamedTuple):
    """A stored run of very many cells, half of them rollouts, of which none is done."""

    store: Store
    run_id: str


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LongRun]:
    store = open_store(tmp_path_factory.mktemp("long") / "long.db")
    run = planned_run(store)
    with store.write() as connection:
        run_id = create_run(connection, run.audit_id, "run_pair", "{}", None, [])
        numbers = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :cells)"
        cells = "INSERT INTO cells (run_id, cell_id, seq, kind, actor_id, pair_id, repeat)"
        kinds = "CASE n % 2 WHEN 0 THEN 'pairwise' ELSE 'rollout' END, 'actor', CASE n % 2 WHEN 0 THEN 'pair ' || n END"
        planned = text(f"{numbers} {cells} SELECT :run, 'cell ' || n, n, {kinds}, 0 FROM numbers")
        connection.execute(planned, {"run": run_id, "cells": CELLS})
    yield LongRun(store, run_id)
    store.close()


def replies_since_now(connection: Connection, run_id: str) -> progress.Replies:
    return progress.replies_since(connection, run_id, utc_now())


def next_cells(connection: Connection, run_id: str) -> list[PlannedCell]:
    return pending(connection, run_id, 0, 256)


def next_failed_cells(connection: Connection, run_id: str) -> list[PlannedCell]:
    return pending(connection, run_id, 0, 256, only_failed=True)


OF_LOGS = "COVERING INDEX judge_logs_by_run (run_id=?)"
IN_RUN = "(run_id=?)"
IN_ORDER = "INDEX cells_by_seq (run_id=?"
RESULTS = (
    "COVERING INDEX sqlite_autoindex_verdicts_1 (verdict_id=?)",
    "COVERING INDEX sqlite_autoindex_trajectories_1 (trajectory_id=?)",
    "COVERING INDEX sqlite_autoindex_probe_verdicts_1 (probe_verdict_id=?)",
    "COVERING INDEX sqlite_autoindex_rubric_drafts_1 (draft_id=?)",
    "COVERING INDEX sqlite_autoindex_rubric_matchings_1 (matching_id=?)",
)
"""The result of a cell, whichever it has: one look-up each."""
TO_CELL = "INDEX sqlite_autoindex_cells_1 (run_id=? AND cell_id=?)"
OF_CELL = f"COVERING {TO_CELL}"
OF_RUN = "INDEX sqlite_autoindex_runs_1 (run_id=?)"


@pytest.mark.parametrize(
    ("function", "plans"),
    [
        (progress.spent, [[OF_LOGS]]),
        (progress.calls_made, [[OF_LOGS]]),
        (progress.recent_errors, [[OF_LOGS]]),
        (progress.progress, [["COVERING INDEX sqlite_autoindex_cells_1 (run_id=?)", *RESULTS]]),
        (progress.stages, [[IN_ORDER, *RESULTS]]),
        (progress.failed_cells, [[IN_ORDER, OF_LOGS, *RESULTS]]),
        (next_cells, [["INDEX cells_by_seq (run_id=? AND seq>?)", *RESULTS]]),
        (next_failed_cells, [["INDEX cells_by_seq (run_id=? AND seq>?)", OF_LOGS, *RESULTS]]),
        (progress.cells_by_judge, [[IN_RUN, OF_LOGS, *RESULTS]]),
        (
            progress.unscored_by_judge,
            [
                ["INDEX verdicts_unscored (audit_id=?)", OF_RUN, TO_CELL],
                ["INDEX probe_verdicts_unscored (audit_id=?)", OF_RUN, TO_CELL],
                ["INDEX rubric_drafts_unscored (audit_id=?)", OF_RUN, TO_CELL],
                ["INDEX rubric_matchings_unscored (audit_id=?)", OF_RUN, TO_CELL],
            ],
        ),
        (
            progress.unscored,
            [
                ["INDEX verdicts_unscored (audit_id=?)", OF_RUN, OF_CELL],
                ["INDEX probe_verdicts_unscored (audit_id=?)", OF_RUN, OF_CELL],
                ["INDEX rubric_drafts_unscored (audit_id=?)", OF_RUN, OF_CELL],
                ["INDEX rubric_matchings_unscored (audit_id=?)", OF_RUN, OF_CELL],
            ],
        ),
        (
            replies_since_now,
            [
                ["INDEX verdicts_by_time (audit_id=? AND created_at>?)", OF_RUN, OF_CELL],
                ["INDEX trajectories_by_time (audit_id=? AND created_at>?)", OF_RUN, OF_CELL],
                ["INDEX probe_verdicts_by_time (audit_id=? AND created_at>?)", OF_RUN, OF_CELL],
                ["INDEX rubric_drafts_by_time (audit_id=? AND created_at>?)", OF_RUN, OF_CELL],
                ["INDEX rubric_matchings_by_time (audit_id=? AND created_at>?)", OF_RUN, OF_CELL],
            ],
        ),
    ],
)
def test_a_long_plan_is_counted_from_indexes(long_run: LongRun, function: Any, plans: list[list[str]]) -> None:
    statements: list[str] = []
    with long_run.store.read() as connection:
        dbapi = connection.connection.dbapi_connection
        assert dbapi is not None
        dbapi.set_trace_callback(statements.append)
        function(connection, long_run.run_id)
        dbapi.set_trace_callback(None)
        queries = [said for said in statements if said.lstrip().startswith("SELECT")]
        asked = [[step.detail for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {said}")] for said in queries]
    # Beside them a plan has steps that read no table, such as sorting.
    looked_up = [[step for step in steps if step.startswith(("SEARCH", "SCAN"))] for steps in asked]
    assert [len(steps) for steps in looked_up] == [len(plan) for plan in plans], asked
    for steps, plan in zip(looked_up, plans, strict=True):
        assert all(any(index in step for step in steps) for index in plan), steps


def test_a_long_plan_is_counted_whatever_its_cells_are(long_run: LongRun) -> None:
    with long_run.store.read() as connection:
        assert progress.progress(connection, long_run.run_id) == Progress(0, CELLS)
        assert progress.stages(connection, long_run.run_id) == [
            Stage("rollout", 0, CELLS // 2),
            Stage("pairwise", 0, CELLS // 2),
        ]
        assert len(next_cells(connection, long_run.run_id)) == 256


@pytest.mark.parametrize("function", [next_cells, replies_since_now, progress.unscored])
def test_what_a_long_run_asks_again_and_again_does_not_go_through_all_of_its_plan(
    long_run: LongRun, function: Any
) -> None:
    ticks: list[None] = []
    with long_run.store.read() as connection:
        dbapi = connection.connection.dbapi_connection
        assert dbapi is not None
        dbapi.set_progress_handler(lambda: ticks.append(None), 1_000)
        function(connection, long_run.run_id)
        dbapi.set_progress_handler(None, 0)
    assert len(ticks) * 1_000 < CELLS, "SQLite takes more than one step for each cell that it looks at"

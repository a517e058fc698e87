"""Drift and sessions over time count the same on SQLite and on Postgres, and need no row of another audit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from sqlalchemy import text

from builders import JUDGE, SATISFACTION, episode, lone, messages, pair, passed, satisfied, verdict
from misjudge_storage import drift_counts, three_way_counts
from misjudge_storage.drift_counts import DriftTotals, Move
from misjudge_storage.engine import Store, open_store
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.summary_records import reduce_audit
from misjudge_storage.summary_values import Sums
from misjudge_storage.three_way_counts import Step, TrendSums
from misjudge_storage.types import Judge, Preference, Record
from operations import stored

CHANGED = JUDGE.model_copy(update={"prompt_hash": "beef"})
FIRST = datetime(2024, 12, 30, 23, 30, tzinfo=UTC)


def compared(task: str, winner: Preference, by: Judge, text: str = "same", *, turned: bool = False) -> Record:
    """A pair whose agent x did the task; `winner` A is x."""
    x, y = (
        episode(agent, passed(agent == "x"), task=task, said=messages("Go.", f"{agent} {text}"), setup='{"suite":"s"}')
        for agent in ("x", "y")
    )
    if turned:
        other: Preference = "B" if winner == "A" else "A"
        return pair(task, y, x, verdict(other, "AB", judge=by), trial=0, prompt=text)
    return pair(task, x, y, verdict(winner, "AB", judge=by), trial=0, prompt=text)


def test_pairs_of_two_audits_are_matched_by_task_trial_and_agents(any_store: Store) -> None:
    now = stored(any_store, [compared(f"t{n}", "A", CHANGED) for n in range(4)], "now")
    before = [
        compared("t0", "A", JUDGE),
        compared("t1", "B", JUDGE, turned=True),
        compared("t2", "B", JUDGE, text="other"),
        compared("t9", "B", JUDGE),
    ]
    baseline = stored(any_store, before, "before")
    with any_store.read() as connection:
        drift_counts.hold_baseline(connection, baseline)
        reduce_audit(connection, now)
        for _ in range(2):
            drift_counts.hold_drift(connection, judge_fingerprint(CHANGED), judge_fingerprint(JUDGE))
        assert drift_counts.drift_totals(connection) == DriftTotals(3, 1, 1, 0, 0, 3, 0, 0, 2, 2)
        assert drift_counts.moves(connection) == [Move("A", "A", 1), Move("B", "A", 2)]
        assert drift_counts.moved_sums(connection, "all") == Sums(3, 2, 3, 2, 2, 3)
        assert drift_counts.moved_sums(connection, "alike") == Sums(2, 1, 2, 1, 1, 2)
        found = drift_counts.drift_sums(connection, "all")
        assert (found.now, found.before) == (Sums(3, 3, 3, 3, 3, 3), Sums(3, 1, 3, 1, 1, 3))
        assert (found.gained, found.lost, found.d, found.dd, found.dn) == (2, 0, 2, 2, 2)
        assert (found.call_d, found.call_squares, found.call_dd, found.call_dn) == (2, 2, 2, 2)
        assert drift_counts.drift_sums(connection, "anchors").gained == 1
        assert drift_counts.drift_sums(connection, "others").gained == 1
        assert [one.label for one in drift_counts.pair_judges(connection, now)] == ["judge"]
        setups = drift_counts.agent_setups(connection, now)
        assert sorted((one.agent, one.setup) for one in setups) == [("x", '{"suite":"s"}'), ("y", '{"suite":"s"}')]
        tasks = drift_counts.task_changes(connection, now, baseline)
        assert (tasks.shared, tasks.changed, tasks.only_now, tasks.only_before) == (3, 1, 1, 1)
        assert [one.task_id for one in tasks.first] == ["t2"]


@pytest.mark.parametrize("by", get_args(Step))
def test_sessions_are_counted_by_the_same_periods_everywhere(any_store: Store, by: Step) -> None:
    made = [
        lone(
            episode(
                "x",
                passed(n % 2 == 0),
                passed(n % 3 == 0, "human"),
                task=f"t{n % 4}",
                trial=n,
                satisfaction=[satisfied(0.9 if n % 5 else 0.1)],
                occurred_at=FIRST + timedelta(hours=n),
            ),
            line=n,
        )
        for n in range(40)
    ]
    audit = stored(any_store, made, "a")
    with any_store.read() as connection:
        assert three_way_counts.has_human_outcomes(connection, audit)
        assert not three_way_counts.has_human_outcomes(connection, "other")
        for _ in range(2):
            three_way_counts.hold_sessions(connection, audit, judge_fingerprint(SATISFACTION), by, None)
        periods, total = three_way_counts.period_counts(connection), three_way_counts.total_counts(connection)
        expected = {
            "day": {"2024-12-30": 1, "2024-12-31": 24, "2025-01-01": 15},
            "week": {"2024-12-30": 40},
            "month": {"2024-12-01": 25, "2025-01-01": 15},
        }[by]
        assert {one.starts: one.sessions for one in periods} == expected
        assert (total.sessions, total.undated) == (40, 0)
        assert total.known == {"satisfaction": 40, "success": 40, "human": 40, "all_three": 40}
        against = [(n % 2 == 0) != (n % 3 == 0) for n in range(40)]
        by_task = [sum(against[task::4]) for task in range(4)]
        assert total.measures["success_against_human"] == Sums(
            4, sum(by_task), 40, sum(k * k for k in by_task), sum(10 * k for k in by_task), 400
        )
        three_way_counts.hold_sessions(connection, audit, judge_fingerprint(SATISFACTION), by, "2025-01-01")
        assert three_way_counts.total_counts(connection).sessions == 15


@pytest.mark.postgres
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
@pytest.mark.parametrize("by", get_args(Step))
def test_a_period_begins_in_utc_whatever_the_zone_of_the_session(
    new_postgres: Callable[[], str], by: Step, zone: str
) -> None:
    times = [datetime(2024, 12, day, hour, 30, tzinfo=UTC) for day in (29, 30, 31) for hour in (0, 23)]
    made = [lone(episode("x", passed(True), trial=n, occurred_at=at), line=n) for n, at in enumerate(times)]
    store = open_store(new_postgres())
    try:
        audit = stored(store, made, "a")
        with store.read() as connection:
            connection.execute(text(f"SET LOCAL TIME ZONE '{zone}'"))
            three_way_counts.hold_sessions(connection, audit, None, by, "2024-12-29")
            found = {one.starts: one.sessions for one in three_way_counts.period_counts(connection)}
    finally:
        store.close()
    assert (
        found
        == {
            "day": {"2024-12-29": 2, "2024-12-30": 2, "2024-12-31": 2},
            "week": {"2024-12-23": 2, "2024-12-30": 4},
            "month": {"2024-12-01": 6},
        }[by]
    )


def test_the_trend_is_added_up_by_task(any_store: Store) -> None:
    checks = [(passed(n > 1), passed(True, "human")) for n in range(4)]
    made = [
        lone(episode("x", *said, task=f"t{n % 2}", trial=n, occurred_at=FIRST + timedelta(n)))
        for n, said in enumerate(checks)
    ]
    audit = stored(any_store, made, "a")
    with any_store.read() as connection:
        three_way_counts.hold_sessions(connection, audit, None, "day", None)
        places = {one.starts: float(n) for n, one in enumerate(three_way_counts.period_counts(connection))}
        found = three_way_counts.trend_sums(connection, "success_against_human", places, 1.5, 0.5)
    # Of t0: −1.5·½ + 0.5·(−½), of t1: −0.5·½ + 1.5·(−½).
    assert found == TrendSums(2, -2.0, 2.0)

"""Pairs of live agents: planned with a run, stored as soon as both of their trajectories are."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from builders import episode, lone, pair
from misjudge_storage import leases
from misjudge_storage.engine import Store
from misjudge_storage.errors import Conflict
from misjudge_storage.ingest import LOOKUP, ingest
from misjudge_storage.judging_records import Kept
from misjudge_storage.planned_pairs import make_pairs, other_setups, plan_pairs, stored_subjects
from misjudge_storage.run_records import create_run
from rollout_builders import Bucket, claimed, episode_made, planned_pair, put, rollout_run


def found(store: Store, query: str, **values: Any) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(text(query), values)]


def pairs(store: Store) -> list[str]:
    return [pair_id for (pair_id,) in found(store, "SELECT pair_id FROM pairs ORDER BY pair_id")]


@pytest.mark.parametrize("order", [("x", "y"), ("y", "x")])
def test_a_pair_appears_when_both_of_its_sides_are_stored(any_store: Store, order: tuple[str, str]) -> None:
    run = rollout_run(any_store)
    lease = claimed(any_store, run)
    first, second = order
    assert put(any_store, lease, episode_made(run, first)) == Kept(True, frozenset({run.trajectory(first)}))
    assert pairs(any_store) == []
    kept = put(any_store, lease, episode_made(run, second))
    assert kept == Kept(True, frozenset({run.trajectory(second), "t0:x|y"}))
    assert found(any_store, "SELECT pair_id, trial, trajectory_a, trajectory_b, ability_bucket FROM pairs") == [
        ("t0:x|y", 0, run.trajectory("x"), run.trajectory("y"), None)
    ]


def test_sides_that_are_stored_together_make_their_pairs_at_once(any_store: Store) -> None:
    run = rollout_run(any_store, ("x", "y", "z"), tasks=2, bucket="near")
    made = [episode_made(run, agent, task) for agent, task in run.places.values() if (agent, task) != ("z", "t1")]
    assert put(any_store, claimed(any_store, run), *made).subjects == {
        *(trajectory for trajectory in run.places if trajectory != run.trajectory("z", "t1")),
        *("t0:x|y", "t0:x|z", "t0:y|z", "t1:x|y"),
    }
    assert pairs(any_store) == ["t0:x|y", "t0:x|z", "t0:y|z", "t1:x|y"]
    assert found(any_store, "SELECT DISTINCT ability_bucket FROM pairs") == [("near",)]


def test_a_recorded_side_that_is_stored_before_waits_for_the_live_one_only(any_store: Store) -> None:
    run = rollout_run(any_store, ("x",))
    with any_store.write() as connection:
        records = [lone(episode(agent, task="t0"), prompt="") for agent in ("old", "older")]
        ingest(connection, run.audit_id, "recorded", records)
    recorded = dict(found(any_store, "SELECT agent, trajectory_id FROM trajectories"))
    x = run.trajectory("x")
    with any_store.write() as connection:
        planned = [
            planned_pair(run.audit_id, "old|x", recorded["old"], x),
            planned_pair(run.audit_id, "x|older", x, recorded["older"]),
            planned_pair(run.audit_id, "old|older", recorded["old"], recorded["older"]),
        ]
        plan_pairs(connection, run.run_id, planned)
    assert pairs(any_store) == ["old|older"]
    assert put(any_store, claimed(any_store, run), episode_made(run, "x")).subjects == {x, "old|x", "x|older"}
    assert pairs(any_store) == ["old|older", "old|x", "x|older"]


def test_only_the_pairs_of_the_trajectories_asked_for_are_made(any_store: Store) -> None:
    run = rollout_run(any_store, tasks=2)
    lone_results = [episode_made(run, agent, task) for agent, task in run.places.values()]
    assert put(any_store, None, *lone_results).subjects == set(run.places)
    assert pairs(any_store) == []
    with any_store.write() as connection:
        assert make_pairs(connection, run.run_id, [run.trajectory("y", "t1")]) == ["t1:x|y"]
        assert make_pairs(connection, run.run_id, []) == []
        assert make_pairs(connection, run.run_id, [f"trj_{n}" for n in range(LOOKUP)]) == []
    assert pairs(any_store) == ["t1:x|y"]
    with any_store.write() as connection:
        assert sorted(make_pairs(connection, run.run_id)) == ["t0:x|y", "t1:x|y"]
        assert sorted(make_pairs(connection, run.run_id)) == ["t0:x|y", "t1:x|y"]
    assert pairs(any_store) == ["t0:x|y", "t1:x|y"]


@pytest.mark.parametrize("stored_as", ["other sides", "near instead of wide"])
def test_a_pair_that_is_stored_otherwise_is_a_conflict_and_nothing_is_stored(any_store: Store, stored_as: str) -> None:
    run = rollout_run(any_store, bucket="near")
    put(any_store, claimed(any_store, run), episode_made(run, "x"), episode_made(run, "y"))
    x, y = run.trajectory("x"), run.trajectory("y")
    tables = ("runs", "cells", "planned_pairs", "pairs")
    before = {table: found(any_store, f"SELECT COUNT(*) FROM {table}") for table in tables}
    with (
        pytest.raises(Conflict, match=r"^Pair 't0:x\|y' is stored or under way with other sides, or declared near"),
        any_store.write() as connection,
    ):
        other = create_run(connection, run.audit_id, "run_pair", "{}", None, run.cells)
        sides = (y, x) if stored_as == "other sides" else (x, y)
        bucket: Bucket = "near" if stored_as == "other sides" else "wide"
        fresh = planned_pair(run.audit_id, "fresh", x, y)
        plan_pairs(connection, other, [fresh, planned_pair(run.audit_id, "t0:x|y", *sides, bucket=bucket)])
    assert {table: found(any_store, f"SELECT COUNT(*) FROM {table}") for table in tables} == before


def test_a_pair_of_the_same_name_in_another_audit_is_no_conflict(any_store: Store) -> None:
    first = rollout_run(any_store, bucket="near")
    put(any_store, claimed(any_store, first), episode_made(first, "x"), episode_made(first, "y"))
    rollout_run(any_store, audit="other", bucket="wide")
    assert pairs(any_store) == ["t0:x|y"]


def test_an_imported_pair_of_the_same_name_is_a_conflict(any_store: Store) -> None:
    run = rollout_run(any_store, ("z",))
    with any_store.write() as connection:
        imported = pair("t0:x|y", episode("a", task="t0"), episode("b", task="t0"), prompt="")
        ingest(connection, run.audit_id, "file", [imported])
    with pytest.raises(Conflict, match="results are never overwritten, so use another audit name"):
        rollout_run(any_store)


def test_two_runs_may_plan_the_same_pair_and_it_is_stored_once(any_store: Store) -> None:
    first = rollout_run(any_store)
    second = rollout_run(any_store, made_elsewhere=("x",))
    one, two = claimed(any_store, first), claimed(any_store, second)
    assert put(any_store, one, episode_made(first, "x")).subjects == {first.trajectory("x")}
    assert put(any_store, two, episode_made(second, "y")).subjects == {second.trajectory("y"), "t0:x|y"}
    assert put(any_store, one, episode_made(first, "y")).subjects == {first.trajectory("y"), "t0:x|y"}
    assert pairs(any_store) == ["t0:x|y"]


def test_a_run_finds_the_pairs_whose_sides_another_run_made_when_it_looks_again(any_store: Store) -> None:
    maker = rollout_run(any_store)
    waiting = rollout_run(any_store, ("x", "y", "z"), made_elsewhere=("x", "y"))
    put(any_store, claimed(any_store, waiting), episode_made(waiting, "z"))
    put(any_store, claimed(any_store, maker), episode_made(maker, "x"), episode_made(maker, "y"))
    assert pairs(any_store) == ["t0:x|y"]
    with any_store.write() as connection:
        assert sorted(make_pairs(connection, waiting.run_id)) == ["t0:x|y", "t0:x|z", "t0:y|z"]
    assert pairs(any_store) == ["t0:x|y", "t0:x|z", "t0:y|z"]


def test_a_pair_that_a_run_under_way_declares_otherwise_is_a_conflict(any_store: Store) -> None:
    near = rollout_run(any_store, bucket="near")
    with pytest.raises(Conflict, match=r"Pair 't0:x\|y' is stored or under way"):
        rollout_run(any_store, bucket="wide")
    rollout_run(any_store, bucket="near")
    assert found(any_store, "SELECT COUNT(*) FROM runs") == [(2,)]
    with any_store.write() as connection:
        connection.execute(text("UPDATE runs SET state = 'cancelled'"))
    wide = rollout_run(any_store, bucket="wide")
    put(any_store, claimed(any_store, wide), episode_made(wide, "x"), episode_made(wide, "y"))
    with any_store.write() as connection:
        lease = leases.claim(connection, near.run_id, "one")
        with pytest.raises(Conflict):
            make_pairs(connection, near.run_id)
    assert lease is not None
    assert found(any_store, "SELECT ability_bucket FROM pairs") == [("wide",)]


def test_subjects_are_told_apart_by_audit_and_kind_however_many_are_asked_for(any_store: Store) -> None:
    run, other = rollout_run(any_store), rollout_run(any_store, audit="other")
    put(any_store, claimed(any_store, run), episode_made(run, "x"), episode_made(run, "y"))
    x = run.trajectory("x")
    unknown = [f"unknown {n}" for n in range(LOOKUP)]
    with any_store.read() as connection:
        asked = [*unknown, "t0:x|y", x]
        assert stored_subjects(connection, run.audit_id, asked, asked) == {"t0:x|y", x}
        assert stored_subjects(connection, run.audit_id, asked, []) == {"t0:x|y"}
        assert stored_subjects(connection, run.audit_id, [], asked) == {x}
        assert stored_subjects(connection, run.audit_id, [], []) == set()
        assert stored_subjects(connection, other.audit_id, ["t0:x|y"], [other.trajectory("x")]) == set()


def test_other_set_ups_are_stored_trajectories_of_a_planned_place_that_are_not_the_planned_one(
    any_store: Store,
) -> None:
    run = rollout_run(any_store, ("x", "y", "z"), tasks=2)
    elsewhere = rollout_run(any_store, audit="other", setup="changed")
    put(any_store, None, *(episode_made(run, agent) for agent in "xyz"), episode_made(elsewhere, "x"))

    def place(agent: str, task: str, trial: int, trajectory_id: str) -> dict[str, Any]:
        return {"task_id": task, "agent": agent, "trial": trial, "trajectory_id": trajectory_id}

    planned = [
        place("x", "t0", 0, run.trajectory("x")),
        place("y", "t0", 0, "trj_of_another_prompt"),
        place("z", "t0", 1, "trj_of_another_trial"),
        place("z", "t1", 0, "trj_that_nobody_made"),
    ]
    with any_store.read() as connection:
        assert other_setups(connection, run.audit_id, planned) == [place("y", "t0", 0, run.trajectory("y"))]
        assert other_setups(connection, run.audit_id, planned[:1]) == []
        assert other_setups(connection, run.audit_id, []) == []


def test_pairs_of_few_trajectories_are_found_by_their_indexes(store: Store) -> None:
    run = rollout_run(store)
    statements: list[str] = []
    with store.write() as connection:
        dbapi = connection.connection.dbapi_connection
        assert dbapi is not None
        dbapi.set_trace_callback(statements.append)
        make_pairs(connection, run.run_id, [run.trajectory("x")])
        dbapi.set_trace_callback(None)
        queries = [said for said in statements if said.lstrip().startswith("SELECT")]
        plans = [[step.detail for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {said}")] for said in queries]
    for side, plan in zip("ab", plans, strict=True):
        wanted = f"INDEX planned_pairs_by_trajectory_{side} (run_id=? AND trajectory_{side}=?)"
        assert any(wanted in step for step in plan), plan
        assert not any("SCAN" in step for step in plan), plan

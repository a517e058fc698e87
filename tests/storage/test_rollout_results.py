"""Results of rollouts: a trajectory with its checks, stored once, under a lease, on SQLite and on Postgres."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text, update

from builders import SATISFACTION, episode, lone, passed, rewarded
from misjudge_storage import run_progress
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.episode_records import AgentEpisodes, agent_episodes, success_of
from misjudge_storage.errors import Conflict
from misjudge_storage.ingest import ensure_judge, ingest, insert_new
from misjudge_storage.judging_records import (
    CellResult,
    Kept,
    PairTruth,
    SideTruth,
    StoredCall,
    earlier_replies,
    read_pair_truths,
    read_successes,
    store_results,
)
from misjudge_storage.leases import RUNS, Lease
from misjudge_storage.rows import log_row
from misjudge_storage.run_progress import Progress, RoleSpend, Stage, stored_cells
from misjudge_storage.run_records import cells_of_single_pair, pending
from misjudge_storage.summary_values import Sums
from misjudge_storage.tables import JudgeLog
from misjudge_storage.types import Check, Log
from rollout_builders import RolloutRun, claimed, episode_made, put, rollout_run, turn

MINUTE = timedelta(minutes=1)
UNKNOWN = Check(verifier="success", source="verifier", evidence="The simulated user failed.")


def found(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def numbers(store: Store) -> dict[str, int]:
    """How many rows the tables of results hold."""
    tables = ("trajectories", "checks", "judge_logs", "pairs")
    return {table: found(store, f"SELECT COUNT(*) FROM {table}")[0][0] for table in tables}


def ask(store: Store, function: Any, *args: Any) -> Any:
    with store.read() as connection:
        return function(connection, *args)


def taken_over(store: Store, run: RolloutRun) -> Lease:
    """The lease of another owner, which claimed the run while the first one slept."""
    with store.write() as connection:
        over = update(RUNS).where(RUNS.c.run_id == run.run_id)
        connection.execute(over.values(lease_until=utc_now() - timedelta(seconds=1)))
    return claimed(store, run, "two")


def test_a_rollout_is_stored_with_its_checks_and_calls_in_one_commit(any_store: Store) -> None:
    run = rollout_run(any_store)
    keep = partial(store_results, lease=claimed(any_store, run))
    part = Check(verifier="state: SELECT …", source="verifier", scope="part", passed=False)
    facts: dict[str, Any] = {
        "seed": 2**31 + 5,
        "flags": ("leaked_criteria", "scored"),
        "changes": '{"first":[],"number":0}',
    }
    made = episode_made(run, "x", checks=[part, passed(False)], logs=[turn(run, "x", 1), turn(run, "x", 2)], **facts)
    before = any_store.writer.commits
    kept = any_store.writer.submit_part(keep, made).result()
    assert kept == Kept(True, frozenset({run.trajectory("x")}))
    assert any_store.writer.commits == before + 1
    assert numbers(any_store) == {"trajectories": 1, "checks": 2, "judge_logs": 2, "pairs": 0}
    columns = "trajectory_id, agent, trial, turns, end_reason, seed, flags_json, setup_json, changes_json"
    assert found(any_store, f"SELECT {columns} FROM trajectories") == [
        (
            *(run.trajectory("x"), "x", 0, 1, "finished", 2**31 + 5),
            *('["leaked_criteria","scored"]', '{"skill":0.9}', '{"first":[],"number":0}'),
        )
    ]
    assert any_store.writer.submit_part(keep, made).result() == kept
    assert numbers(any_store) == {"trajectories": 1, "checks": 2, "judge_logs": 2, "pairs": 0}


def test_a_cell_is_done_when_its_trajectory_is_stored(any_store: Store) -> None:
    run = rollout_run(any_store)
    assert ask(any_store, run_progress.progress, run.run_id) == Progress(0, 4)
    put(any_store, claimed(any_store, run), episode_made(run, "y"))
    assert ask(any_store, run_progress.progress, run.run_id) == Progress(1, 4)
    assert ask(any_store, run_progress.stages, run.run_id) == [Stage("rollout", 1, 2), Stage("pairwise", 0, 2)]
    left = ask(any_store, pending, run.run_id, 0, 100)
    assert [(cell.seq, cell.kind, cell.actor_id) for cell in left][:2] == [
        (1, "rollout", "agt_x"),
        (3, "pairwise", run.cells[2].actor_id),
    ]
    cells = [cell.cell_id for cell in run.cells]
    assert ask(any_store, stored_cells, cells) == {run.trajectory("y")}


def test_an_owner_that_lost_its_lease_keeps_the_calls_and_stores_no_episode(any_store: Store) -> None:
    run = rollout_run(any_store)
    slept = claimed(any_store, run)
    awake = taken_over(any_store, run)
    late = episode_made(run, "x", checks=[passed(False)], logs=[turn(run, "x", 1, raw_output="late")])
    assert put(any_store, slept, late) == Kept(False, frozenset())
    assert numbers(any_store) == {"trajectories": 0, "checks": 0, "judge_logs": 1, "pairs": 0}
    assert ask(any_store, run_progress.progress, run.run_id).done == 0
    assert put(any_store, awake, episode_made(run, "x")).held
    assert put(any_store, slept, late) == Kept(False, frozenset())
    assert ask(any_store, success_of, run.trajectory("x")) is True


def test_a_call_that_is_stored_as_it_comes_leaves_its_cell_open(any_store: Store) -> None:
    run = rollout_run(any_store)
    lease = claimed(any_store, run)
    assert put(any_store, lease, CellResult(None, (turn(run, "x", 1, est_cost=0.5),))) == Kept(True, frozenset())
    lost = turn(run, "x", 2, error="RateLimited")
    assert put(any_store, lease, CellResult(None, (lost,))) == Kept(True, frozenset())
    assert ask(any_store, run_progress.progress, run.run_id).done == 0
    assert ask(any_store, run_progress.failed_cells, run.run_id) == [run.trajectory("x")]
    assert [cell.seq for cell in ask(any_store, pending, run.run_id, 0, 100, True)] == [1]
    assert put(any_store, lease, episode_made(run, "x")).held
    assert ask(any_store, run_progress.failed_cells, run.run_id) == []
    assert ask(any_store, run_progress.spent, run.run_id) == [
        RoleSpend("agent", 2, 0, None, None, 0.5, replies_without_price=0)
    ]


def test_replies_of_earlier_tries_come_back_by_their_keys(any_store: Store) -> None:
    run, again = rollout_run(any_store), rollout_run(any_store, made_elsewhere=("x",))
    now = utc_now()
    x = run.trajectory("x")
    said: dict[str, Any] = {
        "raw_output": "hi",
        "parsed_json": '{"tool_calls":[]}',
        "input_tokens": 7,
        "output_tokens": 2,
    }
    logs = [
        turn(run, "x", 1, reply_key="k1", created_at=now.isoformat(), **said),
        turn(again, "x", 1, reply_key="k1", created_at=(now + MINUTE).isoformat(), raw_output="said later"),
        turn(run, "x", 2, role="user_sim", reply_key="k2", raw_output=None),
        turn(again, "x", 3, role="success_check", reply_key="k3", raw_output="yes"),
        turn(run, "x", 4, raw_output="cut off", finish_reason="length"),
        turn(run, "y", 1, reply_key="k5", raw_output="of another rollout"),
    ]
    with any_store.write() as connection:
        gate = ensure_judge(connection, run.audit_id, SATISFACTION)
        scored = log_row(run.audit_id, Log(reply_key="k6", raw_output="0.9"), "gate", trajectory_id=x, judge_id=gate)
        insert_new(connection, JudgeLog, [*logs, scored])
    assert ask(any_store, earlier_replies, x) == {
        "k1": StoredCall(logs[0]["log_id"], "k1", "hi", '{"tool_calls":[]}', 7, 2),
        "k2": StoredCall(logs[2]["log_id"], "k2", None, None, None, None),
        "k3": StoredCall(logs[3]["log_id"], "k3", "yes", None, None, None),
    }
    assert ask(any_store, earlier_replies, "trj_unknown") == {}


def test_an_episode_that_another_run_stored_first_stays_with_its_checks(any_store: Store) -> None:
    first, second = rollout_run(any_store), rollout_run(any_store)
    x = first.trajectory("x")
    put(any_store, claimed(any_store, first), episode_made(first, "x", checks=[UNKNOWN], end_reason="user_sim_error"))
    part = Check(verifier="calls: cancel_order", source="verifier", scope="part", passed=True)
    success = UNKNOWN.model_copy(update={"passed": True, "evidence": ""})
    other = episode_made(second, "x", checks=[part, success], logs=[turn(second, "x", 1)])
    assert put(any_store, claimed(any_store, second), other) == Kept(True, frozenset({x}))
    assert found(any_store, "SELECT trajectory_id, end_reason FROM trajectories") == [(x, "user_sim_error")]
    assert found(any_store, "SELECT verifier, passed FROM checks") == [("success", None)]
    assert numbers(any_store)["judge_logs"] == 1
    assert ask(any_store, run_progress.progress, second.run_id).done == 1


def test_an_episode_whose_place_was_taken_meanwhile_is_a_conflict_and_harms_no_other_result(any_store: Store) -> None:
    run = rollout_run(any_store)
    with any_store.write() as connection:
        ingest(connection, run.audit_id, "file", [lone(episode("x", passed(True), task="t0"), prompt="")])
    keep = partial(store_results, lease=claimed(any_store, run))
    call = any_store.writer.submit_part(keep, CellResult(None, (turn(run, "x", 1),)))
    taken = any_store.writer.submit_part(keep, episode_made(run, "x", checks=[passed(False)]))
    free = any_store.writer.submit_part(keep, episode_made(run, "y"))
    with pytest.raises(Conflict, match=r"^Agent 'x' has done task 't0' in this audit with another set-up .* meanwhile"):
        taken.result()
    assert call.result().held
    assert run.trajectory("y") in free.result().subjects
    assert numbers(any_store) == {"trajectories": 2, "checks": 2, "judge_logs": 1, "pairs": 0}
    assert ask(any_store, run_progress.progress, run.run_id).done == 1


def test_an_unknown_outcome_is_neither_success_nor_failure(any_store: Store) -> None:
    run = rollout_run(any_store)
    part = Check(verifier="state", source="verifier", scope="part", passed=True)
    model = Check(verifier="model", source="model", passed=True)
    sides = episode_made(run, "x"), episode_made(run, "y", checks=[part, UNKNOWN, model])
    put(any_store, claimed(any_store, run), *sides)
    assert ask(any_store, success_of, run.trajectory("x")) is True
    assert ask(any_store, success_of, run.trajectory("y")) is None
    assert found(any_store, "SELECT pair_id, success_a, success_b, gold_pref FROM pair_gold") == [
        ("t0:x|y", 1, None, None)
    ]
    assert ask(any_store, read_successes, run.audit_id, list(run.places)) == {
        run.trajectory("x"): SideTruth(True, 0.9, "x")
    }
    assert ask(any_store, read_pair_truths, run.audit_id, ["t0:x|y"]) == []


def test_success_is_known_where_a_check_says_so(any_store: Store) -> None:
    run = rollout_run(any_store, ("x", "y", "z"))
    made = {"x": [passed(False)], "y": [rewarded(0.5)], "z": []}
    put(any_store, None, *(episode_made(run, agent, checks=checks) for agent, checks in made.items()))
    assert [ask(any_store, success_of, run.trajectory(agent)) for agent in made] == [False, None, None]
    assert ask(any_store, success_of, "trj_unknown") is None


def test_episodes_are_counted_by_agent_with_their_ends_and_flags(any_store: Store) -> None:
    run, other = rollout_run(any_store, tasks=4), rollout_run(any_store, audit="other")
    put(
        any_store,
        claimed(any_store, run),
        episode_made(run, "y", "t0", checks=[passed(False)], end_reason="blocked", flags=("scored",)),
        episode_made(run, "y", "t1", checks=[passed(False)], end_reason="blocked", flags=("scored",)),
        episode_made(run, "y", "t2", flags=("scored", "too_long")),
        episode_made(run, "y", "t3", checks=[UNKNOWN], end_reason="user_sim_error", trouble="It said nothing."),
        episode_made(run, "x", "t0", end_reason=None, setup=None),
    )
    put(any_store, None, episode_made(other, "x"))
    put(any_store, None, episode_made(run, "x", "t1", checks=[UNKNOWN], simulated=True))
    ends = {"blocked": 2, "finished": 1, "user_sim_error": 1}
    x, y = ask(any_store, agent_episodes, run.audit_id)
    assert x == AgentEpisodes("x", 2, Sums(1, 1, 1, 1, 1, 1), {"finished": 1, "not stated": 1}, {}, True, None, None, 1)
    assert y == AgentEpisodes(
        "y", 4, Sums(3, 1, 3, 1, 1, 3), ends, {"scored": 3, "too_long": 1}, False, "It said nothing.", None, 4
    )
    assert (list(y.ends), list(y.flags)) == (["blocked", "finished", "user_sim_error"], ["scored", "too_long"])
    assert ask(any_store, agent_episodes, "aud_unknown") == []


def test_the_most_frequent_error_is_told_also_of_those_that_agents_made(any_store: Store) -> None:
    run = rollout_run(any_store, tasks=4)
    made = {"t0": ("agent_error", "It broke."), "t1": ("agent_error", "It broke."), "t2": ("agent_error", "A bug.")}
    lost = [(task, "user_sim_error", "It said nothing.") for task in ("t3",)]
    ends = [*((task, *how) for task, how in made.items()), *lost]
    put(any_store, None, *(episode_made(run, "x", task, end_reason=end, trouble=said) for task, end, said in ends))
    for agent, task in (("y", "t0"), ("y", "t1")):
        put(any_store, None, episode_made(run, agent, task, end_reason="user_sim_error", trouble="It said nothing."))
    put(any_store, None, episode_made(run, "y", "t2", end_reason="agent_error", trouble="A bug."))
    x, y = ask(any_store, agent_episodes, run.audit_id)
    assert (x.trouble, x.own_trouble) == ("It broke.", "It broke.")
    assert (y.trouble, y.own_trouble) == ("It said nothing.", "A bug.")


def test_who_did_the_job_is_told_with_the_skill_that_a_set_up_states(any_store: Store) -> None:
    run = rollout_run(any_store, ("x", "y", "z"))
    put(
        any_store,
        claimed(any_store, run),
        episode_made(run, "x", setup='{"skill":0.95}'),
        episode_made(run, "y", checks=[passed(False)], setup='{"skill":null,"model":"m"}'),
        episode_made(run, "z", checks=[passed(False)], setup=None),
    )
    x, y, z = SideTruth(True, 0.95, "x"), SideTruth(False, None, "y"), SideTruth(False, None, "z")
    asked = ["t0:x|y", "t0:y|z", "t0:unknown"]
    truths = ask(any_store, read_pair_truths, run.audit_id, asked)
    assert sorted(truths) == [PairTruth("t0:x|y", x, y), PairTruth("t0:y|z", y, z)]
    successes = ask(any_store, read_successes, run.audit_id, [run.trajectory("x"), run.trajectory("z")])
    assert successes == {run.trajectory("x"): x, run.trajectory("z"): z}


def test_results_of_both_kinds_are_counted_from_a_moment_on(any_store: Store) -> None:
    run, now = rollout_run(any_store, tasks=2), utc_now()
    for age, (agent, task) in enumerate(run.places.values()):
        made = episode_made(run, agent, task)
        put(any_store, None, made._replace(trajectory={**(made.trajectory or {}), "created_at": now - age * MINUTE}))
    with any_store.write() as connection:
        ingest(connection, run.audit_id, "file", [lone(episode("imported", task="t0"), prompt="")])
    since = partial(ask, any_store, run_progress.replies_since, run.run_id)
    assert since(now - 2 * MINUTE) == (3, now - 2 * MINUTE)
    assert since(now) == (1, now)
    assert since(now + MINUTE) == (0, None)


def test_what_abandoned_tries_cost_counts_for_their_task_once(any_store: Store) -> None:
    run = rollout_run(any_store, ("x", "y", "z"), tasks=2)
    other = rollout_run(any_store, ("x", "y"))
    lease = claimed(any_store, run)
    spent = partial(ask, any_store, run_progress.spent_by_task, run.run_id)
    # x is side A of two pairs, y side A of one and B of another, z side B of two.
    tries = [turn(run, "x", 1, est_cost=1.0), turn(run, "y", 1, est_cost=2.0), turn(run, "z", 1, est_cost=4.0)]
    tries += [turn(run, "x", 1, "t1", est_cost=8.0), turn(run, "x", 2, "t1", error="RateLimited")]
    put(any_store, lease, CellResult(None, (*tries, turn(other, "x", 1, est_cost=64.0))))
    nobodys = log_row(run.audit_id, Log(est_cost=128.0), "none", run_id=run.run_id, trajectory_id="trj_in_no_pair")
    with any_store.write() as connection:
        insert_new(connection, JudgeLog, [nobodys])
    assert spent() == {"t0": 7.0, "t1": 8.0}
    put(any_store, lease, episode_made(run, "x", logs=[turn(run, "x", 2, est_cost=16.0)]), episode_made(run, "y"))
    assert spent() == {"t0": 23.0, "t1": 8.0}
    judged = log_row(run.audit_id, Log(est_cost=32.0), "judged", run_id=run.run_id, pair_id="t0:x|y")
    with any_store.write() as connection:
        insert_new(connection, JudgeLog, [judged])
    assert spent() == {"t0": 55.0, "t1": 8.0}


def test_the_cells_of_a_pair_are_found_where_a_run_has_one_only(any_store: Store) -> None:
    run, several = rollout_run(any_store), rollout_run(any_store, ("x", "y", "z"), audit="other")
    assert ask(any_store, cells_of_single_pair, run.run_id) == [
        cell._replace(seq=number) for number, cell in enumerate(run.cells, 1) if cell.pair_id
    ]
    assert ask(any_store, cells_of_single_pair, several.run_id) == []


KILLED = """
import json
import os
import sys

from misjudge_storage.engine import open_store
from misjudge_storage.judging_records import CellResult, store_results
from misjudge_storage.leases import Lease
from misjudge_storage.columns import utc_now

store = open_store(sys.argv[1])
lease, log, trajectory, checks = json.load(sys.stdin)
stamped = [{**row, "created_at": utc_now()} for row in (log, trajectory, *checks)]
with store.write() as connection:
    assert store_results(connection, [CellResult(None, (stamped[0],))], Lease(*lease)).held
with store.write() as connection:
    assert store_results(connection, [CellResult(None, (), stamped[1], tuple(stamped[2:]))], Lease(*lease)).held
    os._exit(9)
"""


def killed_before_the_result(place: str, lease: Lease, log: dict[str, Any], made: CellResult) -> int:
    """Let a process store a call, and die within the transaction that stores the result; its exit code."""
    rows = [log, made.trajectory or {}, *made.checks]
    timeless = [{name: value for name, value in row.items() if name != "created_at"} for row in rows]
    given = json.dumps([list(lease), timeless[0], timeless[1], timeless[2:]])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = [sys.executable, "-c", KILLED, place]
    return subprocess.run(process, input=given, text=True, env=environment, timeout=60).returncode


def test_a_process_that_dies_before_the_result_is_committed_leaves_the_cell_open(any_store: Store) -> None:
    run = rollout_run(any_store)
    lease = claimed(any_store, run)
    place = any_store.engine.url.render_as_string(hide_password=False)
    log = turn(run, "x", 1, reply_key="k1", raw_output="hi")
    assert killed_before_the_result(place, lease, log, episode_made(run, "x")) == 9
    assert numbers(any_store) == {"trajectories": 0, "checks": 0, "judge_logs": 1, "pairs": 0}
    assert ask(any_store, run_progress.progress, run.run_id).done == 0
    assert [cell.seq for cell in ask(any_store, pending, run.run_id, 0, 1)] == [1]
    assert list(ask(any_store, earlier_replies, run.trajectory("x"))) == ["k1"]
    assert put(any_store, lease, episode_made(run, "x")).held
    assert numbers(any_store) == {"trajectories": 1, "checks": 1, "judge_logs": 1, "pairs": 0}

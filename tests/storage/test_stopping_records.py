"""What adaptive stopping reads and notes, on SQLite and on Postgres."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

from sqlalchemy import Connection, text, update

from builders import episode, pair, passed, verdict
from misjudge_storage import stopping_records as stopping
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.judging_records import store_results
from misjudge_storage.run_records import RUNS, cell_ids, create_run
from misjudge_storage.stopping_records import BucketDecision, Place, SparedCells, StopPlan
from misjudge_storage.summary_records import REDUCED, reduce_audit
from misjudge_storage.types import PairKey, Preference
from rollout_builders import RolloutRun, rollout_run
from run_builders import ORDERS, planned_run, result


def left(connection: Connection, run: RolloutRun) -> Counter[str]:
    found = connection.execute(
        text("SELECT kind, COUNT(*) FROM cells WHERE run_id = :run GROUP BY kind"), {"run": run.run_id}
    )
    return Counter({kind: number for kind, number in found})


def test_what_is_asked_about_pairs_comes_with_task_and_bucket_also_of_pairs_that_are_only_planned(
    any_store: Store,
) -> None:
    run = rollout_run(any_store, tasks=2, bucket="near")
    judging = [cell for cell in run.cells if cell.pair_id is not None]
    with any_store.read() as connection:
        found = stopping.questions(connection, run.run_id)
        assert stopping.places(connection, run.audit_id, [str(cell.pair_id) for cell in judging]) == {}
        assert stopping.pairs_asked(connection, [run.run_id]) == {cell.pair_id for cell in judging}
    assert [one.cell.cell_id for one in found] == [cell.cell_id for cell in judging]
    assert {one.place.bucket for one in found} == {"near"}
    assert [one.place.task_id for one in found] == sorted(one.place.task_id for one in found)


def test_the_bucket_of_a_stored_pair_is_the_declared_one_or_that_of_its_gap_of_ability(any_store: Store) -> None:
    keys = {
        "p": PairKey(pair_id="p", ability_bucket="wide"),
        "q": PairKey(pair_id="q", reward_gap=0.05, gap_source="ability"),
        "r": PairKey(pair_id="r", reward_gap=0.1, gap_source="ability"),
        "s": PairKey(pair_id="s"),
    }
    with any_store.write() as connection:
        audit = ensure_audit(connection, "demo")
        records = [
            pair(name, episode("x", task=f"t {name}"), episode("y", task=f"t {name}")).model_copy(update={"pair": key})
            for name, key in keys.items()
        ]
        ingest(connection, audit, "file", records)
        found = stopping.places(connection, audit, list(keys))
        assert found == {
            "p": Place("t p", "wide"), "q": Place("t q", "near"), "r": Place("t r", "wide"), "s": Place("t s", None),
        }  # fmt: skip
        reduce_audit(connection, audit)
        reduced = dict(map(tuple, connection.execute(text(f"SELECT pair_id, ability_bucket FROM {REDUCED}"))))
        assert reduced == {name: place.bucket for name, place in found.items()}, "as a summary has it"


def test_episodes_are_spared_whose_pairs_have_nothing_left(any_store: Store) -> None:
    run = rollout_run(any_store, agents=("x", "y", "z"))
    judging = [cell for cell in run.cells if cell.pair_id is not None]
    with any_store.write() as connection:
        before = left(connection, run)
        assert stopping.served_only(connection, run.run_id) == []
        of_z = [cell for cell in judging if run.trajectory("z") in sides(connection, str(cell.pair_id))]
        stopping.leave_out(connection, run.run_id, [cell.cell_id for cell in of_z])
        spared = stopping.served_only(connection, run.run_id)
        assert [cell.cell_id for cell in spared] == [run.trajectory("z")]
        stopping.leave_out(connection, run.run_id, [cell.cell_id for cell in spared])
        assert len(stopping.pairs_asked(connection, [run.run_id])) == 1
        assert before - left(connection, run) == Counter(pairwise=4, rollout=1)
        stopping.put_back(connection, run.run_id, spared)
        stopping.put_back(connection, run.run_id, spared)
        assert before - left(connection, run) == Counter(pairwise=4)
        seq = connection.scalar(text("SELECT seq FROM cells WHERE cell_id = :cell"), {"cell": run.trajectory("z")})
        assert seq == spared[0].seq > 0, "in its old place"


def sides(connection: Connection, pair_id: str) -> tuple[str, str]:
    query = text("SELECT trajectory_a, trajectory_b FROM planned_pairs WHERE pair_id = :pair")
    a, b = connection.execute(query, {"pair": pair_id}).one()
    return a, b


def test_what_a_run_was_to_do_and_what_was_decided_is_noted_once(any_store: Store) -> None:
    run = planned_run(any_store)
    plan = StopPlan(plan="d")
    spared = [
        SparedCells(kind="pairwise", judge_id="j", bucket="near", cells={"c": "p", "d": "p"}),
        SparedCells(kind="rollout", cells={"e": None}),
    ]
    first = BucketDecision(judge_id="j", bucket="near", tasks=2, low=0.1, high=0.9)
    with any_store.write() as connection:
        assert stopping.planned(connection, run.run_id) is None
        stopping.note_plan(connection, run.run_id, plan)
        stopping.note_decision(connection, run.run_id, first)
        stopping.note_decision(connection, run.run_id, first.model_copy(update={"tasks": 3}))
        stopping.note_decision(connection, run.run_id, first.model_copy(update={"judge_id": "k"}))
        stopping.note_spared(connection, run.run_id, spared)
        stopping.note_spared(connection, run.run_id, spared[:1])
        assert stopping.planned(connection, run.run_id) == plan
        assert sorted(stopping.spared(connection, run.run_id), key=lambda one: one.kind) == spared
        found = stopping.decisions(connection, run.run_id)
    assert [(one.judge_id, one.tasks) for one in found] == [("j", 2), ("k", 2)]


def test_what_the_very_same_request_was_spared_by_a_later_end_is_needless_but_for_what_was_begun(
    any_store: Store,
) -> None:
    run = planned_run(any_store, pairs=3)
    with any_store.write() as connection:
        stopping.note_plan(connection, run.run_id, StopPlan(plan="d"))
        store_results(connection, [result(run, 0)])
        made = {
            name: create_run(connection, run.audit_id, "judge", spec, None, ())
            for name, spec in {"same": "{}", "other plan": "{}", "other spec": '{"a":1}', "unnoted": "{}"}.items()
        }
        for name, plan in {"same": "d", "other plan": "e", "other spec": "d"}.items():
            stopping.note_plan(connection, made[name], StopPlan(plan=plan))
            cells = {cell.cell_id: cell.pair_id for cell in run.cells[:4]}
            stopping.note_spared(connection, made[name], [SparedCells(kind="pairwise", cells=cells)])
        decision = BucketDecision(judge_id="j", bucket="all", tasks=2, low=0.1, high=0.9)
        stopping.note_decision(connection, made["same"], decision)
        assert stopping.same_requests(connection, run.run_id) == [made["same"]]
        assert stopping.same_requests(connection, made["unnoted"]) == []
        assert stopping.needless_by_now(connection, run.run_id) == []
        end(connection, *(made[name] for name in ("other plan", "other spec", "unnoted")))
        assert stopping.needless_by_now(connection, run.run_id) == []
        stopping.leave_out_needless(connection, run.run_id)
        end(connection, made["same"])
        found = stopping.needless_by_now(connection, run.run_id)
        assert {cell.cell_id for cell in found} == {cell.cell_id for cell in run.cells[2:4]}, (
            "p0 was begun, p2 not spared"
        )
        assert stopping.needless_by_now(connection, made["same"]) == []
        stopping.leave_out_needless(connection, run.run_id)
        assert cell_ids(connection, run.run_id) == {cell.cell_id for cell in (*run.cells[:2], *run.cells[4:])}
        assert stopping.decisions(connection, run.run_id) == [decision]
        assert stopping.spared(connection, run.run_id) == stopping.spared(connection, made["same"])


def end(connection: Connection, *run_ids: str) -> None:
    done = {"state": "done", "ended_at": utc_now()}
    connection.execute(update(RUNS).where(RUNS.c.run_id.in_(run_ids)).values(done))


def test_a_run_that_stops_early_is_known_by_its_specification_alone(any_store: Store) -> None:
    run = planned_run(any_store)
    specs = {
        "stops": {"judges": [], "stop": {"width": 0.2, "threshold": None}},
        "not": {"judges": [], "stop": None},
        "old": {"judges": []},
        "says so": {"judges": [{"prompt": 'Answer {"stop":{"width":1}} and stop.'}], "stop": None},
    }
    with any_store.write() as connection:
        made = {
            name: create_run(connection, run.audit_id, "judge", json.dumps(spec, separators=(",", ":")), None, ())
            for name, spec in specs.items()
        }
        assert stopping.stopping_runs(connection, run.audit_id) == [made["stops"]]
        assert stopping.stopping_runs(connection, "another") == []


def test_tasks_are_counted_by_what_came_of_them_as_a_recount_has_it(any_store: Store) -> None:
    winners: dict[str, tuple[Preference | None, Preference | None]] = {
        "p": ("A", "B"),
        "q": ("B", "B"),
        "r": ("A", "A"),
        "s": ("B", None),
        "u": ("tie", "A"),
    }
    task = {"p": "t0", "q": "t0", "r": "t1", "s": "t2", "u": "t3"}
    bucket = {"p": "near", "q": "wide", "r": "near", "s": "near", "u": None}
    records = [
        pair(
            name,
            episode("x", passed(True), task=task[name], trial=number),
            episode("y", passed(False), task=task[name], trial=number),
            *(verdict(winner, order) for winner, order in zip(said, ORDERS, strict=True)),
        ).model_copy(update={"pair": PairKey(pair_id=name, trial=number, ability_bucket=bucket[name])})
        for number, (name, said) in enumerate(winners.items())
    ]
    with any_store.write() as connection:
        audit = ensure_audit(connection, "demo")
        ingest(connection, audit, "file", records)
        reduce_audit(connection, audit)
        found = stopping.task_counts(connection, "wrong_calls")
    by_task: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for name, said in winners.items():
        for winner in said:
            for one in {"", bucket[name] or ""} if winner is not None else ():
                by_task[one, task[name]].append(winner == "B")
    expected: defaultdict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    for (name, _), wrong in by_task.items():
        expected[name][sum(wrong), len(wrong)] += 1
    assert {group.bucket: {(k, n): tasks for k, n, tasks in counts} for group, counts in found.items()} == expected
    assert {group.gap for group in found} == {"", "ability"}

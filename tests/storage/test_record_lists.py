"""Lists of stored things, in a file and on Postgres: every row once, in a stable order, with what of it is made up."""

from __future__ import annotations

import pytest

from builders import JUDGE, episode, lone, messages, pair, passed, satisfied, verdict
from misjudge_storage import tables
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest, insert_new
from misjudge_storage.queries import BY_KIND, count_of
from misjudge_storage.record_lists import Listed, list_audits, list_kind
from misjudge_storage.rows import judge_fingerprint, probe_row
from misjudge_storage.types import Judge, Log, Record

MADE_UP = Judge(label="made up", form="pairwise", simulated=True)
GATE = Judge(label="gate", form="satisfaction", simulated=True)


def put(store: Store, name: str, *records: Record) -> str:
    with store.write() as connection:
        audit = ensure_audit(connection, name)
        ingest(connection, audit, "file", records)
    return audit


def mixed(store: Store) -> str:
    """Pairs and episodes, some of them made up by a judge, some by their agents."""
    real, script = episode("m"), episode("script", simulated=True)
    logs = [
        Log(role=role, simulated=made, raw_output=f"{role} {made}")
        for role in ("agent", "judge", "user_sim", "success_check", "probe")
        for made in (True, False)
    ]
    audit = put(
        store,
        "mixed",
        pair("both", real, script, verdict("A", "AB", judge=MADE_UP)),
        pair("episode", script, real, verdict("A", "AB"), line=2),
        pair("judge", real, episode("n"), verdict("A", "AB"), verdict("A", "AB", judge=MADE_UP), line=3),
        pair("plain", real, episode("n"), line=4, logs=logs),
        lone(episode("lone", satisfaction=[satisfied(0.5, GATE)], simulated=True), 5),
        lone(episode("alone", satisfaction=[satisfied(0.5)]), 6),
    )
    probed = [
        probe_row(
            audit, judge_fingerprint(judge), f"{pair_id} {judge.label}", pair_id, "padding.en.v1:A", verdict("A", "AB")
        )
        for pair_id, judge in (("both", MADE_UP), ("episode", JUDGE), ("judge", MADE_UP), ("judge", JUDGE))
    ]
    with store.write() as connection:
        insert_new(connection, tables.ProbeVerdict, probed)
    return audit


def rows(store: Store, audit: str, kind: str, start: int = 0, limit: int = 100) -> list[Listed]:
    with store.read() as connection:
        return list_kind(connection, audit, kind, start, limit)


def made_up(found: list[Listed], *names: str) -> set[tuple[object, ...]]:
    return {(*(row.shown[name] for name in names), bool(row.judged), row.made_up) for row in found}


def test_each_row_says_who_made_it_up(any_store: Store) -> None:
    audit = mixed(any_store)
    assert made_up(rows(any_store, audit, "pairs"), "pair_id") == {
        ("both", True, True),
        ("episode", False, True),
        ("judge", True, False),
        ("plain", False, False),
    }
    assert made_up(rows(any_store, audit, "verdicts"), "pair_id", "judge") == {
        ("both", "made up", True, True),
        ("episode", "judge", False, True),
        ("judge", "judge", False, False),
        ("judge", "made up", True, False),
        (None, "gate", True, True),
        (None, f"gate@{_other_gate(any_store)}", False, False),
    }
    assert made_up(rows(any_store, audit, "trajectories"), "agent") == {
        (agent, False, agent in {"script", "lone"}) for agent in ("m", "n", "script", "lone", "alone")
    }
    assert made_up(rows(any_store, audit, "logs"), "role", "simulated") == {
        ("agent", True, False, True),
        ("user_sim", True, False, True),
        ("judge", True, True, False),
        ("success_check", True, True, False),
        ("probe", True, True, False),
        *((role, False, False, False) for role in ("agent", "judge", "user_sim", "success_check", "probe")),
    }
    assert made_up(rows(any_store, audit, "probes"), "pair_id", "judge", "variant", "winner") == {
        ("both", "made up", "padding.en.v1:A", "A", True, True),
        ("episode", "judge", "padding.en.v1:A", "A", False, True),
        ("judge", "judge", "padding.en.v1:A", "A", False, False),
        ("judge", "made up", "padding.en.v1:A", "A", True, False),
    }
    for kind in ("pairs", "verdicts", "probes", "trajectories", "logs"):
        found = rows(any_store, audit, kind)
        assert all(row.shown["simulated"] is (bool(row.judged) or row.made_up) for row in found)
    assert made_up(rows(any_store, audit, "tasks"), "task_id") == {("t1", False, False)}


def _other_gate(store: Store) -> str:
    """How the label of the second judge of that name ends."""
    with store.read() as connection:
        label = connection.exec_driver_sql("SELECT label FROM judges WHERE label LIKE 'gate@%%'").scalar_one()
    return str(label).removeprefix("gate@")


def test_audits_count_their_pairs_and_simulated_judges_the_latest_first(any_store: Store) -> None:
    put(any_store, "empty")
    put(any_store, "plain", pair("p", None, None, verdict("A")))
    audit = mixed(any_store)
    with any_store.read() as connection:
        listed, (one,) = list_audits(connection), list_audits(connection, audit)
    assert listed[0] == one
    told = [(row.shown["name"], row.shown["pairs"], row.shown["simulated"]) for row in listed]
    assert told == [("mixed", 4, True), ("plain", 1, False), ("empty", 0, False)]
    assert [(row.judged, row.judges, row.made_up) for row in listed] == [(2, 4, True), (0, 1, False), (0, 0, False)]


@pytest.mark.parametrize("kind", BY_KIND)
def test_pages_hold_every_row_once_in_one_order(any_store: Store, kind: str) -> None:
    audit = mixed(any_store)
    put(any_store, "other", pair("p", None, None, verdict("A")))
    whole = rows(any_store, audit, kind)
    paged = [row for start in range(len(whole) + 1) for row in rows(any_store, audit, kind, start, 1)]
    assert paged == whole
    with any_store.read() as connection:
        assert count_of(connection, BY_KIND[kind][0], audit) == len(whole)


def test_long_texts_are_cut_and_ids_are_not(any_store: Store) -> None:
    agent = episode("x" * 400, task="t" * 400, end_reason="e" * 400, said=messages("hi"))
    log = Log(role="agent", model="m" * 400, error="e" * 400)
    audit = put(any_store, "long", pair("p" * 400, agent, episode("y", passed(True), task="t" * 400), logs=[log]))
    (task,), (logged,) = rows(any_store, audit, "tasks"), rows(any_store, audit, "logs")
    assert (task.shown["task_id"], task.shown["prompt"]) == ("t" * 400, "Book a table.")
    assert (logged.shown["pair_id"], logged.shown["model"], logged.shown["error"]) == ("p" * 400, "m" * 80, "e" * 80)
    ends = {row.shown["agent"]: row.shown["end_reason"] for row in rows(any_store, audit, "trajectories")}
    assert ends == {"x" * 400: "e" * 80, "y": None}

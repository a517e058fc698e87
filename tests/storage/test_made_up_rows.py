"""`simulated` in the views, in a file and on Postgres."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from builders import JUDGE, episode, pair, verdict
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.types import Judge, Record

MADE_UP = Judge(label="made up", form="pairwise", simulated=True)


def put(store: Store, name: str, *records: Record) -> str:
    with store.write() as connection:
        audit = ensure_audit(connection, name)
        ingest(connection, audit, "file", records)
    return audit


def view(store: Store, name: str, audit: str) -> list[dict[str, Any]]:
    with store.read() as connection:
        found = connection.execute(text(f"SELECT * FROM {name} WHERE audit_id = :audit"), {"audit": audit})
        return [dict(row) for row in found.mappings()]


@pytest.mark.parametrize("sides", [(False, False), (True, False), (False, True), (True, True)])
def test_a_row_is_simulated_where_its_judge_or_an_episode_is(any_store: Store, sides: tuple[bool, bool]) -> None:
    x, y = (episode(agent, simulated=made) for agent, made in zip("xy", sides, strict=True))
    both = [verdict("A", order, judge=judge) for judge in (JUDGE, MADE_UP) for order in ("AB", "BA")]
    audit = put(any_store, "a", pair("p1", x, y, *both), pair("p2", x, y, line=2))
    # The same names in another audit, all of them made up.
    put(any_store, "b", pair("p1", episode("x", simulated=True), None, verdict("A", "AB", judge=MADE_UP)))
    of_real = int(any(sides))
    assert {(row["pair_id"], row["judge"]): row["simulated"] for row in view(any_store, "audit_pairs", audit)} == {
        ("p1", "judge"): of_real,
        ("p1", "made up"): 1,
        ("p2", None): of_real,
    }
    calls = [(row["judge"], row["simulated"]) for row in view(any_store, "pairwise", audit)]
    assert sorted(calls) == [("judge", of_real)] * 2 + [("made up", 1)] * 2


@pytest.mark.parametrize("name", ["audit_pairs", "pairwise"])
def test_simulated_is_the_last_column(any_store: Store, name: str) -> None:
    audit = put(any_store, "a", pair("p1", None, None, verdict("A", "AB")))
    (row,) = view(any_store, name, audit)
    assert list(row)[-2:] == ["created_at", "simulated"]


@pytest.mark.parametrize("name", ["audit_pairs", "pairwise"])
def test_what_is_made_up_is_found_without_a_look_at_transcripts(store: Store, name: str) -> None:
    with store.read() as connection:
        query = f"EXPLAIN QUERY PLAN SELECT simulated FROM {name} WHERE audit_id = 'a' AND pair_id = 'p'"
        plan = [step.detail for step in connection.exec_driver_sql(query)]
    assert "SEARCH t USING COVERING INDEX trajectories_simulated (audit_id=? AND trajectory_id=?)" in plan
    assert not [step for step in plan if step.startswith("SCAN") and step.split()[1] in {"t", "j", "p"}]

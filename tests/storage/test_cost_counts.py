"""Calls, tokens and cost as the data base counts them are what plain Python counts of the same rows."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import text

from builders import episode, lone, pair, satisfied, verdict
from misjudge_storage import cost_counts
from misjudge_storage.cost_counts import MOST_SESSIONS, known_sum
from misjudge_storage.engine import Store, open_store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.types import Judge, Log, Record, Scale

JUDGES = [Judge(label=name, form="pairwise", model=f"{name}-m") for name in ("one", "two")]
GATE = Judge(label="one", form="gate", model="one-m", scale=Scale(low=1, high=7, threshold=5))


def drawn_log(draw: random.Random, role: Any) -> Log:
    failed = draw.random() < 0.2
    known = not failed and draw.random() < 0.8
    return Log(
        role=role,
        model=draw.choice(("m", "n")),
        attempt=draw.choice((1, 1, 2, 3)),
        error="timeout" if failed else None,
        input_tokens=draw.randrange(100) if known else None,
        output_tokens=draw.randrange(100) if known or draw.random() < 0.1 else None,
        est_cost=draw.randrange(8) / 4 if known and draw.random() < 0.8 else None,
        price_source=None if failed else draw.choice(("list", "misjudge.toml")),
        simulated=draw.random() < 0.2,
        cached_from="log_before" if draw.random() < 0.1 else None,
        created_at=f"2026-0{draw.randrange(1, 4)}-1{draw.randrange(9)}T10:00:00+00:00",
    )


def drawn_records(seed: int, pairs: int = 30) -> list[Record]:
    draw = random.Random(seed)
    found = []
    for n in range(pairs):
        said = [verdict("A", "AB", judge=judge) for judge in JUDGES[: 1 + n % 2]]
        judged = [drawn_log(draw, "judge") for _ in range(draw.randrange(4))]
        acted = [drawn_log(draw, role) for role in ("agent", "user_sim") if draw.random() < 0.6]
        first, second = (episode(name, task=f"t{n}", logs=acted if name == "x" else ()) for name in ("x", "y"))
        found.append(pair(f"p{n:02}", first, second, *said, line=n, logs=judged))
        scored = episode("z", task=f"t{n}", satisfaction=[satisfied(3.0, GATE)], logs=[drawn_log(draw, "judge")])
        found.append(lone(scored, line=1000 + n))
    return found


def keep(store: Store, records: Sequence[Record]) -> str:
    with store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "test", records)
        other = ensure_audit(connection, "other")
        ingest(connection, other, "test", drawn_records(99, 3))
    return audit


def logs(store: Store, audit: str) -> list[dict[str, Any]]:
    with store.read() as connection:
        query = text("SELECT * FROM judge_logs WHERE audit_id = :audit")
        return [dict(row) for row in connection.execute(query, {"audit": audit}).mappings()]


@pytest.mark.parametrize("seed", range(3))
def test_calls_are_counted_as_a_walk_through_the_logs_counts_them(any_store: Store, seed: int) -> None:
    audit = keep(any_store, drawn_records(seed))
    groups = defaultdict(list)
    for row in logs(any_store, audit):
        groups[row["role"], row["model"], row["judge_id"], row["price_source"], bool(row["simulated"])].append(row)
    with any_store.read() as connection:
        found = {one[:5]: one for one in cost_counts.call_groups(connection, audit)}
    assert found.keys() == groups.keys()
    for key, rows in groups.items():
        made = [row for row in rows if row["cached_from"] is None]
        answered = [row for row in made if row["error"] is None]
        days = sorted(str(row["created_at"])[:10] for row in made)
        one = found[key]
        assert (one.calls, one.cached) == (len(made), len(rows) - len(made))
        assert one.failed == len(made) - len(answered)
        assert one.retries == sum(row["attempt"] > 1 for row in made)
        assert one.input_tokens == known_sum(row["input_tokens"] for row in made)
        assert one.output_tokens == known_sum(row["output_tokens"] for row in made)
        assert one.without_usage == sum(None in (row["input_tokens"], row["output_tokens"]) for row in answered)
        assert one.cost == known_sum(row["est_cost"] for row in made)
        assert one.priced == sum(row["est_cost"] is not None for row in made)
        assert one.without_price == sum(row["est_cost"] is None for row in answered)
        assert (one.first_day, one.last_day) == ((days[0], days[-1]) if days else (None, None))


@pytest.mark.postgres
def test_days_of_calls_are_those_of_utc_whatever_the_zone_of_the_session(new_postgres: Callable[[], str]) -> None:
    store = open_store(new_postgres())
    try:
        audit = keep(store, drawn_records(1))
        days = []
        for zone in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
            with store.read() as connection:
                connection.execute(text(f"SET LOCAL TIME ZONE '{zone}'"))
                found = cost_counts.call_groups(connection, audit)
                days.append([(one.first_day, one.last_day) for one in found])
    finally:
        store.close()
    assert days[0] == days[1] == days[2]
    assert any(first is not None for first, _ in days[0])


def test_uses_add_up_the_calls_of_all_models(any_store: Store) -> None:
    audit = keep(any_store, drawn_records(5))
    groups = defaultdict(list)
    for row in logs(any_store, audit):
        if row["cached_from"] is None:
            groups[row["role"], row["judge_id"], row["price_source"]].append(row)
    with any_store.read() as connection:
        found = cost_counts.uses_of(cost_counts.call_groups(connection, audit))
    assert len(found) == len(groups)
    for use in found:
        rows = groups[use.role, use.judge_id, use.price_source]
        assert use.calls == len(rows)
        assert use.cost == known_sum(row["est_cost"] for row in rows)
        assert use.input_tokens == known_sum(row["input_tokens"] for row in rows)


@pytest.mark.parametrize("seed", range(2))
def test_the_dearest_sessions_of_each_judge_are_those_of_a_sorted_walk(any_store: Store, seed: int) -> None:
    audit = keep(any_store, drawn_records(seed, pairs=60))
    sessions = defaultdict(list)
    for row in logs(any_store, audit):
        if row["role"] == "judge" and row["cached_from"] is None:
            sessions[row["judge_id"], row["pair_id"], row["trajectory_id"]].append(row)
    expected = []
    for key, rows in sessions.items():
        cost = known_sum(row["est_cost"] for row in rows)
        if cost is not None:
            tokens = sum((row["input_tokens"] or 0) + (row["output_tokens"] or 0) for row in rows)
            expected.append(((-cost, -tokens, key[1] or key[2], key[0] or ""), key, len(rows)))
    with any_store.read() as connection:
        found = cost_counts.dearest_sessions(connection, audit)
    for judge_id in {key[0] for _, key, _ in expected}:
        mine = sorted(one for one in expected if one[1][0] == judge_id)[:MOST_SESSIONS]
        said = [one for one in found if one.judge_id == judge_id]
        assert [(one[:3], one.calls) for one in said] == [(key, calls) for _, key, calls in mine]
    assert [one.cost for one in found] == sorted((one.cost for one in found), reverse=True)


def test_no_log_is_no_group(any_store: Store) -> None:
    audit = keep(any_store, [lone(episode("x"))])
    with any_store.read() as connection:
        assert cost_counts.call_groups(connection, audit) == []
        assert cost_counts.dearest_sessions(connection, audit) == []

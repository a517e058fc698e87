"""The reduced audit against the views, row by row, and the plans by which SQLite groups it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count, product
from typing import Any

import pytest
from hypothesis import given, settings
from sqlalchemy import Connection, text

from builders import episode, label, pair, passed, rewarded, verdict
from drawn_audits import OTHER, audits, put, relabel
from misjudge_storage import reduced_kinds as kinds
from misjudge_storage import row_chunks
from misjudge_storage.counted_pairs import CountedPairs
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.ingest import ensure_audit, ingest, insert_new
from misjudge_storage.reduced_audit import REDUCED, reduce_audit
from misjudge_storage.rows import verdict_row
from misjudge_storage.summary_values import Group, PairTotals, Sums
from misjudge_storage.tables import Verdict as VerdictTable
from misjudge_storage.types import GoldLabel, Preference, Record
from sliced_audits import sliced

BY_THE_VIEWS = """
    SELECT
        p.pair_id, p.task_id, p.trial, p.trajectory_a, p.trajectory_b, t.subset, t.category, t.language, v.judge_id,
        g.gold_pref AS gold, g.gold_source, CASE WHEN g.gold_pref IN ('A', 'B') THEN 1 ELSE 0 END AS decidable,
        g.success_a, g.success_b, v.status, v.pref, CASE WHEN v.blind_order = 'both' THEN 1 ELSE 0 END AS both_orders,
        v.calls_a, v.calls_b, v.calls_tie, v.calls_unscored,
        COALESCE(v.ab_a, 0) AS ab_a, COALESCE(v.ab_b, 0) AS ab_b, COALESCE(v.ab_tie, 0) AS ab_tie,
        COALESCE(v.ba_a, 0) AS ba_a, COALESCE(v.ba_b, 0) AS ba_b, COALESCE(v.ba_tie, 0) AS ba_tie,
        g.reward_a - g.reward_b AS reward_lead, ABS(g.reward_a - g.reward_b) AS reward_gap,
        v.score_a, v.score_b, v.score_a - v.score_b AS score_lead, ABS(v.score_a - v.score_b) AS score_gap,
        COALESCE(p.ability_bucket, CASE WHEN p.gap_source = 'ability' THEN
            CASE WHEN p.reward_gap < 0.099999999 THEN 'near' ELSE 'wide' END END) AS ability_bucket,
        a.agent AS agent_a, b.agent AS agent_b, a.base_model AS model_a, b.base_model AS model_b,
        CASE WHEN b.turns > a.turns THEN b.turns ELSE COALESCE(a.turns, b.turns) END AS turns
    FROM pairs p
    JOIN trajectories a ON a.trajectory_id = p.trajectory_a
    JOIN trajectories b ON b.trajectory_id = p.trajectory_b
    JOIN tasks t ON t.audit_id = p.audit_id AND t.task_id = p.task_id
    JOIN pair_gold g ON g.audit_id = p.audit_id AND g.pair_id = p.pair_id
    LEFT JOIN reduced_verdicts v ON v.audit_id = p.audit_id AND v.pair_id = p.pair_id
    WHERE p.audit_id = :audit
"""
NAMES = count(1)


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples, each of which is an audit of its own."""
    on_postgres = request.param == "postgres"
    place = request.getfixturevalue("new_postgres")() if on_postgres else tmp_path_factory.mktemp("reduced") / "any.db"
    store = open_store(place)
    yield store
    store.close()


def rows_of(connection: Connection, query: str, **given_values: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    rows = [dict(row) for row in connection.execute(text(query), given_values).mappings()]
    found = {(row["pair_id"], row["judge_id"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def assert_reduced_as_the_views_say(store: Store, audit: str) -> None:
    with store.read() as connection:
        expected = rows_of(connection, BY_THE_VIEWS, audit=audit)
        reduce_audit(connection, audit)
        found = rows_of(connection, f"SELECT * FROM {REDUCED}")
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        for name, value in row.items():
            shown = found[key][name]
            same = math.isclose(shown, value, abs_tol=1e-9) if isinstance(value, float) else shown == value
            assert same, f"{name} of {key} is {shown!r} where the views say {value!r}"


@settings(max_examples=20)
@given(audits())
def test_a_reduced_audit_says_of_every_pair_and_judge_what_the_views_say(
    shared: Store, made: tuple[list[Record], list[GoldLabel]]
) -> None:
    audit = put(shared, *made[0])
    relabel(shared, audit, *made[1])
    assert_reduced_as_the_views_say(shared, audit)


def test_tasks_models_turns_and_gaps_are_those_of_the_pair(shared: Store) -> None:
    x, y, z = (
        episode(name, passed(name == "x"), rewarded(0.25), trial=0, base_model=model)
        for name, model in zip("xyz", ("m", "n", None), strict=True)
    )
    records = [
        pair("p1", x, y, verdict("A", "AB"), verdict("B", "AB", judge=OTHER), ability_bucket="near"),
        pair("p2", y, z, verdict("A", "AB"), line=2, reward_gap=0.05, gap_source="ability"),
        pair("p3", x, z, line=3, reward_gap=0.5, gap_source="ability"),
    ]
    assert_reduced_as_the_views_say(shared, put(shared, *records))


def test_an_audit_without_pairs_or_judges_has_no_rows(shared: Store) -> None:
    with shared.read() as connection:
        reduce_audit(connection, "aud_it's none")
        assert connection.execute(text(f"SELECT * FROM {REDUCED}")).all() == []
        counts = CountedPairs(connection, everything=True)
        assert counts.totals == PairTotals(0, 0, 0, 0)
        assert not any(said(counts, "aud_it's none")[1:])


def test_calls_are_told_apart_up_to_the_most_that_a_summary_takes(shared: Store) -> None:
    with shared.write() as connection:
        audit = ensure_audit(connection, f"many {next(NAMES)}")
        record = pair("p1", episode("x", passed(True)), episode("y", passed(False)), verdict("A", "AB"))
        ingest(connection, audit, "file", [record])
        judge_id = connection.scalar(text("SELECT judge_id FROM judges WHERE audit_id = :audit"), {"audit": audit})
        many = [verdict(("A", "B", "tie", None)[n % 4], "BA", n) for n in range(kinds.MOST_CALLS - 1)]
        insert_new(connection, VerdictTable, [verdict_row(audit, str(judge_id), "p1", one) for one in many])
    assert_reduced_as_the_views_say(shared, audit)
    with shared.write() as connection:
        insert_new(connection, VerdictTable, [verdict_row(audit, str(judge_id), "p1", verdict("A", "BA", 9999))])
    with shared.read() as connection, pytest.raises(InvalidInput, match="asked 2,048 times about one pair"):
        reduce_audit(connection, audit)


def test_pairs_are_counted_once_however_many_judges_judged_them(shared: Store) -> None:
    sides = episode("x", passed(True)), episode("y", passed(False))
    both = verdict("A", "AB"), verdict("B", "BA", judge=OTHER)
    audit = put(shared, pair("p1", *sides, *both), pair("p2", *sides, line=2, gold=[label("tie")]))
    with shared.read() as connection:
        reduce_audit(connection, audit)
        assert CountedPairs(connection, everything=False).totals == PairTotals(2, 1, 1, 0)


def test_counts_by_bucket_add_up_to_those_of_the_judge(shared: Store) -> None:
    winners: tuple[Preference | None, ...] = ("A", "B", None)
    drawn = list(product(("near", "wide"), (0.0, 0.3, 0.7, 2.0), winners))
    records = [
        pair(
            f"p{n}",
            episode(f"x{n}", rewarded(1 + gap), task=f"t{n % 4}"),
            episode(f"y{n}", rewarded(1), task=f"t{n % 4}"),
            verdict(winner, "AB", score_a=3 + gap if winner else None, score_b=3 if winner else None),
            line=n,
            ability_bucket=bucket,
        )
        for n, (bucket, gap, winner) in enumerate(drawn, 1)
    ]
    audit = put(shared, *records)
    with shared.read() as connection:
        reduce_audit(connection, audit)
        counts = CountedPairs(connection, everything=False)
        ((group, whole),) = counts.groups.items()
        buckets = counts.buckets(graded_rewards=True)
    assert (whole.pairs, whole.decidable, whole.unscored, whole.gold_tie) == (24, 18, 8, 6)
    tasks = [[said[2] for n, said in enumerate(drawn, 1) if n % 4 == task and said[1] and said[2]] for task in range(4)]
    wrong, asked = [said.count("B") for said in tasks], [len(said) for said in tasks]
    products = [
        sum(a * b for a, b in zip(*two, strict=True)) for two in ((wrong, wrong), (wrong, asked), (asked, asked))
    ]
    assert whole.measures["wrong_calls"] == Sums(sum(map(bool, asked)), sum(wrong), sum(asked), *products)
    assert (sum(wrong), sum(asked)) == (6, 12)
    for gap, names in {"ability": ("near", "wide"), "reward": ("near", "small", "medium", "wide")}.items():
        found = [buckets[Group(group.judge_id, None, gap, name)] for name in names]
        assert sum(one.pairs for one in found) == 24
        assert sum(one.measures["wrong_pairs"].k for one in found) == whole.measures["wrong_pairs"].k
    assert [buckets[Group(group.judge_id, None, "judge_score", name)].pairs for name in ("near", "wide")] == [4, 4]


@pytest.mark.parametrize("by", ["judge_id, task_id", "judge_id, task_id, ability_bucket", "judge_id, subset, task_id"])
def test_a_reduced_audit_is_grouped_without_sorting(store: Store, by: str) -> None:
    audit = put(store, pair("p1", None, None, verdict("A", "AB")))
    with store.read() as connection:
        reduce_audit(connection, audit)
        query = f"SELECT {by}, SUM(k_wrong_calls) FROM {REDUCED} WHERE judge_id IS NOT NULL GROUP BY {by}"
        plan = [step.detail for step in connection.execute(text(f"EXPLAIN QUERY PLAN {query}"))]
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_the_calls_of_pairs_are_read_from_an_index_alone(store: Store) -> None:
    statements: list[str] = []
    with store.read() as connection:
        dbapi = connection.connection.dbapi_connection
        assert dbapi is not None
        dbapi.set_trace_callback(statements.append)
        reduce_audit(connection, "aud_1")
        dbapi.set_trace_callback(None)
    with store.read() as connection:
        reduce_audit(connection, "aud_1")
        (adding,) = [said for said in statements if "INSERT INTO audit_rows" in said and "SUM(" in said]
        plan = [step.detail for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {adding}")]
    assert any("verdicts USING COVERING INDEX verdicts_by_pair" in step for step in plan), plan
    assert not any("GROUP BY" in step for step in plan), plan


@pytest.mark.parametrize("rows_at_a_time", [1, 5])
def test_what_is_counted_does_not_hang_on_how_many_rows_are_read_at_a_time(
    any_store: Store, monkeypatch: pytest.MonkeyPatch, rows_at_a_time: int
) -> None:
    audit = put(any_store, *sliced(4))
    with any_store.read() as connection:
        reduce_audit(connection, audit)
        (judge,) = connection.scalars(text("SELECT judge_id FROM judges"))
        at_once = said(CountedPairs(connection, {judge: 0.5}, 6, everything=True), audit)
        monkeypatch.setattr(row_chunks, "ROWS_AT_A_TIME", rows_at_a_time)
        for everything in (True, False):
            assert said(CountedPairs(connection, {judge: 0.5}, 6, everything=everything), audit) == at_once
    assert all(at_once)


def said(counts: CountedPairs, audit: str) -> list[Any]:
    wins = [[round(value, 9) if isinstance(value, float) else value for value in one] for one in counts.wins(audit)]
    by_gap = counts.buckets(graded_rewards=True), counts.gaps(graded_rewards=True)
    of_judges = counts.missing, counts.policies, counts.conflicts
    return [counts.totals, counts.groups, *by_gap, counts.slices(99), *of_judges, wins]

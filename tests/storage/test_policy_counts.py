"""Policies counted in the store: the same on SQLite and on Postgres."""

from __future__ import annotations

from sqlalchemy import text

from builders import episode, label, pair, verdict
from misjudge_storage import tables
from misjudge_storage.counted_pairs import CountedPairs
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest, insert_new
from misjudge_storage.policy_counts import (
    PairCosts,
    PolicyCounts,
    StoredCascade,
    cascade_of_two,
    keep_only,
    pair_costs,
    subsets,
)
from misjudge_storage.rows import judge_fingerprint, log_row
from misjudge_storage.summary_records import REDUCED, reduce_audit
from misjudge_storage.summary_values import Sums
from misjudge_storage.types import Judge, Log, Order, Preference, Record, Scale, Verdict

FIRST, SECOND = (Judge(label=name, form="pairwise", model=name, scale=Scale(low=0, high=5)) for name in "ab")
ONE, TWO = judge_fingerprint(FIRST), judge_fingerprint(SECOND)
ORDERS: tuple[Order, ...] = ("AB", "BA")


def said(judge: Judge, *winners: Preference | None, lead: float = 1) -> list[Verdict]:
    """In each order one verdict."""
    scores = {"A": (1 + lead, 1.0), "B": (1.0, 1 + lead), "tie": (1.0, 1.0)}
    found = []
    for order, winner in zip(ORDERS, winners, strict=False):
        a, b = scores[winner] if winner else (None, None)
        found.append(verdict(winner, order, judge=judge, score_a=a, score_b=b))
    return found


def records() -> list[Record]:
    """Pairs of two tasks, of which A is better but in the last one, where nobody knows."""
    verdicts = [
        [*said(FIRST, "A", "A", lead=3), *said(SECOND, "A", "A")],
        [*said(FIRST, "B", "B", lead=0.5), *said(SECOND, "A", "A")],
        [*said(FIRST, "A", "B"), *said(SECOND, "B", "B")],
        [*said(FIRST, "A", None), *said(SECOND, "tie", "tie")],
        [*said(FIRST, "B"), *said(SECOND, "A", "A")],
        [*said(FIRST, "A", "A")],
    ]
    found = []
    for n, one in enumerate(verdicts):
        sides = [episode(f"{side}{n}", task=f"t{n % 2}") for side in "xy"]
        gold = [] if n == 5 else [label("A")]
        bucket = ("near", "wide", None)[n % 3]
        made = pair(f"p{n}", sides[0], sides[1], *one, gold=gold, line=n + 1, ability_bucket=bucket)
        assert made.task is not None
        subset = ("easy", "hard")[n % 2]
        found.append(made.model_copy(update={"task": made.task.model_copy(update={"subset": subset})}))
    return found


def stored(store: Store) -> str:
    with store.write() as connection:
        audit_id = ensure_audit(connection, "demo")
        ingest(connection, audit_id, "file", records())
        logs = [(ONE, "p0", 0.01, None), (ONE, "p0", 0.02, None), (ONE, "p1", None, None), (ONE, "p2", 0.0, "before")]
        logs += [(TWO, "p0", 0.5, None), (TWO, "p1", 0.7, None)]
        insert_new(
            connection,
            tables.JudgeLog,
            [
                log_row(
                    audit_id, Log(est_cost=cost, cached_from=before), ["log", n], judge_id=judge_id, pair_id=pair_id
                )
                for n, (judge_id, pair_id, cost, before) in enumerate(logs)
            ],
        )
    return audit_id


def test_pairs_are_counted_by_rule(any_store: Store) -> None:
    audit_id = stored(any_store)
    with any_store.read() as connection:
        reduce_audit(connection, audit_id)
        found = CountedPairs(connection, {ONE: 0.5}, 6, everything=False).policies
        plain = CountedPairs(connection, {}, 6, everything=True).policies
    assert found[ONE] == PolicyCounts(
        pairs=5, calls=9, both_pairs=4, both_scored=4, repeated_pairs=0, repeated_calls=0,
        one_call=Sums(2, 4, 8, 8, 16, 34),
        both_orders=Sums(2, 1, 2, 1, 1, 2),
        repeats=Sums(0, 0, 0, 0, 0, 0),
        margins=[Sums(2, 1, 2, 1, 1, 2), *[Sums(1, 0, 1, 0, 0, 1)] * 5],
    )  # fmt: skip
    assert found[TWO].one_call == Sums(2, 2, 8, 4, 12, 40)
    assert all(sums == Sums(0, 0, 0, 0, 0, 0) for sums in found[TWO].margins), "its scale was not stated"
    assert plain[ONE] == found[ONE]._replace(margins=[], both_scored=0)


def test_a_cascade_takes_the_second_verdict_where_the_first_is_not_clear(any_store: Store) -> None:
    audit_id = stored(any_store)
    with any_store.read() as connection:
        reduce_audit(connection, audit_id)
        close = cascade_of_two(connection, ONE, TWO, 1.0)
        loose = cascade_of_two(connection, ONE, TWO, None)
        nothing = cascade_of_two(connection, ONE, "nobody", 1.0)
    assert close == StoredCascade(5, 5, 3, Sums(2, 2, 4, 4, 6, 10))
    assert loose == StoredCascade(5, 5, 2, Sums(2, 3, 4, 5, 7, 10))
    assert nothing == StoredCascade(0, 0, 0, Sums(0, 0, 0, 0, 0, 0))


def test_other_pairs_are_taken_out_by_ability_and_by_subset(any_store: Store) -> None:
    audit_id = stored(any_store)
    for kept, pairs in (
        ({"at": "near"}, {"p0", "p3"}),
        ({"at": "wide"}, {"p1", "p4"}),
        ({"subset": "easy"}, {"p0", "p2", "p4"}),
        ({"at": "near", "subset": "hard"}, {"p3"}),
        ({}, {f"p{n}" for n in range(6)}),
    ):
        with any_store.read() as connection:
            reduce_audit(connection, audit_id)
            keep_only(connection, **kept)
            assert set(connection.scalars(text(f"SELECT pair_id FROM {REDUCED}"))) == pairs
    with any_store.read() as connection:
        assert subsets(connection, audit_id) == {"easy", "hard"}


def test_costs_are_of_the_pairs_of_which_a_call_has_a_price(any_store: Store) -> None:
    audit_id = stored(any_store)
    with any_store.read() as connection:
        found = pair_costs(connection, audit_id)
    assert {judge: (one.pairs, round(one.cost, 9)) for judge, one in found.items()} == {
        ONE: PairCosts(1, 0.03),
        TWO: PairCosts(2, 1.2),
    }

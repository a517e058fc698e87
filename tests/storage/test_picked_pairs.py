"""Pairs that only labels of the chosen stream make decidable."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import text

from builders import episode, label, messages, pair, passed, rewarded, verdict
from misjudge_storage import review_records
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.label_records import Answer, add_answers
from misjudge_storage.picked_pairs import PICKED, Picked, count_distinct, count_picked, hold_picked, leave_out_picked
from misjudge_storage.reduced_audit import PAIR_KEY, REDUCED, SEGMENTS, reduce_audit
from misjudge_storage.review_records import Review, Stream
from misjudge_storage.types import Check, GoldLabel, Record

SAID = messages("hi", "done")
NOW = datetime(2027, 1, 1, tzinfo=UTC)


def one(name: str, a: Sequence[Check] = (), b: Sequence[Check] = (), gold: Sequence[GoldLabel] = ()) -> Record:
    """A pair of a task of its own, judged in both orders."""
    first, second = episode("x", *a, task=name, said=SAID), episode("y", *b, task=name, said=SAID)
    judged = pair(name, first, second, verdict("A", "AB"), verdict("B", "BA"))
    return judged.model_copy(update={"gold": tuple(gold)})


def stored(store: Store, records: Sequence[Record]) -> str:
    with store.write() as connection:
        audit_id = ensure_audit(connection, "demo")
        numbered = [record.model_copy(update={"line": n}) for n, record in enumerate(records, 1)]
        ingest(connection, audit_id, "file", numbered)
    return audit_id


def labelled(store: Store, audit_id: str, stream: Stream, answers: dict[str, Answer]) -> None:
    with store.write() as connection:
        reviews = [answer.review for answer in answers.values()]
        review_records.give_out(connection, audit_id, reviews)
        add_answers(connection, audit_id, f"of {stream}", list(answers.values()), "page")


def answer(name: str, stream: Stream, **said: str) -> Answer:
    review = Review(f"rev {name} {stream}", name, f"of {stream}", stream, None, "AB", NOW)
    return Answer(review, **{"pref": "A", **said})  # type: ignore[arg-type]


def held(store: Store, audit_id: str) -> set[str]:
    with store.read() as connection:
        reduce_audit(connection, audit_id)
        found = hold_picked(connection, audit_id)
        key = PAIR_KEY[connection.dialect.name]
        query = f"SELECT p.pair_id FROM pairs p JOIN {PICKED} k ON k.pair_no = {key}"
        names = set(connection.scalars(text(query)))
        assert found == bool(names)
        return names


def test_picked_is_what_nothing_but_labels_of_the_chosen_stream_makes_decidable(any_store: Store) -> None:
    differ: dict[str, tuple[Sequence[Check], Sequence[Check], Sequence[GoldLabel]]] = {
        "plain": ((), (), ()),
        "one side verified": ([passed(True)], (), ()),
        "both verified alike": ([passed(True)], [passed(True)], ()),
        "both verified": ([passed(True)], [passed(False)], ()),
        "rewarded": ([rewarded(0.9)], [rewarded(0.1)], ()),
        "rewarded alike": ([rewarded(0.9)], [rewarded(0.9)], ()),
        "imported label": ((), (), [label("A")]),
        "imported tie": ((), (), [label("tie")]),
        "label of the data": ((), (), [label("B", "data", "label")]),
        "drawn, too": ((), (), ()),
        "untouched": ((), (), ()),
    }
    audit_id = stored(any_store, [one(name, *facts) for name, facts in differ.items()])
    labelled(any_store, audit_id, "chosen", {name: answer(name, "chosen") for name in differ if name != "untouched"})
    labelled(any_store, audit_id, "random", {"drawn, too": answer("drawn, too", "random")})
    assert held(any_store, audit_id) == {
        "plain",
        "one side verified",
        "both verified alike",
        "rewarded alike",
        "imported tie",
    }


def test_success_that_a_review_of_a_chosen_pair_says_picks_every_pair_of_the_episode(any_store: Store) -> None:
    made = {name: episode(name, task="t", said=SAID) for name in "xyz"}
    records = [pair("xy", made["x"], made["y"]), pair("xz", made["x"], made["z"]), pair("yz", made["y"], made["z"])]
    audit_id = stored(any_store, records)
    both = {"success_a": "yes", "success_b": "no"}
    labelled(any_store, audit_id, "chosen", {"xy": answer("xy", "chosen", **both)})
    assert held(any_store, audit_id) == {"xy", "xz", "yz"}


def test_without_reviews_nothing_is_picked(any_store: Store) -> None:
    audit_id = stored(any_store, [one("p", gold=[label("A")])])
    assert held(any_store, audit_id) == set()


def test_picked_pairs_are_counted_by_judge_and_can_be_left_out(any_store: Store) -> None:
    audit_id = stored(any_store, [one("p"), one("q"), one("r", [passed(True)], [passed(False)])])
    labelled(any_store, audit_id, "chosen", {"p": answer("p", "chosen"), "q": answer("q", "chosen", pref="tie")})
    with any_store.read() as connection:
        reduce_audit(connection, audit_id)
        assert hold_picked(connection, audit_id)
        assert [*count_picked(connection).values()] == [Picked(pairs=1, calls=2)] and count_distinct(connection) == 1
        leave_out_picked(connection)
        assert set(connection.scalars(text(f"SELECT pair_id FROM {REDUCED}"))) == {"r"}
        assert connection.execute(text(f"SELECT task_id, pairs FROM {SEGMENTS}")).all() == [("r", 1)]
        assert count_picked(connection) == {} and count_distinct(connection) == 0

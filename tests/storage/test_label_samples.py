"""Which labels count as a sample: those of the random stream, and what nobody drew as if it had no label."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, text

from builders import JUDGE, episode, label, messages, pair, passed, rewarded, verdict
from misjudge_storage import correction_counts as corrections
from misjudge_storage.checklist_counts import release_facts
from misjudge_storage.correction_counts import Basis
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.label_records import Answer, add_answers
from misjudge_storage.reduced_episodes import EPISODES
from misjudge_storage.review_records import Review, Stream, give_out
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.summary_records import reduce_audit
from misjudge_storage.types import Check, Done, GoldLabel, Preference, Record

JUDGE_ID = judge_fingerprint(JUDGE)
SAID = messages("hi", "done")
STREAMS: tuple[Stream, ...] = ("random", "random", "random", "chosen", "chosen")


def judged(n: int, *checks: Check, gold: Sequence[GoldLabel] = ()) -> Record:
    """Pair `pN`, of which the judge says A; both sides have these checks."""
    sides = [episode(agent, *checks, task=f"t{n}", said=SAID) for agent in "xy"]
    return pair(f"p{n}", sides[0], sides[1], verdict("A", "AB"), gold=gold, line=n + 1)


def put(connection: Connection, records: Sequence[Record]) -> str:
    audit_id = ensure_audit(connection, "demo")
    ingest(connection, audit_id, "file", records)
    return audit_id


def labelled(
    connection: Connection,
    audit_id: str,
    n: int,
    stream: Stream,
    pref: Preference = "A",
    reviewer: str = "ann",
    done: tuple[Done, Done] = ("yes", "no"),
) -> None:
    """What a reviewer says of pair `pN`, and whether A and B did the task."""
    token, weight = f"rev_{n}_{reviewer}", 2.0 if stream == "random" else None
    given = Review(token, f"p{n}", reviewer, stream, weight, "AB", datetime(2027, 1, 1, tzinfo=UTC))
    give_out(connection, audit_id, [given])
    add_answers(connection, audit_id, reviewer, [Answer(given, pref, *done)], "page")


def pair_basis(connection: Connection, audit_id: str) -> Basis:
    reduce_audit(connection, audit_id)
    return corrections.pair_basis(connection, audit_id, JUDGE_ID)


def test_random_labels_are_a_sample_and_chosen_ones_count_as_none(any_store: Store) -> None:
    with any_store.write() as connection:
        audit_id = put(connection, [judged(n) for n in range(8)])
        for n, stream in enumerate(STREAMS):
            labelled(connection, audit_id, n, stream, "B" if n in {0, 3} else "A")
        assert pair_basis(connection, audit_id) == Basis(labelled=3, unlabelled=5, otherwise=0)
        x, y = corrections.agent_wins(connection, audit_id, JUDGE_ID)
        assert (x.agent, x.cells.totals) == ("x", (2, 0, 1, 0, 5, 0))
        assert (y.agent, y.cells.totals) == ("y", (0, 1, 0, 2, 0, 5))


def test_chosen_labels_alone_are_no_sample(any_store: Store) -> None:
    with any_store.write() as connection:
        audit_id = put(connection, [judged(n) for n in range(4)])
        labelled(connection, audit_id, 0, "chosen")
        assert pair_basis(connection, audit_id) == Basis(0, 4, 0)
        assert corrections.agent_wins(connection, audit_id, JUDGE_ID) == []


def test_imported_labels_are_taken_for_a_sample_only_where_none_was_drawn(any_store: Store) -> None:
    def basis() -> Basis:
        with any_store.read() as connection:  # which keeps no temporary table
            return pair_basis(connection, audit_id)

    with any_store.write() as connection:
        audit_id = put(connection, [judged(n, gold=[label("A")] if n < 3 else []) for n in range(8)])
    assert basis() == Basis(3, 5, 0)
    with any_store.write() as connection:
        labelled(connection, audit_id, 1, "chosen")
    assert basis() == Basis(2, 6, 0)
    with any_store.write() as connection:
        labelled(connection, audit_id, 0, "random", reviewer="bob")
        labelled(connection, audit_id, 5, "random")
    assert basis() == Basis(2, 6, 0)


@pytest.mark.parametrize(
    ("checks", "gold"),
    [
        ([passed(True)], []),
        ([passed(True, "label")], []),
        ([passed(True, "reward")], []),
        ([rewarded(0.5)], []),
        ([], [label("B", "data", "label")]),
    ],
)
def test_what_is_known_without_people_rests_on_no_judge_also_where_they_say_so(
    any_store: Store, checks: list[Check], gold: list[GoldLabel]
) -> None:
    with any_store.write() as connection:
        known = [judged(n, *checks, gold=gold) for n in range(3)]
        audit_id = put(connection, [*known, *(judged(n) for n in range(3, 7))])
        labelled(connection, audit_id, 0, "random")
        labelled(connection, audit_id, 1, "chosen")
        labelled(connection, audit_id, 3, "random")
        assert pair_basis(connection, audit_id) == Basis(labelled=1, unlabelled=3, otherwise=3)


def test_random_pairs_that_people_disagree_on_are_neither_and_chosen_ones_count_as_unlabelled(any_store: Store) -> None:
    with any_store.write() as connection:
        audit_id = put(connection, [judged(n) for n in range(5)])
        labelled(connection, audit_id, 0, "random", "A")
        labelled(connection, audit_id, 0, "random", "B", "bob")
        labelled(connection, audit_id, 1, "chosen", "A")
        labelled(connection, audit_id, 1, "chosen", "B", "bob")
        labelled(connection, audit_id, 2, "random", "A")
        assert pair_basis(connection, audit_id) == Basis(1, 3, 0)


def test_episodes_count_as_a_sample_by_the_random_stream_too(any_store: Store) -> None:
    model = passed(True, "model")
    with any_store.write() as connection:
        audit_id = put(connection, [judged(n, model, *([passed(False)] if n == 3 else [])) for n in range(5)])
        labelled(connection, audit_id, 0, "random")
        labelled(connection, audit_id, 1, "chosen")
        labelled(connection, audit_id, 3, "random")
        assert corrections.episode_basis(connection, audit_id) == Basis(labelled=2, unlabelled=6, otherwise=2)
        everybody, *_ = corrections.checked_successes(connection, audit_id)
        assert everybody.cells.totals == (1, 0, 1, 0, 6, 0)


def test_what_a_reviewer_took_back_is_no_label_in_any_count(any_store: Store) -> None:
    model = passed(True, "model")
    with any_store.write() as connection:
        audit_id = put(connection, [judged(n, model, *([passed(False)] if n == 2 else [])) for n in range(4)])
        for n in range(3):
            labelled(connection, audit_id, n, "random")
        assert corrections.episode_basis(connection, audit_id) == Basis(labelled=4, unlabelled=2, otherwise=2)
        for n in (1, 2):
            labelled(connection, audit_id, n, "random", done=("unsure", "unsure"))
        assert corrections.episode_basis(connection, audit_id) == Basis(labelled=2, unlabelled=4, otherwise=2)
        facts = release_facts(connection, audit_id)
        assert (facts.pairs_by_people, facts.episodes_by_people) == (3, 2)
        reduce_audit(connection, audit_id)
        known = connection.execute(text(f"SELECT trajectory_id, success FROM {EPISODES} ORDER BY 1")).all()
        viewed = connection.execute(text("SELECT trajectory_id, success FROM trajectory_outcomes ORDER BY 1")).all()
        assert known == viewed and [success for _, success in known].count(None) == 4


def test_imported_checks_of_people_count_only_where_none_was_drawn(any_store: Store) -> None:
    model, human = passed(True, "model"), passed(True, "human")
    with any_store.write() as connection:
        audit_id = put(connection, [judged(n, model, *([human] if n < 2 else [])) for n in range(5)])
        assert corrections.episode_basis(connection, audit_id) == Basis(4, 6, 0)
        labelled(connection, audit_id, 2, "random")
        assert corrections.episode_basis(connection, audit_id) == Basis(2, 8, 0)

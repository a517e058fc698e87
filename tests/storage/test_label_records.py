"""Reviews and the labels that come of them, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from builders import SATISFACTION, episode, label, messages, pair, passed, satisfied, verdict
from misjudge_storage import label_records, review_records
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.label_records import Answer, Outcome, add_answers
from misjudge_storage.review_records import Holder, Review, Stream, Vote
from misjudge_storage.types import Done, Episode, Order, Preference, Record

SAID = messages("hi", "done")
NOW = datetime(2027, 1, 1, tzinfo=UTC)


def three_agents(task: str = "t1") -> list[Record]:
    """Every two of three agents, so that each episode is in two pairs: p1 x–y, p2 x–z, p3 y–z."""
    made = {name: episode(name, task=task, said=messages("hi", name)) for name in "xyz"}
    names = {"p1": ("x", "y"), "p2": ("x", "z"), "p3": ("y", "z")}
    return [pair(one, made[a], made[b], line=n) for n, (one, (a, b)) in enumerate(names.items(), 1)]


def put(store: Store, records: Sequence[Record]) -> str:
    with store.write() as connection:
        audit_id = ensure_audit(connection, "demo")
        ingest(connection, audit_id, "file", records)
    return audit_id


def review(pair_id: str, reviewer: str = "ann", stream: Stream = "random", order: Order = "AB") -> Review:
    weight = 2.0 if stream == "random" else None
    return Review(f"rev_{pair_id}_{reviewer}", pair_id, reviewer, stream, weight, order, NOW)


def said(store: Store, audit_id: str, *answers: Answer) -> list[Outcome]:
    with store.write() as connection:
        review_records.give_out(connection, audit_id, [one.review for one in answers])
        return add_answers(connection, audit_id, answers[0].review.reviewer, answers, "page")


def checks(store: Store) -> list[tuple[object, ...]]:
    query = """
        SELECT t.agent, c.verifier, c.passed, c.stream, c.weight, c.review FROM checks c
        JOIN trajectories t ON t.trajectory_id = c.trajectory_id ORDER BY c.created_at, t.agent
    """
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def test_pairs_to_review_are_told_apart_by_what_is_to_be_learnt(any_store: Store) -> None:
    lower = SATISFACTION.model_copy(
        update={"label": "low", "scale": SATISFACTION.scale.model_copy(update={"better": "lower", "threshold": 0.2})}
    )
    failed, fine = passed(False), passed(True)
    records = [
        pair("deceived", episode("x", failed, task="t0", said=SAID, satisfaction=[satisfied(0.8)]), _other("t0")),
        pair(
            "by a low score",
            _other("t1"),
            episode("x", failed, task="t1", said=SAID, satisfaction=[satisfied(0.2, lower)]),
        ),
        pair("seen through", episode("x", failed, task="t2", said=SAID, satisfaction=[satisfied(0.79)]), _other("t2")),
        pair("did it", episode("x", fine, task="t3", said=SAID, satisfaction=[satisfied(0.9)]), _other("t3")),
        _judged("turned", "t4", "A", "B"),
        _judged("one tie", "t5", "A", "tie"),
        _judged("near by name", "t6", "A", "A", ability_bucket="near"),
        _judged("near by gap", "t7", "A", "A", reward_gap=-0.05, gap_source="ability"),
        _judged("wide", "t8", "A", "A", reward_gap=0.5, gap_source="ability"),
        pair("no transcript", episode("x", task="t9"), episode("y", task="t9", said=SAID)),
    ]
    numbered = [record.model_copy(update={"line": n}) for n, record in enumerate(records, 1)]
    audit_id = put(any_store, numbered)
    with any_store.read() as connection:
        found = review_records.reviewable_pairs(connection, audit_id)
        names = review_records.judged_names(connection, audit_id)
    assert {one.pair_id: one.interest for one in found} == {
        **{"deceived": 0, "by a low score": 0, "turned": 1, "near by name": 2, "near by gap": 2},
        **{"seen through": 3, "did it": 3, "one tie": 3, "wide": 3},
    }
    assert names >= {"x", "y", "judge", "judge-m", "low"}


def _other(task: str) -> Episode:
    return episode("y", task=task, said=SAID)


def _judged(name: str, task: str, first: Preference, second: Preference, **key: Any) -> Record:
    sides = [episode(agent, task=task, said=SAID) for agent in "xy"]
    return pair(name, sides[0], sides[1], verdict(first, "AB"), verdict(second, "BA"), **key)


def test_a_label_says_how_it_came_about(any_store: Store) -> None:
    audit_id = put(any_store, three_agents())
    assert said(any_store, audit_id, Answer(review("p1", order="BA"), "A")) == ["new"]
    assert said(any_store, audit_id, Answer(review("p2", stream="chosen"), "tie")) == ["new"]
    query = "SELECT pair_id, labeller, pref, source, stream, weight, order_shown, came_by FROM gold_labels ORDER BY 1"
    with any_store.read() as connection:
        assert connection.execute(text(query)).all() == [
            ("p1", "ann", "A", "human", "random", 2.0, "BA", "page"),
            ("p2", "ann", "tie", "human", "chosen", None, "AB", "page"),
        ]
        given = review_records.reviews_of(connection, audit_id)
        assert [one.pair_id for one in given] == ["p1", "p2"] and given[0] == review("p1", order="BA")
        assert review_records.read_reviews(connection, audit_id, ["rev_p2_ann", "rev_x"]) == {"rev_p2_ann": given[1]}
        assert review_records.people_of(connection, audit_id) == ["ann"]


def test_an_episode_is_in_the_random_stream_by_the_first_of_its_pairs_alone(any_store: Store) -> None:
    audit_id = put(any_store, three_agents())
    said(any_store, audit_id, Answer(review("p2"), "A", "yes", "no"))
    said(any_store, audit_id, Answer(review("p1", stream="chosen"), "A", "yes", "no"))
    said(any_store, audit_id, Answer(review("p3"), "A", "yes", "no"))
    assert checks(any_store) == [
        ("x", "ann", True, "chosen", None, "rev_p2_ann"),
        ("z", "ann", False, "random", 2.0, "rev_p2_ann"),
        ("x", "ann", True, "chosen", None, "rev_p1_ann"),
        ("y", "ann", False, "chosen", None, "rev_p1_ann"),
        ("y", "ann", True, "chosen", None, "rev_p3_ann"),
        ("z", "ann", False, "chosen", None, "rev_p3_ann"),
    ]
    with any_store.read() as connection:
        outcomes = connection.execute(text("SELECT agent, success FROM trajectory_outcomes ORDER BY agent")).all()
    assert outcomes == [("x", 1), ("y", 1), ("z", 0)]


def test_what_was_said_before_adds_nothing_also_where_pairs_share_an_episode(any_store: Store) -> None:
    audit_id = put(any_store, three_agents())
    sheet = [Answer(review("p1"), "A", "yes", "no"), Answer(review("p2"), "B", "no", "yes")]
    assert said(any_store, audit_id, *sheet) == ["new", "new"]
    before = checks(any_store)
    assert said(any_store, audit_id, *sheet) == ["same", "same"]
    assert checks(any_store) == before
    assert said(any_store, audit_id, sheet[0]._replace(success_b="yes")) == ["correction"]
    assert [one[:3] for one in checks(any_store)[len(before) :]] == [("x", "ann", True), ("y", "ann", True)]


def success_of(store: Store, agent: str) -> tuple[object, ...]:
    with store.read() as connection:
        query = f"SELECT success, success_source FROM trajectory_outcomes WHERE agent = '{agent}'"
        return tuple(connection.execute(text(query)).one())


def test_whoever_is_unsure_takes_back_what_they_said_and_nothing_that_others_said(any_store: Store) -> None:
    def one(agent: str) -> Episode:
        return episode(agent, passed(False), said=SAID)

    audit_id = put(any_store, [pair("p1", one("x"), one("y"))])
    assert said(any_store, audit_id, Answer(review("p1"), "A", "unsure")) == ["new"]
    assert len(checks(any_store)) == 2  # nothing was said that could be taken back
    said(any_store, audit_id, Answer(review("p1", "bob"), "A", "no", "yes"))
    assert said(any_store, audit_id, Answer(review("p1"), "A", "yes", "yes")) == ["correction"]
    assert success_of(any_store, "x") == (1, "human")
    assert said(any_store, audit_id, Answer(review("p1"), "A", "unsure")) == ["correction"]
    assert success_of(any_store, "x") == (0, "human") and success_of(any_store, "y") == (1, "human")
    before = checks(any_store)
    assert said(any_store, audit_id, Answer(review("p1"), "A", "unsure")) == ["same"]
    assert checks(any_store) == before
    said(any_store, audit_id, Answer(review("p1", "bob"), "A", "unsure", "unsure"))
    assert success_of(any_store, "x") == (0, "verifier") and success_of(any_store, "y") == (1, "human")
    assert said(any_store, audit_id, Answer(review("p1"), "A", "yes")) == ["correction"]
    assert success_of(any_store, "x") == (1, "human")
    with any_store.read() as connection:
        assert label_records.answer_to(connection, audit_id, review("p1")) == Answer(review("p1"), "A", "yes", "yes")
        assert label_records.answer_to(connection, audit_id, review("p1", "bob")) == Answer(
            review("p1", "bob"), "A", "unsure", "unsure"
        )


def test_what_was_said_last_of_an_episode_counts_in_whichever_pair_it_was_said(any_store: Store) -> None:
    audit_id = put(any_store, three_agents())
    one, other = Answer(review("p1"), "A", "yes"), Answer(review("p2"), "B", "no")
    for answers, outcomes, success in (
        ([one], ["new"], 1),
        ([other], ["new"], 0),
        ([one], ["correction"], 1),
        ([one], ["same"], 1),
        ([other._replace(success_a="unsure")], ["correction"], None),
        ([one, other], ["same", "correction"], 0),
        ([one, other], ["same", "same"], 0),
    ):
        assert said(any_store, audit_id, *answers) == outcomes
        assert success_of(any_store, "x")[0] == success


def test_a_correction_counts_whatever_the_clock_says(any_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    audit_id = put(any_store, three_agents())
    clock = utc_now()
    monkeypatch.setattr(label_records, "utc_now", lambda: clock)
    said_in_turn: list[tuple[Preference, Done]] = [("A", "yes"), ("B", "no"), ("A", "unsure"), ("tie", "no")]
    for pref, done in said_in_turn:
        said(any_store, audit_id, Answer(review("p1"), pref, done))
        clock -= timedelta(hours=1)
        with any_store.read() as connection:
            assert review_records.votes_of(connection, audit_id) == [Vote("p1", "ann", pref)]
            (gold,) = connection.execute(text("SELECT gold_pref FROM pair_gold WHERE pair_id = 'p1'")).all()
            outcome = "SELECT success FROM trajectory_outcomes WHERE agent = 'x'"
            assert gold == (pref,) and connection.scalar(text(outcome)) == {"yes": 1, "no": 0, "unsure": None}[done]
    with any_store.read() as connection:
        assert connection.scalar(text("SELECT COUNT(DISTINCT label_id) FROM gold_labels")) == 4


def test_an_imported_label_of_the_same_person_keeps_its_row(any_store: Store) -> None:
    records = three_agents()
    labelled = [records[0].model_copy(update={"gold": (label("A"),)}), *records[1:]]
    audit_id = put(any_store, labelled)
    assert said(any_store, audit_id, Answer(review("p1"), "A")) == ["correction"]
    assert said(any_store, audit_id, Answer(review("p1"), "A")) == ["same"]
    with any_store.write() as connection:
        assert set(ingest(connection, audit_id, "file", labelled).added.values()) == {0}
        assert review_records.votes_of(connection, audit_id) == [Vote("p1", "ann", "A")]


def test_what_was_not_shown_is_given_to_nobody_but_what_was_labelled_meanwhile_stays(any_store: Store) -> None:
    audit_id = put(any_store, three_agents())
    mine, other = [review(one) for one in ("p1", "p2", "p3")], review("p1", "bob")
    with any_store.write() as connection:
        review_records.give_out(connection, audit_id, [*mine, other])
    said(any_store, audit_id, Answer(mine[1], "A"))
    with any_store.write() as connection:
        review_records.take_back(connection, mine)
        assert {*review_records.reviews_of(connection, audit_id)} == {mine[1], other}
        review_records.take_back(connection, [])
        assert {*review_records.holders_of(connection, [one.token for one in (*mine, other)]).items()} == {
            (mine[1].token, Holder(audit_id, "ann")),
            (other.token, Holder(audit_id, "bob")),
        }


def test_two_at_once_are_given_no_pair_twice(any_store: Store) -> None:
    records = [_judged(f"p{n}", f"t{n}", "A", "A").model_copy(update={"line": n + 1}) for n in range(40)]
    audit_id = put(any_store, records)

    def take(reviewer: str) -> None:
        for _ in range(20):
            with any_store.write() as connection:
                review_records.lock_reviews(connection, audit_id)
                taken = {one.pair_id for one in review_records.reviews_of(connection, audit_id)}
                free = next(f"p{n}" for n in range(40) if f"p{n}" not in taken)
                review_records.give_out(connection, audit_id, [review(free, reviewer)])

    with ThreadPoolExecutor(2) as people:
        list(people.map(take, ("ann", "bob")))
    with any_store.read() as connection:
        given = review_records.reviews_of(connection, audit_id)
    assert len(given) == 40 and len({one.pair_id for one in given}) == 40
    assert sorted(one.reviewer for one in given) == ["ann"] * 20 + ["bob"] * 20

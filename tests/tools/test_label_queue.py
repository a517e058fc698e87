"""Which pairs a reviewer gets: two streams, lots that nobody chooses, some pairs for two people, never one for both."""

from __future__ import annotations

import gc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from weakref import ref

import pytest
from sqlalchemy import event

from builders import pair
from label_parts import answered, at_work, label_next, of_every_interest, review_pairs, with_secret
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import open_store
from misjudge_storage.review_records import Review, Reviewable, Vote
from misjudge_tools.deps import Deps
from misjudge_tools.labelling import drawing
from misjudge_tools.labelling.drawing import (
    DOUBLED_SHARE,
    RANDOM_SHARE,
    WEIGHTS,
    Drawn,
    drawn,
    is_doubled,
    stream_of_turn,
)
from misjudge_tools.labelling.giving import (
    NO_PAIRS,
    NOTHING_LEFT,
    blind_pairs,
    give_pairs,
    lines_of,
    session,
    standing_of,
    why_nothing,
)
from misjudge_tools.labelling.queue import HELD_FOR, Reviewer, Standing, lined_up, next_reviews, number_left, unanswered
from misjudge_tools.labelling.recording import record_answers
from operations import rows, stored

NOW = datetime(2027, 1, 1, tzinfo=UTC)
NOTHING = Standing((), ())


def pairs(number: int) -> list[Reviewable]:
    return [Reviewable(f"p{n}", n % 4) for n in range(number)]


def reviewer(name: str = "ann", now: datetime = NOW) -> Reviewer:
    return Reviewer(name, "aud_1", "s", now)


def given_all(number: int, name: str = "ann", standing: Standing = NOTHING) -> list[Review]:
    """All that a reviewer is given of so many pairs."""
    return next_reviews(lined_up("s", pairs(number)), standing, reviewer(name), number)


def test_half_of_all_pairs_are_random_and_a_fifth_go_to_two_people() -> None:
    lots = [drawn("s", f"p{n}") for n in range(10_000)]
    random = [lot for lot in lots if lot.stream == "random"]
    assert len(random) / 10_000 == pytest.approx(RANDOM_SHARE, abs=0.02)
    assert WEIGHTS == {"random": 1 / RANDOM_SHARE, "chosen": None}
    assert all(0 <= lot.place < 1 for lot in lots)
    assert sum(is_doubled("s", f"p{n}") for n in range(10_000)) / 10_000 == pytest.approx(DOUBLED_SHARE, abs=0.02)
    both = sum(is_doubled("s", f"p{n}") and drawn("s", f"p{n}").stream == "random" for n in range(10_000))
    assert both / 10_000 == pytest.approx(RANDOM_SHARE * DOUBLED_SHARE, abs=0.02)


def test_of_every_two_turns_one_is_random_and_nobody_can_tell_which() -> None:
    turns = [stream_of_turn("s", "ann", turn) for turn in range(400)]
    assert all({*turns[n : n + 2]} == {"random", "chosen"} for n in range(0, 400, 2))
    assert 60 < turns[::2].count("random") < 140
    assert turns != [stream_of_turn("s", "bob", turn) for turn in range(400)]


def test_the_first_of_the_random_stream_are_any_pairs_and_the_first_chosen_ones_the_most_informative() -> None:
    lines = lined_up("s", pairs(400)).in_order
    interest = {one.pair_id: one.interest for one in pairs(400)}
    places = [drawn("s", one).place for one in lines["random"]]
    assert places == sorted(places)
    assert {interest[one] for one in lines["random"][:40]} == {0, 1, 2, 3}
    assert {interest[one] for one in lines["chosen"][:40]} == {0}
    chosen = [interest[one] for one in lines["chosen"]]
    assert chosen == sorted(chosen)


def test_every_pair_is_as_likely_to_be_among_the_first_random_ones_whatever_was_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All ways in which the lots of five pairs can fall: three random ones, of which two are labelled, two chosen."""
    labelled: Counter[str] = Counter()
    chosen: Counter[str] = Counter()
    five = [Reviewable(f"p{n}", n) for n in range(5)]
    for order in permutations(range(5)):
        lots = {
            f"p{n}": Drawn("random", place / 3) if place < 3 else Drawn("chosen", (place - 3) / 2)
            for place, n in enumerate(order)
        }
        monkeypatch.setattr("misjudge_tools.labelling.queue.drawn", lambda _, pair_id, lots=lots: lots[pair_id])
        monkeypatch.setattr("misjudge_tools.labelling.queue.is_doubled", lambda *_: False)
        given = next_reviews(lined_up("s", five), Standing((), ()), reviewer(), 4)
        assert [one.stream for one in given].count("random") == 2
        labelled.update(one.pair_id for one in given if one.stream == "random")
        chosen.update(one.pair_id for one in given if one.stream == "chosen")
        first = next(one for one in given if one.stream == "chosen")
        assert first.pair_id == min(name for name, lot in lots.items() if lot.stream == "chosen")
    assert set(labelled.values()) == {120 * 2 // 5}
    assert set(chosen.values()) == {120 * 2 // 5}


def test_the_same_pairs_come_to_the_same_reviewer_and_another_order_of_sides_to_another() -> None:
    one, other = given_all(60), given_all(60, "bob")
    assert one == given_all(60) and len(one) == 60
    assert {review.pair_id for review in one} == {review.pair_id for review in other}
    assert len({review.token for review in (*one, *other)}) == 120
    turned = sum(a.order_shown != b.order_shown for a in one for b in other if a.pair_id == b.pair_id)
    assert 15 < turned < 45


def test_what_one_reviewer_has_another_gets_only_where_two_are_wanted() -> None:
    mine = given_all(60)
    theirs = given_all(60, "bob", Standing(mine, ()))
    assert {one.pair_id for one in theirs} == {one.pair_id for one in mine if is_doubled("s", one.pair_id)}
    assert 0 < len(theirs) < 30
    assert given_all(60, "cyd", Standing([*mine, *theirs], ())) == []


def test_a_pair_that_nobody_answered_for_a_day_goes_to_another() -> None:
    mine = given_all(10)
    later = reviewer("bob", NOW + HELD_FOR - timedelta(seconds=1))
    lines = lined_up("s", pairs(10))
    assert all(is_doubled("s", one.pair_id) for one in next_reviews(lines, Standing(mine, ()), later, 10))
    assert len(next_reviews(lines, Standing(mine, ()), later._replace(now=NOW + HELD_FOR), 10)) == 10
    answered_ones = [Vote(one.pair_id, "ann", "A") for one in mine]
    left = next_reviews(lines, Standing(mine, answered_ones), later._replace(now=NOW + 2 * HELD_FOR), 10)
    assert all(is_doubled("s", one.pair_id) for one in left)


def test_a_pair_on_which_two_disagree_goes_to_a_third() -> None:
    doubled = next(one for one in given_all(60) if is_doubled("s", one.pair_id))
    votes = [Vote(doubled.pair_id, "ann", "A"), Vote(doubled.pair_id, "bob", "A")]
    agree = given_all(60, "cyd", Standing((), votes))
    assert doubled.pair_id not in {one.pair_id for one in agree}
    split = given_all(60, "cyd", Standing((), [votes[0], votes[1]._replace(pref="tie")]))
    assert doubled.pair_id in {one.pair_id for one in split}
    assert doubled.pair_id not in {one.pair_id for one in given_all(60, "ann", Standing((), votes))}


def test_imported_labels_make_a_chosen_pair_needless_and_no_random_one() -> None:
    imported = [Vote(f"p{n}", "bob", "A") for n in range(60)]
    lines = lined_up("s", pairs(60), imported)
    given = next_reviews(lines, NOTHING, reviewer(), 60)
    assert {one.pair_id for one in given if one.stream == "random"} == {
        f"p{n}" for n in range(60) if drawn("s", f"p{n}").stream == "random"
    }
    chosen = {one.pair_id for one in given if one.stream == "chosen"}
    assert chosen == {f"p{n}" for n in range(60) if is_doubled("s", f"p{n}")} - {*lines.in_order["random"]}
    assert number_left(lines, NOTHING, reviewer()) == len(given)
    assert {one.stream for one in next_reviews(lines, NOTHING, reviewer("bob"), 60)} == {"random"}
    votes = [Vote(one, "ann", "A") for one in chosen]
    assert {one.stream for one in next_reviews(lines, Standing((), votes), reviewer("cyd"), 60)} == {"random"}
    split = [vote._replace(pref="B") for vote in votes]
    third = next_reviews(lines, Standing((), split), reviewer("cyd"), 60)
    assert {one.pair_id for one in third if one.stream == "chosen"} == chosen


def test_how_many_are_left_is_how_many_are_given() -> None:
    lines, mine = lined_up("s", pairs(80)), given_all(20)
    votes = [
        Vote(one.pair_id, name, pref) for one, name, pref in zip(mine, ["ann", "cyd"] * 10, "AAB" * 7, strict=False)
    ]
    elsewhere = Review("rev_x", "of another day", "bob", "random", 2.0, "AB", NOW)
    for standing in (NOTHING, Standing(mine, ()), Standing([*mine, elsewhere], votes)):
        for name in ("ann", "bob", "cyd"):
            given = next_reviews(lines, standing, reviewer(name), 100)
            assert number_left(lines, standing, reviewer(name)) == len(given)


def test_one_stream_alone_can_be_asked_for() -> None:
    lines, none = lined_up("s", pairs(40)), Standing((), ())
    only = next_reviews(lines, none, reviewer(), 40, "random")
    assert [one.pair_id for one in only] == list(lines.in_order["random"])
    assert {one.stream for one in next_reviews(lines, none, reviewer(), 40, "chosen")} == {"chosen"}


def test_what_another_said_answers_no_review() -> None:
    (mine,) = given_all(1)
    assert unanswered(Standing([mine], [Vote(mine.pair_id, "bob", "A")]), "ann") == [mine]
    assert unanswered(Standing([mine], [Vote(mine.pair_id, "ann", "A")]), "ann") == []


def test_what_comes_into_the_audit_while_somebody_labels_is_given_too(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(4))
    of = at_work(deps.store, "ann")
    assert standing_of(deps.store, of).left == 4
    stored(deps.store, review_pairs(6))
    assert standing_of(deps.store, of).left == 6 and len(give_pairs(deps.store, of, 10)) == 6


def test_all_pairs_of_an_audit_are_read_once_and_not_for_every_click(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(8))
    of = at_work(deps.store, "ann")
    asked: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        asked.append(statement)

    event.listen(deps.store.engine, "before_cursor_execute", note)
    label_next(deps.store, of, 4)
    standing_of(deps.store, of)
    why_nothing(deps.store, of)
    session(deps.store, "a", "ann")
    assert sum("deceiving" in one for one in asked) == 1
    assert not [one for one in asked if "SELECT agent FROM trajectories" in one]


def test_what_judges_say_meanwhile_is_what_is_informative_a_minute_later(deps: Deps) -> None:
    records = of_every_interest(40)
    with_secret(deps.store, [one.model_copy(update={"verdicts": ()}) for one in records])
    of = at_work(deps.store, "ann")
    before = lines_of(deps.store, of.audit, utc_now()).in_order["chosen"]
    assert not before[0].startswith("turned")
    stored(deps.store, records)
    after = lines_of(deps.store, of.audit, utc_now() + timedelta(minutes=1)).in_order["chosen"]
    turned = [one.split()[0] for one in after].index("turned")
    assert {*before} == {*after} and [one.split()[0] for one in after[:turned]] == ["satisfied"] * turned


def test_only_one_stream_means_that_no_open_pair_of_the_other_is_given(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(30))
    of = at_work(deps.store, "ann")
    both = give_pairs(deps.store, of, 6)
    assert {one.stream for one in both} == {"random", "chosen"}
    for only in ("random", "chosen"):
        given = give_pairs(deps.store, of, 8, only)
        assert len(given) == 8 and {one.stream for one in given} == {only}
        assert {*given[:3]} == {one for one in both if one.stream == only}


def test_whether_anything_is_left_is_told_apart_from_an_audit_without_pairs(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    of = at_work(deps.store, "ann")
    assert why_nothing(deps.store, of) == NOTHING_LEFT
    with_secret(deps.store, [pair("p", None, None)], audit="b")
    assert why_nothing(deps.store, at_work(deps.store, "ann", "b")) == NO_PAIRS


def test_the_informative_kinds_are_found_in_the_store(deps: Deps) -> None:
    with_secret(deps.store, of_every_interest(80))
    of = at_work(deps.store, "ann")
    given = give_pairs(deps.store, of, 80)
    chosen = [one.pair_id.split()[0] for one in given if one.stream == "chosen"]
    kinds = ["satisfied", "turned", "near", "other"]
    assert chosen == sorted(chosen, key=kinds.index) and {*chosen} == {*kinds}
    assert {one.pair_id.split()[0] for one in given if one.stream == "random"} == {*kinds}


def test_a_pair_stays_the_next_one_until_it_is_answered(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(6))
    of = at_work(deps.store, "ann")
    first = give_pairs(deps.store, of, 1)
    assert give_pairs(deps.store, of, 1) == first
    assert give_pairs(deps.store, of, 3)[0] == first[0]
    (shown,) = blind_pairs(deps.store, of, first, str)
    record_answers(deps.store, of, [answered(shown)], "mcp")
    assert give_pairs(deps.store, of, 1) != first
    assert standing_of(deps.store, of).model_dump() == {"labelled": 1, "open": 2, "left": 3}


def test_reviewers_at_once_label_different_pairs(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(24))
    names = ("ann", "bob", "cyd")
    with ThreadPoolExecutor(3) as people:
        seen = list(people.map(lambda name: label_next(deps.store, at_work(deps.store, name), 24), names))
    labels = rows(deps.store, "SELECT pair_id, labeller, pref FROM gold_labels")
    by_pair = Counter(label["pair_id"] for label in labels)
    assert len(by_pair) == 24 and len(labels) == sum(map(len, seen))
    secret = rows(deps.store, "SELECT secret FROM audits")[0]["secret"]
    assert {name: times for name, times in by_pair.items() if times > 1} == {
        name: 2 for name in by_pair if drawing.is_doubled(secret, name)
    }


def test_lines_are_kept_of_the_latest_audits_as_long_as_their_store_is_there(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s.db")
    names = [f"a{n}" for n in range(5)]
    for name in names:
        with_secret(store, review_pairs(2), audit=name)
    audits = [at_work(store, "ann", name).audit for name in names]
    lines = [lines_of(store, audit, utc_now()) for audit in audits]
    assert lines_of(store, audits[4], utc_now()) is lines[4] and lines_of(store, audits[1], utc_now()) is lines[1]
    assert lines_of(store, audits[0], utc_now()) is not lines[0]
    assert lines_of(store, audits[2], utc_now()) is not lines[2]
    store.close()
    closed = ref(store)
    del store
    gc.collect()
    assert closed() is None

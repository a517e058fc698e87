"""Which pairs a reviewer gets next. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from misjudge_storage.review_records import Review, Reviewable, Stream, Vote
from misjudge_tools.labelling.drawing import Drawn, drawn, is_doubled, order_for, stream_of_turn, token_for

HELD_FOR: Final = timedelta(days=1)
"""How long a pair that was given out waits for its label before others are asked, too."""


class Waiting(NamedTuple):
    """A pair that can be reviewed, and its lot."""

    pair: Reviewable
    lot: Drawn


Lines = Mapping[Stream, Sequence[Waiting]]
"""The pairs of each stream in the order in which they are given out."""


class Standing(NamedTuple):
    """What was given out in an audit, and what people said."""

    reviews: Sequence[Review]
    votes: Sequence[Vote]


class Reviewer(NamedTuple):
    """Who is asked, in which audit, and at which time."""

    name: str
    audit_id: str
    secret: str
    now: datetime


def lined_up(secret: str, pairs: Sequence[Reviewable]) -> Lines:
    """Random ones as they were drawn; chosen ones the most informative first, then as they were drawn."""
    waiting = [Waiting(pair, drawn(secret, pair.pair_id)) for pair in pairs]
    return {
        "random": sorted((one for one in waiting if one.lot.stream == "random"), key=lambda one: one.lot.place),
        "chosen": sorted(
            (one for one in waiting if one.lot.stream == "chosen"), key=lambda one: (one.pair.interest, one.lot.place)
        ),
    }


def unanswered(standing: Standing, reviewer: str) -> list[Review]:
    """The pairs that the reviewer was given and did not label, the first ones first."""
    labelled = {vote.pair_id for vote in standing.votes if vote.labeller == reviewer and vote.reviewed}
    return [one for one in standing.reviews if one.reviewer == reviewer and one.pair_id not in labelled]


def next_reviews(
    lines: Lines, standing: Standing, reviewer: Reviewer, number: int, only: Stream | None = None
) -> list[Review]:
    """So many pairs that the reviewer was not given yet, or as many as there are; of one stream where that is said."""
    left = {stream: _free(lines[stream], standing, reviewer) for stream in ("random", "chosen")}
    turn = sum(one.reviewer == reviewer.name for one in standing.reviews)
    given: list[Review] = []
    while len(given) < number:
        stream = only or stream_of_turn(reviewer.secret, reviewer.name, turn + len(given))
        other: Stream = "chosen" if stream == "random" else "random"
        found = next(left[stream], None) or (None if only else next(left[other], None))
        if found is None:
            break
        given.append(_review(found, reviewer))
    return given


def number_left(lines: Lines, standing: Standing, reviewer: Reviewer) -> int:
    """How many pairs the reviewer could still be given."""
    return sum(1 for line in lines.values() for _ in _free(line, standing, reviewer))


def _review(found: Waiting, reviewer: Reviewer) -> Review:
    pair_id, secret = found.pair.pair_id, reviewer.secret
    return Review(
        token=token_for(secret, reviewer.audit_id, pair_id, reviewer.name),
        pair_id=pair_id,
        reviewer=reviewer.name,
        stream=found.lot.stream,
        weight=found.lot.weight,
        order_shown=order_for(secret, pair_id, reviewer.name),
        given_at=reviewer.now,
    )


def _free(line: Sequence[Waiting], standing: Standing, reviewer: Reviewer) -> Iterator[Waiting]:
    """Those of one stream that this reviewer may be given, in order.

    Labels that were imported make no pair of the random stream needless: who drew them is not known.
    """
    taken = {one.pair_id for one in standing.reviews if one.reviewer == reviewer.name}
    asked: defaultdict[str, set[str]] = defaultdict(set)
    said: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for vote in standing.votes:
        if vote.reviewed or drawn(reviewer.secret, vote.pair_id).stream == "chosen":
            asked[vote.pair_id].add(vote.labeller)
            said[vote.pair_id][vote.labeller] = vote.pref
    for one in standing.reviews:
        if reviewer.now - one.given_at < HELD_FOR:
            asked[one.pair_id].add(one.reviewer)
    for waiting in line:
        pair_id = waiting.pair.pair_id
        people = asked.get(pair_id, set())
        if pair_id in taken or reviewer.name in people:
            continue
        if len(people) < (_wanted(reviewer.secret, pair_id, said.get(pair_id, {})) if people else 1):
            yield waiting


def _wanted(secret: str, pair_id: str, said: Mapping[str, str]) -> int:
    """How many people label it: one or two, and one more as long as those who did are split."""
    votes = Counter(said.values()).most_common(2)
    split = len(votes) == 2 and votes[0][1] == votes[1][1]
    return len(said) + 1 if split else 2 if is_doubled(secret, pair_id) else 1

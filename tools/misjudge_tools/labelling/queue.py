"""Which pairs a reviewer gets next. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from misjudge_storage.review_records import Review, Reviewable, Stream, Vote
from misjudge_tools.labelling.drawing import WEIGHTS, drawn, is_doubled, order_for, stream_of_turn, token_for

HELD_FOR: Final = timedelta(days=1)
"""How long a pair that was given out waits for its label before others are asked, too."""


class Lines(NamedTuple):
    """The pairs of each stream in the order in which they are given out, and the stream of each.

    `imported`: what labels that were imported say of a pair of the chosen stream, by their labellers. A pair that they
    make needless is in no line. None make a pair of the random stream needless: who drew them is not known.
    """

    in_order: Mapping[Stream, Sequence[str]]
    stream_of: Mapping[str, Stream]
    imported: Mapping[str, Mapping[str, str]]


class Standing(NamedTuple):
    """What was given out in an audit, and what people said of it."""

    reviews: Sequence[Review]
    votes: Sequence[Vote]


class Reviewer(NamedTuple):
    """Who is asked, in which audit, and at which time."""

    name: str
    audit_id: str
    secret: str
    now: datetime


def lined_up(secret: str, pairs: Sequence[Reviewable], imported: Sequence[Vote] = ()) -> Lines:
    """Random ones as they were drawn; chosen ones the most informative first, then as they were drawn."""
    labels: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for vote in imported:
        labels[vote.pair_id][vote.labeller] = vote.pref
    places: dict[Stream, list[tuple[int, float, str]]] = {"random": [], "chosen": []}
    for pair_id, interest in pairs:
        stream, place = drawn(secret, pair_id)
        if stream == "random":
            places[stream].append((0, place, pair_id))
        elif pair_id not in labels or len(labels[pair_id]) < _wanted(secret, pair_id, labels[pair_id]):
            places[stream].append((interest, place, pair_id))
    in_order: dict[Stream, Sequence[str]] = {
        stream: tuple(pair_id for _, _, pair_id in sorted(line)) for stream, line in places.items()
    }
    stream_of: dict[str, Stream] = {pair_id: stream for stream, line in in_order.items() for pair_id in line}
    of_chosen = {pair_id: said for pair_id, said in labels.items() if stream_of.get(pair_id) == "chosen"}
    return Lines(in_order, stream_of, of_chosen)


def unanswered(standing: Standing, reviewer: str) -> list[Review]:
    """The pairs that the reviewer was given and did not label, the first ones first."""
    labelled = {vote.pair_id for vote in standing.votes if vote.labeller == reviewer}
    return [one for one in standing.reviews if one.reviewer == reviewer and one.pair_id not in labelled]


def next_reviews(
    lines: Lines, standing: Standing, reviewer: Reviewer, number: int, only: Stream | None = None
) -> list[Review]:
    """So many pairs that the reviewer was not given yet, or as many as there are; of one stream where that is said."""
    kept = _kept_from(lines, standing, reviewer)
    left = {stream: (one for one in line if one not in kept) for stream, line in lines.in_order.items()}
    turn = sum(one.reviewer == reviewer.name for one in standing.reviews)
    given: list[Review] = []
    while len(given) < number:
        stream = only or stream_of_turn(reviewer.secret, reviewer.name, turn + len(given))
        other: Stream = "chosen" if stream == "random" else "random"
        found = next(left[stream], None) or (None if only else next(left[other], None))
        if found is None:
            break
        given.append(_review(found, lines.stream_of[found], reviewer))
    return given


def number_left(lines: Lines, standing: Standing, reviewer: Reviewer) -> int:
    """How many pairs the reviewer could still be given."""
    return len(lines.stream_of) - len(_kept_from(lines, standing, reviewer))


def _review(pair_id: str, stream: Stream, reviewer: Reviewer) -> Review:
    secret = reviewer.secret
    return Review(
        token=token_for(secret, reviewer.audit_id, pair_id, reviewer.name),
        pair_id=pair_id,
        reviewer=reviewer.name,
        stream=stream,
        weight=WEIGHTS[stream],
        order_shown=order_for(secret, pair_id, reviewer.name),
        given_at=reviewer.now,
    )


def _kept_from(lines: Lines, standing: Standing, reviewer: Reviewer) -> set[str]:
    """The pairs in the lines, but not for this reviewer, or not now.

    Only those that somebody was asked about are looked at: an audit may have many more.
    """
    kept = {pair_id for pair_id, said in lines.imported.items() if reviewer.name in said}
    said: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for vote in standing.votes:
        said[vote.pair_id][vote.labeller] = vote.pref
    asked = {pair_id: {*prefs} for pair_id, prefs in said.items()}
    for one in standing.reviews:
        if one.reviewer == reviewer.name:
            kept.add(one.pair_id)
        elif reviewer.now - one.given_at < HELD_FOR:
            asked.setdefault(one.pair_id, set()).add(one.reviewer)
    for pair_id, reviewers in asked.items():
        votes = {**lines.imported.get(pair_id, {}), **said.get(pair_id, {})}
        people = reviewers | votes.keys()
        if reviewer.name in people or len(people) >= _wanted(reviewer.secret, pair_id, votes):
            kept.add(pair_id)
    return {pair_id for pair_id in kept if pair_id in lines.stream_of}


def _wanted(secret: str, pair_id: str, said: Mapping[str, str]) -> int:
    """How many people label it: one or two, and one more as long as those who did are split."""
    votes = Counter(said.values()).most_common(2)
    split = len(votes) == 2 and votes[0][1] == votes[1][1]
    return len(said) + 1 if split else 2 if is_doubled(secret, pair_id) else 1

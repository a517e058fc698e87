"""What a review takes and answers: nothing of whose a response is, what a judge said, or why a pair was chosen."""

from __future__ import annotations

from typing import Literal, NamedTuple

from misjudge_storage.types import Done, Preference, Value

Became = Literal["new", "correction", "same"]


class ReviewPair(Value):
    """A pair as a reviewer sees it. `pair` is a token; the responses stand in an order that was drawn for the reviewer.

    Names are masked as for judges. `next_cursor`: the responses go on there; None where they are whole.
    """

    pair: str
    task: str
    criteria: str
    constraints: str
    response_a: str
    response_b: str
    next_cursor: int | None = None


class GivenAnswer(NamedTuple):
    """What a person says of the pair with this token, in terms of the responses as they were shown.

    Whether the task was done may be left unsaid: what was said before stays. `unsure` takes it back.
    """

    pair: str
    pref: Preference
    success_a: Done | None = None
    success_b: Done | None = None


class ReviewRecorded(Value):
    """An answer that was stored, in the words in which it was given. `same`: it stood there already."""

    pair: str
    pref: Preference
    success_a: Done | None
    success_b: Done | None
    became: Became


class ReviewStanding(Value):
    """How far a reviewer is: pairs labelled, given and not labelled yet, and left to be given."""

    labelled: int
    open: int
    left: int

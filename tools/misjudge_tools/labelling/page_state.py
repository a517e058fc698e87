"""Where a reviewer stands on the label page: which pair this is, what they said of it, which one they labelled before.

All of it comes from the store: a second tab, the back button or another start of the server makes no difference.
"""

from __future__ import annotations

from typing import NamedTuple

from misjudge_storage import queries
from misjudge_storage.engine import Store
from misjudge_storage.errors import NotFound
from misjudge_storage.label_records import answer_to
from misjudge_storage.review_records import Review
from misjudge_tools.exporting.keys import Hide
from misjudge_tools.labelling.giving import Session, blind_pairs, give_pairs, read_standing, standing_of
from misjudge_tools.labelling.queue import Standing, unanswered
from misjudge_tools.labelling.recording import UNKNOWN, as_shown
from misjudge_tools.labelling.values import GivenAnswer, ReviewPair, ReviewStanding


class PairPage(NamedTuple):
    """What the page of a pair shows. `answer`: what the reviewer said of it; `before`: the token of the pair that they
    labelled before this one. `made_up`: an episode of it is simulated.
    """

    pair: ReviewPair
    answer: GivenAnswer | None
    before: str | None
    made_up: bool
    standing: ReviewStanding


def next_token(store: Store, of: Session) -> str | None:
    """The pair to label next; None where nothing is left."""
    given = give_pairs(store, of, 1)
    return given[0].token if given else None


def pair_page(store: Store, of: Session, token: str, hide: Hide) -> PairPage:
    """The page of a pair that was given to the reviewer. Raises NotFound."""
    audit_id = of.audit.audit_id
    standing = read_standing(store, audit_id)
    reviews = _given(standing, of)
    place = next((n for n, one in enumerate(reviews.given) if one.token == token), None)
    if place is None:
        raise NotFound(UNKNOWN)
    review = reviews.given[place]
    with store.read() as connection:
        answer = answer_to(connection, audit_id, review)
        made_up = queries.has_simulated_sides(connection, audit_id, review.pair_id)
    (pair,) = blind_pairs(store, of, [review], hide)
    before = _last_labelled(reviews, place)
    return PairPage(pair, as_shown(answer) if answer else None, before, made_up, standing_of(store, of, standing))


def last_token(store: Store, of: Session) -> str | None:
    """The pair that the reviewer labelled last, of those that they were given; None where there is none."""
    reviews = _given(read_standing(store, of.audit.audit_id), of)
    return _last_labelled(reviews, len(reviews.given))


class _Given(NamedTuple):
    """The pairs that were given to a reviewer, the first ones first, and the tokens of those not labelled yet."""

    given: list[Review]
    open: frozenset[str]


def _given(standing: Standing, of: Session) -> _Given:
    given = [one for one in standing.reviews if one.reviewer == of.reviewer]
    return _Given(given, frozenset(one.token for one in unanswered(standing, of.reviewer)))


def _last_labelled(reviews: _Given, place: int) -> str | None:
    return next((one.token for one in reversed(reviews.given[:place]) if one.token not in reviews.open), None)

"""What people say of the pairs that they were given: checked as a whole, turned to the pair's sides, stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from misjudge_storage import review_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.label_records import Answer, CameBy, add_answers
from misjudge_storage.review_records import Review
from misjudge_storage.types import Preference
from misjudge_tools.labelling.giving import Session
from misjudge_tools.labelling.values import GivenAnswer, ReviewRecorded

UNKNOWN = (
    "This reviewer was given no pair of this audit under that token. Ask for the next pair and answer with its token."
)
_OTHER_SIDE: dict[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}


def record_answers(store: Store, of: Session, given: Sequence[GivenAnswer], came_by: CameBy) -> list[ReviewRecorded]:
    """Store all of these answers, or none. What stands there already is not stored twice; another answer is a new row,
    which counts from then on.

    Raises InvalidInput for a token that this reviewer was not given, or that is answered twice.
    """
    tokens = [one.pair for one in given]
    if any(times > 1 for times in Counter(tokens).values()):
        raise InvalidInput("A pair is answered twice. Give one answer to each.")
    with store.write() as connection:
        review_records.lock_reviews(connection, of.audit.audit_id)
        known = given_to(review_records.read_reviews(connection, of.audit.audit_id, tokens), of)
        if not known.keys() >= set(tokens):
            raise InvalidInput(UNKNOWN)
        answers = [_turned(known[one.pair], one) for one in given]
        became = add_answers(connection, of.audit.audit_id, of.reviewer, answers, came_by)
    return [ReviewRecorded(**one._asdict(), became=outcome) for one, outcome in zip(given, became, strict=True)]


def given_to(reviews: dict[str, Review], of: Session) -> dict[str, Review]:
    """Those that were given to this reviewer."""
    return {token: review for token, review in reviews.items() if review.reviewer == of.reviewer}


def as_shown(answer: Answer) -> GivenAnswer:
    """A stored answer in terms of the responses as they were shown."""
    a, b, review = answer.success_a, answer.success_b, answer.review
    if review.order_shown == "AB":
        return GivenAnswer(review.token, answer.pref, a, b)
    return GivenAnswer(review.token, _OTHER_SIDE[answer.pref], b, a)


def _turned(review: Review, one: GivenAnswer) -> Answer:
    """The answer in terms of the pair's sides."""
    if review.order_shown == "AB":
        return Answer(review, one.pref, one.success_a, one.success_b)
    return Answer(review, _OTHER_SIDE[one.pref], one.success_b, one.success_a)

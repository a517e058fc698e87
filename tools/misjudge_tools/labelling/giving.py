"""Pairs given out to reviewers, under the audit's lock: two are given the same one only where that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import review_records as records
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.judging_records import AuditRow, PairSubject, read_audit, read_pair_subjects
from misjudge_storage.review_records import Review, Stream
from misjudge_tools.judging.blinding import blinder
from misjudge_tools.judging.pairing import transcript
from misjudge_tools.labelling.queue import (
    Lines,
    Reviewer,
    Standing,
    lined_up,
    next_reviews,
    number_left,
    unanswered,
)
from misjudge_tools.labelling.reviewers import reviewer_named
from misjudge_tools.labelling.values import ReviewPair, ReviewStanding

NO_PAIRS = "The audit has no pair of two transcripts, so there is nothing that a person could compare."
NOTHING_LEFT = "Nothing is left for this reviewer: every pair has the labels that it needs, or others are labelling it."
NOTHING_LEFT_THERE = "Nothing is left of this stream for this reviewer. Ask for pairs of both."


class Session(NamedTuple):
    """A reviewer at work on an audit."""

    audit: AuditRow
    reviewer: str


def session(store: Store, audit: str, reviewer: str | None) -> Session:
    """The session of a reviewer, who needs no other beginning. Raises InvalidInput, NotFound."""
    with store.read() as connection:
        row = read_audit(connection, audit)
        known = records.people_of(connection, row.audit_id)
        judged = records.judged_names(connection, row.audit_id)
    return Session(row, reviewer_named(reviewer, known, judged))


def give_pairs(
    store: Store, of: Session, number: int, only: Stream | None = None, now: datetime | None = None
) -> list[Review]:
    """So many pairs to label: those that the reviewer has and did not label, then new ones, as far as there are."""
    audit = of.audit
    with store.read() as connection:
        lines = _lines(connection, audit)
        open_ones = unanswered(_standing(connection, audit.audit_id), of.reviewer)
    if len(open_ones) >= number:
        return open_ones[:number]
    reviewer = Reviewer(of.reviewer, audit.audit_id, audit.secret, now or utc_now())
    with store.write() as connection:
        records.lock_reviews(connection, audit.audit_id)
        standing = _standing(connection, audit.audit_id)
        open_ones = unanswered(standing, of.reviewer)
        new = next_reviews(lines, standing, reviewer, number - len(open_ones), only)
        records.give_out(connection, audit.audit_id, new)
    return [*open_ones, *new][:number]


def standing_of(store: Store, of: Session, now: datetime | None = None) -> ReviewStanding:
    """How far the reviewer is."""
    audit = of.audit
    with store.read() as connection:
        lines, standing = _lines(connection, audit), _standing(connection, audit.audit_id)
    open_ones = len(unanswered(standing, of.reviewer))
    given = sum(one.reviewer == of.reviewer for one in standing.reviews)
    reviewer = Reviewer(of.reviewer, audit.audit_id, audit.secret, now or utc_now())
    return ReviewStanding(labelled=given - open_ones, open=open_ones, left=number_left(lines, standing, reviewer))


def why_nothing(store: Store, of: Session, only: Stream | None = None) -> str:
    """Why there is no pair for this reviewer, in one sentence."""
    with store.read() as connection:
        if not records.reviewable_pairs(connection, of.audit.audit_id):
            return NO_PAIRS
    return NOTHING_LEFT_THERE if only else NOTHING_LEFT


def blind_pairs(store: Store, of: Session, reviews: Sequence[Review]) -> list[ReviewPair]:
    """What the reviewer sees of these pairs, in the same order."""
    with store.read() as connection:
        pair_ids = [one.pair_id for one in reviews]
        found = {one.pair_id: one for one in read_pair_subjects(connection, of.audit.audit_id, pair_ids)}
    return [_blind_pair(review, found[review.pair_id]) for review in reviews]


def _blind_pair(review: Review, subject: PairSubject) -> ReviewPair:
    task = subject.task
    mask = blinder(subject.names, "\n".join((task.prompt, task.success_criteria, task.hard_constraints)))
    a, b = (transcript(task, mask(side).messages) for side in (subject.a, subject.b))
    first, second = (a, b) if review.order_shown == "AB" else (b, a)
    return ReviewPair(
        pair=review.token,
        task=task.prompt,
        criteria=task.success_criteria,
        constraints=task.hard_constraints,
        response_a=first,
        response_b=second,
    )


def _lines(connection: Connection, audit: AuditRow) -> Lines:
    return lined_up(audit.secret, records.reviewable_pairs(connection, audit.audit_id))


def _standing(connection: Connection, audit_id: str) -> Standing:
    return Standing(records.reviews_of(connection, audit_id), records.votes_of(connection, audit_id))

"""Pairs given out to reviewers, under the audit's lock: two are given the same one only where that is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from threading import Lock
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Connection

from misjudge_storage import review_records as records
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.errors import StoreError
from misjudge_storage.judging_records import AuditRow, PairSubject, read_audit, read_pair_subjects
from misjudge_storage.review_records import Review, Stream
from misjudge_tools.exporting.keys import Hide, without_keys
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
from misjudge_tools.labelling.reviewers import refuse_judged, reviewer_named
from misjudge_tools.labelling.values import ReviewPair, ReviewStanding

NO_PAIRS = "The audit has no pair of two transcripts, so there is nothing that a person could compare."
NOTHING_LEFT = "Nothing is left for this reviewer: every pair has the labels that it needs, or others are labelling it."
NOTHING_LEFT_THERE = "Nothing is left of this stream for this reviewer. Ask for pairs of both."
_STEADY_FOR: Final = timedelta(minutes=1)
_MOST_KEPT: Final = 4
"""Audits of a store whose lines are kept."""


class _Kept(NamedTuple):
    """The lines of an audit, and what it held when they were read."""

    extent: records.Extent
    lines: Lines


_KEPT: Final = WeakKeyDictionary[Store, dict[AuditRow, _Kept]]()
"""What is kept of a store goes with it."""
_KEEPING: Final = Lock()


class Session(NamedTuple):
    """A reviewer at work on an audit."""

    audit: AuditRow
    reviewer: str


def session(store: Store, audit: str, reviewer: str | None) -> Session:
    """The session of a reviewer, who needs no other beginning. Raises InvalidInput, NotFound."""
    with store.read() as connection:
        row = read_audit(connection, audit)
        name = reviewer_named(reviewer, records.people_of(connection, row.audit_id))
        if not records.is_reviewer(connection, row.audit_id, name):
            refuse_judged(name, records.judged_names(connection, row.audit_id))
    return Session(row, name)


def give_pairs(
    store: Store, of: Session, number: int, only: Stream | None = None, now: datetime | None = None
) -> list[Review]:
    """So many pairs to label, of one stream where that is said: those that the reviewer has and did not label, then new
    ones, as far as there are.
    """
    return _give(store, of, number, only, now).all


@contextmanager
def pairs_to_show(store: Store, of: Session, number: int, only: Stream | None = None) -> Iterator[list[Review]]:
    """`give_pairs` for as long as it takes to show them: after an error, new ones are given to nobody."""
    given = _give(store, of, number, only, None)
    try:
        yield given.all
    except BaseException:
        with suppress(StoreError), store.write() as connection:  # the first error is the one to tell
            records.lock_reviews(connection, of.audit.audit_id)
            records.take_back(connection, given.new)
        raise


class _Given(NamedTuple):
    """The pairs of a reviewer, and those of them that they did not have before."""

    all: list[Review]
    new: list[Review]


def _give(store: Store, of: Session, number: int, only: Stream | None, now: datetime | None) -> _Given:
    audit = of.audit
    reviewer = Reviewer(of.reviewer, audit.audit_id, audit.secret, now or utc_now())
    open_ones = _open(read_standing(store, audit.audit_id), of, only)
    if len(open_ones) >= number:
        return _Given(open_ones[:number], [])
    lines = lines_of(store, audit, reviewer.now)
    with store.write() as connection:
        records.lock_reviews(connection, audit.audit_id)
        standing = _standing(connection, audit.audit_id)
        open_ones = _open(standing, of, only)
        new = next_reviews(lines, standing, reviewer, number - len(open_ones), only)
        records.give_out(connection, audit.audit_id, new)
    return _Given([*open_ones, *new][:number], new)


def _open(standing: Standing, of: Session, only: Stream | None) -> list[Review]:
    return [one for one in unanswered(standing, of.reviewer) if only in {None, one.stream}]


def standing_of(store: Store, of: Session, read: Standing | None = None) -> ReviewStanding:
    """How far the reviewer is, by what was `read` already or stands in the store."""
    audit = of.audit
    reviewer = Reviewer(of.reviewer, audit.audit_id, audit.secret, utc_now())
    lines = lines_of(store, audit, reviewer.now)
    standing = read or read_standing(store, audit.audit_id)
    open_ones = len(unanswered(standing, of.reviewer))
    given = sum(one.reviewer == of.reviewer for one in standing.reviews)
    return ReviewStanding(labelled=given - open_ones, open=open_ones, left=number_left(lines, standing, reviewer))


def read_standing(store: Store, audit_id: str) -> Standing:
    """What was given out in an audit, and what people said of it."""
    with store.read() as connection:
        return _standing(connection, audit_id)


def why_nothing(store: Store, of: Session, only: Stream | None = None) -> str:
    """Why there is no pair for this reviewer, in one sentence."""
    with store.read() as connection:
        if not records.has_reviewable_pairs(connection, of.audit.audit_id):
            return NO_PAIRS
    return NOTHING_LEFT_THERE if only else NOTHING_LEFT


def blind_pairs(store: Store, of: Session, reviews: Sequence[Review], hide: Hide) -> list[ReviewPair]:
    """What the reviewer sees of these pairs, in the same order, without keys of the configuration."""
    with store.read() as connection:
        pair_ids = [one.pair_id for one in reviews]
        found = {one.pair_id: one for one in read_pair_subjects(connection, of.audit.audit_id, pair_ids)}
    # Before anything else: masked or quoted, a text would hide a key.
    return [_blind_pair(review, without_keys(found[review.pair_id], hide)) for review in reviews]


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


def lines_of(store: Store, audit: AuditRow, now: datetime) -> Lines:
    """The pairs of the audit in the order in which they are given out.

    Reading them takes seconds where there are many, so they are kept until there are more pairs, verdicts or imported
    labels; while verdicts come in, what is most informative by them is looked at once a minute.
    """
    with store.read() as connection:
        extent = records.extent_of(connection, audit.audit_id)
    if extent.judged_at is not None and now - extent.judged_at < _STEADY_FOR:
        extent = extent._replace(judged_at=extent.judged_at.replace(second=0, microsecond=0))
    return _kept_lines(store, audit, extent)


def _kept_lines(store: Store, audit: AuditRow, extent: records.Extent) -> Lines:
    with _KEEPING:
        kept = _KEPT.setdefault(store, {}).get(audit)
    if kept is None or kept.extent != extent:
        kept = _Kept(extent, _lined_up(store, audit))
    with _KEEPING:
        of_store = _KEPT.setdefault(store, {})
        of_store.pop(audit, None)
        of_store[audit] = kept  # the latest last
        while len(of_store) > _MOST_KEPT:
            del of_store[next(iter(of_store))]
    return kept.lines


def _lined_up(store: Store, audit: AuditRow) -> Lines:
    with store.read() as connection:
        pairs = records.reviewable_pairs(connection, audit.audit_id)
        imported = records.imported_votes(connection, audit.audit_id)
    return lined_up(audit.secret, pairs, imported)


def _standing(connection: Connection, audit_id: str) -> Standing:
    return Standing(records.reviews_of(connection, audit_id), records.votes_of(connection, audit_id))

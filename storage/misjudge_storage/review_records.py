"""Reviews: which pairs can be shown to people, who was given which, and who labelled which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Select, column, delete, exists, select, text

from misjudge_storage import tables
from misjudge_storage.cutoffs import NEAR_BELOW, satisfied
from misjudge_storage.ingest import LOOKUP, insert_new
from misjudge_storage.types import Order

AUDITS = tables.table(tables.Audit)
LABELS = tables.table(tables.GoldLabel)
REVIEWS = tables.table(tables.Review)
VERDICTS = tables.table(tables.Verdict)

Stream = Literal["random", "chosen"]


class Reviewable(NamedTuple):
    """A pair of which both transcripts are stored.

    `interest`: 0 where a side failed and satisfied a judge, 1 where a judge contradicted itself, 2 a near pair, 3 else.
    """

    pair_id: str
    interest: int


class Extent(NamedTuple):
    """How many pairs and imported labels of people an audit has, and when its newest verdict came."""

    pairs: int
    imported: int
    judged_at: datetime | None


class Review(NamedTuple):
    """A pair that was given to a reviewer. `weight`: the inverse of the probability with which it was drawn, None where
    it was chosen.
    """

    token: str
    pair_id: str
    reviewer: str
    stream: Stream
    weight: float | None
    order_shown: Order
    given_at: datetime


class Holder(NamedTuple):
    """Whom a pair was given to, and in which audit."""

    audit_id: str
    reviewer: str


class Vote(NamedTuple):
    """The label of a pair by a person that counts."""

    pair_id: str
    labeller: str
    pref: str


def lock_reviews(connection: Connection, audit_id: str) -> None:
    """Let no other transaction give out pairs of this audit before this one ends, as SQLite's write lock does."""
    connection.execute(select(AUDITS.c.audit_id).where(AUDITS.c.audit_id == audit_id).with_for_update())


def reviewable_pairs(connection: Connection, audit_id: str) -> list[Reviewable]:
    """The pairs that can be shown to people, in the order of their ids."""
    query = f"""
        WITH satisfied AS (
            SELECT v.trajectory_id FROM verdicts v
            JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
            WHERE v.audit_id = :audit AND v.trajectory_id IS NOT NULL AND v.score IS NOT NULL
                AND j.threshold IS NOT NULL
            GROUP BY v.trajectory_id, v.judge_id, j.better, j.threshold
            HAVING {satisfied("AVG(v.score)")}
        ),
        deceiving AS (
            SELECT DISTINCT s.trajectory_id FROM satisfied s
            JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
            WHERE o.success = 0
        ),
        turned AS (
            SELECT pair_id FROM verdicts WHERE audit_id = :audit AND pair_id IS NOT NULL GROUP BY pair_id, judge_id
            HAVING MAX(CASE WHEN status = 'inconsistent' THEN 1 ELSE 0 END) = 1
                OR COUNT(DISTINCT CASE WHEN winner IN ('A', 'B') THEN winner END) = 2
        )
        SELECT p.pair_id,
            CASE
                WHEN p.trajectory_a IN (SELECT trajectory_id FROM deceiving)
                    OR p.trajectory_b IN (SELECT trajectory_id FROM deceiving) THEN 0
                WHEN p.pair_id IN (SELECT pair_id FROM turned) THEN 1
                WHEN p.ability_bucket = 'near' THEN 2
                WHEN p.gap_source = 'ability' AND ABS(p.reward_gap) < {NEAR_BELOW} THEN 2
                ELSE 3
            END
        FROM pairs p
        JOIN trajectories a ON a.trajectory_id = p.trajectory_a
        JOIN trajectories b ON b.trajectory_id = p.trajectory_b
        WHERE p.audit_id = :audit AND a.messages_json IS NOT NULL AND b.messages_json IS NOT NULL
        ORDER BY p.pair_id
    """
    return [Reviewable(*row) for row in connection.execute(text(query), {"audit": audit_id})]


def has_reviewable_pairs(connection: Connection, audit_id: str) -> bool:
    """Whether any pair can be shown to people."""
    query = """
        SELECT 1 FROM pairs p
        JOIN trajectories a ON a.trajectory_id = p.trajectory_a
        JOIN trajectories b ON b.trajectory_id = p.trajectory_b
        WHERE p.audit_id = :audit AND a.messages_json IS NOT NULL AND b.messages_json IS NOT NULL LIMIT 1
    """
    return connection.scalar(text(query), {"audit": audit_id}) is not None


def extent_of(connection: Connection, audit_id: str) -> Extent:
    """The extent of an audit, read from indexes alone."""
    query = """
        SELECT (SELECT COUNT(*) FROM pairs WHERE audit_id = :audit),
            (SELECT COUNT(*) FROM gold_labels WHERE audit_id = :audit AND source = 'human' AND came_by IS NULL),
            (SELECT MAX(created_at) FROM verdicts WHERE audit_id = :audit) AS created_at
    """
    typed = text(query).columns(column("pairs"), column("imported"), VERDICTS.c.created_at)
    return Extent(*connection.execute(typed, {"audit": audit_id}).one())


def reviews_of(connection: Connection, audit_id: str) -> list[Review]:
    """The pairs that were given out, the first ones first."""
    query = _reviews().where(REVIEWS.c.audit_id == audit_id).order_by(REVIEWS.c.created_at, REVIEWS.c.token)
    return [Review(*row) for row in connection.execute(query)]


def read_reviews(connection: Connection, audit_id: str, tokens: Sequence[str]) -> dict[str, Review]:
    """Token → the pair that was given out under it, of those tokens that there are."""
    found: dict[str, Review] = {}
    for some in some_of(tokens):
        query = _reviews().where(REVIEWS.c.audit_id == audit_id, REVIEWS.c.token.in_(some))
        found.update((row.token, Review(*row)) for row in connection.execute(query))
    return found


def holders_of(connection: Connection, tokens: Sequence[str]) -> dict[str, Holder]:
    """Token → whom its pair was given to, in any audit, of those tokens that there are."""
    found: dict[str, Holder] = {}
    for some in some_of(tokens):
        query = select(REVIEWS.c.token, REVIEWS.c.audit_id, REVIEWS.c.reviewer).where(REVIEWS.c.token.in_(some))
        found.update((token, Holder(audit_id, reviewer)) for token, audit_id, reviewer in connection.execute(query))
    return found


def _reviews() -> Select[*tuple[Any, ...]]:
    names = ("token", "pair_id", "reviewer", "stream", "weight", "order_shown", "created_at")
    return select(*(REVIEWS.c[name] for name in names))


def votes_of(connection: Connection, audit_id: str) -> list[Vote]:
    """What people say in reviews, one vote of each person and pair."""
    return _votes(connection, audit_id, "came_by IS NOT NULL")


def imported_votes(connection: Connection, audit_id: str) -> list[Vote]:
    """The labels of people that were imported, one of each person and pair."""
    return _votes(connection, audit_id, "came_by IS NULL")


def _votes(connection: Connection, audit_id: str, which: str) -> list[Vote]:
    query = f"""
        SELECT pair_id, labeller, pref FROM gold_labels WHERE audit_id = :audit AND source = 'human' AND {which}
        ORDER BY created_at, label_id DESC
    """
    votes = (Vote(*row) for row in connection.execute(text(query), {"audit": audit_id}))
    return list({(vote.pair_id, vote.labeller): vote for vote in votes}.values())


def give_out(connection: Connection, audit_id: str, reviews: Sequence[Review]) -> None:
    """Note that these pairs are given out."""
    shared = ("token", "pair_id", "reviewer", "stream", "weight", "order_shown")
    new = [
        {**{name: getattr(one, name) for name in shared}, "audit_id": audit_id, "created_at": one.given_at}
        for one in reviews
    ]
    insert_new(connection, tables.Review, new)


def take_back(connection: Connection, reviews: Sequence[Review]) -> None:
    """Note that these pairs were not shown after all. One that was labelled meanwhile stays given."""
    labelled = exists().where(
        LABELS.c.audit_id == REVIEWS.c.audit_id,
        LABELS.c.pair_id == REVIEWS.c.pair_id,
        LABELS.c.labeller == REVIEWS.c.reviewer,
        LABELS.c.came_by.is_not(None),
    )
    for some in some_of([one.token for one in reviews]):
        connection.execute(delete(REVIEWS).where(REVIEWS.c.token.in_(some), ~labelled))


def some_of(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """The ids, as many at a time as one query takes."""
    return (ids[start : start + LOOKUP] for start in range(0, len(ids), LOOKUP))


def people_of(connection: Connection, audit_id: str) -> list[str]:
    """The reviewers of an audit, and the people whose labels were imported."""
    query = """
        SELECT reviewer FROM reviews WHERE audit_id = :audit
        UNION SELECT labeller FROM gold_labels WHERE audit_id = :audit AND source = 'human'
    """
    return sorted(connection.scalars(text(query), {"audit": audit_id}))


def is_reviewer(connection: Connection, audit_id: str, name: str) -> bool:
    """Whether a pair of the audit was given to somebody of this name, whatever its capitals."""
    query = select(REVIEWS.c.reviewer).distinct().where(REVIEWS.c.audit_id == audit_id)
    return name.casefold() in {one.casefold() for one in connection.scalars(query)}


def judged_names(connection: Connection, audit_id: str) -> frozenset[str]:
    """What judges, agents and their models are called in an audit."""
    query = """
        SELECT label FROM judges WHERE audit_id = :audit
        UNION SELECT model FROM judges WHERE audit_id = :audit
        UNION SELECT agent FROM trajectories WHERE audit_id = :audit
        UNION SELECT base_model FROM trajectories WHERE audit_id = :audit AND base_model IS NOT NULL
    """
    return frozenset(connection.scalars(text(query), {"audit": audit_id}))

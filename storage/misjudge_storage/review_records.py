"""Reviews: which pairs can be shown to people, who was given which, and who labelled which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Select, select, text

from misjudge_storage import tables
from misjudge_storage.ingest import LOOKUP, insert_new
from misjudge_storage.types import Order

AUDITS = tables.table(tables.Audit)
REVIEWS = tables.table(tables.Review)

Stream = Literal["random", "chosen"]


class Reviewable(NamedTuple):
    """A pair of which both transcripts are stored.

    `interest`: 0 where a side failed and satisfied a judge, 1 where a judge contradicted itself, 2 a near pair, 3 else.
    """

    pair_id: str
    trajectory_a: str
    trajectory_b: str
    interest: int


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


class Vote(NamedTuple):
    """The label of a pair by a person that counts. `reviewed`: given in a review, not imported."""

    pair_id: str
    labeller: str
    pref: str
    reviewed: bool


def lock_reviews(connection: Connection, audit_id: str) -> None:
    """Let no other transaction give out pairs of this audit before this one ends, as SQLite's write lock does."""
    connection.execute(select(AUDITS.c.audit_id).where(AUDITS.c.audit_id == audit_id).with_for_update())


def reviewable_pairs(connection: Connection, audit_id: str) -> list[Reviewable]:
    """The pairs that can be shown to people, in the order of their ids."""
    query = """
        WITH satisfied AS (
            SELECT v.trajectory_id FROM verdicts v
            JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
            WHERE v.audit_id = :audit AND v.trajectory_id IS NOT NULL AND v.score IS NOT NULL
                AND j.threshold IS NOT NULL
            GROUP BY v.trajectory_id, v.judge_id, j.better, j.threshold
            HAVING CASE WHEN j.better = 'lower' THEN j.threshold - AVG(v.score) ELSE AVG(v.score) - j.threshold END >= 0
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
        SELECT p.pair_id, p.trajectory_a, p.trajectory_b,
            CASE
                WHEN p.trajectory_a IN (SELECT trajectory_id FROM deceiving)
                    OR p.trajectory_b IN (SELECT trajectory_id FROM deceiving) THEN 0
                WHEN p.pair_id IN (SELECT pair_id FROM turned) THEN 1
                WHEN p.ability_bucket = 'near' THEN 2
                WHEN p.gap_source = 'ability' AND ABS(p.reward_gap) < 0.099999999 THEN 2
                ELSE 3
            END
        FROM pairs p
        JOIN trajectories a ON a.trajectory_id = p.trajectory_a
        JOIN trajectories b ON b.trajectory_id = p.trajectory_b
        WHERE p.audit_id = :audit AND a.messages_json IS NOT NULL AND b.messages_json IS NOT NULL
        ORDER BY p.pair_id
    """
    return [Reviewable(*row) for row in connection.execute(text(query), {"audit": audit_id})]


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


def _reviews() -> Select[*tuple[Any, ...]]:
    names = ("token", "pair_id", "reviewer", "stream", "weight", "order_shown", "created_at")
    return select(*(REVIEWS.c[name] for name in names))


def votes_of(connection: Connection, audit_id: str) -> list[Vote]:
    """The labels of people that count, one of each person and pair."""
    query = """
        SELECT pair_id, labeller, pref, reviewed FROM (
            SELECT pair_id, labeller, pref, CASE WHEN came_by IS NULL THEN 0 ELSE 1 END AS reviewed,
                ROW_NUMBER() OVER (PARTITION BY pair_id, labeller ORDER BY created_at DESC, label_id) AS place
            FROM gold_labels WHERE audit_id = :audit AND source = 'human'
        ) l WHERE place = 1
    """
    return [
        Vote(pair_id, labeller, pref, bool(reviewed))
        for pair_id, labeller, pref, reviewed in connection.execute(text(query), {"audit": audit_id})
    ]


def give_out(connection: Connection, audit_id: str, reviews: Sequence[Review]) -> None:
    """Note that these pairs are given out."""
    shared = ("token", "pair_id", "reviewer", "stream", "weight", "order_shown")
    new = [
        {**{name: getattr(one, name) for name in shared}, "audit_id": audit_id, "created_at": one.given_at}
        for one in reviews
    ]
    insert_new(connection, tables.Review, new)


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


def judged_names(connection: Connection, audit_id: str) -> frozenset[str]:
    """What judges, agents and their models are called in an audit."""
    query = """
        SELECT label FROM judges WHERE audit_id = :audit
        UNION SELECT model FROM judges WHERE audit_id = :audit
        UNION SELECT agent FROM trajectories WHERE audit_id = :audit
        UNION SELECT base_model FROM trajectories WHERE audit_id = :audit AND base_model IS NOT NULL
    """
    return frozenset(connection.scalars(text(query), {"audit": audit_id}))

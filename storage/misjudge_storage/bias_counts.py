"""What bears on the biases of judges of pairs, as GROUP BYs over a part of the reduced audit: no row is loaded.

A share hardly gets truer beyond tens of thousands of pairs, while what is counted here costs by pair. So of a large
audit whole tasks are read, in the order of the digests of their content, until there are rows enough: a sample that
has nothing to do with what became of the tasks, and always the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reason_counts import Held, word_counts
from misjudge_storage.reduced_audit import REDUCED, SEGMENTS
from misjudge_storage.summary_records import sums_of
from misjudge_storage.summary_values import LengthBy, Sums
from misjudge_storage.task_moments import Moments, moment_columns, read_moments, width

MOST_ROWS = 20_000
"""Pairs of one judge after which no further task is read for it."""
TASKS, SIDES, PAIRS = "bias_tasks", "bias_sides", "bias_pairs"
"""Temporary tables of the part that is read: its tasks, the episodes on them, and its pairs by judge."""

_LENGTHS: Mapping[LengthBy, str] = {"output_tokens": "output_tokens", "transcript_characters": "LENGTH(messages_json)"}
_ALL_TASKS = f"SELECT DISTINCT task_id FROM {TASKS}"
_CELLS = tuple(f"cell_{number}" for number in range(8))
_SIZES = 6
"""Columns of `sums_of`."""


class PartRead(NamedTuple):
    """The number of pairs, each once for every judge, and what tells the length of an episode (None: nothing does)."""

    rows: int
    length_by: LengthBy | None


class PickCounts(NamedTuple):
    """What one judge picked on `pairs` pairs. A pick is a reduced verdict A or B.

    `longer`: picks of the longer side, of those on pairs of unequal length; `equal` and `unknown` are picks on the
    others. `by_gold`: picks on decidable pairs of unequal length in eight cells 4g + 2l + p, where g, l and p say
    whether gold, the longer side and the pick are the side whose agent comes first by name.

    `lower_reward`: picks of the side of lower reward, of those on pairs of two known rewards that differ, by `all`,
    `near` and `wide`; `equal_rewards` are picks on pairs of equal ones. `repeats`: the shares of the most common
    verdict, added up over pairs and orders with two scored calls or more, and the number of these.
    """

    pairs: int
    longer: Sums
    equal: int
    unknown: int
    by_gold: Moments
    lower_reward: Mapping[str, Sums]
    equal_rewards: int
    repeats: Moments


class BiasCounts(NamedTuple):
    """By judge id; of `contradictions` those that name the side they scored worse, of the calls that name a side and
    score both; of `words` by group.
    """

    part: PartRead
    picks: Mapping[str, PickCounts]
    contradictions: Mapping[str, Sums]
    words: Mapping[str, Mapping[str, Held]]


def bias_counts(connection: Connection, audit_id: str) -> BiasCounts:
    """The counts of every judge of pairs of the reduced audit. Leaves the temporary tables for `family_picks`."""
    part = read_part(connection, audit_id)
    return BiasCounts(
        part=part,
        picks=_picks(connection),
        contradictions=_contradictions(connection, audit_id),
        words=word_counts(connection, audit_id, PAIRS),
    )


def read_part(connection: Connection, audit_id: str, most: int = MOST_ROWS) -> PartRead:
    """Fill the tables, for each judge with tasks until they hold `most` pairs; `place` counts those before."""
    given = {"audit": audit_id}
    connection.execute(
        text(
            f"CREATE TEMPORARY TABLE {TASKS} (judge_id VARCHAR, task_id VARCHAR, place BIGINT, "
            "PRIMARY KEY (judge_id, task_id))"
        )
    )
    connection.execute(
        text(f"""
        INSERT INTO {TASKS} SELECT judge_id, task_id, place FROM (
            SELECT s.judge_id, t.task_id,
                SUM(s.n) OVER (PARTITION BY s.judge_id ORDER BY t.content_hash, t.task_id) - s.n AS place
            FROM (
                SELECT judge_id, task_id, SUM(pairs) AS n FROM {SEGMENTS}
                WHERE judge_id IS NOT NULL GROUP BY judge_id, task_id
            ) s
            CROSS JOIN tasks t WHERE t.audit_id = :audit AND t.task_id = s.task_id
        ) AS placed WHERE place < {most}
        """),
        given,
    )
    length_by = _length_by(connection, given)
    connection.execute(
        text(f"CREATE TEMPORARY TABLE {SIDES} (trajectory_id VARCHAR PRIMARY KEY, length BIGINT, model VARCHAR)")
    )
    length = "NULL" if length_by is None else _LENGTHS[length_by]
    connection.execute(
        text(f"""
        INSERT INTO {SIDES}
        SELECT trajectory_id, {length}, COALESCE(base_model, agent)
        FROM ({_ALL_TASKS}) k CROSS JOIN trajectories t WHERE t.audit_id = :audit AND t.task_id = k.task_id
        """),
        given,
    )
    connection.execute(text(_pairs_query()))
    return PartRead(connection.scalar(text(f"SELECT COUNT(*) FROM {PAIRS}")) or 0, length_by)


def _length_by(connection: Connection, given: Mapping[str, str]) -> LengthBy | None:
    """What more of the episodes have. The tokens that a source states are cheap to read, and count what was written."""
    query = f"""
        SELECT COUNT(output_tokens), COUNT(messages_json)
        FROM ({_ALL_TASKS}) k CROSS JOIN trajectories t WHERE t.audit_id = :audit AND t.task_id = k.task_id
    """
    stated, kept = connection.execute(text(query), given).one()
    if not stated and not kept:
        return None
    return "output_tokens" if stated >= kept else "transcript_characters"


def _pairs_query() -> str:
    """The pairs by judge. Sides are told apart by `first`, the side whose agent comes first by name, so that nothing
    hangs on which of the two is called A.
    """
    # CROSS JOIN keeps SQLite from going through all episodes for each pair; IN lets it skip the pairs of other tasks.
    return f"""
        CREATE TEMPORARY TABLE {PAIRS} AS
        SELECT s.judge_id, s.task_id, k.place, s.pair_id, s.gold, s.decidable, s.status, s.pref, s.reward_lead,
            s.ability_bucket, s.ab_a, s.ab_b, s.ab_tie, s.ba_a, s.ba_b, s.ba_tie,
            a.model AS model_a, b.model AS model_b,
            CASE WHEN a.length > b.length THEN 'A' WHEN a.length < b.length THEN 'B' WHEN a.length = b.length THEN 'tie'
                END AS longer,
            CASE WHEN s.agent_a < s.agent_b OR (s.agent_a = s.agent_b AND s.trajectory_a < s.trajectory_b) THEN 'A'
                ELSE 'B' END AS first
        FROM {REDUCED} s CROSS JOIN {TASKS} k CROSS JOIN {SIDES} a CROSS JOIN {SIDES} b
        WHERE s.judge_id IS NOT NULL AND s.task_id IN (SELECT task_id FROM {TASKS})
            AND k.judge_id = s.judge_id AND k.task_id = s.task_id
            AND a.trajectory_id = s.trajectory_a AND b.trajectory_id = s.trajectory_b
    """


def _picks(connection: Connection) -> dict[str, PickCounts]:
    shares = ("longer", "all", "near", "wide")
    cells, repeats = len(_CELLS), 2
    query = f"""
        WITH marked AS (
            SELECT judge_id, task_id, longer, ability_bucket AS bucket, reward_lead,
                CASE WHEN pref IN ('A', 'B') THEN 1 ELSE 0 END AS picked,
                CASE WHEN pref = longer THEN 1 ELSE 0 END AS took_longer,
                CASE WHEN (pref = 'A' AND reward_lead < 0) OR (pref = 'B' AND reward_lead > 0) THEN 1 ELSE 0 END
                    AS took_lower,
                CASE WHEN decidable = 1 AND pref IN ('A', 'B') AND longer IN ('A', 'B') THEN
                    CASE WHEN gold = first THEN 4 ELSE 0 END + CASE WHEN longer = first THEN 2 ELSE 0 END
                    + CASE WHEN pref = first THEN 1 ELSE 0 END END AS cell,
                {_most_common("ab")} AS ab_share, {_most_common("ba")} AS ba_share
            FROM {PAIRS}
        ),
        by_task AS (
            SELECT judge_id, task_id, COUNT(*) AS pairs,
                SUM(CASE WHEN longer <> 'tie' THEN picked * took_longer ELSE 0 END) AS k_longer,
                SUM(CASE WHEN longer <> 'tie' THEN picked ELSE 0 END) AS n_longer,
                SUM(CASE WHEN longer = 'tie' THEN picked ELSE 0 END) AS equal,
                SUM(CASE WHEN longer IS NULL THEN picked ELSE 0 END) AS unlike,
                {", ".join(f"SUM(CASE WHEN cell = {n} THEN 1 ELSE 0 END) AS {cell}" for n, cell in enumerate(_CELLS))},
                {_lower("all", "1 = 1")}, {_lower("near", "bucket = 'near'")}, {_lower("wide", "bucket = 'wide'")},
                SUM(CASE WHEN reward_lead = 0 THEN picked ELSE 0 END) AS equal_rewards,
                SUM(COALESCE(ab_share, 0) + COALESCE(ba_share, 0)) AS common,
                COUNT(ab_share) + COUNT(ba_share) AS asked
            FROM marked GROUP BY judge_id, task_id
        )
        SELECT judge_id, SUM(pairs), SUM(equal), SUM(unlike), SUM(equal_rewards),
            {", ".join(sums_of(name) for name in shares)},
            {moment_columns(_CELLS, seen=" + ".join(_CELLS) + " > 0")},
            {moment_columns(("common", "asked"), seen="asked > 0")}
        FROM by_task GROUP BY judge_id
    """
    found = {}
    for judge_id, pairs, equal, unknown, equal_rewards, *rest in connection.execute(text(query)):
        sums = {name: Sums(*map(int, rest[_SIZES * i : _SIZES * (i + 1)])) for i, name in enumerate(shares)}
        rest = rest[_SIZES * len(shares) :]
        found[judge_id] = PickCounts(
            pairs=int(pairs),
            longer=sums.pop("longer"),
            equal=int(equal),
            unknown=int(unknown),
            by_gold=read_moments(rest, cells),
            lower_reward=sums,
            equal_rewards=int(equal_rewards),
            repeats=read_moments(rest[width(cells) :], repeats),
        )
    return found


def _most_common(order: str) -> str:
    """The share of the most common verdict in this order, of two scored calls or more."""
    a, b, tie = (f"{order}_{verdict}" for verdict in ("a", "b", "tie"))
    most = f"CASE WHEN {a} >= {b} AND {a} >= {tie} THEN {a} WHEN {b} >= {tie} THEN {b} ELSE {tie} END"
    return f"CASE WHEN {a} + {b} + {tie} > 1 THEN 1.0 * {most} / ({a} + {b} + {tie}) END"


def _lower(name: str, among: str) -> str:
    """The columns k and n of picks of the lower reward, of those pairs that are meant."""
    known = f"reward_lead <> 0 AND {among}"
    return (
        f"SUM(CASE WHEN {known} THEN took_lower ELSE 0 END) AS k_{name}, "
        f"SUM(CASE WHEN {known} THEN picked ELSE 0 END) AS n_{name}"
    )


def _contradictions(connection: Connection, audit_id: str) -> dict[str, Sums]:
    query = f"""
        WITH by_task AS (
            SELECT b.judge_id, b.task_id, COUNT(*) AS n_own,
                SUM(CASE WHEN v.contradicts_scores THEN 1 ELSE 0 END) AS k_own
            FROM {PAIRS} b CROSS JOIN verdicts v
            WHERE v.audit_id = :audit AND v.pair_id = b.pair_id AND v.judge_id = b.judge_id
                AND v.winner IN ('A', 'B') AND v.score_a IS NOT NULL AND v.score_b IS NOT NULL
            GROUP BY b.judge_id, b.task_id
        )
        SELECT judge_id, {sums_of("own")} FROM by_task GROUP BY judge_id
    """
    rows = connection.execute(text(query), {"audit": audit_id})
    return {judge_id: Sums(*map(int, sums)) for judge_id, *sums in rows}

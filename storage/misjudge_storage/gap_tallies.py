"""Pairs by the buckets of a gap, added up without sorting: the counts of the four buckets are fields of one number.

A pair adds what it counts, shifted to the field of its bucket, so that one sum over the pairs of a task holds all four.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reduced_kinds import KINDS, MEASURES, TALLIES
from misjudge_storage.summary_values import GroupCounts, Sums

BUCKET_CUTS: Mapping[str, str] = {
    "near": "up to 0.2",
    "small": "above 0.2 to 0.5",
    "medium": "above 0.5 to 1",
    "wide": "above 1",
}
BUCKET_MEASURES = ("wrong_calls", "wrong_pairs")
GAP_TALLIES = "audit_gap_tallies"
SHIFTS = ("score_shift", "reward_shift")
"""Columns of the rows: the first bit of the field of their bucket, by the judge's scores and by rewards."""

# With a margin, since 0.8 − 0.6 is a little more than 0.2 in floating point.
_ENDS = (0.200000001, 0.500000001, 1.000000001)
_FIELD = 15
_LARGEST = (1 << _FIELD) - 1


class BucketCounts(NamedTuple):
    """The counts of one bucket of a judge and subset."""

    judge_id: str
    subset: str | None
    bucket: str
    counts: GroupCounts


def shift(lead: str) -> str:
    """The shift of a pair by how far its sides are apart, as SQL; NULL where that is not known."""
    within = " ".join(f"WHEN {lead} BETWEEN {-end} AND {end} THEN {n * _FIELD}" for n, end in enumerate(_ENDS))
    return f"CASE {within} WHEN {lead} IS NOT NULL THEN {len(_ENDS) * _FIELD} END"


def bucket_of(by: str) -> str:
    """The bucket of a shift, as SQL."""
    named = " ".join(f"WHEN {n * _FIELD} THEN '{name}'" for n, name in enumerate(BUCKET_CUTS))
    return f"CASE {by} {named} END"


_COLUMNS = (*TALLIES.values(), *(column for measure in BUCKET_MEASURES for column in MEASURES[measure]))


def hold_gap_tallies(connection: Connection, rows: str) -> None:
    """Add up the `rows` by segment, once."""
    named = [f"{by}_{column}" for by in SHIFTS for column in _COLUMNS]
    summed = ", ".join(f"COALESCE(SUM(k.{column} << r.{by}), 0)" for by in SHIFTS for column in _COLUMNS)
    columns = ", ".join(f"{name} BIGINT NOT NULL" for name in named)
    table = f"CREATE TEMPORARY TABLE IF NOT EXISTS {GAP_TALLIES} (segment_no BIGINT NOT NULL, {columns})"
    connection.execute(text(table))
    connection.execute(
        text(f"""
        INSERT INTO {GAP_TALLIES} (segment_no, {", ".join(named)})
        SELECT r.segment_no, {summed} FROM {rows} r CROSS JOIN {KINDS} k
        WHERE k.kind_no = r.kind_no AND NOT EXISTS (SELECT 1 FROM {GAP_TALLIES}) GROUP BY r.segment_no
        """)
    )


def fields_hold(most: int) -> bool:
    """Whether the fields hold so much of each count in one task."""
    return most <= _LARGEST


def counts_by_bucket(connection: Connection, segments: str, by: str) -> list[BucketCounts]:
    """The counts by judge, subset and bucket, of the shifts `by`; buckets without a pair are left out."""
    packed = ", ".join(f"CAST(SUM(h.{by}_{column}) AS BIGINT) AS {column}" for column in _COLUMNS)
    counted = ", ".join(_counted(n * _FIELD) for n in range(len(BUCKET_CUTS)))
    query = f"""
        WITH by_task AS (
            SELECT s.judge_id, s.subset, {packed} FROM {GAP_TALLIES} h JOIN {segments} s ON s.segment_no = h.segment_no
            WHERE s.judge_id IS NOT NULL GROUP BY s.judge_id, s.subset, s.task_id
        )
        SELECT judge_id, subset, {counted} FROM by_task GROUP BY judge_id, subset
    """
    width = len(TALLIES) + 6 * len(BUCKET_MEASURES)
    return [
        BucketCounts(judge_id, subset, bucket, counts)
        for judge_id, subset, *values in connection.execute(text(query))
        for n, bucket in enumerate(BUCKET_CUTS)
        if (counts := _read([int(value) for value in values[n * width : (n + 1) * width]])).pairs
    ]


def _counted(first_bit: int) -> str:
    """The sums of the fields of one bucket, over tasks."""
    field = {column: f"(({column} >> {first_bit}) & {_LARGEST})" for column in _COLUMNS}
    sums = [f"SUM({field[column]})" for column in TALLIES.values()]
    for measure in BUCKET_MEASURES:
        k, n = (field[column] for column in MEASURES[measure])
        sums += [f"SUM(CASE WHEN {n} > 0 THEN 1 ELSE 0 END)", *(f"SUM({x})" for x in (k, n))]
        sums += [f"SUM({x} * {y})" for x, y in ((k, k), (k, n), (n, n))]
    return ", ".join(sums)


def _read(values: Sequence[int]) -> GroupCounts:
    tallies, sums = values[: len(TALLIES)], values[len(TALLIES) :]
    measures = {name: Sums(*sums[6 * n : 6 * n + 6]) for n, name in enumerate(BUCKET_MEASURES)}
    return GroupCounts(**dict(zip(TALLIES, tallies, strict=True)), measures=measures)

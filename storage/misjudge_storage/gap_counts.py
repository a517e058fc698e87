"""The tasks of a judge by how often it was wrong near and far, for a test that moves them: a GROUP BY."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.bucket_counts import GapOf
from misjudge_storage.reduced_audit import REDUCED
from misjudge_storage.reduced_kinds import MEASURES

# With a margin, since 0.8 − 0.6 is a little more than 0.2 in floating point.
_NEAR: Mapping[str, str] = {
    "ability": "CASE WHEN ability_bucket = 'near' THEN 1 WHEN ability_bucket IS NOT NULL THEN 0 END",
    "reward": "CASE WHEN reward_gap <= 0.200000001 THEN 1 WHEN reward_gap IS NOT NULL THEN 0 END",
    "judge_score": "CASE WHEN score_gap <= 0.200000001 THEN 1 WHEN score_gap IS NOT NULL THEN 0 END",
}
"""Gap → 1 for a pair of its nearest bucket (see `bucket_counts`), 0 for one of any other."""


class GapTask(NamedTuple):
    """`tasks` tasks with `near_k` wrong of `near_n` scored calls on near pairs, and `far_k` of `far_n` on others."""

    near_k: int
    near_n: int
    far_k: int
    far_n: int
    tasks: int


def gap_tasks(connection: Connection, of: GapOf) -> list[GapTask]:
    """The tasks of a judge by their calls near and far: as many rows as there are different tasks."""
    numbers = "near_k, near_n, far_k, far_n"
    sums = ", ".join(
        f"SUM(CASE WHEN is_near = {near} THEN {column} ELSE 0 END) AS {side}_{part}"
        for side, near in (("near", 1), ("far", 0))
        for part, column in zip("kn", MEASURES["wrong_calls"], strict=True)
    )
    wrong, calls = MEASURES["wrong_calls"]
    query = f"""
        WITH said AS (
            SELECT task_id, {wrong}, {calls}, {_NEAR[of.gap]} AS is_near FROM {REDUCED}
            WHERE judge_id = :judge AND decidable = 1
        ),
        by_task AS (SELECT {sums} FROM said GROUP BY task_id)
        SELECT {numbers}, COUNT(*) FROM by_task GROUP BY {numbers} ORDER BY {numbers}
    """
    return [GapTask(*map(int, row)) for row in connection.execute(text(query), {"judge": of.judge_id})]

"""Near pairs beside all farther ones, as GROUP BYs over the reduced audit: no row is loaded to be counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reduced_kinds import unpacked
from misjudge_storage.summary_records import REDUCED, sums_of
from misjudge_storage.summary_values import CrossSums, Sums
from misjudge_storage.task_moments import cross_columns

# With a margin, since 0.8 − 0.6 is a little more than 0.2 in floating point.
_NEAR: Mapping[str, str] = {
    "ability": "CASE WHEN ability_bucket = 'near' THEN 1 WHEN ability_bucket IS NOT NULL THEN 0 END",
    "reward": "CASE WHEN reward_gap <= 0.200000001 THEN 1 WHEN reward_gap IS NOT NULL THEN 0 END",
    "judge_score": "CASE WHEN score_gap <= 0.200000001 THEN 1 WHEN score_gap IS NOT NULL THEN 0 END",
}
"""Gap → 1 for a pair of its nearest bucket (see `summary_records.bucket_counts`), 0 for one of any other."""
_SIDES = ("near", "far")


class GapOf(NamedTuple):
    """A gap of the pairs of a judge."""

    judge_id: str
    gap: str


class GapSums(NamedTuple):
    """Wrong single calls among the scored ones of decidable pairs by task, near and far, and the pairs there are."""

    near: Sums
    far: Sums
    cross: CrossSums
    near_pairs: int
    far_pairs: int


class GapTask(NamedTuple):
    """`tasks` tasks with `near_k` wrong of `near_n` scored calls on near pairs, and `far_k` of `far_n` on others."""

    near_k: int
    near_n: int
    far_k: int
    far_n: int
    tasks: int


def gap_sums(connection: Connection, *, graded_rewards: bool) -> dict[GapOf, GapSums]:
    """The sums of every judge and gap with near and far decidable pairs; after `summary_records.reduce_audit`."""
    gaps = [gap for gap in _NEAR if graded_rewards or gap != "reward"]
    outer = ", ".join(
        f"{sums_of(near)}, {sums_of(far)}, {cross_columns(near, far)}, SUM(c_{near}), SUM(c_{far})"
        for near, far in ((f"{gap}_near", f"{gap}_far") for gap in gaps)
    )
    query = f"""
        WITH {_by_task(gaps)} SELECT judge_id, {outer} FROM by_task GROUP BY judge_id
    """
    found = {}
    for judge_id, *numbers in connection.execute(text(query)):
        width = len(numbers) // len(gaps)
        for n, gap in enumerate(gaps):
            sums = _sums([int(value) for value in numbers[n * width : (n + 1) * width]])
            if sums.near.n and sums.far.n:
                found[GapOf(judge_id, gap)] = sums
    return found


def gap_tasks(connection: Connection, of: GapOf) -> list[GapTask]:
    """The tasks of a judge by their calls near and far: as many rows as there are different tasks."""
    numbers = ", ".join(f"k_{of.gap}_{side}, n_{of.gap}_{side}" for side in _SIDES)
    query = f"""
        WITH {_by_task([of.gap], "judge_id = :judge")}
        SELECT {numbers}, COUNT(*) FROM by_task GROUP BY {numbers} ORDER BY {numbers}
    """
    return [GapTask(*map(int, row)) for row in connection.execute(text(query), {"judge": of.judge_id})]


def _by_task(gaps: Sequence[str], judges: str = "judge_id IS NOT NULL") -> str:
    """The common table `by_task`: wrong calls k, scored ones n and pairs c of each task, near and far."""
    places = [f"{gap}_{side}" for gap in gaps for side in _SIDES]
    near = ", ".join(f"{_NEAR[gap]} AS {gap}" for gap in gaps)
    summed = ", ".join(_summed(gap, side) for gap in gaps for side in _SIDES)
    halves = ", ".join(
        f"{half} AS {part}_{place}" for place in places for part, half in zip("kn", unpacked(f"p_{place}"), strict=True)
    )
    return f"""
        said AS (
            SELECT judge_id, task_id, p_wrong_calls, {near} FROM {REDUCED} WHERE {judges} AND decidable = 1
        ),
        summed AS (SELECT judge_id, task_id, {summed} FROM said GROUP BY judge_id, task_id),
        by_task AS (SELECT judge_id, {halves}, {", ".join(f"c_{place}" for place in places)} FROM summed)
    """


def _summed(gap: str, side: str) -> str:
    within = f"CASE WHEN {gap} = {int(side == 'near')} THEN"
    return (
        f"CAST(SUM({within} p_wrong_calls ELSE 0 END) AS BIGINT) AS p_{gap}_{side}, "
        f"SUM({within} 1 ELSE 0 END) AS c_{gap}_{side}"
    )


def _sums(values: Sequence[int]) -> GapSums:
    near, far, cross = Sums(*values[:6]), Sums(*values[6:12]), CrossSums(*values[12:17])
    return GapSums(near, far, cross, near_pairs=values[17], far_pairs=values[18])

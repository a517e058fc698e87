"""Where a judge is wrong: pairs by category, turns, models, language and subset, as GROUP BYs over the reduced audit.

No row is loaded to be counted, and of a dimension with many values only the largest are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.summary_records import MEASURES, REDUCED, sums_of
from misjudge_storage.summary_values import CrossSums, Sums

TURNS: Mapping[str, str] = {
    "up to 2": "turns <= 2",
    "3-5": "turns <= 5",
    "6-10": "turns <= 10",
    "above 10": "turns > 10",
}
"""Band of turns → its condition, where those before do not hold."""
OF_TASKS = ("category", "language", "subset")
BETWEEN = " + "
"""Between the two names of a combination."""

_BAND = " ".join(f"WHEN {condition} THEN '{band}'" for band, condition in TURNS.items())
_COUNTED = "COUNT(*) AS pairs, SUM(decidable) AS decidable, SUM({}) AS k_calls, SUM({}) AS n_calls".format(
    *MEASURES["wrong_calls"]
)
_ADDED = "SUM(pairs) AS pairs, SUM(decidable) AS decidable, SUM(k_calls) AS k_calls, SUM(n_calls) AS n_calls"
_TASKS = "SELECT judge_id, task_id, SUM(k_calls) AS k_all, SUM(n_calls) AS n_all FROM {} GROUP BY judge_id, task_id"
_NUMBERS = "pairs, decidable, clusters, k, n, kk, kn, nn, both_kinds, k_k, k_n, n_k, n_n"
_LARGEST = f"""
    summed (judge_id, dimension, value, other, {_NUMBERS}) AS (
        SELECT v.judge_id, v.dimension, v.value, v.other, SUM(v.pairs), SUM(v.decidable), {sums_of("calls")},
            SUM(CASE WHEN n_calls > 0 AND n_all > n_calls THEN 1 ELSE 0 END),
            SUM(k_calls * k_all), SUM(k_calls * n_all), SUM(n_calls * k_all), SUM(n_calls * n_all)
        FROM by_value v JOIN tasks t ON t.judge_id = v.judge_id AND t.task_id = v.task_id
        GROUP BY v.judge_id, v.dimension, v.value, v.other HAVING SUM(n_calls) > 0
    ),
    placed AS (
        SELECT s.*, COUNT(*) OVER (PARTITION BY judge_id, dimension) AS number,
            SUM(pairs) OVER (PARTITION BY judge_id, dimension) AS all_pairs,
            ROW_NUMBER() OVER (PARTITION BY judge_id, dimension ORDER BY n DESC, value, other) AS place
        FROM summed s
    )
    SELECT judge_id, dimension, value, other, {_NUMBERS}, number, all_pairs FROM placed
    WHERE place <= :most ORDER BY judge_id, dimension, place
"""
"""From `by_value`, the sums of a task and value, and `tasks`, those of the task."""


class SliceCounts(NamedTuple):
    """The pairs of a judge with one value of a dimension: all, the decidable ones, wrong calls among the scored ones.

    `cross` holds, over its tasks, the products of its sums with those of all pairs of the task; `both` are tasks with
    scored calls on other decidable pairs, too. The dimension has `values` with such calls, on `all_pairs` pairs.
    """

    judge_id: str
    dimension: str
    value: str
    pairs: int
    decidable: int
    calls: Sums
    cross: CrossSums
    values: int
    all_pairs: int


def slice_counts(connection: Connection, most: int) -> list[SliceCounts]:
    """The `most` largest values of each dimension and judge, the largest first; after `summary_records.reduce_audit`.

    Values that are not known are none. Models are those of both sides, in either order; where of no pair both are
    known, the agents are taken instead (`agents`).
    """
    return [*_of_cells(connection, most), *_of_sides(connection, most)]


def _of_cells(connection: Connection, most: int) -> list[SliceCounts]:
    """By turns, and by what all pairs of a task have in common."""
    common = ", ".join(f"MIN({name}) AS {name}" for name in OF_TASKS)
    query = f"""
        WITH cells AS (
            SELECT judge_id, task_id, CASE {_BAND} END AS turns, {common}, {_COUNTED}
            FROM {REDUCED} WHERE judge_id IS NOT NULL GROUP BY judge_id, task_id, CASE {_BAND} END
        ),
        tasks AS ({_TASKS.format("cells")}),
        by_value AS ({" UNION ALL ".join(_values(name) for name in ("turns", *OF_TASKS))}),
        {_LARGEST}
    """
    return _read(connection, query, most)


def _values(name: str) -> str:
    return f"""
        SELECT judge_id, task_id, '{name}' AS dimension, {name} AS value, NULL AS other, {_ADDED}
        FROM cells WHERE {name} IS NOT NULL GROUP BY judge_id, task_id, {name}
    """


def _of_sides(connection: Connection, most: int) -> list[SliceCounts]:
    """By the models of both sides, or by the agents."""
    known = f"SELECT EXISTS (SELECT 1 FROM {REDUCED} WHERE model_a IS NOT NULL AND model_b IS NOT NULL)"
    dimension, side = ("models", "model") if connection.scalar(text(known)) else ("agents", "agent")
    a, b = f"{side}_a", f"{side}_b"
    first, second = f"CASE WHEN {a} <= {b} THEN {a} ELSE {b} END", f"CASE WHEN {a} <= {b} THEN {b} ELSE {a} END"
    query = f"""
        WITH cells AS (
            SELECT judge_id, task_id, {first} AS value, {second} AS other, {_COUNTED}
            FROM {REDUCED} WHERE judge_id IS NOT NULL GROUP BY judge_id, task_id, {first}, {second}
        ),
        tasks AS ({_TASKS.format("cells")}),
        by_value AS (SELECT '{dimension}' AS dimension, c.* FROM cells c WHERE value IS NOT NULL AND other IS NOT NULL),
        {_LARGEST}
    """
    return _read(connection, query, most)


def _read(connection: Connection, query: str, most: int) -> list[SliceCounts]:
    return [_slice(*row) for row in connection.execute(text(query), {"most": most})]


def _slice(judge_id: str, dimension: str, value: str, other: str | None, *numbers: int) -> SliceCounts:
    pairs, decidable, *sums, values, all_pairs = map(int, numbers)
    return SliceCounts(
        judge_id=judge_id,
        dimension=dimension,
        value=value if other is None else f"{value}{BETWEEN}{other}",
        pairs=pairs,
        decidable=decidable,
        calls=Sums(*sums[:6]),
        cross=CrossSums(*sums[6:]),
        values=values,
        all_pairs=all_pairs,
    )

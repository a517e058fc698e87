"""Where a judge is wrong: pairs by category, turns, models, language and subset, as GROUP BYs over the reduced audit.

No row is loaded to be counted, and of a dimension with many values only the largest are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reduced_episodes import ACTORS, TASKS
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

_SIDES = 1 << 31
_BAND = " ".join(f"WHEN {condition} THEN '{band}'" for band, condition in TURNS.items())
_COUNTED = "COUNT(*) AS pairs, SUM(decidable) AS decidable, SUM({}) AS k_calls, SUM({}) AS n_calls".format(
    *MEASURES["wrong_calls"]
)
_TASKS = """
    SELECT judge_id, task_id, SUM(pairs) AS pairs_all, SUM(decidable) AS decidable_all,
        SUM(k_calls) AS k_all, SUM(n_calls) AS n_all
    FROM cells GROUP BY judge_id, task_id
"""
_NUMBERS = "pairs, decidable, clusters, k, n, kk, kn, nn, both_kinds, k_k, k_n, n_k, n_n"
_LARGEST = f"""
    summed (judge_id, dimension, value, {_NUMBERS}) AS (
        SELECT v.judge_id, v.dimension, v.value, SUM(v.pairs), SUM(v.decidable), {sums_of("calls")},
            SUM(CASE WHEN n_calls > 0 AND n_all > n_calls THEN 1 ELSE 0 END),
            SUM(k_calls * k_all), SUM(k_calls * n_all), SUM(n_calls * k_all), SUM(n_calls * n_all)
        FROM by_value v JOIN tasks t ON t.judge_id = v.judge_id AND t.task_id = v.task_id
        GROUP BY v.judge_id, v.dimension, v.value HAVING SUM(n_calls) > 0
    ),
    placed AS (
        SELECT s.*, COUNT(*) OVER (PARTITION BY judge_id, dimension) AS number,
            SUM(pairs) OVER (PARTITION BY judge_id, dimension) AS all_pairs,
            ROW_NUMBER() OVER (PARTITION BY judge_id, dimension ORDER BY n DESC, value) AS place
        FROM summed s
    )
    SELECT judge_id, dimension, {{value}}, {{other}}, {_NUMBERS}, number, all_pairs FROM placed
    WHERE place <= :most ORDER BY judge_id, dimension, place
"""
"""From `by_value`, the sums of a task and value, and `tasks`, those of the task; and what a value is called."""


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
    query = f"""
        WITH cells AS (
            SELECT judge_id, task_id, CASE {_BAND} END AS turns, {_COUNTED}
            FROM {REDUCED} WHERE judge_id IS NOT NULL GROUP BY judge_id, task_id, CASE {_BAND} END
        ),
        tasks AS ({_TASKS}),
        by_value (judge_id, task_id, dimension, value, pairs, decidable, k_calls, n_calls) AS (
            SELECT judge_id, task_id, 'turns', turns, pairs, decidable, k_calls, n_calls FROM cells
            WHERE turns IS NOT NULL
            {" ".join(f"UNION ALL {_of_task(name)}" for name in OF_TASKS)}
        ),
        {_LARGEST.format(value="value", other="NULL")}
    """
    return _read(connection, query, most)


def _of_task(name: str) -> str:
    return f"""
        SELECT judge_id, t.task_id, '{name}', x.{name}, pairs_all, decidable_all, k_all, n_all
        FROM tasks t JOIN {TASKS} x ON x.task_id = t.task_id WHERE x.{name} IS NOT NULL
    """


def _of_sides(connection: Connection, most: int) -> list[SliceCounts]:
    """By the models of both sides, or by the agents; numbered by name, so that no name is compared row by row."""
    dimension, name = ("models", "base_model") if _has_models(connection) else ("agents", "agent")
    couple = f"CASE WHEN a.side_no < b.side_no THEN {_couple('a', 'b')} ELSE {_couple('b', 'a')} END"
    query = f"""
        WITH sides AS (
            SELECT actor_no, {name} AS name, DENSE_RANK() OVER (ORDER BY {name}) AS side_no
            FROM {ACTORS} WHERE {name} IS NOT NULL
        ),
        cells AS (
            SELECT judge_id, task_id, {couple} AS value, {_COUNTED}
            FROM {REDUCED} r LEFT JOIN sides a ON a.actor_no = r.actor_a LEFT JOIN sides b ON b.actor_no = r.actor_b
            WHERE judge_id IS NOT NULL GROUP BY judge_id, task_id, {couple}
        ),
        tasks AS ({_TASKS}),
        by_value AS (SELECT '{dimension}' AS dimension, c.* FROM cells c WHERE value IS NOT NULL),
        {_LARGEST.format(value=_named(f"value / {_SIDES}"), other=_named(f"value % {_SIDES}"))}
    """
    return _read(connection, query, most)


def _has_models(connection: Connection) -> bool:
    stated = f"SELECT EXISTS (SELECT 1 FROM {ACTORS} WHERE base_model IS NOT NULL)"
    both = f"SELECT EXISTS (SELECT 1 FROM {REDUCED} WHERE model_a IS NOT NULL AND model_b IS NOT NULL)"
    return bool(connection.scalar(text(stated)) and connection.scalar(text(both)))


def _couple(first: str, second: str) -> str:
    return f"{first}.side_no * {_SIDES} + {second}.side_no"


def _named(number: str) -> str:
    return f"(SELECT MIN(s.name) FROM sides s WHERE s.side_no = {number})"


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

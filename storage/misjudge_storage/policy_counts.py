"""How often a judge is wrong under rules for when to trust it, in the pass over the reduced audit.

Each rule goes by what production sees of a pair: calls, orders, repeats, the lead in scores. Never by gold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, text

from misjudge_storage.reduced_audit import REDUCED, SEGMENTS
from misjudge_storage.reduced_kinds import MEASURES
from misjudge_storage.row_chunks import NOTHING, Chunk, ReducedFacts, judge_of
from misjudge_storage.summary_records import sums_of
from misjudge_storage.summary_values import Sums
from misjudge_storage.task_cells import GroupedSums, WholeUnits, products

_CLOSE = 0.000000001
"""Means of scores are compared with this tolerance, since 0.8 − 0.6 is a little more than 0.2 in floating point."""


class PolicyCounts(NamedTuple):
    """The decidable pairs of one judge by rule. The sums count wrong ones among the decided ones, by task.

    `calls` are those on all `pairs`, unscored ones included; `one_call` sums calls. Both orders were asked of
    `both_pairs`, `both_scored` of them with a lead in scores. An order was asked again in `repeated_pairs`, with
    `repeated_calls` calls in all. `margins[i]` is `both_orders` where the lead is at least i + 1 steps.
    """

    pairs: int
    calls: int
    both_pairs: int
    both_scored: int
    repeated_pairs: int
    repeated_calls: int
    one_call: Sums
    both_orders: Sums
    repeats: Sums
    margins: Sequence[Sums]


class StoredCascade(NamedTuple):
    """Pairs that both judges judged, the decidable and the `escalated` ones; wrong ones among the decided ones."""

    pairs: int
    decidable: int
    escalated: int
    wrong: Sums


class PairCosts(NamedTuple):
    """What the calls about `pairs` cost together, in USD, of the pairs of which any call has a price."""

    pairs: int
    cost: float


_CALLS = "(calls_a + calls_b + calls_tie + calls_unscored)"
_REPEATED = f"{_CALLS} > 1 + both_orders"
_STEADY = """
    CASE WHEN both_orders = 1
        THEN ab_a * ab_b + ab_a * ab_tie + ab_b * ab_tie + ba_a * ba_b + ba_a * ba_tie + ba_b * ba_tie
        ELSE calls_a * calls_b + calls_a * calls_tie + calls_b * calls_tie END = 0
"""
"""No order was answered in two ways."""
_COLUMNS = (
    *("decidable", _CALLS, "both_orders", f"CASE WHEN {_REPEATED} THEN 1 ELSE 0 END"),
    *(f"CASE WHEN {_REPEATED} AND {_STEADY} THEN 1 ELSE 0 END", MEASURES["wrong_calls"][0], "calls_a + calls_b"),
    *MEASURES["wrong_pairs"],
)


class PolicyCounting:
    """Counts the decidable pairs of each judge by rule. `steps` are those of the judges whose scale is known, by judge
    id; leads of one step to `margins` are counted, none where there are no steps.
    """

    def __init__(self, facts: ReducedFacts, steps: Mapping[str, float], margins: int) -> None:
        self._facts = facts
        self._columns = facts.of_kinds([f"COALESCE({column}, 0)" for column in _COLUMNS])
        self._steps = np.array([steps.get(judge or "", np.nan) for judge in facts.judges])
        self._margins = margins if steps else 0
        self._units = WholeUnits(_PLAIN + 2 * (3 + self._margins))
        self._found = GroupedSums()

    def add(self, chunk: Chunk, last: int) -> None:
        decidable, calls, both, repeated, steady, wrong_calls, decided_calls, wrong, decided = (
            column[chunk.kind] for column in self._columns
        )
        reach = np.abs(chunk.score_lead) / self._steps[judge_of(chunk.unit)]
        plain = [decidable, calls, both, both * ~np.isnan(reach), repeated, repeated * calls]
        held = [both, steady, *(both * (reach >= n - _CLOSE) for n in range(1, self._margins + 1))]
        pairs = [count * holds for holds in held for count in (wrong, decided)]
        key = np.where(decidable > 0, 0, NOTHING)
        cells = self._units.add(chunk.unit, key, [*plain, wrong_calls, decided_calls, *pairs], last)
        summed = [*cells.sums[:_PLAIN]]
        for place in range(_PLAIN, len(cells.sums), 2):
            summed += products(*cells.sums[place : place + 2])
        self._found.add([judge_of(cells.unit)], summed)

    def policies(self) -> dict[str, PolicyCounts]:
        """Judge id → its counts, of all judges with decidable pairs."""
        return {
            judge_id: _counts([int(total) for total in totals.tolist()])
            for (judge,), totals in self._found.groups.items()
            if (judge_id := self._facts.judges[judge]) is not None
        }


_PLAIN = len(PolicyCounts._fields) - 4
"""Counts that are no sums over tasks."""


def _counts(values: Sequence[int]) -> PolicyCounts:
    one_call, both, repeats, *margins = [Sums(*values[n : n + 6]) for n in range(_PLAIN, len(values), 6)]
    plain = dict(zip(PolicyCounts._fields, values[:_PLAIN], strict=False))
    return PolicyCounts(**plain, one_call=one_call, both_orders=both, repeats=repeats, margins=margins)


def cascade_of_two(connection: Connection, first: str, second: str, margin: float | None) -> StoredCascade:
    """What `first` says of the pairs that both judged, and `second` where `first` is inconsistent, unscored or close.

    Close is a lead in scores below `margin`, and a tie where there is none. After `summary_records.reduce_audit`.
    """
    lead = "NULL" if margin is None else f"score_gap - :margin + {_CLOSE}"
    clear = f"judge_id = :first AND pref IS NOT NULL AND COALESCE({lead}, CASE pref WHEN 'tie' THEN -1 ELSE 1 END) >= 0"
    query = f"""
        WITH pairs_of_both AS (
            SELECT pair_id, MIN(task_id) AS task_id, MIN(gold) AS gold, MAX(decidable) AS decidable,
                MAX(CASE WHEN {clear} THEN 1 ELSE 0 END) AS clear,
                MAX(CASE WHEN {clear} THEN pref END) AS own,
                MAX(CASE WHEN judge_id = :second THEN pref END) AS other
            FROM {REDUCED} WHERE judge_id IN (:first, :second) GROUP BY pair_id HAVING COUNT(*) = 2
        ),
        said AS (
            SELECT task_id, gold, decidable, clear, CASE WHEN clear = 1 THEN own ELSE other END AS pref
            FROM pairs_of_both
        ),
        by_task AS (
            SELECT task_id, COUNT(*) AS pairs, SUM(decidable) AS decidable, SUM(1 - clear) AS escalated,
                SUM(CASE WHEN decidable = 1 AND pref IN ('A', 'B') AND pref <> gold THEN 1 ELSE 0 END) AS k_wrong,
                SUM(CASE WHEN decidable = 1 AND pref IN ('A', 'B') THEN 1 ELSE 0 END) AS n_wrong
            FROM said GROUP BY task_id
        )
        SELECT SUM(pairs), SUM(decidable), SUM(escalated), {sums_of("wrong")} FROM by_task
    """
    given = {"first": first, "second": second, **({} if margin is None else {"margin": margin})}
    pairs, decidable, escalated, *sums = (int(value or 0) for value in connection.execute(text(query), given).one())
    return StoredCascade(pairs, decidable, escalated, Sums(*sums))


def pair_costs(connection: Connection, audit_id: str) -> dict[str | None, PairCosts]:
    """Judge id → what its calls about pairs cost; None: those that name no judge. A reply of the cache costs nothing,
    and says nothing of what one costs.
    """
    query = """
        SELECT judge_id, COUNT(*), SUM(cost) FROM (
            SELECT judge_id, pair_id, SUM(est_cost) AS cost FROM judge_logs
            WHERE audit_id = :audit AND role = 'judge' AND pair_id IS NOT NULL AND cached_from IS NULL
                AND est_cost IS NOT NULL
            GROUP BY pair_id, judge_id
        ) AS priced
        GROUP BY judge_id
    """
    rows = connection.execute(text(query), {"audit": audit_id})
    return {judge_id: PairCosts(int(pairs), float(cost)) for judge_id, pairs, cost in rows}


def keep_only(connection: Connection, *, at: str | None = None, subset: str | None = None) -> None:
    """Take the other pairs out of the reduced audit: those not of this ability gap, those not of this subset."""
    for column, kept in {"ability_bucket": at, "subset": subset}.items():
        if kept is not None:
            others = text(f"DELETE FROM {SEGMENTS} WHERE {column} IS NULL OR {column} <> :kept")
            connection.execute(others, {"kept": kept})


def subsets(connection: Connection, audit_id: str) -> set[str]:
    """The subsets of the tasks of an audit."""
    query = "SELECT DISTINCT subset FROM tasks WHERE audit_id = :audit AND subset IS NOT NULL"
    return set(connection.scalars(text(query), {"audit": audit_id}))

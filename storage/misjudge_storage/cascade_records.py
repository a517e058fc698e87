"""A cascade in the store: what its first judge is asked and said, and the panel's cells that follow from that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from misjudge_storage import tables
from misjudge_storage.ingest import LOOKUP, insert_new
from misjudge_storage.run_records import CELLS, RUNS, PlannedCell, RunRow, planned_by, runs_under_way
from misjudge_storage.types import Order, Preference

VERDICTS = tables.table(tables.Verdict)
PAIRS = tables.table(tables.Pair)
PLANNED = tables.table(tables.PlannedPair)
LOGS = tables.table(tables.JudgeLog)


class Said(NamedTuple):
    """A verdict on a pair in one order, in terms of the pair's sides; without a `winner` it is unscored."""

    order_shown: Order
    winner: Preference | None
    score_a: float | None = None
    score_b: float | None = None


class Question(NamedTuple):
    """What a judge is asked about a pair: its cell, and the bucket that the pair is declared in."""

    cell: PlannedCell
    bucket: str | None


def questions(connection: Connection, run_id: str, judge_id: str) -> list[Question]:
    """All that a run asks this judge about pairs, in the order of its plan."""
    query = (
        select(
            *[CELLS.c[name] for name in PlannedCell._fields],
            func.coalesce(PAIRS.c.ability_bucket, PLANNED.c.ability_bucket),
        )
        .join(RUNS, RUNS.c.run_id == CELLS.c.run_id)
        .outerjoin(PAIRS, (PAIRS.c.audit_id == RUNS.c.audit_id) & (PAIRS.c.pair_id == CELLS.c.pair_id))
        .outerjoin(PLANNED, (PLANNED.c.run_id == CELLS.c.run_id) & (PLANNED.c.pair_id == CELLS.c.pair_id))
        .where(CELLS.c.run_id == run_id, CELLS.c.kind == "pairwise", CELLS.c.actor_id == judge_id)
        .order_by(CELLS.c.seq)
    )
    return [Question(PlannedCell(*cell), bucket) for *cell, bucket in connection.execute(query)]


def buckets(connection: Connection, audit_id: str, pair_ids: Sequence[str]) -> dict[str, str | None]:
    """What the stored ones of these pairs are declared."""
    found: dict[str, str | None] = {}
    for start in range(0, len(pair_ids), LOOKUP):
        some = PAIRS.c.pair_id.in_(pair_ids[start : start + LOOKUP])
        query = select(PAIRS.c.pair_id, PAIRS.c.ability_bucket).where(PAIRS.c.audit_id == audit_id, some)
        found.update({pair_id: bucket for pair_id, bucket in connection.execute(query)})
    return found


def said(connection: Connection, cell_ids: Sequence[str]) -> dict[str, Said]:
    """The stored verdicts of these cells."""
    columns = [VERDICTS.c[name] for name in ("verdict_id", *Said._fields)]
    found: dict[str, Said] = {}
    for start in range(0, len(cell_ids), LOOKUP):
        query = select(*columns).where(VERDICTS.c.verdict_id.in_(cell_ids[start : start + LOOKUP]))
        found.update({cell_id: Said(*verdict) for cell_id, *verdict in connection.execute(query)})
    return found


def judged_by(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> dict[str, str]:
    """Verdict → pair, of all verdicts of these judges on pairs."""
    query = select(VERDICTS.c.verdict_id, VERDICTS.c.pair_id).where(
        VERDICTS.c.audit_id == audit_id, VERDICTS.c.judge_id.in_(judge_ids), VERDICTS.c.pair_id.is_not(None)
    )
    return {verdict_id: pair_id for verdict_id, pair_id in connection.execute(query)}


def planned(connection: Connection, run_id: str, cell_ids: Sequence[str]) -> set[str]:
    """Which of these cells the run has."""
    return planned_by(connection, [run_id], cell_ids)


def of_other_runs(connection: Connection, run: RunRow, cell_ids: Sequence[str]) -> set[str]:
    """Which of these cells another run under way has."""
    others = [run_id for run_id in runs_under_way(connection, run.audit_id) if run_id != run.run_id]
    return planned_by(connection, others, cell_ids)


def add_cells(connection: Connection, run_id: str, cells: Sequence[PlannedCell]) -> int:
    """Put cells behind the last one of a run, those that it has left out; the number added."""
    last = connection.scalar(select(func.max(CELLS.c.seq)).where(CELLS.c.run_id == run_id)) or 0
    rows = [{**cell._asdict(), "run_id": run_id, "seq": seq} for seq, cell in enumerate(cells, last + 1)]
    return insert_new(connection, tables.Cell, rows)


def mean_call_costs(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> dict[str, float]:
    """Judge → USD that a call to it cost on average in the runs of an audit, where any cost is known.

    A call is one cell with all of its attempts; a reply of the cache is none.
    """
    calls = (
        select(LOGS.c.run_id, LOGS.c.cell_id, func.sum(LOGS.c.est_cost).label("cost"))
        .where(
            LOGS.c.run_id.in_(select(RUNS.c.run_id).where(RUNS.c.audit_id == audit_id)),
            LOGS.c.role == "judge",
            LOGS.c.cached_from.is_(None),
            LOGS.c.est_cost.is_not(None),
        )
        .group_by(LOGS.c.run_id, LOGS.c.cell_id)
        .subquery()  # so that each log is looked at once, in the index of runs
    )
    query = (
        select(CELLS.c.actor_id, func.sum(calls.c.cost), func.count(calls.c.cell_id.distinct()))
        .join(calls, (CELLS.c.run_id == calls.c.run_id) & (CELLS.c.cell_id == calls.c.cell_id))
        .where(CELLS.c.actor_id.in_(judge_ids))
        .group_by(CELLS.c.actor_id)
    )
    return {judge_id: cost / number for judge_id, cost, number in connection.execute(query)}

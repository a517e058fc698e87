"""Adaptive stopping at work: a result may show that enough is known of a bucket, in the transaction that stores it.

Then what is still open of the bucket leaves the plan, with the episodes and scores that only served its pairs. So no
crash comes between a result and what follows from it, and only what is stored decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import Connection

from misjudge_storage import cascade_records, run_progress, run_records, stopping_records
from misjudge_storage.judging_records import CellResult, Kept
from misjudge_storage.leases import Lease, holds
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_tools.requests import Stop
from misjudge_tools.runs.plan import ROLLOUT
from misjudge_tools.runs.spec import read_spec
from misjudge_tools.runs.stop_rule import (
    Bucket,
    Evidence,
    Unit,
    Units,
    Walk,
    begins,
    needless,
    spared_cells,
    units_of,
    walked,
)

AT_ONCE = 200
"""Tasks whose verdicts are read together where a run is taken up."""
StoreResults = Callable[[Connection, Sequence[CellResult]], Kept]


class Stopping:
    """Stores the results of a run by `store_results`, and spares it what a `stop` makes needless."""

    def __init__(self, run: RunRow, lease: Lease, store_results: StoreResults) -> None:
        self._run = run
        self._lease = lease
        self._store_results = store_results
        self._stop = read_spec(run.request_json, run.run_id).stop
        self._units: Units = {}
        self._bucket_of: dict[str, Bucket] = {}
        self._walks: dict[Bucket, Walk] = {}
        self._spared: dict[str, PlannedCell] = {}
        self._passed_over: set[tuple[Bucket, str]] = set()

    @property
    def may_spare(self) -> bool:
        """Whether cells may leave the run."""
        return self._stop is not None

    def catch_up(self, connection: Connection) -> None:
        """Spare what is needless by all that is stored, whoever stored it. To be done before results are stored."""
        if self._stop is None or not holds(connection, self._lease):
            return
        self._units = units_of(stopping_records.questions(connection, self._run.run_id))
        self._bucket_of = {
            cell.cell_id: bucket for bucket, units in self._units.items() for unit in units for cell in unit.cells
        }
        self._weigh(connection, self._stop, list(self._units), afresh=True)

    def store(self, connection: Connection, results: Sequence[CellResult]) -> Kept:
        """As `store_results`; `spared` are the cells that left the plan, `back` those that came back to it."""
        kept = self._store_results(connection, results)
        if self._stop is None or not kept.held:
            return kept
        stored = {str(result.verdict["verdict_id"]) for result in results if result.verdict is not None}
        made = {str(result.trajectory["trajectory_id"]) for result in results if result.trajectory is not None}
        # They were being asked when the others were spared.
        back = self._returning(connection, [self._spared[cell_id] for cell_id in (stored | made) & self._spared.keys()])
        stopping_records.put_back(connection, self._run.run_id, back)
        touched = {self._bucket_of[cell_id] for cell_id in stored & self._bucket_of.keys()}
        return kept._replace(
            spared=self._weigh(connection, self._stop, sorted(touched), afresh=False), back=tuple(back)
        )

    def _returning(self, connection: Connection, late: Sequence[PlannedCell]) -> list[PlannedCell]:
        """What belongs in the plan with cells that were stored after they had left it: a pair gets both of its orders,
        and the scores of its episodes.
        """
        begun = {begins(cell) for cell in late if cell.pair_id is not None}
        pairs = sorted({str(cell.pair_id) for cell in late if cell.pair_id is not None})
        sides = stopping_records.sides_of(connection, self._run.run_id, pairs)
        ids = {cell.cell_id for cell in late}
        return [
            cell
            for cell in (self._spared.values() if late else ())
            if cell.cell_id in ids or begins(cell) in begun or cell.trajectory_id in sides
        ]

    def pass_over(self, cell: PlannedCell, task_id: str) -> None:
        """Let the tasks behind this one be counted without it, since this cell of it stays open in this sitting."""
        if cell.kind == ROLLOUT:
            self._passed_over.update((bucket, task_id) for bucket in self._units)
        elif cell.cell_id in self._bucket_of:
            self._passed_over.add((self._bucket_of[cell.cell_id], task_id))

    def _weigh(self, connection: Connection, stop: Stop, buckets: Sequence[Bucket], *, afresh: bool) -> frozenset[str]:
        """Spare what is open of those of these buckets of which enough is known; the ids of what is spared."""
        decided = [bucket for bucket in buckets if self._decided(connection, stop, bucket, afresh=afresh)]
        needless = {bucket: self._needless(connection, bucket) for bucket in decided}
        spared = [cell for cells in needless.values() for cell in cells]
        if not spared:
            return frozenset()
        stopping_records.leave_out(connection, self._run.run_id, [cell.cell_id for cell in spared])
        served = stopping_records.served_only(connection, self._run.run_id)
        stopping_records.leave_out(connection, self._run.run_id, [cell.cell_id for cell in served])
        stopping_records.note_spared(connection, self._run.run_id, spared_cells(needless, served))
        self._spared.update({cell.cell_id: cell for cell in (*spared, *served)})
        return frozenset(cell.cell_id for cell in (*spared, *served))

    def _decided(self, connection: Connection, stop: Stop, bucket: Bucket, *, afresh: bool) -> bool:
        """Whether enough is known of a bucket, which is then noted."""
        before = Walk() if afresh else self._walks.get(bucket, Walk())
        walk = self._go_on(connection, stop, bucket, before, AT_ONCE if afresh else 1)
        if not afresh and walk.decision is not None and not self._is_stored(connection, bucket, walk):
            walk = self._go_on(connection, stop, bucket, Walk(), AT_ONCE)
        self._walks[bucket] = walk
        if walk.decision is None:
            return False
        stopping_records.note_decision(connection, self._run.run_id, walk.decision)
        return True

    def _go_on(self, connection: Connection, stop: Stop, bucket: Bucket, walk: Walk, at_once: int) -> Walk:
        read = partial(evidence_of, connection, self._run.audit_id)
        return walked(walk, bucket, self._units[bucket], stop, read, self._passed_over, at_once)

    def _is_stored(self, connection: Connection, bucket: Bucket, walk: Walk) -> bool:
        """Whether all that was counted is stored: a transaction that was undone may have been counted, too."""
        before = self._units[bucket][: walk.position]
        counted = [unit for unit in before if (bucket, unit.task_id) not in self._passed_over]
        cells = {cell.cell_id for unit in counted for cell in unit.cells}
        return run_progress.stored_cells(connection, sorted(cells)) == cells

    def _needless(self, connection: Connection, bucket: Bucket) -> list[PlannedCell]:
        """What is in the plan of a decided bucket and not needed."""
        ids = [cell.cell_id for unit in self._units[bucket] for cell in unit.cells]
        there = run_records.planned_by(connection, [self._run.run_id], ids)
        stored = run_progress.stored_cells(connection, sorted(there))
        return [cell for cell in needless(self._units[bucket], stored) if cell.cell_id in there]


def evidence_of(connection: Connection, audit_id: str, units: Sequence[Unit]) -> Evidence:
    """What is stored about these tasks."""
    cells = [cell for unit in units for cell in unit.cells]
    said = cascade_records.said(connection, [cell.cell_id for cell in cells])
    pairs = list(dict.fromkeys(str(cell.pair_id) for cell in cells if cell.cell_id in said))
    return Evidence(said, stopping_records.better_sides(connection, audit_id, pairs))

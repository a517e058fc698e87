"""Which cells of a run are left to other runs, so that two that are at work at once pay for none twice.

Of two runs with a cell in common the one that was taken up first asks it, however old either is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from misjudge_storage import leases, run_records, stopping_records
from misjudge_storage.leases import Lease
from misjudge_storage.run_records import PlannedCell


def left_to_others(
    connection: Connection, cells: Sequence[PlannedCell], *, run_id: str, ahead: Sequence[Lease]
) -> Collection[str]:
    """Which of these cells of a run are asked by those that were at work before it was taken up, and still are.

    One for the very same request that may stop early does all of it: what it has not in its plan it was spared.
    """
    there = leases.still_at_work(connection, ahead)
    cell_ids = [cell.cell_id for cell in cells]
    if not set(there).isdisjoint(stopping_records.same_requests(connection, run_id) if there else ()):
        return cell_ids
    return run_records.planned_by(connection, there, cell_ids)

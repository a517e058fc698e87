"""Plans: which cells a judging would take. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from misjudge_storage.hashing import digest
from misjudge_storage.judging_records import Subject
from misjudge_storage.rows import cell_id
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Order

ROLLOUT = "rollout"
"""The kind of the cells that make a trajectory."""
ORDERS: tuple[Order, Order] = ("AB", "BA")


def pair_cells(audit_id: str, judge_id: str, pair_ids: Sequence[str], repeats: int) -> Iterator[PlannedCell]:
    """Both orders of each pair, `repeats` times; the two orders of a pair stand side by side."""
    for repeat in range(repeats):
        for pair_id in pair_ids:
            for order in ORDERS:
                identity = cell_id(audit_id, judge_id, pair_id, order, repeat)
                yield PlannedCell(identity, "pairwise", judge_id, pair_id, None, order, repeat)


def trajectory_cells(
    audit_id: str, judge_id: str, trajectory_ids: Sequence[str], repeats: int
) -> Iterator[PlannedCell]:
    """Each trajectory, `repeats` times."""
    for repeat in range(repeats):
        for trajectory_id in trajectory_ids:
            identity = cell_id(audit_id, judge_id, trajectory_id, None, repeat)
            yield PlannedCell(identity, "satisfaction", judge_id, None, trajectory_id, None, repeat)


def in_random_order(seed: int, subjects: Sequence[Subject]) -> list[str]:
    """Ids of the subjects, tasks in an order that is random and the same for every judge of the audit.

    So the first part of a plan is a sample of its tasks, and two judges that stop early have seen the same ones.
    """
    ranks = {task_id: digest("order", [seed, task_id]) for task_id in {subject.task_id for subject in subjects}}
    return [subject.subject_id for subject in sorted(subjects, key=lambda subject: ranks[subject.task_id])]


def minus_stored(plan: Sequence[PlannedCell], stored: Collection[str]) -> list[PlannedCell]:
    """The cells whose result is not stored yet."""
    return [cell for cell in plan if cell.cell_id not in stored]

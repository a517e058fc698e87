"""Plans: which cells a judging would take. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from misjudge_storage.hashing import digest
from misjudge_storage.judging_records import Subject
from misjudge_storage.rows import cell_id
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import AskedForm, Order

ROLLOUT = "rollout"
"""The kind of the cells that make a trajectory."""
ORDERS: tuple[Order, Order] = ("AB", "BA")
OPPOSITE: Mapping[Order, Order] = {"AB": "BA", "BA": "AB"}
OrdersOf = Callable[[str, int], Sequence[Order]]
"""In which orders a pair is shown for a repeat."""


def pair_cells(
    audit_id: str, judge_ids: Sequence[str], pair_ids: Sequence[str], repeats: int, orders: OrdersOf
) -> Iterator[PlannedCell]:
    """Each pair in its orders by every judge, `repeats` times; what is asked of a pair stands side by side."""
    for repeat in range(repeats):
        for pair_id in pair_ids:
            for judge_id in judge_ids:
                for order in orders(pair_id, repeat):
                    identity = cell_id(audit_id, judge_id, pair_id, order, repeat)
                    yield PlannedCell(identity, "pairwise", judge_id, pair_id, None, order, repeat)


def trajectory_cells(
    audit_id: str, form: AskedForm, judge_ids: Sequence[str], trajectory_ids: Sequence[str], repeats: int
) -> Iterator[PlannedCell]:
    """Each trajectory by every judge, `repeats` times."""
    for repeat in range(repeats):
        for trajectory_id in trajectory_ids:
            for judge_id in judge_ids:
                identity = cell_id(audit_id, judge_id, trajectory_id, None, repeat)
                yield PlannedCell(identity, form, judge_id, None, trajectory_id, None, repeat)


def both_orders(pair_id: str, repeat: int) -> Sequence[Order]:
    """A first, and B first."""
    return ORDERS


def fixed_order(pair_id: str, repeat: int) -> Sequence[Order]:
    """A first, always: for a judge that must be asked as it was elsewhere. Position bias cannot be seen then."""
    return ORDERS[:1]


def balanced_orders(seed: int, pair_ids: Iterable[str], known: Mapping[tuple[str, int], Order]) -> OrdersOf:
    """One order a pair and repeat: of every two pairs that follow each other one is shown A first and one B first.

    A coin of the audit's seed says which; a pair's next repeat is shown the other way round. `known` are orders that
    were planned before, by (pair, repeat), which stay and are balanced, too. The judge has no say in it: a second judge
    sees what the first one saw.
    """
    first: dict[str, Order] = {pair_id: _flipped(order, repeat) for (pair_id, repeat), order in known.items()}
    surplus = sum(_WEIGHT[order] for order in first.values())
    for pair_id in pair_ids:
        if pair_id not in first:
            coin = int(digest("coin", [seed, pair_id])[-1], 16) % 2
            first[pair_id] = ORDERS[int(surplus > 0) if surplus else coin]
            surplus += _WEIGHT[first[pair_id]]
    return lambda pair_id, repeat: (_flipped(first[pair_id], repeat),)


_WEIGHT: Mapping[Order, int] = {"AB": 1, "BA": -1}


def _flipped(order: Order, times: int) -> Order:
    return OPPOSITE[order] if times % 2 else order


def in_random_order(seed: int, subjects: Sequence[Subject]) -> list[str]:
    """Ids of the subjects, tasks in an order that is random and the same for every judge of the audit.

    So the first part of a plan is a sample of its tasks, and two judges that stop early have seen the same ones.
    """
    ranks = {task_id: digest("order", [seed, task_id]) for task_id in {subject.task_id for subject in subjects}}
    return [subject.subject_id for subject in sorted(subjects, key=lambda subject: ranks[subject.task_id])]


def minus_stored(plan: Sequence[PlannedCell], stored: Collection[str]) -> list[PlannedCell]:
    """The cells whose result is not stored yet."""
    return [cell for cell in plan if cell.cell_id not in stored]

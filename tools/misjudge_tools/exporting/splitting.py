"""Training and test rows by task: no task is in both, and the same seed sorts them alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from misjudge_storage.hashing import digest

_BITS = 60


class Split(NamedTuple):
    """Which tasks are kept for testing: those whose number for this seed is at most `last`; None: none is."""

    seed: int
    last: int | None

    def is_test(self, task: str) -> bool:
        return self.last is not None and _number(self.seed, task) <= self.last


def split_of(tasks: Iterable[str], seed: int, share: float) -> Split:
    """The split that keeps this share of the different tasks for testing: at least one where it is above 0, and never
    all. One number a task is held in memory.
    """
    numbers = sorted({_number(seed, task) for task in tasks})
    size = min(max(round(share * len(numbers)), 1), len(numbers) - 1) if share and numbers else 0
    return Split(seed, numbers[size - 1] if size else None)


def _number(seed: int, task: str) -> int:
    return int(digest("split", [seed, task])[-_BITS // 4 :], 16)

"""The moments of counts that a test holds by task, as the store gives them of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from misjudge_storage.task_moments import Moments


def moments_of(tasks: Iterable[Sequence[float]]) -> Moments:
    """The moments of the counts of one task each; tasks without any do not count."""
    seen = [counts for counts in tasks if any(counts)]
    number = len(seen[0]) if seen else 0
    return Moments(
        clusters=len(seen),
        totals=tuple(sum(counts[j] for counts in seen) for j in range(number)),
        products=tuple(sum(counts[j] * counts[k] for counts in seen) for j in range(number) for k in range(j, number)),
    )

"""The variance of a number that is made of counts, where observations of one task go together.

A number f that does not change when all counts are multiplied varies as Σ_j f_j·x_ij does between tasks i, f_j being
its derivative by count j (linearisation: Woodruff, JASA 66, 1971; Cochran, Sampling Techniques, 3rd ed. 1977, §6.3).
That sums to 0 over tasks, so no mean is to be taken off. Where each task holds one observation it is the delta method.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from misjudge_storage.task_moments import Moments
from misjudge_tools.stats.rates import ClusterSums


def moments_of(tasks: Iterable[Sequence[float]]) -> Moments:
    """The moments of the counts of one task each; tasks without any do not count."""
    seen = [counts for counts in tasks if any(counts)]
    number = len(seen[0]) if seen else 0
    return Moments(
        clusters=len(seen),
        totals=tuple(sum(counts[j] for counts in seen) for j in range(number)),
        products=tuple(sum(counts[j] * counts[k] for counts in seen) for j in range(number) for k in range(j, number)),
    )


def between_tasks(gradient: Sequence[float], moments: Moments) -> float:
    """G/(G − 1) · Σ_i (Σ_j f_j·x_ij)², for two tasks or more."""
    products = iter(moments.products)
    total = 0.0
    for j, first in enumerate(gradient):
        total += first * first * next(products)
        for second in gradient[j + 1 :]:
            total += 2 * first * second * next(products)
    return max(0.0, total) * moments.clusters / (moments.clusters - 1)


def alone(gradient: Sequence[float], counts: Sequence[float]) -> float:
    """The variance if each observation, counted once, were a task of its own: Σ_j f_j²·x_j."""
    return sum(slope * slope * number for slope, number in zip(gradient, counts, strict=True))


def share_sums(
    counted: Sequence[int], among: Sequence[int], moments: Moments, clusters: int | None = None
) -> ClusterSums:
    """The sums of a share: the counts at the places `counted` of those at the places `among`.

    `clusters` are the tasks that have any of the latter, by default all.
    """
    size = len(moments.totals)
    table: dict[tuple[int, int], float] = {}
    products = iter(moments.products)
    for j in range(size):
        for k in range(j, size):
            table[j, k] = table[k, j] = next(products)
    return ClusterSums(
        clusters=moments.clusters if clusters is None else clusters,
        k=round(sum(moments.totals[j] for j in counted)),
        n=round(sum(moments.totals[j] for j in among)),
        kk=round(sum(table[j, k] for j in counted for k in counted)),
        kn=round(sum(table[j, k] for j in counted for k in among)),
        nn=round(sum(table[j, k] for j in among for k in among)),
    )

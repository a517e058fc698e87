"""The variance of a number that is made of counts, where observations of one task go together (`stats.linearised`).

Where each task holds one observation it is the delta method.
"""

from __future__ import annotations

from collections.abc import Sequence

from misjudge_storage.task_moments import Moments
from misjudge_tools.stats.linearised import between_clusters
from misjudge_tools.stats.rates import ClusterSums


def between_tasks(gradient: Sequence[float], moments: Moments) -> float:
    """Of counts by task with these moments, for two tasks or more."""
    return between_clusters(moments.clusters, gradient, moments.products)


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

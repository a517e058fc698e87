"""A share with its interval: what every rate of an audit is made of.

Observations of one task go together: the two orders of a pair, and the pairs of a task, are right or wrong
for common reasons. They form one *cluster*, and an interval that took them as independent would be too
narrow. Six sums over clusters are all that the clustered interval needs, so the data base can do the counting.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Annotated, NamedTuple

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.stats.distributions import normal_quantile, student_t_quantile
from misjudge_tools.stats.linearised import between_clusters

LEVEL = 0.95
"""Confidence level of every interval unless another is asked for."""

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class Rate(Value):
    """`k` of `n`, with its confidence interval. The three shares are None when there was nothing to count."""

    rate: Share | None
    k: Count
    n: Count
    low: Share | None
    high: Share | None


class NoData(Value):
    """Stands where a section has nothing to say; `why` is a sentence for people."""

    why: str


class Interval(NamedTuple):
    low: float
    high: float


class Tally(NamedTuple):
    """`k` of `n` observations."""

    k: int
    n: int


class ClusterSums(NamedTuple):
    """Sums over clusters i with n_i > 0 observations, k_i of them counted.

    `clusters` = Σ1, `k` = Σk_i, `n` = Σn_i, `kk` = Σk_i², `kn` = Σk_i·n_i, `nn` = Σn_i². The sums of two
    disjoint sets of clusters add up field by field.
    """

    clusters: int
    k: int
    n: int
    kk: int
    kn: int
    nn: int


NONE = ClusterSums(0, 0, 0, 0, 0, 0)
"""The sums over no cluster at all: nothing of this kind was observed."""


def cluster_sums(tallies: Iterable[Tally]) -> ClusterSums:
    """The sums of one tally per cluster; clusters without observations do not count."""
    seen = [tally for tally in tallies if tally.n > 0]
    return ClusterSums(
        clusters=len(seen),
        k=sum(k for k, _ in seen),
        n=sum(n for _, n in seen),
        kk=sum(k * k for k, _ in seen),
        kn=sum(k * n for k, n in seen),
        nn=sum(n * n for _, n in seen),
    )


def independent(k: int, n: int) -> ClusterSums:
    """The sums of `n` observations that are a cluster each."""
    return ClusterSums(clusters=n, k=k, n=n, kk=k, kn=k, nn=n)


def plain_rate(k: int, n: int, level: float = LEVEL) -> Rate:
    """The share `k/n` of independent observations, with Wilson's interval."""
    if n == 0:
        return Rate(rate=None, k=0, n=0, low=None, high=None)
    low, high = wilson(k, n, normal_quantile((1 + level) / 2))
    return Rate(rate=k / n, k=k, n=n, low=low, high=high)


def clustered_rate(sums: ClusterSums, level: float = LEVEL) -> Rate:
    """The share `k/n` of clustered observations, with Wilson's interval on the effective number.

    The effective number is n/deff, where deff ≥ 1 is the variance of the share between clusters,
    G/(G − 1) · Σ(k_i − p·n_i)²/n² (`stats.linearised`), over the binomial p(1 − p)/n. `score_interval` does the rest.
    """
    if sums.n == 0:
        return plain_rate(0, 0)
    rate = sums.k / sums.n
    low, high = pooled_interval(rate, sums, level)
    return Rate(rate=rate, k=sums.k, n=sums.n, low=low, high=high)


def pooled_interval(rate: float, sums: ClusterSums, level: float = LEVEL) -> Interval:
    """The interval of `clustered_rate` around a share that is nearly, but not just, `k/n` of `sums`."""
    return score_interval(
        rate, _ratio_variance(sums), sums.clusters, most=sums.n, level=level, even=even_clusters(sums)
    )


def even_clusters(sums: ClusterSums) -> float:
    """How many clusters of one size say as much as these where the observations of a cluster always agree: n²/Σn_i²
    (Kish, Survey Sampling, 1965, §8.2). A few large ones say little, however many small ones stand beside them.
    """
    return sums.n * sums.n / sums.nn if sums.nn else 0.0


def score_interval(
    rate: float, variance: float, clusters: int, most: int, level: float = LEVEL, even: float | None = None
) -> Interval:
    """Wilson's interval for a share whose sampling variance was estimated from `clusters` clusters.

    The effective number of observations is the one that gives a binomial share this variance, at most `most`. At 0 and
    1 no variance can be seen, and it is the number of clusters (of `even` ones where their sizes differ), as if the
    observations of a cluster always agreed. The critical value is Student's with clusters − 1 degrees of freedom (Korn
    and Graubard, Survey Methodology 24, 1998), which makes up for a variance that was estimated, so the normal one
    where none was. An end is never nearer to 0 or 1 than without any such observation: a few say next to nothing of how
    alike a cluster's are, and an audit must not look better for an error. A single cluster says nothing of others, so
    it gives 0 to 1.
    """
    if clusters < 2:
        return Interval(0.0, 1.0)
    spread = rate * (1 - rate)
    nothing_seen = wilson(0, clusters if even is None else even, normal_quantile((1 + level) / 2)).high
    if spread == 0:
        return Interval(0.0, nothing_seen) if rate == 0 else Interval(1 - nothing_seen, 1.0)
    effective = min(most, spread / variance) if variance > 0 else most
    low, high = wilson(rate * effective, effective, student_t_quantile((1 + level) / 2, clusters - 1))
    return Interval(min(low, 1 - nothing_seen), max(high, nothing_seen))


def wilson(k: float, n: float, z: float) -> Interval:
    """Wilson's score interval for `k` of `n` > 0 at the critical value `z` (JASA 22, 1927).

    Both may be fractions of observations, as effective numbers are.
    """
    rate = k / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return Interval(min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half)))


def _ratio_variance(sums: ClusterSums) -> float:
    """The variance of k/n between clusters, 0 for a single one."""
    if sums.clusters < 2:
        return 0.0
    return between_clusters(sums.clusters, (sums.n, -sums.k), (sums.kk, sums.kn, sums.nn)) / sums.n**4

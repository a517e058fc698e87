"""How far two groups of observations differ that may come from the same tasks: near against wide pairs, a slice
against the rest.

A task may have observations in both groups, so their shares are not independent: the sums over tasks hold products of
both groups. Nothing but these sums is needed, so the data base can do the counting.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

from misjudge_storage.summary_values import CrossSums
from misjudge_tools.stats.distributions import incomplete_beta
from misjudge_tools.stats.exact import effective
from misjudge_tools.stats.linearised import between_clusters
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import LEVEL, ClusterSums, Tally, cluster_sums, pooled_interval


class JointTally(NamedTuple):
    """One task: `k1` of `n1` observations of the first group are counted, `k2` of `n2` of the second."""

    k1: int
    n1: int
    k2: int
    n2: int


class JointSums(NamedTuple):
    """The sums of two groups over tasks, and those of their products."""

    first: ClusterSums
    second: ClusterSums
    cross: CrossSums

    @property
    def clusters(self) -> int:
        """Tasks with observations in either group."""
        return self.first.clusters + self.second.clusters - self.cross.both


class Tails(NamedTuple):
    """The p-value against the first share being larger (`more`), and of them being unequal (`unequal`)."""

    more: float
    unequal: float


class Spread(NamedTuple):
    """The variances of two shares p over p(1 − p), which are 1/effective number each, and their correlation."""

    first: float
    second: float
    correlation: float

    def of_difference(self, first: float, second: float) -> float:
        """The variance of the difference where p(1 − p) of the two shares are these."""
        one, two = self.first * first, self.second * second
        return one + two - 2 * self.correlation * sqrt(one * two)


def joint_sums(tasks: Iterable[JointTally]) -> JointSums:
    """The sums of one tally per task."""
    seen = list(tasks)
    both = [task for task in seen if task.n1 > 0 and task.n2 > 0]
    return JointSums(
        first=cluster_sums(Tally(task.k1, task.n1) for task in seen),
        second=cluster_sums(Tally(task.k2, task.n2) for task in seen),
        cross=CrossSums(
            both=len(both),
            kk=sum(task.k1 * task.k2 for task in both),
            kn=sum(task.k1 * task.n2 for task in both),
            nk=sum(task.n1 * task.k2 for task in both),
            nn=sum(task.n1 * task.n2 for task in both),
        ),
    )


def against_rest(part: ClusterSums, whole: ClusterSums, cross: CrossSums) -> JointSums:
    """A part and what is left of the whole. `cross` holds the products of the part with the whole of each task; `both`
    are tasks that have more than the part.
    """
    rest = ClusterSums(
        clusters=whole.clusters - part.clusters + cross.both,
        k=whole.k - part.k,
        n=whole.n - part.n,
        kk=whole.kk - 2 * cross.kk + part.kk,
        kn=whole.kn - cross.kn - cross.nk + part.kn,
        nn=whole.nn - 2 * cross.nn + part.nn,
    )
    apart = CrossSums(cross.both, cross.kk - part.kk, cross.kn - part.kn, cross.nk - part.kn, cross.nn - part.nn)
    return JointSums(part, rest, apart)


def difference(sums: JointSums, p: float | None = None, level: float = LEVEL) -> Effect:
    """The share of the first group minus that of the second, with an interval that joins those of both.

    Each interval is that of `rates.clustered_rate`; they are joined as by Newcombe (Statistics in Medicine 17, 1998,
    method 10) with the correlation of the two shares over tasks (Zou and Donner, Statistics in Medicine 27, 2008), of
    which a standard error is taken off, since few tasks tell little of it.
    None where a group is empty, and without interval where one has a single task.
    """
    first, second = sums.first, sums.second
    n = first.n + second.n
    if not first.n or not second.n:
        return Effect(value=None, low=None, high=None, n=n)
    one, two = first.k / first.n, second.k / second.n
    if first.clusters < 2 or second.clusters < 2:
        return Effect(value=one - two, low=None, high=None, n=n, p=p)
    (low1, high1), (low2, high2) = pooled_interval(one, first, level), pooled_interval(two, second, level)
    correlation = own_spread(sums).correlation
    return Effect(
        value=one - two,
        low=one - two - _joined(one - low1, high2 - two, correlation),
        high=one - two + _joined(high1 - one, two - low2, correlation),
        n=n,
        p=p,
    )


def score_p(sums: JointSums) -> Tails | None:
    """The p-values of no difference between two groups, clusters being tasks; None where a group has one task only.

    The difference over its standard error where both have the pooled share (`null_spread`), against Student's t with as
    many degrees of freedom as the smaller group has tasks, less one. But for the bounds on the spread this is the score
    test of generalised estimating equations, working correlation independent (Boos, American Statistician 46, 1992).
    """
    spread = null_spread(sums)
    if spread is None:
        return None
    share = _pooled(sums)
    variance = spread.of_difference(share * (1 - share), share * (1 - share))
    between = sums.first.k / sums.first.n - sums.second.k / sums.second.n
    t = between / sqrt(variance) if variance > 0 else 0.0
    above = _upper_tail(abs(t), degrees_of_freedom(sums))
    return Tails(more=above if t >= 0 else 1 - above, unequal=min(1.0, 2 * above))


def degrees_of_freedom(sums: JointSums) -> int:
    """One less than the tasks of the smaller group."""
    return min(sums.first.clusters, sums.second.clusters) - 1


def null_spread(sums: JointSums) -> Spread | None:
    """The variances of both shares between tasks, and their correlation, where both groups have the pooled share.

    That of a group is G/(G − 1) · Σ(k_i − p·n_i)²/n² over p(1 − p), at least 1/n (a design effect of 1). Where a group
    has none or all counted no variance can be seen, and it is at least 1/G, as in `stats.rates`. None where a group has
    one task only.
    """
    first, second, cross = sums
    if first.clusters < 2 or second.clusters < 2:
        return None
    k, n = first.k + second.k, first.n + second.n
    if k in (0, n):
        return Spread(1 / first.clusters, 1 / second.clusters, 0.0)
    one, two = _null_variance(first, k, n), _null_variance(second, k, n)
    # In whole numbers, since the sum cancels; the pooled share is k/n.
    joint = cross.kk * n * n - (cross.kn + cross.nk) * k * n + cross.nn * k * k
    covariance = sums.clusters / (sums.clusters - 1) * joint / (k * (n - k) * first.n * second.n)
    return Spread(one, two, _bounded(covariance / sqrt(one * two), cross.both))


def _null_variance(group: ClusterSums, k: int, n: int) -> float:
    between = between_clusters(group.clusters, (n, -k), (group.kk, group.kn, group.nn))
    seen = between / (k * (n - k) * group.n * group.n)
    return max(seen, 1 / (group.clusters if group.k in (0, group.n) else group.n))


def own_spread(sums: JointSums) -> Spread:
    """As `null_spread`, each group having its own share. Both have two tasks or more."""
    first, second, cross = sums
    one, two = 1 / effective(first).n, 1 / effective(second).n
    unsure = first.k * (first.n - first.k) * second.k * (second.n - second.k)
    if not unsure:
        return Spread(one, two, 0.0)
    # Times n1·n2, in whole numbers as above.
    joint = (
        cross.kk * first.n * second.n
        - cross.kn * second.k * first.n
        - cross.nk * first.k * second.n
        + cross.nn * first.k * second.k
    )
    covariance = sums.clusters / (sums.clusters - 1) * joint / (first.n * second.n)
    correlation = _bounded(covariance / sqrt(unsure * one * two), cross.both)
    return Spread(one, two, _one_error_less(correlation, cross.both))


def _bounded(correlation: float, both: int) -> float:
    """A few tasks that happen to agree would be a correlation of 1, and their difference certain."""
    return max(-1.0, min(correlation, 1 - 4 / both)) if both else 0.0


def _one_error_less(correlation: float, both: int) -> float:
    """A positive correlation less its standard error, (1 − ρ²)/√tasks: where it is not sure, the interval is wider."""
    if correlation <= 0:
        return correlation
    return max(0.0, correlation - (1 - correlation * correlation) / sqrt(both))


def _joined(one: float, two: float, correlation: float) -> float:
    return sqrt(max(0.0, one * one + two * two - 2 * correlation * one * two))


def _pooled(sums: JointSums) -> float:
    return (sums.first.k + sums.second.k) / (sums.first.n + sums.second.n)


def _upper_tail(t: float, df: int) -> float:
    """P(T > t) of Student's t, t ≥ 0 (DLMF 8.17)."""
    return incomplete_beta(df / (df + t * t), df / 2, 0.5) / 2

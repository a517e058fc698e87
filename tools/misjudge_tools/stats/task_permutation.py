"""A permutation test of one group against another that keeps each task together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations, compress, product
from math import comb, sqrt
from random import Random
from typing import Literal, NamedTuple

from misjudge_tools.stats.gaps import JointSums, JointTally

MOST_ENUMERATED = 4096
"""Ways to permute up to which all are gone through."""
DRAWN = 1999
"""Ways that are drawn where there are more."""
SEED = 7


class Permuted(NamedTuple):
    """The one-sided p-value of the first share being larger, over all ways to permute or over `DRAWN` of them."""

    p: float
    how: Literal["enumerated", "permuted"]


class _Labelled(NamedTuple):
    """A task that is of one group: k − p·n, n, (k − p·n)²."""

    residual: float
    n: int
    square: float


class _Test(NamedTuple):
    """What is moved: tasks whose contributions (to the first and the second group) change sign, and tasks of one group
    whose labels are dealt out anew, `dealt` of them those of the smaller label, which is `first` or not.
    """

    signed: Sequence[tuple[float, float]]
    labelled: Sequence[_Labelled]
    dealt: int
    first: bool
    sizes: tuple[int, int]


class _Way(NamedTuple):
    """One way to permute: Σ of the signed contributions to each group, and those that got the smaller label."""

    one: float
    two: float
    smaller: Sequence[_Labelled]


def moved(sums: JointSums) -> int:
    """How many tasks a permutation moves: those with both groups, and of those with one group the fewer; all where the
    latter are all of one group.
    """
    both = sums.cross.both
    fewer = min(sums.first.clusters, sums.second.clusters) - both
    return both + fewer if fewer else sums.clusters


def task_permutation(tasks: Iterable[JointTally], seed: int = SEED) -> Permuted:
    """Is the share of the first group larger: a task-clustered permutation, the same whatever the order of the tasks.

    With the pooled share p, task i adds (k1 − p·n1)/N1 − (k2 − p·n2)/N2 to the difference. A task with both groups may
    as well have had the opposite sign (the cluster wild bootstrap of the score: Kline and Santos, Journal of
    Econometric Methods 1, 2012); tasks of one group may as well have had each other's label. The difference is divided
    by the root of the sum of squares, so that the level holds also where the groups are of tasks of unequal size (Chung
    and Romano, Annals of Statistics 41, 2013). Where all tasks of one group are of the same, they are signed, too.
    Both groups must have observations.
    """
    test = _test(sorted(task for task in tasks if task.n1 or task.n2))
    as_it_is = _Way(sum(one for one, _ in test.signed), sum(two for _, two in test.signed), test.labelled[: test.dealt])
    statistic = _statistic(test)
    seen = statistic(as_it_is) - 1e-9
    number = 2 ** len(test.signed) * comb(len(test.labelled), test.dealt)
    if number <= MOST_ENUMERATED:
        return Permuted(sum(statistic(way) >= seen for way in _every(test)) / number, "enumerated")
    above = sum(statistic(way) >= seen for way in _drawn(test, Random(seed)))
    return Permuted((1 + above) / (1 + DRAWN), "permuted")


def _test(tasks: Sequence[JointTally]) -> _Test:
    n = sum(task.n1 + task.n2 for task in tasks)
    share = sum(task.k1 + task.k2 for task in tasks) / n if n else 0.0
    first, second = [task for task in tasks if not task.n2], [task for task in tasks if not task.n1]
    if not first or not second:
        first, second = [], []
    single = {*first, *second}
    both = [task for task in tasks if task not in single]
    smaller, larger = sorted((first, second), key=len)
    return _Test(
        signed=[(task.k1 - share * task.n1, task.k2 - share * task.n2) for task in both],
        labelled=[_labelled(task, share) for task in chain(smaller, larger)],
        dealt=len(smaller),
        first=smaller is first,
        sizes=(sum(task.n1 for task in both), sum(task.n2 for task in both)),
    )


def _labelled(task: JointTally, share: float) -> _Labelled:
    n = task.n1 + task.n2
    residual = task.k1 + task.k2 - share * n
    return _Labelled(residual, n, residual * residual)


def _statistic(test: _Test) -> Callable[[_Way], float]:
    """The difference of one way over the root of the sum of its squares; 0 where no task differs from the others."""
    squares = sum(one * one for one, _ in test.signed)
    products = sum(one * two for one, two in test.signed)
    other_squares = sum(two * two for _, two in test.signed)
    whole = _total(test.labelled)

    def value(way: _Way) -> float:
        smaller = _total(way.smaller)
        larger = _Labelled(whole.residual - smaller.residual, whole.n - smaller.n, whole.square - smaller.square)
        first, second = (smaller, larger) if test.first else (larger, smaller)
        n1, n2 = test.sizes[0] + first.n, test.sizes[1] + second.n
        between = (way.one + first.residual) / n1 - (way.two + second.residual) / n2
        variance = (
            (squares + first.square) / (n1 * n1)
            - 2 * products / (n1 * n2)
            + (other_squares + second.square) / (n2 * n2)
        )
        return between / sqrt(variance) if variance > 1e-18 else 0.0

    return value


def _total(tasks: Sequence[_Labelled]) -> _Labelled:
    return _Labelled(
        sum(task.residual for task in tasks), sum(task.n for task in tasks), sum(task.square for task in tasks)
    )


def _every(test: _Test) -> Iterator[_Way]:
    dealt = list(combinations(test.labelled, test.dealt))
    for signs in product((1, -1), repeat=len(test.signed)):
        one = sum(sign * first for sign, (first, _) in zip(signs, test.signed, strict=True))
        two = sum(sign * second for sign, (_, second) in zip(signs, test.signed, strict=True))
        yield from (_Way(one, two, smaller) for smaller in dealt)


def _drawn(test: _Test, draw: Random) -> Iterator[_Way]:
    ones, twos = [one for one, _ in test.signed], [two for _, two in test.signed]
    one, two, width = sum(ones), sum(twos), len(test.signed)
    for _ in range(DRAWN):
        kept = [bit == "1" for bit in f"{draw.getrandbits(width):0{width}b}"] if width else []
        yield _Way(
            2 * sum(compress(ones, kept)) - one,
            2 * sum(compress(twos, kept)) - two,
            draw.sample(test.labelled, test.dealt),
        )

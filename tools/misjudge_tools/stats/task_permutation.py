"""A permutation test of one group against another that keeps each task together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, combinations, product
from math import comb
from random import Random
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misjudge_tools.stats.gaps import JointSums, JointTally

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

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


class _Ways(NamedTuple):
    """Ways to permute, one element each: Σ of the signed contributions to each group, and of the labelled tasks that
    got the smaller label Σ(k − p·n), Σn and Σ(k − p·n)².
    """

    one: Floats
    two: Floats
    residual: Floats
    n: Floats
    square: Floats


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
    statistic = _statistic(test)
    seen = (
        statistic(_ways(test, np.ones((1, len(test.signed)), dtype=np.float64), np.arange(test.dealt)[None]))[0] - 1e-9
    )
    number = 2 ** len(test.signed) * comb(len(test.labelled), test.dealt)
    if number <= MOST_ENUMERATED:
        return Permuted(int((statistic(_every(test)) >= seen).sum()) / number, "enumerated")
    drawn = _draws(seed, DRAWN, len(test.signed), len(test.labelled), test.dealt)
    above = int((statistic(_ways(test, 2 * drawn.kept.astype(np.float64) - 1, drawn.dealt)) >= seen).sum())
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


def _statistic(test: _Test) -> Callable[[_Ways], Floats]:
    """The difference of each way over the root of the sum of its squares; 0 where no task differs from the others."""
    squares = sum(one * one for one, _ in test.signed)
    products = sum(one * two for one, two in test.signed)
    other_squares = sum(two * two for _, two in test.signed)
    whole = _Labelled(*(sum(column) for column in zip(*test.labelled, strict=True))) if test.labelled else _NOTHING

    def values(ways: _Ways) -> Floats:
        smaller = (ways.residual, ways.n, ways.square)
        larger = (whole.residual - ways.residual, whole.n - ways.n, whole.square - ways.square)
        first, second = (smaller, larger) if test.first else (larger, smaller)
        n1, n2 = test.sizes[0] + first[1], test.sizes[1] + second[1]
        between = (ways.one + first[0]) / n1 - (ways.two + second[0]) / n2
        variance = (squares + first[2]) / (n1 * n1) - 2 * products / (n1 * n2) + (other_squares + second[2]) / (n2 * n2)
        alike = variance <= 1e-18
        return np.where(alike, 0.0, between / np.sqrt(np.where(alike, 1.0, variance)))

    return values


_NOTHING = _Labelled(0.0, 0, 0.0)


def _ways(test: _Test, signs: Floats, dealt: Ints) -> _Ways:
    """Each row of `signs` is of a way, and each of `dealt` the places of the tasks that get the smaller label."""
    signed = np.array(test.signed).reshape(len(test.signed), 2)
    labelled = np.array(test.labelled, dtype=np.float64).reshape(len(test.labelled), 3)
    return _Ways(*(signs @ signed).T, *labelled[dealt].sum(axis=1).T)


def _every(test: _Test) -> _Ways:
    signs = list(product((1.0, -1.0), repeat=len(test.signed)))
    dealt = list(combinations(range(len(test.labelled)), test.dealt))
    return _ways(
        test,
        np.repeat(np.array(signs), len(dealt), axis=0),
        np.tile(np.array(dealt, dtype=np.int64), (len(signs), 1)),
    )


class _Draws(NamedTuple):
    """Ways that were drawn, a row each: whether signed tasks keep their sign, and the places of labelled ones."""

    kept: NDArray[np.uint8]
    dealt: NDArray[np.int16]


@lru_cache(maxsize=16)
def _draws(seed: int, number: int, signed: int, labelled: int, dealt: int) -> _Draws:
    """The same for all judges with as many tasks of each kind, so that drawing takes its time once."""
    draw = Random(seed)
    bits: list[str] = []
    places: list[list[int]] = []
    for _ in range(number):
        bits.append(f"{draw.getrandbits(signed):0{signed}b}" if signed else "")
        places.append(draw.sample(range(labelled), dealt))
    kept = np.frombuffer("".join(bits).encode(), dtype=np.uint8).reshape(number, signed) - np.uint8(ord("0"))
    return _Draws(kept, np.array(places, dtype=np.int16).reshape(number, dealt))

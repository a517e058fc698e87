"""The task-clustered permutation: against going through all ways by brute force."""

from __future__ import annotations

from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from misjudge_tools.stats import task_permutation as module
from misjudge_tools.stats.gaps import JointTally, joint_sums
from misjudge_tools.stats.task_permutation import moved, task_permutation

BOTH = [JointTally(2, 3, 0, 4), JointTally(1, 1, 1, 2), JointTally(3, 3, 1, 5), JointTally(0, 2, 0, 1)]
ONE = [JointTally(2, 2, 0, 0), JointTally(1, 4, 0, 0)] + [JointTally(0, 0, k, n) for k, n in ((0, 3), (1, 2), (0, 2))]


def brute_force(tasks: list[JointTally]) -> float:
    """All signs of tasks with both groups, and all ways to deal the labels of the others."""
    share = sum(t.k1 + t.k2 for t in tasks) / sum(t.n1 + t.n2 for t in tasks)
    single = [t for t in tasks if not (t.n1 and t.n2)]
    firsts = sum(t.n1 > 0 for t in single)
    if firsts in (0, len(single)):
        single, firsts = [], 0
    signed = [t for t in tasks if t not in single]

    def statistic(signs: tuple[int, ...], dealt: set[int]) -> float:
        n1 = sum(t.n1 for t in signed) + sum(t.n1 + t.n2 for n, t in enumerate(single) if n in dealt)
        n2 = sum(t.n1 + t.n2 for t in tasks) - n1
        adds = [(t.k1 - share * t.n1) / n1 - (t.k2 - share * t.n2) / n2 for t in signed]
        parts = [sign * add for sign, add in zip(signs, adds, strict=True)]
        for n, t in enumerate(single):
            residual = t.k1 + t.k2 - share * (t.n1 + t.n2)
            parts.append(residual / n1 if n in dealt else -residual / n2)
        squares = sum(part * part for part in parts)
        return sum(parts) / sqrt(squares) if squares > 1e-18 else 0.0

    seen = statistic((1,) * len(signed), {n for n, t in enumerate(single) if t.n1})
    ways = [
        statistic(signs, set(dealt)) >= seen - 1e-9
        for signs in product((1, -1), repeat=len(signed))
        for dealt in combinations(range(len(single)), firsts)
    ]
    return sum(ways) / len(ways)


@pytest.mark.parametrize("tasks", [BOTH, ONE, BOTH + ONE, BOTH + ONE[:2], BOTH[:1], ONE[1:]])
def test_few_tasks_are_permuted_in_every_way(tasks: list[JointTally]) -> None:
    found = task_permutation(tasks)
    assert found.how == "enumerated"
    assert found.p == pytest.approx(brute_force(tasks))


def test_labels_of_single_tasks_are_dealt_as_scipy_does_it() -> None:
    near, far = [1, 2, 2, 3], [0, 1, 0, 1, 2]
    tasks = [JointTally(k, 3, 0, 0) for k in near] + [JointTally(0, 0, k, 3) for k in far]
    share = np.mean([*near, *far])

    def statistic(one: np.ndarray, two: np.ndarray) -> float:
        r1, r2 = one - share, two - share
        n1, n2 = len(one), len(two)
        value = r1.sum() / n1 - r2.sum() / n2
        return float(value / np.sqrt((r1 * r1).sum() / n1**2 + (r2 * r2).sum() / n2**2))

    expected = permutation_test((near, far), statistic, alternative="greater", n_resamples=np.inf)
    assert task_permutation(tasks).p == pytest.approx(expected.pvalue)


def test_many_tasks_are_permuted_in_drawn_ways_that_come_close(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = BOTH + BOTH[:2] + ONE
    whole = task_permutation(tasks)
    monkeypatch.setattr(module, "MOST_ENUMERATED", 1)
    drawn = task_permutation(tasks)
    assert (whole.how, drawn.how) == ("enumerated", "permuted")
    assert drawn.p == pytest.approx(whole.p, abs=4 * sqrt(whole.p * (1 - whole.p) / module.DRAWN))


def test_the_order_of_the_tasks_says_nothing() -> None:
    tasks = [JointTally(n % 3, 3, n % 2, 2) for n in range(40)] + ONE
    assert task_permutation(tasks) == task_permutation(reversed(tasks))


def test_where_all_tasks_do_alike_nothing_differs() -> None:
    assert task_permutation([JointTally(0, 2, 0, 2)] * 5).p == 1.0


TALLIES = st.builds(lambda n1, n2, a, b: JointTally(min(a, n1), n1, min(b, n2), n2), *[st.integers(0, 3)] * 4)


@given(st.lists(TALLIES.filter(lambda task: task.n1 + task.n2 > 0), min_size=1, max_size=6))
def test_the_tasks_that_are_moved_are_those_that_the_permutation_goes_through(tasks: list[JointTally]) -> None:
    test = module._test(sorted(tasks))
    assert moved(joint_sums(tasks)) == len(test.signed) + test.dealt

"""Do probe intervals hold the truth as often as they say, and how often does a judge without faults look fooled?"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest
import scipy.stats

from misjudge_tools.stats.probes import (
    PairedSums,
    ProbeCounts,
    TaskTally,
    paired_effect,
    preference_by_gold,
    probe_rows,
)
from misjudge_tools.stats.rates import Tally, cluster_sums

AUDITS = 1000
"""An interval that holds the truth in 90 % would reach 93 % of so many once in a thousand times."""
RHO = 0.3
"""Correlation within a task, of how the judge leans and of how far a probe reaches."""
TASKS_ITEMS = [(8, 8), (12, 20), (12, 36), (20, 40), (24, 48), (48, 60)]
INSTABILITIES = [0.02, 0.1, 0.3, 0.5]


class Audits(NamedTuple):
    """Many audits of one kind: the task of each item, and by audit and item the three verdicts for the changed side."""

    sizes: np.ndarray
    task: np.ndarray
    first: np.ndarray
    second: np.ndarray
    changed: np.ndarray


def audits(tasks: int, items: int, instability: float, reach: float, seed: int) -> Audits:
    """A judge that asked again flips with `instability`, and whose verdict a change moves in a share `reach`."""
    rng = np.random.default_rng(seed)
    sizes = np.full(tasks, items // tasks)
    sizes[: items % tasks] += 1
    task = np.repeat(np.arange(tasks), sizes)
    strength = (1 - RHO) / RHO
    moved = rng.beta(reach * strength, (1 - reach) * strength, (AUDITS, tasks)) if reach else np.zeros((AUDITS, tasks))
    shared = rng.random((AUDITS, items)) < RHO
    leaning = np.where(shared, (rng.random((AUDITS, tasks)) < 0.5)[:, task], rng.random((AUDITS, items)) < 0.5)
    unlikely = (1 - sqrt(1 - 2 * instability)) / 2
    likely = np.where(leaning, 1 - unlikely, unlikely)
    first, second, again = (rng.random((AUDITS, items)) < likely for _ in range(3))
    return Audits(sizes, task, first, second, again | (rng.random((AUDITS, items)) < moved[:, task]))


def by_task(made: Audits, values: np.ndarray) -> np.ndarray:
    return np.stack([values[:, made.task == t].sum(axis=1) for t in range(len(made.sizes))], axis=1)


def sums_of(made: Audits, differences: np.ndarray) -> list[PairedSums]:
    n, nn = int(made.sizes.sum()), int((made.sizes**2).sum())
    totals = by_task(made, differences)
    squares = (differences**2).sum(axis=1)
    return [
        PairedSums(len(made.sizes), n, int(d.sum()), int(square), int((d**2).sum()), int((d * made.sizes).sum()), nn)
        for d, square in zip(totals, squares, strict=True)
    ]


def tango(gained: float, lost: float, n: float, critical: float) -> float:
    """Width of the score interval for a paired difference of shares (Tango, Statistics in Medicine 17, 1998)."""

    def score(difference: float) -> float:
        b = -gained - lost + (2 * n - gained + lost) * difference
        q = (sqrt(max(0.0, b * b + 8 * n * lost * difference * (1 - difference))) - b) / (4 * n)
        return (gained - lost - n * difference) / sqrt(max(n * (2 * q + difference * (1 - difference)), 1e-12))

    def crossing(low: float, high: float, at: float) -> float:
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if score(middle) > at else (low, middle)
        return low

    estimate = (gained - lost) / n
    return crossing(estimate, 1, -critical) - crossing(-1, estimate, critical)


def reference_width(made: Audits, differences: np.ndarray) -> float:
    """What an interval is wide that knows the true design effect; where no item differs, tasks are its items."""
    tasks, n = len(made.sizes), int(made.sizes.sum())
    critical = float(scipy.stats.t.ppf(0.975, tasks - 1))
    still = (differences == 0).all(axis=1).mean()
    square, mean = (differences**2).mean(), differences.mean()
    variance = by_task(made, differences).sum(axis=1).var() / n**2
    effective = n / max(1.0, variance * n / (square - mean * mean))
    seen = tango(effective * (square + mean) / 2, effective * (square - mean) / 2, effective, critical)
    return float(still * tango(0, 0, tasks, critical) + (1 - still) * seen)


@pytest.mark.slow
@pytest.mark.parametrize("instability", INSTABILITIES)
@pytest.mark.parametrize(("tasks", "items"), TASKS_ITEMS)
def test_excess_and_shift_hold_the_truth_and_are_not_wide(tasks: int, items: int, instability: float) -> None:
    for reach in (0.0, 0.1, 0.3, 0.8):
        made = audits(tasks, items, instability, reach, seed=11)
        flips = (made.changed != made.first).astype(int) - (made.second != made.first)
        shifts = made.changed.astype(int) - made.first
        for differences, truth in ((flips, reach * (0.5 - instability)), (shifts, reach / 2)):
            found = [paired_effect(sums) for sums in sums_of(made, differences)]
            held = [
                one.low <= truth + 1e-12 and truth - 1e-12 <= one.high
                for one in found
                if one.low is not None and one.high is not None
            ]
            assert len(held) == AUDITS
            assert np.mean(held) >= 0.93, (reach, truth)
            width = np.mean([one.high - one.low for one in found if one.low is not None and one.high is not None])
            assert width <= 1.25 * reference_width(made, differences), (reach, truth)
            if tasks >= 24 and instability >= 0.1 and reach:
                known = by_task(made, differences).sum(axis=1).std() / items
                assert width <= 1.25 * 2 * 1.96 * known, (reach, truth)


@pytest.mark.slow
def test_an_interval_that_ignores_the_tasks_is_too_narrow() -> None:
    made = audits(12, 60, 0.02, 0.5, seed=11)
    shifts = made.changed.astype(int) - made.first
    single = [sums._replace(clusters=60, dd=sums.squares, dn=sums.d, nn=60) for sums in sums_of(made, shifts)]
    found = [paired_effect(sums) for sums in single]
    held = [one.low <= 0.25 <= one.high for one in found if one.low is not None and one.high is not None]
    assert np.mean(held) < 0.92


def tallies(made: Audits, first: np.ndarray, second: np.ndarray, changed: np.ndarray) -> list[list[TaskTally]]:
    """The tallies of each audit; verdicts are 2 for the changed side, 1 for a tie, 0."""
    flip, baseline = changed != first, second != first
    shift = changed - first
    counted = (flip & ~baseline, baseline & ~flip, flip, baseline, shift, shift**2)
    columns = np.stack([by_task(made, each.astype(int)) for each in counted], axis=2)
    return [[_tally(int(n), *row) for n, row in zip(made.sizes, audit.tolist(), strict=True)] for audit in columns]


def _tally(items: int, gained: int, lost: int, flips: int, baseline: int, shift: int, squares: int) -> TaskTally:
    return TaskTally(items, gained, lost, flips, baseline, shift / 2, squares / 4)


def false_alarms(probes: Sequence[list[list[TaskTally]]]) -> float:
    """The share of audits in which any of the probes is flagged, each given by its tallies in every audit."""
    alarms = 0
    for audit in zip(*probes, strict=True):
        rows = probe_rows([ProbeCounts(str(n), tasks) for n, tasks in enumerate(audit)], control="0")
        alarms += any(row.fooled for row in rows)
    return alarms / AUDITS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "items", "instability"),
    [(8, 8, 0.3), (12, 20, 0.5), (12, 36, 0.1), (20, 40, 0.02), (24, 48, 0.3), (48, 60, 0.5)],
)
def test_a_judge_that_no_probe_moves_is_seldom_called_fooled(tasks: int, items: int, instability: float) -> None:
    """Thirteen probes share the baselines of their items; an audit raises a false alarm if any of them is flagged."""
    rng = np.random.default_rng(3)
    made = audits(tasks, items, instability, 0.0, seed=3)
    unlikely = (1 - sqrt(1 - 2 * instability)) / 2
    leaning = rng.random((AUDITS, items)) < 0.5
    likely = np.where(leaning, 1 - unlikely, unlikely)
    tied = 0.2 * rng.random((AUDITS, items))

    def verdicts() -> np.ndarray:
        return np.where(rng.random((AUDITS, items)) < tied, 1, 2 * (rng.random((AUDITS, items)) < likely))

    first, second = verdicts(), verdicts()
    probes = []
    for _ in range(13):
        turned = rng.random((AUDITS, items)) < 0.5
        one, other, changed = (np.where(turned, 2 - said, said) for said in (first, second, verdicts()))
        probes.append(tallies(made, one, other, changed))
    assert false_alarms(probes) <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.5, 1.0])
@pytest.mark.parametrize(("tasks", "items"), [(8, 40), (20, 60)])
def test_a_judge_whose_mood_is_one_for_all_items_of_a_task_is_seldom_called_fooled(
    tasks: int, items: int, alike: float
) -> None:
    """Every call draws its verdict for a whole task, but for some items; the side that is changed is one for it too.

    Were items counted by the tests, and not tasks, up to nineteen audits of twenty would raise a false alarm.
    """
    rng = np.random.default_rng(7)
    made = audits(tasks, items, 0.3, 0.0, seed=7)

    def shared(values: np.ndarray, own: np.ndarray) -> np.ndarray:
        return np.where(rng.random((AUDITS, items)) < alike, values[:, made.task], own)

    def verdicts() -> np.ndarray:
        return shared(2 * rng.integers(0, 2, (AUDITS, tasks)), 2 * rng.integers(0, 2, (AUDITS, items)))

    first, second = verdicts(), verdicts()
    probes = []
    for _ in range(13):
        turned = (rng.random((AUDITS, tasks)) < 0.5)[:, made.task]
        one, other, changed = (np.where(turned, 2 - said, said) for said in (first, second, verdicts()))
        probes.append(tallies(made, one, other, changed))
    assert false_alarms(probes) <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize(("failed", "did"), [(0.1, 0.1), (0.3, 0.1), (0.6, 0.2), (0.5, 0.5), (0.9, 0.05)])
@pytest.mark.parametrize(("tasks", "each"), [(12, 2), (24, 2), (20, 3)])
def test_self_preference_holds_the_truth(tasks: int, each: int, failed: float, did: float) -> None:
    rng = np.random.default_rng(5)
    strength = (1 - RHO) / RHO

    def wrong(share: float) -> np.ndarray:
        return rng.binomial(each, rng.beta(share * strength, (1 - share) * strength, (AUDITS, tasks)))

    held = 0
    for own_failed, own_did in zip(wrong(failed), wrong(did), strict=True):
        a, b = (cluster_sums(Tally(int(k), each) for k in counts) for counts in (own_failed, own_did))
        found = preference_by_gold(a, b)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= failed - did <= found.high
    assert held / AUDITS >= 0.93

"""Corrected shares: the published vector, a computation on arrays, and how often the intervals hold the truth."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.task_moments import Moments
from misjudge_tools.stats.correction import (
    CheckedShare,
    Corrected,
    LabelledCells,
    TaskNumbers,
    corrected,
    ppi,
    rogan_gladen,
    rogan_gladen_share,
)
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate
from misjudge_tools.stats.rubrics import Estimate
from task_sums import moments_of

PAIRS = ((1, 1), (0, 1), (1, 0), (0, 0))
"""Of the four cells with a label: the judge, the label."""
counts = st.lists(st.integers(0, 60), min_size=6, max_size=6)


def of_singles(cells: list[int]) -> Corrected:
    """Each observation a task of its own."""
    moments = moments_of([float(k == cell) for k in range(6)] for cell, n in enumerate(cells) for _ in range(n))
    positive, negative = cells[0] + cells[1], cells[2] + cells[3]
    return corrected(moments, TaskNumbers(negative, positive, positive + negative, cells[4] + cells[5]))


def test_the_published_vector_comes_out() -> None:
    assert rogan_gladen_share(0.4, 0.7, 0.9) == pytest.approx(1 / 6)
    found = rogan_gladen(CheckedShare(p=0.4, n=1000, q0=0.7, m0=200, q1=0.9, m1=200))
    assert (found.low, found.high) == pytest.approx((0.05635, 0.26273), abs=5e-6)


def test_a_judge_that_smoothing_leaves_no_better_than_chance_rules_nothing_out() -> None:
    assert rogan_gladen(CheckedShare(p=0.5, n=1000, q0=0.9, m0=20, q1=0.12, m1=1000)) == (0, 1)


def test_a_perfect_judge_needs_no_correction_and_a_share_stays_between_0_and_1() -> None:
    assert rogan_gladen_share(0.3, 1, 1) == pytest.approx(0.3)
    assert (rogan_gladen_share(0.1, 0.7, 0.9), rogan_gladen_share(0.95, 0.9, 0.8)) == (0, 1)


@given(counts)
def test_ppi_is_that_of_the_paper_on_arrays(cells: list[int]) -> None:
    cells = [cell + 1 for cell in cells]
    f = np.repeat([judge for judge, _ in PAIRS], cells[:4]).astype(float)
    y = np.repeat([truth for _, truth in PAIRS], cells[:4]).astype(float)
    rest = np.repeat([1.0, 0.0], cells[4:])
    n, number = len(y), len(rest)
    power = np.cov(y, f, bias=True)[0, 1] / ((1 + n / number) * np.concatenate([f, rest]).var())
    power = float(np.clip(power, 0, 1))
    found = ppi(LabelledCells(*map(float, cells)))
    assert found.power == pytest.approx(power)
    assert found.value == pytest.approx(power * rest.mean() + (y - power * f).mean())
    assert found.variance == pytest.approx(power**2 * rest.var() / number + (y - power * f).var() / n)


def test_a_judge_that_says_the_same_of_all_has_no_weight() -> None:
    found = ppi(LabelledCells(30, 0, 20, 0, 100, 0))
    assert (found.power, found.value) == (0, 0.6)


def test_with_independent_observations_the_intervals_are_those_of_the_papers() -> None:
    cells = [70, 12, 15, 60, 220, 260]
    found = of_singles(cells)
    total = sum(cells)
    assert (found.m0, found.m1, found.unlabelled) == (75, 82, 480)
    t = scipy.stats.t.ppf(0.975, total - 1)
    expected = rogan_gladen(CheckedShare(220 / 480, 480, 60 / 75, 75, 70 / 82, 82), t)
    assert found.rogan_gladen is not None and found.ppi is not None
    # The design effect is G/(G − 1), since a task is one observation.
    assert (found.rogan_gladen.low, found.rogan_gladen.high) == pytest.approx(expected, abs=1e-3)
    assert found.rogan_gladen.value == pytest.approx(rogan_gladen_share(220 / 480, 0.8, 70 / 82))
    assert (found.raw_unlabelled.rate, found.raw_unlabelled.n, found.rogan_gladen.n) == (220 / 480, 480, 480)
    tuned = ppi(LabelledCells(*map(float, cells)))
    half = t * sqrt(tuned.variance * total / (total - 1))
    assert (found.ppi.low, found.ppi.high) == pytest.approx((tuned.value - half, tuned.value + half))
    assert (found.ppi_weight, found.ppi.n, found.why) == (tuned.power, total, {})


def test_the_shares_beside_it_are_those_of_their_tasks() -> None:
    tasks = [[9.0, 1, 2, 8, 20, 10], [5.0, 5, 1, 9, 10, 20], [12.0, 2, 0, 0, 3, 4], [0.0, 0, 1, 6, 9, 2]]
    found = corrected(moments_of(tasks), TaskNumbers(3, 3, 4, 4))

    def rate(counted: tuple[int, ...], among: tuple[int, ...]) -> object:
        tallies = [(sum(task[k] for k in counted), sum(task[k] for k in among)) for task in tasks]
        return clustered_rate(cluster_sums(Tally(int(k), int(n)) for k, n in tallies))

    assert found.specificity == rate((3,), (2, 3))
    assert found.sensitivity == rate((0,), (0, 1))
    assert found.raw == rate((0, 2, 4), (0, 1, 2, 3, 4, 5))
    assert found.raw_labelled == rate((0, 2), (0, 1, 2, 3))
    assert found.raw_unlabelled == rate((4,), (4, 5))
    assert found.labelled == rate((0, 1), (0, 1, 2, 3))


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        ([19, 0, 5, 60, 200, 300], "Fewer than 20 labels"),
        ([60, 10, 5, 14, 200, 300], "Fewer than 20 labels"),
        ([60, 10, 5, 60, 10, 9], "Fewer than 20 are without a label"),
    ],
)
def test_too_few_labels_or_too_few_others_are_refused(cells: list[int], named: str) -> None:
    found = of_singles(cells)
    assert (found.rogan_gladen, found.ppi, found.ppi_weight) == (None, None, None)
    assert {*found.why} == {"rogan_gladen", "ppi"} and all(why.startswith(named) for why in found.why.values())


def test_a_judge_no_better_than_chance_is_left_to_the_labels() -> None:
    found = of_singles([30, 30, 20, 20, 200, 200])
    assert found.rogan_gladen is None and found.why["rogan_gladen"].startswith("The judge is right no more often")
    assert found.ppi is not None and found.ppi.value == pytest.approx(0.6) and found.ppi_weight == pytest.approx(0)
    assert of_singles([31, 29, 20, 20, 200, 200]).rogan_gladen is not None


def test_observations_of_one_task_count_less_and_one_task_says_nothing_of_others() -> None:
    alone = of_singles([60, 10, 8, 62, 120, 140])
    alike = [[6.0, 0, 0, 2, 12, 2], [0.0, 1, 0, 6, 2, 14], [6.0, 1, 1, 5, 10, 11], [0.0, 0, 0, 0, 0, 1]]
    together = corrected(moments_of([*alike[:3] * 10, *alike[3:]]), TaskNumbers(30, 30, 30, 31))
    assert alone.ppi and together.ppi and alone.rogan_gladen and together.rogan_gladen
    assert width(together.ppi) > width(alone.ppi)
    one = corrected(moments_of([[60.0, 10, 8, 62, 120, 140]]), TaskNumbers(1, 1, 1, 1))
    assert one.ppi and one.rogan_gladen
    assert (one.ppi.low, one.ppi.high, one.rogan_gladen.low, one.rogan_gladen.high) == (0, 1, 0, 1)


def test_where_no_variance_can_be_seen_each_task_counts_once() -> None:
    tasks = [[5.0, 0, 0, 0, 10, 0]] * 5 + [[0.0, 0, 0, 5, 0, 0]] * 5
    found = corrected(moments_of(tasks), TaskNumbers(5, 5, 10, 5))
    assert found.rogan_gladen is not None and found.rogan_gladen.value == 1
    assert found.rogan_gladen.low is not None and found.rogan_gladen.low < 0.9


def width(found: Estimate) -> float:
    assert found.low is not None and found.high is not None
    return found.high - found.low


class Plan(NamedTuple):
    """A share `theta`, a judge, how many are labelled of all, in tasks of `size` that are correlated by `rho`."""

    theta: float
    q0: float
    q1: float
    labelled: int
    rest: int
    size: int = 1
    rho: float = 0.0


PLANS = [
    Plan(0.3, 0.8, 0.9, 200, 1000),
    Plan(0.5, 0.7, 0.8, 100, 500),
    Plan(0.15, 0.8, 0.9, 250, 1000),
    Plan(0.7, 0.9, 0.7, 120, 2000),
    Plan(0.3, 0.8, 0.9, 200, 600, 4, 0.3),
    Plan(0.5, 0.7, 0.8, 100, 300, 4, 0.3),
]


def audits(plan: Plan, number: int) -> list[Corrected]:
    rng = np.random.default_rng(7)
    total = plan.labelled + plan.rest
    shape = (total // plan.size, plan.size)
    strength = (1 - plan.rho) / plan.rho if plan.rho else np.inf
    found = []
    for _ in range(number):
        truth = np.full(shape[0], plan.theta)
        if plan.rho:
            truth = rng.beta(plan.theta * strength, (1 - plan.theta) * strength, shape[0])
        y = rng.random(shape) < truth[:, None]
        f = np.where(y, rng.random(shape) < plan.q1, rng.random(shape) >= plan.q0)
        sampled = np.zeros(total, dtype=bool)
        sampled[rng.choice(total, plan.labelled, replace=False)] = True
        known = sampled.reshape(shape)
        kinds = [known & y & f, known & y & ~f, known & ~y & f, known & ~y & ~f, ~known & f, ~known & ~f]
        table = np.stack([kind.sum(axis=1) for kind in kinds], axis=1).astype(float)
        products = (table.T @ table)[np.triu_indices(6)]
        moments = Moments(shape[0], tuple(table.sum(axis=0)), tuple(products))
        tasks = [int((table[:, columns].sum(axis=1) > 0).sum()) for columns in ([2, 3], [0, 1], [0, 1, 2, 3], [4, 5])]
        found.append(corrected(moments, TaskNumbers(*tasks)))
    return found


def reference(plan: Plan, name: str) -> float:
    """The width of an interval that knew the true variance."""
    theta, q0, q1, n, rest = plan[:5]
    p = theta * q1 + (1 - theta) * (1 - q0)
    if name == "rogan_gladen":
        errors = (1 - theta) ** 2 * q0 * (1 - q0) / ((1 - theta) * n) + theta**2 * q1 * (1 - q1) / (theta * n)
        variance = (p * (1 - p) / rest + errors) / (q0 + q1 - 1) ** 2
    else:
        covariance = theta * q1 - theta * p
        power = min(1.0, covariance / ((1 + n / rest) * p * (1 - p)))
        residual = theta * (1 - theta) + power**2 * p * (1 - p) - 2 * power * covariance
        variance = power**2 * p * (1 - p) / rest + residual / n
    return 2 * 1.96 * sqrt(variance)


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_the_intervals_hold_the_truth_as_often_as_they_say(plan: Plan) -> None:
    found = audits(plan, 2000)
    for name in ("rogan_gladen", "ppi"):
        made = [one for one in (getattr(each, name) for each in found) if one is not None]
        assert len(made) >= 1900
        assert np.mean([one.low <= plan.theta <= one.high for one in made]) >= 0.93
        if plan.size == 1:
            assert np.mean([width(one) for one in made]) <= 1.25 * reference(plan, name)
        else:
            spread = np.std([one.value for one in made])
            assert np.mean([width(one) for one in made]) <= 1.25 * 2 * 1.96 * spread

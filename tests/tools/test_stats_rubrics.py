"""Recall, hallucination and structural F1 against enumeration, scikit-learn, scipy and simulated audits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import sqrt

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import f1_score, precision_score, recall_score

from misjudge_tools.stats.rates import Rate, Tally, cluster_sums, clustered_rate
from misjudge_tools.stats.rubrics import (
    Estimate,
    RubricMetrics,
    SampleCounts,
    f1,
    macro_mean,
    rubric_metrics,
    sample_f1,
)

AUDITS = 2000


def sample(task: str, gold: int, hit: int, generated: int, matched: int, answered: int | None = None) -> SampleCounts:
    return SampleCounts(task, gold, hit, generated, generated if answered is None else answered, matched)


def test_three_rules_of_which_none_is_a_gold_one_hit_nothing() -> None:
    """The guide's example: rules on tools where the gold ones ask whether it can be done at all."""
    found = rubric_metrics([sample("sql to mongo", 3, 0, 3, 0)])
    assert (found.recall.rate, found.recall.k, found.recall.n) == (0, 0, 3)
    assert (found.hallucination_rate.rate, found.hallucination_rate.n) == (1, 3)
    assert (found.precision, found.structural_f1.value) == (0, 0)
    assert (found.macro_recall.value, found.macro_hallucination_rate.value, found.macro_structural_f1.value) == (
        0,
        1,
        0,
    )
    assert (found.recall.low, found.recall.high) == (0, 1), "one sample says nothing of others"


def test_several_rules_that_hit_one_gold_rule_count_once_in_recall_and_each_in_precision() -> None:
    found = rubric_metrics([sample("a", 4, 1, 3, 3)])
    assert (found.recall.rate, found.hallucination_rate.rate, found.precision) == (0.25, 0, 1)
    assert found.structural_f1.value == pytest.approx(0.4)


def test_nothing_generated_is_recall_0_without_a_precision() -> None:
    found = rubric_metrics([sample("a", 4, 0, 0, 0), sample("b", 2, 0, 0, 0)])
    assert (found.recall.k, found.recall.n, found.recall.rate) == (0, 6, 0)
    assert (found.hallucination_rate.rate, found.precision) == (None, None)
    assert (found.structural_f1.value, found.structural_f1.low, found.structural_f1.n) == (0, 0, 2)
    assert found.macro_hallucination_rate == Estimate(value=None, low=None, high=None, n=0)


def test_a_rule_without_an_answer_is_no_miss() -> None:
    whole, partial = sample("a", 4, 2, 4, 2), sample("b", 4, 1, 4, 1, answered=3)
    found = rubric_metrics([whole, partial])
    assert (found.recall.k, found.recall.n) == (2, 4)
    assert (found.hallucination_rate.k, found.hallucination_rate.n) == (4, 7)
    assert (found.macro_recall.n, found.macro_hallucination_rate.n, found.macro_structural_f1.n) == (1, 2, 1)
    assert found.structural_f1.n == 1


def test_where_no_sample_is_whole_recall_and_f1_are_unknown() -> None:
    found = rubric_metrics([sample("a", 4, 1, 4, 1, answered=3)])
    assert (found.recall.rate, found.structural_f1) == (None, Estimate(value=None, low=None, high=None, n=0))
    assert found.hallucination_rate.rate == pytest.approx(2 / 3)
    assert rubric_metrics([]).precision is None


@pytest.mark.parametrize("seed", range(5))
def test_one_to_one_matches_give_the_recall_precision_and_f1_of_scikit_learn(seed: int) -> None:
    """Gold rules that are hit once each are true positives, others false negatives, inventions false positives."""
    draw = random.Random(seed)
    counts = [(draw.randrange(5), draw.randrange(5), draw.randrange(5)) for _ in range(12)]
    samples = [sample(f"t{n}", tp + fn, tp, tp + fp, tp) for n, (tp, fn, fp) in enumerate(counts) if tp + fn]
    counts = [(tp, fn, fp) for tp, fn, fp in counts if tp + fn]
    truth = [label for tp, fn, fp in counts for label in [1] * (tp + fn) + [0] * fp]
    said = [label for tp, fn, fp in counts for label in [1] * tp + [0] * fn + [1] * fp]
    found = rubric_metrics(samples)
    assert found.recall.rate == pytest.approx(recall_score(truth, said))
    assert found.precision == pytest.approx(precision_score(truth, said))
    assert found.structural_f1.value == pytest.approx(f1_score(truth, said))
    singles = [
        f1_score([1] * (tp + fn) + [0] * fp, [1] * tp + [0] * fn + [1] * fp, zero_division=0) for tp, fn, fp in counts
    ]
    assert [sample_f1(one) for one in samples] == pytest.approx(singles)
    assert found.macro_structural_f1.value == pytest.approx(np.mean(singles))


def test_the_intervals_of_recall_and_hallucination_are_those_of_clustered_rates() -> None:
    draw = random.Random(3)
    samples = [random_sample(draw, f"t{n % 9}") for n in range(14)]
    found = rubric_metrics(samples)
    tasks = sorted({one.task for one in samples})
    hits = [[one for one in samples if one.task == task] for task in tasks]
    gold = cluster_sums(Tally(sum(s.matched_gold for s in some), sum(s.total_gold for s in some)) for some in hits)
    own = cluster_sums(
        Tally(sum(s.generated - s.matched for s in some), sum(s.generated for s in some)) for some in hits
    )
    assert (found.recall, found.hallucination_rate) == (clustered_rate(gold), clustered_rate(own))


def random_sample(draw: random.Random, task: str) -> SampleCounts:
    gold = draw.randrange(2, 8)
    hit, again, invented = draw.randrange(gold + 1), draw.randrange(2), draw.randrange(4)
    matched = hit + again * (hit > 0)
    return sample(task, gold, hit, matched + invented, matched)


@pytest.mark.parametrize("shares", [[0.2, 0.5, 0.9], [0.0, 1.0, 1.0, 0.5], [0.1] * 3 + [0.3] * 20])
def test_the_mean_of_samples_has_the_interval_of_as_many_coins_as_vary_alike(shares: Sequence[float]) -> None:
    """Of two bounds, each is as many standard errors away as Student's t says, by the errors that it would have."""
    found = macro_mean(shares)
    mean, error = float(np.mean(shares)), float(scipy.stats.sem(shares))
    assert found.value == pytest.approx(mean)
    for bound in (found.low, found.high):
        assert bound is not None
        would_be = error * sqrt(bound * (1 - bound) / (mean * (1 - mean)))
        assert abs(bound - mean) == pytest.approx(scipy.stats.t.ppf(0.975, len(shares) - 1) * would_be)


def test_the_mean_of_many_samples_has_the_t_interval_of_scipy() -> None:
    shares = np.random.default_rng(2).beta(3, 4, 4000).tolist()
    found = macro_mean(shares)
    low, high = scipy.stats.t.interval(0.95, 3999, np.mean(shares), scipy.stats.sem(shares))
    assert found.low == pytest.approx(low, abs=1e-4)
    assert found.high == pytest.approx(high, abs=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_samples_that_are_all_alike_do_not_have_an_interval_of_no_width(share: float) -> None:
    found = macro_mean([share] * 10)
    assert found.value == share
    assert found.low is not None and found.high is not None
    assert found.low <= share <= found.high
    assert found.high - found.low > 0.2
    assert macro_mean([share]) == Estimate(value=share, low=0, high=1, n=1)


def test_f1_is_0_where_both_are_0() -> None:
    assert (f1(0, 0), f1(0, 1), f1(1, 1)) == (0, 0, 1)
    assert f1(0.5, 1) == pytest.approx(2 / 3)


def test_the_variance_behind_f1_is_the_one_that_a_numeric_derivative_gives() -> None:
    """By the delete-one jackknife, which the delta method agrees with in large samples."""
    draw = random.Random(5)
    samples = [random_sample(draw, f"t{n}") for n in range(400)]
    found = rubric_metrics(samples).structural_f1
    assert found.low is not None and found.high is not None
    without = [pooled(samples[:n] + samples[n + 1 :]) for n in range(400)]
    spread = sqrt(399 / 400 * sum((one - np.mean(without)) ** 2 for one in without))
    assert found.high - found.low == pytest.approx(2 * 1.966 * spread, rel=0.02)


def pooled(samples: Sequence[SampleCounts]) -> float:
    gold, hit = sum(s.total_gold for s in samples), sum(s.matched_gold for s in samples)
    generated, matched = sum(s.generated for s in samples), sum(s.matched for s in samples)
    return f1(matched / generated, hit / gold)


def test_at_the_borders_the_bounds_of_precision_and_recall_make_those_of_f1() -> None:
    none = rubric_metrics([sample(f"t{n}", 3, 0, 3, 0) for n in range(20)])
    assert none.recall.high is not None and none.hallucination_rate.low is not None
    assert none.structural_f1.low == 0
    assert none.structural_f1.high == pytest.approx(f1(1 - none.hallucination_rate.low, none.recall.high))
    perfect = rubric_metrics([sample(f"t{n}", 3, 3, 3, 3) for n in range(20)])
    assert perfect.recall.low is not None and perfect.hallucination_rate.high is not None
    assert perfect.structural_f1.high == 1
    assert perfect.structural_f1.low == pytest.approx(f1(1 - perfect.hallucination_rate.high, perfect.recall.low))
    precise = rubric_metrics([sample(f"t{n}", 4, 2, 2, 2) for n in range(20)])
    assert precise.hallucination_rate.high is not None and precise.structural_f1.low is not None
    assert precise.structural_f1.low <= f1(1 - precise.hallucination_rate.high, 0.5)


# Coverage


class Audits:
    """Many audits of a writer that hits a gold rule with probability p and invents at rate h, both by task."""

    def __init__(self, tasks: int, p: float, h: float, rho: float) -> None:
        rng = np.random.default_rng(17)
        shape = (AUDITS, tasks)
        self.gold = rng.integers(2, 9, shape)
        self.hit = rng.binomial(self.gold, _shares(rng, p, rho, shape))
        self.matched = self.hit + rng.binomial(self.hit, 0.1)
        self.generated = self.matched + rng.binomial(6, _shares(rng, h, rho, shape))
        hits = 5 * p * 1.1
        self.recall, self.hallucination = p, 6 * h / (hits + 6 * h)
        self.f1 = f1(1 - self.hallucination, p)

    def found(self) -> list[RubricMetrics]:
        rows = (self.gold, self.hit, self.generated, self.matched)
        return [
            rubric_metrics([sample(str(n), *counts) for n, counts in enumerate(zip(*audit, strict=True))])
            for audit in zip(*(counts.tolist() for counts in rows), strict=True)
        ]

    def bootstrap_width(self, audits: int = 200, resamples: int = 500) -> np.ndarray:
        """Mean widths of the percentile intervals of resampled tasks: recall, hallucination, F1."""
        rng = np.random.default_rng(23)
        tasks = self.gold.shape[1]
        widths = []
        for n in range(audits):
            drawn = rng.multinomial(tasks, np.full(tasks, 1 / tasks), resamples)
            gold, hit, generated, matched = (
                drawn @ counts[n] for counts in (self.gold, self.hit, self.generated, self.matched)
            )
            recall, precision = hit / gold, matched / generated
            both = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
            widths.append([np.subtract(*np.quantile(one, [0.975, 0.025])) for one in (recall, precision, both)])
        means: np.ndarray = np.mean(widths, axis=0)
        return means


def _shares(rng: np.random.Generator, mean: float, rho: float, shape: tuple[int, int]) -> np.ndarray:
    strength = (1 - rho) / rho
    found: np.ndarray = rng.beta(mean * strength, (1 - mean) * strength, shape)
    return found


def covered(found: Sequence[Rate | Estimate], truth: float) -> float:
    return float(
        np.mean([one.low <= truth <= one.high for one in found if one.low is not None and one.high is not None])
    )


def width(found: Sequence[Rate | Estimate]) -> float:
    return float(np.mean([one.high - one.low for one in found if one.low is not None and one.high is not None]))


@pytest.mark.slow
@pytest.mark.parametrize(("p", "h"), [(0.2, 0.3), (0.5, 0.1), (0.6, 0.4), (0.85, 0.1)])
@pytest.mark.parametrize(("tasks", "rho"), [(20, 0.05), (20, 0.3), (60, 0.3), (200, 0.1)])
def test_the_intervals_hold_the_truth_and_are_not_wide(tasks: int, p: float, h: float, rho: float) -> None:
    audits = Audits(tasks, p, h, rho)
    found = audits.found()
    widths = audits.bootstrap_width()
    for intervals, truth, reference in (
        ([one.recall for one in found], audits.recall, widths[0]),
        ([one.hallucination_rate for one in found], audits.hallucination, widths[1]),
        ([one.structural_f1 for one in found], audits.f1, widths[2]),
    ):
        assert len(intervals) == AUDITS
        assert covered(intervals, truth) >= 0.93, truth
        assert width(intervals) <= 1.25 * reference, truth
    assert covered([one.macro_recall for one in found], p) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(("p", "h"), [(0.03, 0.5), (0.97, 0.02)])
@pytest.mark.parametrize("tasks", [20, 60])
def test_near_the_borders_f1_still_holds_the_truth(tasks: int, p: float, h: float) -> None:
    """Where tasks without any hit, or with all, leave a bootstrap nothing to resample."""
    audits = Audits(tasks, p, h, 0.05)
    assert covered([one.structural_f1 for one in audits.found()], audits.f1) >= 0.93

"""How well generated rules stand for the gold ones.

    recall              gold rules that a generated one means, of all gold rules
    hallucination_rate  generated rules that mean no gold one, of all that were matched; precision is what is left
    structural_f1       2PR/(P + R), 0 where both are 0: as Sørensen–Dice of two sets, in which a gold rule counts once

RubricBench (arXiv 2603.01562) names the three and prints no formula; these are ours. A generated rule without an
answer is no miss: it leaves the precision, and its sample leaves the recall, since it may have hit any gold rule.
*Micro* pools the rules of all samples, *macro* is the mean of the samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.stats.distributions import student_t_quantile
from misjudge_tools.stats.rates import (
    LEVEL,
    Count,
    Interval,
    Rate,
    Share,
    Tally,
    cluster_sums,
    clustered_rate,
    score_interval,
    wilson,
)


class SampleCounts(NamedTuple):
    """One generated rubric beside the gold one of its task.

    Of the `generated` rules `answered` were matched or found to match nothing, and `matched` of these mean a gold rule;
    `matched_gold` of the `total_gold` are meant by at least one.
    """

    task: str
    total_gold: int
    matched_gold: int
    generated: int
    answered: int
    matched: int

    @property
    def whole(self) -> bool:
        """Whether each generated rule has an answer, so that what is not hit is known to be missed."""
        return self.answered == self.generated


class Estimate(Value):
    """A number from 0 to 1 over `n` samples, with its interval; None where there is none."""

    value: Share | None
    low: Share | None
    high: Share | None
    n: Count


class RubricMetrics(Value):
    """The three by micro and macro means; `precision` is None where nothing was generated, and recall then 0."""

    recall: Rate
    hallucination_rate: Rate
    precision: Share | None
    structural_f1: Estimate
    macro_recall: Estimate
    macro_hallucination_rate: Estimate
    macro_structural_f1: Estimate


class _Ratio(NamedTuple):
    """A ratio of sums over tasks, with the tally of each."""

    rate: Rate
    tallies: Sequence[Tally]


def rubric_metrics(samples: Iterable[SampleCounts], level: float = LEVEL) -> RubricMetrics:
    """The metrics of one writer by one matcher. Clusters are tasks."""
    found = list(samples)
    recall = _ratio(found, level, precise=False)
    precise = _ratio(found, level, precise=True)
    unmatched = cluster_sums(Tally(n - k, n) for k, n in precise.tallies)
    whole = [sample for sample in found if sample.whole]
    return RubricMetrics(
        recall=recall.rate,
        hallucination_rate=clustered_rate(unmatched, level),
        precision=precise.rate.rate,
        structural_f1=_pooled_f1(precise, recall, len(whole), level),
        macro_recall=macro_mean([one.matched_gold / one.total_gold for one in whole], level),
        macro_hallucination_rate=macro_mean([1 - one.matched / one.answered for one in found if one.answered], level),
        macro_structural_f1=macro_mean([sample_f1(one) for one in whole], level),
    )


def f1(precision: float, recall: float) -> float:
    """The harmonic mean of the two, 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def sample_f1(sample: SampleCounts) -> float:
    """Structural F1 of one sample; 0 where nothing was generated."""
    precision = sample.matched / sample.answered if sample.answered else 0.0
    return f1(precision, sample.matched_gold / sample.total_gold)


def macro_mean(shares: Sequence[float], level: float = LEVEL) -> Estimate:
    """The mean m of independent shares, with Wilson's interval on as many yes/no observations as would make m vary as
    much, m(1 − m)·n/s², where s² is the variance of the shares, and with Student's critical value.

    The plain t interval is as wide on average, but near 0 and 1, where means are skewed, it misses the truth too often.
    Where all shares are alike no spread can be seen, and it is their number; one share says nothing of others.
    """
    n = len(shares)
    if n == 0:
        return Estimate(value=None, low=None, high=None, n=0)
    mean = shares[0] if min(shares) == max(shares) else sum(shares) / n
    if n == 1:
        return Estimate(value=mean, low=0.0, high=1.0, n=1)
    variance = sum((share - mean) ** 2 for share in shares) / (n - 1)
    effective = mean * (1 - mean) * n / variance if variance > 0 else n
    low, high = wilson(mean * effective, effective, student_t_quantile((1 + level) / 2, n - 1))
    return Estimate(value=mean, low=low, high=high, n=n)


def _ratio(samples: Sequence[SampleCounts], level: float, *, precise: bool) -> _Ratio:
    """Precision over answered rules, or recall over whole samples; a tally for every task, so that two go together."""
    tasks: defaultdict[str, Tally] = defaultdict(lambda: Tally(0, 0))
    for one in samples:
        known = Tally(one.matched_gold, one.total_gold) if one.whole else Tally(0, 0)
        k, n = Tally(one.matched, one.answered) if precise else known
        before = tasks[one.task]
        tasks[one.task] = Tally(before.k + k, before.n + n)
    tallies = list(tasks.values())
    return _Ratio(clustered_rate(cluster_sums(tallies), level), tallies)


def _pooled_f1(precise: _Ratio, recall: _Ratio, samples: int, level: float) -> Estimate:
    r = recall.rate.rate
    if r is None:
        return Estimate(value=None, low=None, high=None, n=0)
    value = f1(precise.rate.rate or 0.0, r)
    low, high = _f1_interval(value, precise, recall, level)
    return Estimate(value=value, low=min(value, low), high=max(value, high), n=samples)


def _f1_interval(value: float, precise: _Ratio, recall: _Ratio, level: float) -> Interval:
    """By the delta method on both ratios of sums (Cochran, Sampling Techniques, 3rd ed. 1977, §6.3), with the score
    interval of `stats.rates` around it. A ratio at 0 or 1 shows no variance, so there its own bounds count as well: F1
    lies between what they and the other ratio make, at 0 and 1 between what the bounds of both make.
    """
    p, r = precise.rate, recall.rate
    # Nothing is known of the precision of a writer who wrote nothing.
    low_p, high_p = (0.0, 1.0) if p.low is None or p.high is None else (p.low, p.high)
    low_r, high_r = r.low or 0.0, 1.0 if r.high is None else r.high
    if p.rate is None or r.rate is None or value in (0.0, 1.0):
        return Interval(f1(low_p, low_r), f1(high_p, high_r))
    variance, clusters = _f1_variance(precise, recall)
    low, high = score_interval(value, variance, clusters, most=p.n + r.n, level=level)
    if p.rate == 1.0:
        low = min(low, f1(low_p, r.rate))
    if r.rate == 1.0:
        low = min(low, f1(p.rate, low_r))
    return Interval(low, high)


class _Variance(NamedTuple):
    variance: float
    clusters: int


def _f1_variance(precise: _Ratio, recall: _Ratio) -> _Variance:
    """G/(G − 1) · Σ z_i², z_i being what task i adds to P̂·∂F/∂P + R̂·∂F/∂R in linear terms."""
    p, r = precise.rate.rate or 0.0, recall.rate.rate or 0.0
    by_p, by_r = 2 * (r / (p + r)) ** 2 / precise.rate.n, 2 * (p / (p + r)) ** 2 / recall.rate.n
    both = [(a, b) for a, b in zip(precise.tallies, recall.tallies, strict=True) if a.n or b.n]
    squares = sum((by_p * (a.k - p * a.n) + by_r * (b.k - r * b.n)) ** 2 for a, b in both)
    clusters = len(both)
    return _Variance(clusters / (clusters - 1) * squares if clusters > 1 else 0.0, clusters)

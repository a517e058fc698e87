"""A share by a judge that errs, corrected by labels of some of what it judged.

Of all that the judge calls yes or no, a random sample is labelled. `rogan_gladen` takes the errors that the sample
shows out of the judge's share of the others; `ppi` adds the mean error of the sample to it, as far as the judge is of
use. Both are right only where the sample is random.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from misjudge_storage.task_moments import Moments
from misjudge_storage.types import Value
from misjudge_tools.stats.distributions import normal_quantile, student_t_quantile
from misjudge_tools.stats.linear import alone, between_tasks, share_sums
from misjudge_tools.stats.rates import LEVEL, Count, Interval, Rate, Share, clustered_rate
from misjudge_tools.stats.rubrics import Estimate

FEWEST = 20
"""Labels of each class (yes and no) under which nothing is corrected, and so many that must be without a label."""

NO_LABELS = "Fewer than {fewest} labels say yes or fewer than {fewest} say no: have more labelled, drawn at random."
ALL_LABELLED = "Fewer than {fewest} are without a label: the labels themselves say it."
NO_BETTER = (
    "The judge is right no more often than chance (specificity + sensitivity at most 1): its share says nothing."
)


class LabelledCells(NamedTuple):
    """What the judge says (yes, no) by what the label says, and of those without a label."""

    yes_yes: float
    no_yes: float
    yes_no: float
    no_no: float
    yes: float
    no: float

    @property
    def labelled(self) -> float:
        return self.positive + self.negative

    @property
    def positive(self) -> float:
        """Labels that say yes."""
        return self.yes_yes + self.no_yes

    @property
    def negative(self) -> float:
        return self.yes_no + self.no_no

    @property
    def unlabelled(self) -> float:
        return self.yes + self.no


class CheckedShare(NamedTuple):
    """A judge says yes of the share `p` of `n`; its specificity `q0` was seen on `m0` labels, its sensitivity `q1` on
    `m1`. The numbers may be effective ones, which are fractions.
    """

    p: float
    n: float
    q0: float
    m0: float
    q1: float
    m1: float


class Tuned(NamedTuple):
    """An estimate with the weight `power` of the judge in it, and its variance with independent observations."""

    value: float
    power: float
    variance: float


class Corrected(Value):
    """A share by a judge (`raw`, of all, labelled or not), what its labels say, and the share corrected by them.

    `labelled` is the share of yes among the labels, `raw_labelled` that by the judge on the same, `raw_unlabelled` that
    by the judge on the `unlabelled` others, which alone `rogan_gladen` corrects: its n is theirs, and that of `ppi`
    counts all. Where the latter two are far from each other, the labelled are not like the others. `m0` labels say no,
    `m1` yes. `ppi_weight` is λ, from 0 (the labels alone) to 1. `rogan_gladen` and `ppi` are None for the reason under
    `why`, by their names.
    """

    raw: Rate
    raw_labelled: Rate
    raw_unlabelled: Rate
    labelled: Rate
    unlabelled: Count
    m0: Count
    m1: Count
    specificity: Rate
    sensitivity: Rate
    rogan_gladen: Estimate | None
    ppi: Estimate | None
    ppi_weight: Share | None
    why: dict[str, str]


def rogan_gladen(measured: CheckedShare, z: float | None = None) -> Interval:
    """The interval of Lee et al. (arXiv 2511.21140) around the share by Rogan and Gladen; 95 % unless `z` is given.

    Only for q0 + q1 > 1; where the smoothed ones are not, nothing is ruled out.
    """
    z = normal_quantile((1 + LEVEL) / 2) if z is None else z
    n, m0, m1 = measured.n + z * z, measured.m0 + 2, measured.m1 + 2
    p = (measured.n * measured.p + z * z / 2) / n
    q0, q1 = (measured.m0 * measured.q0 + 1) / m0, (measured.m1 * measured.q1 + 1) / m1
    if q0 + q1 <= 1:
        return Interval(0.0, 1.0)
    theta = rogan_gladen_share(p, q0, q1)
    by_q0, by_q1 = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    shift = 2 * z * z * (theta * by_q1 - (1 - theta) * by_q0)
    se = sqrt(p * (1 - p) / n + (1 - theta) ** 2 * by_q0 + theta**2 * by_q1) / (q0 + q1 - 1)
    return Interval(_share(theta + shift - z * se), _share(theta + shift + z * se))


def rogan_gladen_share(p: float, q0: float, q1: float) -> float:
    """(p + q0 − 1)/(q0 + q1 − 1), from 0 to 1 (Rogan and Gladen, American Journal of Epidemiology 107, 1978)."""
    return _share((p + q0 - 1) / (q0 + q1 - 1))


def ppi(cells: LabelledCells) -> Tuned:
    """PPI++ (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) of a share, with λ between 0 and 1.

    λ·mean f(unlabelled) + mean(Y − λf)(labelled), Var = λ²Var(f)/N + Var(Y − λf)/n, λ = Cov(Y, f)/((1 + n/N)·Var f);
    the covariance is that of the labelled, and the Var f of λ that of all.
    """
    n, rest = cells.labelled, cells.unlabelled
    y, f, g = cells.positive / n, (cells.yes_yes + cells.yes_no) / n, cells.yes / rest
    overall = (cells.yes_yes + cells.yes_no + cells.yes) / (n + rest)
    spread = (1 + n / rest) * overall * (1 - overall)
    power = _share((cells.yes_yes / n - y * f) / spread) if spread > 0 else 0.0
    residual = y * (1 - y) + power * power * f * (1 - f) - 2 * power * (cells.yes_yes / n - y * f)
    return Tuned(power * g + y - power * f, power, power * power * g * (1 - g) / rest + max(0.0, residual) / n)


class TaskNumbers(NamedTuple):
    """Tasks in which a label says no, one says yes, any is there, and any observation has none."""

    negative: int
    positive: int
    labelled: int
    unlabelled: int


def corrected(moments: Moments, tasks: TaskNumbers) -> Corrected:
    """From moments of `LabelledCells` by task.

    Observations of a task go together: the numbers that the interval rests on are divided by the design effect of the
    estimate, its variance between tasks (`stats.linear`) over that of independent observations, at least 1.
    """
    cells = LabelledCells(*moments.totals)
    specificity = clustered_rate(share_sums([3], [2, 3], moments, tasks.negative))
    sensitivity = clustered_rate(share_sums([0], [0, 1], moments, tasks.positive))
    why = _refused(cells)
    tuned = None if "ppi" in why else ppi(cells)
    return Corrected(
        raw=clustered_rate(share_sums([0, 2, 4], range(6), moments)),
        raw_labelled=clustered_rate(share_sums([0, 2], range(4), moments, tasks.labelled)),
        raw_unlabelled=clustered_rate(share_sums([4], [4, 5], moments, tasks.unlabelled)),
        labelled=clustered_rate(share_sums([0, 1], range(4), moments, tasks.labelled)),
        unlabelled=round(cells.unlabelled),
        m0=round(cells.negative),
        m1=round(cells.positive),
        specificity=specificity,
        sensitivity=sensitivity,
        rogan_gladen=None if "rogan_gladen" in why else _rogan_gladen(cells, moments),
        ppi=None if tuned is None else _ppi(tuned, cells, moments),
        ppi_weight=None if tuned is None else tuned.power,
        why=why,
    )


def _refused(cells: LabelledCells) -> dict[str, str]:
    if min(cells.positive, cells.negative) < FEWEST:
        return dict.fromkeys(("rogan_gladen", "ppi"), NO_LABELS.format(fewest=FEWEST))
    if cells.unlabelled < FEWEST:
        return dict.fromkeys(("rogan_gladen", "ppi"), ALL_LABELLED.format(fewest=FEWEST))
    # Whole numbers: q0 + q1 ≤ 1 must not hang on the last bit.
    better = cells.no_no * cells.positive + cells.yes_yes * cells.negative > cells.positive * cells.negative
    return {} if better else {"rogan_gladen": NO_BETTER}


def _rogan_gladen(cells: LabelledCells, moments: Moments) -> Estimate:
    p, q0, q1 = cells.yes / cells.unlabelled, cells.no_no / cells.negative, cells.yes_yes / cells.positive
    value = rogan_gladen_share(p, q0, q1)
    if moments.clusters < 2:
        return _estimate(value, Interval(0.0, 1.0), cells.unlabelled)
    times = _design_effect(_rogan_gladen_slopes(cells, p, q0, q1), moments)
    counted = CheckedShare(p, cells.unlabelled / times, q0, cells.negative / times, q1, cells.positive / times)
    return _estimate(value, rogan_gladen(counted, _critical(moments)), cells.unlabelled)


def _rogan_gladen_slopes(cells: LabelledCells, p: float, q0: float, q1: float) -> list[float]:
    width = q0 + q1 - 1
    value = (p + q0 - 1) / width
    by_q1, by_q0 = -value / (width * cells.positive), (1 - value) / (width * cells.negative)
    by_p = 1 / (width * cells.unlabelled)
    return [by_q1 * (1 - q1), -by_q1 * q1, -by_q0 * q0, by_q0 * (1 - q0), by_p * (1 - p), -by_p * p]


def _ppi(tuned: Tuned, cells: LabelledCells, moments: Moments) -> Estimate:
    value = _share(tuned.value)
    if moments.clusters < 2:
        return _estimate(value, Interval(0.0, 1.0), cells.labelled + cells.unlabelled)
    y, f = cells.positive / cells.labelled, (cells.yes_yes + cells.yes_no) / cells.labelled
    g = cells.yes / cells.unlabelled
    residuals = ((1, 1), (1, 0), (0, 1), (0, 0))
    slopes = [(label - y - tuned.power * (judge - f)) / cells.labelled for label, judge in residuals]
    slopes += [tuned.power * (judge - g) / cells.unlabelled for judge in (1, 0)]
    half = _critical(moments) * sqrt(tuned.variance * _design_effect(slopes, moments))
    interval = Interval(_share(tuned.value - half), _share(tuned.value + half))
    return _estimate(value, interval, cells.labelled + cells.unlabelled)


def _design_effect(slopes: list[float], moments: Moments) -> float:
    """Where no variance can be seen, each task counts for one observation."""
    independent = alone(slopes, moments.totals)
    if independent <= 0:
        return max(1.0, sum(moments.totals) / moments.clusters)
    return max(1.0, between_tasks(slopes, moments) / independent)


def _critical(moments: Moments) -> float:
    return student_t_quantile((1 + LEVEL) / 2, moments.clusters - 1)


def _estimate(value: float, interval: Interval, number: float) -> Estimate:
    return Estimate(value=value, low=min(value, interval.low), high=max(value, interval.high), n=round(number))


def _share(value: float) -> float:
    return max(0.0, min(1.0, value))

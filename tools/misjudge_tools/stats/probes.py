"""How far a change that must not matter moves the verdicts of a judge, beyond its own repeats.

Each item (a pair in one order) is asked twice as it is and once changed. A verdict of the changed call that differs
from the first baseline shows nothing where the second baseline differs as often, so the *excess* is
flip(changed, first) − flip(second, first), item by item. The *shift* is value(changed) − value(first), value being 1
where the changed side is picked, ½ for a tie, 0 for the other side. Items of one task are one cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import hypot, sqrt
from typing import NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.stats.distributions import binomial_upper_tail, normal_quantile, student_t_quantile
from misjudge_tools.stats.multiplicity import benjamini_hochberg
from misjudge_tools.stats.rates import LEVEL, ClusterSums, Interval, pooled_interval

FALSE_DISCOVERIES = 0.05
"""Share of false alarms that is accepted among the probes that are called fooling."""
POWER = 0.8


class TaskTally(NamedTuple):
    """The items of one task under one probe, all three calls of each scored.

    `gained`: the changed call differs from the first baseline and the second does not; `lost`: the reverse. `flips`
    and `baseline_flips` count items whose changed call, or second baseline, differs from the first. `shift` and
    `shift_squares` sum the shift and its square; `towards` and `away` count the items that moved to or from the
    changed side.
    """

    items: int
    gained: int
    lost: int
    flips: int
    baseline_flips: int
    shift: float = 0
    shift_squares: float = 0
    towards: int = 0
    away: int = 0


class ProbeCounts(NamedTuple):
    """What one probe did. `left_out` counts items of which a call was unscored; not `sided`: no side is changed."""

    probe: str
    tasks: Sequence[TaskTally]
    left_out: int = 0
    sided: bool = True


class PairedSums(NamedTuple):
    """Sums over tasks i with n_i > 0 items, whose differences d add up to D_i.

    `clusters` = Σ1, `n` = Σn_i, `d` = Σd, `squares` = Σd² over items, `dd` = ΣD_i², `dn` = ΣD_i·n_i, `nn` = Σn_i².
    """

    clusters: int
    n: int
    d: float
    squares: float
    dd: float
    dn: float
    nn: int


class Differences(NamedTuple):
    """The differences of the items of one task: how many, their sum, the sum of their squares."""

    n: int
    d: float
    squares: float


class Effect(Value):
    """A mean difference over n items with its interval, and the p-value of no difference.

    `p_adjusted` is after Benjamini-Hochberg over all p-values of the table. Fields are None where nothing could be
    counted; the interval also where all items are of one task, which says nothing of others.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None = None
    p_adjusted: float | None = None


class ProbeRow(Value):
    """What one probe did to the verdicts of a judge.

    `flips` of the `n` items have another verdict than the first baseline when changed, `baseline_flips` when merely
    asked again; `excess_flip` is the difference. `shift` is how much more often the changed side (of `swapped_order`:
    the side shown first) is picked, None where no side is changed. `smallest_seen` is the excess that n items would
    show with 80 % power, None where they would show none. `fooled`: one of the two is beyond chance after
    Benjamini-Hochberg over all rows. `left_out` counts items of which a call was unscored.
    """

    probe: str
    n: int
    left_out: int
    flips: int
    baseline_flips: int
    excess_flip: Effect
    shift: Effect | None = None
    smallest_seen: float | None = None
    fooled: bool = False


def paired_sums(tasks: Iterable[Differences]) -> PairedSums:
    """The sums of one set of differences per task; tasks without items do not count."""
    seen = [task for task in tasks if task.n > 0]
    return PairedSums(
        clusters=len(seen),
        n=sum(task.n for task in seen),
        d=sum(task.d for task in seen),
        squares=sum(task.squares for task in seen),
        dd=sum(task.d * task.d for task in seen),
        dn=sum(task.d * task.n for task in seen),
        nn=sum(task.n * task.n for task in seen),
    )


def paired_effect(sums: PairedSums, p: float | None = None, level: float = LEVEL) -> Effect:
    """The mean of differences between −1 and 1, with the interval of Bonett and Price on the effective number.

    They (Statistics in Medicine 31, 2012) add an item of +1 and one of −1 to the data and take the normal interval,
    which keeps its level where few items differ. The effective number is n/deff, where deff ≥ 1 is the variance of
    the mean between tasks, G/(G − 1) · Σ(D_i − mean·n_i)²/n² (Cochran, Sampling Techniques, 3rd ed. 1977, §6.3), over
    that of independent items; where all differences are alike no variance can be seen, and it is the number of tasks.
    The critical value is Student's with tasks − 1 degrees of freedom, as in `stats.rates`.
    """
    if sums.n == 0:
        return Effect(value=None, low=None, high=None, n=0)
    mean = sums.d / sums.n
    if sums.clusters < 2:
        return Effect(value=mean, low=None, high=None, n=sums.n, p=p)
    low, high = _bonett_price(mean, sums, level)
    return Effect(value=mean, low=low, high=high, n=sums.n, p=p)


def _bonett_price(mean: float, sums: PairedSums, level: float) -> Interval:
    effective, square = _effective_number(mean, sums), sums.squares / sums.n
    centre = mean * effective / (effective + 2)
    variance = ((square * effective + 2) / (effective + 2) - centre * centre) / (effective + 2)
    half = student_t_quantile((1 + level) / 2, sums.clusters - 1) * sqrt(variance)
    return Interval(min(mean, max(-1.0, centre - half)), max(mean, min(1.0, centre + half)))


def _effective_number(mean: float, sums: PairedSums) -> float:
    # Times n² and n, so that sums of whole and half numbers cancel exactly.
    alone = sums.squares * sums.n - sums.d * sums.d
    if alone == 0:
        return sums.clusters
    between = sums.dd * sums.n * sums.n - 2 * sums.dn * sums.d * sums.n + sums.nn * sums.d * sums.d
    deff = sums.clusters / (sums.clusters - 1) * between / (sums.n * alone)
    return sums.n / max(1.0, deff)


def more_often(k: int, other: int) -> float:
    """One-sided exact p-value of `k` against `other` events that are equally likely (the sign test); 1 for none."""
    return binomial_upper_tail(k, k + other, 0.5)


def unequally_often(k: int, other: int) -> float:
    """As `more_often`, two-sided: twice the smaller tail, at most 1."""
    return min(1.0, 2 * binomial_upper_tail(max(k, other), k + other, 0.5))


def smallest_seen(n: int, baseline_flips: int, alpha: float, power: float = POWER) -> float | None:
    """The smallest excess that the one-sided sign test at `alpha` shows of `n` items with this power; None: not any.

    Solves e·√n = z_α·√s + z_β·√(s − e²) for the excess e, s being the share of items in which just one of two calls
    flips (Miettinen 1968; Connor, Biometrics 43, 1987). With the instability u and flips independent of each other
    that is (u + e)(1 − u) + u(1 − u − e); u is (baseline_flips + 1)/(n + 2), never 0. The usual (z_α + z_β) times the
    standard error without any effect is far too small here: a steady judge has next to no variance until it is fooled.
    """
    u = (baseline_flips + 1) / (n + 2)
    z_alpha, z_beta = normal_quantile(1 - alpha), normal_quantile(power)

    def seen(excess: float) -> bool:
        discordant = 2 * u * (1 - u) + excess * (1 - 2 * u)
        unsure = z_alpha * sqrt(discordant) + z_beta * sqrt(max(0.0, discordant - excess * excess))
        return excess * sqrt(n) >= unsure

    low, high = 0.0, 1 - u
    if n == 0 or not seen(high):
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def probe_rows(counts: Sequence[ProbeCounts], control: str) -> tuple[ProbeRow, ...]:
    """A row for each probe: those that fooled the judge first, each kind by its effect, the null control last."""
    rows = [_row(one) for one in counts]
    p_values = [effect.p for row in rows for effect in (row.excess_flip, row.shift) if effect and effect.p is not None]
    # Equal p-values are adjusted to equal ones, so a value stands for itself.
    adjusted = dict(zip(p_values, benjamini_hochberg(p_values), strict=True))
    # What a probe has to pass that works alone: the smallest effect holds whatever the others do.
    strictest = FALSE_DISCOVERIES / max(1, len(p_values))
    told = [_among_all(row, adjusted, strictest) for row in rows]
    return tuple(sorted(told, key=lambda row: (row.probe == control, not row.fooled, -_size(row), row.probe)))


def self_preference(own_failed: ClusterSums, own_did: ClusterSums, level: float = LEVEL) -> Effect | None:
    """How much more often the judge is wrong where that favours its own family; None unless both kinds were seen.

    Of pairs with one side of the judge's own family: wrong verdicts where gold says that this side failed, minus wrong
    verdicts where it did the job. Gold is held fixed, so a family that is simply better does not count as preferred;
    but this is observed, not an intervention: the texts of a family differ in more than where they come from. Clusters
    are tasks. The interval joins those of both rates (Newcombe, Statistics in Medicine 17, 1998, method 10; Zou and
    Donner 2008); `n` counts the pairs of both kinds.
    """
    if own_failed.n == 0 or own_did.n == 0:
        return None
    n = own_failed.n + own_did.n
    difference = own_failed.k / own_failed.n - own_did.k / own_did.n
    if own_failed.clusters < 2 or own_did.clusters < 2:
        return Effect(value=difference, low=None, high=None, n=n)
    below_failed, above_failed = _margins(own_failed, level)
    below_did, above_did = _margins(own_did, level)
    return Effect(
        value=difference,
        low=difference - hypot(below_failed, above_did),
        high=difference + hypot(above_failed, below_did),
        n=n,
    )


def _margins(sums: ClusterSums, level: float) -> Interval:
    """How far the interval of a share reaches below and above it."""
    share = sums.k / sums.n
    low, high = pooled_interval(share, sums, level)
    return Interval(share - low, high - share)


def _row(counts: ProbeCounts) -> ProbeRow:
    tasks = counts.tasks
    excess = paired_sums(Differences(task.items, task.gained - task.lost, task.gained + task.lost) for task in tasks)
    moved = paired_sums(Differences(task.items, task.shift, task.shift_squares) for task in tasks)
    gained, lost = sum(task.gained for task in tasks), sum(task.lost for task in tasks)
    towards, away = sum(task.towards for task in tasks), sum(task.away for task in tasks)
    return ProbeRow(
        probe=counts.probe,
        n=excess.n,
        left_out=counts.left_out,
        flips=sum(task.flips for task in tasks),
        baseline_flips=sum(task.baseline_flips for task in tasks),
        excess_flip=paired_effect(excess, more_often(gained, lost)),
        shift=paired_effect(moved, unequally_often(towards, away)) if counts.sided else None,
    )


def _among_all(row: ProbeRow, adjusted: Mapping[float, float], strictest: float) -> ProbeRow:
    """The row, with what its p-values are worth among those of the whole table."""
    excess = _adjusted(row.excess_flip, adjusted)
    shift = None if row.shift is None else _adjusted(row.shift, adjusted)
    found = [effect.p_adjusted for effect in (excess, shift) if effect and effect.p_adjusted is not None]
    return row.model_copy(
        update={
            "excess_flip": excess,
            "shift": shift,
            "smallest_seen": smallest_seen(row.n, row.baseline_flips, strictest),
            "fooled": any(p <= FALSE_DISCOVERIES for p in found),
        }
    )


def _adjusted(effect: Effect, adjusted: Mapping[float, float]) -> Effect:
    return effect if effect.p is None else effect.model_copy(update={"p_adjusted": adjusted[effect.p]})


def _size(row: ProbeRow) -> float:
    """The excess or the shift to either side, whichever is larger; below −1 where there is no item."""
    if row.excess_flip.value is None:
        return -2.0
    shift = row.shift.value if row.shift is not None else None
    return max(row.excess_flip.value, abs(shift or 0))

"""How far a change that must not matter moves the verdicts of a judge, beyond its own repeats.

Each item (a pair in one order) is asked twice as it is and once changed. A verdict of the changed call that differs
from the first baseline shows nothing where the second baseline differs as often, so the *excess* is
flip(changed, first) − flip(second, first), item by item. The *shift* is value(changed) − value(first), value being 1
where the changed side is picked, ½ for a tie, 0 for the other side. Items of one task are one cluster: the exact tests
count tasks, each by the sign of its sum, which holds whatever the items of a task have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import hypot, sqrt
from typing import NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.probing.variants import Aim
from misjudge_tools.stats.distributions import student_t_quantile
from misjudge_tools.stats.linearised import between_clusters
from misjudge_tools.stats.multiplicity import adjusted
from misjudge_tools.stats.rates import LEVEL, ClusterSums, Interval, pooled_interval
from misjudge_tools.stats.sign_tests import more_often, smallest_seen, unequally_often

FALSE_DISCOVERIES = 0.05
"""Share of false alarms that is accepted among the probes that are called fooling."""


class TaskTally(NamedTuple):
    """The items of one task under one probe, all three calls of each scored.

    `gained`: the changed call differs from the first baseline and the second does not; `lost`: the reverse. `flips`
    and `baseline_flips` count items whose changed call, or second baseline, differs from the first. `shift` and
    `shift_squares` sum the shift and its square.

    `replied` counts items all three calls of which got a reply, scored or not: `unscored` changed ones and
    `baseline_unscored` of the two unchanged ones hold no verdict. `newly_unscored`: the changed reply holds none and
    the first baseline does; `newly_scored`: the reverse.
    """

    items: int
    gained: int
    lost: int
    flips: int
    baseline_flips: int
    shift: float = 0
    shift_squares: float = 0
    replied: int = 0
    unscored: int = 0
    baseline_unscored: int = 0
    newly_unscored: int = 0
    newly_scored: int = 0


class ProbeCounts(NamedTuple):
    """What one probe did. `left_out` counts items of which a call was unscored; not `sided`: no side is changed.

    `aim`: the side was changed because it failed.
    """

    probe: str
    tasks: Sequence[TaskTally]
    left_out: int = 0
    sided: bool = True
    aim: Aim | None = None


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
    """What one probe did to the verdicts of a judge. `aim` is `failed` where the side was changed that failed by gold.

    `flips` of the `n` items have another verdict than the first baseline when changed, `baseline_flips` when merely
    asked again; `excess_flip` is the difference. `shift` is how much more often the changed side (of `swapped_order`:
    the side shown first) is picked, None where no side is changed. `smallest_seen` is the excess that this many `tasks`
    would show with 80 % power, None where they would show none. `fooled`: one of the two is beyond chance after
    Benjamini-Hochberg over all rows. `left_out` counts items of which a call was unscored.

    Of `replied` changed calls `unscored` hold no verdict, of twice as many unchanged ones `baseline_unscored`.
    `excess_unscored` is the difference to the first unchanged call, None where every reply holds one; `unreadable`: it
    is above 0 beyond chance, by the same measure.
    """

    probe: str
    aim: Aim | None = None
    tasks: int = 0
    n: int
    left_out: int
    flips: int
    baseline_flips: int
    excess_flip: Effect
    shift: Effect | None = None
    smallest_seen: float | None = None
    fooled: bool = False
    replied: int = 0
    unscored: int = 0
    baseline_unscored: int = 0
    excess_unscored: Effect | None = None
    unreadable: bool = False


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
    the mean between tasks, G/(G − 1) · Σ(D_i − mean·n_i)²/n² (`stats.linearised`), over that of independent items;
    where all differences are alike no variance can be seen, and it is the number of tasks.
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
    between = between_clusters(sums.clusters, (sums.n, -sums.d), (sums.dd, sums.dn, sums.nn))
    return sums.n / max(1.0, between / (sums.n * alone))


def probe_rows(counts: Sequence[ProbeCounts], control: str) -> tuple[ProbeRow, ...]:
    """A row for each probe and aim: those that fooled the judge or made it unreadable first, each kind by its effect,
    the null control last.
    """
    rows = [_row(one) for one in counts]
    p_values = [
        effect.p
        for row in rows
        for effect in (row.excess_flip, row.shift, row.excess_unscored)
        if effect and effect.p is not None
    ]
    among_all = adjusted(p_values)
    # What a probe has to pass that works alone: the smallest effect holds whatever the others do.
    strictest = FALSE_DISCOVERIES / max(1, len(p_values))
    told = [_among_all(row, among_all, strictest) for row in rows]
    return tuple(sorted(told, key=lambda row: (row.probe == control, not _found(row), -_size(row), _name(row))))


def preference_by_gold(own_failed: ClusterSums, own_did: ClusterSums, level: float = LEVEL) -> Effect | None:
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
    excess = [Differences(task.items, task.gained - task.lost, task.gained + task.lost) for task in tasks]
    unscored = [
        Differences(task.replied, task.newly_unscored - task.newly_scored, task.newly_unscored + task.newly_scored)
        for task in tasks
    ]
    shift = [Differences(task.items, task.shift, task.shift_squares) for task in tasks]
    any_unscored = any(task.unscored or task.baseline_unscored for task in tasks)
    return ProbeRow(
        probe=counts.probe,
        aim=counts.aim,
        tasks=sum(task.items > 0 for task in tasks),
        n=sum(task.items for task in tasks),
        left_out=counts.left_out,
        flips=sum(task.flips for task in tasks),
        baseline_flips=sum(task.baseline_flips for task in tasks),
        excess_flip=_effect(excess, more_often),
        shift=_effect(shift, unequally_often) if counts.sided else None,
        replied=sum(task.replied for task in tasks),
        unscored=sum(task.unscored for task in tasks),
        baseline_unscored=sum(task.baseline_unscored for task in tasks),
        # Without an unscored reply nothing is tested, and no other row has to make up for the test.
        excess_unscored=_effect(unscored, more_often) if any_unscored else None,
    )


def _effect(tasks: Sequence[Differences], test: Callable[[int, int], float]) -> Effect:
    """The mean difference, and the test of how many tasks have a sum above and below 0."""
    return paired_effect(paired_sums(tasks), test(sum(task.d > 0 for task in tasks), sum(task.d < 0 for task in tasks)))


def _among_all(row: ProbeRow, among_all: Mapping[float, float], strictest: float) -> ProbeRow:
    """The row, with what its p-values are worth among those of the whole table."""
    excess = _adjusted(row.excess_flip, among_all)
    shift = None if row.shift is None else _adjusted(row.shift, among_all)
    unscored = None if row.excess_unscored is None else _adjusted(row.excess_unscored, among_all)
    instability = (row.baseline_flips + 1) / (row.n + 2)
    return row.model_copy(
        update={
            "excess_flip": excess,
            "shift": shift,
            "smallest_seen": smallest_seen(row.tasks, instability, strictest),
            "fooled": _is_real(excess) or _is_real(shift),
            "excess_unscored": unscored,
            "unreadable": _is_real(unscored),
        }
    )


def _is_real(effect: Effect | None) -> bool:
    return effect is not None and effect.p_adjusted is not None and effect.p_adjusted <= FALSE_DISCOVERIES


def _found(row: ProbeRow) -> bool:
    return row.fooled or row.unreadable


def _name(row: ProbeRow) -> tuple[str, str]:
    return row.probe, row.aim or ""


def _adjusted(effect: Effect, among_all: Mapping[float, float]) -> Effect:
    return effect if effect.p is None else effect.model_copy(update={"p_adjusted": among_all[effect.p]})


def _size(row: ProbeRow) -> float:
    """The largest of the excess, the shift to either side and what is unreadable; below −1 where there is no item."""
    if row.excess_flip.value is None and not row.unreadable:
        return -2.0
    shift, unscored = (effect.value if effect else None for effect in (row.shift, row.excess_unscored))
    return max(row.excess_flip.value or 0, abs(shift or 0), unscored or 0)

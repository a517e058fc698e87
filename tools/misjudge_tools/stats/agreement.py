"""How far two labellers, or several, agree beyond chance.

Intervals take the pairs of one task as one cluster (`stats.linear`), and are never narrower than those of independent
pairs; with a pair a task they are the asymptotic ones of the papers named below, but for Student's critical value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from misjudge_storage.task_moments import Moments
from misjudge_storage.types import Value
from misjudge_tools.stats.distributions import student_t_quantile
from misjudge_tools.stats.linear import alone, between_tasks, share_sums
from misjudge_tools.stats.rates import LEVEL, Count, Rate, Share, clustered_rate

NEXT_TO_NOTHING = 1e-12
"""A variance below this is that of rounding."""


class Labels(NamedTuple):
    """What two labellers said of one item."""

    first: str
    second: str


class Kappa(Value):
    """Cohen's κ over `n` items, with the `observed` agreement and the one `expected` of independent labellers.

    κ is None without items, and where both labellers gave one and the same label throughout.
    """

    kappa: float | None
    n: Count
    observed: Share | None
    expected: Share | None


class Coefficient(Value):
    """A number from −1 to 1 (α may be lower) over `n` pairs or values, with its interval; None where there is none."""

    value: float | None
    low: float | None
    high: float | None
    n: Count


class Agreement(Value):
    """Two labellers on `n` pairs: the share of equal labels, what it is worth beyond chance by κ and by AC1, and the
    share `expected` by chance in κ. `labels_in_use`: different labels that either gave, which AC1 takes for those that
    there were to choose from.

    Where nearly all pairs get one label κ is low however well both agree, and AC1 is not.
    """

    n: Count
    labels_in_use: Count
    observed: Rate
    expected: Share | None
    kappa: Coefficient
    ac1: Coefficient


def cohen_kappa(table: Mapping[Labels, int]) -> Kappa:
    """Cohen's κ of a confusion table (Educational and Psychological Measurement 20, 1960)."""
    n = sum(table.values())
    if n == 0:
        return Kappa(kappa=None, n=0, observed=None, expected=None)
    first, second = Counter[str](), Counter[str]()
    for labels, number in table.items():
        first[labels.first] += number
        second[labels.second] += number
    agreed = sum(number for labels, number in table.items() if labels.first == labels.second)
    chance = sum(first[label] * second[label] for label in first)
    kappa = (n * agreed - chance) / (n * n - chance) if chance < n * n else None
    return Kappa(kappa=kappa, n=n, observed=agreed / n, expected=chance / (n * n))


def table_of(cells: Sequence[float], labels: Sequence[str]) -> dict[Labels, int]:
    """The confusion table with these numbers in its cells, the first one's labels down the rows."""
    every = (Labels(first, second) for first in labels for second in labels)
    return {labelled: round(number) for labelled, number in zip(every, cells, strict=True)}


def agreement(moments: Moments, labels: Sequence[str], level: float = LEVEL) -> Agreement:
    """Of two labellers, from moments of the cells of their table, the first one's labels down the rows."""
    size = len(labels)
    cells = [round(number) for number in moments.totals]
    kappa = cohen_kappa(table_of(cells, labels))
    observed = clustered_rate(share_sums([size * k + k for k in range(size)], range(size * size), moments), level)
    in_use = sum(share > 0 for share in _mean_shares(cells, size))
    return Agreement(
        n=kappa.n,
        labels_in_use=in_use,
        observed=observed,
        expected=kappa.expected,
        kappa=_beyond_chance(kappa.kappa, kappa.expected, kappa_slopes(cells, size), moments, observed, level),
        ac1=_gwet(cells, size, max(2, in_use), moments, observed, level),
    )


def kappa_slopes(cells: Sequence[float], size: int) -> list[float]:
    """The derivative of κ by each cell of the table; the delta method makes of it the variance of Fleiss, Cohen and
    Everitt (Psychological Bulletin 72, 1969). None where κ is unknown: an empty list.
    """
    n = sum(cells)
    rows, columns = _margins(cells, size)
    observed = sum(cells[size * k + k] for k in range(size)) / n if n else 0.0
    expected = sum(a * b for a, b in zip(rows, columns, strict=True))
    if n == 0 or expected >= 1:
        return []
    lost = (1 - observed) / (1 - expected)
    return [
        ((float(i == j) - observed) - lost * (columns[i] + rows[j] - 2 * expected)) / (n * (1 - expected))
        for i in range(size)
        for j in range(size)
    ]


def gwet_ac1(cells: Sequence[float], size: int, in_use: int) -> float | None:
    """Gwet's AC1 of two labellers who had `in_use` labels to choose from, None without pairs.

    (p_a − p_e)/(1 − p_e) with p_e = Σ π_k(1 − π_k)/(in_use − 1), π_k being the mean share of label k (British Journal
    of Mathematical and Statistical Psychology 61, 2008).
    """
    n = sum(cells)
    if n == 0:
        return None
    observed = sum(cells[size * k + k] for k in range(size)) / n
    expected = _gwet_chance(cells, size, in_use)
    return (observed - expected) / (1 - expected)


def gwet_slopes(cells: Sequence[float], size: int, in_use: int) -> list[float]:
    """The derivative of AC1 by each cell; the delta method makes of it Gwet's variance (2008, equation 10)."""
    n = sum(cells)
    if n == 0:
        return []
    shares = _mean_shares(cells, size)
    observed = sum(cells[size * k + k] for k in range(size)) / n
    expected = _gwet_chance(cells, size, in_use)
    lost = (1 - observed) / (1 - expected)
    middle = sum((1 - 2 * share) * share for share in shares)
    return [
        ((float(i == j) - observed) - lost * (1 - shares[i] - shares[j] - middle) / (in_use - 1)) / (n * (1 - expected))
        for i in range(size)
        for j in range(size)
    ]


def _gwet(
    cells: Sequence[float], size: int, in_use: int, moments: Moments, observed: Rate, level: float
) -> Coefficient:
    value = gwet_ac1(cells, size, in_use)
    chance = None if value is None else _gwet_chance(cells, size, in_use)
    return _beyond_chance(value, chance, gwet_slopes(cells, size, in_use), moments, observed, level)


def _beyond_chance(
    value: float | None, chance: float | None, slopes: Sequence[float], moments: Moments, observed: Rate, level: float
) -> Coefficient:
    """With the interval of its variance. Where none is seen, as where both always agree, it is what the interval of the
    observed agreement comes to at this agreement by chance.
    """
    n = observed.n
    if value is None or chance is None or moments.clusters < 2 or observed.low is None or observed.high is None:
        return Coefficient(value=value, low=None, high=None, n=n)
    variance = max(between_tasks(slopes, moments), alone(slopes, moments.totals))
    if variance < NEXT_TO_NOTHING:
        low, high = ((bound - chance) / (1 - chance) for bound in (observed.low, observed.high))
    else:
        half = student_t_quantile((1 + level) / 2, moments.clusters - 1) * sqrt(variance)
        low, high = value - half, value + half
    return Coefficient(value=value, low=min(value, max(-1.0, low)), high=max(value, min(1.0, high)), n=n)


def _margins(cells: Sequence[float], size: int) -> tuple[list[float], list[float]]:
    n = sum(cells) or 1
    rows = [sum(cells[size * k : size * (k + 1)]) / n for k in range(size)]
    return rows, [sum(cells[k::size]) / n for k in range(size)]


def _mean_shares(cells: Sequence[float], size: int) -> list[float]:
    return [(row + column) / 2 for row, column in zip(*_margins(cells, size), strict=True)]


def _gwet_chance(cells: Sequence[float], size: int, in_use: int) -> float:
    return sum(share * (1 - share) for share in _mean_shares(cells, size)) / (in_use - 1)

"""What an audit of a size can show, and how large one must be to show it."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt
from typing import NamedTuple

from misjudge_tools.stats.distributions import binomial_upper_tail, normal_quantile, student_t_quantile
from misjudge_tools.stats.exact import effective
from misjudge_tools.stats.gaps import JointSums, Spread, degrees_of_freedom, own_spread
from misjudge_tools.stats.rates import LEVEL, ClusterSums, Interval, wilson
from misjudge_tools.stats.sign_tests import POWER

ALPHA = 0.05
MOST = 10**7
"""Effective numbers up to which a size is looked for."""
_FEW = 200
"""Effective numbers up to which all are tried, since of few tasks an interval may grow with their number."""
_MANY = 10_000
"""Degrees of freedom from which Student's t is as good as normal."""


class Design(NamedTuple):
    """How much the observations of an audit say: their share, as how many independent ones they count, and their tasks.

    Larger audits of the same design have the same share, and tasks in proportion to their effective number.
    """

    share: float
    effective: float
    clusters: int

    def interval(self, share: float, size: float, level: float = LEVEL) -> Interval:
        """The interval of a share in an audit of this design with `size` effective observations."""
        tasks = round(self.clusters * size / self.effective)
        p = (1 + level) / 2
        z = normal_quantile(p) if tasks > _MANY else student_t_quantile(p, max(1, tasks - 1))
        return wilson(share * size, size, z)


class Told(NamedTuple):
    """The largest true share that would be shown to be below a limit, and the smallest that would be shown above it;
    None where none would.
    """

    below: float | None
    above: float | None


def design(sums: ClusterSums) -> Design | None:
    """The design of an audit; None where fewer than two tasks were observed."""
    if sums.clusters < 2:
        return None
    return Design(sums.k / sums.n, effective(sums).n, sums.clusters)


def smallest_passing(limit: float, level: float = LEVEL) -> int:
    """The fewest independent observations, none of them counted, whose upper bound is at most `limit`: 73 at .05.

    Of Wilson's interval, whose upper bound is z²/(n + z²) then.
    """
    square = normal_quantile((1 + level) / 2) ** 2
    return ceil(square * (1 - limit) / limit)


def size_for_width(found: Design, half_width: float) -> int | None:
    """The effective number from which the interval reaches at most `half_width` to either side, on average.

    The share is taken to stay as it is; None where it is beyond `MOST`.
    """

    def fits(size: int) -> bool:
        low, high = found.interval(found.share, size)
        return high - low <= 2 * half_width

    return _fewest(fits, 1)


def size_to_show(found: Design, limit: float, power: float = POWER) -> int | None:
    """The effective number of which this share of audits would show on which side of `limit` the judge is.

    The true share is taken to be the one that was seen. Exact for so many independent observations: the fewest for
    which the binomial probability is enough. None where the share is the limit, or the number is beyond `MOST`.
    """
    share = found.share
    if share == limit:
        return None
    tells = _shows_below if share < limit else _shows_above
    few = next((size for size in range(1, _FEW) if tells(share, size, found, limit, power)), None)
    if few is not None:
        return few
    if share < limit:
        most = _fewest(lambda k: binomial_upper_tail(k + 1, _passing(found, k, limit), share) <= 1 - power, 0)
        return None if most is None else _within(_passing(found, most, limit))
    least = _fewest(lambda k: binomial_upper_tail(k, _failing(found, k, limit), share) >= power, 1)
    return None if least is None else _fewest(lambda size: binomial_upper_tail(least, size, share) >= power, least)


def _passing(found: Design, k: int, limit: float) -> int:
    """The fewest observations, `k` of them counted, whose upper bound is within the limit."""
    return _fewest(lambda size: found.interval(k / size, size).high <= limit, k + 1) or MOST + 1


def _failing(found: Design, k: int, limit: float) -> int:
    """The most observations, `k` of them counted, whose lower bound is above the limit; 0 where none is."""
    if found.interval(1.0, k).low <= limit:
        return 0
    return (_fewest(lambda size: found.interval(k / size, size).low <= limit, k) or MOST + 1) - 1


def _within(size: int) -> int | None:
    return size if size <= MOST else None


def told_by(found: Design, limit: float, power: float = POWER) -> Told:
    """Which true shares this share of audits of just this size and design would tell from `limit`."""
    # n/deff may be a little less than the whole number that it is.
    size = int(found.effective + 1e-6)
    below = _edge(lambda share: _shows_below(share, size, found, limit, power), 0.0, limit)
    above = _edge(lambda share: _shows_above(share, size, found, limit, power), 1.0, limit)
    return Told(below, above)


def smallest_difference(sums: JointSums, sides: int, power: float = POWER) -> float | None:
    """How much larger the share of the first group must be for `score_p` at 5 % to show it with this power.

    The second group's share is taken to stay. With δ the difference, δ ≥ t·se0(δ) + z·se1(δ): se1 is the standard error
    of the difference, se0 the one that the test will see, which takes both shares for one (Fleiss, Levin and Paik,
    Statistical Methods for Rates and Proportions, 3rd ed. 2003, §4.3). Design effects and correlation over tasks are
    those seen. `sides` is 1 or 2. None where no difference would be shown.
    """
    degrees = degrees_of_freedom(sums)
    if degrees < 1 or sums.second.k == sums.second.n:
        return None
    spread, other = own_spread(sums), sums.second.k / sums.second.n
    critical = student_t_quantile(1 - ALPHA / sides, degrees)
    beyond = normal_quantile(power)

    def shown(delta: float) -> bool:
        apart = spread.of_difference(_unsure(other + delta), _unsure(other))
        return delta >= critical * sqrt(_seen_variance(sums, spread, other + delta)) + beyond * sqrt(max(0.0, apart))

    return _edge(shown, 1 - other, 0.0)


def _seen_variance(sums: JointSums, spread: Spread, share: float) -> float:
    """The variance of the difference that `score_p` sees on average where the first group has this share.

    It is that of residuals from the pooled share, so what separates the groups counts as noise, too.
    """
    first, second = sums.first, sums.second
    other = second.k / second.n
    pooled = (first.n * share + second.k) / (first.n + second.n)
    one, two = share - pooled, other - pooled
    least = _unsure(pooled)
    variance = max(spread.first * least, spread.first * _unsure(share) + one * one * first.nn / first.n**2)
    variance += max(spread.second * least, spread.second * _unsure(other) + two * two * second.nn / second.n**2)
    together = spread.correlation * sqrt(spread.first * _unsure(share) * spread.second * _unsure(other))
    return max(0.0, variance - 2 * (together + one * two * sums.cross.nn / (first.n * second.n)))


def _shows_below(share: float, size: int, found: Design, limit: float, power: float) -> bool:
    """Whether the upper bound is within the limit in this share of audits, exactly, were observations independent."""
    if found.interval(0.0, size).high > limit:
        return False
    most = _last(lambda k: found.interval(k / size, size).high <= limit, size)
    return binomial_upper_tail(most + 1, size, share) <= 1 - power


def _shows_above(share: float, size: int, found: Design, limit: float, power: float) -> bool:
    if found.interval(1.0, size).low <= limit:
        return False
    most = _last(lambda k: found.interval(k / size, size).low <= limit, size)
    return binomial_upper_tail(most + 1, size, share) >= power


def _last(holds: Callable[[int], bool], size: int) -> int:
    """The largest number below `size` for which it holds, as it does for 0 and up to it."""
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _unsure(share: float) -> float:
    return max(0.0, share * (1 - share))


def _edge(holds: Callable[[float], bool], sure: float, near: float) -> float | None:
    """Of values from `sure` to `near`, the last one that holds; None where `sure` does not."""
    if not holds(sure):
        return None
    while abs(near - sure) > 1e-6:
        middle = (sure + near) / 2
        sure, near = (middle, near) if holds(middle) else (sure, middle)
    return sure


def _fewest(holds: Callable[[int], bool], start: int) -> int | None:
    """The smallest whole number from `start` on, from which on it holds; None where that is beyond `MOST`."""
    step = 1
    while not holds(start + step - 1):
        step *= 2
        if start + step - 1 > MOST:
            return None
    low, high = start + step // 2 - 1, start + step - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high

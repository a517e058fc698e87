"""Where a judge may be trusted: the loosest rule whose error is certified to be under a limit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import floor, log10
from typing import Literal, NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.stats.exact import one_a_task, upper_bound
from misjudge_tools.stats.rates import LEVEL, ClusterSums, Share, even_clusters

MARGINS = 6
"""Leads in scores that are tried: one step of the scale to six."""
LIMIT = 0.05
"""Share of wrong decisions that is accepted unless another is asked for."""


class Candidate(NamedTuple):
    """A rule that may be certified: wrong among the decided ones, by task, and the share that it decides."""

    policy: str
    sums: ClusterSums
    coverage: float | None
    margin: float | None = None


class TestedPolicy(Value):
    """One rule that was tested: `k` wrong of `n` decided as so many independent observations, and the upper `bound`."""

    policy: str
    margin: float | None = None
    k: float
    n: float
    bound: Share
    certified: bool


class Region(Value):
    """The trusted operating region: the loosest rule whose error is certified to be at most `limit`.

    `policy` None: none is. `bound` is the one-sided upper bound at `level` of the error of that rule, `coverage` the
    share that it decides, `tasks` the clusters in it. `too_few` are rules that decide so little that not even a
    faultless judge could pass; they are left out before any error is looked at.
    """

    policy: str | None
    margin: float | None = None
    coverage: Share | None = None
    bound: Share | None = None
    limit: Share
    level: Share = LEVEL
    method: Literal["fixed sequence"] = "fixed sequence"
    tasks: int
    tested: tuple[TestedPolicy, ...]
    too_few: tuple[str, ...] = ()


def margin_step(low: float | None, high: float | None) -> float | None:
    """The step of margins on a scale, None where the scale is not known: the smallest of 1, 2 or 5 times a power of ten
    that is a tenth of the scale or more.
    """
    if low is None or high is None or high <= low:
        return None
    tenth = (high - low) / 10
    power = 10.0 ** floor(log10(tenth) + 1e-9)
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= tenth * (1 - 1e-9))


def margins(low: float | None, high: float | None) -> tuple[float, ...]:
    """The margins that are tried on a scale, ascending. They follow from the scale alone, never from the errors."""
    step = margin_step(low, high)
    if low is None or high is None or step is None:
        return ()
    return tuple(round(step * n, 9) for n in range(1, MARGINS + 1) if step * n <= (high - low) * (1 + 1e-9))


def certify(candidates: Sequence[Candidate], limit: float = LIMIT, level: float = LEVEL) -> Region:
    """Fixed-sequence testing: the rules in an order that was fixed beforehand, strictest first, each at the full level
    until the first one fails; the last that passed is the region.

    The chance that a region is named although its error is above the limit is at most 1 − `level` over all rules
    (Maurer, Hothorn and Lehmacher 1995; Angelopoulos et al., arXiv 2110.01052, for selective prediction). Each test is
    the exact one-sided bound on effective numbers: exact where each task holds one decided pair, else as true as the
    design effect, which is estimated.
    """
    able = [one for one in candidates if upper_bound(0, even_clusters(one.sums), level) <= limit]
    tests = [_tested(one, limit, level) for one in able]
    passed = sum(1 for _ in takewhile(lambda test: test.certified, tests))
    found = able[passed - 1] if passed else None
    return Region(
        policy=found.policy if found else None,
        margin=found.margin if found else None,
        coverage=found.coverage if found else None,
        bound=tests[passed - 1].bound if passed else None,
        limit=limit,
        level=level,
        tasks=found.sums.clusters if found else max((one.sums.clusters for one in candidates), default=0),
        tested=tuple(tests[: passed + 1]),
        too_few=tuple(one.policy for one in candidates if one not in able),
    )


def _tested(candidate: Candidate, limit: float, level: float) -> TestedPolicy:
    k, n = one_a_task(candidate.sums)
    bound = upper_bound(k, n, level)
    return TestedPolicy(
        policy=candidate.policy, margin=candidate.margin, k=k, n=n, bound=bound, certified=bound <= limit
    )

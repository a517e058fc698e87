"""pass^k: would the agent succeed k times in a row on a task?"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.stats.rates import LEVEL, Count, Share, score_interval


class TaskTrials(NamedTuple):
    """What happened to one task: `successes` of `trials` trials."""

    trials: int
    successes: int


class PassHat(Value):
    """pass^k over the tasks that had at least k trials."""

    k: Count
    rate: Share
    tasks: Count
    low: Share
    high: Share


def pass_hat_k(tasks: Mapping[TaskTrials, int], level: float = LEVEL) -> tuple[PassHat, ...]:
    """pass^1, pass^2, … up to the most trials that any task had; empty without trials.

    `tasks` maps what happened to the number of tasks to which it happened. pass^k is the mean over tasks
    of C(c, k)/C(n, k), the share of the task's k-subsets of trials that succeeded throughout (τ-bench,
    arXiv 2406.12045). The interval comes from the variance between tasks.
    """
    longest = max((task.trials for task, number in tasks.items() if number), default=0)
    return tuple(_pass_hat(k, tasks, level) for k in range(1, longest + 1))


def _pass_hat(k: int, tasks: Mapping[TaskTrials, int], level: float) -> PassHat:
    shares = [(comb(c, k) / comb(n, k), n // k, number) for (n, c), number in tasks.items() if n >= k]
    total = sum(number for _, _, number in shares)
    mean = sum(share * number for share, _, number in shares) / total
    squares = sum(number * (share - mean) ** 2 for share, _, number in shares)
    variance = squares / (total * (total - 1)) if total > 1 else 0.0
    disjoint_subsets = sum(subsets * number for _, subsets, number in shares)
    low, high = score_interval(mean, variance, total, most=disjoint_subsets, level=level)
    return PassHat(k=k, rate=mean, tasks=total, low=low, high=high)

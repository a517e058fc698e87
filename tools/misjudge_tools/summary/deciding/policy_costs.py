"""What a rule for when to trust a judge asks and costs, and its row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from misjudge_storage.policy_counts import PairCosts
from misjudge_storage.summary_values import Sums
from misjudge_tools.stats.rates import ClusterSums, clustered_rate
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.policies_values import Counted, PolicyRow


class Work(NamedTuple):
    """Calls, and USD where the price is known."""

    calls: float
    cost: float | None

    def times(self, number: float) -> Work:
        """So many of it."""
        return Work(self.calls * number, None if self.cost is None else self.cost * number)


class JudgeWork(NamedTuple):
    """What one call of a judge is, and what it took on average for one pair."""

    per_call: Work
    per_pair: Work


def work_of(counts: AuditCounts, judge_id: str) -> JudgeWork:
    """What this judge takes: the calls that were made, and what those cost that have a price."""
    found, priced = counts.policies.get(judge_id), _priced(counts, judge_id)
    calls = found.calls / found.pairs if found else 0.0
    cost = priced.cost / priced.pairs if priced else None
    per_pair = Work(calls, cost)
    return JudgeWork(per_pair.times(1 / calls) if calls else Work(1, None), per_pair)


def together(works: Iterable[Work]) -> Work:
    """All of it; the cost is known where that of each is."""
    found = list(works)
    costs = [work.cost for work in found]
    known = [cost for cost in costs if cost is not None]
    return Work(sum(work.calls for work in found), sum(known) if len(known) == len(costs) else None)


def policy_row(policy: str, wrong: Sums, decidable: int, work: Work, *, counted: Counted = "pairs") -> PolicyRow:
    """The row of a rule that decides `wrong.n` of `decidable` pairs, `wrong.k` of them wrongly."""
    right = wrong.n - wrong.k
    return PolicyRow(
        policy=policy,
        counted=counted,
        decidable=decidable,
        coverage=wrong.n / decidable if decidable else None,
        misselection=clustered_rate(ClusterSums(*wrong)),
        tasks=wrong.clusters,
        calls_per_pair=work.calls,
        cost_per_pair=work.cost,
        cost_per_right_pair=None if work.cost is None or not right else work.cost * decidable / right,
    )


def _priced(counts: AuditCounts, judge_id: str) -> PairCosts | None:
    """What its calls cost. A call that names no judge is of the only one that there is."""
    alone = len([judge for judge in counts.judges if judge.form == "pairwise"]) == 1
    return counts.pair_costs.get(judge_id) or (counts.pair_costs.get(None) if alone else None)

"""What a judge can be fooled by, from the counts of its probes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from misjudge_storage import judging_records, probe_records
from misjudge_storage.engine import Store
from misjudge_storage.probe_records import BaselineErrors, ProbedJudge, ProbeTask
from misjudge_tools.gateway.families import family_of
from misjudge_tools.probing.variants import CONTROL, SIDELESS, Aim
from misjudge_tools.stats.probes import Effect, ProbeCounts, TaskTally, preference_by_gold, probe_rows
from misjudge_tools.stats.rates import ClusterSums, NoData, Tally, cluster_sums, clustered_rate
from misjudge_tools.summary.values import ProbesSection

NOT_PROBED = NoData(why="This judge was not probed. Call probe_judge, or: misjudge probe AUDIT --judge JUDGE")
SHIFTLESS = SIDELESS - {"swapped_order"}
"""Probes that move no side to or from anything."""


class _Row(NamedTuple):
    """What a row of the table is about."""

    probe: str
    aim: Aim | None


def probes_section(store: Store, audit: str, judge_id: str) -> ProbesSection | NoData:
    """What this judge of the audit can be fooled by. Raises NotFound for an unknown audit."""
    with store.read() as connection:
        audit_id = judging_records.read_audit(connection, audit).audit_id
        return probes_of(probe_records.probed_judge(connection, audit_id, judge_id))


def probes_of(judge: ProbedJudge | None) -> ProbesSection | NoData:
    """The section from the counts of a judge. Pure."""
    if judge is None:
        return NOT_PROBED
    tasks: defaultdict[_Row, list[ProbeTask]] = defaultdict(list)
    for task in judge.probes:
        tasks[_Row(task.probe, "failed" if task.aim else None)].append(task)
    own = own_family(judge.model, judge.params)
    return ProbesSection(
        items=sum(task.items for task in judge.baselines),
        instability=clustered_rate(cluster_sums(Tally(task.flips, task.scored) for task in judge.baselines)),
        rows=probe_rows([_counts(row, found) for row, found in tasks.items()], CONTROL),
        family=own,
        self_preference=None if own is None else _self_preference(own, judge.errors),
    )


def own_family(model: str, params: str) -> str | None:
    """The family of a judge's model; a simulated judge is of the one that was planted in it."""
    family: str | None = json.loads(params or "{}").get("planted", {}).get("family")
    return family or family_of(model)


def _counts(row: _Row, tasks: Iterable[ProbeTask]) -> ProbeCounts:
    found = list(tasks)
    tallies = [
        TaskTally(
            items=task.items,
            gained=task.gained,
            lost=task.lost,
            flips=task.flips,
            baseline_flips=task.baseline_flips,
            shift=task.half_shift / 2,
            shift_squares=task.quarter_squares / 4,
            replied=task.replied,
            unscored=task.unscored,
            baseline_unscored=task.baseline_unscored,
            newly_unscored=task.newly_unscored,
            newly_scored=task.newly_scored,
        )
        for task in found
    ]
    left_out = sum(task.left_out for task in found)
    return ProbeCounts(row.probe, tallies, left_out, sided=row.probe not in SHIFTLESS, aim=row.aim)


def _self_preference(own: str, errors: Iterable[BaselineErrors]) -> Effect | None:
    """Pairs of one side of the judge's own family; those of two or none say nothing of it."""
    mixed = [one for one in errors if (family_of(one.better) == own) != (family_of(one.worse) == own)]
    return preference_by_gold(
        own_failed=_by_task(mixed, lambda one: family_of(one.worse) == own),
        own_did=_by_task(mixed, lambda one: family_of(one.better) == own),
    )


def _by_task(errors: Iterable[BaselineErrors], counts: Callable[[BaselineErrors], bool]) -> ClusterSums:
    tasks: defaultdict[str, list[BaselineErrors]] = defaultdict(list)
    for one in filter(counts, errors):
        tasks[one.task_id].append(one)
    return cluster_sums(
        Tally(sum(one.wrong for one in found), sum(one.calls for one in found)) for found in tasks.values()
    )

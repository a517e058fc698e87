"""The section `gaps`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, get_args

from misjudge_storage.bucket_counts import GapOf, GapSums
from misjudge_storage.gap_counts import gap_tasks
from misjudge_storage.summary_values import BUCKET_CUTS, GroupCounts
from misjudge_tools.stats.gaps import JointSums, JointTally, difference, score_p
from misjudge_tools.stats.power import ALPHA, smallest_difference
from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.stats.task_permutation import moved, task_permutation
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.gaps_values import Gap, GapDifference, GapsSection
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.sections import ABILITY_RANGES

GAPS: tuple[Gap, ...] = get_args(Gap)
MOST_MOVED = 500
"""Tasks that are moved at most in a permutation (`task_permutation.moved`); with more, the score test stands alone."""
NO_GAP = NoData(
    why="No gap can be compared: it takes decidable pairs of agents that are near and of agents that are wide apart "
    "(ability_bucket or reward_gap with gap_source=ability), graded rewards, or scores of the judge."
)
MISSING: Mapping[Gap, str] = {
    "ability": "There are no decidable pairs of both near and wide agents. Declare ability_bucket when pairing, or "
    "import reward_gap with gap_source=ability.",
    "reward": "There are no decidable pairs with both small and large reward gaps, or rewards take fewer than three "
    "values. Import graded rewards.",
    "judge_score": "There are no decidable pairs with both small and large gaps of the judge's scores. Ask a judge "
    "that gives scores to both sides.",
}
ONE_TASK = (
    "The near pairs or the others are of a single task, which says nothing of other tasks: no interval and no test. "
    "Judge pairs of more tasks."
)
CIRCULAR = (
    "Circular: the gap is that of the judge's own scores, so it says where the judge is unsure, not what is hard."
)
DECLARED = (
    "Near and wide are as declared with the pairs. No standard error of the gaps is stored, so which pairs lie too "
    "close to the cut to be sorted is not known."
)
OWN_REWARDS = (
    "The gap is that of the two episodes' own rewards. They have no standard error, so which pairs lie too close to "
    "the cut is not known."
)
ABOUT: Mapping[Gap, str] = {"ability": DECLARED, "reward": OWN_REWARDS, "judge_score": CIRCULAR}
TOO_EASY = (
    "Check whether tasks are too easy or too hard to tell sides apart: {wrong} of {calls} calls are wrong, and in "
    "{alike} of {known} pairs of known gold both sides did equally well."
)
TOO_COARSE = "Check whether rewards are too coarse to tell near from wide{binary}."
BINARY = ": they take fewer than three values"
NAMES_SEEN = "Check whether the judge saw names of agents or models, which it may go by whatever the gap."


class _Tested(NamedTuple):
    p: float | None
    test: Literal["enumerated", "permuted", "score"] | None


def gaps_section(of: Judged) -> GapsSection | NoData:
    """Is the judge worse where the sides are near: near minus wide, for each gap."""
    if of.paired is None or of.group is None:
        return NO_GAP
    judge_id = of.paired.judge_id
    rows = [_row(of.counts, gap, judge_id, of.group) for gap in sums_by_gap(of.counts, judge_id)]
    if not rows:
        return NO_GAP
    seen = {row.gap for row in rows}
    return GapsSection(rows=tuple(rows), why={gap: why for gap, why in MISSING.items() if gap not in seen})


def sums_by_gap(counts: AuditCounts, judge_id: str) -> dict[Gap, JointSums]:
    """The sums of near pairs and all farther ones, for each gap that the judge's pairs have."""
    found: dict[Gap, JointSums] = {}
    for gap in GAPS:
        sums = counts.gaps.get(GapOf(judge_id, gap))
        if sums is not None:
            found[gap] = _joint(sums)
    return found


def _joint(sums: GapSums) -> JointSums:
    return JointSums(ClusterSums(*sums.near), ClusterSums(*sums.far), sums.cross)


def _row(counts: AuditCounts, gap: Gap, judge_id: str, group: GroupCounts) -> GapDifference:
    of = GapOf(judge_id, gap)
    sums = counts.gaps[of]
    both = _joint(sums)
    tested = _tested(counts, of, both)
    worse = tested.p is not None and tested.p <= ALPHA
    (near_bucket, near_range), *farther = (ABILITY_RANGES if gap == "ability" else BUCKET_CUTS).items()
    return GapDifference(
        gap=gap,
        circular=gap == "judge_score",
        near_bucket=near_bucket,
        near_range=near_range,
        far_buckets=tuple(bucket for bucket, _ in farther),
        near=clustered_rate(both.first),
        far=clustered_rate(both.second),
        near_pairs=sums.near_pairs,
        far_pairs=sums.far_pairs,
        tasks=both.clusters,
        tasks_with_both=both.cross.both,
        difference=difference(both, tested.p),
        test=tested.test,
        near_is_worse=worse,
        smallest_seen=None if worse else smallest_difference(both, sides=1),
        notes=(ABOUT[gap], *(() if worse else _to_check(counts, gap, group, both))),
        why=ONE_TASK if tested.p is None else None,
    )


def _tested(counts: AuditCounts, of: GapOf, both: JointSums) -> _Tested:
    """The p-value of near not being worse."""
    tails = score_p(both)
    if tails is None:
        return _Tested(None, None)
    if moved(both) > MOST_MOVED:
        return _Tested(tails.more, "score")
    rows = gap_tasks(counts.reduced, of)
    permuted = task_permutation(JointTally(*row[:4]) for row in rows for _ in range(row.tasks))
    # Where a bucket has hardly an error, permuting shows next to no variance.
    return _Tested(max(permuted.p, tails.more), permuted.how)


def _to_check(counts: AuditCounts, gap: Gap, group: GroupCounts, both: JointSums) -> Iterator[str]:
    """Why near pairs may not look worse."""
    yield TOO_EASY.format(
        wrong=both.first.k + both.second.k,
        calls=both.first.n + both.second.n,
        alike=group.gold_tie,
        known=group.pairs - group.gold_unknown,
    )
    if gap != "judge_score":
        yield TOO_COARSE.format(binary="" if counts.graded_rewards else BINARY)
    yield NAMES_SEEN

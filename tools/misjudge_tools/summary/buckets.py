"""The section `buckets`: misselection by gap."""

from __future__ import annotations

from collections.abc import Mapping

from misjudge_storage.summary_values import Group, GroupCounts
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.stopping_facts import bucket_of
from misjudge_tools.summary.values import Bucket

NO_GAP = NoData(
    why="No gap is known: it needs graded rewards (three values or more), the judge's scores, or near and wide as "
    "declared by the pairing."
)


def buckets_section(of: Judged) -> tuple[Bucket, ...] | NoData:
    """The buckets of every gap that is known."""
    return _rows(of, of.counts.buckets) or NO_GAP


def ability_buckets(of: Judged) -> tuple[Bucket, ...]:
    """Near and wide pairs by the ability of their agents, as far as they are known."""
    return _rows(of, of.counts.ability_buckets)


def _rows(of: Judged, counts: Mapping[Group, GroupCounts]) -> tuple[Bucket, ...]:
    pooled: dict[Group, GroupCounts] = {}
    for gap, bucket in {(group.gap, group.bucket) for group in counts}:
        found = of.pooled({g: c for g, c in counts.items() if (g.gap, g.bucket) == (gap, bucket)})
        if found is not None:
            pooled[Group("", None, gap, bucket)] = found
    return tuple(bucket_of(of, bucket) for bucket in make.bucket_sections(pooled))

"""The section `buckets`: misselection by gap."""

from __future__ import annotations

from misjudge_storage.summary_values import Group, GroupCounts
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.stopping_facts import bucket_of
from misjudge_tools.summary.values import Bucket


def buckets_section(of: Judged) -> tuple[Bucket, ...] | NoData:
    pooled: dict[Group, GroupCounts] = {}
    for gap, bucket in {(group.gap, group.bucket) for group in of.counts.buckets}:
        some = {g: c for g, c in of.counts.buckets.items() if (g.gap, g.bucket) == (gap, bucket)}
        found = of.pooled(some)
        if found is not None:
            pooled[Group("", None, gap, bucket)] = found
    if not pooled:
        return NoData(
            why="No gap is known: it needs graded rewards (three values or more), the judge's scores, or near and wide "
            "as declared by the pairing."
        )
    return tuple(bucket_of(of, bucket) for bucket in make.bucket_sections(pooled))

"""The section `power`."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from misjudge_storage.summary_values import GroupCounts
from misjudge_tools.stats.policies import LIMIT
from misjudge_tools.stats.power import (
    Design,
    design,
    size_for_width,
    size_to_show,
    smallest_difference,
    smallest_passing,
    told_by,
)
from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.gaps import sums_by_gap
from misjudge_tools.summary.deciding.power_values import Detectable, Needed, PowerSection, Precision
from misjudge_tools.summary.judged import Judged

HALF_WIDTHS = (0.10, 0.05, 0.025)
NO_CALLS = NoData(
    why="No scored call is on a decidable pair, so nothing says how much more it takes. Import labels, success or "
    "rewards, and judge."
)
ONE_TASK = NoData(
    why="All decidable pairs are of one task, which says nothing of how tasks differ. Judge pairs of more tasks."
)
ADAPTIVE = NoData(
    why="A run of this audit may stop by what it has seen, and sizes take the number of pairs as fixed beforehand. "
    "The run itself says when enough is known."
)
BELOW = "The rate seen is not below the limit."
ABOVE = "The rate seen is not above the limit."
TOO_MANY = "It would take more than ten million pairs, since the rate seen is next to the limit."


def power_section(of: Judged) -> PowerSection | NoData:
    """What an audit of this size can show, and how many pairs a wished precision takes."""
    counts = of.group
    if of.paired is None or counts is None or not counts.measures["wrong_calls"].n:
        return NO_CALLS
    if of.counts.adaptive:
        return ADAPTIVE
    sums = ClusterSums(*counts.measures["wrong_calls"])
    found = design(sums)
    if found is None:
        return ONE_TASK
    rate = clustered_rate(sums)
    told = told_by(found, LIMIT)
    to_show = _needed(size_to_show(found, LIMIT), found, counts)
    return PowerSection(
        misselection=rate,
        half_width=((rate.high or 0) - (rate.low or 0)) / 2,
        tasks=sums.clusters,
        pairs=counts.pairs,
        decidable=counts.decidable,
        effective=found.effective,
        deff=sums.n / found.effective,
        needed_for=tuple(
            Precision(half_width=width, needed=_needed(size_for_width(found, width), found, counts))
            for width in HALF_WIDTHS
        ),
        limit=LIMIT,
        smallest_passing=smallest_passing(LIMIT),
        shown_under=told.below,
        shown_over=told.above,
        to_show_under=to_show if found.share < LIMIT else None,
        to_show_over=to_show if found.share > LIMIT else None,
        near_far=tuple(_near_far(of.counts, of.paired.judge_id)),
        why=_why(found, to_show),
    )


def _needed(size: int | None, found: Design, counts: GroupCounts) -> Needed | None:
    """What an effective number takes in pairs and tasks of this design."""
    if size is None:
        return None
    times = size / found.effective
    pairs = _up(counts.pairs * times)
    return Needed(
        decidable=_up(counts.decidable * times),
        pairs=pairs,
        tasks=_up(found.clusters * times),
        more=max(0, pairs - counts.pairs),
    )


def _up(number: float) -> int:
    # What is a whole number but for rounding stays as it is.
    return ceil(number - 1e-6)


def _near_far(counts: AuditCounts, judge_id: str) -> Iterator[Detectable]:
    for gap, both in sums_by_gap(counts, judge_id).items():
        shown = smallest_difference(both, sides=2)
        yield Detectable(gap=gap, far_rate=both.second.k / both.second.n, difference=shown)


def _why(found: Design, to_show: Needed | None) -> dict[str, str]:
    """Why there is no saying what it takes to show that the judge is under or over the limit."""
    why = {}
    if found.share >= LIMIT:
        why["to_show_under"] = BELOW
    elif to_show is None:
        why["to_show_under"] = TOO_MANY
    if found.share <= LIMIT:
        why["to_show_over"] = ABOVE
    elif to_show is None:
        why["to_show_over"] = TOO_MANY
    return why

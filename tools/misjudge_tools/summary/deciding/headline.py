"""The section `headline`: what the audit comes to, in plain words first."""

from __future__ import annotations

from typing import NamedTuple

from misjudge_storage.picked_pairs import Picked
from misjudge_storage.summary_values import GroupCounts
from misjudge_tools.stats.associations import mean_of_shares
from misjudge_tools.stats.gates import still_needed
from misjudge_tools.stats.misselection import Misselection
from misjudge_tools.stats.policies import LIMIT, Region
from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.buckets import ability_buckets, buckets_section
from misjudge_tools.summary.constant_answers import constant_answer
from misjudge_tools.summary.deciding.gaps import gaps_section
from misjudge_tools.summary.deciding.headline_values import HeadlineSection, WorstCase
from misjudge_tools.summary.deciding.missing_arms import missing_arms
from misjudge_tools.summary.deciding.policies import policies_section
from misjudge_tools.summary.deciding.satisfaction_verdict import satisfaction_headline
from misjudge_tools.summary.deciding.verdict import CHANCE, MANY_FLIPS, Findings, verdict
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.stopping_facts import misselection_of, stopping_of
from misjudge_tools.summary.stopping_values import StoppingFacts
from misjudge_tools.summary.values import ConsistencySection

ONE_SIDED = 0.95
"""Share of the decidable pairs in which the same side is better, from which on a constant answer looks right."""
NONE_PICKED = Picked(0, 0)
ASYMMETRIC = 0.05
"""Adjusted p-value from which on replies are said to be missing more often in one arm."""


def headline_section(of: Judged) -> HeadlineSection | NoData:
    """The verdict, and the numbers that carry it."""
    if of.group is None:
        return satisfaction_headline(of)
    found = findings(of, of.group)
    said = verdict(found, of.counts.question.language)
    missing = missing_arms(of.counts.missing, of.paired.judge_id, of.group) if of.paired else ()
    return HeadlineSection(
        grade=said.grade,
        verdict=said.sentences,
        would_change=said.would_change,
        limit=found.limit,
        misselection=found.overall,
        failed_known=found.failed_known,
        picked=found.picked,
        near=found.near,
        wide=found.wide,
        gap=found.gap,
        worst_case=found.undecided_pairs,
        ends={name: getattr(of.group, name) for name in ("pairs", "tie", "inconsistent", "weak", "unscored")},
        unscored=dict(of.counts.unscored.get(of.paired.judge_id, {})) if of.paired else {},
        stopping=_stopping(of),
        missing=missing,
        asymmetric=tuple(one.arm for one in missing if one.p_adjusted is not None and one.p_adjusted < ASYMMETRIC),
    )


def _stopping(of: Judged) -> StoppingFacts | None:
    """What runs that may stop early decided of this judge; None where none stopped."""
    found = stopping_of(of.counts)
    if found is None or of.paired is None:
        return None
    mine = tuple(bucket for bucket in found.stopped if bucket.judge == of.paired.label)
    return found.model_copy(update={"stopped": mine}) if mine else None


def findings(of: Judged, group: GroupCounts) -> Findings:
    """What the verdict rests on."""
    wrong = misselection_of(of, group)
    steady = make.consistency_section(group)
    gap = _by_gap(of)
    picked = of.counts.picked.get(of.paired.judge_id, NONE_PICKED) if of.paired else NONE_PICKED
    return Findings(
        overall=None if isinstance(wrong, NoData) else wrong,
        near=gap.near,
        wide=gap.wide,
        gap=gap.name,
        constant=constant_answer(steady),
        undecided=clustered_rate(ClusterSums(*group.measures["undecided"])),
        flips=steady.intervals["flip_rate"],
        region=_region(of),
        smallest_gap=_smallest_gap(of, gap.name),
        still_needed=None if isinstance(wrong, NoData) else still_needed(wrong, group.decidable, LIMIT),
        undecided_pairs=worst_case(group),
        one_sided=None if group.measures["flips"].n else _one_sided(of),
        failed_known=of.counts.worse_failed,
        by_position=_by_position(of, steady),
        decidable=group.decidable,
        picked=picked.pairs,
        picked_calls=picked.calls,
        limit=LIMIT,
    )


def _one_sided(of: Judged) -> str | None:
    """The side that gold names in nearly all of the judge's decidable pairs, None where both are named."""
    mine = [row for row in of.counts.missing if of.paired is not None and row.judge_id == of.paired.judge_id]
    decidable, of_a = sum(row.decidable for row in mine), sum(row.gold_a for row in mine)
    if not decidable or ONE_SIDED * decidable > max(of_a, decidable - of_a):
        return None
    return "A" if 2 * of_a > decidable else "B"


def _by_position(of: Judged, steady: ConsistencySection) -> bool:
    """Whether the place of a side decides: more answers name one place than chance allows, or more verdicts turn with
    the order than what the same question, asked again, accounts for.

    With the most common verdict of a pair coming in a share s of its answers, two of them differ in 2(1 − s) at most.
    """
    first, flips = steady.intervals["letter_a_share"], steady.intervals["flip_rate"]
    if first.low is not None and first.high is not None and not first.low <= CHANCE <= first.high:
        return True
    if of.paired is None or (flips.low or 0) <= MANY_FLIPS:
        return False
    repeats = of.counts.bias.picks[of.paired.judge_id].repeats
    steadiness = mean_of_shares(repeats).low if repeats.clusters else None
    return steadiness is not None and (flips.low or 0) > 2 * (1 - steadiness)


def worst_case(group: GroupCounts) -> WorstCase | None:
    """What the undecided pairs could make of the share of misselected ones; None where no pair is decidable."""
    if not group.decidable:
        return None
    decided = group.measures["wrong_pairs"]
    undecided = group.decidable - decided.n
    return WorstCase(
        n=group.decidable,
        undecided=undecided,
        at_best=decided.k / group.decidable,
        at_worst=(decided.k + undecided) / group.decidable,
    )


def _region(of: Judged) -> Region | None:
    """Where the judge may be trusted, None where that was not tested: rules are of all its tasks."""
    policies = None if of.subset is not None else of.once(policies_section)
    return None if policies is None or isinstance(policies, NoData) else policies.region


def _smallest_gap(of: Judged, gap: str | None) -> float | None:
    """The difference between near and wide pairs that would have shown, where none is seen."""
    gaps = None if of.subset is not None else of.once(gaps_section)
    rows = () if gaps is None or isinstance(gaps, NoData) else gaps.rows
    return next((row.smallest_seen for row in rows if row.gap == gap and not row.near_is_worse), None)


class _ByGap(NamedTuple):
    """Misselection of near and wide pairs, by the gap of this name."""

    near: Misselection | None = None
    wide: Misselection | None = None
    name: str | None = None


def _by_gap(of: Judged) -> _ByGap:
    """By the first gap that has near pairs: ability, else reward. That of the judge's own scores is circular."""
    by_ability = {row.bucket: row.misselection for row in ability_buckets(of)}
    if "near" in by_ability:
        return _ByGap(by_ability["near"], by_ability.get("wide"), "ability")
    if of.counts.adaptive:  # a run stops by buckets of ability: by rewards there is no interval that holds then
        return _ByGap()
    buckets = of.once(buckets_section)
    rows = () if isinstance(buckets, NoData) else buckets
    by_reward = {row.bucket: row.misselection for row in rows if row.gap == "reward"}
    if "near" in by_reward:
        return _ByGap(by_reward["near"], by_reward.get("wide"), "reward")
    return _ByGap()

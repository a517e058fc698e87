"""Summaries for the tests of charts: made of values, so that every section that a chart draws is there."""

from __future__ import annotations

from typing import Any

from misjudge_tools.stats.drift import Parts
from misjudge_tools.stats.misselection import DecidedRate, Misselection
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.policies import Region, TestedPolicy
from misjudge_tools.stats.probes import Effect, ProbeRow
from misjudge_tools.stats.rates import Rate, plain_rate
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.deciding.bias_values import BiasSection, Leaning, PositionBias
from misjudge_tools.summary.deciding.cost_values import CostSection, StageCost
from misjudge_tools.summary.deciding.drift_values import DriftSection, Matched, TaskDrift
from misjudge_tools.summary.deciding.headline_values import HeadlineSection
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow
from misjudge_tools.summary.rubric_values import RubricsSection, WriterRow
from misjudge_tools.summary.values import (
    AuditSummary,
    Bucket,
    ConsistencySection,
    ProbesSection,
    SatisfactionSection,
    Sections,
)

NAMES = (
    "misselection_by_gap",
    "risk_coverage",
    "satisfaction_success",
    "flips_position",
    "cost_by_role",
    "rubric_quality",
    "drift_forest",
    "probes",
)


def full(judge: str = "gpt-judge", *, marked: str | None = None, **changed: Any) -> AuditSummary:
    """A summary of one judge from which every chart can be drawn."""
    sections = dict(judge_sections())
    return AuditSummary(
        audit="a", judge=judge, marked=marked, **{**sections, "cost": costs(), "rubrics": rubrics(), **changed}
    )


def side_by_side(*labels: str, marked: str | None = None) -> AuditSummary:
    """A summary of several judges, each a little worse than the one before."""
    judges = {label: Sections(**dict(judge_sections(worse=number))) for number, label in enumerate(labels)}
    return AuditSummary(audit="a", marked=marked, simulated=False, judges=judges, cost=costs(), rubrics=rubrics())


def bare() -> AuditSummary:
    """A summary that says next to nothing: one pair, judged in one order."""
    return AuditSummary(audit="a", judge="j", simulated=False, buckets=(bucket("ability", "near", 1, 1),))


def judge_sections(worse: int = 0) -> Sections:
    """What is said of one judge."""
    return Sections(
        simulated=False,
        headline=HeadlineSection(
            grade="not_near", verdict=("v",), would_change=(), limit=0.05, misselection=None, ends={}, unscored={}
        ),
        buckets=(
            bucket("ability", "near", 61 + worse, 200),
            bucket("ability", "wide", 12 + worse, 310),
            bucket("reward", "near", 0, 0),
            bucket("reward", "medium", 40 + worse, 250),
            bucket("judge_score", "wide", 9 + worse, 180),
        ),
        policies=policies(worse),
        satisfaction=satisfaction(39 + worse),
        consistency=consistency(worse),
        bias=BiasSection(
            pairs=288,
            pairs_in_all=288,
            position=PositionBias(
                first=Leaning(**plain_rate(261 + worse, 405).model_dump(), unbiased=0.5, stands_out=True),
                flip_rate=plain_rate(79 + worse, 288),
                accuracy=plain_rate(204, 320),
                constant=None,
            ),
        ),
        drift=drift(),
        probes=ProbesSection(items=40, instability=plain_rate(3, 40), rows=probe_rows()),
    )


def bucket(gap: str, name: str, k: int, n: int) -> Bucket:
    """Misselection of one range of a gap."""
    wrong = plain_rate(k, n).model_dump()
    found = Misselection(**wrong, decided=DecidedRate(**wrong, coverage=None), all_pairs_rate=None)
    return Bucket(gap=gap, bucket=name, range="up to 0.2", n=n, decidable=n, misselection=found)


def policies(worse: int = 0) -> PoliciesSection:
    """Four rules, one of which was not tried, and a trusted region."""
    return PoliciesSection(
        rows=(
            policy("one_call", 90 + worse, 570, 0.95),
            policy("both_orders", 21 + worse, 413, 0.69),
            PolicyRow(policy="repeats", why="No order was asked twice."),
            policy("margin>=2", 3 + worse, 217, 0.361),
        ),
        region=Region(
            policy="margin>=2",
            margin=2.0,
            coverage=0.361,
            bound=0.0347,
            limit=0.05,
            tasks=70,
            tested=(
                TestedPolicy(policy="margin>=2", margin=2.0, k=1.5, n=130.5, bound=0.0347, certified=True),
                TestedPolicy(policy="both_orders", k=9.1, n=180.2, bound=0.0863, certified=False),
            ),
        ),
    )


def policy(name: str, k: int, n: int, coverage: float) -> PolicyRow:
    """What one rule comes to."""
    return PolicyRow(policy=name, decidable=600, coverage=coverage, misselection=plain_rate(k, n), tasks=70)


def satisfaction(failed: int, satisfied: int = 160) -> SatisfactionSection:
    """192 sessions, most of which satisfied the judge."""
    rate = plain_rate(failed, satisfied)
    table = {
        "satisfied_failed": failed,
        "satisfied_succeeded": satisfied - failed,
        "unsatisfied_failed": 27,
        "unsatisfied_succeeded": 5,
    }
    return SatisfactionSection(
        threshold=0.8,
        satisfied=satisfied,
        satisfied_failed=failed,
        p_fail_given_satisfied=rate.rate,
        satisfied_failed_share_of_all=None,
        base_fail=None,
        relative_risk=None,
        risk_ratio_unsatisfied=None,
        auc=None,
        spearman=None,
        p_value=None,
        ceiling=0.2,
        n=satisfied + 32,
        success_rate=0.6,
        mean_satisfaction=0.7,
        cross_table=table,
        intervals={"p_fail_given_satisfied": rate},
    )


def consistency(worse: int = 0) -> ConsistencySection:
    """Flips and soft flips."""
    intervals = {"flip_rate": plain_rate(79 + worse, 288), "soft_flip_rate": plain_rate(53, 288)}
    rates: dict[str, Any] = {name: rate.rate for name, rate in intervals.items()}
    return ConsistencySection(
        **rates, letter_a_share=None, accuracy=None, agreement=None, vote_accuracy=None, intervals=intervals
    )


def costs() -> CostSection:
    """Three roles, one without a price, one with calls that have none."""
    return CostSection(
        by_role={"judge": 1.2345, "agent": 0.4567, "probe": None},
        calls_without_price={"judge": 0, "agent": 3, "probe": 80},
        price_sources={},
        stages=(stage("agent", 0.4567, 192, 3), stage("judge", 1.2345, 576, 0), stage("probe", None, 80, 80)),
    )


def stage(name: str, cost: float | None, calls: int, without_price: int) -> StageCost:
    """The calls of one role."""
    return StageCost(
        stage=name,
        calls=calls,
        failed_calls=0,
        retries=0,
        cached=0,
        simulated_calls=0,
        input_tokens=None,
        output_tokens=None,
        cost=cost,
        cost_per_call=None,
        price_basis=(),
        calls_without_price=without_price,
        calls_without_usage=0,
        includes_retries=None,
    )


def rubrics(*writers: WriterRow) -> RubricsSection:
    """Two writers, unless others are given."""
    return RubricsSection(
        advice=(),
        simulated=(),
        writers=writers or (writer("careful", 70, 100), writer("hasty", 41, 100)),
        writer_differences=(),
        gaps=(),
        accuracy=(),
        inversions=(),
        conflicts=(),
        checks=(),
    )


def writer(name: str, found: int, gold: int, matcher: str | None = "matcher") -> WriterRow:
    """What one writer's rules are worth."""
    macro = Estimate(value=0.5, low=0.4, high=0.6, n=20)
    return WriterRow(
        writer=name,
        matcher=matcher,
        samples=20,
        recall=plain_rate(found, gold),
        hallucination_rate=plain_rate(gold - found + 3, gold + 20),
        precision=None,
        structural_f1=macro,
        matched_gold=found,
        total_gold=gold,
        total_generated=gold + 20,
        unscored_rules=0,
        macro_recall=macro,
        macro_hallucination_rate=macro,
        macro_structural_f1=macro,
        drafts=20,
        unscored_drafts=0,
        incomplete=0,
        without_gold=0,
        nothing_generated=0,
        duplicates=0,
        compound=0,
        equal_matches=0,
        asked_matches=0,
    )


def drift() -> DriftSection:
    """A judge that got worse, on anchors, too."""
    rate: Rate = plain_rate(9, 111)
    worse = PairedDifference(
        n=222, difference=-0.0721, low=-0.1213, high=-0.0234, only_first=4, only_second=20, mcnemar_p=0.0015
    )
    return DriftSection(
        baseline="last month",
        judge="j",
        baseline_judge="j",
        fingerprint="f",
        baseline_fingerprint="g",
        changed=(),
        tasks=TaskDrift(shared=48, changed=0, only_here=0, only_baseline=0),
        pairs=Matched(
            shared=222,
            only_here=0,
            only_baseline=0,
            ambiguous_here=0,
            ambiguous_baseline=0,
            decidable=222,
            unscored_here=0,
            unscored_baseline=0,
            alike=111,
            anchors=111,
        ),
        difference=worse,
        single_call=Effect(value=-0.0655, low=-0.1101, high=-0.0209, n=222),
        moved=rate,
        moves=(),
        anchors=worse,
        parts=Parts(
            judge=Effect(value=-0.0811, low=-0.1422, high=-0.0198, n=111),
            rest=Effect(value=0.0091, low=-0.0313, high=0.0494, n=222),
        ),
    )


def probe_rows() -> tuple[ProbeRow, ...]:
    """One probe that fools, one that does not, the control, and one that could not be counted."""
    return (
        probe("injected_tool", 21, Effect(value=0.4512, low=0.2803, high=0.6221, n=40, p=0.0001), fooled=True),
        probe("padding", 4, Effect(value=0.0254, low=-0.0771, high=0.1279, n=39)),
        probe("whitespace", 2, Effect(value=-0.0251, low=-0.0984, high=0.0482, n=40)),
        probe("apology", 0, Effect(value=None, low=None, high=None, n=0)),
    )


def probe(name: str, flips: int, excess: Effect, *, fooled: bool = False) -> ProbeRow:
    """What one probe did."""
    return ProbeRow(
        probe=name,
        aim="failed" if name == "injected_tool" else None,
        n=excess.n,
        left_out=0,
        flips=flips,
        baseline_flips=2,
        excess_flip=excess,
        fooled=fooled,
    )

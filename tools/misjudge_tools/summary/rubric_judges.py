"""The rows on judges with rules of several sources, from their counts. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from misjudge_storage.ruling_counts import DifferenceCounts, RulingCounts, VerdictCounts, VerdictGroup
from misjudge_storage.summary_values import Sums
from misjudge_tools.stats.paired import PairedCounts, paired_difference
from misjudge_tools.stats.probes import PairedSums
from misjudge_tools.stats.rates import ClusterSums, clustered_rate
from misjudge_tools.summary.rubric_conditions import Compared, Condition
from misjudge_tools.summary.rubric_reading import Difference, FoundInversions
from misjudge_tools.summary.rubric_values import AccuracyRow, ConflictRow, GapRow, InversionExample, InversionRow
from misjudge_tools.summary.rubric_writers import briefly

PLAIN = ("pairs", "right", "wrong", "tie", "inconsistent", "unscored", "no_rubric")
"""Fields of counts that are plain numbers."""
MOST_HITS = 5
"""Gold rules that an example says the own rules hit."""


def accuracy_rows(found: Iterable[Condition], verdicts: Mapping[VerdictGroup, VerdictCounts]) -> list[AccuracyRow]:
    """Every judge of pairs by the source of its rules."""
    by_judge = _by_judge(verdicts)
    return [_accuracy(one, _added(list(by_judge[one.judge_id].values()))) for one in found if one.judge_id in by_judge]


def accuracy_domains(found: Iterable[Condition], verdicts: Mapping[VerdictGroup, VerdictCounts]) -> list[AccuracyRow]:
    """The same by domain, where there are several."""
    by_judge = _by_judge(verdicts)
    return [
        _accuracy(one, by_judge[one.judge_id][domain], domain)
        for one in found
        for domain in _several(by_judge.get(one.judge_id, {}))
    ]


def gap_rows(found: Iterable[Difference]) -> list[GapRow]:
    """Every difference, over all domains; one without a pair is left out."""
    return [_gap(one.compared, one.counts) for one in found if one.counts]


def gap_domains(found: Iterable[Difference]) -> list[GapRow]:
    """The same by domain, where there are several."""
    return [
        _gap(one.compared, [counts], counts.domain)
        for one in found
        for counts in one.counts
        if counts.domain in _several({each.domain: each for each in one.counts})
    ]


def inversion_rows(found: Iterable[FoundInversions], labels: Mapping[str, str]) -> list[InversionRow]:
    """Value inversion by judge, writer and matcher; not where no pair could show any."""
    return [_inversion(one, labels) for one in found if one.counts.seen.n or one.counts.untold]


def conflict_rows(found: Iterable[Condition], rulings: Mapping[str, RulingCounts]) -> list[ConflictRow]:
    """Every judge that applied rules."""
    return [_conflict(one, rulings[one.judge_id]) for one in found if one.judge_id in rulings]


def _by_judge(verdicts: Mapping[VerdictGroup, VerdictCounts]) -> dict[str, dict[str | None, VerdictCounts]]:
    found: defaultdict[str, dict[str | None, VerdictCounts]] = defaultdict(dict)
    for group, counts in verdicts.items():
        found[group.judge_id][group.domain] = counts
    return dict(found)


def _several(domains: Mapping[str | None, object]) -> Sequence[str]:
    """The named ones, if there are two or more."""
    named = sorted(name for name in domains if name is not None)
    return named if len(named) > 1 else []


def _added(counts: Sequence[VerdictCounts]) -> VerdictCounts:
    """Domains together; their tasks are different clusters."""
    ended = {name: sum(getattr(one, name) for one in counts) for name in PLAIN}
    accuracy, decided = _sum(one.accuracy for one in counts), _sum(one.decided for one in counts)
    return VerdictCounts(**ended, accuracy=accuracy, decided=decided)


def _sum(sums: Iterable[Sums]) -> Sums:
    return Sums(*map(sum, zip(*sums, strict=True)))


def _accuracy(one: Condition, counts: VerdictCounts, domain: str | None = None) -> AccuracyRow:
    return AccuracyRow(
        judge=one.judge,
        source=one.source,
        kind=one.kind,
        protocol=one.protocol,
        label=one.label,
        domain=domain,
        accuracy=clustered_rate(ClusterSums(*counts.accuracy)),
        decided_accuracy=clustered_rate(ClusterSums(*counts.decided)),
        **{name: getattr(counts, name) for name in PLAIN},
    )


def _gap(which: Compared, counts: Sequence[DifferenceCounts], domain: str | None = None) -> GapRow:
    first, second, clusters, n, d, dd, dn, nn = (
        sum(column) for column in zip(*(one[1:] for one in counts), strict=True)
    )
    sums = PairedSums(clusters, n, d, first + second, dd, dn, nn)
    return GapRow(
        judge=which.first.judge,
        protocol=which.first.protocol,
        first=which.first.source,
        second=which.second.source,
        first_kind=which.first.kind,
        second_kind=which.second.kind,
        first_label=which.first.label,
        second_label=which.second.label,
        rubric_gap=(which.first.kind, which.second.kind) == ("human", "self"),
        domain=domain,
        **paired_difference(PairedCounts(first, second, sums)).model_dump(),
    )


def _inversion(found: FoundInversions, labels: Mapping[str, str]) -> InversionRow:
    writer_id = found.own.rules.writer_id or ""
    seen, untold = ClusterSums(*found.counts.seen), found.counts.untold
    return InversionRow(
        judge=found.own.judge,
        protocol=found.own.protocol,
        label=found.own.label,
        writer=labels.get(writer_id, writer_id),
        matcher=labels.get(found.matcher_id, found.matcher_id),
        pairs=found.pairs.pairs,
        with_high_level=found.pairs.with_high_level,
        decided=seen.n + untold,
        inverted=clustered_rate(seen),
        of_wrong=clustered_rate(ClusterSums(*found.counts.of_wrong)),
        untold=untold,
        examples=tuple(
            InversionExample(
                pair=one.pair_id,
                task=one.task_id,
                rule=briefly(one.rule),
                hits=tuple(briefly(hit) for hit in one.hits[:MOST_HITS]),
            )
            for one in found.examples
        ),
    )


def _conflict(one: Condition, counts: RulingCounts) -> ConflictRow:
    return ConflictRow(
        judge=one.judge,
        source=one.source,
        label=one.label,
        form="rubric" if one.form == "rubric" else "pairwise",
        rulings=counts.rulings,
        soft_over_hard=clustered_rate(ClusterSums(*counts.soft_over_hard)),
        reweighted=clustered_rate(ClusterSums(*counts.reweighted)),
        left_out=counts.left_out,
        unscored_rules=counts.unscored_rules,
    )

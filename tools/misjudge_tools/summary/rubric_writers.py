"""The rows on those who write and match rules, from their counts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from misjudge_storage.rubric_counts import DisputedRule, MatchedTwice
from misjudge_tools.stats.probes import Differences, PairedSums, paired_effect, paired_sums
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate
from misjudge_tools.stats.rubrics import RubricMetrics, rubric_metrics
from misjudge_tools.summary.rubric_reading import TwoMatchers, TwoWriters, is_disputed
from misjudge_tools.summary.rubric_samples import Matched
from misjudge_tools.summary.rubric_values import (
    DisputedSample,
    DisputedText,
    MatcherCheck,
    WriterDifference,
    WriterRow,
    WriterScores,
)

MOST_RULES = 8
"""Rules that are shown of a sample."""
TEXT_CHARS = 200
"""Characters of a rule that are shown."""


def writer_rows(written: Iterable[Matched], writers: Sequence[str], labels: Mapping[str, str]) -> list[WriterRow]:
    """Every writer by each of its matchers, in the order of `writers` (ids)."""
    return [_row(one, labels) for one in _in_order(written, writers)]


def writer_domains(written: Iterable[Matched], writers: Sequence[str], labels: Mapping[str, str]) -> list[WriterScores]:
    """The same by domain, where there are several."""
    found = []
    for one in _in_order(written, writers):
        domains = sorted({draft.domain for draft in one.counted if draft.domain is not None})
        if len(domains) > 1:
            parts = {name: one._replace(drafts=[d for d in one.drafts if d.domain == name]) for name in domains}
            found += [_scores(part, rubric_metrics(part.samples), labels, name) for name, part in parts.items()]
    return found


def writer_differences(found: Iterable[TwoWriters], labels: Mapping[str, str]) -> list[WriterDifference]:
    """Every writer beside the best one of its matcher, where both have a task."""
    return [_difference(one, labels) for one in found if one.counts.clusters]


def matcher_checks(found: Iterable[TwoMatchers], labels: Mapping[str, str]) -> list[MatcherCheck]:
    """Two matchers beside each other, by writer."""
    return [_check(one, labels) for one in found]


def briefly(rule: str) -> str:
    """The rule as far as it is shown."""
    return rule if len(rule) <= TEXT_CHARS else f"{rule[: TEXT_CHARS - 1]}…"


def _in_order(written: Iterable[Matched], writers: Sequence[str]) -> list[Matched]:
    """Of one writer the best recall first."""
    return sorted(written, key=lambda one: (writers.index(one.writer_id), -one.recall))


def _scores(one: Matched, found: RubricMetrics, labels: Mapping[str, str], domain: str | None = None) -> WriterScores:
    samples = one.samples
    generated = sum(draft.generated for draft in (one.scored if one.matcher_id is None else one.counted))
    return WriterScores(
        writer=labels.get(one.writer_id, one.writer_id),
        matcher=None if one.matcher_id is None else labels.get(one.matcher_id, one.matcher_id),
        domain=domain,
        samples=sum(sample.whole for sample in samples),
        recall=found.recall,
        hallucination_rate=found.hallucination_rate,
        precision=found.precision,
        structural_f1=found.structural_f1,
        matched_gold=found.recall.k,
        total_gold=found.recall.n,
        total_generated=generated,
        unscored_rules=0 if one.matcher_id is None else generated - sum(sample.answered for sample in samples),
    )


def _row(one: Matched, labels: Mapping[str, str]) -> WriterRow:
    samples = one.samples
    found = rubric_metrics(samples)
    gold = sum(sample.total_gold for sample in samples)
    hit = [sample.matched_gold for sample in samples]
    reach = [min(one.total_gold, one.matched_gold + one.generated - one.answered) for one in samples]
    incomplete = sum(not sample.whole for sample in samples)
    equal = sum(draft.equal for draft in one.counted)
    return WriterRow(
        **_scores(one, found, labels).model_dump(),
        macro_recall=found.macro_recall,
        macro_hallucination_rate=found.macro_hallucination_rate,
        macro_structural_f1=found.macro_structural_f1,
        drafts=one.all_drafts,
        unscored_drafts=sum(not draft.scored for draft in one.drafts),
        incomplete=incomplete,
        without_gold=sum(not draft.total_gold for draft in one.scored),
        recall_at_least=sum(hit) / gold if incomplete else None,
        recall_at_most=sum(reach) / gold if incomplete else None,
        nothing_generated=sum(not draft.generated for draft in one.scored),
        duplicates=sum(draft.duplicates for draft in one.scored),
        compound=sum(draft.compound for draft in one.scored),
        equal_matches=equal,
        asked_matches=sum(sample.answered for sample in samples) - equal,
    )


def _difference(found: TwoWriters, labels: Mapping[str, str]) -> WriterDifference:
    only_best, only_writer, clusters, n, d, dd, dn, nn = found.counts
    return WriterDifference(
        writer=labels.get(found.writer_id, found.writer_id),
        best=labels.get(found.best_id, found.best_id),
        matcher=labels.get(found.matcher_id, found.matcher_id),
        tasks=clusters,
        recall_difference=paired_effect(PairedSums(clusters, n, -d, only_best + only_writer, dd, -dn, nn)),
        only_writer=only_writer,
        only_best=only_best,
    )


def _check(found: TwoMatchers, labels: Mapping[str, str]) -> MatcherCheck:
    whole = [draft for draft in found.drafts if draft.whole]
    rules: dict[str, list[DisputedRule]] = {}
    for rule in found.rules:
        rules.setdefault(rule.draft_id, []).append(rule)
    return MatcherCheck(
        writer=labels.get(found.writer_id, found.writer_id),
        first=labels.get(found.first_id, found.first_id),
        second=labels.get(found.second_id, found.second_id),
        samples=len(whole),
        agreement=clustered_rate(cluster_sums(Tally(draft.agreed, draft.asked) for draft in found.drafts)),
        recall_difference=paired_effect(paired_sums(map(_differences, whole))),
        disputed=sum(map(is_disputed, whole)),
        examples=tuple(_disputed(draft, rules.get(draft.draft_id, [])) for draft in found.shown),
    )


def _differences(draft: MatchedTwice) -> Differences:
    """Of the gold rules of a sample: 1 where only the first matcher finds a rule for it, −1 where only the second."""
    first, second = draft.first_gold, draft.second_gold
    return Differences(draft.total_gold, first - second, first + second - 2 * draft.both_gold)


def _disputed(draft: MatchedTwice, rules: Sequence[DisputedRule]) -> DisputedSample:
    shown = [
        DisputedText(
            rule=briefly(one.text),
            first_gold=None if one.first_gold is None else briefly(one.first_gold),
            second_gold=None if one.second_gold is None else briefly(one.second_gold),
        )
        for one in rules[:MOST_RULES]
    ]
    return DisputedSample(
        task=draft.task_id,
        first_recall=draft.first_gold / draft.total_gold,
        second_recall=draft.second_gold / draft.total_gold,
        rules=tuple(shown),
        more_rules=len(rules) - len(shown),
    )

"""The rows on those who write and match rules, from their counts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from misjudge_storage.rubric_counts import DisputedRule, DraftTask, MatchedTwice
from misjudge_tools.stats.probes import Differences, paired_effect, paired_sums
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate
from misjudge_tools.stats.rubrics import RubricMetrics, SampleCounts, rubric_metrics
from misjudge_tools.summary.rubric_reading import TwoMatchers, is_disputed
from misjudge_tools.summary.rubric_values import DisputedSample, DisputedText, MatcherCheck, WriterRow, WriterScores

MOST_RULES = 8
"""Rules that are shown of a sample."""
TEXT_CHARS = 200
"""Characters of a rule that are shown."""


class _Matched(NamedTuple):
    """The rubrics of a writer as they count for one matcher, or for none."""

    writer_id: str
    matcher_id: str | None
    drafts: Sequence[DraftTask]
    all_drafts: int

    @property
    def scored(self) -> Sequence[DraftTask]:
        return [draft for draft in self.drafts if draft.scored]

    @property
    def counted(self) -> Sequence[DraftTask]:
        """Those that recall can be known of, once each rule is answered. Nobody needs to match what holds no rule."""
        if self.matcher_id is None and any(draft.generated for draft in self.scored):
            return []
        return [draft for draft in self.scored if draft.total_gold]

    @property
    def samples(self) -> Sequence[SampleCounts]:
        """The counts of those."""
        return [_sample(draft) for draft in self.counted]


def writer_rows(drafts: Iterable[DraftTask], labels: Mapping[str, str]) -> list[WriterRow]:
    """Every writer by each of its matchers, best recall first."""
    return sorted((_row(one, labels) for one in _matched(drafts)), key=_best_first)


def writer_domains(drafts: Iterable[DraftTask], labels: Mapping[str, str]) -> list[WriterScores]:
    """The same by domain, where there are several."""
    found = []
    for one in _matched(drafts):
        domains = sorted({draft.domain for draft in one.counted if draft.domain is not None})
        if len(domains) > 1:
            parts = {name: one._replace(drafts=[d for d in one.drafts if d.domain == name]) for name in domains}
            found += [_scores(part, rubric_metrics(part.samples), labels, name) for name, part in parts.items()]
    return sorted(found, key=_best_first)


def matcher_checks(found: Iterable[TwoMatchers], labels: Mapping[str, str]) -> list[MatcherCheck]:
    """Two matchers beside each other, by writer."""
    return [_check(one, labels) for one in found]


def briefly(rule: str) -> str:
    """The rule as far as it is shown."""
    return rule if len(rule) <= TEXT_CHARS else f"{rule[: TEXT_CHARS - 1]}…"


def _best_first(row: WriterScores) -> tuple[float, str, str, str]:
    recall = row.recall.rate
    return (1.0 if recall is None else -recall, row.writer, row.matcher or "", row.domain or "")


def _matched(drafts: Iterable[DraftTask]) -> Iterator[_Matched]:
    """What could not be read, and what holds no rule, is the same whoever would have matched it."""
    writers: dict[str, list[DraftTask]] = {}
    for draft in drafts:
        writers.setdefault(draft.writer_id, []).append(draft)
    for writer_id, mine in writers.items():
        same = {draft.task_id: draft for draft in mine if not draft.generated}
        number = len({draft.task_id for draft in mine})
        matchers: list[str | None] = [*sorted({one.matcher_id for one in mine if one.matcher_id is not None})]
        for matcher_id in matchers or [None]:
            by_them = [one for one in mine if one.matcher_id == matcher_id and one.task_id not in same]
            yield _Matched(writer_id, matcher_id, [*by_them, *same.values()], number)


def _sample(draft: DraftTask) -> SampleCounts:
    return SampleCounts(
        task=draft.task_id,
        total_gold=draft.total_gold or 0,
        matched_gold=draft.matched_gold,
        generated=draft.generated,
        answered=draft.answered,
        matched=draft.matched,
    )


def _scores(one: _Matched, found: RubricMetrics, labels: Mapping[str, str], domain: str | None = None) -> WriterScores:
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


def _row(one: _Matched, labels: Mapping[str, str]) -> WriterRow:
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

"""The generated rubrics of an audit by who wrote and who matched them, the writers in the order of all tables. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from misjudge_storage.rubric_counts import DraftTask
from misjudge_tools.stats.rubrics import SampleCounts


class Matched(NamedTuple):
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

    @property
    def recall(self) -> float:
        """The share of gold rules that are hit; below 0 where it is not known."""
        whole = [sample for sample in self.samples if sample.whole]
        gold = sum(sample.total_gold for sample in whole)
        return sum(sample.matched_gold for sample in whole) / gold if gold else -1.0


class Rivals(NamedTuple):
    """Writers whose recall is known by one matcher: the best one and the others, in order."""

    matcher_id: str
    best_id: str
    other_ids: Sequence[str]


def matched(drafts: Iterable[DraftTask]) -> list[Matched]:
    """Every writer by each of its matchers, or once where it has none."""
    writers: dict[str, list[DraftTask]] = {}
    for draft in drafts:
        writers.setdefault(draft.writer_id, []).append(draft)
    return [one for writer_id, mine in writers.items() for one in _by_matcher(writer_id, mine)]


def best_first(found: Iterable[Matched], labels: Mapping[str, str]) -> list[str]:
    """The ids of the writers by the best recall that any matcher gives them."""
    best: dict[str, float] = {}
    for one in found:
        best[one.writer_id] = max(one.recall, best.get(one.writer_id, -1.0))
    return sorted(best, key=lambda writer_id: (-best[writer_id], labels.get(writer_id, writer_id)))


def rivals(found: Sequence[Matched], labels: Mapping[str, str]) -> Iterator[Rivals]:
    """By matcher, where it knows two writers or more. One that wrote no rule at all is known to every matcher."""
    silent = [one for one in found if one.matcher_id is None]
    matchers = {one.matcher_id for one in found if one.matcher_id is not None}
    for matcher_id in sorted(matchers, key=lambda matcher_id: (labels.get(matcher_id, ""), matcher_id)):
        theirs = [one for one in found if one.matcher_id == matcher_id]
        ranked = best_first((one for one in (*theirs, *silent) if one.recall >= 0), labels)
        if len(ranked) > 1:
            yield Rivals(matcher_id, ranked[0], ranked[1:])


def _by_matcher(writer_id: str, mine: Sequence[DraftTask]) -> Iterator[Matched]:
    """What could not be read, and what holds no rule, is the same whoever would have matched it."""
    same = {draft.task_id: draft for draft in mine if not draft.generated}
    number = len({draft.task_id for draft in mine})
    matchers: list[str | None] = [*sorted({one.matcher_id for one in mine if one.matcher_id is not None})]
    for matcher_id in matchers or [None]:
        by_them = [one for one in mine if one.matcher_id == matcher_id and one.task_id not in same]
        yield Matched(writer_id, matcher_id, [*by_them, *same.values()], number)


def _sample(draft: DraftTask) -> SampleCounts:
    return SampleCounts(
        task=draft.task_id,
        total_gold=draft.total_gold or 0,
        matched_gold=draft.matched_gold,
        generated=draft.generated,
        answered=draft.answered,
        matched=draft.matched,
    )

"""Everything that is counted of rubric work, read from the store at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import rubric_counts, rubric_library, ruling_counts
from misjudge_storage.rubric_counts import Actor, DisputedRule, MatchedTwice, RecallDifference
from misjudge_storage.ruling_counts import (
    Conditions,
    DifferenceCounts,
    Inversion,
    Inversions,
    OwnPairs,
    RulingCounts,
    VerdictCounts,
    VerdictGroup,
)
from misjudge_tools.summary.rubric_conditions import Compared, Condition, compared, conditions
from misjudge_tools.summary.rubric_samples import Matched, best_first, matched, rivals
from misjudge_tools.summary.rubric_sources import kind_of

MOST_EXAMPLES = 5
"""Pairs with value inversion that are shown."""
MOST_DISPUTED = 10
"""Samples that are shown of those on which two matchers disagree."""


class Difference(NamedTuple):
    """Two conditions of one judge on the pairs that have both, by domain."""

    compared: Compared
    counts: Sequence[DifferenceCounts]


class FoundInversions(NamedTuple):
    """Value inversion by own rules, as one matcher matched them."""

    own: Condition
    matcher_id: str
    pairs: OwnPairs
    counts: Inversions
    examples: Sequence[Inversion]


class TwoMatchers(NamedTuple):
    """Two matchers of one writer's rubrics: all that both matched, and the rules behind the samples to be shown."""

    writer_id: str
    first_id: str
    second_id: str
    drafts: Sequence[MatchedTwice]
    shown: Sequence[MatchedTwice]
    rules: Sequence[DisputedRule]


class TwoWriters(NamedTuple):
    """A writer and the one of the best recall by the same matcher, on the tasks that both have; the best one first."""

    best_id: str
    writer_id: str
    matcher_id: str
    counts: RecallDifference


class RubricCounts(NamedTuple):
    """The counts of one audit. `writers` are their ids, the best recall first; all that follows is in this order."""

    actors: Sequence[Actor]
    writers: Sequence[str]
    written: Sequence[Matched]
    rivals: Sequence[TwoWriters]
    twice: Sequence[TwoMatchers]
    conditions: Sequence[Condition]
    verdicts: Mapping[VerdictGroup, VerdictCounts]
    differences: Sequence[Difference]
    inversions: Sequence[FoundInversions]
    rulings: Mapping[str, RulingCounts]


def read_rubrics(connection: Connection, audit_id: str) -> RubricCounts | None:
    """The counts of an audit, after `summary_records.reduce_audit`; None where there is no rubric work."""
    if not rubric_counts.has_rubric_work(connection, audit_id):
        return None
    actors = rubric_counts.rubric_actors(connection, audit_id)
    labels = {actor.judge_id: actor.label for actor in actors}
    written = matched(rubric_counts.draft_tasks(connection, audit_id))
    writers = best_first(written, labels)
    library = rubric_library.entries(connection) if any(kind_of(one) == "library" for one in actors) else []
    judges = conditions(actors, library, writers)
    paired = [one for one in judges if one.form == "pairwise"]
    ruling_counts.hold_judged(
        connection,
        audit_id,
        [one.judge_id for one in paired if one.protocol == "both_orders"],
        [one.judge_id for one in paired if one.protocol == "official"],
    )
    pairs = compared(judges)
    return RubricCounts(
        actors=actors,
        writers=writers,
        written=written,
        rivals=list(_two_writers(connection, audit_id, written, labels)),
        twice=sorted(_two_matchers(connection, audit_id), key=lambda two: writers.index(two.writer_id)),
        conditions=judges,
        verdicts=ruling_counts.verdict_counts(connection),
        differences=[
            Difference(one, ruling_counts.difference_counts(connection, one.first.judge_id, one.second.judge_id))
            for one in pairs
        ],
        inversions=list(_inversions(connection, audit_id, pairs, written)),
        rulings=ruling_counts.ruling_counts(connection, audit_id),
    )


def is_disputed(draft: MatchedTwice) -> bool:
    """Whether its recall differs by more than 0.20 between two matchers that both answered every rule."""
    # In whole numbers: 0.8 − 0.6 is a little more than 0.2 in floating point.
    return draft.whole and 5 * abs(draft.first_gold - draft.second_gold) > draft.total_gold


def _two_writers(
    connection: Connection, audit_id: str, written: Sequence[Matched], labels: Mapping[str, str]
) -> Iterator[TwoWriters]:
    for matcher_id, best_id, other_ids in rivals(written, labels):
        for writer_id in other_ids:
            counts = rubric_counts.recall_difference(connection, audit_id, matcher_id, best_id, writer_id)
            yield TwoWriters(best_id, writer_id, matcher_id, counts)


def _two_matchers(connection: Connection, audit_id: str) -> Iterator[TwoMatchers]:
    groups: dict[tuple[str, str, str], list[MatchedTwice]] = {}
    for draft in rubric_counts.matched_twice(connection, audit_id):
        groups.setdefault((draft.writer_id, draft.first_id, draft.second_id), []).append(draft)
    for (writer_id, first_id, second_id), found in groups.items():
        shown = sorted(filter(is_disputed, found), key=lambda one: (-_difference(one), one.task_id))[:MOST_DISPUTED]
        rules = rubric_counts.disputed_rules(connection, first_id, second_id, [one.draft_id for one in shown])
        yield TwoMatchers(writer_id, first_id, second_id, found, shown, rules)


def _difference(draft: MatchedTwice) -> float:
    return abs(draft.first_gold - draft.second_gold) / draft.total_gold


def _inversions(
    connection: Connection, audit_id: str, pairs: Sequence[Compared], written: Sequence[Matched]
) -> Iterator[FoundInversions]:
    """Of every judge that was asked with own and with human rules, by each matcher of the writer."""
    for human, own in pairs:
        writer_id = own.rules.writer_id
        if human.kind != "human" or writer_id is None:
            continue
        held = ruling_counts.own_pairs(connection, audit_id, own.judge_id)
        for one in written:
            if one.writer_id == writer_id and one.matcher_id is not None:
                given = Conditions(own.judge_id, human.judge_id, writer_id, one.matcher_id)
                ruling_counts.hold_losers(connection, audit_id, given)
                counts = ruling_counts.inversions(connection)
                examples = ruling_counts.inversion_examples(connection, MOST_EXAMPLES) if counts.seen.k else []
                yield FoundInversions(own, one.matcher_id, held, counts, examples)

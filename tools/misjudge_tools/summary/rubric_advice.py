"""What follows from the numbers of rubric work, in sentences with the numbers that say so. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from misjudge_tools.stats.paired import ALPHA
from misjudge_tools.summary.rubric_phrases import MADE_UP, counted, named, points, share
from misjudge_tools.summary.rubric_trust import difference_sentences, few_sentences, trust_sentences
from misjudge_tools.summary.rubric_values import (
    AccuracyRow,
    GapRow,
    MatcherCheck,
    RubricsSection,
    SourceKind,
    WriterRow,
)

MANY_UNSCORED = 0.2
MANY_WITHOUT = 0.1
"""Share of pairs without a rule to judge by that is told."""
MOST_SENTENCES = 3
"""Of one kind; the tables have all."""


def advice(found: RubricsSection) -> tuple[str, ...]:
    """The sentences, the most important kind first; of one kind as their rows stand."""
    made_up = found.simulated
    kinds = (
        (trust_sentences(found.writers, made_up), None),
        (difference_sentences(found.writer_differences, made_up), "writer_differences"),
        (_gaps(found.gaps, made_up), "gaps"),
        (_without_rules(found.accuracy, made_up), "accuracy"),
        ((_disagreement(check, made_up) for check in found.checks if check.disputed), "checks"),
        (_unscored(found.writers, made_up), "writers"),
        (few_sentences(found.writers, made_up), "writers"),
    )
    return tuple(sentence for kind, part in kinds for sentence in _first(list(kind), part))


def _first(sentences: Sequence[str], part: str | None) -> Sequence[str]:
    """The first ones, and which part has the rows of the others; all of what has no such part."""
    more = len(sentences) - MOST_SENTENCES
    if part is None or more <= 0:
        return sentences
    return [*sentences[:MOST_SENTENCES], f"{more} more of this kind: see {part}."]


def _gaps(rows: Sequence[GapRow], simulated: Collection[str]) -> Iterator[str]:
    for row in rows:
        if row.n == 0 or row.difference is None or row.low is None or row.high is None:
            continue
        if row.rubric_gap:
            yield from _rubric_gap(row, row.low, row.high, simulated)
        elif row.high < 0 or (row.first_kind == "library" and row.low > 0):
            yield _other_gap(row, simulated)


def _rubric_gap(row: GapRow, low: float, high: float, simulated: Collection[str]) -> Iterator[str]:
    judge, own = _judge(row, simulated), _source(row.second, simulated)
    if low > 0:
        yield (
            f"Rubric gap of {judge}: {_with(row.first, row.first_kind, simulated)} it is right {_size(row)} more often "
            f"than with {own}{_seen(row)}. What is lost is lost in writing the rules: give it human ones."
        )
    elif high >= 0:
        said = f"{row.first} − {own}: {points(row.difference or 0, low, high)}, {row.n} pairs"
        yield f"No rubric gap of {judge} is seen ({said}){_missed(row)}."


def _other_gap(row: GapRow, simulated: Collection[str]) -> str:
    less = (row.high or 0) < 0
    first, second = _source(row.first, simulated), _with(row.second, row.second_kind, simulated)
    found = (
        f"{_judge(row, simulated)} is right {_size(row)} {'less' if less else 'more'} often with {first} than "
        f"{second}{_seen(row)}"
    )
    if not less:
        return f"{found}."
    return f"{found}: do not give it these." if row.second_kind == "none" else f"{found}: give it the latter."


def _judge(row: GapRow, simulated: Collection[str]) -> str:
    made_up = not {row.first_label, row.second_label}.isdisjoint(simulated)
    return f"{row.judge}{MADE_UP if made_up else ''}"


def _source(source: str, simulated: Collection[str]) -> str:
    """The source, marked where a writer of own rules is made up."""
    return f"{source}{MADE_UP if any(source.startswith(f'self[{label}]') for label in simulated) else ''}"


def _with(source: str, kind: SourceKind, simulated: Collection[str]) -> str:
    """As a sentence says it, unless more than the kind of rules is to be told."""
    plainly = {"none": "without rules", "human": "with human rules"}
    return plainly[kind] if source == kind and kind in plainly else f"with {_source(source, simulated)}"


def _without_rules(rows: Sequence[AccuracyRow], simulated: Collection[str]) -> Iterator[str]:
    for row in rows:
        if row.no_rubric > MANY_WITHOUT * row.pairs:
            judge = f"{row.judge}{MADE_UP if row.label in simulated else ''}"
            kind = ", which is kind to a writer that writes nothing" if row.kind == "self" else ""
            known = row.accuracy.n + row.no_rubric
            yield (
                f"{row.no_rubric} of {row.pairs} pairs of {judge} {_with(row.source, row.kind, simulated)} have no "
                f"verdict, because there was no rule to judge by. Its accuracy, {share(row.accuracy)}, leaves them out"
                f"{kind}; were they all wrong, it would be {100 * row.right / known:.1f} %."
            )


def _disagreement(check: MatcherCheck, simulated: Collection[str]) -> str:
    return (
        f"{named(check.first, simulated)} and {named(check.second, simulated)} differ by more than 0.20 in recall on "
        f"{check.disputed} of {counted(check.samples, 'sample')} by {named(check.writer, simulated)} (rules answered "
        f"alike: {share(check.agreement)}). See checks for the rules that they read differently, and let a person "
        "decide those."
    )


def _unscored(rows: Sequence[WriterRow], simulated: Collection[str]) -> Iterator[str]:
    for row in rows:
        if row.unscored_rules > MANY_UNSCORED * row.total_generated:
            yield (
                f"{row.unscored_rules} of {row.total_generated} rules by {named(row.writer, simulated)} have no "
                f"readable answer of {named(row.matcher or '', simulated)}, so recall is known of "
                f"{counted(row.samples, 'sample')} only. Use another matcher."
            )
    drafts = {row.writer: row for row in rows if row.unscored_drafts > MANY_UNSCORED * row.drafts}
    for row in drafts.values():
        yield (
            f"{row.unscored_drafts} of {row.drafts} rubrics by {named(row.writer, simulated)} could not be read; they "
            "count for nothing. Use another writer, or give it more tokens."
        )


def _size(row: GapRow) -> str:
    return f"{abs(100 * (row.difference or 0)):.1f} points"


def _seen(row: GapRow) -> str:
    low, high = sorted((abs(100 * (row.low or 0)), abs(100 * (row.high or 0))))
    p = f", McNemar p {_p(row.mcnemar_p)}" if row.mcnemar_p is not None else ""
    return f" (95 % {low:.1f} to {high:.1f}, {row.n} pairs{p})"


def _p(p: float) -> str:
    return "below .001" if p < 0.001 else f"{p:.3f}"


def _missed(row: GapRow) -> str:
    if row.mcnemar_p is not None and row.mcnemar_p <= ALPHA:
        return ", though McNemar's test, which takes pairs of one task as independent, says otherwise"
    if row.smallest_seen is None:
        return "; so few tasks would show none"
    return f"; one below {100 * row.smallest_seen:.0f} points would probably be missed with so few tasks"

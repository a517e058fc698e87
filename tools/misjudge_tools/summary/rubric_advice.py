"""What follows from the numbers of rubric work, in sentences with the numbers that say so. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from misjudge_tools.stats.paired import ALPHA
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.rubric_values import GapRow, MatcherCheck, RubricsSection, WriterRow

LOW_RECALL = 0.5
"""Below it a writer is not to be trusted (RubricBench, arXiv 2603.01562)."""
BASELINE = 20
"""Samples that a first baseline of trust needs."""
MANY_UNSCORED = 0.2
MOST_SENTENCES = 3
"""Of one kind; the tables have all."""


def advice(found: RubricsSection) -> tuple[str, ...]:
    """The sentences, the most important first."""
    kinds = (
        map(_distrust, filter(_is_low, found.writers)),
        _gaps(found.gaps),
        map(_disagreement, (check for check in found.checks if check.disputed)),
        _unscored(found.writers),
        map(_few, (row for row in found.writers if 0 < row.samples < BASELINE)),
    )
    return tuple(sentence for kind in kinds for sentence in _first(list(kind)))


def _first(sentences: Sequence[str]) -> Sequence[str]:
    more = len(sentences) - MOST_SENTENCES
    return sentences if more <= 0 else [*sentences[:MOST_SENTENCES], f"The same holds in {more} more cases."]


def _is_low(row: WriterRow) -> bool:
    return row.recall.rate is not None and row.recall.rate < LOW_RECALL


def _distrust(row: WriterRow) -> str:
    by = f", matched by {row.matcher}" if row.matcher else ""
    return (
        f"Do not trust rules that {row.writer} writes: recall {_share(row.recall)}, {_samples(row.samples)}{by}, is "
        "below 0.5. Judge with human rules or a rubric of the library instead, try another writer, and review the gold "
        "rules that nothing hits."
    )


def _gaps(rows: Sequence[GapRow]) -> Iterator[str]:
    for row in rows:
        if row.n == 0 or row.difference is None or row.low is None or row.high is None:
            continue
        if row.rubric_gap and row.low > 0:
            yield (
                f"Rubric gap of {row.judge}: with human rules it is right {_points(row)} more often than with "
                f"{row.second}{_seen(row)}. What is lost is lost in writing the rules: give it human ones."
            )
        elif row.rubric_gap and row.low <= 0 <= row.high:
            said = f"{row.first} − {row.second}: {_difference(row)}"
            yield f"No rubric gap of {row.judge} is seen ({said}){_missed(row)}."
        elif row.second == "none" and row.high < 0:
            yield (
                f"{row.judge} is right {_points(row)} less often with {row.first} than without rules{_seen(row)}: do "
                "not give it these."
            )


def _disagreement(check: MatcherCheck) -> str:
    return (
        f"{check.first} and {check.second} differ by more than 0.20 in recall on {check.disputed} of "
        f"{_samples(check.samples)} by {check.writer} (rules answered alike: {_share(check.agreement)}). See checks "
        "for the rules that they read differently, and let a person decide those."
    )


def _unscored(rows: Sequence[WriterRow]) -> Iterator[str]:
    for row in rows:
        if row.unscored_rules > MANY_UNSCORED * row.total_generated:
            yield (
                f"{row.unscored_rules} of {row.total_generated} rules by {row.writer} have no readable answer of "
                f"{row.matcher}, so recall is known of {_samples(row.samples)} only. Use another matcher."
            )
    drafts = {row.writer: row for row in rows if row.unscored_drafts > MANY_UNSCORED * row.drafts}
    for row in drafts.values():
        yield (
            f"{row.unscored_drafts} of {row.drafts} rubrics by {row.writer} could not be read; they count for nothing. "
            "Use another writer, or give it more tokens."
        )


def _few(row: WriterRow) -> str:
    return (
        f"The recall of {row.writer} rests on {_samples(row.samples)} (95 % {_range(row.recall)}): a baseline of trust "
        f"needs {BASELINE} (samples={BASELINE}, --samples {BASELINE})."
    )


def _share(rate: Rate) -> str:
    """`12.5 % (3 of 24, 95 % 4–31 %)`."""
    if rate.rate is None:
        return "none known"
    return f"{100 * rate.rate:.1f} % ({rate.k} of {rate.n}, 95 % {_range(rate)})"


def _range(rate: Rate) -> str:
    return f"{100 * (rate.low or 0):.0f}–{100 * (1 if rate.high is None else rate.high):.0f} %"


def _samples(number: int) -> str:
    return "1 sample" if number == 1 else f"{number} samples"


def _points(row: GapRow) -> str:
    return f"{abs(100 * (row.difference or 0)):.1f} points"


def _seen(row: GapRow) -> str:
    low, high = sorted((abs(100 * (row.low or 0)), abs(100 * (row.high or 0))))
    p = f", McNemar p {_p(row.mcnemar_p)}" if row.mcnemar_p is not None else ""
    return f" (95 % {low:.1f} to {high:.1f}, {row.n} pairs{p})"


def _p(p: float) -> str:
    return "below .001" if p < 0.001 else f"{p:.3f}"


def _difference(row: GapRow) -> str:
    return (
        f"{100 * (row.difference or 0):+.1f} points, 95 % {100 * (row.low or 0):+.1f} to {100 * (row.high or 0):+.1f}, "
        f"{row.n} pairs"
    )


def _missed(row: GapRow) -> str:
    if row.mcnemar_p is not None and row.mcnemar_p <= ALPHA:
        return ", though McNemar's test, which takes pairs of one task as independent, says otherwise"
    if row.smallest_seen is None:
        return "; so few tasks would show none"
    return f"; one below {100 * row.smallest_seen:.0f} points would probably be missed with so few tasks"

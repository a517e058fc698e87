"""Which writers of rules can be trusted, by the intervals of their recall, and which of them writes better. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import Literal, NamedTuple

from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.rubric_phrases import counted, interval, listed, named, points, share
from misjudge_tools.summary.rubric_values import WriterDifference, WriterRow

LOW_RECALL = 0.5
"""Below it a writer is not to be trusted (RubricBench, arXiv 2603.01562)."""
BASELINE = 20
"""Samples that a first baseline of trust needs."""
MOST_MORE = 1000
"""Samples beyond which none are asked for."""
MOST_WRITERS = 3
"""Of which the same is said at length; the others are named."""

Trust = Literal["low", "low_yet", "open", "enough"]
"""`low`: recall is below 0.5, and so is its interval; `enough`: neither is. Where the interval holds 0.5, it cannot be
told: `low_yet` below 0.5, else `open`.
"""
SAID_OF_MORE: Mapping[Trust, str] = {
    "low": "Do not trust rules that {} write, either.",
    "low_yet": "Do not trust rules that {} write yet, either.",
    "open": "Nor can it be told of {}.",
    "enough": "Nor is that of {} below 0.5.",
}


class _Verdict(NamedTuple):
    """What several matchers alike make of a writer."""

    writer: str
    trust: Trust
    rows: Sequence[WriterRow]


def trust_of(recall: Rate) -> Trust | None:
    """What this recall says of its writer; None where it is not known."""
    if recall.rate is None or recall.low is None or recall.high is None:
        return None
    if recall.high < LOW_RECALL:
        return "low"
    if recall.low >= LOW_RECALL:
        return "enough"
    return "low_yet" if recall.rate < LOW_RECALL else "open"


def samples_needed(row: WriterRow) -> int | None:
    """About how many more samples would make the interval of a recall like this one leave 0.5 out, its width shrinking
    with the square root of their number, in tens; None where more than `MOST_MORE`. Of fewer than 20 samples, which
    tell little of that, how many there are to 20.
    """
    if row.samples < BASELINE:
        return BASELINE - row.samples
    recall = row.recall
    rate, low, high = recall.rate or 0.0, recall.low or 0.0, 1.0 if recall.high is None else recall.high
    apart, reach = abs(rate - LOW_RECALL), high - rate if rate < LOW_RECALL else rate - low
    if row.samples * reach**2 > (row.samples + MOST_MORE) * apart**2:
        return None
    return max(10, 10 * ceil((row.samples * (reach / apart) ** 2 - row.samples) / 10))


def trust_sentences(rows: Sequence[WriterRow], simulated: Collection[str]) -> Iterator[str]:
    """A sentence for each writer in the order of the rows; several matchers that lead to the same one are all named."""
    verdicts: dict[tuple[str, Trust], list[WriterRow]] = {}
    for row in rows:
        trust = trust_of(row.recall)
        if trust is not None:
            verdicts.setdefault((row.writer, trust), []).append(row)
    further: dict[Trust, list[str]] = {}
    told: dict[Trust, int] = {}
    for (writer, trust), mine in verdicts.items():
        told[trust] = told.get(trust, 0) + 1
        if told[trust] > MOST_WRITERS:
            further.setdefault(trust, []).append(named(writer, simulated))
        else:
            yield _sentence(_Verdict(writer, trust, mine), simulated)
    yield from (SAID_OF_MORE[trust].format(listed(names)) for trust, names in further.items())


def few_sentences(rows: Sequence[WriterRow], simulated: Collection[str]) -> Iterator[str]:
    """Of writers whose recall is clearly on one side of 0.5, and rests on few samples all the same."""
    few = {row.writer: row for row in reversed(rows) if row.samples < BASELINE}
    for row in reversed(few.values()):
        if trust_of(row.recall) in ("low", "enough"):
            yield (
                f"The recall of {named(row.writer, simulated)} rests on {counted(row.samples, 'sample')} (95 % "
                f"{interval(row.recall)}): a baseline of trust needs {BASELINE} (samples={BASELINE}, --samples "
                f"{BASELINE})."
            )


def difference_sentences(rows: Sequence[WriterDifference], simulated: Collection[str]) -> Iterator[str]:
    """Which writer hits more gold rules, a sentence for each matcher."""
    by_matcher: dict[str, list[WriterDifference]] = {}
    for row in rows:
        by_matcher.setdefault(row.matcher, []).append(row)
    for matcher, mine in by_matcher.items():
        by = f", as {named(matcher, simulated)} matches" if len(by_matcher) > 1 else ""
        yield _compared(mine, simulated, by)


def _sentence(one: _Verdict, simulated: Collection[str]) -> str:
    writer, numbers = named(one.writer, simulated), "; ".join(_numbers(row, simulated) for row in one.rows)
    if one.trust == "low":
        return (
            f"Do not trust rules that {writer} writes: recall {numbers}, is below 0.5. Judge with human rules or a "
            "rubric of the library instead, try another writer, and review the gold rules that nothing hits."
        )
    if one.trust == "low_yet":
        return (
            f"Do not trust rules that {writer} writes yet: recall {numbers}, is below 0.5, but its interval spans 0.5. "
            f"{_more(one.rows)}"
        )
    if one.trust == "open":
        return f"It cannot be told yet whether to trust rules that {writer} writes: recall {numbers}, spans 0.5. " + (
            _more(one.rows)
        )
    return f"The recall of {writer} is at or above 0.5: {numbers}."


def _numbers(row: WriterRow, simulated: Collection[str]) -> str:
    by = f", matched by {named(row.matcher, simulated)}" if row.matcher else ""
    return f"{share(row.recall)}, {counted(row.samples, 'sample')}{by}"


def _more(rows: Sequence[WriterRow]) -> str:
    needed = [samples_needed(row) for row in rows]
    if None in needed:
        return f"It is so near 0.5 that {MOST_MORE:,} more samples would hardly tell."
    more = max(number for number in needed if number is not None)
    total = more + max(row.drafts for row in rows)
    how = "At least" if any(row.samples < BASELINE for row in rows) else "About"
    return f"{how} {counted(more, 'more sample')} would be needed to tell (samples={total}, --samples {total})."


def _compared(rows: Sequence[WriterDifference], simulated: Collection[str], by: str) -> str:
    """The best of all tasks may be the worse one on those that it shares with another."""
    best = named(rows[0].best, simulated)
    behind = [row for row in rows if (row.recall_difference.high or 0) < 0]
    before = [row for row in rows if (row.recall_difference.low or 0) > 0]
    alike = [row for row in rows if row not in behind and row not in before]
    clauses = (
        ("hits more gold rules than ", behind),
        ("cannot be told apart from ", alike),
        ("hits fewer gold rules of their common tasks than ", before),
    )
    told = [f"{best} {what}{_beside(found, simulated, what.split()[-1])}" for what, found in clauses if found]
    return f"Of the writers{by}, {'. '.join(told)}."


def _beside(rows: Sequence[WriterDifference], simulated: Collection[str], word: str) -> str:
    shown = f"; {word} ".join(_numbers_beside(row, simulated) for row in rows[:MOST_WRITERS])
    more = len(rows) - MOST_WRITERS
    return f"{shown}; {word} {counted(more, 'more writer')}, see writer_differences" if more > 0 else shown


def _numbers_beside(row: WriterDifference, simulated: Collection[str]) -> str:
    """How much more the best one hits."""
    found = row.recall_difference
    more = 0.0 - (found.value or 0.0)
    low, high = (None, None) if found.low is None or found.high is None else (0.0 - found.high, 0.0 - found.low)
    return f"{named(row.writer, simulated)}: {points(more, low, high)}, {counted(row.tasks, 'task')}"

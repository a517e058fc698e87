"""What goes along with a judge's verdicts that is not success, and where it and the evidence disagree, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, estimate, p_value, points
from misjudge_tools.stats.rates import Rate
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.deciding.bias_values import (
    BiasSection,
    HeldFixed,
    LengthBias,
    LowerReward,
    PositionBias,
    SelfPreference,
    WordBias,
)
from misjudge_tools.summary.deciding.conflicts_values import ConflictRow, ConflictsSection, EpisodeConflicts


class Line(NamedTuple):
    """What is measured, its value, what a judge without bias would show, whether it stands out from that."""

    name: str
    value: str
    unbiased: str
    stands_out: bool = False


LENGTHS = {"output_tokens": "by output tokens", "transcript_characters": "by characters of the whole transcript"}
ENDS = {
    "strict": "picked the side that gold says is the worse one",
    "unsupported": "picked a side that failed, the other failed too or is not known",
    "missed": "named no side (tie or inconsistent) where gold does",
    "satisfied_failed": "failed episodes that satisfied the judge",
}
AMONG = {
    "strict": "picks on decidable pairs",
    "unsupported": "picks on other pairs",
    "missed": "scored decidable pairs",
    "satisfied_failed": "satisfying episodes",
}
FACTS = ("task", "A", "B", "judge, gold", "margin, gap")
"""What is said of a pair."""
WIDE = 100
"""Columns from which on each fact has one of its own."""
WORDS = (
    "said: replies whose reasons hold such a word, whichever side it is said of. more often wrong: calls with the word "
    "against those without. These are many intervals: without any bias, about one in twenty would leave 0."
)
LONGER_BETTER = (
    "Picks of the longer side prove nothing where longer episodes are better: the odds ratio holds gold fixed."
)


def bias_tables(found: BiasSection, judge: str) -> Iterator[RenderableType]:
    """The table of what was measured, that of the words, and what to know of both."""
    lines = list(_lines(found))
    if lines:
        yield _measures(f"What goes along with the verdicts of {judge}", lines)
    if found.length is not None:
        yield Text(LONGER_BETTER, style="dim")
    if found.words:
        yield _words(found.words)
        yield Text(WORDS, style="dim")
    if found.pairs < found.pairs_in_all:
        yield Text(
            f"All but position counted on {found.pairs} of {found.pairs_in_all} pairs (whole tasks, drawn by digest).",
            style="dim",
        )
    for name, reason in found.why.items():
        yield Text(f"bias.{name}: {reason}", style="dim")


def _measures(title: str, lines: Sequence[Line]) -> Table:
    table = Table(title=Text(title), title_justify="left")
    for heading in ("measure", "found", "without bias"):
        table.add_column(heading, overflow="fold")
    for line in lines:
        marked = f"{line.unbiased} !" if line.stands_out else line.unbiased
        table.add_row(*map(Text, (line.name, line.value, marked)), style="bold" if line.stands_out else None)
    return table


def _lines(found: BiasSection) -> Iterator[Line]:
    if found.position is not None:
        yield from _position(found.position)
    if found.length is not None:
        yield from _length(found.length)
    if found.self_contradiction is not None:
        yield Line("calls against the judge's own scores", estimate(found.self_contradiction), "0 %")
    if found.lower_reward_selected is not None:
        yield from _lower(found.lower_reward_selected)
    if found.self_preference is not None:
        yield from _own(found.self_preference)
    if found.stability is not None:
        yield Line("most common verdict when asked again, mean share", _mean(found.stability), "100 %")


def _position(found: PositionBias) -> Iterator[Line]:
    yield Line(
        "answers naming the side shown first",
        f"{estimate(found.first)}{_p(found.first.p)}",
        "50 %",
        found.first.stands_out,
    )
    flips, right = found.flip_rate, found.accuracy
    if flips.rate is not None:
        together = f"flip rate {flips.rate:.2f} ({flips.k} of {flips.n} pairs)"
        if right.rate is not None:
            together = f"accuracy {right.rate:.2f} ({right.k} of {right.n} calls), {together}"
        if found.constant:
            together += f": a constant answer, the side shown {found.constant}"
        yield Line("accuracy and flip rate together", together, ".50 with 1.00 is no skill", found.constant is not None)


def _length(found: LengthBias) -> Iterator[Line]:
    named = LENGTHS[found.length_by]
    left_out = f"; {found.equal} of equal length, {found.unknown} unknown"
    value = f"{estimate(found.longer)}{_p(found.longer.p)}{left_out}"
    yield Line(f"picks of the longer side, {named}", value, "50 %", found.longer.stands_out)
    if found.with_gold_fixed.value is not None:
        odds = found.with_gold_fixed
        yield Line("odds ratio of the longer side, gold held fixed", _odds(odds), "1", odds.stands_out)


def _odds(found: HeldFixed) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.2f} (of {found.n} picks, one task)"
    return f"{found.value:.2f} (95 % {found.low:.2f}–{found.high:.2f}, of {found.n} picks)"


def _lower(found: LowerReward) -> Iterator[Line]:
    equal = f"; {found.equal_rewards} of equal reward"
    yield Line("picks of the lower reward", f"{estimate(found.rate)}{equal}", "as low as can be")
    for name, rate in (("near", found.near), ("wide", found.wide)):
        if rate.n:
            yield Line(f"… on {name} pairs", estimate(rate), "")


def _own(found: SelfPreference) -> Iterator[Line]:
    yield Line(f"picks of its own family's side ({found.family})", estimate(found.own), "as the family deserves")
    if found.excess is not None:
        beside = f"… more often than {found.beside} on the same pairs"
        yield Line(beside, f"{points(found.excess)} of {found.excess.n} pairs", "0", found.stands_out)
    if found.by_gold is not None:
        name = "… more often wrong where its own side failed than where it did the job"
        stands_out = found.stands_out and found.excess is None
        yield Line(name, f"{points(found.by_gold)} of {found.by_gold.n} pairs", "0", stands_out)


def _words(words: Sequence[WordBias]) -> Table:
    table = Table(title="Words in the judge's reasons", title_justify="left")
    for heading in ("words of", "said", "more often wrong"):
        table.add_column(heading, overflow="fold")
    for word in words:
        table.add_row(
            Text(word.group),
            Text(estimate(word.said)),
            Text(_wrong(word)),
            style="bold" if word.stands_out else None,
        )
    return table


def _wrong(word: WordBias) -> str:
    if word.difference.value is None:
        return "–"
    counts = f"{_of(word.wrong_with)} against {_of(word.wrong_without)}"
    return f"{points(word.difference)}: {counts}{' !' if word.stands_out else ''}"


def _of(rate: Rate) -> str:
    return f"{rate.k} of {rate.n}"


def _mean(found: Estimate) -> str:
    if found.value is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{100 * found.value:.1f} % (of {found.n} questions, one task)"
    return f"{100 * found.value:.1f} % (of {found.n} questions, 95 % {100 * found.low:.1f}–{100 * found.high:.1f} %)"


def _p(p: float | None) -> str:
    return "" if p is None else f", p {p_value(p)}" if p < 0.0001 else f", p = {p_value(p)}"


def conflict_tables(found: ConflictsSection) -> Iterator[RenderableType]:
    """How many of each kind, the first pairs and episodes by their ids, and how to see more."""
    table = Table(title="Where the judge and the evidence disagree", title_justify="left", show_header=False)
    for name in ("kind", "number"):
        table.add_column(name, overflow="fold")
    for kind, words in ENDS.items():
        number = getattr(found, kind)
        if number is not None:
            table.add_row(Text(f"{kind}: {words}"), Text(f"{number.k} of {number.n} {AMONG[kind]}"))
    yield table
    for kind in ("strict", "unsupported", "missed"):
        pairs = getattr(found, kind)
        if pairs is not None and pairs.rows:
            yield _pairs(f"{kind}: the first {len(pairs.rows)} of {pairs.k}", pairs.rows)
    if found.satisfied_failed is not None and found.satisfied_failed.rows:
        yield _episodes(found.satisfied_failed)
    yield Text(f"One of them: misjudge read URI. All: {found.more}", style="dim")


def _pairs(title: str, rows: Sequence[ConflictRow]) -> Table:
    """A column for each fact where the terminal is wide, else the facts below the id."""
    wide = console.width >= WIDE
    table = Table(title=title, title_justify="left", show_lines=not wide)
    for heading in ("pair", *FACTS) if wide else ("pair", "what is known"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        said = f"{row.pref or row.status}, {row.gold or 'unknown'}{f' ({row.gold_source})' if row.gold_source else ''}"
        gaps = f"{_number(row.margin)}, {_number(row.gap)}{f' {row.ability_bucket}' if row.ability_bucket else ''}"
        facts = (row.task_id, row.agent_a, row.agent_b, said, gaps)
        if wide:
            table.add_row(*map(Text, (row.pair_id, *facts)))
        else:
            table.add_row(Text(row.pair_id), Text("\n".join(map(": ".join, zip(FACTS, facts, strict=True)))))
    return table


def _episodes(found: EpisodeConflicts) -> Table:
    table = Table(title=f"satisfied_failed: the first {len(found.rows)} of {found.k}", title_justify="left")
    for heading in ("episode", "task", "agent", "score"):
        table.add_column(heading, overflow="fold")
    for row in found.rows:
        table.add_row(*map(Text, (row.trajectory_id, row.task_id, row.agent, f"{row.score:g}")))
    return table


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"

"""What rubric work comes to, as text for people: who writes good rules, and what rules are worth to a judge."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, estimate, percent
from misjudge_server.rubric_judge_printing import INTERVALS, Cell, domain_table, judge_parts, parts_table, share
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.rubric_values import (
    DisputedSample,
    MatcherCheck,
    RubricsSection,
    WriterRow,
    WriterScores,
)

WRITER_HEADINGS = ("recall", "hallucinated", "structural F1")
MOST_SAMPLES = 3
MOST_RULES = 3
"""Disputed samples and rules of each that are printed; --json has more."""
COUNTS = {
    "unscored_drafts": "could not be read",
    "nothing_generated": "without any rule (recall 0)",
    "without_gold": "of tasks without gold rules",
}
"""What is told of a writer's rubrics, where there are any of the kind."""
RULE_COUNTS = {
    "unscored_rules": "without an answer",
    "duplicates": "said twice, removed",
    "compound": "perhaps several in one",
    "equal_matches": "matched by their wording alone",
}


def print_rubrics(found: RubricsSection) -> None:
    """Print the section: what follows from it first, then the tables that say so."""
    for sentence in found.advice:
        console.print(Text(sentence, style="bold"))
    checks = (line for check in found.checks for line in _check(check))
    for part in (*_writers(found), *judge_parts(found), *checks):
        console.print(part)
    for name in found.parts:
        if not getattr(found, name.partition(".")[0]):
            console.print(Text(f"{name}: none", style="dim"))


def _writers(found: RubricsSection) -> Iterator[Table | Text]:
    if found.writers:
        several = len({row.matcher for row in found.writers}) > 1
        names = [_name(row, found.simulated, several=several) for row in found.writers]
        cells = {name: _scores(row) for name, row in zip(names, found.writers, strict=True)}
        yield parts_table("Generated rules beside the gold ones", WRITER_HEADINGS, cells, first="writer")
        yield Text(f"{_matched_by(found, several=several)}{INTERVALS}", style="dim")
        for name, row in zip(names, found.writers, strict=True):
            yield from (Text(f"{name}: {line}") for line in _notes(row))
    yield from _domains(found)


def _name(row: WriterScores, simulated: Collection[str], *, several: bool) -> str:
    mark = " (SIMULATED)" if row.writer in simulated else ""
    return f"{row.writer}{mark}{f', by {row.matcher}' if several and row.matcher else ''}"


def _matched_by(found: RubricsSection, *, several: bool) -> str:
    matcher = found.writers[0].matcher
    if several:
        return "By whom they were matched stands behind the writer. "
    return "Nobody matched them. " if matcher is None else f"Matched by {matcher}. "


def _scores(row: WriterScores) -> Sequence[Cell]:
    return (
        share(row.recall, f"{row.recall.k} of {row.recall.n}"),
        share(row.hallucination_rate, f"{row.hallucination_rate.k} of {row.hallucination_rate.n}"),
        _estimate(row.structural_f1),
    )


def _estimate(found: Estimate) -> Cell:
    return share(found, "1 sample" if found.n == 1 else f"{found.n} samples")


def _notes(row: WriterRow) -> Iterator[str]:
    """The means over samples, and what was left out or changed."""
    if row.macro_recall.value is not None:
        means = {
            "recall": row.macro_recall,
            "hallucinated": row.macro_hallucination_rate,
            "F1": row.macro_structural_f1,
        }
        yield f"means over samples: {', '.join(f'{name} {_mean(one)}' for name, one in means.items())}"
    told = [f"{getattr(row, name)} {words}" for name, words in COUNTS.items() if getattr(row, name)]
    if row.incomplete:
        bounds = f"recall {percent(row.recall_at_least)} to {percent(row.recall_at_most)} with them"
        told.append(f"{row.incomplete} left out for a rule without an answer ({bounds})")
    if told:
        yield f"of {row.drafts} rubrics {', '.join(told)}"
    told = [f"{getattr(row, name)} {words}" for name, words in RULE_COUNTS.items() if getattr(row, name)]
    if told:
        yield f"of {row.total_generated} rules {', '.join(told)}"


def _mean(found: Estimate) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "–"
    return f"{percent(found.value)} [{100 * found.low:.0f}–{100 * found.high:.0f}] of {found.n}"


def _domains(found: RubricsSection) -> Iterator[Table | Text]:
    """Recall and hallucination by domain, a row for each writer."""
    if not found.writers_by_domain:
        return
    several = len({row.matcher for row in found.writers_by_domain}) > 1
    tables: Mapping[str, dict[str, dict[str, Cell]]] = {"Recall": {}, "Hallucinated rules": {}}
    for row in found.writers_by_domain:
        name, domain = _name(row, found.simulated, several=several), row.domain or ""
        tables["Recall"].setdefault(name, {})[domain] = share(row.recall, f"of {row.recall.n}")
        hallucinated = share(row.hallucination_rate, f"of {row.hallucination_rate.n}")
        tables["Hallucinated rules"].setdefault(name, {})[domain] = hallucinated
    for title, cells in tables.items():
        yield domain_table(f"{title} by domain", cells, first="writer")


def _check(check: MatcherCheck) -> Iterator[Text]:
    yield Text(
        f"Matchers {check.first} and {check.second} on rules by {check.writer}: same answer "
        f"{estimate(check.agreement)}; recall of the first less that of the second {_points(check.recall_difference)}, "
        f"{check.disputed} of {check.samples} samples differ by more than 0.20"
    )
    for sample in check.examples[:MOST_SAMPLES]:
        yield from map(Text, _disputed(check, sample))
    if check.disputed > MOST_SAMPLES:
        yield Text(f"  and {check.disputed - MOST_SAMPLES} more samples", style="dim")


def _points(effect: Effect) -> str:
    if effect.value is None:
        return "–"
    if effect.low is None or effect.high is None:
        return f"{100 * effect.value:+.1f} points of {effect.n} gold rules"
    interval = f"95 % {100 * effect.low:+.1f} to {100 * effect.high:+.1f}"
    return f"{100 * effect.value:+.1f} points ({interval}, {effect.n} gold rules)"


def _disputed(check: MatcherCheck, sample: DisputedSample) -> Iterator[str]:
    recalls = f"{check.first} {percent(sample.first_recall)}, {check.second} {percent(sample.second_recall)}"
    yield f"  task {sample.task}: recall by {recalls}"
    for one in sample.rules[:MOST_RULES]:
        yield f"    {one.rule}"
        for matcher, gold in ((check.first, one.first_gold), (check.second, one.second_gold)):
            yield f"      {matcher}: {'no gold rule' if gold is None else gold}"
    if more := sample.more_rules + max(0, len(sample.rules) - MOST_RULES):
        yield f"    and {more} more rules"

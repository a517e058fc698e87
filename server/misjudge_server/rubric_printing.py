"""What rubric work comes to, as text for people: who writes good rules, and what rules are worth to a judge."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Literal

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, estimate, percent
from misjudge_server.rubric_judge_printing import (
    INTERVALS,
    Cell,
    CellRow,
    DomainCell,
    domain_table,
    judge_parts,
    parts_table,
    share,
)
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.rubric_phrases import counted, named
from misjudge_tools.summary.rubric_values import (
    DisputedSample,
    MatcherCheck,
    RubricsSection,
    WriterDifference,
    WriterRow,
    WriterScores,
)

Domains = Literal["all", "large", "none"]
"""Which tables by domain are printed: all, only where no row of them is of few samples, or none."""
LEAST_SAMPLES = 5
"""Samples of a domain from which on its numbers are printed unasked."""
DIFFERENCE_HEADINGS = ("recall, in points", "only by it", "only by best")
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


def print_rubrics(found: RubricsSection, audit: str, domains: Domains = "all") -> None:
    """Print the section: what follows from it first, then the tables that say so."""
    for sentence in found.advice:
        console.print(Text(sentence, style="bold"))
    by_domain = bool(found.parts) or domains == "all" or (domains == "large" and _large(found))
    for part in (*_writers(found, domains=by_domain), *judge_parts(found, domains=by_domain), *_checks(found)):
        console.print(part)
    if not by_domain and (found.writers_by_domain or found.accuracy_by_domain or found.gaps_by_domain):
        console.print(Text(f"By domain: {section_command(audit)}", style="dim"), soft_wrap=True)
    for name in found.parts:
        if not getattr(found, name.partition(".")[0]):
            console.print(Text(f"{name}: none", style="dim"))


def section_command(audit: str) -> str:
    """The command that shows all of the section."""
    return f"misjudge summarize {shlex.quote(audit)} --section rubrics"


def _large(found: RubricsSection) -> bool:
    numbers = chain(
        (row.samples for row in found.writers_by_domain),
        (row.accuracy.n for row in found.accuracy_by_domain),
        (row.n for row in found.gaps_by_domain),
    )
    return min(numbers, default=0) >= LEAST_SAMPLES


def _writers(found: RubricsSection, *, domains: bool) -> Iterator[Table | Text]:
    if found.writers:
        several = len({row.matcher for row in found.writers}) > 1
        names = [_name(row, found.simulated, several=several) for row in found.writers]
        rows = [CellRow(name, _scores(row)) for name, row in zip(names, found.writers, strict=True)]
        yield parts_table("Generated rules beside the gold ones", WRITER_HEADINGS, rows, first="writer")
        yield Text(f"{_matched_by(found, several=several)}{INTERVALS}", style="dim")
        for name, row in zip(names, found.writers, strict=True):
            yield from (Text(f"{name}: {line}") for line in _notes(row))
    if found.writer_differences:
        yield _differences(found.writer_differences, found.simulated)
    if domains:
        yield from _domains(found)


def _name(row: WriterScores, simulated: Collection[str], *, several: bool) -> str:
    by = f", by {named(row.matcher, simulated)}" if several and row.matcher else ""
    return f"{named(row.writer, simulated)}{by}"


def _differences(found: Sequence[WriterDifference], simulated: Collection[str]) -> Table:
    several = len({row.matcher for row in found}) > 1
    rows = []
    for row in found:
        by = f", by {named(row.matcher, simulated)}" if several else ""
        label = f"{named(row.writer, simulated)} − {named(row.best, simulated)}{by}"
        rows.append(CellRow(label, (_in_points(row), Cell((str(row.only_writer),)), Cell((str(row.only_best),)))))
    return parts_table("Writer differences: each beside the best one", DIFFERENCE_HEADINGS, rows, first="writer − best")


def _in_points(row: WriterDifference) -> Cell:
    effect, tasks = row.recall_difference, f"of {counted(row.tasks, 'task')}"
    if effect.value is None:
        return Cell(("–",))
    value = f"{100 * effect.value:+.1f}"
    if effect.low is None or effect.high is None:
        return Cell((value, tasks))
    return Cell((value, f"[{100 * effect.low:+.0f}, {100 * effect.high:+.0f}]", tasks))


def _matched_by(found: RubricsSection, *, several: bool) -> str:
    matcher = found.writers[0].matcher
    if several:
        return "By whom they were matched stands behind the writer. "
    return "Nobody matched them. " if matcher is None else f"Matched by {named(matcher, found.simulated)}. "


def _scores(row: WriterScores) -> Sequence[Cell]:
    return (
        share(row.recall, f"{row.recall.k} of {row.recall.n}"),
        share(row.hallucination_rate, f"{row.hallucination_rate.k} of {row.hallucination_rate.n}"),
        _estimate(row.structural_f1),
    )


def _estimate(found: Estimate) -> Cell:
    return share(found, counted(found.n, "sample"))


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
    several = len({row.matcher for row in (*found.writers, *found.writers_by_domain)}) > 1
    order = [_name(row, found.simulated, several=several) for row in found.writers]
    recalls, hallucinated = [], []
    for row in found.writers_by_domain:
        name, domain = _name(row, found.simulated, several=several), row.domain or ""
        made_up = row.hallucination_rate
        recalls.append(DomainCell(name, domain, share(row.recall, f"{row.recall.k} of {row.recall.n}")))
        hallucinated.append(DomainCell(name, domain, share(made_up, f"{made_up.k} of {made_up.n}")))
    yield domain_table("Recall by domain", recalls, "writer", order)
    yield domain_table("Hallucinated rules by domain", hallucinated, "writer", order)


def _checks(found: RubricsSection) -> Iterator[Text]:
    if found.checks:
        yield Text("Checks: two matchers on the same rules", style="italic")
    for check in found.checks:
        yield from _check(check, found.simulated)


def _check(check: MatcherCheck, simulated: Collection[str]) -> Iterator[Text]:
    yield Text(
        f"Matchers {named(check.first, simulated)} and {named(check.second, simulated)} on rules by "
        f"{named(check.writer, simulated)}: same answer {estimate(check.agreement)}; recall of the first less that of "
        f"the second {_points(check.recall_difference)}, {check.disputed} of {counted(check.samples, 'sample')} "
        f"{'differs' if check.disputed == 1 else 'differ'} by more than 0.20"
    )
    shown = check.examples[:MOST_SAMPLES]
    for sample in shown:
        yield from map(Text, _disputed(check, sample, simulated))
    if (more := check.disputed - len(shown)) > 0:
        yield Text(f"  and {counted(more, 'more sample')}", style="dim")


def _points(effect: Effect) -> str:
    if effect.value is None:
        return "–"
    if effect.low is None or effect.high is None:
        return f"{100 * effect.value:+.1f} points of {counted(effect.n, 'gold rule')}"
    interval = f"95 % {100 * effect.low:+.1f} to {100 * effect.high:+.1f}"
    return f"{100 * effect.value:+.1f} points ({interval}, {counted(effect.n, 'gold rule')})"


def _disputed(check: MatcherCheck, sample: DisputedSample, simulated: Collection[str]) -> Iterator[str]:
    first, second = named(check.first, simulated), named(check.second, simulated)
    recalls = f"{first} {percent(sample.first_recall)}, {second} {percent(sample.second_recall)}"
    yield f"  task {sample.task}: recall by {recalls}"
    for one in sample.rules[:MOST_RULES]:
        yield f"    {one.rule}"
        for matcher, gold in ((check.first, one.first_gold), (check.second, one.second_gold)):
            yield f"      {matcher}: {'no gold rule' if gold is None else gold}"
    if more := sample.more_rules + max(0, len(sample.rules) - MOST_RULES):
        yield f"    and {counted(more, 'more rule')}"

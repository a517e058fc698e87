"""The library of rubrics as text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console
from misjudge_tools.rubrics.library_values import (
    ChangedRule,
    LibraryRule,
    NamedRubric,
    RubricDiff,
    RubricLibraryResult,
    RubricUsed,
    RubricVersion,
)

EMPTY = "The library is empty. Add rules with: misjudge rubrics library add NAME FILE"
WHOLE = ("rubric", "verdicts")
"""Columns that are not folded: an id is to be copied, and a mark to be read."""


def print_library(result: RubricLibraryResult) -> None:
    """Print what an action came to."""
    if result.marked:
        console.print(Text(result.marked, style="bold yellow"))
    _PRINTED[result.action](result)


def _print_names(result: RubricLibraryResult) -> None:
    if not result.rubrics:
        console.print(EMPTY)
        return
    table = _table(None, "name", "rubric", "rules", "high-level", "versions", "verdicts", "changed")
    for row in result.rubrics:
        table.add_row(*map(Text, _of_name(row)))
    console.print(table)


def _of_name(row: NamedRubric) -> tuple[str, ...]:
    numbers = map(str, (row.rules, row.high_level, row.versions))
    return (row.name, row.rubric_id, *numbers, _verdicts(row), row.changed_at[:10])


def _verdicts(row: NamedRubric | RubricVersion) -> str:
    if not row.simulated:
        return str(row.verdicts)
    return f"{row.verdicts} ({'' if row.simulated == row.verdicts else f'{row.simulated} '}SIMULATED)"


def _print_rubric(result: RubricLibraryResult) -> None:
    called = f"{result.name}, {result.rubric_id}" if result.name else result.rubric_id
    console.print(Text(f"{called}: {_counted(len(result.rules), 'rule')}"))
    _print_lines(_rule(rule) for rule in result.rules)
    if result.versions:
        console.print(_versions(result.versions))
    if result.uses:
        console.print(_uses(result.uses))
    else:
        console.print("No verdict applied it yet.")


def _versions(versions: Sequence[RubricVersion]) -> Table:
    table = _table("Versions", "version", "rubric", "rules", "added", "verdicts")
    for one in versions:
        table.add_row(str(one.version), one.rubric_id, str(one.rules), one.added_at, _verdicts(one))
    return table


def _uses(uses: Sequence[RubricUsed]) -> Table:
    table = _table("Applied by", "audit", "judge", "version", "verdicts")
    for use in uses:
        version = use.rubric_id if use.version is None else str(use.version)
        made = " (SIMULATED)" if use.simulated else ""
        table.add_row(Text(use.audit), Text(f"{use.judge}{made}"), version, str(use.verdicts))
    return table


def _print_added(result: RubricLibraryResult) -> None:
    (version,) = result.versions
    rules, high = _counted(version.rules, "rule"), sum(rule.high_level for rule in result.rules)
    told = f"version {version.version}, {result.rubric_id}: {rules}, {high} of them high-level"
    if result.added:
        console.print(Text(f"{result.name} is now {told}"))
    else:
        console.print(Text(f"{result.name} is already {told}; nothing was added"))
    if result.duplicates:
        console.print(f"{_counted(result.duplicates, 'rule')} left out: another one says the same")


def _print_diff(result: RubricLibraryResult) -> None:
    if result.diff is not None:
        console.print(Text(f"{result.diff.before} → {result.diff.after}"))
        _print_lines(_of_diff(result.diff))


def _of_diff(diff: RubricDiff) -> Iterator[str]:
    yield from (f"- {_rule(rule)}" for rule in diff.removed)
    yield from (f"+ {_rule(rule)}" for rule in diff.added)
    yield from (f"~ {_change(rule)}" for rule in diff.changed)
    order = ", in another order" if diff.reordered else ""
    yield (
        f"{len(diff.added)} added, {len(diff.removed)} removed, {len(diff.changed)} marked otherwise, "
        f"{diff.unchanged} unchanged{order}"
    )


def _change(rule: ChangedRule) -> str:
    now, was = _marks(rule.hard, rule.high_level), _marks(rule.was_hard, rule.was_high_level)
    return f"{rule.text} {was or '[soft]'} → {now or '[soft]'}"


def _print_exported(result: RubricLibraryResult) -> None:
    console.print(Text(f"{result.path}: {_counted(len(result.rules), 'rule')} of {result.rubric_id}"), soft_wrap=True)


def _rule(rule: LibraryRule) -> str:
    marks = _marks(rule.hard, rule.high_level)
    return f"{rule.rule}. {marks} {rule.text}" if marks else f"{rule.rule}. {rule.text}"


def _marks(hard: bool, high_level: bool) -> str:
    return " ".join(mark for mark, holds in (("[hard]", hard), ("[high]", high_level)) if holds)


def _print_lines(lines: Iterator[str]) -> None:
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _table(title: str | None, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in WHOLE)
    return table


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


_PRINTED: Mapping[str, Callable[[RubricLibraryResult], None]] = {
    "list": _print_names,
    "show": _print_rubric,
    "add": _print_added,
    "diff": _print_diff,
    "export": _print_exported,
}

"""Whether a rule of a task can ever be told: its patterns and bounds, the tools and tables that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from misjudge_tools.episodes.posting import host_allowed
from misjudge_tools.episodes.rules import (
    AskedFirstRule,
    Change,
    CommandRule,
    FileRule,
    HttpRule,
    JsonSchemaRule,
    LengthRule,
    NumberRule,
    Rule,
    SqlRule,
    ToolCalledRule,
    ToolNotCalledRule,
    ToolOrderRule,
    WorldRule,
)
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.judging.patterns import group_count
from misjudge_tools.suites.model import ToolSpec
from misjudge_tools.suites.schemas import problem_with_schema
from misjudge_tools.suites.sentences import nearest, shown
from misjudge_tools.suites.tool_checks import OTHER_CHECKS, WHERE_ALLOWED, problem_with_call
from misjudge_tools.suites.world_checks import WorldShape

_OUTSIDE: Final = re.compile(r"^[/~]|^[A-Za-z]:|[\\\0]")


class Surroundings(NamedTuple):
    """What rules may name. `world` None: the suite has none; `over_http`: its tools work on one of their own."""

    tools: Mapping[str, ToolSpec]
    world: WorldShape | None
    allowed: Allowed
    over_http: bool = False


def problems_of_rule(rule: Rule, around: Surroundings) -> Iterator[str]:
    """What is wrong with a rule, each to be read behind its place, as in "checks.2." and "value names a tool …"."""
    match rule:
        case SqlRule() | WorldRule():
            yield from _of_world(rule, around)
        case ToolCalledRule() | ToolNotCalledRule() | ToolOrderRule() | AskedFirstRule():
            yield from _of_tools(rule, around.tools)
        case HttpRule() if not host_allowed(rule.url, around.allowed.hosts):
            yield f"url names a host that may not be asked. If you trust it, name it in hosts in {WHERE_ALLOWED}"
        case CommandRule() if rule.value not in around.allowed.commands:
            yield f"value names no command that may be run. Name one in a table of commands in {WHERE_ALLOWED}"
        case FileRule():
            yield from _of_file(rule)
        case NumberRule() | JsonSchemaRule() | LengthRule():
            yield from _of_text(rule)


def _of_world(rule: SqlRule | WorldRule, around: Surroundings) -> Iterator[str]:
    world = around.world
    if around.over_http:
        yield f"kind asks the world of the suite, which tools over HTTP cannot change. Instead {OTHER_CHECKS}"
    elif world is None:
        yield "kind asks the world, and this suite has neither world.sql nor world.db"
    elif isinstance(rule, SqlRule):
        problem = world.problem_with_query(rule.query)
        if problem is not None:
            yield f"query cannot be used: {problem}"
    else:
        for number, change in enumerate(rule.changes):
            compared = change.table not in rule.ignore
            yield from (f"changes.{number}.{problem}" for problem in _of_change(change, world, compared))
        yield from (
            f"ignore.{number} is no table of the world.{nearest(table, world.tables)}"
            for number, table in enumerate(rule.ignore)
            if table not in world.tables
        )


def _of_change(change: Change, world: WorldShape, compared: bool) -> Iterator[str]:
    tables = world.tables
    if change.table not in tables:
        yield f"table is no table of the world.{nearest(change.table, tables)} Tables: {', '.join(map(shown, tables))}"
        return
    columns = tables[change.table]
    for name, row in (("key", change.key), ("set", change.set or {}), ("added", change.added or {})):
        for column in row:
            if column not in columns:
                known = ", ".join(map(shown, sorted(columns)))
                yield f"{name} names no column of its table.{nearest(column, columns)} Columns: {known}"
    if compared and change.key and columns.issuperset(change.key) and not world.has_row(change.table, change.key):
        yield "key finds no row of the world, so the rule can never hold"


def _of_tools(
    rule: ToolCalledRule | ToolNotCalledRule | ToolOrderRule | AskedFirstRule, tools: Mapping[str, ToolSpec]
) -> Iterator[str]:
    named: Iterable[tuple[str, str]] = (
        [(f"values.{number}", tool) for number, tool in enumerate(rule.values)]
        if isinstance(rule, ToolOrderRule)
        else [("value", rule.value)]
    )
    arguments: Mapping[str, Any] = rule.arguments if isinstance(rule, ToolCalledRule | ToolNotCalledRule) else {}
    for place, tool in named:
        problem = problem_with_call(tool, arguments, tools)
        if problem is not None:
            yield f"{place} {problem}"
    if isinstance(rule, ToolCalledRule):
        yield from _of_bounds("at_least", rule.at_least, "at_most", rule.at_most)


def _of_file(rule: FileRule) -> Iterator[str]:
    if _OUTSIDE.search(rule.path) or ".." in PurePosixPath(rule.path).parts:
        yield "path leads out of the folder of a rollout. Write it relative to it, with / between folders"
    if not rule.exists and (rule.contains is not None or rule.equals is not None):
        yield "exists is false, and a file that is not there has no text. Leave out contains and equals"


def _of_text(rule: NumberRule | JsonSchemaRule | LengthRule) -> Iterator[str]:
    match rule:
        case NumberRule():
            if group_count(rule.value) == 0:
                yield "value captures nothing. Put the number in parentheses, as in total: ([0-9.]+)"
            yield from _of_bounds("low", rule.low, "high", rule.high)
        case LengthRule():
            yield from _of_bounds("at_least", rule.at_least, "at_most", rule.at_most)
        case JsonSchemaRule():
            problem = problem_with_schema(rule.value)
            if problem is not None:
                yield f"value {problem}"


def _of_bounds(low: str, least: float | None, high: str, most: float | None) -> Iterator[str]:
    if least is None and most is None:
        yield f"{low} is missing, and so is {high}. Give one of them, or both"
    elif least is not None and most is not None and least > most:
        yield f"{low} is more than {high}, so nothing can be between them"

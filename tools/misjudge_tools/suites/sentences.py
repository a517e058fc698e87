"""What is wrong with a record of a suite, as sentences: the place and what may stand there, never what does."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from misjudge_tools.episodes.rules import Change, Rule
from misjudge_tools.suites.model import Broken, Fact, Rubric, Step, ToolFault, ToolSpec

RULES: Final[Mapping[str, type[BaseModel]]] = {
    get_args(rule.model_fields["kind"].annotation)[0]: rule for rule in get_args(get_args(Rule)[0])
}
"""The rules by their kind."""
_PARTS: Final[Mapping[str, type[BaseModel]]] = {
    "facts": Fact,
    "rubrics": Rubric,
    "tool_faults": ToolFault,
    "changes": Change,
    "steps": Step,
    "hasty": Step,
    "broken": Broken,
    "tools": ToolSpec,
}
"""What the lists of a record hold, by name."""

Place = tuple[str | int, ...]


class _Problem(NamedTuple):
    place: Place
    type: str
    message: str


def sentences(error: ValidationError, given: Mapping[str, Any], model: type[BaseModel]) -> list[str]:
    """One sentence for each place that cannot be used, as "checks.2.query is missing"."""
    problems = [
        _Problem(_place(problem["loc"], problem["type"], given), problem["type"], problem["msg"])
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    by_place: dict[Place, list[_Problem]] = {}
    for problem in problems:
        by_place.setdefault(problem.place, []).append(problem)
    # Of a value that may have several forms, the innermost complaint says most.
    inner = [place for place in by_place if not any(_begins(other, place) for other in by_place)]
    return [_sentence(by_place[place], given, model) for place in inner]


def nearest(name: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing."""
    near = difflib.get_close_matches(name[:100], list(allowed), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def shown(name: str) -> str:
    """A name as a message shows it: short, and without control characters."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else repr(name[:60])


def _place(loc: tuple[str | int, ...], kind: str, given: Any) -> Place:
    """The parts of `loc` that lead into what was given: pydantic also names the member of a union that it tried."""
    return tuple(_steps(loc, kind, given))


def _steps(loc: tuple[str | int, ...], kind: str, at: Any) -> Iterator[str | int]:
    for number, part in enumerate(loc, start=1):
        if isinstance(at, dict) and part in at:
            at = at[part]
            yield part
        elif isinstance(at, list) and isinstance(part, int) and part < len(at):
            at = at[part]
            yield part
        elif kind == "missing" and number == len(loc):
            yield part


def _begins(other: Place, place: Place) -> bool:
    return len(other) > len(place) and other[: len(place)] == place


def _sentence(problems: list[_Problem], given: Mapping[str, Any], model: type[BaseModel]) -> str:
    first = problems[0]
    name = ".".join(shown(part) if isinstance(part, str) else str(part) for part in first.place)
    match first.type:
        case "missing":
            return f"{name} is missing"
        case "union_tag_not_found":
            return f"{name}.kind is missing. Allowed: {', '.join(RULES)}" if name else "kind is missing"
        case "union_tag_invalid":
            return f"{name}.kind is none that is known.{_near_kind(first.place, given)} Allowed: {', '.join(RULES)}"
        case "extra_forbidden":
            return _unknown(first.place, name, given, model)
    if len(problems) > 1:
        return f"{name} cannot be used: it has none of the forms that are allowed there"
    said = first.message.removeprefix("Value error, ").rstrip(".")
    return f"{name} cannot be used: {said}" if name else f"it cannot be used: {said}"


def _near_kind(place: Place, given: Any) -> str:
    for part in place:
        given = given[part]
    return nearest(str(given["kind"]), RULES)


def _unknown(place: Place, name: str, given: Mapping[str, Any], model: type[BaseModel]) -> str:
    allowed = _fields_at(place[:-1], given, model)
    known = f"{nearest(str(place[-1]), allowed)} Allowed: {', '.join(allowed)}" if allowed else ""
    return f"{name} is no known name.{known}"


def _fields_at(place: Place, given: Mapping[str, Any], model: type[BaseModel]) -> Iterable[str]:
    names = [part for part in place if isinstance(part, str)]
    if not names:
        return model.model_fields
    if names[-1] == "checks":
        return RULES[given["checks"][place[1]]["kind"]].model_fields
    return _PARTS[names[-1]].model_fields if names[-1] in _PARTS else ()

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
_WANTED: Final[Mapping[str, str]] = {
    "string_type": "text",
    "string_too_short": "text of {min_length} or more characters",
    "string_too_long": "text of at most {max_length} characters",
    "string_pattern_mismatch": "1 to 64 letters, digits, _ and -",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "none_required": "null",
    "literal_error": "{expected}",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than_equal": "at most {le:g}",
    "tuple_type": "a list",
    "list_type": "a list",
    "too_short": "a list of {min_length} or more",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
"""What may stand at a place, by the kind of pydantic's complaint, whose own words are of Python."""
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
    """`said` is the sentence of a validator of ours, else empty; `wanted` what may stand there, where that is known."""

    place: Place
    type: str
    said: str
    wanted: str


def sentences(error: ValidationError, given: Mapping[str, Any], model: type[BaseModel]) -> list[str]:
    """One sentence for each place that cannot be used, as "checks.2.query is missing"."""
    problems = [_problem(found, given) for found in error.errors(include_url=False, include_input=False)]
    by_place: dict[Place, list[_Problem]] = {}
    for problem in problems:
        by_place.setdefault(problem.place, []).append(problem)
    # Of a value that may have several forms, the innermost complaint says most.
    inner = [place for place in by_place if not any(_begins(other, place) for other in by_place)]
    return [_sentence(by_place[place], given, model) for place in inner]


def _problem(found: Any, given: Mapping[str, Any]) -> _Problem:
    context, kind = found.get("ctx", {}), found["type"]
    said = str(context["error"]).rstrip(".") if kind == "value_error" else ""
    return _Problem(_place(found["loc"], kind, given), kind, said, _WANTED.get(kind, "").format_map(context))


def nearest(name: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing."""
    near = difflib.get_close_matches(name[:100], list(allowed), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def ended(sentence: str) -> str:
    """The sentence with its full stop, where it has no end yet."""
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


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
    said = next((problem.said for problem in problems if problem.said), None)
    wanted = list(dict.fromkeys(problem.wanted for problem in problems))
    if said is None and all(wanted):
        return f"{name or 'it'} must be {' or '.join(wanted)}"
    return f"{name or 'it'} cannot be used: {said or 'it has none of the forms that are allowed there'}"


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

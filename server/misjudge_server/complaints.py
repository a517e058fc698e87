"""Validation errors as sentences for people: what was wrong, what is allowed. Never the value that was given."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

MOST = 5
FIRST = {"extra_forbidden": 0, "missing": 2}
"""A misspelt name comes before the argument that is missing for it."""
REWORDED = {"string_pattern_mismatch": "it holds a character that is not allowed, or begins or ends with one"}


def complaint(error: ValidationError, request: type[BaseModel], spelt: Mapping[str, str] = MappingProxyType({})) -> str:
    """One sentence for each of the first problems. `spelt`: how arguments are called where they were given."""
    problems = error.errors(include_url=False, include_context=True)
    seen: dict[str, None] = {}
    for problem in sorted(problems, key=_rank):
        seen.setdefault(_sentence(problem, request, spelt))
    more = f" And {len(seen) - MOST} more." if len(seen) > MOST else ""
    return " ".join(list(seen)[:MOST]) + more


def _rank(problem: Any) -> int:
    return FIRST.get(problem["type"], 1) if len(problem["loc"]) == 1 else 1


def _sentence(problem: Any, request: type[BaseModel], spelt: Mapping[str, str], within: str = "") -> str:
    """What is wrong with an argument, or with a member of the one named `within`, as `stop.`."""
    names = [str(part) for part in problem["loc"]]
    said = REWORDED.get(problem["type"]) or problem["msg"].removeprefix("Value error, ").rstrip(".")
    if not names:
        return f"The arguments cannot be used: {said}."
    first, *others = names
    inner = _members(request, first)
    if inner is not None and others:
        return _sentence({**problem, "loc": others}, inner, {}, f"{first}.")
    name = spelt.get(first, f"{within}{first}")
    if problem["type"] == "extra_forbidden" and not others:
        near = difflib.get_close_matches(first, request.model_fields, n=1)
        hint = f" Did you mean {within + near[0]!r}?" if near else ""
        # A member is part of the value that was given, and that is not repeated.
        unknown = f"Argument {within[:-1]!r} has an unknown member." if within else f"Unknown argument {name[:60]!r}."
        return f"{unknown}{hint} Allowed: {', '.join(request.model_fields)}."
    meaning = _meaning(first, request)
    if problem["type"] == "missing" and not others:
        return f"Argument {name!r} is missing.{meaning}"
    return f"Argument {name!r} cannot be used: {said}.{_nearest(problem)}{meaning}"


def _nearest(problem: Any) -> str:
    """Of the values that are allowed the one that the given one is probably meant to be."""
    given = problem["input"]
    if problem["type"] != "literal_error" or not isinstance(given, str):
        return ""
    near = difflib.get_close_matches(given.casefold(), re.findall("'([^']+)'", problem["ctx"]["expected"]), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _members(request: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The model of an argument that has members of its own, None of one that has none."""
    field = request.model_fields.get(name)
    kinds = (field.annotation, *get_args(field.annotation)) if field is not None else ()
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _meaning(name: str, request: type[BaseModel]) -> str:
    field = request.model_fields.get(name)
    return f" {field.description}" if field is not None and field.description else ""

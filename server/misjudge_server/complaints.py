"""Validation errors as sentences for people: what was wrong, what is allowed. Never the value that was given."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import BaseModel, ValidationError

MOST = 5
FIRST = {"extra_forbidden": 0, "missing": 2}
"""A misspelt name comes before the argument that is missing for it."""
REWORDED = {"string_pattern_mismatch": "it holds a character that is not allowed, or begins or ends with one"}


def complaint(error: ValidationError, request: type[BaseModel]) -> str:
    """One sentence for each of the first problems."""
    problems = error.errors(include_url=False, include_context=True, include_input=False)
    seen: dict[str, None] = {}
    for problem in sorted(problems, key=_rank):
        seen.setdefault(_sentence(problem, request))
    more = f" And {len(seen) - MOST} more." if len(seen) > MOST else ""
    return " ".join(list(seen)[:MOST]) + more


def _rank(problem: Any) -> int:
    return FIRST.get(problem["type"], 1) if len(problem["loc"]) == 1 else 1


def _sentence(problem: Any, request: type[BaseModel]) -> str:
    names = [str(part) for part in problem["loc"]]
    said = REWORDED.get(problem["type"]) or problem["msg"].removeprefix("Value error, ").rstrip(".")
    if not names:
        return f"The arguments cannot be used: {said}."
    name = names[0]
    if problem["type"] == "extra_forbidden" and len(names) == 1:
        near = difflib.get_close_matches(name, request.model_fields, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"Unknown argument {name[:60]!r}.{hint} Allowed: {', '.join(request.model_fields)}."
    meaning = _meaning(name, request)
    if problem["type"] == "missing" and len(names) == 1:
        return f"Argument {name!r} is missing.{meaning}"
    return f"Argument {name!r} cannot be used: {said}.{meaning}"


def _meaning(name: str, request: type[BaseModel]) -> str:
    field = request.model_fields.get(name)
    return f" {field.description}" if field is not None and field.description else ""

"""Validation errors as sentences for people: what was wrong, what is allowed. Never the value that was given."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import BaseModel, ValidationError

MOST = 5


def complaint(error: ValidationError, request: type[BaseModel]) -> str:
    """One sentence for each of the first problems."""
    problems = error.errors(include_url=False, include_context=True, include_input=False)
    seen: dict[str, None] = {}
    for problem in problems:
        seen.setdefault(_sentence(problem, request))
    more = f" And {len(seen) - MOST} more." if len(seen) > MOST else ""
    return " ".join(list(seen)[:MOST]) + more


def _sentence(problem: Any, request: type[BaseModel]) -> str:
    names = [str(part) for part in problem["loc"]]
    name = names[0] if names else "arguments"
    if problem["type"] == "extra_forbidden" and len(names) == 1:
        near = difflib.get_close_matches(name, request.model_fields, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"Unknown argument {name[:60]!r}.{hint} Allowed: {', '.join(request.model_fields)}."
    if problem["type"] == "missing":
        return f"Argument {name!r} is missing: {_meaning(name, request)}"
    return (
        f"Argument {name!r} cannot be used: {problem['msg'].removeprefix('Value error, ')}. {_meaning(name, request)}"
    )


def _meaning(name: str, request: type[BaseModel]) -> str:
    field = request.model_fields.get(name)
    return field.description if field is not None and field.description else "See the tool's schema."

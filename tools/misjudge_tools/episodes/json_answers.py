"""Answers that are JSON, and the schemas they are to fit. Neither can hold the check up or make it fetch anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from misjudge_tools.judging.patterns import first_match, group_count

MOST_CHARACTERS: Final = 1_000_000


class NoJson(ValueError):
    """The text is no JSON."""


def json_of(answer: str) -> Any:
    """The JSON that an answer is, also in one code fence. Raises NoJson."""
    lines = answer.strip().split("\n")
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    text = "\n".join(lines[1:-1] if fenced else lines)
    if len(text) > MOST_CHARACTERS:
        raise NoJson
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise NoJson from None


def _no_number(_constant: str) -> NoReturn:
    raise NoJson


def check_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Raises ValueError for what is no JSON Schema, or has patterns that cannot be matched in bounded time."""
    from jsonschema.exceptions import SchemaError

    try:
        _validator_class(schema).check_schema(schema)
        for pattern in _patterns(schema):
            group_count(pattern)
    except SchemaError as error:
        place = ".".join(str(part)[:60] for part in error.absolute_path)
        raise ValueError(f"it is no valid JSON Schema{f', see {place!r} in it' if place else ''}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return schema


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Raises TimeoutError where a pattern takes too long, and the errors of jsonschema for a `$ref` to elsewhere."""
    from jsonschema import validators
    from referencing.jsonschema import EMPTY_REGISTRY

    extend: Any = validators.extend
    bounded = extend(_validator_class(schema), {"pattern": _pattern})
    return bool(bounded(schema, registry=EMPTY_REGISTRY).is_valid(value))


def _validator_class(schema: Mapping[str, Any]) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    return validator_for(schema, default=Draft202012Validator)


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    # The one of jsonschema has no time limit.
    if isinstance(instance, str) and first_match(pattern, instance) is None:
        yield ValidationError("it does not match the pattern")


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("patternProperties"), dict):
            raise ValueError("the schema of an answer cannot have patternProperties; name the properties")
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _patterns(part)

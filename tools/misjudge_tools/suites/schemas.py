"""JSON Schemas that a suite brings along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator, SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable


def problem_with_schema(schema: Mapping[str, Any]) -> str | None:
    """Why this is no JSON Schema (2020-12) that can be used, without quoting it. None where it is one."""
    try:
        Draft202012Validator.check_schema(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        # An empty registry: nothing is fetched. One value tries the references that every value meets.
        Draft202012Validator(schema, registry=Registry()).is_valid({})
    except SchemaError as error:
        place = ".".join(str(part)[:60] for part in error.absolute_path)
        return f"is no valid JSON Schema (draft 2020-12){f', see {place!r} in it' if place else ''}"
    except Unresolvable:
        return "has a $ref that leads nowhere in it; nothing is fetched from elsewhere"
    except RecursionError:
        return "refers to itself without end"
    return None


def problem_with_parameters(schema: Mapping[str, Any]) -> str | None:
    """As `problem_with_schema`, for the arguments of a tool, which are an object."""
    if schema.get("type") != "object":
        return 'must be a JSON Schema with "type": "object"'
    return problem_with_schema(schema)


def unknown_names(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """The arguments that a schema of parameters neither names nor leaves open."""
    named = schema.get("properties", {})
    open_to_more = any(
        schema.get(name) for name in ("additionalProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf")
    )
    if open_to_more or (not named and schema.get("additionalProperties") is not False):
        return []
    return [name for name in arguments if name not in named]

"""What the clients' files hold, read strictly. Pure; no error shows a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from misjudge_storage.errors import InvalidInput


def parse_json(text: str, name: str, then: str = "Correct it there.") -> dict[str, Any]:
    """The object that a file's text is; an empty file is an empty object.

    Raises InvalidInput, which calls the file `name` and ends in `then`, what to do.
    """
    if not text.strip(" \t\r\n"):
        return {}
    try:
        found = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name} is not valid JSON at line {error.lineno}. {then}") from None
    except (ValueError, RecursionError):
        said = "holds NaN or a number that is too long, or is nested too deeply"
        raise InvalidInput(f"{name} {said}. {then}") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{name} holds no JSON object. {then}")
    return found


def value_at(document: Any, *path: str) -> Any:
    """What stands at a path of names, None where nothing does."""
    for name in path:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _refuse(_: str) -> NoReturn:
    raise ValueError

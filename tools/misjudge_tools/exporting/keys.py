"""Keys of this configuration, taken out of what is written: an agent or a gateway may have said one."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

from pydantic import BaseModel

from misjudge_tools.profiles import ModelSettings

Hide = Callable[[str], str]
"""Takes keys out of a text; out of anything else, `without_keys` does."""
T = TypeVar("T")

HIDDEN: Final = "⟦key⟧"
"""Stands where a record holds a key."""
SHORTEST_KEY: Final = 8
"""Characters from which on a key is told from a word."""


def key_hider(models: ModelSettings) -> Hide:
    """What hides the keys of all models, also where they stand as JSON, HTML or an address writes them."""
    endpoints = [profile.endpoint for profile in (*models.roles.values(), *models.profiles.values())]
    known = {one.key.get_secret_value().strip() for one in endpoints if one.key is not None and not one.simulated}
    keys = {form for key in known if len(key) >= SHORTEST_KEY for form in _forms(key)}
    longest_first = sorted(keys, key=lambda key: (-len(key), key))

    def hide(text: str) -> str:
        for key in longest_first:
            text = text.replace(key, HIDDEN)
        return text

    return hide


def without_keys(value: T, hide: Hide) -> T:
    """The same value with keys hidden in every text in it: in models, named tuples, mappings, sets and lists."""
    return cast(T, _without(value, hide))


def _without(value: Any, hide: Hide) -> Any:
    match value:
        case str():
            return hide(value)
        case BaseModel():
            fields = type(value).model_fields
            return value.model_copy(update={name: _without(getattr(value, name), hide) for name in fields})
        case Mapping():
            return {_without(name, hide): _without(one, hide) for name, one in value.items()}
        case frozenset():
            return frozenset(_without(one, hide) for one in value)
        case list() | tuple():
            made = [_without(one, hide) for one in value]
            return made if isinstance(value, list) else _tuple(value, made)
    return value


def _tuple(value: tuple[Any, ...], made: list[Any]) -> tuple[Any, ...]:
    named = getattr(value, "_make", None)
    return tuple(made) if named is None else named(made)


def hidden(rows: Generator[Mapping[str, Any], None, None], hide: Hide) -> Generator[Mapping[str, Any], None, None]:
    """The rows without keys."""
    with closing(rows):
        for row in rows:
            yield without_keys(row, hide)


def _forms(key: str) -> tuple[str, ...]:
    as_json = (json.dumps(key, ensure_ascii=plain)[1:-1] for plain in (True, False))
    return key, *as_json, html.escape(key), quote(key, safe="")

"""Keys of this configuration, taken out of what is written: an agent or a gateway may have said one."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import Any, Final
from urllib.parse import quote

from misjudge_tools.profiles import ModelSettings

Hide = Callable[[Any], Any]
"""Takes keys out of a text, or of every text in a mapping or list; anything else is given back as it is."""

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

    def hide(value: Any) -> Any:
        if isinstance(value, str):
            for key in longest_first:
                value = value.replace(key, HIDDEN)
            return value
        if isinstance(value, Mapping):
            return {hide(name): hide(one) for name, one in value.items()}
        return [hide(one) for one in value] if isinstance(value, list | tuple) else value

    return hide if keys else _as_it_is


def hidden(rows: Generator[Mapping[str, Any], None, None], hide: Hide) -> Generator[Mapping[str, Any], None, None]:
    """The rows without keys."""
    with closing(rows):
        for row in rows:
            yield hide(row)


def _forms(key: str) -> tuple[str, ...]:
    as_json = (json.dumps(key, ensure_ascii=plain)[1:-1] for plain in (True, False))
    return key, *as_json, html.escape(key), quote(key, safe="")


def _as_it_is(value: Any) -> Any:
    return value

"""Keys of the configuration, taken out of everything that a report is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from misjudge_tools.exporting.keys import Hide

T = TypeVar("T")


def without_keys(value: T, hide: Hide) -> T:
    """The same value, with keys hidden in every text in it: in models, named tuples, mappings and lists."""
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
        case list() | tuple():
            made = [_without(one, hide) for one in value]
            return made if isinstance(value, list) else _tuple(value, made)
    return value


def _tuple(value: tuple[Any, ...], made: list[Any]) -> tuple[Any, ...]:
    named = getattr(value, "_make", None)
    return tuple(made) if named is None else named(made)

"""What set-up changes in a client's file: values at paths, in TOML or JSON, and what stood there before. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from misjudge_server.clients.documents import value_at
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Value

FileFormat = Literal["json", "toml"]
KeyPath = tuple[str, ...]


class Setting(NamedTuple):
    """A value that a file shall hold at a path of keys."""

    path: KeyPath
    value: JsonValue


class Wish(NamedTuple):
    """What a file shall hold, worked out from what it holds, and what to tell about it."""

    settings: tuple[Setting, ...]
    notes: tuple[str, ...] = ()


class FilePlan(NamedTuple):
    """What to do with one file; `mode` is that of a new one."""

    file: Path
    format: FileFormat
    wish: Callable[[Mapping[str, Any]], Wish]
    mode: int


class Was(Value):
    """One change that was made: the value that was written, and the source text that stood there; None for nothing."""

    path: KeyPath
    now: JsonValue
    was: str | None


def wanted(current: Mapping[str, Any], settings: Iterable[Setting], label: str) -> tuple[Setting, ...]:
    """The settings that the file does not hold yet. Raises InvalidInput where something else is in their way."""
    found = []
    for setting in settings:
        _refuse_what_is_no_table(current, setting.path, label)
        if value_at(current, *setting.path) != setting.value:
            found.append(setting)
    return tuple(found)


def merged(table: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """The table with another value at the path; tables that are missing on the way are made."""
    key, *rest = path
    return {**table, key: merged(table.get(key) or {}, rest, value) if rest else value}


def without(table: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The table without the value at the path, which it holds."""
    key, *rest = path
    if rest:
        return {**table, key: without(table[key], rest)}
    return {name: value for name, value in table.items() if name != key}


def prunings(table: Mapping[str, Any], path: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The table, then without the tables on the way to the path that are empty, the inner ones first."""
    yield table
    for depth in range(len(path) - 1, 0, -1):
        if value_at(table, *path[:depth]) == {}:
            table = without(table, path[:depth])
            yield table


def missing_tables(table: Mapping[str, Any], settings: Iterable[Setting]) -> tuple[KeyPath, ...]:
    """The paths of the tables that have to be made for these settings, outer ones first."""
    paths = [setting.path[:depth] for setting in settings for depth in range(1, len(setting.path))]
    return tuple(dict.fromkeys(path for path in paths if value_at(table, *path) is None))


def _refuse_what_is_no_table(table: Mapping[str, Any], path: KeyPath, label: str) -> None:
    for depth in range(1, len(path)):
        found = value_at(table, *path[:depth])
        if found is not None and not isinstance(found, Mapping):
            raise InvalidInput(
                f"{'.'.join(path[:depth])} in {label} is no table, so nothing can be added to it. Correct it there."
            )

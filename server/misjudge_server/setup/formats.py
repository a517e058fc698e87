"""The two formats of the clients' files behind one set of functions. A byte order mark stays where it is. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from misjudge_server.clients.documents import parse_json
from misjudge_server.config_file import parse_toml
from misjudge_server.setup import json_text, toml_text
from misjudge_server.setup.changes import FileFormat, KeyPath, Setting, merged
from misjudge_storage.errors import InvalidInput

_MARK: Final = "\ufeff"
_CORRECT: Final = "Nothing was changed; correct it there first."


def parse(text: str, kind: FileFormat, label: str) -> dict[str, Any]:
    """What the file holds. Raises InvalidInput, without values."""
    body = text.removeprefix(_MARK)
    return (parse_json if kind == "json" else parse_toml)(body, label, _CORRECT)


def is_empty(text: str, kind: FileFormat, label: str) -> bool:
    """Whether there is nothing in the file that a person could miss: no member, and in TOML no comment."""
    return not text.removeprefix(_MARK).strip() if kind == "toml" else not parse(text, kind, label)


def with_settings(text: str, settings: Sequence[Setting], kind: FileFormat, label: str) -> str:
    """The text with these values; nothing else of it is another. Raises InvalidInput."""
    mark, body = _parts(text)
    if not settings:
        return text
    if kind == "toml":
        return mark + toml_text.with_settings(body, settings, label)
    meant = parse_json(body, label, _CORRECT)
    for setting in settings:
        body = json_text.with_value(body, setting.path, setting.value)
        meant = merged(meant, setting.path, setting.value)
    if parse_json(body, label, _CORRECT) != meant:
        raise InvalidInput(
            f"{label} is written in a way that cannot be changed safely; nothing was. Change it by hand."
        )
    return mark + body


def source_at(text: str, path: KeyPath, kind: FileFormat) -> str | None:
    """The value at a path as it is written, None where there is none."""
    body = text.removeprefix(_MARK)
    return json_text.source_at(body, path) if kind == "json" else toml_text.source_at(body, path)


def with_source(text: str, path: KeyPath, source: str, kind: FileFormat, label: str) -> str:
    """The text with the value at the path, which is there, written as `source`."""
    mark, body = _parts(text)
    if kind == "json":
        return mark + json_text.with_source(body, path, source)
    return mark + toml_text.with_source(body, path, source, label)


def without_value(text: str, path: KeyPath, kind: FileFormat, label: str) -> str:
    """The text without the value at the path, which is there."""
    mark, body = _parts(text)
    if kind == "json":
        return mark + json_text.without_value(body, path)
    return mark + toml_text.without_value(body, path, label)


def _parts(text: str) -> tuple[str, str]:
    body = text.removeprefix(_MARK)
    return text[: len(text) - len(body)], body

"""Documents of clients whose texts are sealed: each may be a key, and none shows in a `repr`, log or error. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import SecretStr

from misjudge_server.clients.documents import value_at

Document = Mapping[str, Any]
"""A JSON or TOML table: names are plain, every text in it is a SecretStr, lists are tuples."""


def sealed(value: Any) -> Any:
    """The value with every text in it sealed."""
    if isinstance(value, str):
        return SecretStr(value)
    if isinstance(value, Mapping):
        return {str(name): sealed(member) for name, member in value.items()}
    return tuple(sealed(member) for member in value) if isinstance(value, list | tuple) else value


def table_at(document: Any, *path: str) -> Document:
    """The table at a path, empty where there is none."""
    found = value_at(document, *path)
    return found if isinstance(found, Mapping) else {}


def text_at(document: Any, *path: str) -> str | None:
    """The text at a path, opened; None where there is none or an empty one."""
    return opened(value_at(document, *path))


def opened(value: Any) -> str | None:
    """A sealed text, opened; None for anything else and for an empty one."""
    return (value.get_secret_value() or None) if isinstance(value, SecretStr) else None


def texts_at(document: Any, *path: str) -> tuple[str, ...]:
    """The texts of the list at a path, opened."""
    found = value_at(document, *path)
    texts = (opened(member) for member in found) if isinstance(found, tuple) else ()
    return tuple(text for text in texts if text)


def tables_in(document: Any, *path: str) -> Iterator[tuple[str, Document]]:
    """The tables that the table at a path holds, by name."""
    for name, member in table_at(document, *path).items():
        if isinstance(member, Mapping):
            yield name, member

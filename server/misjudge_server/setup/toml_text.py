"""TOML files changed value by value; comments, order and layout of the rest stay. Import late: tomlkit is slow.

What comes out is read again and compared with what was meant, so that no file is broken by a rare way to write one.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable, Item

from misjudge_server.clients.documents import value_at
from misjudge_server.setup.changes import Setting, merged, prunings, without
from misjudge_storage.errors import InvalidInput

_LONE_NEWLINE: Final = re.compile(r"(?<!\r)\n")
_IN_ONE_LINE: Final = 5
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_FAILURES: Final = (TOMLKitError, tomllib.TOMLDecodeError, TypeError, ValueError, KeyError, AttributeError, IndexError)
"""What tomlkit is known to raise for valid files that it does not understand."""


def source_at(text: str, path: Sequence[str]) -> str | None:
    """The value at a path as TOML text, None where there is none."""
    found = value_at(tomllib.loads(text), *path)
    return None if found is None else tomlkit.item(found, _parent=tomlkit.inline_table()).as_string()


def with_settings(text: str, settings: Sequence[Setting], label: str) -> str:
    """The text with these values; tables that are missing on the way are made. Raises InvalidInput."""
    meant: Mapping[str, Any] = tomllib.loads(text)
    for setting in settings:
        meant = merged(meant, setting.path, setting.value)
    ways: tuple[Callable[[], str], ...] = (
        lambda: _appended(_set_all(text, [one for one in settings if not isinstance(one.value, dict)]), settings),
        lambda: _set_all(text, settings),
        # Within keys with dots a table with a header of its own would stand elsewhere.
        lambda: _set_all(text, settings, inline=True),
    )
    return _first_that_means(ways, (meant,), text, label)


def with_source(text: str, path: Sequence[str], source: str, label: str) -> str:
    """The text with the value at the path, which is there, written as `source`. Raises InvalidInput."""
    value = tomllib.loads(f"value = {source}")["value"]
    meant = merged(tomllib.loads(text), path, value)
    return _first_that_means((lambda: _set_all(text, [Setting(tuple(path), value)]),), (meant,), text, label)


def without_value(text: str, path: Sequence[str], label: str) -> str:
    """The text without the value at the path, which is there. Raises InvalidInput."""
    meant = without(tomllib.loads(text), path)
    # A table that only its inner ones stated is gone with the last of them.
    ways = (lambda: _with_comments_of(text, _removed(text, path)), lambda: _removed(text, path))
    return _first_that_means(ways, tuple(prunings(meant, path)), text, label)


def _first_that_means(
    ways: Sequence[Callable[[], str]], meant: Sequence[Mapping[str, Any]], text: str, label: str
) -> str:
    """What the first way makes of the text, if it reads as one of what is meant."""
    allowed = [_comparable(one) for one in meant]
    for way in ways:
        try:
            found = way()
            if "\r\n" in text and not _LONE_NEWLINE.search(text):
                found = _LONE_NEWLINE.sub("\r\n", found)
            if _comparable(tomllib.loads(found)) in allowed:
                return found
        except _FAILURES:
            continue
    raise InvalidInput(
        f"{label} is valid, but written in a way that cannot be changed safely; nothing was. "
        "`misjudge setup codex --print` shows what to add by hand."
    )


def _comparable(value: Any) -> Any:
    """As it is, but so that nan is equal to nan."""
    if isinstance(value, Mapping):
        return {key: _comparable(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_comparable(one) for one in value]
    return repr(value) if isinstance(value, float) else value


def _set_all(text: str, settings: Sequence[Setting], *, inline: bool = False) -> str:
    if not settings:
        return text
    # tomlkit writes on the last line where that has no end.
    document = tomlkit.parse(text if not text or text.endswith("\n") else text + "\n")
    for setting in settings:
        _set(document, setting, inline)
    return tomlkit.dumps(document)


def _set(document: MutableMapping[str, Any], setting: Setting, inline: bool) -> None:
    *outer, last = setting.path
    inside: Any = document
    for key in outer:
        if key not in inside:
            inside[key] = tomlkit.inline_table() if inline or isinstance(inside, InlineTable) else tomlkit.table(True)
        inside = inside[key]
    inside[last] = _item(setting.value, inline=inline or isinstance(inside, InlineTable))


def _item(value: Any, *, inline: bool) -> Item:
    if not isinstance(value, dict):
        return cast("Item", tomlkit.item(value))
    made: AbstractTable = tomlkit.inline_table() if inline else tomlkit.table()
    for key, inner in value.items():
        made[key] = _item(inner, inline=inline)
    return made


def _removed(text: str, path: Sequence[str]) -> str:
    document = tomlkit.parse(text)
    inside: Any = document
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    return tomlkit.dumps(document)


def _with_comments_of(before: str, after: str) -> str:
    """The text with the comments that went with a table, where they stood: set-up writes none, so they are another's.

    For tomlkit even what stands above the next table belongs to this one.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lost = Counter(filter(_is_comment, old)) - Counter(filter(_is_comment, new))
    lines: list[str] = []
    for _, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        kept = new[new_start:new_end]
        if kept != old[start:end]:
            for line in filter(_is_comment, old[start:end]):
                if lost[line] > 0:
                    lost[line] -= 1
                    lines.append(line)
        lines += kept
    return "".join(lines)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _appended(text: str, settings: Sequence[Setting]) -> str:
    """The text with the settings that are tables written behind it."""
    for setting in settings:
        if isinstance(setting.value, dict):
            gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
            text += gap + table_text(setting.path, setting.value)
    return text


def table_text(path: Sequence[str], table: Mapping[str, Any]) -> str:
    """A table with its inner tables as TOML text."""
    name = ".".join(key if _BARE.fullmatch(key) else tomlkit.item(key).as_string() for key in path)
    lines = [f"[{name}]\n"]
    lines += [f"{key} = {_written(value)}\n" for key, value in table.items() if not _is_table(value)]
    inner = [table_text((*path, key), value) for key, value in table.items() if _is_table(value)]
    head = "".join(lines) if len(lines) > 1 or not inner else ""
    return "\n".join([*([head] if head else []), *inner])


def _written(value: Any) -> str:
    """A value as TOML text; of a long list each item stands on a line."""
    if not isinstance(value, list) or len(value) <= _IN_ONE_LINE:
        return str(tomlkit.item(value).as_string())
    return "".join(["[\n", *(f"    {tomlkit.item(one).as_string()},\n" for one in value), "]"])


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)

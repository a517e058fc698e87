"""JSON files changed member by member: every other byte stays, with its order, indentation and number formats. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")


class _Member(NamedTuple):
    """A member of an object: its name, where that begins, and the span of its value."""

    key: str
    key_start: int
    start: int
    end: int


class _Object(NamedTuple):
    """An object of the text: the places of its braces, and its members."""

    start: int
    end: int
    members: tuple[_Member, ...]

    def find(self, key: str) -> int | None:
        """The place of the member that counts: of equal names the last."""
        return next((place for place in reversed(range(len(self.members))) if self.members[place].key == key), None)


def source_at(text: str, path: Sequence[str]) -> str | None:
    """The value at a path as it is written, None where there is none."""
    *outer, key = path
    found = _object_at(text, outer)
    place = found.find(key) if found is not None else None
    if found is None or place is None:
        return None
    return text[found.members[place].start : found.members[place].end]


def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at the path; objects that are missing on the way are made. The text must be valid."""
    if not text.strip(" \t\r\n"):
        text = "{}\n"
    depth = len(path) - 1
    while _object_at(text, path[:depth]) is None:
        depth -= 1
        value = {path[depth + 1]: value}
    inside = _object_at(text, path[:depth])
    assert inside is not None
    place = inside.find(path[depth])
    if place is None:
        return _with_member(text, inside, path[depth], value)
    member = inside.members[place]
    return with_source(text, path[: depth + 1], _dumped(value, _indent_before(text, member.key_start), text))


def with_source(text: str, path: Sequence[str], source: str) -> str:
    """The text with the value at the path, which is there, written as `source`."""
    *outer, key = path
    found = _object_at(text, outer)
    place = found.find(key) if found is not None else None
    assert found is not None and place is not None
    return text[: found.members[place].start] + source + text[found.members[place].end :]


def without_value(text: str, path: Sequence[str]) -> str:
    """The text without the member at the path, which is there."""
    *outer, key = path
    found = _object_at(text, outer)
    place = found.find(key) if found is not None else None
    assert found is not None and place is not None
    members = found.members
    if len(members) == 1:
        return text[: found.start + 1] + text[found.end :]
    if place == 0:
        return text[: members[0].key_start] + text[members[1].key_start :]
    return text[: members[place - 1].end] + text[members[place].end :]


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _object(text: str, start: int) -> _Object:
    """The object whose brace opens at `start`, of a text that is known to be valid."""
    members = []
    place = _skip(text, start + 1)
    while text[place] != "}":
        key_start = _skip(text, place + 1) if text[place] == "," else place
        key, key_end = _DECODER.raw_decode(text, key_start)
        value_start = _skip(text, _skip(text, key_end) + 1)
        _, value_end = _DECODER.raw_decode(text, value_start)
        members.append(_Member(key, key_start, value_start, value_end))
        place = _skip(text, value_end)
    return _Object(start, place, tuple(members))


def _object_at(text: str, path: Sequence[str]) -> _Object | None:
    """The object at a path; None where there is none."""
    start = _skip(text, 0)
    if start == len(text):
        return None
    for key in path:
        found = _object(text, start)
        place = found.find(key)
        if place is None:
            return None
        start = found.members[place].start
        if text[start] != "{":
            return None
    return _object(text, start)


def _with_member(text: str, inside: _Object, key: str, value: Any) -> str:
    """The text with one more member, behind the others and written as they are."""
    if not inside.members:
        outer = _indent_before(text, inside.start)
        inner = outer + _unit(text)
        written = f"{json.dumps(key, ensure_ascii=False)}{_colon(text)}{_dumped(value, inner, text)}"
        broken = _is_compact(text)
        body = written if broken else f"{_newline(text)}{inner}{written}{_newline(text)}{outer}"
        return text[: inside.start + 1] + body + text[inside.end :]
    last = inside.members[-1]
    before = inside.start + 1 if len(inside.members) == 1 else _skip(text, inside.members[-2].end) + 1
    space = text[before : last.key_start]
    indent = _indent_before(text, last.key_start)
    written = f"{json.dumps(key, ensure_ascii=False)}{_colon(text)}{_dumped(value, indent, text)}"
    return f"{text[: last.end]},{space}{written}{text[last.end :]}"


def _dumped(value: Any, indent: str, text: str) -> str:
    """A value as the file would write it, whose first line stands behind `indent`."""
    if _is_compact(text):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":") if _colon(text) == ":" else (", ", ": "))
    written = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return written.replace("\n", _newline(text) + indent)


def _is_compact(text: str) -> bool:
    """Whether the file has all members on one line; an empty object has none."""
    body = text.strip(" \t\r\n")
    return "\n" not in body and body.strip("{} \t") != ""


def _colon(text: str) -> str:
    first = _object(text, _skip(text, 0)).members[:1]
    spaced = not first or text[first[0].start - 1] != ":"
    return ": " if spaced or not _is_compact(text) else ":"


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """One step of indentation: that of the first member, else two spaces."""
    first = _object(text, _skip(text, 0)).members[:1]
    return (_indent_before(text, first[0].key_start) if first else "") or "  "


def _indent_before(text: str, place: int) -> str:
    """The white space that the line of this place begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]

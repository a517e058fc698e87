"""Which files git has, and which it ignores: from its own files, since asking git in somebody's folder may run what
that folder says. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

_HEADER: Final = 12
_FIXED: Final = 62
"""Bytes of an entry before its name: forty of file facts, a SHA-1, two of flags."""
_EXTENDED: Final = 0x4000


def tracked_paths(index: bytes) -> frozenset[str]:
    """The paths in a `.git/index` of versions 2 to 4 with SHA-1; empty for what is none."""
    if index[:4] != b"DIRC" or len(index) < _HEADER:
        return frozenset()
    version, count = struct.unpack(">II", index[4:_HEADER])
    return frozenset(_paths(index, version, min(count, len(index) // _FIXED)))


def ignored(path: str, lines: Sequence[str]) -> bool:
    """Whether the lines of a `.gitignore` leave out a path below it, or a folder on the way to it."""
    parts = path.split("/")
    return any(_ignored("/".join(parts[:depth]), lines) for depth in range(1, len(parts) + 1))


def _ignored(path: str, lines: Sequence[str]) -> bool:
    found = False
    for line in lines:
        pattern = line.strip().removeprefix("!").rstrip("/")
        if not pattern or pattern.startswith("#"):
            continue
        bound = "/" in pattern
        pattern = pattern.removeprefix("/").removeprefix("**/")
        name = path if bound and not line.strip().startswith("**/") else path.rpartition("/")[2]
        if fnmatchcase(name, pattern):
            found = not line.strip().startswith("!")
    return found


def _paths(index: bytes, version: int, count: int) -> Iterator[str]:
    place, name = _HEADER, b""
    for _ in range(count):
        flags = int.from_bytes(index[place + _FIXED - 2 : place + _FIXED], "big")
        start = place + _FIXED + (2 if flags & _EXTENDED else 0)
        if version == 4:
            cut, start = _number(index, start)
            name = name[: len(name) - cut]
        else:
            name = b""
        end = index.find(b"\0", start)
        if end < 0:
            return
        name += index[start:end]
        # Before version 4 an entry ends in one to eight NULs, at a multiple of eight.
        place = end + 1 if version == 4 else place + (end - place + 8) // 8 * 8
        yield name.decode("utf-8", "replace")


def _number(data: bytes, place: int) -> tuple[int, int]:
    """git's number of seven bits a byte, each but the last with one added, and the place behind it."""
    value = -1
    while place < len(data):
        byte = data[place]
        value, place = (value + 1) << 7 | byte & 0x7F, place + 1
        if not byte & 0x80:
            break
    return max(value, 0), place

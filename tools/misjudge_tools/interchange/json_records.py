"""Reading JSON records within stated limits: whole lines, or one by one out of an array of any length.

Text is made storable while reading: a lone surrogate or NUL, which an escape can smuggle in, becomes
U+FFFD, since neither UTF-8 files nor Postgres can hold it. Numbers that are not finite are refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import RecordError

MAX_RECORD_CHARS = 16_000_000
"""Longest line of a text file, and longest element of a JSON array."""
MAX_DEPTH = 100
"""Deepest nesting of a record."""

TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels"
TOO_LONG = f"is longer than {MAX_RECORD_CHARS:,} characters"
_CHUNK_CHARS = 262_144
_MAX_DIGITS = 400
_SPACE = re.compile(r"[ \t\r\n]*")
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")


def _int(digits: str) -> int | float:
    # Python converts no more than 4,300 digits; no finite float has as many as these.
    return int(digits) if len(digits) < _MAX_DIGITS else math.inf


_DECODER = json.JSONDecoder(parse_int=_int, parse_constant=float)


def json_object(text: str) -> dict[str, Any]:
    """The one JSON object that `text` holds. Raises RecordError with a sentence without its content."""
    if len(text) > MAX_RECORD_CHARS:
        raise RecordError(TOO_LONG)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise RecordError(f"is not valid JSON ({error.msg} at column {error.colno})") from None
    except RecursionError:
        raise RecordError(TOO_DEEP) from None
    return _object(value)


def is_object(text: str) -> bool:
    """Whether `text` is one whole JSON object."""
    try:
        json_object(text)
    except RecordError:
        return False
    return True


def array_objects(path: Path, handle: IO[str], key: str | None) -> Iterator[dict[str, Any] | RecordError]:
    """Elements of the array that `handle` holds, at top or under `key` of an object.

    Raises InvalidInput where the text stops being JSON, since nothing can be read behind that.
    """
    # Not ijson: its paths let 400 kB of "[" take gigabytes, and it garbles lone surrogates.
    window = _Window(handle)
    found = 0
    try:
        for item in _objects(path, window, key):
            found += 1
            yield item
        window.take("")
    except RecursionError:
        raise InvalidInput(f"{path}: record {found + 1} {TOO_DEEP}.") from None
    except json.JSONDecodeError:
        raise InvalidInput(
            f"{path} stops being JSON in or behind record {found + 1}, or that record {TOO_LONG}. "
            "Check that the file is whole."
        ) from None


def storable(text: str) -> str:
    """`text` with lone surrogates and NUL, which UTF-8 or Postgres cannot hold, as U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RecordError("is not a JSON object")
    return {storable(name): storable_value(item, 2) for name, item in value.items()}


def storable_value(value: Any, depth: int = 1) -> Any:
    """A JSON value with all its text made `storable`. Raises RecordError for NaN, infinity and deep nesting."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise RecordError("holds NaN, infinity or a number too large; leave the value out or write null")
    if not isinstance(value, dict | list):
        return value
    if depth > MAX_DEPTH:
        raise RecordError(TOO_DEEP)
    if isinstance(value, list):
        return [storable_value(item, depth + 1) for item in value]
    return {storable(name): storable_value(item, depth + 1) for name, item in value.items()}


class _Window:
    """The part of a JSON text that is being read."""

    def __init__(self, handle: IO[str]) -> None:
        self.handle = handle
        self.text = ""
        self.at = 0

    def next(self) -> str:
        """The next character that is not white space, empty at the end of the file."""
        while True:
            space = _SPACE.match(self.text, self.at)
            self.at = space.end() if space else self.at
            if self.at < len(self.text) or not self._read_on():
                return self.text[self.at : self.at + 1]

    def take(self, expected: str) -> None:
        """Step over the expected character, or the end of the file where that is expected."""
        if self.next() != expected:
            raise json.JSONDecodeError("Unexpected", "", 0)
        self.at += len(expected)

    def value(self) -> Any:
        """Step over the next value, reading on until it is whole."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError:
                if not self._read_on():
                    raise
                continue
            # A number that ends with the window may go on behind it.
            if end < len(self.text) or not self._read_on():
                self.at = end
                return value

    def _read_on(self) -> bool:
        held = len(self.text) - self.at
        chunk = "" if held > MAX_RECORD_CHARS else self.handle.read(max(_CHUNK_CHARS, held))
        if chunk:
            self.text, self.at = self.text[self.at :] + chunk, 0
        return chunk != ""


def _objects(path: Path, window: _Window, key: str | None) -> Iterator[dict[str, Any] | RecordError]:
    if window.next() == "[":
        yield from _elements(window)
    elif window.next() == "{" and key is not None:
        yield from _elements_under(path, window, key)
    else:
        raise InvalidInput(
            f"{path} holds no JSON array of records. Write it as [{{…}}, {{…}}], or one object per line."
        )


def _elements(window: _Window) -> Iterator[dict[str, Any] | RecordError]:
    for _ in _parts(window, "[", "]"):
        try:
            yield _object(window.value())
        except RecordError as error:
            yield error


def _elements_under(path: Path, window: _Window, key: str) -> Iterator[dict[str, Any] | RecordError]:
    seen = False
    for _ in _parts(window, "{", "}"):
        name = window.value()
        window.take(":")
        if window.next() == "[" and name == key:
            seen = True
            yield from _elements(window)
        else:
            window.value()
    if not seen:
        raise InvalidInput(f"{path} is a JSON object without a list under {key!r}.")


def _parts(window: _Window, opening: str, closing: str) -> Iterator[None]:
    """Stops at each part of an array or object, which the caller must step over."""
    window.take(opening)
    if window.next() != closing:
        yield
        while window.next() == ",":
            window.take(",")
            window.next()
            yield
    window.take(closing)

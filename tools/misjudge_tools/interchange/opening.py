"""Opening a file that was written elsewhere: what cannot be text in UTF-8 is refused with its name."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn

from misjudge_storage.errors import InvalidInput

PARQUET = b"PAR1"
"""How a Parquet file starts."""
_HEAD_BYTES = 65_536

_AS_UTF8 = "Save it as UTF-8 and try again (in Excel choose 'CSV UTF-8', in a shell use iconv)."
_AS_TEXT = "Export it as CSV or JSONL and try again."
_NOT_UTF8 = (
    (codecs.BOM_UTF32_LE, "UTF-32 text", _AS_UTF8),
    (codecs.BOM_UTF32_BE, "UTF-32 text", _AS_UTF8),
    (codecs.BOM_UTF16_LE, "UTF-16 text", _AS_UTF8),
    (codecs.BOM_UTF16_BE, "UTF-16 text", _AS_UTF8),
    (b"PK\x03\x04", "an Excel workbook or ZIP archive", _AS_TEXT),
    (b"\x1f\x8b", "a gzip archive", _AS_TEXT),
    (PARQUET, "a Parquet file", _AS_TEXT),
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what goes wrong while reading `path` into InvalidInput."""
    try:
        yield
    except UnicodeDecodeError:
        _refuse_encoding(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or 'the system refused it'}.") from None


def open_text(path: Path, newline: str | None) -> io.TextIOWrapper:
    """The file as UTF-8 text, behind its byte order mark; `newline` as in `open`. Raises InvalidInput, OSError."""
    return io.TextIOWrapper(_open_utf8(path), encoding="utf-8", newline=newline)


def open_bytes(path: Path) -> IO[bytes]:
    """The regular file as it is. Raises InvalidInput, OSError."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder. Name a file in it.")
    if not path.exists():
        raise InvalidInput(f"{path} does not exist.")
    if not path.is_file():
        raise InvalidInput(f"{path} is not a regular file. Save its content to a file first.")
    return path.open("rb")


def _open_utf8(path: Path) -> IO[bytes]:
    handle = open_bytes(path)
    try:
        _refuse_other_kinds(path, handle.read(_HEAD_BYTES))
        handle.seek(0)
        handle.seek(len(codecs.BOM_UTF8) if handle.read(3) == codecs.BOM_UTF8 else 0)
    except BaseException:
        handle.close()
        raise
    return handle


def _refuse_other_kinds(path: Path, head: bytes) -> None:
    for magic, kind, advice in _NOT_UTF8:
        if head.startswith(magic):
            raise InvalidInput(f"{path} is {kind}, not UTF-8 text. {advice}")
    if b"\0" in head[:4]:
        raise InvalidInput(f"{path} starts with NUL bytes, as UTF-16 text does. {_AS_UTF8}")
    if len(head) < _HEAD_BYTES and not head.removeprefix(codecs.BOM_UTF8).strip():
        raise InvalidInput(f"{path} is empty.")


def _refuse_encoding(path: Path) -> NoReturn:
    """Raise InvalidInput with the line and byte offset of the first bytes that are not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, offset, chunk = 1, 0, b"start"
    with path.open("rb") as handle:
        while chunk:
            chunk = handle.read(_HEAD_BYTES)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                offset += error.start - pending
                break
            line += chunk.count(b"\n")
            offset += len(chunk)
    raise InvalidInput(f"{path}: line {line} (byte {offset}) is not UTF-8. {_AS_UTF8}") from None

"""Streaming readers of CSV, JSONL, JSON and Parquet files that were written elsewhere.

Each yields `Row`s, or a `BadRecord` for a record that cannot be read, so that one bad line does not hide
the others. What spoils the whole file (missing, empty, not UTF-8, no usable header) raises InvalidInput at
the first `next()` or where it is met. Memory does not grow with the file, only with its longest record.
What JSON values may hold is said in `json_records`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, RecordError
from misjudge_tools.interchange.formula_guard import unguarded
from misjudge_tools.interchange.json_records import (
    MAX_RECORD_CHARS,
    TOO_DEEP,
    TOO_LONG,
    array_objects,
    is_object,
    json_object,
)
from misjudge_tools.interchange.opening import PARQUET, open_bytes, open_text, reading
from misjudge_tools.interchange.parquet_records import parquet_objects

MAX_FIELD_CHARS = 4_000_000
"""Longest CSV cell."""
_Parsed = TypeVar("_Parsed")
_CSV_PROBLEMS = (
    ("unexpected end", "opens a quoted cell that is never closed"),
    ("field larger", f"has a cell longer than {MAX_FIELD_CHARS:,} characters, or a quote that is never closed"),
    ("expected after", "has text right behind a closing quote; a quote inside a cell is written as two quotes"),
)


class _Reader(Protocol):
    line_num: int

    def __next__(self) -> list[str]: ...


FileKind = Literal["csv", "jsonl", "json", "parquet"]


class Row(NamedTuple):
    """One record as read. `line` counts from 1: the line it starts on, or its index in a JSON array or Parquet file."""

    line: int
    fields: dict[str, Any]


def read_csv(path: Path) -> Iterator[Row | BadRecord]:
    """Rows of a CSV or TSV file with a header row; every value is text as written, rows without any are skipped.

    The delimiter is the most frequent of comma, semicolon and tab in the header line.
    """
    csv.field_size_limit(MAX_FIELD_CHARS)
    with reading(path), open_text(path, newline="") as handle:
        lines = _csv_lines(path, handle)
        skipped = 0
        for first in lines:
            if first.strip():
                break
            skipped += 1
        else:
            raise InvalidInput(f"{path} is empty.")
        reader = csv.reader(chain([first], lines), delimiter=_delimiter(first), strict=True)
        found = False
        for row in _csv_rows(reader, _header(path, reader), skipped):
            found = True
            yield row
        if not found:
            raise InvalidInput(f"{path} is empty: it has a header row but no records.")


def read_jsonl(path: Path) -> Iterator[Row | BadRecord]:
    """Rows of a file with one JSON object per line; blank lines are skipped."""
    found = False
    with reading(path), open_text(path, newline=None) as handle:
        for number, line in enumerate(_lines(handle), 1):
            if not line.strip():
                continue
            found = True
            try:
                yield Row(number, json_object(line))
            except RecordError as error:
                yield BadRecord(number, str(error))
    if not found:
        raise InvalidInput(f"{path} is empty.")


def read_json_array(path: Path, key: str | None = None) -> Iterator[Row | BadRecord]:
    """Objects of a JSON array, or of the array that a JSON object holds under `key`.

    A syntax error raises InvalidInput where it is met: nothing can be read behind it.
    """
    index = 0
    with reading(path), open_text(path, newline=None) as handle:
        for index, found in enumerate(array_objects(path, handle, key), 1):
            yield BadRecord(index, str(found)) if isinstance(found, RecordError) else Row(index, found)
    if not index:
        raise InvalidInput(f"{path} is empty: its array holds no records.")


def read_parquet(path: Path) -> Iterator[Row | BadRecord]:
    """Rows of a Parquet file, which is refused without the extra `parquet`."""
    index = 0
    with reading(path), open_bytes(path) as handle:
        for index, found in enumerate(parquet_objects(path, handle), 1):
            yield BadRecord(index, str(found)) if isinstance(found, RecordError) else Row(index, found)
    if not index:
        raise InvalidInput(f"{path} is empty: it holds no records.")


def read_rows(path: Path) -> Iterator[Row | BadRecord]:
    """Rows of a file of any of the four kinds, told apart by `looks_like`."""
    readers: dict[str, Callable[[Path], Iterator[Row | BadRecord]]]
    readers = {"csv": read_csv, "jsonl": read_jsonl, "json": read_json_array, "parquet": read_parquet}
    return readers[looks_like(path)](path)


def read_exported(path: Path) -> Iterator[Row | BadRecord]:
    """As `read_rows`; cells of a CSV without the quotes that keep a spreadsheet from calculating them."""
    if looks_like(path) != "csv":
        yield from read_rows(path)
        return
    for row in read_csv(path):
        yield (
            row if isinstance(row, BadRecord) else Row(row.line, {n: unguarded(cell) for n, cell in row.fields.items()})
        )


def looks_like(path: Path) -> FileKind:
    """The kind of a file: by how it starts, and by its name where that leaves it open."""
    if _is_parquet(path):
        return "parquet"
    with reading(path), open_text(path, newline=None) as handle:
        filled = (line for line in _lines(handle) if line.strip())
        first = next(filled, "").lstrip()
        suffix = path.suffix.lower()
        if first.startswith("["):
            return "json"
        if suffix in {".jsonl", ".ndjson"}:
            return "jsonl"
        if not first.startswith("{"):
            return "json" if suffix == ".json" else "csv"
        lines = is_object(first) and (suffix != ".json" or next(filled, None) is not None)
        return "jsonl" if lines else "json"


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() == ".parquet":
        return True
    with reading(path), open_bytes(path) as handle:
        return handle.read(len(PARQUET)) == PARQUET


def parse_rows(rows: Iterable[Row | BadRecord], parse: Callable[[Row], _Parsed]) -> Iterator[_Parsed | BadRecord]:
    """`parse` applied to each row; what it refuses becomes a BadRecord with one sentence and no values."""
    for row in rows:
        if isinstance(row, BadRecord):
            yield row
            continue
        try:
            parsed = parse(row)
        except ValidationError as error:
            yield BadRecord(row.line, plain_sentence(error))
        except RecordError as error:
            yield BadRecord(row.line, str(error))
        except RecursionError:
            yield BadRecord(row.line, TOO_DEEP)
        else:
            yield parsed


def plain_sentence(error: ValidationError) -> str:
    """The first thing a validation error says, as "field: what it must be", without the value given."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the record"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message[:1].lower()}{message[1:]}"


def _lines(handle: IO[str]) -> Iterator[str]:
    """Lines; of one longer than MAX_RECORD_CHARS only a start that is still too long, never the whole."""
    while line := handle.readline(MAX_RECORD_CHARS + 1):
        rest = line
        while len(rest) > MAX_RECORD_CHARS and rest[-1] != "\n":
            rest = handle.readline(MAX_RECORD_CHARS + 1)
        yield line


def _csv_lines(path: Path, handle: IO[str]) -> Iterator[str]:
    for number, line in enumerate(_lines(handle), 1):
        if len(line) > MAX_RECORD_CHARS:
            raise InvalidInput(f"{path}: line {number} {TOO_LONG}. Check that this is a CSV file.")
        yield line


def _delimiter(header_line: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header_line)
    return max(",;\t", key=bare.count)


def _header(path: Path, reader: Iterator[list[str]]) -> list[str]:
    try:
        names = [name.strip() for name in next(reader)]
    except csv.Error as error:
        raise InvalidInput(f"{path}: the header row {_csv_problem(error)}.") from None
    if "" in names:
        raise InvalidInput(
            f"{path}: column {names.index('') + 1} has no name in the header row. Name it or remove it "
            "(pandas leaves its index unnamed; write with index=False)."
        )
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InvalidInput(f"{path}: the header row names {twice[:60]!r} twice. Give each column its own name.")
    return names


def _csv_rows(reader: _Reader, header: list[str], skipped: int) -> Iterator[Row | BadRecord]:
    while True:
        line = skipped + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield BadRecord(line, _csv_problem(error))
            continue
        if not any(cells):
            continue
        if len(cells) != len(header):
            yield BadRecord(line, f"has {len(cells)} cells where the header row has {len(header)}")
        elif any("\0" in cell for cell in cells):
            yield BadRecord(line, "holds a NUL character")
        else:
            yield Row(line, dict(zip(header, cells, strict=True)))


def _csv_problem(error: csv.Error) -> str:
    return next((said for part, said in _CSV_PROBLEMS if part in str(error)), "is not valid CSV")

"""Reading the rows of a Parquet file as JSON values, within the limits of JSON records. Needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import RecordError
from misjudge_tools.interchange.json_records import MAX_RECORD_CHARS, TOO_LONG, storable, storable_value

_ROWS = 16
"""Rows in memory at once: each may be as long as any record."""
_BUFFER_BYTES = 1_048_576


def parquet_objects(path: Path, handle: IO[bytes]) -> Iterator[dict[str, Any] | RecordError]:
    """Rows of the file, a dict by column. Times and decimals become text; bytes, spans and maps are refused.

    Raises InvalidInput without pyarrow, and where the file stops being Parquet, since nothing can be read behind that.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise InvalidInput(
            f"{path} is a Parquet file, which needs the extra parquet: pip install 'misjudge[parquet]', or export it "
            "as CSV or JSONL."
        ) from None
    rows = 0
    try:
        # A buffer in place of what is otherwise read ahead: a whole group of rows.
        file = pyarrow.parquet.ParquetFile(handle, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        _refuse_same_names(path, file.schema_arrow.names)
        for batch in file.iter_batches(batch_size=_ROWS, use_threads=False):
            for number in range(batch.num_rows):
                rows += 1
                yield _row(batch.schema.names, [column[number] for column in batch.columns])
    except (pyarrow.ArrowException, ValueError, OSError, MemoryError):
        raise InvalidInput(
            f"{path} cannot be read as Parquet behind record {rows}. Check that the file is whole, or export it as "
            "CSV or JSONL."
        ) from None


def _refuse_same_names(path: Path, names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{path} has two columns {twice[:60]!r}. Give each column its own name.")


def _row(names: list[str], cells: list[Any]) -> dict[str, Any] | RecordError:
    try:
        row = {name: _json(cell.as_py()) for name, cell in zip(names, cells, strict=True)}
        if _chars(row) > MAX_RECORD_CHARS:
            raise RecordError(TOO_LONG)
        return {storable(name): storable_value(value, 2) for name, value in row.items()}
    except RecordError as error:
        return error
    except (ValueError, LookupError, ArithmeticError):
        return RecordError("holds text that is not UTF-8, or a time that cannot be read")


def _json(value: Any) -> Any:
    """What JSON would hold of it, nested as deep as the schema: pyarrow takes 100 levels. Raises RecordError."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if not isinstance(value, dict | list):
        raise RecordError("holds bytes, a span of time or a map, where a JSON record holds text, numbers and lists")
    if isinstance(value, list):
        return [_json(item) for item in value]
    return {name: _json(item) for name, item in value.items()}


def _chars(value: Any) -> int:
    if isinstance(value, list):
        return sum(_chars(item) + 1 for item in value)
    if isinstance(value, dict):
        return sum(len(name) + _chars(item) for name, item in value.items())
    return len(value) if isinstance(value, str) else 1

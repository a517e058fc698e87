"""Parquet: the tables audit_pairs and judge_logs, with the types of their columns. Needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from misjudge_storage.errors import InvalidInput
from misjudge_storage.export_rows import CHUNK, Kind

GROUP_ROWS: Final = 65_536
GROUP_BYTES: Final = 32_000_000
"""A row group ends at the first of the two: readers want large ones, and this much is held in memory."""


def write_parquet(path: Path, columns: Mapping[str, Kind], rows: Generator[Mapping[str, Any], None, None]) -> int:
    """Write the rows; how many they were. Raises OSError, and InvalidInput without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InvalidInput("Parquet needs the extra parquet: pip install 'misjudge[parquet]'.") from None
    types = {
        "text": pyarrow.string(),
        "whole": pyarrow.int64(),
        "number": pyarrow.float64(),
        "flag": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", tz="UTC"),
    }
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
    number = 0
    with closing(rows), pyarrow.parquet.ParquetWriter(path, schema) as writer:
        batches = (pyarrow.RecordBatch.from_pylist(some, schema=schema) for some in _batches(columns, rows))
        for group in _groups(batches):
            writer.write_table(pyarrow.Table.from_batches(group))
            number += sum(batch.num_rows for batch in group)
    return number


def _groups(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches that are one row group together."""
    group: list[Any] = []
    rows = size = 0
    for batch in batches:
        group.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group


def _batches(columns: Mapping[str, Kind], rows: Iterator[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while some := [_typed(columns, row) for row in islice(rows, CHUNK)]:
        yield some


def _typed(columns: Mapping[str, Kind], row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(row[name]) if kind == "time" and row[name] is not None else row[name]
        for name, kind in columns.items()
    }

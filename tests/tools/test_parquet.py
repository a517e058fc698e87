"""Parquet files that others wrote: rows as of JSONL, without what JSON cannot hold."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from hashlib import sha512
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord
from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.interchange.files import Row, looks_like, read_parquet, read_rows
from misjudge_tools.interchange.json_records import MAX_RECORD_CHARS
from misjudge_tools.requests import ImportRequest
from operations import count

ODD = "holds bytes, a span of time or a map, where a JSON record holds text, numbers and lists"
UNREADABLE = "holds text that is not UTF-8, or a time that cannot be read"


def parquet(folder: Path, columns: Any, name: str = "file.parquet", **options: Any) -> Path:
    path = folder / name
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def only(folder: Path, value: Any) -> Row | BadRecord:
    """The one row of a file with one column."""
    (found,) = read_parquet(parquet(folder, {"a": value if isinstance(value, pa.Array) else [value]}))
    return found


def refusal(path: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        list(read_parquet(path))
    return str(caught.value)


def test_a_row_is_numbered_from_1_and_holds_every_column(tmp_path: Path) -> None:
    path = parquet(tmp_path, {"a": ["x", None], "n": [1, 2], "f": [0.5, None], "yes": [True, False]})
    assert list(read_parquet(path)) == [
        Row(1, {"a": "x", "n": 1, "f": 0.5, "yes": True}),
        Row(2, {"a": None, "n": 2, "f": None, "yes": False}),
    ]


def test_rows_go_on_over_groups_and_batches(tmp_path: Path) -> None:
    numbers = list(range(1_000))
    path = parquet(tmp_path, {"n": numbers, "said": [f"text {n}" * 50 for n in numbers]}, row_group_size=77)
    assert [(row.line, row.fields["n"]) for row in read_parquet(path) if isinstance(row, Row)] == [
        (n + 1, n) for n in numbers
    ]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (["a", None, "b"], ["a", None, "b"]),
        ({"x": {"y": [1, 2]}}, {"x": {"y": [1, 2]}}),
        (pa.array(["a"]).dictionary_encode(), "a"),
        (pa.array(["a"], pa.large_string()), "a"),
        (Decimal("1.50"), "1.50"),
        (date(2025, 1, 31), "2025-01-31"),
        (time(12, 30), "12:30:00"),
        (datetime(2025, 1, 31, 12, tzinfo=UTC), "2025-01-31T12:00:00+00:00"),
        (2**63 - 1, 2**63 - 1),
        ("nul \0 there", "nul \ufffd there"),
        (["nul \0"], ["nul \ufffd"]),
    ],
)
def test_values_are_read_as_json_would_hold_them(tmp_path: Path, value: Any, read: Any) -> None:
    assert only(tmp_path, value) == Row(1, {"a": read})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (b"bytes", ODD),
        ([b"bytes"], ODD),
        (timedelta(seconds=1), ODD),
        (pa.array([[("k", "v")]], pa.map_(pa.string(), pa.string())), ODD),
        (pa.array([2**31 - 1], pa.date32()), UNREADABLE),
        (
            pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]),
            UNREADABLE,
        ),
        (float("nan"), "holds NaN, infinity or a number too large; leave the value out or write null"),
        ([{"x": float("-inf")}], "holds NaN, infinity or a number too large; leave the value out or write null"),
    ],
)
def test_a_value_that_json_cannot_hold_costs_only_its_record(tmp_path: Path, value: Any, problem: str) -> None:
    assert only(tmp_path, value) == BadRecord(1, problem)


def test_a_bad_record_does_not_hide_the_others(tmp_path: Path) -> None:
    path = parquet(tmp_path, {"n": [1.0, float("nan"), 3.0]})
    assert [type(row) for row in read_parquet(path)] == [Row, BadRecord, Row]


def test_a_record_as_long_as_allowed_is_read_and_a_longer_one_refused(tmp_path: Path) -> None:
    fitting = "x" * (MAX_RECORD_CHARS - len("abcdz") - 4 * len("y,"))
    path = parquet(tmp_path, {"a": [fitting, fitting], "b": [["y"] * 4, ["y"] * 5], "c": [{"d": "z"}] * 2})
    first, second = read_parquet(path)
    assert isinstance(first, Row) and isinstance(second, BadRecord)
    assert second.problem == "is longer than 16,000,000 characters"


def nested(levels: int) -> pa.Table:
    value: Any = "deep"
    kind = pa.string()
    for _ in range(levels):
        value, kind = [value], pa.list_(kind)
    return pa.table({"a": pa.array([value], kind)})


@pytest.mark.parametrize("levels", [100, 1_000])
def test_a_file_that_is_nested_too_deep_is_refused(tmp_path: Path, levels: int) -> None:
    path = parquet(tmp_path, nested(levels), store_schema=False)
    assert "cannot be read as Parquet behind record 0" in refusal(path)
    assert len(list(read_parquet(parquet(tmp_path, nested(40))))) == 1


def test_a_column_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["label", "label"])
    assert "has two columns 'label'. Give each column its own name." in refusal(parquet(tmp_path, table))


@pytest.mark.parametrize("columns", [{}, {"a": pa.array([], pa.string())}])
def test_a_file_without_records_is_empty(tmp_path: Path, columns: dict[str, Any]) -> None:
    assert "is empty: it holds no records" in refusal(parquet(tmp_path, columns))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"a,b\n1,2\n", b"PAR1" + b"\0" * 40 + b"PAR1"])
def test_what_is_called_parquet_and_is_not_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wrong.parquet"
    path.write_bytes(content)
    assert "cannot be read as Parquet behind record 0. Check that the file is whole" in refusal(path)


def test_a_file_that_is_broken_in_the_middle_is_refused_with_the_number_of_records_before(tmp_path: Path) -> None:
    said = [sha512(bytes([n])).hexdigest() for n in range(64)]
    path = parquet(tmp_path, {"a": said}, row_group_size=32, compression="zstd", use_dictionary=False)
    data = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data[start + 40 : start + 400] = b"\xff" * 360
    path.write_bytes(bytes(data))
    found: list[Row | BadRecord] = []
    with pytest.raises(InvalidInput, match="cannot be read as Parquet behind record 32"):
        found.extend(read_parquet(path))
    assert [row.line for row in found] == list(range(1, 33))


@given(st.data())
def test_no_bytes_crash_the_reader(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    path = parquet(folder, {"a": ["x", None], "l": [["y"], []], "n": [1, 2]}, store_schema=False)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2]))]))
    try:
        for row in read_parquet(path):
            assert isinstance(row, Row | BadRecord)
    except InvalidInput as refused:
        assert str(refused)


def test_a_parquet_file_is_known_by_how_it_starts_or_by_its_name(tmp_path: Path) -> None:
    path = parquet(tmp_path, {"a": ["x"]}, "table.csv")
    assert looks_like(path) == "parquet"
    assert list(read_rows(path)) == [Row(1, {"a": "x"})]
    named = tmp_path / "x.PARQUET"
    named.write_text("a,b\n", encoding="utf-8")
    assert looks_like(named) == "parquet"


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "no.parquet")
    (tmp_path / "folder.parquet").mkdir()
    assert "is a folder. Name a file in it." in refusal(tmp_path / "folder.parquet")


def test_without_the_extra_it_is_said_which_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(tmp_path, {"a": ["x"]})
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    said = refusal(path)
    assert "pip install 'misjudge[parquet]'" in said
    assert said.count(".") == 2, "one sentence, beside the file's name"


def test_pyarrow_is_loaded_only_for_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\nx\n", encoding="utf-8")
    script = f"""
import sys
from pathlib import Path
from misjudge_tools.interchange.files import read_rows
assert list(read_rows(Path({str(path)!r})))
print([name for name in sys.modules if name.partition(".")[0] in ("pyarrow", "numpy", "pandas")])
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True, env=_here())
    assert said.stdout.strip() == "[]"


def _here() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


async def bring(deps: Deps, kind: str, path: Path, **options: Any) -> int:
    given = {"audit": "a", "format": kind, "paths": [str(path)], **options}
    return (await import_records(ImportRequest.model_validate(given), deps)).files[0].records


async def test_a_table_and_pairs_are_imported_from_parquet(deps: Deps, tmp_path: Path) -> None:
    columns = {"prompt": ["Q1", "Q2"], "a": ["x", "y"], "b": ["z", "w"], "winner": [1, 2], "gold": [1, 1]}
    assert await bring(deps, "table", parquet(tmp_path, columns, "t.parquet"), values=["1=A,2=B"]) == 2
    judged = {"pair_id": ["p1"], "agent_a": ["m"], "agent_b": ["n"], "judge_pref": ["A"], "gold_pref": ["B"]}
    assert await bring(deps, "pairs", parquet(tmp_path, judged, "p.parquet")) == 1
    assert count(deps.store, "pairs") == 3


async def test_a_dry_run_shows_a_parquet_table(deps: Deps, tmp_path: Path) -> None:
    path = parquet(tmp_path, {"prompt": ["Q"], "a": ["x"], "b": ["y"], "winner": ["A"]})
    request = ImportRequest(audit="a", format="table", paths=[str(path)], dry_run=True)
    preview = (await import_records(request, deps)).preview
    assert preview is not None and preview[str(path)]["kind"] == "parquet"


MEMORY_BYTES = 150_000_000
_READ = """
import sys
from pathlib import Path
from peak_memory import peak_bytes
from misjudge_tools.interchange.files import read_parquet
import pyarrow.parquet
before = peak_bytes()
print(sum(1 for _ in read_parquet(Path(sys.argv[1]))), peak_bytes() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
def test_memory_does_not_grow_with_a_file_of_one_group_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    schema = pa.schema([("said", pa.string())])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, 100_000, 1_000):
            said = [f"{n} order " * 400 for n in range(start, start + 1_000)]
            yield pa.record_batch({"said": said}, schema=schema)

    table = pa.Table.from_batches(batches(), schema)
    pq.write_table(table, path, row_group_size=100_000, compression="none", use_dictionary=False)
    assert path.stat().st_size > 300_000_000
    del table
    done = subprocess.run([sys.executable, "-c", _READ, path], capture_output=True, check=True, text=True, env=_here())
    records, grown = map(int, done.stdout.split())
    assert records == 100_000
    assert grown < MEMORY_BYTES

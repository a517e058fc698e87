"""Reading CSV, JSONL and JSON that others wrote: what is a row, what a bad record, what a bad file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, Record, RecordError
from misjudge_tools.interchange.files import (
    MAX_FIELD_CHARS,
    Row,
    looks_like,
    parse_rows,
    read_csv,
    read_json_array,
    read_jsonl,
    read_rows,
)
from misjudge_tools.interchange.json_records import MAX_RECORD_CHARS

NOT_FINITE = "holds NaN, infinity or a number too large; leave the value out or write null"
Reader = Callable[[Path], Iterator[Row | BadRecord]]


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, name: str = "file.dat") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(reader: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        list(reader(*args))
    return str(caught.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_taken_from_the_header_line(file: Callable[..., Path], delimiter: str) -> None:
    path = file(f'a{delimiter}"b,;x"\n1{delimiter}"2,3;4\t5"\n')
    assert list(read_csv(path)) == [Row(2, {"a": "1", "b,;x": "2,3;4\t5"})]


def test_a_csv_row_is_named_by_the_physical_line_it_starts_on(file: Callable[..., Path]) -> None:
    path = file('\n\na,b\r\n1,"two\nlines"\n\n3,4\n,\n5,6')
    assert [(row.line, list(row.fields.values())) for row in read_csv(path) if isinstance(row, Row)] == [
        (4, ["1", "two\nlines"]),
        (7, ["3", "4"]),
        (9, ["5", "6"]),
    ]


def test_a_byte_order_mark_and_old_line_ends_are_accepted(file: Callable[..., Path]) -> None:
    assert list(read_csv(file(b"\xef\xbb\xbfa,b\r1,2\r"))) == [Row(2, {"a": "1", "b": "2"})]
    assert list(read_jsonl(file(b'\xef\xbb\xbf{"a": 1}\r\n'))) == [Row(1, {"a": 1})]
    assert list(read_json_array(file(b'\xef\xbb\xbf[{"a": 1}]'))) == [Row(1, {"a": 1})]


def test_each_bad_csv_row_is_named_and_the_others_are_read(file: Callable[..., Path]) -> None:
    path = file('a,b\n1\n1,2,3\n"x"y,2\nnul\0,2\n5,6\n"7,8\n')
    assert list(read_csv(path)) == [
        BadRecord(2, "has 1 cells where the header row has 2"),
        BadRecord(3, "has 3 cells where the header row has 2"),
        BadRecord(4, "has text right behind a closing quote; a quote inside a cell is written as two quotes"),
        BadRecord(5, "holds a NUL character"),
        Row(6, {"a": "5", "b": "6"}),
        BadRecord(7, "opens a quoted cell that is never closed"),
    ]


def test_a_cell_up_to_the_stated_size_is_read_and_a_longer_one_refused(file: Callable[..., Path]) -> None:
    path = file(f"a,b\n{'x' * MAX_FIELD_CHARS},1\n{'x' * (MAX_FIELD_CHARS + 1)},2\n3,4\n")
    first, second, third = read_csv(path)
    assert isinstance(first, Row) and len(first.fields["a"]) == MAX_FIELD_CHARS
    assert second == BadRecord(3, "has a cell longer than 4,000,000 characters, or a quote that is never closed")
    assert third == Row(4, {"a": "3", "b": "4"})


def test_a_line_beyond_the_limit_spoils_a_csv_but_only_its_own_record_of_jsonl(file: Callable[..., Path]) -> None:
    long = "x" * (2 * MAX_RECORD_CHARS + 5)
    assert "line 2 is longer than 16,000,000 characters" in refusal(read_csv, file(f"a\n{long}\n"))
    path = file(f'{{"a": 1}}\n{{"a": "{long}"}}\n{{"a": 2}}\n')
    assert list(read_jsonl(path)) == [
        Row(1, {"a": 1}),
        BadRecord(2, "is longer than 16,000,000 characters"),
        Row(3, {"a": 2}),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,a\n1,2\n", "the header row names 'a' twice"),
        (",a\n1,2\n", "column 1 has no name in the header row"),
        ("a, \n1,2\n", "column 2 has no name"),
        ('"a"x,b\n', "the header row has text right behind a closing quote"),
        ('"a,b\n1,2\n', "the header row opens a quoted cell that is never closed"),
        ("a,b\n", "is empty: it has a header row but no records"),
        ("a,b\n\n,\n", "is empty: it has a header row but no records"),
    ],
)
def test_a_csv_without_a_usable_header_or_records_is_refused(
    file: Callable[..., Path], content: str, said: str
) -> None:
    assert said in refusal(read_csv, file(content))


@pytest.mark.parametrize("reader", [read_csv, read_jsonl, read_json_array, looks_like, read_rows])
@pytest.mark.parametrize("content", [b"", b" \n\r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused_by_name(file: Callable[..., Path], reader: Reader, content: bytes) -> None:
    assert refusal(reader, file(content)).endswith("file.dat is empty.")


@pytest.mark.parametrize("reader", [read_csv, read_jsonl])
def test_a_long_file_of_white_space_is_empty(file: Callable[..., Path], reader: Reader) -> None:
    assert refusal(reader, file(b"\n" * 70_000)).endswith("is empty.")


@pytest.mark.parametrize("reader", [read_csv, read_jsonl, read_json_array, looks_like])
def test_a_missing_file_a_folder_and_a_device_are_refused(tmp_path: Path, reader: Reader) -> None:
    assert "does not exist" in refusal(reader, tmp_path / "none.csv")
    assert "is a folder" in refusal(reader, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a named pipe")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # type: ignore[attr-defined,unused-ignore]
    assert "is not a regular file" in refusal(read_csv, tmp_path / "pipe")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a name that the system refuses")
def test_what_the_system_refuses_is_said(tmp_path: Path) -> None:
    assert "cannot be read: File name too long" in refusal(read_csv, tmp_path / ("x" * 5000))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("a,b\n1,2".encode("utf-16"), "is UTF-16 text, not UTF-8 text"),
        (b"\xfe\xff\0a", "is UTF-16 text, not UTF-8 text"),
        ("a,b\n1,2".encode("utf-32"), "is UTF-32 text, not UTF-8 text"),
        ("a,b\n1,2".encode("utf-16-le"), "starts with NUL bytes, as UTF-16 text does"),
        (b"PK\x03\x04rest", "is an Excel workbook or ZIP archive"),
        (b"\x1f\x8brest", "is a gzip archive"),
    ],
)
@pytest.mark.parametrize("reader", [read_csv, read_jsonl, read_json_array, looks_like])
def test_what_is_not_utf8_text_is_named(file: Callable[..., Path], reader: Reader, content: bytes, kind: str) -> None:
    assert kind in refusal(reader, file(content))


@pytest.mark.parametrize("reader", [read_csv, read_jsonl, read_json_array])
def test_parquet_is_named_where_only_text_is_read(file: Callable[..., Path], reader: Reader) -> None:
    assert "is a Parquet file, not UTF-8 text. Export it" in refusal(reader, file(b"PAR1rest"))


@pytest.mark.parametrize("reader", [read_csv, read_jsonl, read_rows])
@pytest.mark.parametrize("good_lines", [1, 40_000])
def test_bytes_that_are_not_utf8_are_named_by_line_and_offset(
    file: Callable[..., Path], reader: Reader, good_lines: int
) -> None:
    line = '{"a": "é€"}\n'.encode()
    message = refusal(reader, file(line * good_lines + b'{"a": "caf\xe9"}\n'))
    assert f"line {good_lines + 1} (byte {len(line) * good_lines + 10}) is not UTF-8. Save it as UTF-8" in message


def test_a_file_cut_inside_a_character_is_not_utf8(file: Callable[..., Path]) -> None:
    assert "line 2 (byte 3) is not UTF-8" in refusal(read_csv, file(b"ab\n\xe2\x82"))


def test_each_bad_json_line_is_named_without_its_text(file: Callable[..., Path]) -> None:
    path = file(
        '{"a": NaN}\n{"a": -Infinity}\n\n{"a": 1e999}\n[1]\n{"secret\n'
        + '{"a": ' + "[" * 101 + "]" * 101 + "}\n"
        + '{"a": ' + "[" * 300_000 + "]" * 300_000 + "}\n"
        + '{"a": ' + "9" * 5000 + "}\n"
        + '{"a": {"b": [1.5, null, true]}}\n'
    )  # fmt: skip
    assert list(read_jsonl(path)) == [
        BadRecord(1, NOT_FINITE),
        BadRecord(2, NOT_FINITE),
        BadRecord(4, NOT_FINITE),
        BadRecord(5, "is not a JSON object"),
        BadRecord(6, "is not valid JSON (Invalid control character at at column 9)"),
        BadRecord(7, "is nested deeper than 100 levels"),
        BadRecord(8, "is nested deeper than 100 levels"),
        BadRecord(9, NOT_FINITE),
        Row(10, {"a": {"b": [1.5, None, True]}}),
    ]


@pytest.mark.parametrize("reader", [read_jsonl, read_json_array])
def test_text_that_no_store_can_hold_is_replaced(file: Callable[..., Path], reader: Reader) -> None:
    record = r'{"\ud800k": ["\udfff", "a\u0000b", {"c": "\ud83d\ude00 é"}]}'
    (row,) = reader(file(f"[{record}]" if reader is read_json_array else record))
    assert isinstance(row, Row)
    (key, value), *_ = row.fields.items()
    assert "\N{GRINNING FACE} é" == value[2]["c"] and "\ufffd" in value[1]
    assert not any(ch == "\0" or "\ud800" <= ch <= "\udfff" for ch in key + "".join(map(str, value)))


def test_a_json_array_is_read_element_by_element(file: Callable[..., Path]) -> None:
    deep = "[" * 200 + "]" * 200
    path = file(f'[{{"a": 1}}, 2, [], {{"a": {deep}}}, {{"b": {{"c": [1.5, "x"]}}}}]')
    assert list(read_json_array(path)) == [
        Row(1, {"a": 1}),
        BadRecord(2, "is not a JSON object"),
        BadRecord(3, "is not a JSON object"),
        BadRecord(4, "is nested deeper than 100 levels"),
        Row(5, {"b": {"c": [1.5, "x"]}}),
    ]


def test_a_json_element_as_long_as_allowed_is_read_and_a_longer_one_refused(file: Callable[..., Path]) -> None:
    fits = "x" * (MAX_RECORD_CHARS - 10)
    assert list(read_json_array(file(json.dumps([{"a": fits}, {"a": 1}])))) == [Row(1, {"a": fits}), Row(2, {"a": 1})]
    message = refusal(read_json_array, file(json.dumps([{"a": 1}, {"a": fits * 2}])))
    assert "in or behind record 2, or that record is longer than 16,000,000 characters" in message


def test_nesting_that_python_cannot_follow_refuses_the_file(file: Callable[..., Path]) -> None:
    message = refusal(read_json_array, file('[{"a": 1}, ' + "[" * 1_000_000 + "]" * 1_000_000 + "]"))
    assert message.endswith("record 2 is nested deeper than 100 levels.")


def test_a_number_that_is_not_finite_costs_only_its_own_record(file: Callable[..., Path]) -> None:
    path = file('[{"a": NaN}, {"a": 1e999}, {"a": -Infinity}, {"a": ' + "9" * 5000 + '}, {"a": 18446744073709551616}]')
    bad = [BadRecord(line, NOT_FINITE) for line in (1, 2, 3, 4)]
    assert list(read_json_array(path)) == [*bad, Row(5, {"a": 2**64})]


@pytest.mark.parametrize("padding", range(262_130, 262_150))
def test_where_the_window_ends_changes_nothing(file: Callable[..., Path], padding: int) -> None:
    path = file(f'[{{"a": "{"x" * padding}"}} , {{"b": 12345}},67890, {{"c": "\\u00e9\\ud83d\\ude00"}}]')
    rows = list(read_json_array(path))
    assert rows[1:] == [Row(2, {"b": 12345}), BadRecord(3, "is not a JSON object"), Row(4, {"c": "é😀"})]


def test_an_array_under_a_key_is_found_behind_other_values(file: Callable[..., Path]) -> None:
    path = file('{"meta": {"rows": [1, [2]]}, "n": 3, "rows": [{"a": 1}], "end": []}')
    assert list(read_json_array(path, "rows")) == [Row(1, {"a": 1})]
    assert "without a list under 'other'" in refusal(read_json_array, path, "other")
    assert list(read_json_array(file('[{"a": 1}]'), "rows")) == [Row(1, {"a": 1})]
    assert "stops being JSON" in refusal(read_json_array, file('{"rows": [{"a": 1}], "more"}'), "rows")
    assert "without a list under 'rows'" in refusal(read_json_array, file("{}"), "rows")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "is empty: its array holds no records"),
        ('{"a": [{}]}', "holds no JSON array of records"),
        ("3", "holds no JSON array of records"),
        ('[{"a": 1}, {"a"', "stops being JSON in or behind record 2"),
        ('[{"a": 1}', "stops being JSON in or behind record 2"),
        ('[{"a": 1} {"a": 2}]', "stops being JSON in or behind record 2"),
        ('[{"a": 1},]', "stops being JSON in or behind record 2"),
        ('[{"a": 1}] "more"', "stops being JSON in or behind record 2"),
        ('[{"a": 1},, {"a": 1}]', "stops being JSON in or behind record 2"),
    ],
)
def test_a_json_file_that_cannot_be_read_on_is_refused(file: Callable[..., Path], content: str, said: str) -> None:
    assert said in refusal(read_json_array, file(content))


def test_a_json_array_that_is_not_utf8_is_named_by_line(file: Callable[..., Path]) -> None:
    assert "line 2 (byte 11) is not UTF-8" in refusal(read_json_array, file(b'[\n{"a": "ab\xff"}]'))


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        ("a,b\n1,2\n", "x.txt", "csv"),
        ('[{"a": 1}]', "x.csv", "json"),
        ('\n{"a": 1}\n{"a": 2}\n', "x.csv", "jsonl"),
        ('{"a": 1}\n{"a": 2}\n', "x.json", "jsonl"),
        ('{"a": [{"b": 1}]}\n', "x.json", "json"),
        ('{"a": 1}\n', "x.txt", "jsonl"),
        ('{\n"a": [{"b": 1}]}\n', "x.txt", "json"),
        ("oops\n", "x.jsonl", "jsonl"),
        ("{oops\n", "x.ndjson", "jsonl"),
        ("oops\n", "x.json", "json"),
        ('{"a": "' + "x" * 100_000 + '"}\n{"a": 1}\n', "x.json", "jsonl"),
    ],
)
def test_the_kind_of_file_is_seen_in_its_content_then_in_its_name(
    file: Callable[..., Path], content: str, name: str, kind: str
) -> None:
    assert looks_like(file(content, name)) == kind


def test_read_rows_reads_all_three_kinds_alike(file: Callable[..., Path]) -> None:
    assert list(read_rows(file("a\nx\n", "1.csv"))) == [Row(2, {"a": "x"})]
    assert list(read_rows(file('{"a": "x"}', "2.jsonl"))) == [Row(1, {"a": "x"})]
    assert list(read_rows(file('[{"a": "x"}]', "3.json"))) == [Row(1, {"a": "x"})]


class _Strict(BaseModel):
    count: int = Field(ge=0)
    name: str = "x"

    @field_validator("name")
    @classmethod
    def _short(cls, name: str) -> str:
        if len(name) > 3:
            raise ValueError("Too long a name")
        return name


def test_what_a_parser_refuses_becomes_a_bad_record_without_values() -> None:
    def parse(row: Row) -> Record:
        if "deep" in row.fields:
            raise RecursionError
        if "own" in row.fields:
            raise RecordError("has its own problem")
        _Strict.model_validate(row.fields)
        return Record(line=row.line)

    rows: list[Row | BadRecord] = [
        Row(1, {"count": 1}),
        BadRecord(2, "was bad before"),
        Row(3, {"count": "secret"}),
        Row(4, {"count": -5}),
        Row(5, {"count": 1, "name": "secret"}),
        Row(6, {"own": 1}),
        Row(7, {"deep": 1}),
    ]
    assert list(parse_rows(rows, parse)) == [
        Record(line=1),
        BadRecord(2, "was bad before"),
        BadRecord(3, "count: input should be a valid integer, unable to parse string as an integer"),
        BadRecord(4, "count: input should be greater than or equal to 0"),
        BadRecord(5, "name: too long a name"),
        BadRecord(6, "has its own problem"),
        BadRecord(7, "is nested deeper than 100 levels"),
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.text("abc", max_size=3), _JSON, max_size=3), min_size=1, max_size=5))
def test_json_lines_and_arrays_give_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("json")
    (folder / "x.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (folder / "x.json").write_text(json.dumps(records, indent=1), encoding="utf-8")
    expected = [Row(line, record) for line, record in enumerate(records, 1)]
    assert list(read_jsonl(folder / "x.jsonl")) == expected
    assert list(read_json_array(folder / "x.json")) == expected


@given(st.binary(max_size=300))
def test_no_bytes_crash_a_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x"
    path.write_bytes(content)
    readers: list[Reader] = [read_csv, read_jsonl, read_json_array]
    for reader in readers:
        try:
            rows = list(reader(path))
        except InvalidInput:
            continue
        assert all(row.line >= 1 for row in rows)

"""Label sheets: blind pairs with empty cells for the answers, as CSV or JSONL, and the answers of such a sheet.

A spreadsheet may change what a CSV is like (byte order mark, semicolons, line ends, capitals, empty rows, more columns,
another order); only the columns `pair`, `pref`, `success_a` and `success_b` are read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord
from misjudge_tools.exporting.spreadsheets import write_csv
from misjudge_tools.interchange.files import Row, read_csv, read_jsonl
from misjudge_tools.labelling.question import read_done, read_preference
from misjudge_tools.labelling.values import GivenAnswer, ReviewPair

SUFFIXES: Final = (".csv", ".jsonl")
COLUMNS: Final = (
    *("pair", "pref", "success_a", "success_b"),
    *("task", "criteria", "constraints", "response_a", "response_b"),
)
LONGEST_CELL: Final = 32_000
"""Characters. Spreadsheets take 32,767, and spoil the rows behind a longer cell."""
_MOST_ROWS: Final = 10_000
_MOST_PROBLEMS: Final = 5


class Written(NamedTuple):
    """What a sheet came to: pairs that were cut to fit its cells, and cells with a quote before a formula."""

    cut: int
    guarded: int


class Filled(NamedTuple):
    """The answers of a sheet, and how many of its rows have none."""

    answers: list[GivenAnswer]
    empty: int


class _Line(NamedTuple):
    """An answer, or None where its cells are empty, and the line of the sheet that it stands in."""

    number: int
    answer: GivenAnswer | None


def write_sheet(path: Path, pairs: Sequence[ReviewPair], kind: str) -> Written:
    """Write the pairs to a new file of this kind, one of `SUFFIXES`. Raises OSError."""
    rows = [{**dict.fromkeys(COLUMNS), **pair.model_dump(include=set(COLUMNS))} for pair in pairs]
    if kind == ".jsonl":
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        return Written(0, 0)
    short = [{name: _cut(text) if isinstance(text, str) else text for name, text in row.items()} for row in rows]
    written = write_csv(path, COLUMNS, (row for row in short))
    return Written(sum(one != other for one, other in zip(rows, short, strict=True)), written.guarded)


def _cut(text: str) -> str:
    """The text as a cell can hold it: of a longer one the start and the end."""
    if len(text) <= LONGEST_CELL:
        return text
    left_out = len(text) - LONGEST_CELL
    half = LONGEST_CELL // 2
    return f"{text[:half]}\n[… {left_out:,} characters left out by misjudge …]\n{text[-half:]}"


def read_sheet(path: Path) -> Filled:
    """The answers in a sheet. Raises InvalidInput, with lines and never what stands there, unless all can be read."""
    problems = list[str]()
    lines = list[_Line]()
    for row in read_jsonl(path) if path.suffix.lower() == ".jsonl" else read_csv(path):
        if len(lines) + len(problems) >= _MOST_ROWS:
            raise InvalidInput(f"{path.name} has more than {_MOST_ROWS:,} rows. Give it in parts.")
        try:
            line = _line(row)
        except InvalidInput as error:
            problems.append(f"line {row.line}: {error}")
        else:
            lines += [] if line is None else [line]
    problems += _twice(lines)
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        rest = [f"and {more:,} more"] if more > 0 else []
        raise InvalidInput(f"Nothing of {path.name} was stored. {'; '.join([*problems[:_MOST_PROBLEMS], *rest])}")
    answers = [line.answer for line in lines if line.answer is not None]
    return Filled(answers, len(lines) - len(answers))


def _line(row: Row | BadRecord) -> _Line | None:
    """What a row says; None of an empty one. Raises InvalidInput."""
    if isinstance(row, BadRecord):
        raise InvalidInput(f"it {row.problem}.")
    cells = {name.strip().lower(): value for name, value in row.fields.items()}
    missing = [name for name in ("pair", "pref") if name not in cells]
    if missing:
        raise InvalidInput(
            f"there is no column {' or '.join(missing)}. Keep the columns of the sheet that was written."
        )
    if not any(map(_said, cells.values())):
        return None
    token = _said(cells["pair"])
    if not token:
        raise InvalidInput("the cell pair is empty. Keep what was written there.")
    if not any(_said(cells.get(name)) for name in ("pref", "success_a", "success_b")):
        return _Line(row.line, None)
    pref = read_preference(cells["pref"])
    a, b = read_done(cells.get("success_a"), "success_a"), read_done(cells.get("success_b"), "success_b")
    return _Line(row.line, GivenAnswer(token, pref, a, b))


def _twice(lines: Sequence[_Line]) -> list[str]:
    """The lines that answer a pair which an earlier one answers, too."""
    first: dict[str, int] = {}
    found = []
    for number, answer in lines:
        if answer is not None and first.setdefault(answer.pair, number) != number:
            found.append(f"line {number}: this pair is answered in line {first[answer.pair]}, too. Keep one of them.")
    return found


def _said(value: Any) -> str:
    return "" if value is None else str(value).strip()

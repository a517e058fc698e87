"""Label sheets: blind pairs with empty cells for the answers, as CSV or JSONL, and the answers of such a sheet.

A spreadsheet may change what a CSV is like (byte order mark, semicolons, line ends, capitals, empty rows, more columns,
another order); only the columns `pair`, `pref`, `success_a` and `success_b` are read.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord
from misjudge_tools.exporting.spreadsheets import write_csv
from misjudge_tools.interchange.files import Row, read_csv, read_jsonl
from misjudge_tools.interchange.named_lines import named_lines
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


class Answered(NamedTuple):
    """An answer, and the line of the sheet that it stands in."""

    line: int
    answer: GivenAnswer


class Filled(NamedTuple):
    """The rows of a sheet that have an answer, and how many have none."""

    rows: list[Answered]
    empty: int


class Problem(NamedTuple):
    """What is wrong with a line of a sheet."""

    line: int
    what: str


class _Line(NamedTuple):
    """An answer, or None where its cells are empty, and the line of the sheet that it stands in."""

    number: int
    answer: GivenAnswer | None


def write_sheet(path: Path, pairs: Iterable[ReviewPair], kind: str) -> Written:
    """Write the pairs to a new file of this kind, one of `SUFFIXES`, one after another. Raises OSError."""
    rows = ({**dict.fromkeys(COLUMNS), **pair.model_dump(include=set(COLUMNS))} for pair in pairs)
    if kind == ".jsonl":
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        return Written(0, 0)
    cut = list[str]()

    def short() -> Generator[dict[str, Any], None, None]:
        for row in rows:
            fits = {name: _cut(text) if isinstance(text, str) else text for name, text in row.items()}
            if fits != row:
                cut.append(row["pair"])
            yield fits

    written = write_csv(path, COLUMNS, short())
    return Written(len(cut), written.guarded)


def _cut(text: str) -> str:
    """The text as a cell can hold it: of a longer one the start and the end."""
    if len(text) <= LONGEST_CELL:
        return text
    left_out = len(text) - LONGEST_CELL
    half = LONGEST_CELL // 2
    return f"{text[:half]}\n[… {left_out:,} characters left out by misjudge …]\n{text[-half:]}"


def read_sheet(path: Path) -> Filled:
    """The answers in a sheet. Raises InvalidInput, with the lines, unless all can be read."""
    problems = list[Problem]()
    lines = list[_Line]()
    for row in read_jsonl(path) if path.suffix.lower() == ".jsonl" else read_csv(path):
        if len(lines) + len(problems) >= _MOST_ROWS:
            raise InvalidInput(f"{path.name} has more than {_MOST_ROWS:,} rows. Give it in parts.")
        try:
            line = _line(row)
        except InvalidInput as error:
            problems.append(Problem(row.line, str(error)))
        else:
            lines += [] if line is None else [line]
    problems += _twice(lines)
    if problems:
        raise nothing_stored(path, problems)
    rows = [Answered(line.number, line.answer) for line in lines if line.answer is not None]
    return Filled(rows, len(lines) - len(rows))


def nothing_stored(path: Path, problems: Sequence[Problem]) -> InvalidInput:
    """The error of a sheet with these problems, the same ones told once."""
    lines: dict[str, list[int]] = {}
    for line, what in problems:
        lines.setdefault(what, []).append(line)
    told = [f"{named_lines(numbers, len(numbers))}: {what}" for what, numbers in [*lines.items()][:_MOST_PROBLEMS]]
    more = sum(map(len, [*lines.values()][_MOST_PROBLEMS:]))
    rest = [f"and {more:,} more"] if more else []
    return InvalidInput(f"Nothing of {path.name} was stored. {' '.join([*told, *rest])}")


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


def _twice(lines: Sequence[_Line]) -> list[Problem]:
    """The lines that answer a pair which an earlier one answers, too."""
    first: dict[str, int] = {}
    found = list[Problem]()
    for number, answer in lines:
        if answer is not None and first.setdefault(answer.pair, number) != number:
            said = f"this pair is answered in line {first[answer.pair]}, too. Keep one of them."
            found.append(Problem(number, said))
    return found


def _said(value: Any) -> str:
    return "" if value is None else str(value).strip()

"""Tables that people already have: one pair per row, in CSV, TSV, JSONL or a JSON array of objects.

Sides. `winner`, `gold` and the scores speak of the file's own columns `a` and `b`, whatever order a judge saw
them in. `order` says which was shown first: `BA` means side B. Rows with the same prompt and responses are one
pair; without responses give `pair_id`, or every row is a pair of its own.

Judges. Each of several `winner` columns is a judge named by the column; a single one is named by the row's
`judge` cell, else by the column. Without a `winner` column the verdict is read from `score_a` and `score_b`:
the higher wins, equal is a tie. A verdict that names no side is unscored (parse_error), also an empty one.

Gold. Each of several `gold` columns is a human labeller (their majority is taken elsewhere); a single one is
the data set's label. A value that names no side is no label.

A response that holds a list of chat messages stays the text that it is. `input_tokens`, `output_tokens` and
`cost` (USD) are the judge's. `time` is when both episodes took place. Tables with one response per row: see
`per_response`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import (
    BadRecord,
    Episode,
    GoldLabel,
    Log,
    Order,
    PairKey,
    Preference,
    Record,
    RecordError,
    Task,
    Trajectory,
    Value,
    Verdict,
)
from misjudge_tools.interchange.files import FileKind, Row, looks_like, parse_rows, read_rows
from misjudge_tools.interchange.per_response import Response, parse_response, read_responses
from misjudge_tools.interchange.table_cells import cell_text, moment, number, order_shown, whole
from misjudge_tools.interchange.table_guess import guess_mapping
from misjudge_tools.interchange.table_layout import (
    Layout,
    cell,
    checks_of,
    higher,
    imported_judge,
    layout_of,
    messages_of,
    name,
    score_cell,
    task_of,
    text,
    verdict_cell,
)
from misjudge_tools.interchange.table_mapping import TableMapping, parse_mapping
from misjudge_tools.interchange.verdict_words import VerdictWords

__all__ = ["TableMapping", "TablePreview", "guess_mapping", "parse_mapping", "preview_table", "read_table"]

_PEEKED = 1000
_SHOWN_ROWS = 3
_SHOWN_CHARS = 80


class PreviewCell(NamedTuple):
    """A mapped cell: its text, shortened, and for a verdict, label, order or time how it was read (None: not)."""

    role: str
    column: str
    text: str
    reading: str | None = None


class PreviewRow(Value):
    """A row as it would be imported, or the problem for which it would be refused."""

    line: int
    cells: tuple[PreviewCell, ...]
    problem: str | None = None


class TablePreview(Value):
    """What an import would do: the kind of file, the complete mapping, the first rows, and columns left unread."""

    kind: FileKind
    mapping: TableMapping
    rows: tuple[PreviewRow, ...]
    unread_columns: tuple[str, ...]


class _Peek(NamedTuple):
    header: tuple[str, ...]
    rows: tuple[Row, ...]


def read_table(path: Path, mapping: TableMapping, words: VerdictWords | None = None) -> Iterator[Record | BadRecord]:
    """Records of the table. What `mapping` leaves open is guessed from the header; `words` counts what its verdict
    columns say as rows are read. Raises InvalidInput.
    """
    header, rows = _peek(path)
    complete = guess_mapping(header, rows, mapping)
    if complete.per_response:
        yield from read_responses(path, complete)
    else:
        yield from parse_rows(read_rows(path), partial(_counted, layout_of(complete), words or VerdictWords()))


def preview_table(path: Path, mapping: TableMapping) -> TablePreview:
    """How `read_table` would read the file. Raises InvalidInput."""
    header, rows = _peek(path)
    complete = guess_mapping(header, rows, mapping)
    used = {column for entry in complete.columns for column in entry.names}
    return TablePreview(
        kind=looks_like(path),
        mapping=complete,
        rows=tuple(_preview_row(complete, row) for row in rows),
        unread_columns=tuple(column for column in header if column not in used),
    )


def _peek(path: Path) -> _Peek:
    """The header (of JSON: the keys of the first records) and the first rows."""
    header: dict[str, None] = {}
    rows: list[Row] = []
    bad: BadRecord | None = None
    for entry in islice(read_rows(path), _PEEKED):
        if isinstance(entry, BadRecord):
            bad = bad or entry
            continue
        header |= dict.fromkeys(entry.fields)
        if len(rows) < _SHOWN_ROWS:
            rows.append(entry)
    if bad is not None and not rows:
        raise InvalidInput(f"{path}: no record can be read. Line {bad.line}: {bad.problem}.")
    return _Peek(tuple(header), tuple(rows))


def _preview_row(mapping: TableMapping, row: Row) -> PreviewRow:
    layout = layout_of(mapping)
    parse: Callable[[Layout, Row], Response | Record] = parse_response if mapping.per_response else _pair_record
    read = next(parse_rows([row], partial(parse, layout)))
    cells = tuple(_preview_cell(layout, row, role, column) for role, names in mapping.columns for column in names)
    return PreviewRow(line=row.line, cells=cells, problem=read.problem if isinstance(read, BadRecord) else None)


def _preview_cell(layout: Layout, row: Row, role: str, column: str) -> PreviewCell:
    shown = " ".join(cell_text(row.fields.get(column)).split())
    reading: str | None = None
    if role in {"winner", "gold"}:
        reading = verdict_cell(layout, row, column)
    elif role in {"order", "time"}:
        try:
            reading = _reading(layout, row, role, column)
        except RecordError:
            reading = None
    return PreviewCell(role, column, shown[:_SHOWN_CHARS], reading)


def _reading(layout: Layout, row: Row, role: str, column: str) -> str | None:
    value = row.fields.get(column)
    if role == "order":
        return order_shown(column, value, layout.orders)
    read = moment(column, value)
    return None if read is None else read.isoformat(timespec="seconds")


def _counted(layout: Layout, words: VerdictWords, row: Row) -> Record:
    record = _pair_record(layout, row)
    words.add(layout, row)
    return record


def _pair_record(layout: Layout, row: Row) -> Record:
    task = task_of(layout, row)
    trial = whole(*cell(layout, row, "trial"))
    order = order_shown(*cell(layout, row, "order"), layout.orders)
    sides = (_episode(layout, row, task, trial, "A"), _episode(layout, row, task, trial, "B"))
    _refuse_same(sides[0].trajectory, sides[1].trajectory)
    return Record(
        line=row.line,
        task=task,
        episodes=sides,
        # Rows of unknown order may be the two orders of a pair, and are no repeats of one.
        pair=PairKey(pair_id=name(layout, row, "pair_id"), repeats=order is not None, trial=trial),
        gold=tuple(_gold(layout, row)),
        verdicts=tuple(_verdicts(layout, row, order)),
        logs=tuple(_logs(layout, row, order)),
    )


def _episode(layout: Layout, row: Row, task: Task, trial: int | None, side: Literal["A", "B"]) -> Episode:
    letter = side.lower()
    trajectory = Trajectory(
        task_id=task.task_id,
        agent=name(layout, row, f"agent_{letter}") or side,
        trial=trial,
        messages=messages_of(task.prompt, text(layout, row, letter)),
        occurred_at=moment(*cell(layout, row, "time")),
    )
    return Episode(trajectory=trajectory, checks=tuple(checks_of(layout, row, f"_{letter}")))


def _refuse_same(a: Trajectory, b: Trajectory) -> None:
    if a.messages is not None and a.messages == b.messages:
        raise RecordError("both sides hold the same response, so neither can be better")
    if a.trial is not None and a.agent == b.agent:
        raise RecordError("both sides are the same trial of the same agent; a pair needs two trajectories")


def _gold(layout: Layout, row: Row) -> Iterator[GoldLabel]:
    columns = layout.columns.get("gold", ())
    for column in columns:
        pref = verdict_cell(layout, row, column)
        if pref is not None:
            yield GoldLabel(labeller=column, pref=pref, source="human" if len(columns) > 1 else "label")


def _verdicts(layout: Layout, row: Row, order: Order | None) -> Iterator[Verdict]:
    score_a, score_b = (score_cell(layout, row, role) for role in ("score_a", "score_b"))
    named = name(layout, row, "judge")
    winners: dict[str, Preference | None] = {
        column: verdict_cell(layout, row, column) for column in layout.columns.get("winner", ())
    }
    if not winners and layout.columns.get("score_a") and layout.columns.get("score_b"):
        winners = {"scores": higher(score_a, score_b)}
    for column, winner in winners.items():
        judge = imported_judge(named or column, "pairwise", layout.scale)
        reasons = text(layout, row, "reasons")
        if winner is None:
            yield Verdict(judge=judge, order=order, status="unscored", unscored_reason="parse_error", reasons=reasons)
            continue
        better = higher(score_a, score_b)
        yield Verdict(
            judge=judge,
            order=order,
            winner=winner,
            score_a=score_a,
            score_b=score_b,
            reasons=reasons,
            contradicts_scores="tie" not in {winner, better} and better not in {winner, None},
        )


def _logs(layout: Layout, row: Row, order: Order | None) -> Iterator[Log]:
    used_in, used_out = (whole(*cell(layout, row, role)) for role in ("input_tokens", "output_tokens"))
    cost = number(*cell(layout, row, "cost"))
    if used_in is None and used_out is None and cost is None:
        return
    winners = layout.columns.get("winner", ())
    model = name(layout, row, "judge") or (winners[0] if len(winners) == 1 else "")
    yield Log(
        model=model,
        order_shown=order,
        input_tokens=used_in,
        output_tokens=used_out,
        est_cost=cost,
        price_source=None if cost is None else "imported",
    )

"""One row of a table through its mapping: cells by role, and the values that both kinds of table share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from misjudge_storage.hashing import digest
from misjudge_storage.types import Check, Form, Judge, Message, Order, Preference, RecordError, Scale, Task
from misjudge_tools.interchange.files import Row
from misjudge_tools.interchange.scales import bounds
from misjudge_tools.interchange.table_cells import cell_text, folded, number, preference, yes_or_no
from misjudge_tools.interchange.table_mapping import TableMapping

OPEN = Scale()


class Cell(NamedTuple):
    """A cell with the column it stands in; an unmapped role has an empty one."""

    column: str
    value: Any


class Layout(NamedTuple):
    """A mapping, unfolded once for all rows: columns by role, meanings by verdict column (None: common ones), those of
    orders beside the usual words, and the scale of scores.
    """

    columns: Mapping[str, tuple[str, ...]]
    meanings: Mapping[str, Mapping[str, Preference | None] | None]
    orders: Mapping[str, Order]
    scale: Scale


def layout_of(mapping: TableMapping) -> Layout:
    """The layout of a complete mapping."""
    columns = {entry.role: entry.names for entry in mapping.columns}
    verdicts = {name: role for role in ("winner", "gold") for name in columns.get(role, ())}
    meanings = {name: mapping.meanings(role, name) for name, role in verdicts.items()}
    return Layout(columns, meanings, dict(mapping.orders), mapping.scale)


def cell(layout: Layout, row: Row, role: str) -> Cell:
    """The cell of a role that one column plays."""
    names = layout.columns.get(role, ())
    return Cell(names[0], row.fields.get(names[0])) if names else Cell("", None)


def text(layout: Layout, row: Row, role: str) -> str:
    """The text of a role as written, empty where there is none."""
    return cell_text(cell(layout, row, role).value)


def name(layout: Layout, row: Row, role: str) -> str | None:
    """The stripped text of a role, None where that leaves nothing."""
    return text(layout, row, role).strip() or None


def verdict_cell(layout: Layout, row: Row, column: str) -> Preference | None:
    """The side that a verdict column names in this row, None where it names none."""
    return preference(row.fields.get(column), layout.meanings[column])


def is_understood(layout: Layout, row: Row, column: str) -> bool:
    """Whether a verdict cell names a side, or is known to name none."""
    meanings = layout.meanings[column]
    declared = meanings is not None and folded(row.fields.get(column)) in meanings
    return declared or verdict_cell(layout, row, column) is not None


def score_cell(layout: Layout, row: Row, role: str) -> float | None:
    """The score of a role, None for an empty cell. Raises RecordError for one that is not on the scale."""
    return score_on(layout.scale, *cell(layout, row, role))


def score_on(scale: Scale, column: str, value: Any) -> float | None:
    """A score, None for an empty cell. Raises RecordError for one that is not on the scale."""
    score, (low, high) = number(column, value), bounds(scale)
    if score is not None and not low <= score <= high:
        raise RecordError(f"column {column!r} holds a score that is not on the scale from {low:g} to {high:g}")
    return score


def task_of(layout: Layout, row: Row) -> Task:
    """The row's task: by its column, else by its prompt, else by its pair's id, else by its line."""
    prompt = text(layout, row, "prompt")
    derived = digest("task", prompt) if prompt.strip() else name(layout, row, "pair_id") or f"row-{row.line}"
    return Task(
        task_id=name(layout, row, "task") or derived,
        prompt=prompt,
        success_criteria=text(layout, row, "criteria"),
        category=name(layout, row, "category"),
        subset=name(layout, row, "subset"),
    )


def messages_of(prompt: str, response: str) -> tuple[Message, ...] | None:
    """The transcript of a one-turn episode, None without a response."""
    if not response.strip():
        return None
    answer = Message(role="assistant", content=response)
    return (Message(role="user", content=prompt), answer) if prompt.strip() else (answer,)


def checks_of(layout: Layout, row: Row, side: str = "") -> Iterator[Check]:
    """The reward and the success that the row states, of one side (`_a`, `_b`) or of its only response, and what a
    person says of its success.
    """
    reward, success = cell(layout, row, f"reward{side}"), cell(layout, row, f"success{side}")
    if (value := number(*reward)) is not None:
        yield Check(verifier=_verifier(layout, "reward"), source="reward", reward=value)
    if (passed := yes_or_no(*success)) is not None:
        yield Check(verifier=_verifier(layout, "success"), source="label", passed=passed)
    human = cell(layout, row, "human")
    if (said := yes_or_no(*human)) is not None:
        yield Check(verifier=human.column, source="human", passed=said)


def _verifier(layout: Layout, stem: str) -> str:
    """The column's name; of `reward_a` and `reward_b` what they share, since one verifier checked both sides."""
    columns = [column for end in ("", "_a", "_b") for column in layout.columns.get(f"{stem}{end}", ())]
    if len(columns) == 1:
        return columns[0]
    shared = takewhile(lambda letters: letters[0] == letters[1], zip(*columns, strict=False))
    return "".join(letter for letter, _ in shared).rstrip(" _-.") or stem


def imported_judge(label: str, form: Form, scale: Scale = OPEN) -> Judge:
    """The judge that a file names by `label`; its scale is open where nobody states one."""
    return _judge(label, form, scale.low, scale.high, scale.threshold, scale.better)


@lru_cache(maxsize=4096)
def _judge(label: str, form: Form, *scale: object) -> Judge:
    stated = Scale.model_validate(dict(zip(Scale.model_fields, scale, strict=True)))
    return Judge(label=label, form=form, origin="imported", model=label, scale=stated)


def higher(score_a: float | None, score_b: float | None) -> Preference | None:
    """The side with the higher score, None where one is missing."""
    if score_a is None or score_b is None:
        return None
    return "tie" if score_a == score_b else "A" if score_a > score_b else "B"

"""The roles that columns of a table probably play, guessed from common names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from misjudge_storage.types import RecordError
from misjudge_tools.interchange.files import Row
from misjudge_tools.interchange.table_cells import folded, moment, preference, yes_or_no
from misjudge_tools.interchange.table_mapping import (
    OF_ONE_JUDGE,
    PAIR_ROLES,
    RESPONSE_ROLES,
    RoleColumns,
    TableMapping,
    check_columns,
    check_mapping,
)

_NAMES: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "question", "instruction", "input", "query"),
    "winner": (
        *("winner", "judge_pref", "judge_winner", "judge_choice", "verdict", "judgment", "judgement", "decision"),
        *("preference", "choice"),
    ),
    "gold": (
        *("gold", "gold_pref", "gold_label", "ground_truth", "human_winner", "human_pref", "human_preference"),
        *("human", "annotation", "label"),
    ),
    "order": ("order", "blind_order", "order_shown", "swapped", "is_swapped", "swap"),
    "judge": ("judge", "judge_model", "judge_name", "evaluator"),
    "pair_id": ("pair_id", "pair", "comparison_id"),
    "trial": ("trial", "attempt"),
    "time": ("occurred_at", "created_at", "timestamp", "datetime", "date_time", "date", "time"),
    "category": ("category", "task_type", "domain", "topic"),
    "subset": ("subset", "split"),
    "criteria": ("success_criteria", "criteria"),
    "reasons": ("reasons", "reason", "rationale", "explanation", "justification"),
    "input_tokens": ("judge_input_tokens", "judge_prompt_tokens"),
    "output_tokens": ("judge_output_tokens", "judge_completion_tokens"),
    "cost": ("judge_cost",),
    "agent": ("agent", "model", "agent_model", "model_name", "system", "generator"),
    "response": ("response", "answer", "output", "completion", "text"),
    "score": ("score", "judge_score", "rating", "satisfaction"),
    "reward": ("reward",),
    "success": ("success", "task_success", "passed", "correct"),
    "human": ("human_label", "human_success", "human_passed", "human"),
    "task": ("task_id", "question_id", "prompt_id", "instruction_id", "task", "id"),
}
_TWO_SIDED: Mapping[str, tuple[str, ...]] = {
    "": ("", "response", "answer", "output", "completion", "assistant", "candidate", "text", "conversation"),
    "agent": ("agent", "model", "system", "generator"),
    "score": ("score", "judge_score", "rating"),
    "reward": ("reward",),
    "success": ("success", "task_success", "passed", "correct"),
}
_SUFFIXES = (("a", "b"), ("1", "2"), ("0", "1"), ("left", "right"))
_DOUBTFUL = frozenset({"human", "annotation", "label", "preference", "choice", "decision"})

_READ_AS: Mapping[str, Callable[[str, Any], Any]] = {"time": moment, "human": yes_or_no}
"""Roles that a column is only taken for where the first rows can be read so: a time may be a duration."""

_Free = Callable[[str], str | None]


class _Sides(NamedTuple):
    a: str
    b: str


def guess_mapping(header: Sequence[str], first_rows: Sequence[Row], given: TableMapping) -> TableMapping:
    """`given`, completed by columns with common names, and checked against the header.

    Columns whose name is doubtful (`label`, `choice`) are taken only where the first rows hold verdicts or
    number codes in them; those of times and of what people say only where the first rows can be read so. Guessing
    again changes nothing. Raises InvalidInput.
    """
    check_columns(header, given)
    roles = RESPONSE_ROLES if given.per_response else PAIR_ROLES
    chosen = {entry.role: entry.names for entry in given.columns}
    if len(given.names("winner")) > 1:
        chosen = {**dict.fromkeys(OF_ONE_JUDGE, ()), **chosen}
    mapping = given
    by_name: dict[str, list[str]] = {}
    for name in header:
        by_name.setdefault(_plain_name(name), []).append(name)

    def free(common: str) -> str | None:
        taken = {name for names in chosen.values() for name in names}
        return next((column for column in by_name.get(common, ()) if column not in taken), None)

    if not given.per_response:
        chosen |= dict(_two_sided(free, chosen))
    for role in _NAMES:
        if role in roles and role not in chosen:
            column = _one_column(role, free, mapping, first_rows)
            if column is not None:
                chosen[role] = (column,)
        ordered = tuple(RoleColumns(role, chosen[role]) for role in roles if role in chosen)
        mapping = given.model_copy(update={"columns": ordered})
    check_mapping(header, mapping)
    return mapping


def _plain_name(name: str) -> str:
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z])(?=\d+$)", "_", name)
    return re.sub(r"[\s_.-]+", "_", split.casefold())


def _two_sided(free: _Free, chosen: Mapping[str, tuple[str, ...]]) -> Iterator[RoleColumns]:
    for stem, nouns in _TWO_SIDED.items():
        roles = ("a", "b") if stem == "" else (f"{stem}_a", f"{stem}_b")
        found = None if any(role in chosen for role in roles) else _side_columns(nouns, free)
        if found is not None:
            yield RoleColumns(roles[0], (found.a,))
            yield RoleColumns(roles[1], (found.b,))


def _side_columns(nouns: Sequence[str], free: _Free) -> _Sides | None:
    for (first, second), noun in product(_SUFFIXES, nouns):
        for form in (f"{noun}_{{}}", f"{{}}_{noun}") if noun else ("{}",):
            a, b = free(form.format(first)), free(form.format(second))
            if a is not None and b is not None:
                return _Sides(a, b)
    return None


def _one_column(role: str, free: _Free, mapping: TableMapping, rows: Sequence[Row]) -> str | None:
    names = _NAMES[role]
    if role == "task" and mapping.names("prompt"):
        # A number of the row would tear the two orders of one pair apart; the prompt identifies the task.
        names = tuple(name for name in names if name != "id")
    for name in names:
        column = free(name)
        if column is not None and _may_be(role, column, name in _DOUBTFUL, mapping, rows):
            return column
    return None


def _may_be(role: str, column: str, doubtful: bool, mapping: TableMapping, rows: Sequence[Row]) -> bool:
    read = _READ_AS.get(role)
    if read is not None:
        return _can_all_be_read(read, column, rows)
    return not doubtful or _may_hold_verdicts(role, column, mapping, rows)


def _can_all_be_read(read: Callable[[str, Any], Any], column: str, rows: Sequence[Row]) -> bool:
    try:
        for row in rows:
            read(column, row.fields.get(column))
    except RecordError:
        return False
    return True


def _may_hold_verdicts(role: str, column: str, mapping: TableMapping, rows: Sequence[Row]) -> bool:
    meanings = mapping.meanings(role, column)
    cells = [row.fields.get(column) for row in rows]
    filled = [cell for cell in cells if folded(cell)]
    return not filled or any(
        preference(cell, meanings) or re.fullmatch(r"-?\d{1,2}", folded(cell), re.ASCII) for cell in filled
    )

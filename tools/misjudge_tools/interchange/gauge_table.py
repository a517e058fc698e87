"""A table of agents, as GAUGE's Table 8: one row per agent with its reward and the gates that would promote it.

A column is named as `name` (higher is better) or `name:rank` (1 is best).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import (
    BadRecord,
    Check,
    Episode,
    Record,
    RecordError,
    Satisfaction,
    Scale,
    Task,
    Trajectory,
)
from misjudge_tools.interchange.evidence import reward_check, satisfaction_judge
from misjudge_tools.interchange.fields import Fields, number, required, text
from misjudge_tools.interchange.files import Row, parse_rows, read_rows

TASK_ID = "gauge-table"
_HIGHER = Scale()
_RANK = Scale(low=1, better="lower")


class _Column(NamedTuple):
    name: str
    is_rank: bool


class _Columns(NamedTuple):
    reward: str
    order: _Column | None
    gates: tuple[_Column, ...]
    agent: str
    base_model: str


def read_gauge_table(
    path: Path,
    *,
    reward_col: str,
    gate_cols: Sequence[str],
    order_col: str | None = None,
    agent_col: str = "agent",
    base_model_col: str = "base_model",
) -> Iterator[Record | BadRecord]:
    """One episode per agent: its reward, its place in the stated order, and one satisfaction score per gate.

    The order only ranks agents of equal reward. `base_model_col` is used where the table has it. Raises
    InvalidInput for columns that are not there and for an order that runs against the reward.
    """
    reward = _column(reward_col)
    if reward.is_rank:
        raise InvalidInput("The reward column must hold rewards, since gaps are measured on it; name ranks as order.")
    order = None if order_col is None else _column(order_col)
    columns = _Columns(reward.name, order, tuple(_column(col) for col in gate_cols), agent_col, base_model_col)
    if order is not None:
        _refuse_reversed_order(_with_columns(path, columns), columns.reward, order)
    return parse_rows(_with_columns(path, columns), partial(_record, columns=columns))


def _column(written: str) -> _Column:
    name, mark, kind = written.rpartition(":")
    if mark and kind == "rank":
        return _Column(name, True)
    return _Column(written, False)


def _with_columns(path: Path, columns: _Columns) -> Iterator[Row | BadRecord]:
    named = [columns.agent, columns.reward, *(gate.name for gate in columns.gates)]
    if columns.order is not None:
        named.append(columns.order.name)
    checked = False
    for row in read_rows(path):
        if isinstance(row, Row) and not checked:
            missing = next((name for name in named if name not in row.fields), None)
            if missing is not None:
                raise InvalidInput(f"{path} has no column {missing!r}. It has {', '.join(row.fields)[:300]}.")
            checked = True
        yield row


def _refuse_reversed_order(rows: Iterable[Row | BadRecord], reward: str, order: _Column) -> None:
    """Raise where better places go with lower rewards: then the direction of the order is named wrongly."""
    places: list[tuple[float, float]] = []
    for row in rows:
        if isinstance(row, Row):
            try:
                gained, place = number(row.fields, reward), _place(row.fields, order)
            except RecordError:  # reported when the row itself is read
                continue
            if gained is not None and place is not None:
                places.append((gained, place))
    if not places:
        return
    mean_gained, mean_place = (math.fsum(values) / len(places) for values in zip(*places, strict=True))
    if math.fsum((gained - mean_gained) * (place - mean_place) for gained, place in places) > 0:
        other = order.name if order.is_rank else f"{order.name}:rank"
        raise InvalidInput(
            f"The order column {order.name!r} runs against the reward column. "
            f"Write {other} ({'higher is better' if order.is_rank else '1 is best'})."
        )


def _place(fields: Fields, order: _Column) -> float | None:
    """The stated order as a rank: lower is better."""
    if order.is_rank:
        return number(fields, order.name, low=1)
    value = number(fields, order.name)
    return None if value is None else -value


def _record(row: Row, columns: _Columns) -> Record:
    fields = row.fields
    reward = number(fields, columns.reward)
    if reward is None:
        raise RecordError(f"{columns.reward} is empty")
    trajectory = Trajectory(
        task_id=TASK_ID, agent=required(fields, columns.agent), base_model=text(fields, columns.base_model)
    )
    episode = Episode(
        trajectory=trajectory,
        checks=(*reward_check(reward, "reward", verifier=columns.reward), *_order_check(fields, columns.order)),
        satisfaction=tuple(score for gate in columns.gates for score in _gate_score(fields, gate)),
    )
    return Record(line=row.line, task=Task(task_id=TASK_ID), episodes=(episode,))


def _order_check(fields: Fields, order: _Column | None) -> tuple[Check, ...]:
    return () if order is None else reward_check(_place(fields, order), "order", verifier=order.name)


def _gate_score(fields: Fields, gate: _Column) -> tuple[Satisfaction, ...]:
    score = number(fields, gate.name, low=1 if gate.is_rank else -math.inf)
    judge = satisfaction_judge(gate.name, _RANK if gate.is_rank else _HIGHER)
    return () if score is None else (Satisfaction(judge=judge, score=score),)

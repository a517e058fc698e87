"""Trajectories: one object per line with task_id, agent and messages (OpenAI or Anthropic).

Also read where they are there: trial, prompt, success_criteria, hard_constraints, category, language,
subset, success (with success_source), reward (with reward_source: verifier or external), system, end_reason,
base_model, input_tokens, output_tokens, simulated, and occurred_at, when the episode took place (else timestamp or
created_at).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from misjudge_storage.types import BadRecord, Episode, Record, RecordError, Task, Trajectory
from misjudge_tools.interchange.evidence import REWARD_SOURCES, SUCCESS_SOURCES, reward_check, success_check
from misjudge_tools.interchange.fields import (
    Fields,
    choice,
    expect,
    flag,
    number,
    raw_text,
    required,
    text,
    whole,
)
from misjudge_tools.interchange.files import Row, parse_rows, read_rows
from misjudge_tools.interchange.messages import read_messages, system_message
from misjudge_tools.interchange.table_cells import moment

TIMES = ("occurred_at", "timestamp", "created_at")


def read_trajectories(path: Path, *, agent: str | None = None) -> Iterator[Record | BadRecord]:
    """One episode per record. `agent` names the agent of records that do not name it.

    Success without a source is a label, reward without one is external. Raises InvalidInput for a file of
    another format.
    """
    rows = expect(read_rows(path), path, "trajectories", "task_id", "messages")
    return parse_rows(rows, partial(_record, agent=agent))


def _record(row: Row, agent: str | None) -> Record:
    fields = row.fields
    task = _task(fields)
    episode = Episode(
        trajectory=_trajectory(fields, task.task_id, agent),
        checks=(
            *success_check(flag(fields, "success"), choice(fields, "success_source", SUCCESS_SOURCES) or "label"),
            *reward_check(number(fields, "reward"), choice(fields, "reward_source", REWARD_SOURCES) or "reward"),
        ),
    )
    return Record(line=row.line, task=task, episodes=(episode,))


def _task(fields: Fields) -> Task:
    return Task(
        task_id=required(fields, "task_id"),
        prompt=raw_text(fields, "prompt"),
        success_criteria=raw_text(fields, "success_criteria"),
        hard_constraints=raw_text(fields, "hard_constraints"),
        category=text(fields, "category"),
        language=text(fields, "language"),
        subset=text(fields, "subset"),
    )


def _trajectory(fields: Fields, task_id: str, agent: str | None) -> Trajectory:
    named = text(fields, "agent") or agent
    if named is None:
        raise RecordError("agent is missing or empty")
    messages = read_messages(fields.get("messages"))
    if not messages:
        raise RecordError("messages is an empty list")
    return Trajectory(
        task_id=task_id,
        agent=named,
        trial=whole(fields, "trial"),
        messages=system_message(fields.get("system")) + messages,
        end_reason=text(fields, "end_reason"),
        base_model=text(fields, "base_model"),
        input_tokens=whole(fields, "input_tokens"),
        output_tokens=whole(fields, "output_tokens"),
        simulated=flag(fields, "simulated") or False,
        occurred_at=_time(fields),
    )


def _time(fields: Fields) -> datetime | None:
    name = next((name for name in TIMES if fields.get(name) is not None), TIMES[0])
    return moment(name, fields.get(name))

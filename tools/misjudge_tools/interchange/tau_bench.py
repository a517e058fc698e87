"""τ-bench trajectory files: a list of {task_id, trial, reward, traj, info}, all of one agent."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from misjudge_storage.types import BadRecord, Check, Episode, Record, RecordError, Task, Trajectory
from misjudge_tools.interchange.fields import Fields, expect, number, raw_text, required, whole
from misjudge_tools.interchange.files import Row, parse_rows, read_rows
from misjudge_tools.interchange.messages import read_messages

_FULL_REWARD = 1 - 1e-6
"""τ-bench itself counts rewards this close to 1 as success."""


def read_tau_bench(path: Path, *, agent: str | None = None) -> Iterator[Record | BadRecord]:
    """One episode per record, of `agent` (else the file's name without its ending).

    Raises InvalidInput for a file of another format.
    """
    rows = expect(read_rows(path), path, "tau-bench", "task_id", "reward", "traj")
    return parse_rows(rows, partial(_record, agent=agent or path.stem))


def _record(row: Row, agent: str) -> Record:
    fields = row.fields
    task_id = required(fields, "task_id")
    reward = number(fields, "reward")
    if reward is None:
        raise RecordError("reward is missing or empty")
    trajectory = Trajectory(
        task_id=task_id, agent=agent, trial=whole(fields, "trial"), messages=read_messages(fields.get("traj"))
    )
    check = Check(verifier="tau-bench", source="verifier", passed=reward >= _FULL_REWARD, reward=reward)
    return Record(
        line=row.line,
        task=Task(task_id=task_id, prompt=_instruction(fields)),
        episodes=(Episode(trajectory=trajectory, checks=(check,)),),
    )


def _instruction(fields: Fields) -> str:
    info = fields.get("info")
    task = info.get("task") if isinstance(info, dict) else None
    return raw_text(task, "instruction") if isinstance(task, dict) else ""

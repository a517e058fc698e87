"""gauge_runs.csv: one simulated session per row, with a judge's satisfaction and the task's success.

Columns: run_id, sim_user_model, judge_model, agent_model, satisfaction, task_success, prompt_tokens,
completion_tokens, total_tokens, judge_flip; and task_id where a run is one of several on a task. The tokens
are kept as those of the session; the total follows. The model that played the user is kept as a log line
without tokens. `simulated` marks the session as made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, Episode, Log, Record, Satisfaction, Scale, Task, Trajectory
from misjudge_tools.interchange.evidence import SUCCESS_SOURCES, satisfaction_judge, success_check
from misjudge_tools.interchange.fields import Fields, choice, expect, flag, number, required, text, whole
from misjudge_tools.interchange.files import Row, parse_rows, read_exported
from misjudge_tools.interchange.scales import SHARE, bounds, read_scale


def read_gauge_runs(path: Path, *, scale: str | None = None) -> Iterator[Record | BadRecord]:
    """One episode per row. Without `scale` (see `read_scale`) satisfaction is a share, satisfied from .8 on.

    Raises InvalidInput for another format and, without a scale, for a satisfaction above 1.
    """
    rows = expect(read_exported(path), path, "gauge-runs", "run_id", "satisfaction", "task_success")
    return parse_rows(rows, partial(_record, path=path, scale=None if scale is None else read_scale(scale)))


def _record(row: Row, path: Path, scale: Scale | None) -> Record:
    fields = row.fields
    run_id = required(fields, "run_id")
    task = Task(task_id=text(fields, "task_id") or run_id, category=text(fields, "category"))
    if scale is None and (number(fields, "satisfaction") or 0) > 1:
        raise InvalidInput(
            f"{path}: line {row.line} has a satisfaction above 1, so it is not a share. "
            "Name its scale, such as --scale 1-7 (satisfied from 5 on) or --scale 1-5:4 (from 4 on)."
        )
    user_model = text(fields, "sim_user_model")
    episode = Episode(
        trajectory=Trajectory(
            task_id=task.task_id,
            agent=text(fields, "agent_model") or "agent",
            trial=whole(fields, "trial"),
            input_tokens=whole(fields, "prompt_tokens"),
            output_tokens=whole(fields, "completion_tokens"),
            simulated=flag(fields, "simulated") or False,
        ),
        checks=success_check(
            flag(fields, "task_success"),
            choice(fields, "success_source", SUCCESS_SOURCES) or "label",
            verifier="task_success",
        ),
        satisfaction=(_satisfaction(fields, scale or SHARE),),
        logs=() if user_model is None else (Log(role="user_sim", model=user_model),),
    )
    return Record(line=row.line, task=task, episodes=(episode,))


def _satisfaction(fields: Fields, scale: Scale) -> Satisfaction:
    label = text(fields, "judge_model")
    score = number(fields, "satisfaction", *bounds(scale))
    return Satisfaction(
        judge=satisfaction_judge(label or "judge", scale, model=label or ""),
        score=score,
        unscored_reason="parse_error" if score is None else None,
        flip=flag(fields, "judge_flip"),
    )

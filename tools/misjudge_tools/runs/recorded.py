"""Recorded agents: trajectories of files that take part in a comparison as if their agents had run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from misjudge_storage.errors import BadRecords, InvalidInput
from misjudge_storage.rows import trajectory_row
from misjudge_storage.types import BadRecord, Record, Task
from misjudge_tools.episodes.settings import RecordedAgent
from misjudge_tools.interchange.confinement import refuse_outside
from misjudge_tools.interchange.tau_bench import read_tau_bench
from misjudge_tools.interchange.trajectories import read_trajectories
from misjudge_tools.runs.rollout_plan import Side

READERS: Mapping[str, Callable[[Path], Iterator[Record | BadRecord]]] = {
    "trajectories": read_trajectories,
    "tau-bench": read_tau_bench,
}
NAMED = 10
"""Problems that an error spells out."""


def recorded_records(recordings: Mapping[str, RecordedAgent], roots: Sequence[Path] | None) -> list[Record]:
    """The episodes of recorded agents under their names, as first trials. Raises InvalidInput or BadRecords."""
    records: list[Record] = []
    for name, agent in recordings.items():
        records.extend(_of_agent(name, agent, roots))
    return _with_one_prompt(records)


def _of_agent(name: str, agent: RecordedAgent, roots: Sequence[Path] | None) -> Iterator[Record]:
    if roots is not None:
        refuse_outside(agent.file, roots)
    seen: set[str] = set()
    for record in _read(agent):
        for episode in record.episodes:
            trajectory = episode.trajectory
            if agent.trial not in {None, trajectory.trial} or agent.agent not in {None, trajectory.agent}:
                continue
            if trajectory.task_id in seen:
                raise InvalidInput(
                    f"{agent.file.name} holds several attempts of agent {name!r} at task {trajectory.task_id[:100]!r}. "
                    "Say which: trial = N or agent = NAME in its table of misjudge.toml."
                )
            seen.add(trajectory.task_id)
            renamed = trajectory.model_copy(
                update={"agent": name, "trial": 0, "end_reason": trajectory.end_reason or "recorded"}
            )
            yield Record(
                line=record.line, task=record.task, episodes=(episode.model_copy(update={"trajectory": renamed}),)
            )
    if not seen:
        raise InvalidInput(
            f"{agent.file.name} holds no trajectory for agent {name!r}. Check trial and agent in its table."
        )


def _read(agent: RecordedAgent) -> list[Record]:
    good: list[Record] = []
    bad: list[str] = []
    for record in READERS[agent.format](agent.file):
        if isinstance(record, BadRecord):
            bad.append(f"line {record.line}: {record.problem}")
        else:
            good.append(record)
    if bad:
        raise BadRecords(agent.file.name, bad[:NAMED], len(bad))
    return good


def _with_one_prompt(records: Sequence[Record]) -> list[Record]:
    """The records with one task for each id: a file that leaves the prompt out follows one that states it."""
    tasks: dict[str, Task] = {}
    for record in records:
        assert record.task is not None
        known = tasks.get(record.task.task_id)
        if known is None or (not known.prompt and record.task.prompt):
            tasks[record.task.task_id] = record.task
    return [record.model_copy(update={"task": tasks[record.task.task_id]}) for record in records if record.task]


def sides_of(audit: str, records: Sequence[Record]) -> list[Side]:
    """The recorded trajectories of records, under the ids that storing them gives."""
    sides = []
    for record in records:
        for episode in record.episodes:
            trajectory = episode.trajectory
            row = trajectory_row(audit, trajectory, str(record.line))
            sides.append(Side(trajectory.task_id, trajectory.trial or 0, trajectory.agent, row["trajectory_id"]))
    return sides

"""SimulatorArena, math tutoring: sessions of people with a tutor model, rated 1 to 10 by them.

A session succeeded where the person then solved the problem (problem_1_correctness).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from misjudge_storage.types import BadRecord, Episode, Message, Record, RecordError, Satisfaction, Task, Trajectory
from misjudge_tools.interchange.evidence import satisfaction_judge, success_check
from misjudge_tools.interchange.fields import Fields, choice, expect, number, required, text
from misjudge_tools.interchange.files import Row, parse_rows, read_rows
from misjudge_tools.interchange.scales import ONE_TO_TEN, bounds

_CORRECTNESS = {"correct": True, "incorrect": False}


def read_simulatorarena(path: Path) -> Iterator[Record | BadRecord]:
    """One episode per session. Raises InvalidInput for a file of another format."""
    needed = ("problem_id", "model", "user_queries", "ai_responses", "overall_rating")
    return parse_rows(expect(read_rows(path), path, "simulatorarena", *needed), _record)


def _record(row: Row) -> Record:
    fields = row.fields
    task_id = required(fields, "problem_id")
    rating = number(fields, "overall_rating", *bounds(ONE_TO_TEN))
    judge = satisfaction_judge("overall_rating", ONE_TO_TEN)
    episode = Episode(
        trajectory=Trajectory(task_id=task_id, agent=required(fields, "model"), messages=_messages(fields)),
        checks=success_check(
            choice(fields, "problem_1_correctness", _CORRECTNESS), "label", verifier="problem_1_correctness"
        ),
        satisfaction=() if rating is None else (Satisfaction(judge=judge, score=rating),),
    )
    task = Task(task_id=task_id, category=text(fields, "type"))
    return Record(line=row.line, task=task, episodes=(episode,))


def _messages(fields: Fields) -> tuple[Message, ...]:
    messages: list[Message] = []
    for asked, answered in zip_longest(_texts(fields, "user_queries"), _texts(fields, "ai_responses")):
        if asked is not None:
            messages.append(Message(role="user", content=asked))
        if answered is not None:
            messages.append(Message(role="assistant", content=answered))
    return tuple(messages)


def _texts(fields: Fields, name: str) -> list[str | None]:
    """The turns of one side; None where it said nothing, and uploaded files (a list of names) as `[file]`."""
    turns = fields.get(name)
    if not isinstance(turns, list) or not all(turn is None or isinstance(turn, str | list) for turn in turns):
        raise RecordError(f"{name} must be a list of texts")
    return ["\n".join("[file]" for _ in turn) if isinstance(turn, list) else turn for turn in turns]

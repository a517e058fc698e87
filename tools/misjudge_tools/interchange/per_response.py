"""Tables with one response per row: the responses of a task are paired, each with each, in the order of the file.

A judge's verdict on a pair compares its two scores: the higher wins, equal is a tie, a missing one leaves the
verdict unscored. Each score is also a satisfaction score of its response, satisfied from the threshold of the scale on
that is stated. A judge is named by the row's `judge`
cell where one column holds scores, else by the score column. Rows of a task may be scattered.

Rows of one task with the same agent, trial and text are one response, scored by several judges or repeatedly.
Without texts and trials the rows of an agent (and judge) are its attempts, numbered from 0 as `trial`.
Responses with the same text are not paired; one that no pair holds is a record of its own. `human` is what a person
says of the success of a response, and `time` is when it was given, of several rows of one response the earliest.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import digest
from misjudge_storage.types import (
    BadRecord,
    Check,
    Episode,
    Name,
    PairKey,
    Record,
    Satisfaction,
    Scale,
    Task,
    Trajectory,
    Value,
    Verdict,
)
from misjudge_tools.interchange.evidence import satisfaction_judge
from misjudge_tools.interchange.files import Row, parse_rows, read_rows
from misjudge_tools.interchange.table_cells import moment, whole
from misjudge_tools.interchange.table_layout import (
    Layout,
    cell,
    checks_of,
    higher,
    imported_judge,
    layout_of,
    messages_of,
    name,
    score_on,
    task_of,
    text,
)
from misjudge_tools.interchange.table_mapping import TableMapping

MAX_RESPONSES = 500
"""Most responses of one task; they make 124,750 pairs."""
MAX_TASK_CHARS = 64_000_000
"""Most text in the responses of one task."""


class JudgeScore(NamedTuple):
    """A judge's score of a response, higher is better; None where the cell is empty."""

    judge: Name
    score: float | None


class Response(Value):
    """One row of the table."""

    line: int
    task: Task
    agent: Name
    trial: int | None
    text: str
    scores: tuple[JudgeScore, ...]
    checks: tuple[Check, ...]
    time: datetime | None = None


class _Scored(NamedTuple):
    """A response as one episode, with its scores by judge."""

    line: int
    task: Task
    episode: Episode
    scores: dict[str, list[float | None]]


def read_responses(path: Path, mapping: TableMapping) -> Iterator[Record | BadRecord]:
    """Records of a table with one response per row; bad rows come first. `mapping` is complete. Raises InvalidInput.

    Rows wait for the rest of their task in a private temporary database on disk, so memory holds one task. The
    iterator may move between threads.
    """
    parse = partial(parse_response, layout_of(mapping))
    try:
        with closing(sqlite3.connect("", check_same_thread=False)) as spool:
            spool.execute("CREATE TABLE response (line INTEGER PRIMARY KEY, task TEXT, data TEXT)")
            for entry in parse_rows(read_rows(path), parse):
                if isinstance(entry, BadRecord):
                    yield entry
                    continue
                values = (entry.line, entry.task.task_id, entry.model_dump_json())
                spool.execute("INSERT INTO response VALUES (?, ?, ?)", values)
            spool.execute("CREATE INDEX by_task ON response (task, line)")
            for (task,) in spool.execute("SELECT task FROM response GROUP BY task ORDER BY min(line)"):
                rows = spool.execute("SELECT data FROM response WHERE task = ? ORDER BY line", (task,))
                responses = (Response.model_validate_json(data) for (data,) in rows)
                yield from _task_records(_merged(_bounded(path, responses), mapping.scale))
    except sqlite3.OperationalError:
        raise InvalidInput(
            f"{path}: the temporary folder has no room to group the responses by task. Free space there or set TMPDIR."
        ) from None


def parse_response(layout: Layout, row: Row) -> Response:
    """The response that a row holds. Raises RecordError, ValidationError."""
    columns = layout.columns.get("score", ())
    judge = name(layout, row, "judge") if len(columns) == 1 else None
    return Response(
        line=row.line,
        task=task_of(layout, row),
        agent=name(layout, row, "agent") or "response",
        trial=whole(*cell(layout, row, "trial")),
        text=text(layout, row, "response"),
        scores=tuple(
            JudgeScore(judge or column, score_on(layout.scale, column, row.fields.get(column))) for column in columns
        ),
        checks=tuple(checks_of(layout, row)),
        time=moment(*cell(layout, row, "time")),
    )


def _bounded(path: Path, responses: Iterable[Response]) -> list[Response]:
    kept: list[Response] = []
    chars = 0
    for response in responses:
        kept.append(response)
        chars += len(response.text)
        if len(kept) > MAX_RESPONSES or chars > MAX_TASK_CHARS:
            raise InvalidInput(
                f"{path}: line {response.line}: a task has more than {MAX_RESPONSES} responses or "
                f"{MAX_TASK_CHARS:,} characters, too many to pair each with each. Check which column names the task."
            )
    return kept


def _merged(responses: Sequence[Response], scale: Scale) -> list[_Scored]:
    groups: dict[tuple[str, int | None, str], list[Response]] = {}
    attempts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for response in responses:
        trial = response.trial
        if trial is None and not response.text.strip():
            rater = (response.agent, tuple(score.judge for score in response.scores))
            trial = attempts[rater]
            attempts[rater] += 1
        groups.setdefault((response.agent, trial, response.text), []).append(response)
    return [_scored(trial, group, scale) for (_, trial, _), group in groups.items()]


def _scored(trial: int | None, group: Sequence[Response], scale: Scale) -> _Scored:
    first = group[0]
    scores: dict[str, list[float | None]] = {}
    for response in group:
        for judge, score in response.scores:
            scores.setdefault(judge, []).append(score)
    episode = Episode(
        trajectory=Trajectory(
            task_id=first.task.task_id,
            agent=first.agent,
            trial=trial,
            messages=messages_of(first.task.prompt, first.text),
            occurred_at=min((response.time for response in group if response.time), default=None),
        ),
        checks=tuple(dict.fromkeys(check for response in group for check in response.checks)),
        satisfaction=tuple(
            Satisfaction(
                judge=satisfaction_judge(judge, scale, model=judge),
                score=score,
                repeat=repeat,
                unscored_reason="parse_error" if score is None else None,
            )
            for judge, given in scores.items()
            for repeat, score in enumerate(given)
        ),
    )
    return _Scored(first.line, first.task, episode, scores)


def _task_records(responses: Sequence[_Scored]) -> Iterator[Record]:
    paired: set[int] = set()
    for (i, first), (j, second) in combinations(enumerate(responses), 2):
        messages = first.episode.trajectory.messages
        if messages is not None and messages == second.episode.trajectory.messages:
            continue
        paired |= {i, j}
        yield _pair(first, second)
    for i, alone in enumerate(responses):
        if i not in paired:
            yield Record(line=alone.line, task=alone.task, episodes=(alone.episode,))


def _pair(first: _Scored, second: _Scored) -> Record:
    sides = (first.episode.trajectory, second.episode.trajectory)
    trial = sides[0].trial if sides[0].trial == sides[1].trial else None
    # The store tells pairs apart by their texts; without these by agent and attempt.
    named = any(side.messages is None for side in sides)
    return Record(
        line=second.line,
        task=second.task,
        episodes=(first.episode, second.episode),
        pair=PairKey(
            pair_id=digest("pair", [side.model_dump(exclude={"occurred_at"}) for side in sides]) if named else None,
            trial=trial,
        ),
        verdicts=tuple(_verdicts(first, second)),
    )


def _verdicts(first: _Scored, second: _Scored) -> Iterator[Verdict]:
    for judge in dict.fromkeys((*first.scores, *second.scores)):
        a, b = first.scores.get(judge, [None]), second.scores.get(judge, [None])
        for repeat, (score_a, score_b) in enumerate(zip(a, b, strict=False)):
            winner = higher(score_a, score_b)
            yield Verdict(
                judge=imported_judge(judge, "pairwise"),
                repeat=repeat,
                status="unscored" if winner is None else "scored",
                winner=winner,
                score_a=score_a,
                score_b=score_b,
                unscored_reason="parse_error" if winner is None else None,
            )

"""The rows of a reduced audit as columns of numbers, a chunk at a time, for what counts them all in one pass.

SQLite takes about a second to group a million rows by anything; numpy counts all that a summary groups by in one pass
over them. It never holds more than a chunk of rows, and the sums of one task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from misjudge_storage.reduced_audit import JUDGES, PER_JUDGE, PER_TASK, ROWS, SEGMENTS
from misjudge_storage.reduced_episodes import ACTORS, TASKS
from misjudge_storage.reduced_kinds import KINDS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 1 << 16
NOTHING = -1
"""Stands for a value that is not known, among numbers that are not negative."""


class Chunk(NamedTuple):
    """Rows, one element of each column a row: pairs as judged by one judge, in the order of `unit`.

    A unit is a judge and a task in one number (see `judge_of`, `task_of`). `bucket` is 1 for near, 2 for wide, 0 for
    neither; `kind` a column of `ReducedFacts.of_kinds`; `score_lead` what the judge gave A more than B. What is not
    known is nan.
    """

    unit: Ints
    bucket: Ints
    kind: Ints
    actor_a: Ints
    actor_b: Ints
    turns: Floats
    reward_lead: Floats
    score_lead: Floats


def judge_of(unit: Ints) -> Ints:
    """The place of the judges in `ReducedFacts.judges`."""
    return unit // PER_JUDGE


def task_of(unit: Ints) -> Ints:
    """The numbers of the tasks."""
    return unit % PER_JUDGE


class Counting(Protocol):
    """What counts rows in one pass with others (`count_rows`)."""

    def add(self, chunk: Chunk, last: int) -> None:
        """Count the rows. Of units below `last` all rows have been given by now."""


class Named(NamedTuple):
    """The values of an attribute by number, as text, and for each number of a subject that of its value, or NOTHING."""

    names: Sequence[str]
    of: Ints

    def name(self, number: int) -> str | None:
        """The value of this number, None where it is NOTHING."""
        return None if number == NOTHING else self.names[number]


class ReducedFacts:
    """What rows of a reduced audit have in common, each read when it is first asked for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def judges(self) -> Sequence[str | None]:
        """Judge ids by number; None is of pairs that nobody judged."""
        return self._connection.scalars(text(f"SELECT judge_id FROM {JUDGES} ORDER BY judge_no")).all()

    def of_tasks(self, name: str) -> Named:
        """The subset, category or language of the tasks."""
        return self._named(TASKS, "task_no", name)

    def of_actors(self, name: str) -> Named:
        """The agent or base model of the sides."""
        return self._named(ACTORS, "actor_no", name)

    def of_kinds(self, columns: Sequence[str]) -> Ints:
        """Expressions over columns of the kinds, a row of the result each, and a column of it for each kind."""
        named = ", ".join(columns)
        rows = self._connection.execute(text(f"SELECT {named} FROM {KINDS} ORDER BY kind_no")).all()
        return np.array([tuple(row) for row in rows], dtype=np.int64).reshape(len(rows), len(columns)).T.copy()

    @cached_property
    def _patterns(self) -> tuple[Ints, Ints]:
        """The patterns by number, and in the order of kinds, pattern and gold in one number."""
        kinds = self._connection.execute(text(f"SELECT pattern_no, gold_no FROM {KINDS} ORDER BY kind_no")).all()
        pattern, gold = np.array([tuple(kind) for kind in kinds], dtype=np.int64).reshape(len(kinds), 2).T
        patterns = np.unique(pattern)
        return patterns, _in_one(np.searchsorted(patterns, pattern), gold)

    def kind_of(self, pattern: Ints, gold: Ints) -> Ints:
        """The numbers of kinds by those of their patterns and gold."""
        patterns, kinds = self._patterns
        return np.searchsorted(kinds, _in_one(np.searchsorted(patterns, pattern), gold))

    def _named(self, table: str, number: str, name: str) -> Named:
        rows = self._connection.execute(text(f"SELECT {number}, {name} FROM {table}")).all()
        names = sorted({value for _, value in rows if value is not None})
        places = {value: place for place, value in enumerate(names)}
        of = np.full(max((no for no, _ in rows), default=-1) + 1, NOTHING, dtype=np.int64)
        for no, value in rows:
            of[no] = places.get(value, NOTHING)
        return Named(names, of)


_GOLD_NUMBERS = 1 << 32


def _in_one(pattern: Ints, gold: Ints) -> Ints:
    return pattern * _GOLD_NUMBERS + gold


_CURSORS = count(1)
_NO_NUMBERS: Ints = np.zeros(0, dtype=np.int64)
_NO_VALUES: Floats = np.zeros(0)
_NO_ROWS = Chunk(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_VALUES, _NO_VALUES, _NO_VALUES)
_NO_MORE = 1 << 62
_QUERY = f"""
    SELECT r.segment_no, r.pattern_no, r.gold_no, r.actor_a, r.actor_b, r.turns, r.reward_lead, r.score_a - r.score_b
    FROM {SEGMENTS} s CROSS JOIN {ROWS} r WHERE r.segment_no = s.segment_no ORDER BY s.segment_no
"""


def count_rows(connection: Connection, facts: ReducedFacts, countings: Sequence[Counting]) -> None:
    """Give all rows of the reduced audit to each counting; after `reduced_audit.reduce_audit`."""
    for chunk in chunks(connection, facts):
        for counting in countings:
            counting.add(chunk, int(chunk.unit[-1]))
    for counting in countings:
        counting.add(_NO_ROWS, _NO_MORE)


def chunks(connection: Connection, facts: ReducedFacts) -> Iterator[Chunk]:
    """The rows of the reduced audit, in the order of judges, tasks and buckets of ability."""
    for columns in fetched(connection, _QUERY):
        segment, pattern, gold, actor_a, actor_b = columns[:5].astype(np.int64)
        kind = facts.kind_of(pattern, gold)
        yield Chunk(segment // PER_TASK, segment % PER_TASK, kind, actor_a, actor_b, *columns[5:])


def fetched(connection: Connection, query: str) -> Iterator[Floats]:
    """The columns of a query of numbers below 2 ** 53, a chunk of rows at a time; nan where there is none."""
    # The driver's own cursor: rows of SQLAlchemy are no tuples, which takes numpy twice as long.
    # On Postgres one that has a name, which sends no more than what is fetched.
    named = {"name": f"rows_{next(_CURSORS)}"} if connection.dialect.name == "postgresql" else {}
    cursor = connection.connection.cursor(**named)
    try:
        cursor.execute(query)
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            yield np.array(rows, dtype=np.float64).T
    finally:
        cursor.close()

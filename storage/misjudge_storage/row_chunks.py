"""The rows of a reduced audit as columns of numbers, a chunk at a time, for what counts them all in one pass.

SQLite takes about a second to group a million rows by anything; numpy counts all that a summary groups by in one pass
over them. It never holds more than a chunk of rows, and the sums of one task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count, islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from misjudge_storage.reduced_audit import JUDGES, PER_JUDGE, PER_SIDE, PER_TASK, ROWS, SEGMENTS
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
        self._tasks: dict[str, Named] = {}

    @cached_property
    def judges(self) -> Sequence[str | None]:
        """Judge ids by number; None is of pairs that nobody judged."""
        return self._connection.scalars(text(f"SELECT judge_id FROM {JUDGES} ORDER BY judge_no")).all()

    def of_tasks(self, name: str) -> Named:
        """The subset, category or language of the tasks."""
        if name not in self._tasks:
            self._tasks[name] = self._named(TASKS, "task_no", name)
        return self._tasks[name]

    def of_actors(self, name: str) -> Named:
        """The agent or base model of the sides."""
        return self._named(ACTORS, "actor_no", name)

    def of_kinds(self, columns: Sequence[str]) -> Ints:
        """Expressions over columns of the kinds, a row of the result each, and a column of it for each kind."""
        named = ", ".join(columns)
        rows = self._connection.execute(text(f"SELECT {named} FROM {KINDS} ORDER BY kind_no")).all()
        return np.array([tuple(row) for row in rows], dtype=np.int64).reshape(len(rows), len(columns)).T.copy()

    @cached_property
    def kind_keys(self) -> Ints:
        """The keys of the kinds, in the order of their numbers, which is theirs."""
        keys = self._connection.scalars(text(f"SELECT kind_key FROM {KINDS} ORDER BY kind_no")).all()
        return np.array(keys, dtype=np.int64)

    def _named(self, table: str, number: str, name: str) -> Named:
        rows = fetched(self._connection, f"SELECT {number}, {name} FROM {table}", _NUMBERED)
        found = np.concatenate([np.zeros(0, _NUMBERED), *rows])
        values = found["value"].tolist()
        names = sorted({*values} - {None})
        places = {value: place for place, value in enumerate(names)}
        of = np.full(found["number"].max(initial=-1) + 1, NOTHING, dtype=np.int64)
        of[found["number"]] = [places.get(value, NOTHING) for value in values]
        return Named(names, of)


_CURSORS = count(1)
_NUMBERED = np.dtype([("number", "i8"), ("value", "O")])
_NO_NUMBERS: Ints = np.zeros(0, dtype=np.int64)
_NO_VALUES: Floats = np.zeros(0)
_NO_ROWS = Chunk(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_VALUES, _NO_VALUES, _NO_VALUES)
_NO_MORE = 1 << 62
_QUERY = f"""
    SELECT r.segment_no, r.kind_key, r.sides, r.turns, r.reward_lead, r.score_a - r.score_b
    FROM {SEGMENTS} s CROSS JOIN {ROWS} r WHERE r.segment_no = s.segment_no ORDER BY s.segment_no
"""
_NUMBERS, _VALUES = ("segment", "kind", "sides"), ("turns", "reward_lead", "score_lead")
_ROW = np.dtype([*((name, "i8") for name in _NUMBERS), *((name, "f8") for name in _VALUES)])


def count_rows(connection: Connection, facts: ReducedFacts, countings: Sequence[Counting]) -> None:
    """Give all rows of the reduced audit to each counting; after `reduced_audit.reduce_audit`."""
    for chunk in chunks(connection, facts):
        for counting in countings:
            counting.add(chunk, int(chunk.unit[-1]))
    for counting in countings:
        counting.add(_NO_ROWS, _NO_MORE)


def chunks(connection: Connection, facts: ReducedFacts) -> Iterator[Chunk]:
    """The rows of the reduced audit, in the order of judges, tasks and buckets of ability."""
    for rows in fetched(connection, _QUERY, _ROW):
        unit, bucket = np.divmod(rows["segment"], PER_TASK)
        actor_a, actor_b = np.divmod(rows["sides"], PER_SIDE)
        kind = np.searchsorted(facts.kind_keys, rows["kind"])
        yield Chunk(unit, bucket, kind, actor_a, actor_b, *(rows[name].copy() for name in _VALUES))


def fetched(connection: Connection, query: str, row: np.dtype[np.void]) -> Iterator[NDArray[np.void]]:
    """The rows of a query, a chunk at a time, with their columns as the fields of `row`; nan for no float."""
    # The driver's own cursor, whose rows are tuples, which numpy reads one after the other as they come.
    # On Postgres one that has a name, which sends no more than what is fetched.
    on_postgres = connection.dialect.name == "postgresql"
    cursor: Any = connection.connection.cursor(**({"name": f"rows_{next(_CURSORS)}"} if on_postgres else {}))
    if on_postgres:
        cursor.itersize = ROWS_AT_A_TIME
    try:
        cursor.execute(query)
        rows = iter(cursor)
        while len(chunk := np.fromiter(islice(rows, ROWS_AT_A_TIME), row)):
            yield chunk
    finally:
        cursor.close()

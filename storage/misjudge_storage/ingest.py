"""Records into the store: one transaction, in batches, equal rows once, different ones refused.

Re-importing changes nothing, because every id is a digest of what the record says. An id that comes again
with different content raises Conflict and the whole transaction is undone.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Literal, NamedTuple

from sqlalchemy import Connection, Insert, Table, null, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import SQLModel

from misjudge_storage import columns, tables
from misjudge_storage import rows as make
from misjudge_storage.errors import Conflict
from misjudge_storage.rows import Row, storable
from misjudge_storage.types import Episode, Judge, PairKey, Record, Rule

BATCH = 400
LOOKUP = 5_000  # values of one query, well under what SQLite and Postgres take
PARENTS_FIRST: tuple[type[SQLModel], ...] = (
    tables.Task,
    tables.TaskRubric,
    tables.Trajectory,
    tables.Check,
    tables.Pair,
    tables.GoldLabel,
    tables.Verdict,
    tables.JudgeLog,
)
KEY_NAMES: dict[type[SQLModel], str] = {
    model: list(tables.table(model).primary_key.columns)[-1].name for model in PARENTS_FIRST
}
"""The column that tells rows of one audit apart."""
CONTENT = "content_hash"
CONTENT_NAMES: Mapping[type[SQLModel], str] = {tables.TaskRubric: "rubric_id"}
"""The column that must be equal when a row comes again, where that is another one."""


class Stored(NamedTuple):
    """Rows that an import added, by table; rows that were there already are not counted."""

    added: dict[str, int]


class _New(NamedTuple):
    """A row to store and the line of the record that says it."""

    row: Row
    line: int


def insert_new(connection: Connection, model: type[SQLModel], new: Sequence[Row]) -> int:
    """Insert the rows whose primary key is not stored yet; the number added."""
    return _insert(connection, model, new, unless="same key")


def insert_rubrics(connection: Connection, rubrics: Iterable[Sequence[Rule]]) -> int:
    """Insert the sets of these rules that are not stored yet; the number added."""
    made = [make.rubric_rows(rules) for rules in rubrics]
    added = insert_new(connection, tables.RubricSet, [rubric for rubric, _ in made])
    insert_new(connection, tables.RubricRule, [rule for _, rules in made for rule in rules])
    return added


def insert_trajectories(connection: Connection, new: Sequence[Row]) -> int:
    """Insert the trajectories that are neither stored nor have another one in their place (task, agent and trial); the
    number added.
    """
    return _insert(connection, tables.Trajectory, new, "any unique")


def _insert(
    connection: Connection, model: type[SQLModel], new: Sequence[Row], unless: Literal["same key", "any unique"]
) -> int:
    """Insert the rows that are not taken on the primary key, or on any unique columns; the number added."""
    if not new:
        return 0
    statement = _insertion(tables.table(model), connection.dialect.name, unless)
    clean = [{name: storable(v) if isinstance(v, str) else v for name, v in row.items()} for row in new]
    return connection.execute(statement, clean, execution_options={"preserve_rowcount": True}).rowcount


@cache
def _insertion(table: Table, dialect: str, unless: Literal["same key", "any unique"]) -> Insert:
    """Made once, since making it takes longer than storing a row."""
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    taken = [column.name for column in table.primary_key.columns] if unless == "same key" else None
    return insert(table).on_conflict_do_nothing(index_elements=taken)


def ensure_audit(connection: Connection, name: str, seed: int = 0, secret: str | None = None) -> str:
    """The id of the audit with this name, made if need be. `secret` keys its fences: random unless it is given."""
    audit = make.audit_id(name)
    row = {"audit_id": audit, "name": name, "seed": seed, "secret": secret or secrets.token_hex(16)}
    insert_new(connection, tables.Audit, [{**row, "created_at": columns.utc_now()}])
    return audit


def ingest(connection: Connection, audit: str, source: str, records: Iterable[Record]) -> Stored:
    """Store every record of `source` (a file's stem, used to name pairs that the source does not).

    Raises Conflict when an id is stored with different content; roll the transaction back then.
    """
    writer = _Ingest(connection, audit, source)
    stream = iter(records)
    while batch := list(islice(stream, BATCH)):
        writer.add(batch)
    return Stored(dict(writer.added))


def ensure_judge(connection: Connection, audit: str, judge: Judge) -> str:
    """The fingerprint of the judge, stored under its label (made unique where another judge has it)."""
    _add_judge(connection, audit, judge)
    return make.judge_fingerprint(judge)


def _add_judge(connection: Connection, audit: str, judge: Judge) -> int:
    """The number of judges added: 0 where it is stored."""
    row = make.judge_row(audit, judge)
    judges = tables.table(tables.Judge).c
    same_label = select(judges.judge_id).where(
        judges.audit_id == audit, judges.form == judge.form, judges.label == judge.label
    )
    if connection.scalar(same_label) not in {None, row["judge_id"]}:
        row["label"] = f"{judge.label}@{row['judge_id'].removeprefix('jdg_')[:6]}"
    return insert_new(connection, tables.Judge, [row])


class _Ingest:
    def __init__(self, connection: Connection, audit: str, source: str) -> None:
        self.connection = connection
        self.audit = audit
        self.source = storable(source)
        self.added: Counter[str] = Counter()
        self._judges: dict[Judge, str] = {}
        self._occurrences: Counter[int] = Counter()

    def add(self, batch: Sequence[Record]) -> None:
        fresh: defaultdict[type[SQLModel], list[_New]] = defaultdict(list)
        for record in batch:
            for model, row in self._rows(record):
                fresh[model].append(_New(row, record.line))
        self._store_rubrics([record.rubric for record in batch if record.rubric])
        for model in PARENTS_FIRST:
            if fresh[model] or model is not tables.TaskRubric:
                self._store(model, fresh[model])

    def _store(self, model: type[SQLModel], new: list[_New]) -> None:
        unique: dict[str, _New] = {}
        for each in new:
            first = unique.setdefault(_key(model, each.row), each)
            if _content(model, first.row) != _content(model, each.row):
                raise _conflict(self.source, model, each)
        rows = [each.row for each in unique.values()]
        if model is tables.Trajectory:
            self.added["trajectories"] += insert_trajectories(self.connection, rows)
        else:
            self.added[str(model.__tablename__)] += insert_new(self.connection, model, rows)
        if model is not tables.JudgeLog:  # the id of a log is its whole content
            self._compare(model, list(unique.values()))

    def _store_rubrics(self, rubrics: Sequence[Sequence[Rule]]) -> None:
        """The sets that are not stored yet; their ids are their whole content."""
        if rubrics:
            self.added["rubric_sets"] += insert_rubrics(self.connection, rubrics)

    def _compare(self, model: type[SQLModel], new: Sequence[_New]) -> None:
        """Raises Conflict for a row that is not stored as it is given."""
        for start in range(0, len(new), LOOKUP):
            some = new[start : start + LOOKUP]
            stored = self._stored_content(model, [_key(model, each.row) for each in some])
            for each in some:
                key = _key(model, each.row)
                if key not in stored or stored[key] != _content(model, each.row):
                    raise _conflict(self.source, model, each)

    def _stored_content(self, model: type[SQLModel], keys: Sequence[str]) -> dict[str, str | None]:
        """What must be equal (None where nothing must) by id, of those ids that are stored."""
        table = tables.table(model)
        content = table.c.get(CONTENT_NAMES.get(model, CONTENT), null())
        query = select(table.c[KEY_NAMES[model]], content).where(
            table.c.audit_id == self.audit, table.c[KEY_NAMES[model]].in_(keys)
        )
        return {row[0]: row[1] for row in self.connection.execute(query)}

    def _rows(self, record: Record) -> Iterator[tuple[type[SQLModel], Row]]:
        if record.task is not None:
            yield tables.Task, make.task_row(self.audit, record.task)
            if record.rubric:
                yield tables.TaskRubric, make.task_rubric_row(self.audit, record.task.task_id, record.rubric)
        line = f"{self.source}:{record.line}"
        home = line if record.pair is None else record.pair.pair_id or line
        ids = []
        for side, episode in zip("AB", record.episodes, strict=False):
            row = make.trajectory_row(self.audit, episode.trajectory, f"{home}:{side}")
            ids.append(row["trajectory_id"])
            yield tables.Trajectory, row
            yield from self._episode_rows(row["trajectory_id"], episode)
        if record.pair is not None:
            yield from self._pair_rows(record, record.pair, ids, home)
        else:
            for number, log in enumerate(record.logs):
                yield tables.JudgeLog, make.log_row(self.audit, log, [home, number, make.log_content(log)])

    def _episode_rows(self, trajectory_id: str, episode: Episode) -> Iterator[tuple[type[SQLModel], Row]]:
        for check in episode.checks:
            yield tables.Check, make.check_row(self.audit, trajectory_id, check)
        for score in episode.satisfaction:
            yield tables.Verdict, make.satisfaction_row(self.audit, self._judge(score.judge), trajectory_id, score)
        for number, log in enumerate(episode.logs):
            identity = [trajectory_id, number, make.log_content(log)]
            yield tables.JudgeLog, make.log_row(self.audit, log, identity, trajectory_id=trajectory_id)

    def _pair_rows(
        self, record: Record, key: PairKey, ids: list[str], home: str
    ) -> Iterator[tuple[type[SQLModel], Row]]:
        task_id = record.episodes[0].trajectory.task_id
        transcribed = all(episode.trajectory.messages is not None for episode in record.episodes)
        by_content = key.pair_id is None and transcribed
        pair_id = make.derived_pair_id(self.audit, task_id, key.trial, *ids) if by_content else home
        repeats = by_content or key.repeats
        yield tables.Pair, make.pair_row(self.audit, pair_id, task_id, key, *ids)
        for label in record.gold:
            yield tables.GoldLabel, make.gold_row(self.audit, pair_id, label)
        judge_ids = [self._judge(verdict.judge) for verdict in record.verdicts]
        for judge_id, verdict in zip(judge_ids, record.verdicts, strict=True):
            seen = (pair_id, judge_id, verdict.order, verdict.reduced)
            repeat = self._occurrence(seen) if repeats else None
            yield tables.Verdict, make.verdict_row(self.audit, judge_id, pair_id, verdict, repeat)
        only_judge = judge_ids[0] if len(set(judge_ids)) == 1 else None
        for number, log in enumerate(record.logs):
            called = only_judge if log.role == "judge" else None
            # What agents cost is said again by the row of each judge; equal calls of one judge are several calls.
            nth = self._occurrence((pair_id, number, called, log)) if repeats and log.role == "judge" else 0
            identity = [pair_id, number, make.log_content(log), called, nth]
            yield tables.JudgeLog, make.log_row(self.audit, log, identity, pair_id=pair_id, judge_id=called)

    def _occurrence(self, what: Hashable) -> int:
        """How often this was met in this source before: a verdict's repeat among those of one pair, judge and order."""
        # 64-bit hashes, not strings: a 200 MB file holds a million of them.
        key = hash(what)
        self._occurrences[key] += 1
        return self._occurrences[key] - 1

    def _judge(self, judge: Judge) -> str:
        if judge not in self._judges:
            self.added["judges"] += _add_judge(self.connection, self.audit, judge)
            self._judges[judge] = make.judge_fingerprint(judge)
        return self._judges[judge]


def _key(model: type[SQLModel], row: Row) -> str:
    return str(row[KEY_NAMES[model]])


def _content(model: type[SQLModel], row: Row) -> str | None:
    found: str | None = row.get(CONTENT_NAMES.get(model, CONTENT))
    return found


def _conflict(source: str, model: type[SQLModel], new: _New) -> Conflict:
    row = new.row
    what, hint = {
        tables.Task: (
            f"task {row.get('task_id')!r} is stored with another prompt or other facts",
            "a task is one prompt: leave the task column unmapped, or map it as category",
        ),
        tables.TaskRubric: (
            f"task {row.get('task_id')!r} is stored with other gold rules",
            "an audit keeps its gold rules; keep other wordings in the library of rubrics",
        ),
        tables.Trajectory: (
            f"agent {row.get('agent')!r} has another trajectory for task {row.get('task_id')!r} and the same trial",
            "number the attempts apart (trial)",
        ),
        tables.Pair: (
            f"pair {row.get('pair_id')!r} is stored with other sides or another gap",
            "give each pair an id of its own",
        ),
        tables.Verdict: (
            f"the verdict on {row.get('pair_id') or row.get('trajectory_id')!r} is stored with another outcome",
            "give each pair an id of its own, number the attempts (trial), or name the judge or the order of each row",
        ),
        tables.Check: ("the same check of a trajectory is stored with another result", "number the attempts (trial)"),
        tables.GoldLabel: (
            f"labeller {row.get('labeller')!r} already labelled {row.get('pair_id')!r} differently",
            "give each pair an id of its own",
        ),
    }[model]
    return Conflict(
        f"{source}, line {new.line}: {what}; nothing was imported. "
        f"Results are never overwritten: {hint}, or use another audit name."
    )

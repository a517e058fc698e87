"""Records into the store: one transaction, in batches, equal rows once, different ones refused.

Re-importing changes nothing, because every id is a digest of what the record says. An id that comes again
with different content raises Conflict and the whole transaction is undone.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel

from misjudge_storage import rows as make
from misjudge_storage import tables
from misjudge_storage.errors import Conflict
from misjudge_storage.hashing import digest
from misjudge_storage.rows import Row
from misjudge_storage.types import Episode, Judge, Log, Record

BATCH = 400
PARENTS_FIRST: tuple[type[SQLModel], ...] = (
    tables.Judge,
    tables.Task,
    tables.Trajectory,
    tables.Check,
    tables.Pair,
    tables.GoldLabel,
    tables.Verdict,
    tables.JudgeLog,
)
_T = TypeVar("_T")


class Stored(NamedTuple):
    """Rows that an import added, by table; rows that were there already are not counted."""

    added: dict[str, int]


def insert_new(connection: Connection, model: type[SQLModel], new: Sequence[Row]) -> int:
    """Insert the rows whose primary key is not stored yet; the number added."""
    if not new:
        return 0
    table = tables.table(model)
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    keys = [column.name for column in table.primary_key.columns]
    result = connection.execute(
        insert(table).on_conflict_do_nothing(index_elements=keys), [_without_nul(row) for row in new]
    )
    return max(result.rowcount, 0)


def _without_nul(row: Row) -> Row:
    """The row as any database can keep it: Postgres holds no NUL in text."""
    return {
        name: value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) and "\0" in value else value
        for name, value in row.items()
    }


def ensure_audit(connection: Connection, name: str, seed: int = 0, secret: str | None = None) -> str:
    """The id of the audit with this name, made if need be. `secret` keys its fences: random unless it is given."""
    audit = make.audit_id(name)
    row = {"audit_id": audit, "name": name, "seed": seed, "secret": secret or secrets.token_hex(16)}
    insert_new(connection, tables.Audit, [{**row, "created_at": tables.utc_now()}])
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
    row = make.judge_row(audit, judge)
    fingerprint = make.judge_fingerprint(judge)
    table = tables.table(tables.Judge)
    same_label = select(table.c.judge_id).where(
        table.c.audit_id == audit, table.c.form == judge.form, table.c.label == judge.label
    )
    taken = connection.execute(same_label).scalar()
    if taken == fingerprint:
        return fingerprint
    if taken is not None:
        row["label"] = f"{judge.label}@{fingerprint.removeprefix('jdg_')[:6]}"
    insert_new(connection, tables.Judge, [row])
    return fingerprint


class _Ingest:
    def __init__(self, connection: Connection, audit: str, source: str) -> None:
        self.connection = connection
        self.audit = audit
        self.source = source
        self.added: Counter[str] = Counter()
        self._judges: dict[Judge, str] = {}
        self._occurrences: Counter[int] = Counter()

    def add(self, batch: Sequence[Record]) -> None:
        fresh: defaultdict[type[SQLModel], list[Row]] = defaultdict(list)
        lines: dict[str, int] = {}
        for record in batch:
            for model, row in self._rows(record):
                fresh[model].append(row)
                lines.setdefault(_key(model, row), record.line)
        for model in PARENTS_FIRST:
            self._store(model, fresh[model], lines)

    def _store(self, model: type[SQLModel], new: list[Row], lines: dict[str, int]) -> None:
        unique: dict[str, Row] = {}
        for row in new:
            first = unique.setdefault(_key(model, row), row)
            if first.get("content_hash") != row.get("content_hash"):
                raise _conflict(self.source, model, row, lines)
        try:
            self.added[str(model.__tablename__)] += insert_new(self.connection, model, list(unique.values()))
        except IntegrityError as error:
            if model is not tables.Trajectory:
                raise
            raise Conflict(
                f"{self.source}: an agent already has another trajectory for the same task and trial. "
                "Number the attempts apart (trial), or import into another audit."
            ) from error
        if "content_hash" in tables.table(model).c:
            self._compare(model, unique, lines)

    def _compare(self, model: type[SQLModel], new: dict[str, Row], lines: dict[str, int]) -> None:
        table = tables.table(model)
        key = list(table.primary_key.columns)[-1]
        query = select(key, table.c.content_hash).where(key.in_([row[key.name] for row in new.values()]))
        if len(table.primary_key.columns) > 1:
            query = query.where(table.c.audit_id == self.audit)
        stored = {row[0]: row[1] for row in self.connection.execute(query)}
        for row in new.values():
            if stored[row[key.name]] != row["content_hash"]:
                raise _conflict(self.source, model, row, lines)

    def _rows(self, record: Record) -> Iterator[tuple[type[SQLModel], Row]]:
        if record.task is not None:
            yield tables.Task, make.task_row(self.audit, record.task)
        home = (
            f"{self.source}:{record.line}"
            if record.pair is None or record.pair.pair_id is None
            else record.pair.pair_id
        )
        ids = []
        for side, episode in zip("AB", record.episodes, strict=False):
            row = make.trajectory_row(self.audit, episode.trajectory, f"{home}:{side}")
            ids.append(row["trajectory_id"])
            yield tables.Trajectory, row
            yield from self._episode_rows(row["trajectory_id"], episode)
        if record.pair is not None:
            yield from self._pair_rows(record, ids, home)
        else:
            yield from self._log_rows(record.logs, record.line)

    def _episode_rows(self, trajectory_id: str, episode: Episode) -> Iterator[tuple[type[SQLModel], Row]]:
        for check in episode.checks:
            yield tables.Check, make.check_row(self.audit, trajectory_id, check)
        for score in episode.satisfaction:
            yield tables.Verdict, make.satisfaction_row(self.audit, self._judge(score.judge), trajectory_id, score)
        yield from self._log_rows(episode.logs, trajectory_id, trajectory_id=trajectory_id)

    def _pair_rows(self, record: Record, ids: list[str], home: str) -> Iterator[tuple[type[SQLModel], Row]]:
        key, (first, second) = record.pair, record.episodes
        assert key is not None
        task_id = first.trajectory.task_id
        transcribed = first.trajectory.messages is not None and second.trajectory.messages is not None
        by_content = key.pair_id is None and transcribed
        pair_id = make.derived_pair_id(self.audit, task_id, key.trial, *ids) if by_content else home
        yield tables.Pair, make.pair_row(self.audit, pair_id, task_id, key, *ids)
        for label in record.gold:
            yield tables.GoldLabel, make.gold_row(self.audit, pair_id, label)
        for verdict in record.verdicts:
            judge_id = self._judge(verdict.judge)
            repeat = self._occurrence(pair_id, judge_id, verdict.order) if by_content else None
            yield tables.Verdict, make.verdict_row(self.audit, judge_id, pair_id, verdict, repeat)
        judges = {self._judge(verdict.judge) for verdict in record.verdicts}
        links = {"judge_id": judges.pop()} if len(judges) == 1 else {}
        yield from self._log_rows(record.logs, pair_id, pair_id=pair_id, **links)

    def _log_rows(self, logs: Sequence[Log], home: Any, **links: str) -> Iterator[tuple[type[SQLModel], Row]]:
        for number, log in enumerate(logs):
            identity = [home, number, log.model_dump()]
            # Two equal calls of one source are two calls; the same source again is not.
            identity.append(self._occurrence(digest("log", identity)))
            yield tables.JudgeLog, make.log_row(self.audit, log, identity, **links)

    def _occurrence(self, *what: str | None) -> int:
        """How often this was met in this source before: a verdict's repeat among those of one pair, judge and order."""
        # 64-bit hashes, not strings: a 200 MB file holds a million of them.
        key = hash(what)
        self._occurrences[key] += 1
        return self._occurrences[key] - 1

    def _judge(self, judge: Judge) -> str:
        if judge not in self._judges:
            self._judges[judge] = ensure_judge(self.connection, self.audit, judge)
        return self._judges[judge]


def _key(model: type[SQLModel], row: Row) -> str:
    key = list(tables.table(model).primary_key.columns)[-1]
    return f"{model.__tablename__}:{row[key.name]}"


def _conflict(source: str, model: type[SQLModel], row: Row, lines: dict[str, int]) -> Conflict:
    line = lines[_key(model, row)]
    what, hint = {
        tables.Task: (
            f"task {row.get('task_id')!r} is stored with another prompt or other facts",
            "a task is one prompt: leave the task column unmapped, or map it as category",
        ),
        tables.Pair: (f"pair {row.get('pair_id')!r} is stored with other sides", "give each pair an id of its own"),
        tables.Verdict: (
            f"the verdict on {row.get('pair_id') or row.get('trajectory_id')!r} is stored with another outcome",
            "give each pair an id of its own, or name the judge or the order of each row",
        ),
        tables.Check: ("the same check of a trajectory is stored with another result", "number the attempts (trial)"),
        tables.GoldLabel: (
            f"labeller {row.get('labeller')!r} already labelled {row.get('pair_id')!r} differently",
            "give each pair an id of its own",
        ),
    }[model]
    return Conflict(
        f"{source}, line {line}: {what}; nothing was imported. "
        f"Results are never overwritten: {hint}, or use another audit name."
    )

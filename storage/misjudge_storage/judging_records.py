"""What judging reads from the store and writes back: subjects in, verdicts with their calls out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import Connection, func, select, text
from sqlalchemy import Row as Found

from misjudge_storage import tables
from misjudge_storage.errors import NotFound
from misjudge_storage.ingest import insert_new
from misjudge_storage.leases import Lease, holds
from misjudge_storage.rows import Row
from misjudge_storage.types import Message, Task

TASKS = tables.table(tables.Task)
TRAJECTORIES = tables.table(tables.Trajectory)
PAIRS = tables.table(tables.Pair)
VERDICTS = tables.table(tables.Verdict)
AUDITS = tables.table(tables.Audit)
LOGS = tables.table(tables.JudgeLog)

_MESSAGES = TypeAdapter(tuple[Message, ...])


class AuditRow(NamedTuple):
    """An audit: `secret` keys its fences."""

    audit_id: str
    name: str
    seed: int
    secret: str


class Subject(NamedTuple):
    """What can be judged: a pair or a trajectory, and its task."""

    subject_id: str
    task_id: str


class PairSubject(NamedTuple):
    """A pair with what the judge may see of it."""

    pair_id: str
    task: Task
    a: tuple[Message, ...]
    b: tuple[Message, ...]


class TrajectorySubject(NamedTuple):
    """A trajectory with what the judge may see of it."""

    trajectory_id: str
    task: Task
    messages: tuple[Message, ...]


class PairTruth(NamedTuple):
    """Who did the job, where it is known."""

    pair_id: str
    success_a: bool | None
    success_b: bool | None


class StoredVerdict(NamedTuple):
    """A verdict on a pair, in terms of its sides, or on a trajectory."""

    pair_id: str | None
    trajectory_id: str | None
    order_shown: str | None
    repeat: int
    winner: str | None
    score_a: float | None
    score_b: float | None
    score: float | None
    unscored_reason: str | None
    log_id: str | None


class StoredReply(NamedTuple):
    """A reply that a model once gave, with the log that holds it."""

    log_id: str
    raw_output: str | None
    finish_reason: str | None
    model: str
    simulated: bool


class CellResult(NamedTuple):
    """Every attempt that was made for a cell, and its verdict unless the cell stays open; stored together."""

    verdict: Row | None
    logs: tuple[Row, ...]


def read_audit(connection: Connection, name: str) -> AuditRow:
    """The audit with this name. Raises NotFound, naming those there are."""
    row = connection.execute(select(AUDITS).where(AUDITS.c.name == name)).first()
    if row is not None:
        return AuditRow(row.audit_id, row.name, row.seed, row.secret)
    names = list(connection.scalars(select(AUDITS.c.name).order_by(AUDITS.c.created_at.desc()).limit(10)))
    number = connection.scalar(select(func.count()).select_from(AUDITS)) or 0
    others = f" and {number - len(names)} more" if number > len(names) else ""
    place = connection.engine.url.database
    known = f"Stored are: {', '.join(names)}{others}." if names else f"The store {place} holds none yet: import one."
    raise NotFound(f"No audit is called {name!r}. {known}")


def transcribed_pairs(connection: Connection, audit_id: str) -> list[Subject]:
    """The pairs of which both transcripts are stored, in a stable order."""
    a, b = TRAJECTORIES.alias("a"), TRAJECTORIES.alias("b")
    query = (
        select(PAIRS.c.pair_id, PAIRS.c.task_id)
        .join(a, a.c.trajectory_id == PAIRS.c.trajectory_a)
        .join(b, b.c.trajectory_id == PAIRS.c.trajectory_b)
        .where(PAIRS.c.audit_id == audit_id, a.c.messages_json.is_not(None), b.c.messages_json.is_not(None))
        .order_by(PAIRS.c.pair_id)
    )
    return [Subject(*row) for row in connection.execute(query)]


def transcribed_trajectories(connection: Connection, audit_id: str) -> list[Subject]:
    """The trajectories whose transcript is stored, in a stable order."""
    query = select(TRAJECTORIES.c.trajectory_id, TRAJECTORIES.c.task_id).where(
        TRAJECTORIES.c.audit_id == audit_id, TRAJECTORIES.c.messages_json.is_not(None)
    )
    return [Subject(*row) for row in connection.execute(query.order_by(TRAJECTORIES.c.trajectory_id))]


def read_pair_subjects(connection: Connection, audit_id: str, pair_ids: Sequence[str]) -> list[PairSubject]:
    """These pairs with task and transcripts."""
    a, b = TRAJECTORIES.alias("a"), TRAJECTORIES.alias("b")
    query = (
        select(PAIRS.c.pair_id, TASKS, a.c.messages_json.label("json_a"), b.c.messages_json.label("json_b"))
        .join(TASKS, (TASKS.c.audit_id == PAIRS.c.audit_id) & (TASKS.c.task_id == PAIRS.c.task_id))
        .join(a, a.c.trajectory_id == PAIRS.c.trajectory_a)
        .join(b, b.c.trajectory_id == PAIRS.c.trajectory_b)
        .where(PAIRS.c.audit_id == audit_id, PAIRS.c.pair_id.in_(pair_ids))
    )
    return [
        PairSubject(row.pair_id, _task(row), messages_from(row.json_a), messages_from(row.json_b))
        for row in connection.execute(query)
    ]


def read_trajectory_subjects(
    connection: Connection, audit_id: str, trajectory_ids: Sequence[str]
) -> list[TrajectorySubject]:
    """These trajectories with their tasks."""
    query = (
        select(TRAJECTORIES.c.trajectory_id, TRAJECTORIES.c.messages_json, TASKS)
        .join(TASKS, (TASKS.c.audit_id == TRAJECTORIES.c.audit_id) & (TASKS.c.task_id == TRAJECTORIES.c.task_id))
        .where(TRAJECTORIES.c.audit_id == audit_id, TRAJECTORIES.c.trajectory_id.in_(trajectory_ids))
    )
    return [
        TrajectorySubject(row.trajectory_id, _task(row), messages_from(row.messages_json))
        for row in connection.execute(query)
    ]


def messages_from(stored: str | None) -> tuple[Message, ...]:
    """Messages from their stored JSON."""
    return _MESSAGES.validate_json(stored or "[]")


def _task(row: Found[Any]) -> Task:
    return Task.model_validate({name: getattr(row, name) for name in Task.model_fields})


def read_pair_truths(connection: Connection, audit_id: str) -> list[PairTruth]:
    """Success of both sides; where only a preference is known, the better side counts as the one that did it."""
    query = text("SELECT pair_id, success_a, success_b, gold_pref FROM pair_gold WHERE audit_id = :audit")
    truths = []
    for pair_id, success_a, success_b, gold in connection.execute(query, {"audit": audit_id}):
        if success_a is None or success_b is None:
            preferred = gold in {"A", "B"}
            truths.append(PairTruth(pair_id, gold == "A" if preferred else None, gold == "B" if preferred else None))
        else:
            truths.append(PairTruth(pair_id, bool(success_a), bool(success_b)))
    return truths


def read_successes(connection: Connection, audit_id: str) -> dict[str, bool]:
    """Success by trajectory, where it is known."""
    query = text(
        "SELECT trajectory_id, success FROM trajectory_outcomes WHERE audit_id = :audit AND success IS NOT NULL"
    )
    return {row.trajectory_id: bool(row.success) for row in connection.execute(query, {"audit": audit_id})}


def read_judge_label(connection: Connection, audit_id: str, judge_id: str) -> str | None:
    """The label under which a judge is stored: its own, or one made unique."""
    judges = tables.table(tables.Judge)
    query = select(judges.c.label).where(judges.c.audit_id == audit_id, judges.c.judge_id == judge_id)
    return connection.scalar(query)


def stored_cells(connection: Connection, cell_ids: Sequence[str]) -> set[str]:
    """Which of these cells have a stored result."""
    found: set[str] = set()
    for start in range(0, len(cell_ids), 500):
        some = cell_ids[start : start + 500]
        found.update(connection.scalars(select(VERDICTS.c.verdict_id).where(VERDICTS.c.verdict_id.in_(some))))
    return found


def read_verdicts(connection: Connection, cell_ids: Sequence[str]) -> list[StoredVerdict]:
    """The stored verdicts of these cells, in the order of the cells."""
    columns = [VERDICTS.c[name] for name in StoredVerdict._fields]
    query = select(VERDICTS.c.verdict_id, *columns).where(VERDICTS.c.verdict_id.in_(cell_ids))
    found = {row.pop("verdict_id"): StoredVerdict(**row) for row in map(dict, connection.execute(query).mappings())}
    return [found[cell_id] for cell_id in cell_ids if cell_id in found]


def store_results(connection: Connection, results: Sequence[CellResult], lease: Lease | None = None) -> bool:
    """Store each attempt and, once, each verdict; a cell that another run stored first keeps that verdict.

    False where the lease is no longer held: then verdicts are left out, and the attempts are stored all the same,
    since they were billed.
    """
    insert_new(connection, tables.JudgeLog, [log for result in results for log in result.logs])
    if lease is not None and not holds(connection, lease):
        return False
    insert_new(connection, tables.Verdict, [result.verdict for result in results if result.verdict])
    return True


def stored_replies(connection: Connection, keys: Sequence[str]) -> dict[str, StoredReply]:
    """Key → the first reply that was ever stored under it, of those keys that have one."""
    found: dict[str, StoredReply] = {}
    for start in range(0, len(keys), 500):
        asked = select(
            LOGS.c.reply_key,
            *[LOGS.c[name] for name in StoredReply._fields],
            func.row_number()
            .over(partition_by=LOGS.c.reply_key, order_by=(LOGS.c.created_at, LOGS.c.log_id))
            .label("nth"),
        ).where(LOGS.c.reply_key.in_(keys[start : start + 500]), LOGS.c.cached_from.is_(None))
        replies = asked.subquery()
        for row in connection.execute(select(replies).where(replies.c.nth == 1)):
            found[row.reply_key] = StoredReply(*[getattr(row, name) for name in StoredReply._fields])
    return found

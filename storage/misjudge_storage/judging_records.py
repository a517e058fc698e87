"""What judging reads from the store and writes back: subjects in, verdicts with their calls out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import Connection, bindparam, func, select, text
from sqlalchemy import Row as Found
from sqlmodel import SQLModel

from misjudge_storage import tables
from misjudge_storage.errors import Conflict, NotFound
from misjudge_storage.ingest import insert_new, insert_trajectories
from misjudge_storage.leases import Lease, holds
from misjudge_storage.planned_pairs import make_pairs
from misjudge_storage.rows import Row
from misjudge_storage.run_progress import stored_cells
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Message, Side, Task

TASKS = tables.table(tables.Task)
TRAJECTORIES = tables.table(tables.Trajectory)
PAIRS = tables.table(tables.Pair)
VERDICTS = tables.table(tables.Verdict)
JUDGES = tables.table(tables.Judge)
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
    """A pair with what the judge may see of it. `names` are what its agents and their models are called."""

    pair_id: str
    task: Task
    a: tuple[Message, ...]
    b: tuple[Message, ...]
    names: frozenset[str] = frozenset()


class TrajectorySubject(NamedTuple):
    """A trajectory with what the judge may see of it. `names` are what its agent and that one's model are called."""

    trajectory_id: str
    task: Task
    messages: tuple[Message, ...]
    names: frozenset[str] = frozenset()


class SideTruth(NamedTuple):
    """Whether a side did the job, how able its agent is (share of tasks it gets right), where that is stated, and what
    its `model` is called, else its agent.
    """

    success: bool
    skill: float | None
    model: str


class PairTruth(NamedTuple):
    """Who did the job, of a pair of which that is known."""

    pair_id: str
    a: SideTruth
    b: SideTruth


class StoredVerdict(NamedTuple):
    """A verdict on a pair, in terms of its sides, or on a trajectory; `label` is that of its judge."""

    label: str
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


class StoredCall(NamedTuple):
    """A reply that a model gave within a cell that takes several, with the log that holds it."""

    log_id: str
    reply_key: str
    raw_output: str | None
    parsed_json: str | None
    input_tokens: int | None
    output_tokens: int | None


class NewRow(NamedTuple):
    """A row for the table of a model."""

    model: type[SQLModel]
    row: Row


class CellResult(NamedTuple):
    """Every attempt that was made for a cell, and its verdict, `probe` verdict, or trajectory with checks, unless the
    cell stays open; stored together. `more` are rows of other tables.
    """

    verdict: Row | None
    logs: tuple[Row, ...]
    trajectory: Row | None = None
    checks: tuple[Row, ...] = ()
    probe: Row | None = None
    more: tuple[NewRow, ...] = ()


class Kept(NamedTuple):
    """What came of storing results: whether the lease was `held`, the trajectories, pairs and generated rubrics that
    are now there, how many cells were `added` to the run, which of its cells were `spared`, and which came `back` to it
    after they had been.
    """

    held: bool
    subjects: frozenset[str] = frozenset()
    added: int = 0
    spared: frozenset[str] = frozenset()
    back: tuple[PlannedCell, ...] = ()


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
        select(
            PAIRS.c.pair_id,
            TASKS,
            a.c.messages_json.label("json_a"),
            b.c.messages_json.label("json_b"),
            *(side.c[name].label(f"{name}_{side.name}") for side in (a, b) for name in ("agent", "base_model")),
        )
        .join(TASKS, (TASKS.c.audit_id == PAIRS.c.audit_id) & (TASKS.c.task_id == PAIRS.c.task_id))
        .join(a, a.c.trajectory_id == PAIRS.c.trajectory_a)
        .join(b, b.c.trajectory_id == PAIRS.c.trajectory_b)
        .where(PAIRS.c.audit_id == audit_id, PAIRS.c.pair_id.in_(pair_ids))
    )
    return [
        PairSubject(
            row.pair_id,
            _task(row),
            messages_from(row.json_a),
            messages_from(row.json_b),
            _names(row.agent_a, row.base_model_a, row.agent_b, row.base_model_b),
        )
        for row in connection.execute(query)
    ]


def read_trajectory_subjects(
    connection: Connection, audit_id: str, trajectory_ids: Sequence[str]
) -> list[TrajectorySubject]:
    """These trajectories with their tasks."""
    query = (
        select(*(TRAJECTORIES.c[name] for name in ("trajectory_id", "messages_json", "agent", "base_model")), TASKS)
        .join(TASKS, (TASKS.c.audit_id == TRAJECTORIES.c.audit_id) & (TASKS.c.task_id == TRAJECTORIES.c.task_id))
        .where(TRAJECTORIES.c.audit_id == audit_id, TRAJECTORIES.c.trajectory_id.in_(trajectory_ids))
    )
    return [
        TrajectorySubject(
            row.trajectory_id, _task(row), messages_from(row.messages_json), _names(row.agent, row.base_model)
        )
        for row in connection.execute(query)
    ]


def messages_from(stored: str | None) -> tuple[Message, ...]:
    """Messages from their stored JSON."""
    return _MESSAGES.validate_json(stored or "[]")


def _names(*names: str | None) -> frozenset[str]:
    return frozenset(name for name in names if name)


def _task(row: Found[*tuple[Any, ...]]) -> Task:
    return Task.model_validate({name: getattr(row, name) for name in Task.model_fields})


def read_pair_truths(connection: Connection, audit_id: str, pair_ids: Sequence[str]) -> list[PairTruth]:
    """Success of both sides; where only a preference is known, the better side counts as the one that did it."""
    query = text("""
        SELECT g.pair_id, g.success_a, g.success_b, g.gold_pref, a.setup_json AS setup_a, b.setup_json AS setup_b,
            COALESCE(a.base_model, a.agent) AS model_a, COALESCE(b.base_model, b.agent) AS model_b
        FROM pair_gold g
        JOIN pairs p ON p.audit_id = g.audit_id AND p.pair_id = g.pair_id
        JOIN trajectories a ON a.trajectory_id = p.trajectory_a
        JOIN trajectories b ON b.trajectory_id = p.trajectory_b
        WHERE g.audit_id = :audit AND g.pair_id IN :pairs
    """).bindparams(bindparam("pairs", expanding=True))
    truths = []
    for row in connection.execute(query, {"audit": audit_id, "pairs": list(pair_ids)}):
        success_a, success_b = row.success_a, row.success_b
        if success_a is None or success_b is None:
            if row.gold_pref not in {"A", "B"}:
                continue
            success_a, success_b = row.gold_pref == "A", row.gold_pref == "B"
        a = SideTruth(bool(success_a), _skill(row.setup_a), row.model_a)
        b = SideTruth(bool(success_b), _skill(row.setup_b), row.model_b)
        truths.append(PairTruth(row.pair_id, a, b))
    return truths


def better_sides(connection: Connection, audit_id: str) -> dict[str, Side]:
    """Pair → the side that gold says is better, of the pairs where one is."""
    query = "SELECT pair_id, gold_pref FROM pair_gold WHERE audit_id = :audit AND gold_pref IN ('A', 'B')"
    return {pair_id: side for pair_id, side in connection.execute(text(query), {"audit": audit_id})}


def read_successes(connection: Connection, audit_id: str, trajectory_ids: Sequence[str]) -> dict[str, SideTruth]:
    """Success by trajectory, where it is known."""
    query = text("""
        SELECT o.trajectory_id, o.success, t.setup_json, COALESCE(t.base_model, t.agent) AS model
        FROM trajectory_outcomes o JOIN trajectories t ON t.trajectory_id = o.trajectory_id
        WHERE o.audit_id = :audit AND o.success IS NOT NULL AND o.trajectory_id IN :trajectories
    """).bindparams(bindparam("trajectories", expanding=True))
    found = connection.execute(query, {"audit": audit_id, "trajectories": list(trajectory_ids)})
    return {row.trajectory_id: SideTruth(bool(row.success), _skill(row.setup_json), row.model) for row in found}


@lru_cache(maxsize=1024)
def _skill(setup: str | None) -> float | None:
    """What the set-up of a trajectory says of its agent's skill."""
    stated = json.loads(setup or "{}").get("skill")
    return float(stated) if isinstance(stated, int | float) else None


def read_judge_label(connection: Connection, audit_id: str, judge_id: str) -> str | None:
    """The label under which a judge is stored: its own, or one made unique."""
    query = select(JUDGES.c.label).where(JUDGES.c.audit_id == audit_id, JUDGES.c.judge_id == judge_id)
    return connection.scalar(query)


def read_verdicts(connection: Connection, cell_ids: Sequence[str]) -> list[StoredVerdict]:
    """The stored verdicts of these cells, in the order of the cells."""
    columns = [VERDICTS.c[name] for name in StoredVerdict._fields if name != "label"]
    query = (
        select(VERDICTS.c.verdict_id, JUDGES.c.label, *columns)
        .join(JUDGES, (JUDGES.c.audit_id == VERDICTS.c.audit_id) & (JUDGES.c.judge_id == VERDICTS.c.judge_id))
        .where(VERDICTS.c.verdict_id.in_(cell_ids))
    )
    found = {row.pop("verdict_id"): StoredVerdict(**row) for row in map(dict, connection.execute(query).mappings())}
    return [found[cell_id] for cell_id in cell_ids if cell_id in found]


def store_results(connection: Connection, results: Sequence[CellResult], lease: Lease | None = None) -> Kept:
    """Store each attempt and, once, each result; a cell that another run stored first keeps that result.

    Where the lease is no longer held, results are left out, and the attempts are stored all the same, since they
    were billed. Raises Conflict for a trajectory whose place another set-up of its agent has taken.
    """
    insert_new(connection, tables.JudgeLog, [log for result in results for log in result.logs])
    if lease is not None and not holds(connection, lease):
        return Kept(held=False)
    insert_new(connection, tables.Verdict, [result.verdict for result in results if result.verdict])
    insert_new(connection, tables.ProbeVerdict, [result.probe for result in results if result.probe])
    _store_more(connection, [new for result in results for new in result.more])
    trajectory_ids = [
        _store_episode(connection, result.trajectory, result.checks) for result in results if result.trajectory
    ]
    pairs = () if lease is None or not trajectory_ids else make_pairs(connection, lease.run_id, trajectory_ids)
    drafts = [str(row["draft_id"]) for result in results for model, row in result.more if model is tables.RubricDraft]
    return Kept(held=True, subjects=frozenset((*trajectory_ids, *pairs, *drafts)))


def _store_more(connection: Connection, new: Sequence[NewRow]) -> None:
    """Store rows of several tables, a statement for each."""
    by_table = {model: [row for other, row in new if other is model] for model in {model for model, _ in new}}
    for model in sorted(by_table, key=lambda model: _places()[tables.table(model).name]):
        insert_new(connection, model, by_table[model])


@cache
def _places() -> Mapping[str, int]:
    """Table → its place among all of them, parents first."""
    return {table.name: place for place, table in enumerate(SQLModel.metadata.sorted_tables)}


def _store_episode(connection: Connection, trajectory: Row, checks: Sequence[Row]) -> str:
    """Store a trajectory that was made here with its checks, unless it is there; its id. Raises Conflict."""
    trajectory_id = str(trajectory["trajectory_id"])
    if insert_trajectories(connection, [trajectory]):
        insert_new(connection, tables.Check, checks)
    elif not stored_cells(connection, [trajectory_id]):
        raise Conflict(
            f"Agent {trajectory['agent']!r} has done task {trajectory['task_id']!r} in this audit with another set-up "
            "(model, prompt, seed, simulated user or suite) meanwhile. An audit compares like with like: use another "
            "audit name."
        )
    return trajectory_id


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


def earlier_replies(connection: Connection, cell_id: str) -> dict[str, StoredCall]:
    """Key → the first reply that models gave in earlier tries of this cell, one that takes several calls."""
    query = (
        select(*[LOGS.c[name] for name in StoredCall._fields])
        .where(LOGS.c.cell_id == cell_id, LOGS.c.reply_key.is_not(None))
        .order_by(LOGS.c.created_at.desc(), LOGS.c.log_id.desc())  # of one key the last row that comes stays
    )
    return {row.reply_key: StoredCall(*row) for row in connection.execute(query)}

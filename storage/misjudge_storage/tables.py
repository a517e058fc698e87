"""The tables. Base facts are held once; what follows from them is a view (see `migrations/`).

Ids are content digests (`hashing.digest`), JSON is canonical text, times are UTC. Rows of result tables are
only ever added. `runs`, `cells` and `run_events` are bookkeeping.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Column, DateTime, ForeignKeyConstraint, Index, Table, UniqueConstraint, text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC datetime, also on SQLite, which keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def _created() -> Any:
    return Field(default_factory=utc_now, sa_type=UtcDateTime, nullable=False)


def _moment() -> Any:
    return Field(default=None, sa_type=UtcDateTime, nullable=True)


_HAS_REPLY = text("reply_key IS NOT NULL")
_IS_UNSCORED = text("status = 'unscored'")
_IS_SIMULATED = text("simulated")
_PROGRESS_COLUMNS = (
    *("run_id", "role", "attempt", "error", "cached_from", "cell_id"),
    *("input_tokens", "output_tokens", "est_cost", "created_at"),
)
"""What a run's progress counts of its logs: an index of them spares it the replies."""


class Audit(SQLModel, table=True):
    """A set of pairs, judged, with the frozen configuration that made them."""

    __tablename__: ClassVar[Any] = "audits"
    audit_id: str = Field(primary_key=True)
    name: str = Field(unique=True)
    seed: int
    secret: str
    created_at: datetime = _created()


class Task(SQLModel, table=True):
    """What the customer wants; `subset` is the data set's own split."""

    __tablename__: ClassVar[Any] = "tasks"
    audit_id: str = Field(primary_key=True, foreign_key="audits.audit_id")
    task_id: str = Field(primary_key=True)
    prompt: str
    success_criteria: str
    hard_constraints: str
    category: str | None = None
    language: str | None = None
    subset: str | None = None
    content_hash: str
    created_at: datetime = _created()


class Trajectory(SQLModel, table=True):
    """One agent's episode on a task; `trial` null where the source does not number attempts."""

    __tablename__: ClassVar[Any] = "trajectories"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "task_id"], ["tasks.audit_id", "tasks.task_id"]),
        UniqueConstraint("audit_id", "task_id", "agent", "trial"),
        Index("trajectories_by_time", "audit_id", "created_at"),
        Index(
            "trajectories_simulated",
            *("audit_id", "trajectory_id", "simulated"),
            sqlite_where=_IS_SIMULATED,
            postgresql_where=_IS_SIMULATED,
        ),
    )
    trajectory_id: str = Field(primary_key=True)
    audit_id: str
    task_id: str
    agent: str
    trial: int | None = None
    messages_json: str | None = None
    turns: int | None = None
    end_reason: str | None = None
    base_model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    simulated: bool
    created_at: datetime = _created()
    seed: int | None = Field(default=None, sa_type=BigInteger)
    trouble: str | None = None
    flags_json: str | None = None
    setup_json: str | None = None
    changes_json: str | None = None


class Check(SQLModel, table=True):
    """What one source says of a trajectory's success or reward."""

    __tablename__: ClassVar[Any] = "checks"
    __table_args__ = (Index("checks_by_trajectory", "trajectory_id"),)
    check_id: str = Field(primary_key=True)
    audit_id: str = Field(foreign_key="audits.audit_id")
    trajectory_id: str = Field(foreign_key="trajectories.trajectory_id")
    verifier: str
    source: str
    scope: str
    passed: bool | None = None
    reward: float | None = None
    evidence: str
    content_hash: str
    created_at: datetime = _created()


class Pair(SQLModel, table=True):
    """Two trajectories of one task; side A is `trajectory_a`."""

    __tablename__: ClassVar[Any] = "pairs"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "task_id"], ["tasks.audit_id", "tasks.task_id"]),
        Index("pairs_by_trajectory_a", "trajectory_a"),
        Index("pairs_by_trajectory_b", "trajectory_b"),
    )
    audit_id: str = Field(primary_key=True)
    pair_id: str = Field(primary_key=True)
    task_id: str
    trial: int | None = None
    trajectory_a: str = Field(foreign_key="trajectories.trajectory_id")
    trajectory_b: str = Field(foreign_key="trajectories.trajectory_id")
    ability_bucket: str | None = None
    reward_gap: float | None = None
    gap_source: str | None = None
    content_hash: str
    created_at: datetime = _created()


class PlannedPair(SQLModel, table=True):
    """A pair that a run is to make as soon as both of its trajectories are stored."""

    __tablename__: ClassVar[Any] = "planned_pairs"
    __table_args__ = (
        Index("planned_pairs_by_trajectory_a", "run_id", "trajectory_a"),
        Index("planned_pairs_by_trajectory_b", "run_id", "trajectory_b"),
    )
    run_id: str = Field(primary_key=True, foreign_key="runs.run_id")
    pair_id: str = Field(primary_key=True)
    audit_id: str
    task_id: str
    trial: int | None = None
    trajectory_a: str
    trajectory_b: str
    ability_bucket: str | None = None
    reward_gap: float | None = None
    gap_source: str | None = None
    content_hash: str
    created_at: datetime = _created()


class Judge(SQLModel, table=True):
    """A judge of an audit; `judge_id` is its fingerprint."""

    __tablename__: ClassVar[Any] = "judges"
    __table_args__ = (UniqueConstraint("audit_id", "form", "label"),)
    audit_id: str = Field(primary_key=True, foreign_key="audits.audit_id")
    judge_id: str = Field(primary_key=True)
    label: str
    form: str
    model: str
    params: str
    prompt_version: str
    prompt_hash: str
    rubric_hash: str
    protocol: str
    origin: str
    scale_low: float | None = None
    scale_high: float | None = None
    threshold: float | None = None
    better: str
    simulated: bool
    created_at: datetime = _created()


class Verdict(SQLModel, table=True):
    """One parsed reply on a pair (un-swapped) or on a trajectory; `verdict_id` is the id of its cell."""

    __tablename__: ClassVar[Any] = "verdicts"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "judge_id"], ["judges.audit_id", "judges.judge_id"]),
        ForeignKeyConstraint(["audit_id", "pair_id"], ["pairs.audit_id", "pairs.pair_id"]),
        Index("verdicts_by_pair", "audit_id", "pair_id", "judge_id"),
        Index("verdicts_by_trajectory", "trajectory_id"),
        Index("verdicts_by_time", "audit_id", "created_at"),
        Index("verdicts_unscored", "audit_id", sqlite_where=_IS_UNSCORED, postgresql_where=_IS_UNSCORED),
    )
    verdict_id: str = Field(primary_key=True)
    audit_id: str
    judge_id: str
    pair_id: str | None = None
    trajectory_id: str | None = Field(default=None, foreign_key="trajectories.trajectory_id")
    order_shown: str | None = None
    repeat: int
    status: str
    winner: str | None = None
    score_a: float | None = None
    score_b: float | None = None
    score: float | None = None
    reasons: str
    unscored_reason: str | None = None
    reduced: bool
    repaired: bool
    contradicts_scores: bool
    flip: bool | None = None
    log_id: str | None = None
    content_hash: str
    created_at: datetime = _created()


class ProbeVerdict(SQLModel, table=True):
    """One parsed reply on a pair of which something was changed that must not matter; apart from the verdicts, so that
    no rate of the audit moves. `probe_verdict_id` is the id of its cell.

    `probe` is `baseline` where nothing was changed; `variant` is the probe with language and version of its text, and
    behind a colon the `side` that was changed, as `padding.en.v1:A`.
    """

    __tablename__: ClassVar[Any] = "probe_verdicts"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "judge_id"], ["judges.audit_id", "judges.judge_id"]),
        ForeignKeyConstraint(["audit_id", "pair_id"], ["pairs.audit_id", "pairs.pair_id"]),
        Index("probe_verdicts_by_pair", "audit_id", "judge_id", "pair_id"),
        Index("probe_verdicts_by_time", "audit_id", "created_at"),
        Index("probe_verdicts_unscored", "audit_id", sqlite_where=_IS_UNSCORED, postgresql_where=_IS_UNSCORED),
    )
    probe_verdict_id: str = Field(primary_key=True)
    audit_id: str
    judge_id: str
    pair_id: str
    probe: str
    variant: str
    side: str | None = None
    order_shown: str
    repeat: int
    status: str
    winner: str | None = None
    score_a: float | None = None
    score_b: float | None = None
    reasons: str
    unscored_reason: str | None = None
    repaired: bool
    contradicts_scores: bool
    log_id: str | None = None
    created_at: datetime = _created()


class GoldLabel(SQLModel, table=True):
    """What one labeller says was truly better; human labels of a pair reduce by majority."""

    __tablename__: ClassVar[Any] = "gold_labels"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "pair_id"], ["pairs.audit_id", "pairs.pair_id"]),
        Index("gold_labels_by_pair", "audit_id", "pair_id"),
    )
    label_id: str = Field(primary_key=True)
    audit_id: str
    pair_id: str
    labeller: str
    pref: str
    source: str
    content_hash: str
    created_at: datetime = _created()


class JudgeLog(SQLModel, table=True):
    """One attempt of one model call, billed or failed, or a reply of the cache (`cached_from` is the log it repeats).

    `reply_key` names what was asked, where the row holds a reply that was scored.
    """

    __tablename__: ClassVar[Any] = "judge_logs"
    __table_args__ = (
        Index("judge_logs_by_cell", "cell_id"),
        Index("judge_logs_by_pair", "audit_id", "pair_id"),
        Index("judge_logs_by_run", *_PROGRESS_COLUMNS),
        Index("judge_logs_by_reply", "reply_key", sqlite_where=_HAS_REPLY, postgresql_where=_HAS_REPLY),
        Index("judge_logs_by_trajectory", "trajectory_id"),
    )
    log_id: str = Field(primary_key=True)
    audit_id: str = Field(foreign_key="audits.audit_id")
    run_id: str | None = None
    cell_id: str | None = None
    pair_id: str | None = None
    trajectory_id: str | None = None
    judge_id: str | None = None
    turn: int | None = None
    role: str
    model: str
    params: str | None = None
    prompt_hash: str | None = None
    prompt_version: str | None = None
    rendered_hash: str | None = None
    order_shown: str | None = None
    repeat: int
    attempt: int
    raw_output: str | None = None
    parsed_json: str | None = None
    unscored_reason: str | None = None
    error: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_ms: float | None = None
    est_cost: float | None = None
    price_source: str | None = None
    request_id: str | None = None
    simulated: bool
    created_at: datetime = _created()
    reply_key: str | None = None
    cached_from: str | None = None
    retry_after_s: float | None = None
    shown_json: str | None = None


class Import(SQLModel, table=True):
    """One file that was imported, and what was left out of it."""

    __tablename__: ClassVar[Any] = "imports"
    import_id: str = Field(primary_key=True)
    audit_id: str = Field(foreign_key="audits.audit_id")
    format: str
    source: str
    records: int
    skipped: int
    problems_json: str
    created_at: datetime = _created()


class Run(SQLModel, table=True):
    """Background work: a stored plan of cells, executed as plan minus stored. `note` says why a running run pauses."""

    __tablename__: ClassVar[Any] = "runs"
    run_id: str = Field(primary_key=True)
    audit_id: str = Field(foreign_key="audits.audit_id")
    operation: str
    request_json: str
    request_key: str | None = Field(default=None, unique=True)
    state: str
    reason: str | None = None
    owner: str | None = None
    owner_host: str | None = None
    owner_pid: int | None = None
    lease_until: datetime | None = _moment()
    epoch: int
    created_at: datetime = _created()
    ended_at: datetime | None = _moment()
    budget_json: str | None = None
    stop_requested: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})
    note: str | None = None


class Cell(SQLModel, table=True):
    """One planned unit of a run, done by a judge or an agent. It is done when the result with its id is stored."""

    __tablename__: ClassVar[Any] = "cells"
    __table_args__ = (Index("cells_by_seq", "run_id", "seq"),)
    run_id: str = Field(primary_key=True, foreign_key="runs.run_id")
    cell_id: str = Field(primary_key=True)
    seq: int
    kind: str
    actor_id: str
    pair_id: str | None = None
    trajectory_id: str | None = None
    order_shown: str | None = None
    repeat: int
    variant: str | None = None


class RunEvent(SQLModel, table=True):
    """What happened to a run, for people."""

    __tablename__: ClassVar[Any] = "run_events"
    event_id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.run_id")
    level: str
    event: str
    detail: str
    created_at: datetime = _created()


def table(model: type[SQLModel]) -> Table:
    """The Core table behind a model."""
    found = SQLModel.metadata.tables[str(model.__tablename__)]
    assert isinstance(found, Table)
    return found


def columns(model: type[SQLModel]) -> list[Column[Any]]:
    """The columns of a model, in order."""
    return list(table(model).columns)

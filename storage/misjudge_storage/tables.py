"""The tables. Base facts are held once; what follows from them is a view (see `migrations/`).

Ids are content digests (`hashing.digest`), JSON is canonical text, times are UTC. Rows of result tables are
only ever added. Those of rubrics are in `rubric_tables`; those of background work, in `run_tables`, are bookkeeping.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Index, Table, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from misjudge_storage.columns import created, moment
from misjudge_storage.rubric_tables import RubricDraft as RubricDraft
from misjudge_storage.rubric_tables import RubricMatch as RubricMatch
from misjudge_storage.rubric_tables import RubricMatching as RubricMatching
from misjudge_storage.rubric_tables import RubricName as RubricName
from misjudge_storage.rubric_tables import RubricRule as RubricRule
from misjudge_storage.rubric_tables import RubricRuling as RubricRuling
from misjudge_storage.rubric_tables import RubricSet as RubricSet
from misjudge_storage.rubric_tables import RubricVerdict as RubricVerdict
from misjudge_storage.rubric_tables import TaskRubric as TaskRubric
from misjudge_storage.run_tables import Cell as Cell
from misjudge_storage.run_tables import PlannedPair as PlannedPair
from misjudge_storage.run_tables import Run as Run
from misjudge_storage.run_tables import RunEvent as RunEvent

_HAS_REPLY = text("reply_key IS NOT NULL")
_IS_UNSCORED = text("status = 'unscored'")
_IS_TAKEN_BACK = text("review IS NOT NULL AND passed IS NULL")
_IS_OF_PEOPLE = text("source = 'human'")
_IS_SIMULATED = text("simulated")
_PROGRESS_COLUMNS = (
    *("run_id", "role", "attempt", "error", "cached_from", "cell_id"),
    *("input_tokens", "output_tokens", "est_cost", "created_at"),
)
"""What a run's progress counts of its logs: an index of them spares it the replies."""
_VERDICT_COLUMNS = (
    *("audit_id", "pair_id", "judge_id", "order_shown"),
    *("reduced", "status", "winner", "score_a", "score_b"),
)
"""What a summary adds up of the verdicts on a pair: an index of them spares it the reasons."""


class Audit(SQLModel, table=True):
    """A set of pairs, judged, with the frozen configuration that made them."""

    __tablename__: ClassVar[Any] = "audits"
    audit_id: str = Field(primary_key=True)
    name: str = Field(unique=True)
    seed: int
    secret: str
    created_at: datetime = created()


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
    created_at: datetime = created()


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
    created_at: datetime = created()
    seed: int | None = Field(default=None, sa_type=BigInteger)
    trouble: str | None = None
    flags_json: str | None = None
    setup_json: str | None = None
    changes_json: str | None = None
    occurred_at: datetime | None = moment()


class Check(SQLModel, table=True):
    """What one source says of a trajectory's success or reward.

    Only where a reviewer does: the `review` (token) in which it was said; `stream` and `weight` as in `GoldLabel`. One
    of a reviewer with neither `passed` nor `reward` takes back what they said of it before.
    """

    __tablename__: ClassVar[Any] = "checks"
    __table_args__ = (
        Index("checks_by_trajectory", "trajectory_id"),
        Index(
            "checks_taken_back",
            *("trajectory_id", "verifier", "created_at"),
            sqlite_where=_IS_TAKEN_BACK,
            postgresql_where=_IS_TAKEN_BACK,
        ),
    )
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
    created_at: datetime = created()
    stream: str | None = None
    weight: float | None = None
    review: str | None = None


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
    created_at: datetime = created()


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
    created_at: datetime = created()


class Verdict(SQLModel, table=True):
    """One parsed reply on a pair (un-swapped) or on a trajectory; `verdict_id` is the id of its cell."""

    __tablename__: ClassVar[Any] = "verdicts"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "judge_id"], ["judges.audit_id", "judges.judge_id"]),
        ForeignKeyConstraint(["audit_id", "pair_id"], ["pairs.audit_id", "pairs.pair_id"]),
        Index("verdicts_by_pair", *_VERDICT_COLUMNS),
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
    created_at: datetime = created()


class ProbeVerdict(SQLModel, table=True):
    """One parsed reply on a pair of which something was changed that must not matter; apart from the verdicts, so that
    no rate of the audit moves. `probe_verdict_id` is the id of its cell.

    `probe` is `baseline` where nothing was changed; `variant` is the probe with language and version of its text, and
    behind a colon the `side` that was changed, as `padding.en.v1:A`; `.failed` behind that says that it was changed
    because it failed by gold.
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
    created_at: datetime = created()


class GoldLabel(SQLModel, table=True):
    """What one labeller says was truly better; human labels of a pair reduce by majority.

    Only of a reviewer's label: the `stream` of its pair, `random` or `chosen`; its `weight`, the inverse of the
    probability with which the pair was drawn; the order shown; and how it came in, `page`, `sheet`, `form`, `mcp`.
    """

    __tablename__: ClassVar[Any] = "gold_labels"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "pair_id"], ["pairs.audit_id", "pairs.pair_id"]),
        Index("gold_labels_by_pair", "audit_id", "pair_id"),
        Index(
            "gold_labels_of_people",
            *("audit_id", "came_by", "labeller", "pair_id"),
            sqlite_where=_IS_OF_PEOPLE,
            postgresql_where=_IS_OF_PEOPLE,
        ),
    )
    label_id: str = Field(primary_key=True)
    audit_id: str
    pair_id: str
    labeller: str
    pref: str
    source: str
    content_hash: str
    created_at: datetime = created()
    stream: str | None = None
    weight: float | None = None
    order_shown: str | None = None
    came_by: str | None = None


class Review(SQLModel, table=True):
    """A pair that was given to a reviewer, who knows it by its `token` alone."""

    __tablename__: ClassVar[Any] = "reviews"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "pair_id"], ["pairs.audit_id", "pairs.pair_id"]),
        Index("reviews_by_audit", "audit_id"),
    )
    token: str = Field(primary_key=True)
    audit_id: str
    pair_id: str
    reviewer: str
    stream: str
    weight: float | None = None
    order_shown: str
    created_at: datetime = created()


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
    created_at: datetime = created()
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
    created_at: datetime = created()


def table(model: type[SQLModel]) -> Table:
    """The Core table behind a model."""
    found = SQLModel.metadata.tables[str(model.__tablename__)]
    assert isinstance(found, Table)
    return found


def columns(model: type[SQLModel]) -> list[Column[Any]]:
    """The columns of a model, in order."""
    return list(table(model).columns)

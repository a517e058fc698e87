"""The tables of background work. They are bookkeeping, not results: rows of them change."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index, text
from sqlmodel import Field, SQLModel

from misjudge_storage.columns import created, moment


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
    lease_until: datetime | None = moment()
    epoch: int
    created_at: datetime = created()
    ended_at: datetime | None = moment()
    budget_json: str | None = None
    stop_requested: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})
    note: str | None = None


class Cell(SQLModel, table=True):
    """One planned unit of a run, done by a judge or an agent. It is done when the result with its id is stored.

    `task_id` only of work on the rubric of a task; `draft_id` is the generated rubric that it needs, if it does.
    """

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
    task_id: str | None = None
    draft_id: str | None = None


class RunEvent(SQLModel, table=True):
    """What happened to a run, for people."""

    __tablename__: ClassVar[Any] = "run_events"
    event_id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.run_id")
    level: str
    event: str
    detail: str
    created_at: datetime = created()


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
    created_at: datetime = created()

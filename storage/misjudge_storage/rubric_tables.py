"""The tables of rubrics: sets of rules by content, which task has which, and what models made of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import ForeignKeyConstraint, Index, text
from sqlmodel import Field, SQLModel

from misjudge_storage.columns import created

_IS_UNSCORED = text("status = 'unscored'")


class RubricSet(SQLModel, table=True):
    """A set of rules. `rubric_id` is the digest of all of them, so another wording is another version."""

    __tablename__: ClassVar[Any] = "rubric_sets"
    rubric_id: str = Field(primary_key=True)
    number: int
    created_at: datetime = created()


class RubricRule(SQLModel, table=True):
    """One rule of a set, numbered from 1."""

    __tablename__: ClassVar[Any] = "rubric_rules"
    rubric_id: str = Field(primary_key=True, foreign_key="rubric_sets.rubric_id")
    rule: int = Field(primary_key=True)
    text: str
    hard: bool
    high_level: bool


class RubricName(SQLModel, table=True):
    """A set under a name in the library; the latest row of a name is its current version."""

    __tablename__: ClassVar[Any] = "rubric_names"
    __table_args__ = (Index("rubric_names_by_name", "name"),)
    entry_id: str = Field(primary_key=True)
    name: str
    rubric_id: str = Field(foreign_key="rubric_sets.rubric_id")
    created_at: datetime = created()


class TaskRubric(SQLModel, table=True):
    """The gold rules of a task: what people say that a good answer must meet."""

    __tablename__: ClassVar[Any] = "task_rubrics"
    __table_args__ = (ForeignKeyConstraint(["audit_id", "task_id"], ["tasks.audit_id", "tasks.task_id"]),)
    audit_id: str = Field(primary_key=True)
    task_id: str = Field(primary_key=True)
    rubric_id: str = Field(foreign_key="rubric_sets.rubric_id")
    created_at: datetime = created()


class RubricDraft(SQLModel, table=True):
    """A rubric that a model wrote from a task's instruction; `draft_id` is the id of its cell.

    Of the `written` rules of the reply, `duplicates` repeated another one, `left_out` were too many or no rule;
    `split` held two constraints and became several, `compound` may hold several and stand as they were written. None
    of them is counted where the reply is unscored.
    """

    __tablename__: ClassVar[Any] = "rubric_drafts"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "writer_id"], ["judges.audit_id", "judges.judge_id"]),
        ForeignKeyConstraint(["audit_id", "task_id"], ["tasks.audit_id", "tasks.task_id"]),
        Index("rubric_drafts_by_task", "audit_id", "task_id", "writer_id"),
        Index("rubric_drafts_by_time", "audit_id", "created_at"),
        Index("rubric_drafts_unscored", "audit_id", sqlite_where=_IS_UNSCORED, postgresql_where=_IS_UNSCORED),
    )
    draft_id: str = Field(primary_key=True)
    audit_id: str
    writer_id: str
    task_id: str
    status: str
    unscored_reason: str | None = None
    rubric_id: str | None = Field(default=None, foreign_key="rubric_sets.rubric_id")
    written: int = 0
    duplicates: int = 0
    left_out: int = 0
    split: int = 0
    compound: int = 0
    repaired: bool = False
    log_id: str | None = None
    created_at: datetime = created()


class RubricMatching(SQLModel, table=True):
    """A generated rubric matched with the gold one by one model; `matching_id` is the id of its cell."""

    __tablename__: ClassVar[Any] = "rubric_matchings"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "matcher_id"], ["judges.audit_id", "judges.judge_id"]),
        Index("rubric_matchings_by_draft", "draft_id"),
        Index("rubric_matchings_by_time", "audit_id", "created_at"),
        Index("rubric_matchings_unscored", "audit_id", sqlite_where=_IS_UNSCORED, postgresql_where=_IS_UNSCORED),
    )
    matching_id: str = Field(primary_key=True)
    audit_id: str
    matcher_id: str
    draft_id: str = Field(foreign_key="rubric_drafts.draft_id")
    rubric_id: str = Field(foreign_key="rubric_sets.rubric_id")
    status: str
    unscored_reason: str | None = None
    created_at: datetime = created()


class RubricMatch(SQLModel, table=True):
    """One generated rule (`rule`, from 1) of a matching, and the gold rule with the same meaning, None where none has.

    `method` is `equal` where both say the same but for case, width and punctuation, so that no model was asked.
    """

    __tablename__: ClassVar[Any] = "rubric_matches"
    matching_id: str = Field(primary_key=True, foreign_key="rubric_matchings.matching_id")
    rule: int = Field(primary_key=True)
    gold_rule: int | None = None
    status: str
    unscored_reason: str | None = None
    method: str
    reason: str
    repaired: bool
    log_id: str | None = None


class RubricRuling(SQLModel, table=True):
    """Which rules a judge applied for a verdict (`ruling_id` is its id), and what follows from what it said of each.

    `says` is A, B or tie of a pair, pass or fail of one response; None where a rule's verdict is missing. `conflict`
    says how the verdict disagrees with it: `soft_over_hard` went for what fails a hard rule, `reweighted` against the
    count of soft ones. `left_out` rules were not shown, `unscored` ones got no readable verdict.
    """

    __tablename__: ClassVar[Any] = "rubric_rulings"
    __table_args__ = (
        ForeignKeyConstraint(["audit_id", "judge_id"], ["judges.audit_id", "judges.judge_id"]),
        Index("rubric_rulings_by_rubric", "rubric_id"),
        Index("rubric_rulings_by_judge", "audit_id", "judge_id"),
    )
    ruling_id: str = Field(primary_key=True, foreign_key="verdicts.verdict_id")
    audit_id: str
    judge_id: str
    rubric_id: str | None = Field(default=None, foreign_key="rubric_sets.rubric_id")
    says: str | None = None
    conflict: str | None = None
    left_out: int = 0
    unscored: int = 0


class RubricVerdict(SQLModel, table=True):
    """Whether one rule is met: by side A and by side B of a pair, or (`met`) by one response. None: not said."""

    __tablename__: ClassVar[Any] = "rubric_verdicts"
    ruling_id: str = Field(primary_key=True, foreign_key="rubric_rulings.ruling_id")
    rule: int = Field(primary_key=True)
    met_a: bool | None = None
    met_b: bool | None = None
    met: bool | None = None
    reason: str

"""Generated rubrics and applied rules as an answer shows them: a few rows, whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from misjudge_storage import tables
from misjudge_storage.rubric_records import rules_of
from misjudge_storage.types import Rule

DRAFTS = tables.table(tables.RubricDraft)
JUDGES = tables.table(tables.Judge)
RULINGS = tables.table(tables.RubricRuling)
RULED = tables.table(tables.RubricVerdict)


class WrittenRubric(NamedTuple):
    """A generated rubric with its rules, and what became of those that its writer wrote (see `RubricDraft`)."""

    draft_id: str
    task_id: str
    writer: str
    unscored_reason: str | None
    written: int
    duplicates: int
    left_out: int
    split: int
    compound: int
    repaired: bool
    log_id: str | None
    rules: tuple[Rule, ...] = ()


class RuledRule(NamedTuple):
    """What a judge said of one rule that it applied: of both sides of a pair, or of one response. None: not said."""

    rule: int
    text: str
    met_a: bool | None
    met_b: bool | None
    met: bool | None
    reason: str


class AppliedRubric(NamedTuple):
    """The rules that were applied for a verdict, and what they come to (see `RubricRuling`)."""

    ruling_id: str
    rubric_id: str | None
    says: str | None
    conflict: str | None
    left_out: int
    unscored: int
    rules: tuple[RuledRule, ...] = ()


def written_rubrics(connection: Connection, draft_ids: Sequence[str]) -> list[WrittenRubric]:
    """Those of these generated rubrics that are stored, in the order of the ids."""
    columns = [DRAFTS.c[name] for name in WrittenRubric._fields if name not in {"writer", "rules"}]
    query = (
        select(DRAFTS.c.rubric_id, JUDGES.c.label.label("writer"), *columns)
        .join(JUDGES, (JUDGES.c.audit_id == DRAFTS.c.audit_id) & (JUDGES.c.judge_id == DRAFTS.c.writer_id))
        .where(DRAFTS.c.draft_id.in_(draft_ids))
    )
    rows = {row["draft_id"]: dict(row) for row in connection.execute(query).mappings()}
    rules = rules_of(connection, [row["rubric_id"] for row in rows.values() if row["rubric_id"] is not None])
    found = []
    for draft_id in draft_ids:
        if draft_id in rows:
            row = rows[draft_id]
            found.append(WrittenRubric(rules=rules.get(row.pop("rubric_id"), ()), **row))
    return found


def applied_rubrics(connection: Connection, verdict_ids: Sequence[str]) -> dict[str, AppliedRubric]:
    """Verdict → the rules that were applied for it, of those verdicts for which any were."""
    columns = [RULINGS.c[name] for name in AppliedRubric._fields if name != "rules"]
    rows = connection.execute(select(*columns).where(RULINGS.c.ruling_id.in_(verdict_ids))).all()
    texts = rules_of(connection, [row.rubric_id for row in rows if row.rubric_id is not None])
    said: defaultdict[str, list[RuledRule]] = defaultdict(list)
    rubric_of = {row.ruling_id: row.rubric_id for row in rows}
    query = select(RULED).where(RULED.c.ruling_id.in_(list(rubric_of))).order_by(RULED.c.ruling_id, RULED.c.rule)
    for one in connection.execute(query):
        text = texts[rubric_of[one.ruling_id]][one.rule - 1].text
        said[one.ruling_id].append(RuledRule(one.rule, text, one.met_a, one.met_b, one.met, one.reason))
    return {row.ruling_id: AppliedRubric(*row)._replace(rules=tuple(said[row.ruling_id])) for row in rows}

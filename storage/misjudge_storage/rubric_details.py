"""Records of rubrics with their rules as they read: single ones whole, and the few that an answer shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, func, select, text

from misjudge_storage import tables
from misjudge_storage.queries import Fields, fields
from misjudge_storage.record_lists import Listed
from misjudge_storage.rubric_records import RULES, rules_of
from misjudge_storage.types import Rule

SETS = tables.table(tables.RubricSet)
NAMES = tables.table(tables.RubricName)
GOLD = tables.table(tables.TaskRubric)
DRAFTS = tables.table(tables.RubricDraft)
MATCHINGS = tables.table(tables.RubricMatching)
MATCHES = tables.table(tables.RubricMatch)
RULINGS = tables.table(tables.RubricRuling)
RULE_VERDICTS = tables.table(tables.RubricVerdict)
AUDITS = tables.table(tables.Audit)
JUDGES = tables.table(tables.Judge)

_SETS = """
    SELECT s.rubric_id, s.number,
        (SELECT COUNT(*) FROM rubric_rules r WHERE r.rubric_id = s.rubric_id AND r.hard) AS hard,
        (SELECT COUNT(*) FROM rubric_rules r WHERE r.rubric_id = s.rubric_id AND r.high_level) AS high_level,
        (SELECT MAX(n.name) FROM rubric_names n WHERE n.rubric_id = s.rubric_id) AS name,
        SUBSTR((SELECT r.text FROM rubric_rules r WHERE r.rubric_id = s.rubric_id AND r.rule = 1), 1, 80) AS first_rule,
        s.rubric_id IN (
            SELECT d.rubric_id FROM rubric_drafts d JOIN judges j ON j.audit_id = d.audit_id
            AND j.judge_id = d.writer_id WHERE j.simulated AND d.rubric_id IS NOT NULL
        ) AND s.rubric_id NOT IN (SELECT t.rubric_id FROM task_rubrics t) AS judged
    FROM rubric_sets s
    WHERE s.rubric_id IN (SELECT rubric_id FROM rubric_sets ORDER BY created_at, rubric_id LIMIT :limit OFFSET :start)
    ORDER BY s.created_at, s.rubric_id
"""
"""`judged`: a simulated writer made the rules up, and no task has them as its gold ones."""


class GoldOf(NamedTuple):
    """How many tasks of an audit have a set as their gold rules."""

    audit: str
    tasks: int


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


def list_rubrics(connection: Connection, start: int, limit: int) -> list[Listed]:
    """Every stored set from the `start`th on, in the order in which they came."""
    found = [fields(row) for row in connection.execute(text(_SETS), {"start": start, "limit": limit}).mappings()]
    return [Listed({**row, "simulated": judged}, int(judged), 1, False) for row, judged in map(_unmarked, found)]


def _unmarked(row: Fields) -> tuple[Fields, bool]:
    judged = bool(row.pop("judged"))
    return row, judged


def count_rubrics(connection: Connection) -> int:
    """How many sets are stored."""
    return connection.scalar(select(func.count()).select_from(SETS)) or 0


def rubric_facts(connection: Connection, rubric_id: str) -> Fields:
    """A set with its rules, the names that it is or was under, and the tasks whose gold rules they are."""
    row = connection.execute(select(SETS).where(SETS.c.rubric_id == rubric_id)).mappings().one()
    names = select(NAMES.c.name).where(NAMES.c.rubric_id == rubric_id).distinct().order_by(NAMES.c.name)
    gold = (
        select(AUDITS.c.name, func.count())
        .join_from(GOLD, AUDITS, AUDITS.c.audit_id == GOLD.c.audit_id)
        .where(GOLD.c.rubric_id == rubric_id)
        .group_by(AUDITS.c.name)
        .order_by(AUDITS.c.name)
    )
    return {
        **fields(row),
        "names": list(connection.scalars(names)),
        "gold_of": [GoldOf(*found)._asdict() for found in connection.execute(gold)],
        "rules": numbered_rules(connection, rubric_id),
    }


def numbered_rules(connection: Connection, rubric_id: str | None) -> list[Fields]:
    """The rules of a set as they read, numbered; none without a set."""
    query = select(RULES).where(RULES.c.rubric_id == rubric_id).order_by(RULES.c.rule)
    shown = ("rule", "text", "hard", "high_level")
    return [{name: row[name] for name in shown} for row in connection.execute(query).mappings()]


def draft_of(connection: Connection, draft_id: str) -> Fields:
    """A generated rubric."""
    return fields(connection.execute(select(DRAFTS).where(DRAFTS.c.draft_id == draft_id)).mappings().one())


def matchings_of(connection: Connection, draft_id: str) -> list[str]:
    """Ids of the matchings of a generated rubric, in the order in which they came."""
    query = select(MATCHINGS.c.matching_id).where(MATCHINGS.c.draft_id == draft_id)
    return list(connection.scalars(query.order_by(MATCHINGS.c.created_at, MATCHINGS.c.matching_id)))


def matches_of(connection: Connection, matching_id: str, written: str | None, gold: str) -> list[Fields]:
    """The rule rows of a matching with the texts of both rules; `written` and `gold` are their sets."""
    texts, query = _texts(connection, written, gold), select(MATCHES).where(MATCHES.c.matching_id == matching_id)
    found = (fields(row) for row in connection.execute(query.order_by(MATCHES.c.rule)).mappings())
    return [
        {
            **{name: value for name, value in row.items() if name != "matching_id"},
            "text": _text_of(texts[written], row["rule"]),
            "gold_text": _text_of(texts[gold], row["gold_rule"]),
        }
        for row in found
    ]


def missed_rules(connection: Connection, gold: str, hit: Sequence[int | None]) -> list[Fields]:
    """The gold rules that no generated rule hit."""
    return [rule for rule in numbered_rules(connection, gold) if rule["rule"] not in hit]


def applied_rules(connection: Connection, verdict_id: str) -> bool:
    """Whether a verdict applied rules."""
    query = select(RULINGS.c.ruling_id).where(RULINGS.c.ruling_id == verdict_id)
    return connection.scalar(query) is not None


def rule_verdicts_of(connection: Connection, ruling_id: str, rubric_id: str | None) -> list[Fields]:
    """What was said of each rule that was shown, with its text and marks."""
    rules = rules_of(connection, [rubric_id]).get(rubric_id, ()) if rubric_id else ()
    query = select(RULE_VERDICTS).where(RULE_VERDICTS.c.ruling_id == ruling_id).order_by(RULE_VERDICTS.c.rule)
    return [
        {**{name: value for name, value in fields(row).items() if name != "ruling_id"}, **_marks(rules, row["rule"])}
        for row in connection.execute(query).mappings()
    ]


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
    query = (
        select(RULE_VERDICTS)
        .where(RULE_VERDICTS.c.ruling_id.in_(list(rubric_of)))
        .order_by(RULE_VERDICTS.c.ruling_id, RULE_VERDICTS.c.rule)
    )
    for one in connection.execute(query):
        text = texts[rubric_of[one.ruling_id]][one.rule - 1].text
        said[one.ruling_id].append(RuledRule(one.rule, text, one.met_a, one.met_b, one.met, one.reason))
    return {row.ruling_id: AppliedRubric(*row)._replace(rules=tuple(said[row.ruling_id])) for row in rows}


def _texts(connection: Connection, *rubric_ids: str | None) -> Mapping[str | None, Sequence[Rule]]:
    found = rules_of(connection, [identity for identity in rubric_ids if identity])
    return {identity: found.get(identity or "", ()) for identity in rubric_ids}


def _text_of(rules: Sequence[Rule], number: int | None) -> str | None:
    return rules[number - 1].text if number and number <= len(rules) else None


def _marks(rules: Sequence[Rule], number: int) -> Fields:
    return rules[number - 1].model_dump() if number <= len(rules) else {}

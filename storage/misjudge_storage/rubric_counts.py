"""What generated rubrics come to beside the gold ones, as GROUP BYs: no rule is loaded to be counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, String, bindparam, text

from misjudge_storage.types import AskedForm

_APPLIES = '%"rubrics":{%'
_FORCED = '%"forced":true%'
"""Of the canonical JSON of a judge's parameters: inside a string of it the quotes would be escaped."""


class Actor(NamedTuple):
    """A judge of pairs or responses, or who writes or matches rubrics. `params` is the JSON of its fingerprint."""

    judge_id: str
    label: str
    form: AskedForm
    model: str
    params: str
    prompt_version: str
    prompt_hash: str
    simulated: bool


class DraftTask(NamedTuple):
    """A generated rubric beside the gold one of its task, as one matcher matched it.

    `matcher_id` is None where nobody did, `total_gold` where the task has no gold rules. Of the `generated` rules
    `answered` have a scored match, of these `matched` one with a gold rule, and `equal` one that no model was asked
    for; `matched_gold` are the different gold rules that are hit. `scored` is whether the reply could be read.
    """

    writer_id: str
    matcher_id: str | None
    task_id: str
    domain: str | None
    scored: bool
    total_gold: int | None
    generated: int
    matched_gold: int
    answered: int
    matched: int
    equal: int
    duplicates: int
    compound: int


class RecallDifference(NamedTuple):
    """The gold rules of tasks for which two writers wrote, by which of them alone hits one; the last six are as in
    `stats.probes.PairedSums`, d being 1 where only the first one hits a gold rule and −1 where only the second does.
    """

    only_first: int
    only_second: int
    clusters: int
    n: int
    d: int
    dd: int
    dn: int
    nn: int


class MatchedTwice(NamedTuple):
    """A generated rubric that two matchers matched, the first by id `first_id`.

    `asked` rules were answered by both when asked, `agreed` of them alike. `first_gold`, `second_gold` and `both_gold`
    are the gold rules that each hits, and both; `whole` is whether both answered every rule.
    """

    writer_id: str
    first_id: str
    second_id: str
    draft_id: str
    task_id: str
    total_gold: int
    asked: int
    agreed: int
    first_gold: int
    second_gold: int
    both_gold: int
    whole: bool


class DisputedRule(NamedTuple):
    """A generated rule that two matchers answered differently, and the text of the gold rule of each, if any."""

    draft_id: str
    text: str
    first_gold: str | None
    second_gold: str | None


def has_rubric_work(connection: Connection, audit_id: str) -> bool:
    """Whether anyone was to write, match or apply rules in this audit, or to name one of two as RubricBench asks."""
    query = """
        SELECT EXISTS (
            SELECT 1 FROM judges WHERE audit_id = :audit
                AND (form LIKE 'rubric%' OR params LIKE :applies OR params LIKE :forced)
        )
    """
    return bool(connection.scalar(text(query), {"audit": audit_id, "applies": _APPLIES, "forced": _FORCED}))


def rubric_actors(connection: Connection, audit_id: str) -> list[Actor]:
    """The judges of pairs, those who apply rules to one response, and who writes or matches rules, by label."""
    query = """
        SELECT judge_id, label, form, model, params, prompt_version, prompt_hash, simulated FROM judges
        WHERE audit_id = :audit AND (form = 'pairwise' OR form LIKE 'rubric%') ORDER BY label, form, judge_id
    """
    rows = connection.execute(text(query), {"audit": audit_id}).mappings()
    return [Actor(**{**row, "simulated": bool(row["simulated"])}) for row in rows]


def draft_tasks(connection: Connection, audit_id: str) -> list[DraftTask]:
    """The generated rubrics of the audit, each by every matcher that matched it, or once where none did."""
    query = """
        WITH hits AS (
            SELECT g.matcher_id, g.draft_id,
                COUNT(DISTINCT CASE WHEN m.status = 'scored' THEN m.gold_rule END) AS matched_gold,
                SUM(CASE WHEN m.status = 'scored' THEN 1 ELSE 0 END) AS answered,
                SUM(CASE WHEN m.status = 'scored' AND m.gold_rule IS NOT NULL THEN 1 ELSE 0 END) AS matched,
                SUM(CASE WHEN m.status = 'scored' AND m.method = 'equal' THEN 1 ELSE 0 END) AS equal
            FROM rubric_matchings g LEFT JOIN rubric_matches m ON m.matching_id = g.matching_id
            WHERE g.audit_id = :audit GROUP BY g.matcher_id, g.draft_id
        )
        SELECT d.writer_id, h.matcher_id, d.task_id, t.subset AS domain,
            CASE d.status WHEN 'scored' THEN 1 ELSE 0 END AS scored, gold.number AS total_gold,
            COALESCE(own.number, 0) AS generated, COALESCE(h.matched_gold, 0) AS matched_gold,
            COALESCE(h.answered, 0) AS answered, COALESCE(h.matched, 0) AS matched, COALESCE(h.equal, 0) AS equal,
            d.duplicates, d.compound
        FROM rubric_drafts d
        JOIN tasks t ON t.audit_id = d.audit_id AND t.task_id = d.task_id
        LEFT JOIN task_rubrics r ON r.audit_id = d.audit_id AND r.task_id = d.task_id
        LEFT JOIN rubric_sets gold ON gold.rubric_id = r.rubric_id
        LEFT JOIN rubric_sets own ON own.rubric_id = d.rubric_id
        LEFT JOIN hits h ON h.draft_id = d.draft_id
        WHERE d.audit_id = :audit
        ORDER BY d.writer_id, h.matcher_id, d.task_id, d.draft_id
    """
    rows = connection.execute(text(query), {"audit": audit_id}).mappings()
    return [DraftTask(**{**row, "scored": bool(row["scored"])}) for row in rows]


def recall_difference(
    connection: Connection, audit_id: str, matcher_id: str, first_id: str, second_id: str
) -> RecallDifference:
    """Two writers by one matcher, over the tasks with gold rules for which both wrote what could be read and all of
    whose rules have an answer. Nobody needs to match what holds no rule.
    """
    query = """
        WITH known AS (
            SELECT d.writer_id, d.task_id, g.matching_id, gold.number AS gold
            FROM rubric_drafts d
            JOIN task_rubrics r ON r.audit_id = d.audit_id AND r.task_id = d.task_id
            JOIN rubric_sets gold ON gold.rubric_id = r.rubric_id
            LEFT JOIN rubric_sets own ON own.rubric_id = d.rubric_id
            LEFT JOIN rubric_matchings g ON g.draft_id = d.draft_id AND g.matcher_id = :matcher
            WHERE d.audit_id = :audit AND d.status = 'scored' AND d.writer_id IN (:first, :second)
                AND COALESCE(own.number, 0) = (
                    SELECT COUNT(*) FROM rubric_matches m WHERE m.matching_id = g.matching_id AND m.status = 'scored'
                )
        ),
        hits AS (
            SELECT DISTINCT k.writer_id, k.task_id, m.gold_rule
            FROM known k JOIN rubric_matches m ON m.matching_id = k.matching_id
            WHERE m.status = 'scored' AND m.gold_rule IS NOT NULL
        ),
        hit AS (
            SELECT task_id, gold_rule, SUM(CASE WHEN writer_id = :first THEN 1 ELSE 0 END) AS one,
                SUM(CASE WHEN writer_id = :second THEN 1 ELSE 0 END) AS other
            FROM hits GROUP BY task_id, gold_rule
        ),
        apart AS (
            SELECT task_id, SUM(one * (1 - other)) AS gained, SUM(other * (1 - one)) AS lost
            FROM hit GROUP BY task_id
        ),
        by_task AS (
            SELECT COALESCE(x.gained, 0) AS gained, COALESCE(x.lost, 0) AS lost, a.gold AS n,
                COALESCE(x.gained - x.lost, 0) AS d
            FROM known a
            JOIN known b ON b.task_id = a.task_id AND b.writer_id = :second
            LEFT JOIN apart x ON x.task_id = a.task_id
            WHERE a.writer_id = :first
        )
        SELECT SUM(gained), SUM(lost), COUNT(*), SUM(n), SUM(d), SUM(d * d), SUM(d * n), SUM(n * n) FROM by_task
    """
    given = {"audit": audit_id, "matcher": matcher_id, "first": first_id, "second": second_id}
    return RecallDifference(*(int(value or 0) for value in connection.execute(text(query), given).one()))


def matched_twice(connection: Connection, audit_id: str) -> list[MatchedTwice]:
    """The generated rubrics that two matchers matched, by writer and matchers."""
    query = """
        WITH twice AS (
            SELECT a.draft_id, a.matcher_id AS first_id, b.matcher_id AS second_id,
                a.matching_id AS first_matching, b.matching_id AS second_matching
            FROM rubric_matchings a JOIN rubric_matchings b ON b.draft_id = a.draft_id AND a.matcher_id < b.matcher_id
            WHERE a.audit_id = :audit
        ),
        answers AS (
            SELECT w.first_matching, w.second_matching, x.gold_rule AS first_rule, y.gold_rule AS second_rule,
                CASE WHEN x.method = 'equal' OR y.method = 'equal' THEN 0 ELSE 1 END AS asked
            FROM twice w
            JOIN rubric_matches x ON x.matching_id = w.first_matching AND x.status = 'scored'
            JOIN rubric_matches y ON y.matching_id = w.second_matching AND y.rule = x.rule AND y.status = 'scored'
        ),
        counted AS (
            SELECT first_matching, second_matching, COUNT(*) AS answered, SUM(asked) AS asked,
                SUM(CASE WHEN COALESCE(first_rule, 0) = COALESCE(second_rule, 0) THEN asked ELSE 0 END) AS agreed,
                COUNT(DISTINCT first_rule) AS first_gold, COUNT(DISTINCT second_rule) AS second_gold
            FROM answers GROUP BY first_matching, second_matching
        ),
        shared AS (
            SELECT a.first_matching, a.second_matching, COUNT(DISTINCT a.first_rule) AS both_gold
            FROM answers a JOIN answers b ON b.first_matching = a.first_matching
                AND b.second_matching = a.second_matching AND b.second_rule = a.first_rule
            GROUP BY a.first_matching, a.second_matching
        )
        SELECT d.writer_id, w.first_id, w.second_id, d.draft_id, d.task_id, gold.number AS total_gold,
            COALESCE(c.asked, 0) AS asked, COALESCE(c.agreed, 0) AS agreed, COALESCE(c.first_gold, 0) AS first_gold,
            COALESCE(c.second_gold, 0) AS second_gold, COALESCE(s.both_gold, 0) AS both_gold,
            CASE WHEN COALESCE(c.answered, 0) = own.number THEN 1 ELSE 0 END AS whole
        FROM twice w
        JOIN rubric_drafts d ON d.draft_id = w.draft_id
        JOIN rubric_sets own ON own.rubric_id = d.rubric_id
        JOIN task_rubrics r ON r.audit_id = d.audit_id AND r.task_id = d.task_id
        JOIN rubric_sets gold ON gold.rubric_id = r.rubric_id
        LEFT JOIN counted c ON c.first_matching = w.first_matching AND c.second_matching = w.second_matching
        LEFT JOIN shared s ON s.first_matching = w.first_matching AND s.second_matching = w.second_matching
        ORDER BY d.writer_id, w.first_id, w.second_id, d.task_id, d.draft_id
    """
    rows = connection.execute(text(query), {"audit": audit_id}).mappings()
    return [MatchedTwice(**{**row, "whole": bool(row["whole"])}) for row in rows]


def disputed_rules(
    connection: Connection, first_id: str, second_id: str, draft_ids: Sequence[str]
) -> list[DisputedRule]:
    """The rules of these generated rubrics that both matchers answered, and differently."""
    query = text("""
        SELECT d.draft_id, u.text, one.text, two.text
        FROM rubric_drafts d
        JOIN task_rubrics r ON r.audit_id = d.audit_id AND r.task_id = d.task_id
        JOIN rubric_matchings a ON a.draft_id = d.draft_id AND a.matcher_id = :first
        JOIN rubric_matchings b ON b.draft_id = d.draft_id AND b.matcher_id = :second
        JOIN rubric_matches x ON x.matching_id = a.matching_id AND x.status = 'scored'
        JOIN rubric_matches y ON y.matching_id = b.matching_id AND y.rule = x.rule AND y.status = 'scored'
        JOIN rubric_rules u ON u.rubric_id = d.rubric_id AND u.rule = x.rule
        LEFT JOIN rubric_rules one ON one.rubric_id = r.rubric_id AND one.rule = x.gold_rule
        LEFT JOIN rubric_rules two ON two.rubric_id = r.rubric_id AND two.rule = y.gold_rule
        WHERE d.draft_id IN :drafts AND COALESCE(x.gold_rule, 0) <> COALESCE(y.gold_rule, 0)
        ORDER BY d.draft_id, x.rule
    """).bindparams(bindparam("drafts", type_=String, expanding=True))
    given = {"first": first_id, "second": second_id, "drafts": list(draft_ids)}
    return [DisputedRule(*row) for row in connection.execute(query, given)]

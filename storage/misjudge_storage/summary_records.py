"""The counts of an audit, as GROUP BYs: no row is loaded to be counted.

`reduce_audit` reduces the audit once into a temporary table, one row per pair and judge; everything on
pairs is grouped from it. The table goes with the connection's transaction.

Sums over tasks (`Sums`) are what a clustered interval needs. Tasks of different subsets are different
clusters, so the sums of subsets add up to those of the judge.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import get_args

from sqlalchemy import Connection, text

from misjudge_storage.summary_values import (
    AgentMeans,
    AgentSatisfaction,
    Group,
    GroupCounts,
    JudgeFacts,
    LabelCount,
    PairTotals,
    SatisfactionSums,
    ScoreCount,
    Sums,
    Use,
)
from misjudge_storage.types import Form

REDUCED = "audit_summary"


_FORMS = ", ".join(f"'{form}'" for form in get_args(Form))
_CALLS = "(calls_a + calls_b + calls_tie)"
_RIGHT = "CASE gold WHEN 'A' THEN calls_a WHEN 'B' THEN calls_b ELSE 0 END"
_WRONG = "CASE gold WHEN 'A' THEN calls_b WHEN 'B' THEN calls_a ELSE 0 END"
_RIGHT_AB = "CASE gold WHEN 'A' THEN ab_a WHEN 'B' THEN ab_b ELSE 0 END"
_RIGHT_BA = "CASE gold WHEN 'A' THEN ba_a WHEN 'B' THEN ba_b ELSE 0 END"
_DECIDED = "decidable = 1 AND pref <> 'tie'"
_BOTH = "CASE WHEN both_orders = 1 AND status <> 'unscored' THEN 1 ELSE 0 END"


def _when(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"


MEASURES: Mapping[str, tuple[str, str]] = {
    "wrong_calls": (_WRONG, f"decidable * {_CALLS}"),
    "wrong_pairs": (_when(f"{_DECIDED} AND pref <> gold"), _when(_DECIDED)),
    "flips": (_when("both_orders = 1 AND status = 'inconsistent'"), _BOTH),
    "soft_flips": (_when("both_orders = 1 AND status = 'weak'"), _BOTH),
    "agreements": (_when("both_orders = 1 AND status IN ('decided', 'tie')"), _BOTH),
    "letter_a": ("ab_a + ba_b", "ab_a + ab_b + ba_a + ba_b"),
    "right": (_RIGHT, f"decidable * {_CALLS}"),
    "right_ab": (_RIGHT_AB, "decidable * (ab_a + ab_b + ab_tie)"),
    "right_ba": (_RIGHT_BA, "decidable * (ba_a + ba_b + ba_tie)"),
    "votes": (_when(f"decidable = 1 AND ({_RIGHT}) > ({_WRONG})"), "decidable"),
}
"""Name → (k, n) of one pair. `right` holds every call, also of unknown order; `right_ab`, `right_ba` those of one."""

TALLIES: Mapping[str, str] = {
    "pairs": "1",
    "decidable": "decidable",
    "gold_tie": _when("gold = 'tie'"),
    "gold_unknown": _when("gold IS NULL"),
    "scored": _when("status <> 'unscored'"),
    "tie": _when("status = 'tie'"),
    "inconsistent": _when("status = 'inconsistent'"),
    "unscored": _when("status = 'unscored'"),
    "weak": _when("status = 'weak'"),
}
"""Field of `GroupCounts` → what it counts."""

_BUCKETS = """
    CASE WHEN {gap} <= 0.200000001 THEN 'near' WHEN {gap} <= 0.500000001 THEN 'small'
        WHEN {gap} <= 1.000000001 THEN 'medium' ELSE 'wide' END
"""
"""With a margin, since 0.8 − 0.6 is a little more than 0.2 in floating point."""
BUCKET_CUTS: Mapping[str, str] = {
    "near": "up to 0.2",
    "small": "above 0.2 to 0.5",
    "medium": "above 0.5 to 1",
    "wide": "above 1",
}

_SAME_QUESTION = """
    EXISTS (
        SELECT 1 FROM verdicts v
        WHERE {subject} = u.subject AND v.judge_id = u.judge_id AND v.status <> 'unscored' AND NOT v.reduced
            AND NOT u.reduced
            AND COALESCE(v.order_shown, '') = u.shown AND v.repeat = u.repeat
    )
"""
# Two questions, not one with OR: that would go through all verdicts of the audit for each unscored one.
_OF_PAIR = _SAME_QUESTION.format(subject="v.audit_id = :audit AND v.pair_id")
_OF_TRAJECTORY = _SAME_QUESTION.format(subject="v.trajectory_id")
ASKED_AGAIN = f"({_OF_PAIR} OR {_OF_TRAJECTORY})"
"""Of an unscored verdict `u` with its subject and order shown: the same was asked again, and scored."""


def reduce_audit(connection: Connection, audit_id: str) -> None:
    """Fill the temporary table: one row per pair and judge, and one for a pair that nobody judged.

    `turns` are those of the longer episode, `model_a` and `model_b` the base models of the agents as stated. `calls_*`
    count calls that were read as A, B or tie, un-swapped, and those that could not be read; `ab_*` and `ba_*` by the
    order shown. `score_a` and `score_b` are means over the calls of the pair.
    """
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {REDUCED} AS
        SELECT
            p.pair_id, p.task_id, t.subset, t.category, t.language, v.judge_id,
            g.gold_pref AS gold, CASE WHEN g.gold_pref IN ('A', 'B') THEN 1 ELSE 0 END AS decidable,
            v.status, v.pref, CASE WHEN v.blind_order = 'both' THEN 1 ELSE 0 END AS both_orders,
            v.calls_a, v.calls_b, v.calls_tie, v.calls_unscored,
            COALESCE(v.ab_a, 0) AS ab_a, COALESCE(v.ab_b, 0) AS ab_b, COALESCE(v.ab_tie, 0) AS ab_tie,
            COALESCE(v.ba_a, 0) AS ba_a, COALESCE(v.ba_b, 0) AS ba_b, COALESCE(v.ba_tie, 0) AS ba_tie,
            CASE WHEN g.reward_source IS NOT NULL THEN ABS(g.reward_a - g.reward_b) END AS reward_gap,
            v.score_a - v.score_b AS score_lead, ABS(v.score_a - v.score_b) AS score_gap,
            COALESCE(p.ability_bucket, CASE WHEN p.gap_source = 'ability' THEN
                CASE WHEN p.reward_gap < 0.099999999 THEN 'near' ELSE 'wide' END END) AS ability_bucket,
            v.score_a, v.score_b, p.trial, p.trajectory_a, p.trajectory_b, a.agent AS agent_a, b.agent AS agent_b,
            a.base_model AS model_a, b.base_model AS model_b,
            CASE WHEN b.turns > a.turns THEN b.turns ELSE COALESCE(a.turns, b.turns) END AS turns
        FROM pairs p
        JOIN trajectories a ON a.trajectory_id = p.trajectory_a
        JOIN trajectories b ON b.trajectory_id = p.trajectory_b
        JOIN tasks t ON t.audit_id = p.audit_id AND t.task_id = p.task_id
        JOIN pair_gold g ON g.audit_id = p.audit_id AND g.pair_id = p.pair_id
        LEFT JOIN reduced_verdicts v ON v.audit_id = p.audit_id AND v.pair_id = p.pair_id AND v.audit_id = '{audit_id}'
        WHERE p.audit_id = '{audit_id}' AND g.audit_id = '{audit_id}'
        """)
    )


def pair_totals(connection: Connection) -> PairTotals:
    """Distinct pairs of the reduced audit."""
    kinds = ("decidable = 1", "gold = 'tie'", "gold IS NULL")
    counted = ", ".join(f"COUNT(DISTINCT CASE WHEN {kind} THEN pair_id END)" for kind in kinds)
    return PairTotals(*connection.execute(text(f"SELECT COUNT(DISTINCT pair_id), {counted} FROM {REDUCED}")).one())


def group_counts(connection: Connection) -> dict[Group, GroupCounts]:
    """The counts by judge and subset."""
    return _counts(connection, REDUCED, ("judge_id", "subset"))


def bucket_counts(connection: Connection, *, graded_rewards: bool) -> dict[Group, GroupCounts]:
    """The counts by judge, subset and bucket, for each gap that the audit holds."""
    gaps = [
        f"SELECT s.*, 'ability' AS gap, ability_bucket AS bucket FROM {REDUCED} s WHERE ability_bucket IS NOT NULL",
        f"SELECT s.*, 'judge_score' AS gap, {_BUCKETS.format(gap='score_gap')} AS bucket "
        f"FROM {REDUCED} s WHERE score_gap IS NOT NULL",
    ]
    if graded_rewards:
        gaps.append(
            f"SELECT s.*, 'reward' AS gap, {_BUCKETS.format(gap='reward_gap')} AS bucket "
            f"FROM {REDUCED} s WHERE reward_gap IS NOT NULL"
        )
    return _counts(connection, f"({' UNION ALL '.join(gaps)}) g", ("judge_id", "subset", "gap", "bucket"))


def _counts(connection: Connection, source: str, groups: Sequence[str]) -> dict[Group, GroupCounts]:
    by = ", ".join(groups)
    inner = ", ".join(f"SUM({k}) AS k_{name}, SUM({n}) AS n_{name}" for name, (k, n) in MEASURES.items())
    outer = ", ".join(sums_of(measure) for measure in MEASURES)
    named = ", ".join(f"SUM({tally}) AS c_{name}" for name, tally in TALLIES.items())
    summed = ", ".join(f"SUM(c_{name})" for name in TALLIES)
    query = f"""
        WITH by_task AS (
            SELECT {by}, task_id, {named}, {inner} FROM {source} WHERE judge_id IS NOT NULL GROUP BY {by}, task_id
        )
        SELECT {by}, {summed}, {outer} FROM by_task GROUP BY {by}
    """
    found = {}
    for row in connection.execute(text(query)):
        values = [int(value) for value in row[len(groups) :]]
        counts, sums = values[: len(TALLIES)], values[len(TALLIES) :]
        measures = {name: Sums(*sums[6 * i : 6 * i + 6]) for i, name in enumerate(MEASURES)}
        found[Group(*row[: len(groups)])] = GroupCounts(**dict(zip(TALLIES, counts, strict=True)), measures=measures)
    return found


def sums_of(measure: str) -> str:
    """The columns of `Sums`, from rows that hold one task's `k_measure` and `n_measure` each."""
    k, n = f"k_{measure}", f"n_{measure}"
    return (
        f"SUM(CASE WHEN {n} > 0 THEN 1 ELSE 0 END), SUM({k}), SUM({n}), SUM({k} * {k}), SUM({k} * {n}), SUM({n} * {n})"
    )


def has_graded_rewards(connection: Connection, audit_id: str) -> bool:
    """Whether rewards take at least three values; with binary success every decidable gap is 1."""
    query = (
        "SELECT COUNT(DISTINCT reward) FROM checks "
        "WHERE audit_id = :audit AND scope = 'outcome' AND source NOT IN ('order', 'model')"
    )
    return (connection.scalar(text(query), {"audit": audit_id}) or 0) >= 3


def judges(connection: Connection, audit_id: str) -> list[JudgeFacts]:
    """The judges of the audit by label; not those who write or match rubrics."""
    query = f"""
        SELECT judge_id, label, form, simulated, scale_low AS low, scale_high AS high, threshold, better, params
        FROM judges WHERE audit_id = :audit AND form IN ({_FORMS}) ORDER BY label, form, judge_id
    """
    found = map(dict, connection.execute(text(query), {"audit": audit_id}).mappings())
    return [JudgeFacts(apart=_apart(row.pop("params")), **row) for row in found]


def _apart(params: str) -> bool:
    """Whether parameters hold rules to apply, or that one of two must be named. Imported ones may be anything."""
    try:
        stated = json.loads(params)
    except ValueError:
        return False
    return isinstance(stated, dict) and ("rubrics" in stated or "forced" in stated)


def unscored_reasons(connection: Connection, audit_id: str) -> dict[str, dict[str, int]]:
    """Judge id → reason → verdicts that could not be scored. A lost one that was asked again is not counted."""
    query = f"""
        WITH unscored AS (
            SELECT judge_id, COALESCE(pair_id, trajectory_id) AS subject, COALESCE(order_shown, '') AS shown, repeat,
                MAX(unscored_reason) AS reason, reduced
            FROM verdicts WHERE audit_id = :audit AND status = 'unscored'
            GROUP BY judge_id, COALESCE(pair_id, trajectory_id), COALESCE(order_shown, ''), repeat, reduced
        )
        SELECT u.judge_id, u.reason, COUNT(*) FROM unscored u
        WHERE NOT {ASKED_AGAIN}
        GROUP BY u.judge_id, u.reason ORDER BY 1, 2
    """
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for judge_id, reason, number in connection.execute(text(query), {"audit": audit_id}):
        found[judge_id][reason or "parse_error"] = number
    return dict(found)


_SCORED_AND_KNOWN = """
    scores AS (
        SELECT judge_id, trajectory_id, AVG(score) AS score FROM verdicts
        WHERE audit_id = :audit AND trajectory_id IS NOT NULL AND score IS NOT NULL
        GROUP BY judge_id, trajectory_id
    ),
    known AS (
        SELECT s.judge_id, o.agent, o.task_id, 1 - o.success AS failed,
            CASE WHEN j.better = 'higher' AND s.score >= j.threshold THEN 1
                WHEN j.better = 'lower' AND s.score <= j.threshold THEN 1 ELSE 0 END AS satisfied
        FROM scores s
        JOIN judges j ON j.audit_id = :audit AND j.judge_id = s.judge_id
        JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
        WHERE o.success IS NOT NULL
    )
"""
"""Trajectories with satisfaction and outcome."""


def satisfaction_sums(connection: Connection, audit_id: str) -> dict[str, SatisfactionSums]:
    """Judge id → failures among all scored trajectories, and among the satisfied, as sums over tasks."""
    query = f"""
        WITH {_SCORED_AND_KNOWN},
        by_task AS (
            SELECT judge_id, task_id, SUM(failed) AS k_all, COUNT(*) AS n_all,
                SUM(failed * satisfied) AS k_satisfied, SUM(satisfied) AS n_satisfied
            FROM known GROUP BY judge_id, task_id
        )
        SELECT judge_id, {sums_of("all")}, {sums_of("satisfied")} FROM by_task GROUP BY judge_id
    """
    return {
        row[0]: SatisfactionSums(Sums(*map(int, row[1:7])), Sums(*map(int, row[7:13])))
        for row in connection.execute(text(query), {"audit": audit_id})
    }


def agent_satisfaction(connection: Connection, audit_id: str) -> list[AgentSatisfaction]:
    """Satisfied and failed episodes of each agent by judge, by the threshold of its scale."""
    query = f"""
        WITH {_SCORED_AND_KNOWN}
        SELECT judge_id, agent, SUM(satisfied), SUM(failed * satisfied) FROM known
        GROUP BY judge_id, agent ORDER BY judge_id, agent
    """
    return [AgentSatisfaction(*row) for row in connection.execute(text(query), {"audit": audit_id})]


def satisfaction_scores(connection: Connection, audit_id: str) -> list[ScoreCount]:
    """Trajectories by judge and mean score, of those with a known outcome."""
    query = """
        WITH scores AS (
            SELECT judge_id, trajectory_id, AVG(score) AS score FROM verdicts
            WHERE audit_id = :audit AND trajectory_id IS NOT NULL AND score IS NOT NULL
            GROUP BY judge_id, trajectory_id
        )
        SELECT s.judge_id, s.score, SUM(1 - o.success), SUM(o.success)
        FROM scores s JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
        WHERE o.success IS NOT NULL
        GROUP BY s.judge_id, s.score ORDER BY s.judge_id, s.score
    """
    return [ScoreCount(*row) for row in connection.execute(text(query), {"audit": audit_id})]


def agent_scores(connection: Connection, audit_id: str) -> list[AgentMeans]:
    """Agents by judge: the mean of the satisfaction scores as gate."""
    return _agents(
        connection,
        audit_id,
        """
        SELECT judge_id, trajectory_id, AVG(score) AS gate FROM verdicts
        WHERE audit_id = :audit AND trajectory_id IS NOT NULL AND score IS NOT NULL
        GROUP BY judge_id, trajectory_id
        """,
    )


def agent_wins(connection: Connection, audit_id: str) -> list[AgentMeans]:
    """Agents by judge: the share of decided pairs won as gate."""
    return _agents(
        connection,
        audit_id,
        f"""
        SELECT judge_id, trajectory_a AS trajectory_id, CASE WHEN pref = 'A' THEN 1.0 ELSE 0.0 END AS gate
        FROM {REDUCED} WHERE pref IN ('A', 'B')
        UNION ALL
        SELECT judge_id, trajectory_b, CASE WHEN pref = 'B' THEN 1.0 ELSE 0.0 END
        FROM {REDUCED} WHERE pref IN ('A', 'B')
        """,
    )


def _agents(connection: Connection, audit_id: str, gates: str) -> list[AgentMeans]:
    query = f"""
        WITH gates AS ({gates}),
        by_trajectory AS (
            SELECT judge_id, trajectory_id, SUM(gate) AS gate, COUNT(*) AS n FROM gates GROUP BY judge_id, trajectory_id
        )
        SELECT
            g.judge_id, o.agent, AVG(COALESCE(o.reward, o.success)), SUM(g.gate) / SUM(g.n),
            AVG(o.order_rank), MIN(o.base_model)
        FROM by_trajectory g JOIN trajectory_outcomes o ON o.trajectory_id = g.trajectory_id AND o.audit_id = :audit
        WHERE COALESCE(o.reward, o.success) IS NOT NULL
        GROUP BY g.judge_id, o.agent ORDER BY g.judge_id, o.agent
    """
    return [
        AgentMeans(row[0], row[1], float(row[2]), float(row[3]), None if row[4] is None else float(row[4]), row[5])
        for row in connection.execute(text(query), {"audit": audit_id})
    ]


def label_counts(connection: Connection, audit_id: str) -> list[LabelCount]:
    """Every two labellers with pairs in common; annotators come before judges in a couple."""
    query = f"""
        WITH latest AS (
            SELECT pair_id, labeller, pref,
                ROW_NUMBER() OVER (PARTITION BY pair_id, labeller ORDER BY created_at DESC, label_id) AS place
            FROM gold_labels WHERE audit_id = :audit
        ),
        labels AS (
            SELECT pair_id, 0 AS kind, labeller, pref FROM latest WHERE place = 1 AND pref <> 'split'
            UNION ALL
            SELECT s.pair_id, 1, j.label, s.pref FROM {REDUCED} s
            JOIN judges j ON j.audit_id = :audit AND j.judge_id = s.judge_id
            WHERE s.pref IS NOT NULL
        )
        SELECT a.labeller, b.labeller, a.pref, b.pref, COUNT(*)
        FROM labels a JOIN labels b ON b.pair_id = a.pair_id
            AND (a.kind < b.kind OR (a.kind = b.kind AND a.labeller < b.labeller))
        GROUP BY a.labeller, b.labeller, a.pref, b.pref
    """
    return [LabelCount(*row) for row in connection.execute(text(query), {"audit": audit_id})]


def uses(connection: Connection, audit_id: str) -> list[Use]:
    """Calls, tokens and cost by role, judge and source of the price; what the cache answered is none.

    A failed attempt is a call, but lacks neither usage nor price.
    """
    query = """
        SELECT role, judge_id, price_source, COUNT(*), SUM(input_tokens), SUM(output_tokens),
            SUM(CASE WHEN error IS NULL AND (input_tokens IS NULL OR output_tokens IS NULL) THEN 1 ELSE 0 END),
            SUM(est_cost), SUM(CASE WHEN error IS NULL AND est_cost IS NULL THEN 1 ELSE 0 END)
        FROM judge_logs WHERE audit_id = :audit AND cached_from IS NULL
        GROUP BY role, judge_id, price_source ORDER BY 1, 2, 3
    """
    return [Use(*row) for row in connection.execute(text(query), {"audit": audit_id})]

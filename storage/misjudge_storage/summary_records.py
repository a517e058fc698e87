"""The counts of an audit, as GROUP BYs: no row is loaded to be counted.

`reduce_audit` reduces the audit once into a temporary table, one row per pair and judge; everything on
pairs is grouped from it. The table goes with the connection's transaction.

Sums over tasks (`Sums`) are what a clustered interval needs. Tasks of different subsets are different
clusters, so the sums of subsets add up to those of the judge.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, get_args

from sqlalchemy import Connection, text

from misjudge_storage.gap_tallies import BUCKET_CUTS as BUCKET_CUTS
from misjudge_storage.gap_tallies import (
    BUCKET_MEASURES,
    bucket_of,
    counts_by_bucket,
    fields_hold,
    hold_gap_tallies,
)
from misjudge_storage.reduced_audit import REDUCED as REDUCED
from misjudge_storage.reduced_audit import ROWS, SEGMENTS
from misjudge_storage.reduced_audit import reduce_audit as reduce_audit
from misjudge_storage.reduced_kinds import KINDS, PACKED, unpacked
from misjudge_storage.reduced_kinds import MEASURES as MEASURES
from misjudge_storage.reduced_kinds import TALLIES as TALLIES
from misjudge_storage.summary_values import (
    AgentSatisfaction,
    Group,
    GroupCounts,
    JudgeFacts,
    LabelCount,
    PairTotals,
    SatisfactionSums,
    ScoreCount,
    Sums,
)
from misjudge_storage.types import Form

_FORMS = ", ".join(f"'{form}'" for form in get_args(Form))
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


def pair_totals(connection: Connection) -> PairTotals:
    """Distinct pairs of the reduced audit."""
    _hold_tallies(connection)
    judges = connection.scalar(text(f"SELECT COUNT(DISTINCT judge_id) FROM {SEGMENTS}")) or 0
    said = ("pairs", "decidable", "gold_tie", "gold_unknown")
    if judges < 2:  # so every row is a pair of its own
        packed = [name for name, two in PACKED.items() if two[0] in {TALLIES[name] for name in said}]
        counted = f"SELECT {', '.join(_halves(packed))} FROM {_TALLIED}"
    else:
        counted = f"SELECT DISTINCT pair_no, {', '.join(TALLIES[name] for name in said)} FROM {REDUCED}"
    summed = ", ".join(f"COALESCE(SUM({TALLIES[name]}), 0)" for name in said)
    return PairTotals(*map(int, connection.execute(text(f"SELECT {summed} FROM ({counted}) p")).one()))


def group_counts(connection: Connection) -> dict[Group, GroupCounts]:
    """The counts by judge and subset."""
    _hold_tallies(connection)
    return {Group(*group): counts for group, counts in _counts(connection, _TALLIED, ("judge_id", "subset"))}


GAPS = ("ability", "judge_score", "reward")


def bucket_counts(connection: Connection, *, graded_rewards: bool) -> dict[Group, GroupCounts]:
    """The counts by judge, subset and bucket, for each gap that the audit holds (see `gap_bucket_counts`)."""
    gaps = [gap for gap in GAPS if graded_rewards or gap != "reward"]
    return {group: counts for gap in gaps for group, counts in gap_bucket_counts(connection, gap).items()}


def gap_bucket_counts(connection: Connection, gap: str) -> dict[Group, GroupCounts]:
    """The counts by judge, subset and bucket of one gap of `GAPS`. By the ability of the agents it takes next to no
    time and holds every measure; by the others one pass through all pairs for both, and `BUCKET_MEASURES` alone.
    """
    _hold_tallies(connection)
    if gap == "ability":
        found = _counts(connection, _TALLIED, ("judge_id", "subset", "ability_bucket"))
    elif fields_hold(_largest_task(connection)):
        hold_gap_tallies(connection, ROWS)
        shifted = counts_by_bucket(connection, SEGMENTS, _SHIFTS[gap])
        found = (((one.judge_id, one.subset, one.bucket), one.counts) for one in shifted)
    else:
        found = _counts(connection, REDUCED, ("judge_id", "subset", bucket_of(_SHIFTS[gap])), BUCKET_MEASURES)
    return {
        Group(judge_id, subset, gap, name): counts for (judge_id, subset, name), counts in found if name is not None
    }


_SHIFTS = {"judge_score": "score_shift", "reward": "reward_shift"}


def _largest_task(connection: Connection) -> int:
    """The most calls, or pairs, that a judge has on one task."""
    calls, pairs = (_halves([name])[place] for name, place in (("p_unread", 1), ("p_0", 0)))
    by_task = f"SELECT judge_id, task_id, {calls}, {pairs} FROM {_TALLIED}"
    query = f"""
        SELECT COALESCE(MAX(n), 0) FROM (
            SELECT SUM(n_unread) + SUM(c_pairs) AS n FROM ({by_task}) t GROUP BY judge_id, task_id
        ) m
    """
    return int(connection.scalar(text(query)) or 0)


_TALLIES_HELD = "audit_tallies"
_TALLIED = (
    f"(SELECT s.*, {', '.join(PACKED)} FROM {_TALLIES_HELD} h JOIN {SEGMENTS} s ON s.segment_no = h.segment_no) t"
)


def _hold_tallies(connection: Connection) -> None:
    """Add up the pairs of each judge, task and bucket of ability once: of few rows then, all else is added up."""
    columns = ", ".join(f"{name} BIGINT NOT NULL" for name in PACKED)
    table = f"CREATE TEMPORARY TABLE IF NOT EXISTS {_TALLIES_HELD} (segment_no BIGINT NOT NULL, {columns})"
    connection.execute(text(table))
    connection.execute(
        text(f"""
        INSERT INTO {_TALLIES_HELD}
        SELECT r.segment_no, {_added(PACKED)} FROM {ROWS} r CROSS JOIN {KINDS} k
        WHERE k.kind_no = r.kind_no AND NOT EXISTS (SELECT 1 FROM {_TALLIES_HELD}) GROUP BY r.segment_no
        """)
    )


def _counts(
    connection: Connection, source: str, groups: Sequence[str], measures: Collection[str] = MEASURES
) -> Iterator[tuple[tuple[Any, ...], GroupCounts]]:
    """The values of the groups, and the counts."""
    packed = [name for name, (high, _) in PACKED.items() if high in TALLIES.values() or high[2:] in measures]
    by = ", ".join(f"g{n}" for n in range(len(groups)))
    summed = ", ".join(f"SUM({name})" for name in TALLIES.values())
    query = f"""
        WITH by_task AS (
            SELECT {", ".join(f"{value} AS g{n}" for n, value in enumerate(groups))}, {_added(packed)}
            FROM {source} WHERE judge_id IS NOT NULL GROUP BY {", ".join(groups)}, task_id
        ),
        counted AS (SELECT {by}, {", ".join(_halves(packed))} FROM by_task)
        SELECT {by}, {summed}, {", ".join(map(sums_of, measures))} FROM counted GROUP BY {by}
    """
    for row in connection.execute(text(query)):
        values = [int(value) for value in row[len(groups) :]]
        tallies, sums = values[: len(TALLIES)], values[len(TALLIES) :]
        found = {name: Sums(*sums[6 * i : 6 * i + 6]) for i, name in enumerate(measures)}
        yield tuple(row[: len(groups)]), GroupCounts(**dict(zip(TALLIES, tallies, strict=True)), measures=found)


def _halves(packed: Collection[str]) -> list[str]:
    """The columns that these hold, by name."""
    return [
        f"{half} AS {name}"
        for column in packed
        for half, name in zip(unpacked(column), PACKED[column], strict=True)
        if name != "0"
    ]


def _added(packed: Collection[str]) -> str:
    return ", ".join(f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in packed)


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
        WHERE audit_id = :audit AND pair_id IS NULL AND score IS NOT NULL
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
            WHERE audit_id = :audit AND pair_id IS NULL AND score IS NOT NULL
            GROUP BY judge_id, trajectory_id
        )
        SELECT s.judge_id, s.score, SUM(1 - o.success), SUM(o.success)
        FROM scores s JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
        WHERE o.success IS NOT NULL
        GROUP BY s.judge_id, s.score ORDER BY s.judge_id, s.score
    """
    return [ScoreCount(*row) for row in connection.execute(text(query), {"audit": audit_id})]


def label_counts(connection: Connection, audit_id: str) -> list[LabelCount]:
    """Every two labellers with pairs in common; annotators come before judges in a couple."""
    if not _several_labellers(connection, audit_id):
        return []
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


def _several_labellers(connection: Connection, audit_id: str) -> bool:
    query = f"""
        SELECT EXISTS (SELECT 1 FROM gold_labels WHERE audit_id = :audit)
            OR (SELECT COUNT(DISTINCT judge_id) FROM {SEGMENTS}) > 1
    """
    return bool(connection.scalar(text(query), {"audit": audit_id}))

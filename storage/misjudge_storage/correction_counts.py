"""What a judge or a model's check says, by what people say of the same: counts for correcting shares.

Counts are `yes_yes`, `no_yes`, `yes_no`, `no_no` (the judge, then the label) and `yes`, `no` of what has no label, by
task. What is known otherwise than by a label (a verifier, a data set, a reward) does not rest on the judge and is left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.summary_records import REDUCED
from misjudge_storage.task_moments import Moments, moment_columns, read_moments

CELLS = ("yes_yes", "no_yes", "yes_no", "no_no", "yes", "no")
MOST_ROWS = 30
"""Agents, or pairs of agents, that are counted: those with the most labels."""

_NONE_DRAWN = " AND ".join(
    f"""NOT EXISTS (
        SELECT 1 FROM {labels} d WHERE d.audit_id = :audit AND d.source = 'human' AND d.stream = 'random'
    )"""
    for labels in ("gold_labels", "checks")
)
_EVIDENCE = """EXISTS (
    SELECT 1 FROM checks k WHERE k.trajectory_id = {episode} AND k.scope = 'outcome' AND k.{says} IS NOT NULL
        AND k.source IN ('verifier', 'label', 'reward')
)"""
_BOTH = " AND ".join("({})".format(_EVIDENCE.format(episode=f"p.trajectory_{side}", says="{says}")) for side in "ab")
_SAMPLED_PAIR = f"""(g.gold_source = 'human' AND (EXISTS (
    SELECT 1 FROM gold_labels l
    WHERE l.audit_id = :audit AND l.pair_id = g.pair_id AND l.source = 'human' AND l.stream = 'random'
) OR ({_NONE_DRAWN} AND NOT EXISTS (
    SELECT 1 FROM gold_labels l
    WHERE l.audit_id = :audit AND l.pair_id = g.pair_id AND l.source = 'human' AND l.stream IS NOT NULL
))))"""
_SAMPLED_EPISODE = f"""(o.success_source = 'human' AND (EXISTS (
    SELECT 1 FROM standing_checks l
    WHERE l.trajectory_id = o.trajectory_id AND l.source = 'human' AND l.scope = 'outcome' AND l.passed IS NOT NULL
        AND l.stream = 'random'
) OR ({_NONE_DRAWN} AND NOT EXISTS (
    SELECT 1 FROM standing_checks l
    WHERE l.trajectory_id = o.trajectory_id AND l.source = 'human' AND l.scope = 'outcome' AND l.passed IS NOT NULL
        AND l.stream IS NOT NULL
))))"""
"""The one place that says which labels count as a sample: those of the random stream. Where an audit has none of these,
labels that were imported do, of which nothing says how they were drawn. What was chosen never does: it counts as if
nobody had labelled it, since without it the others would be no sample either.
"""
_KNOWN_PAIR = f"""(g.gold_source <> 'human' OR (g.gold_source = 'human' AND (
    EXISTS (SELECT 1 FROM gold_labels k WHERE k.audit_id = :audit AND k.pair_id = g.pair_id AND k.source = 'label')
    OR ({_BOTH.format(says="passed")}) OR ({_BOTH.format(says="reward")})
)))"""
_KNOWN_EPISODE = f"""(o.success_source <> 'human' OR (
    o.success_source = 'human' AND {_EVIDENCE.format(episode="o.trajectory_id", says="passed")}
))"""
"""What is known without people. With a label by them it is no part of what rests on a judge either."""


class Corrections(NamedTuple):
    """One share to correct: that of `agent`, of `agent` over `other`, or of all where both are None.

    The tasks with a label that says no, one that says yes, any, and with anything that has none.
    """

    agent: str | None
    other: str | None
    cells: Moments
    negative_tasks: int
    positive_tasks: int
    labelled_tasks: int
    unlabelled_tasks: int


class Basis(NamedTuple):
    """How many pairs, or episodes, have a verdict and a `label`, rest on the judge alone (`unlabelled`), or are known
    otherwise.
    """

    labelled: int
    unlabelled: int
    otherwise: int


def has_random_labels(connection: Connection, audit_id: str) -> bool:
    """Whether a person labelled any pair or episode that was drawn at random for review."""
    drawn = "audit_id = :audit AND source = 'human' AND stream = 'random'"
    query = f"""
        SELECT CASE WHEN EXISTS (SELECT 1 FROM gold_labels WHERE {drawn})
            OR EXISTS (SELECT 1 FROM checks WHERE {drawn}) THEN 1 ELSE 0 END
    """
    return bool(connection.scalar(text(query), {"audit": audit_id}))


def has_human_labels(connection: Connection, audit_id: str) -> bool:
    """Whether a person labelled any pair or episode."""
    query = """
        SELECT CASE WHEN EXISTS (SELECT 1 FROM gold_labels WHERE audit_id = :audit AND source = 'human')
            OR EXISTS (SELECT 1 FROM checks WHERE audit_id = :audit AND source = 'human') THEN 1 ELSE 0 END
    """
    return bool(connection.scalar(text(query), {"audit": audit_id}))


def has_candidates(connection: Connection, audit_id: str) -> bool:
    """Whether a model's check says anything of an episode's success."""
    query = "SELECT 1 FROM checks WHERE audit_id = :audit AND source = 'model' AND passed IS NOT NULL LIMIT 1"
    return connection.scalar(text(query), {"audit": audit_id}) is not None


_PAIRS = f"""
    SELECT r.task_id, r.agent_a, r.agent_b, r.pref, r.gold,
        CASE WHEN {_SAMPLED_PAIR} AND NOT {_KNOWN_PAIR} THEN 1 ELSE 0 END AS labelled,
        CASE WHEN {_KNOWN_PAIR} THEN 1 ELSE 0 END AS otherwise
    FROM {REDUCED} r JOIN pair_gold g ON g.audit_id = :audit AND g.pair_id = r.pair_id
    JOIN pairs p ON p.audit_id = :audit AND p.pair_id = r.pair_id
    WHERE r.judge_id = :judge AND r.status <> 'unscored' AND r.agent_a <> r.agent_b
        AND (g.gold_source IS NULL OR g.gold_pref IS NOT NULL OR (g.gold_source = 'human' AND NOT {_SAMPLED_PAIR}))
"""
"""The pairs of a judge; sampled ones that people disagree on (a source, but no gold) are neither labelled nor not."""


def pair_basis(connection: Connection, audit_id: str, judge_id: str) -> Basis:
    """Of the pairs of two agents that a judge scored."""
    return _basis(connection, _PAIRS, {"audit": audit_id, "judge": judge_id})


def agent_wins(connection: Connection, audit_id: str, judge_id: str) -> Sequence[Corrections]:
    """How often a judge picks an agent, by agent: of its pairs with any other. A tie is no win of either side."""
    won = """
        SELECT task_id, agent_a AS agent, 'A' AS side, pref, gold, labelled, otherwise FROM pairs_judged
        UNION ALL
        SELECT task_id, agent_b, 'B', pref, gold, labelled, otherwise FROM pairs_judged
    """
    return _wins(connection, won, ("agent",), {"audit": audit_id, "judge": judge_id})


def couple_wins(connection: Connection, audit_id: str, judge_id: str) -> Sequence[Corrections]:
    """How often a judge picks the first of two agents, in order of their names. A tie is no win."""
    won = """
        SELECT task_id, CASE WHEN agent_a < agent_b THEN agent_a ELSE agent_b END AS agent,
            CASE WHEN agent_a < agent_b THEN agent_b ELSE agent_a END AS other,
            CASE WHEN agent_a < agent_b THEN 'A' ELSE 'B' END AS side, pref, gold, labelled, otherwise
        FROM pairs_judged
    """
    return _wins(connection, won, ("agent", "other"), {"audit": audit_id, "judge": judge_id})


def _wins(connection: Connection, won: str, by: Sequence[str], given: dict[str, str]) -> Sequence[Corrections]:
    source = f"""
        WITH pairs_judged AS ({_PAIRS})
        SELECT task_id, {", ".join(by)}, labelled, CASE WHEN pref = side THEN 1 ELSE 0 END AS f,
            CASE WHEN gold = side THEN 1 ELSE 0 END AS y
        FROM ({won}) w WHERE otherwise = 0
    """
    return _corrections(connection, source, by, given)


_EPISODES = f"""
    SELECT o.task_id, o.agent, c.f, o.success AS y,
        CASE WHEN {_SAMPLED_EPISODE} AND NOT {_KNOWN_EPISODE} THEN 1 ELSE 0 END AS labelled,
        CASE WHEN {_KNOWN_EPISODE} THEN 1 ELSE 0 END AS otherwise
    FROM (
        SELECT trajectory_id, MIN(CASE WHEN passed THEN 1 ELSE 0 END) AS f
        FROM (
            SELECT trajectory_id, passed, ROW_NUMBER() OVER (
                PARTITION BY trajectory_id, verifier ORDER BY created_at DESC, check_id
            ) AS place
            FROM checks WHERE audit_id = :audit AND source = 'model'
        ) m
        WHERE m.place = 1 GROUP BY trajectory_id HAVING COUNT(passed) = COUNT(*)
    ) c
    JOIN trajectory_outcomes o ON o.trajectory_id = c.trajectory_id AND o.audit_id = :audit
"""
"""The episodes that models checked: those that pass all such checks, by what is known of their success."""


def episode_basis(connection: Connection, audit_id: str) -> Basis:
    """Of the episodes that models checked."""
    return _basis(connection, _EPISODES, {"audit": audit_id})


def checked_successes(connection: Connection, audit_id: str) -> Sequence[Corrections]:
    """How often the models' checks say that the task was done: of all episodes, then by agent."""
    source = f"SELECT task_id, agent, labelled, f, y FROM ({_EPISODES}) e WHERE otherwise = 0"
    given = {"audit": audit_id}
    return [*_corrections(connection, source, (), given), *_corrections(connection, source, ("agent",), given)]


def _basis(connection: Connection, source: str, given: dict[str, str]) -> Basis:
    query = f"""
        SELECT COALESCE(SUM(labelled), 0), COALESCE(SUM(1 - labelled - otherwise), 0), COALESCE(SUM(otherwise), 0)
        FROM ({source}) s
    """
    return Basis(*map(int, connection.execute(text(query), given).one()))


def _corrections(
    connection: Connection, source: str, by: Sequence[str], given: dict[str, str]
) -> Sequence[Corrections]:
    """Of rows with task_id, labelled, f and y, grouped; those with the most labels first, none without any."""
    cells = ", ".join(
        f"SUM(CASE WHEN {when} THEN 1 ELSE 0 END) AS {name}"
        for name, when in {
            "yes_yes": "labelled = 1 AND f = 1 AND y = 1",
            "no_yes": "labelled = 1 AND f = 0 AND y = 1",
            "yes_no": "labelled = 1 AND f = 1 AND y = 0",
            "no_no": "labelled = 1 AND f = 0 AND y = 0",
            "yes": "labelled = 0 AND f = 1",
            "no": "labelled = 0 AND f = 0",
        }.items()
    )
    names = "".join(f"{name}, " for name in by)
    tasks = ", ".join(
        f"SUM(CASE WHEN {labels} > 0 THEN 1 ELSE 0 END)"
        for labels in ("yes_no + no_no", "yes_yes + no_yes", "yes_yes + no_yes + yes_no + no_no", "yes + no")
    )
    labels = "SUM(yes_yes + no_yes + yes_no + no_no)"
    grouped = f"GROUP BY {', '.join(by)}" if by else ""
    order = ", ".join([f"{labels} DESC", *by])
    query = f"""
        SELECT {names}{tasks}, {moment_columns(CELLS)}
        FROM (SELECT {names}task_id, {cells} FROM ({source}) s GROUP BY {names}task_id) t
        {grouped} HAVING {labels} > 0 ORDER BY {order} LIMIT {MOST_ROWS}
    """
    found = []
    for row in connection.execute(text(query), given):
        agent, other, *_ = (*row[: len(by)], None, None)
        numbers = [*map(int, row[len(by) : len(by) + 4])]
        cells_read = read_moments(row[len(by) + 4 :], len(CELLS))
        found.append(Corrections(agent, other, cells_read, *numbers))
    return found

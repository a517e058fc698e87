"""Two judges, each of an audit of its own, on the pairs that both audits have: no pair is loaded to be counted.

`hold_baseline` and `reduce_audit` hold the audits one after the other, and `hold_drift` puts a judge of each into a
temporary table with one row for each task, trial and two agents, whichever of them is side A; the rest counts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reduced_audit import JUDGES, LABELS, REDUCED, ROWS, SEGMENTS, reduce_audit
from misjudge_storage.reduced_episodes import ACTORS, EPISODES, OUTCOMES, TASKS
from misjudge_storage.reduced_kinds import KINDS, PATTERNS
from misjudge_storage.summary_values import Sums

BASELINE = "audit_baseline"
DRIFT = "audit_drift"
ALIKE = "audit_drift_alike"
MOST_TASKS = 10
"""Changed tasks that are named."""

_COMPARED = "shared = 1 AND right_now IS NOT NULL AND right_before IS NOT NULL"
"""Decidable in both audits, and scored by both judges."""
COMPARED: Mapping[str, str] = {
    "all": _COMPARED,
    "anchors": f"{_COMPARED} AND anchor = 1",
    "others": f"{_COMPARED} AND anchor = 0",
}
_BOTH_SCORED = "shared = 1 AND said_now <> 'unscored' AND said_before <> 'unscored'"
MOVED: Mapping[str, str] = {"all": _BOTH_SCORED, "alike": f"{_BOTH_SCORED} AND alike = 1"}


class DriftTotals(NamedTuple):
    """Pairs that the judges judged: `shared` by both, `only_*` by one of them. `ambiguous_*` have no counterpart that
    could be told: another pair of the audit has the same task, trial and agents, or both sides are one agent.

    Of the shared ones: `decidable` in both audits, of these `unscored_*` by one of them; `alike` where both episodes
    are the same text in both audits, `anchors` where gold is the same, too.
    """

    shared: int
    only_now: int
    only_before: int
    ambiguous_now: int
    ambiguous_before: int
    decidable: int
    unscored_now: int
    unscored_before: int
    alike: int
    anchors: int


class DriftSums(NamedTuple):
    """Compared pairs by task: right by each judge, which of them alone, and sums of the differences now − before.

    `squares` = Σd², `dd` = ΣD², `dn` = ΣD·n with D the sum of a task; `call_*` are those of the share of a pair's calls
    that are right.
    """

    now: Sums
    before: Sums
    gained: int
    lost: int
    d: int
    dd: int
    dn: int
    call_d: float
    call_squares: float
    call_dd: float
    call_dn: float


class Move(NamedTuple):
    """Shared pairs by what was said of them before and now; A and B are the sides of the audit that is summarised."""

    before: str
    now: str
    pairs: int


class JudgeSetup(NamedTuple):
    """A judge of pairs as it is stored: all that makes its fingerprint. `label` and `judge_id` name it."""

    judge_id: str
    label: str
    form: str
    model: str
    params: str
    prompt_version: str
    prompt_hash: str
    rubric_hash: str
    protocol: str
    origin: str
    scale_low: float | None
    scale_high: float | None
    threshold: float | None
    better: str
    simulated: bool


class AgentSetup(NamedTuple):
    """One way in which an agent of the audit was made, as its episodes state it. `setup` is JSON."""

    agent: str
    base_model: str | None
    setup: str | None


class ChangedTask(NamedTuple):
    """A task of both audits with other content, by the hash of it."""

    task_id: str
    before: str
    now: str


class TaskChanges(NamedTuple):
    """Tasks of both audits, `changed` of them with other content (`first` are some), and those of only one."""

    shared: int
    changed: int
    only_now: int
    only_before: int
    first: tuple[ChangedTask, ...]


def pair_judges(connection: Connection, audit_id: str) -> list[JudgeSetup]:
    """The judges with a verdict on a pair of the audit, by label."""
    query = f"""
        SELECT {", ".join(f"j.{name}" for name in JudgeSetup._fields)} FROM judges j
        WHERE j.audit_id = :audit AND j.form = 'pairwise' AND EXISTS (
            SELECT 1 FROM verdicts v WHERE v.audit_id = j.audit_id AND v.judge_id = j.judge_id AND v.pair_id IS NOT NULL
        )
        ORDER BY j.label, j.judge_id
    """
    rows = connection.execute(text(query), {"audit": audit_id}).mappings()
    return [JudgeSetup(**{**row, "simulated": bool(row["simulated"])}) for row in rows]


_COLUMNS = (
    *("task_id", "trial", "agent_a", "agent_b", "trajectory_a", "trajectory_b", "gold", "pref", "status"),
    *("calls_a", "calls_b", "calls_tie"),
)
_SIDE = """
    SELECT {now} AS now, r.*, COALESCE(r.pref, r.status) AS said
    FROM (SELECT {columns} FROM {source} WHERE judge_id = :{judge}) r
"""
_SIDES = " UNION ALL ".join(
    _SIDE.format(now=now, columns=", ".join(_COLUMNS), source=source, judge=judge)
    for now, source, judge in ((1, REDUCED, "judge"), (0, BASELINE, "baseline"))
)


def hold_baseline(connection: Connection, audit_id: str) -> None:
    """Hold the baseline for `hold_drift`, before another audit is reduced: a connection has one at a time."""
    reduce_audit(connection, audit_id)
    columns = ", ".join(_COLUMNS)
    of_all = f"SELECT judge_id, {columns} FROM {REDUCED} WHERE judge_id IS NOT NULL"
    connection.execute(text(f"CREATE TEMPORARY TABLE {BASELINE} AS {of_all}"))
    connection.execute(text(f"DROP VIEW {REDUCED}"))
    for table in (KINDS, PATTERNS, SEGMENTS, ROWS, LABELS, JUDGES, OUTCOMES, EPISODES, ACTORS, TASKS):
        connection.execute(text(f"DROP TABLE IF EXISTS {table}"))


_DECIDABLE = "gold IN ('A', 'B')"
_HELD: Mapping[str, str] = {
    "gold": "gold",
    "said": "said",
    "turned": "turned",
    "side_a": "CASE WHEN turned = 1 THEN trajectory_b ELSE trajectory_a END",
    "side_b": "CASE WHEN turned = 1 THEN trajectory_a ELSE trajectory_b END",
    "right": f"CASE WHEN {_DECIDABLE} AND said <> 'unscored' THEN CASE WHEN said = gold THEN 1 ELSE 0 END END",
    "calls": f"""CASE WHEN {_DECIDABLE} AND said <> 'unscored' AND calls_a + calls_b + calls_tie > 0
        THEN 1.0 * (CASE gold WHEN 'A' THEN calls_a ELSE calls_b END) / (calls_a + calls_b + calls_tie) END""",
}
"""Column → what it holds of one of the two. `side_a` is the trajectory of the agent whose name comes first, `right`
whether the reduced verdict is, `calls` which share of the calls.
"""
_KINDS = {"turned": "INTEGER", "right": "INTEGER", "calls": "FLOAT"}
_TIMES = {"now": 1, "before": 0}


def hold_drift(connection: Connection, judge_id: str, baseline_judge_id: str) -> None:
    """Hold the pairs of both judges, of the audit that is reduced (`reduce_audit`) and of the one before it
    (`hold_baseline`).
    """
    connection.execute(text(f"DROP TABLE IF EXISTS {DRIFT}"))
    columns = [f"{name}_{when} {_KINDS.get(name, 'VARCHAR')}" for when in _TIMES for name in _HELD]
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {DRIFT} (
            task_id VARCHAR NOT NULL, pairs_now INTEGER NOT NULL, pairs_before INTEGER NOT NULL,
            ambiguous INTEGER NOT NULL, shared INTEGER NOT NULL, alike INTEGER NOT NULL, anchor INTEGER NOT NULL,
            {", ".join(columns)}
        )
        """)
    )
    of_one = ", ".join(f"{value} AS held_{name}" for name, value in _HELD.items())
    of_both = ", ".join(
        f"MAX(CASE WHEN now = {now} THEN held_{name} END) AS {name}_{when}"
        for when, now in _TIMES.items()
        for name in _HELD
    )
    query = text(f"""
        INSERT INTO {DRIFT}
        WITH sides AS ({_SIDES}),
        named AS (
            SELECT sides.*, CASE WHEN agent_a > agent_b THEN 1 ELSE 0 END AS turned,
                CASE WHEN agent_a > agent_b THEN agent_b ELSE agent_a END AS first_agent,
                CASE WHEN agent_a > agent_b THEN agent_a ELSE agent_b END AS second_agent
            FROM sides
        ),
        of_one AS (SELECT now, task_id, trial, first_agent, second_agent, {of_one} FROM named),
        of_both AS (
            SELECT task_id, SUM(now) AS pairs_now, SUM(1 - now) AS pairs_before,
                CASE WHEN first_agent = second_agent OR SUM(now) > 1 OR SUM(1 - now) > 1 THEN 1 ELSE 0 END AS ambiguous,
                {of_both}
            FROM of_one GROUP BY task_id, trial, first_agent, second_agent
        )
        SELECT task_id, pairs_now, pairs_before, ambiguous,
            CASE WHEN ambiguous = 0 AND pairs_now = 1 AND pairs_before = 1 THEN 1 ELSE 0 END, 0, 0,
            {", ".join(f"{name}_{when}" for when in _TIMES for name in _HELD)}
        FROM of_both
    """)
    connection.execute(query, {"judge": judge_id, "baseline": baseline_judge_id})
    _mark_anchors(connection)


def _mark_anchors(connection: Connection) -> None:
    """Mark the shared pairs of the same texts, and those of them with the same gold."""
    connection.execute(text(f"DROP TABLE IF EXISTS {ALIKE}"))
    key = "now VARCHAR NOT NULL, before VARCHAR NOT NULL, PRIMARY KEY (now, before)"
    connection.execute(text(f"CREATE TEMPORARY TABLE {ALIKE} ({key})"))
    # An episode of many pairs is compared once.
    found = connection.execute(
        text(f"""
        INSERT INTO {ALIKE}
        SELECT n.trajectory_id, b.trajectory_id FROM (
            SELECT side_a_now AS now, side_a_before AS before FROM {DRIFT} WHERE shared = 1
            UNION SELECT side_b_now, side_b_before FROM {DRIFT} WHERE shared = 1
        ) AS met
        JOIN trajectories n ON n.trajectory_id = met.now
        JOIN trajectories b ON b.trajectory_id = met.before
        WHERE n.messages_json = b.messages_json
        """)
    )
    if not found.rowcount:
        return
    both = " AND ".join(
        f"EXISTS (SELECT 1 FROM {ALIKE} x WHERE x.now = {DRIFT}.{side}_now AND x.before = {DRIFT}.{side}_before)"
        for side in ("side_a", "side_b")
    )
    connection.execute(text(f"UPDATE {DRIFT} SET alike = 1 WHERE shared = 1 AND {both}"))
    connection.execute(text(f"UPDATE {DRIFT} SET anchor = 1 WHERE alike = 1 AND {_turned('gold_before')} = gold_now"))


def _turned(column: str) -> str:
    """A side that was named before, as the side that it is now."""
    return (
        f"CASE WHEN turned_now = turned_before THEN {column} WHEN {column} = 'A' THEN 'B' WHEN {column} = 'B' THEN 'A' "
        f"ELSE {column} END"
    )


def drift_totals(connection: Connection) -> DriftTotals:
    """The pairs held, by kind."""
    decidable = "shared = 1 AND gold_now IN ('A', 'B') AND gold_before IN ('A', 'B')"
    alone = "ambiguous = 0 AND shared = 0"
    counted = (
        "shared",
        *(f"CASE WHEN {alone} THEN pairs_{which} ELSE 0 END" for which in ("now", "before")),
        *(f"ambiguous * pairs_{which}" for which in ("now", "before")),
        f"CASE WHEN {decidable} THEN 1 ELSE 0 END",
        *(f"CASE WHEN {decidable} AND said_{which} = 'unscored' THEN 1 ELSE 0 END" for which in ("now", "before")),
        *("alike", "anchor"),
    )
    query = f"SELECT {', '.join(f'COALESCE(SUM({one}), 0)' for one in counted)} FROM {DRIFT}"
    return DriftTotals(*map(int, connection.execute(text(query)).one()))


def drift_sums(connection: Connection, which: str) -> DriftSums:
    """Who is right on the compared pairs of a kind (`COMPARED`)."""
    call = "(calls_now - calls_before)"
    query = f"""
        WITH by_task AS (
            SELECT COUNT(*) AS n, SUM(right_now) AS a, SUM(right_before) AS b,
                SUM(right_now * (1 - right_before)) AS gained, SUM(right_before * (1 - right_now)) AS lost,
                SUM(right_now - right_before) AS d, SUM({call}) AS c, SUM({call} * {call}) AS cc
            FROM {DRIFT} WHERE {COMPARED[which]} GROUP BY task_id
        )
        SELECT COUNT(*), SUM(n), SUM(n * n), SUM(a), SUM(a * a), SUM(a * n), SUM(b), SUM(b * b), SUM(b * n),
            SUM(gained), SUM(lost), SUM(d), SUM(d * d), SUM(d * n), SUM(c), SUM(cc), SUM(c * c), SUM(c * n)
        FROM by_task
    """
    found = [value or 0 for value in connection.execute(text(query)).one()]
    clusters, n, nn, a, aa, an, b, bb, bn, gained, lost, d, dd, dn = map(int, found[:14])
    return DriftSums(
        Sums(clusters, a, n, aa, an, nn), Sums(clusters, b, n, bb, bn, nn), gained, lost, d, dd, dn,
        *(float(value) for value in found[14:]),
    )  # fmt: skip


def moved_sums(connection: Connection, which: str) -> Sums:
    """The verdicts that are another one now, of the pairs of a kind (`MOVED`), by task."""
    query = f"""
        WITH by_task AS (
            SELECT COUNT(*) AS n, SUM(CASE WHEN said_now <> {_turned("said_before")} THEN 1 ELSE 0 END) AS k
            FROM {DRIFT} WHERE {MOVED[which]} GROUP BY task_id
        )
        SELECT COUNT(*), SUM(k), SUM(n), SUM(k * k), SUM(k * n), SUM(n * n) FROM by_task
    """
    return Sums(*(int(value or 0) for value in connection.execute(text(query)).one()))


def moves(connection: Connection) -> list[Move]:
    """Shared pairs by the reduced verdict before and now."""
    query = f"SELECT {_turned('said_before')}, said_now, COUNT(*) FROM {DRIFT} WHERE shared = 1 GROUP BY 1, 2"
    return sorted(Move(*row) for row in connection.execute(text(query)))


def agent_setups(connection: Connection, audit_id: str) -> list[AgentSetup]:
    """How the agents of the audit were made, each way once."""
    query = """
        SELECT agent, base_model, setup_json FROM trajectories WHERE audit_id = :audit
        GROUP BY agent, base_model, setup_json
    """
    return [AgentSetup(*row) for row in connection.execute(text(query), {"audit": audit_id})]


def task_changes(connection: Connection, audit_id: str, baseline_id: str) -> TaskChanges:
    """The tasks of two audits, by their ids and content."""
    given: dict[str, Any] = {"audit": audit_id, "baseline": baseline_id, "most": MOST_TASKS}
    joined = "FROM tasks n JOIN tasks b ON b.audit_id = :baseline AND b.task_id = n.task_id WHERE n.audit_id = :audit"
    other = "CASE WHEN n.content_hash <> b.content_hash THEN 1 ELSE 0 END"
    shared, changed = connection.execute(text(f"SELECT COUNT(*), COALESCE(SUM({other}), 0) {joined}"), given).one()
    each = (
        connection.scalar(text("SELECT COUNT(*) FROM tasks WHERE audit_id = :id"), {"id": one}) or 0
        for one in (audit_id, baseline_id)
    )
    only_now, only_before = (int(number) - int(shared) for number in each)
    first = f"SELECT n.task_id, b.content_hash, n.content_hash {joined} AND n.content_hash <> b.content_hash"
    named = connection.execute(text(f"{first} ORDER BY n.task_id LIMIT :most"), given) if changed else ()
    return TaskChanges(int(shared), int(changed), only_now, only_before, tuple(ChangedTask(*row) for row in named))

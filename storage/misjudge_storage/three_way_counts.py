"""Sessions by period: what a judge's satisfaction, the success and people say of them, and where these disagree.

`hold_sessions` reduces the trajectories of an audit into a temporary table, one row for each period and task; the rest
adds up what it holds. No session is loaded to be counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.cutoffs import satisfied
from misjudge_storage.summary_records import sums_of
from misjudge_storage.summary_values import Sums

Step = Literal["day", "week", "month"]

SESSIONS = "audit_sessions"
PLACES = "audit_periods"

KNOWN: Mapping[str, str] = {
    "satisfaction": "satisfied IS NOT NULL",
    "success": "success IS NOT NULL",
    "human": "human IS NOT NULL",
    "all_three": "satisfied IS NOT NULL AND success IS NOT NULL AND human IS NOT NULL",
}
"""What may be known of a session."""
_ANY = "(satisfied <> success OR success <> human OR satisfied <> human)"
MEASURES: Mapping[str, tuple[str, str]] = {
    "satisfied_failed": ("satisfied = 1 AND success = 0", "satisfied IS NOT NULL AND success IS NOT NULL"),
    "unsatisfied_succeeded": ("satisfied = 0 AND success = 1", "satisfied IS NOT NULL AND success IS NOT NULL"),
    "satisfaction_against_success": ("satisfied <> success", "satisfied IS NOT NULL AND success IS NOT NULL"),
    "success_against_human": ("success <> human", "success IS NOT NULL AND human IS NOT NULL"),
    "satisfaction_against_human": ("satisfied <> human", "satisfied IS NOT NULL AND human IS NOT NULL"),
    "any_disagreement": (
        _ANY,
        "(satisfied IS NOT NULL AND (success IS NOT NULL OR human IS NOT NULL))"
        " OR (success IS NOT NULL AND human IS NOT NULL)",
    ),
    "any_of_three": (f"{_ANY} AND {KNOWN['all_three']}", KNOWN["all_three"]),
}
"""Name → the sessions that are counted, and those among which."""


class SessionCounts(NamedTuple):
    """Sessions of a period, or of all (`starts` empty). `undated`: their source does not say when they took place.

    `known` counts those of which each thing of `KNOWN` is known; `measures` are the disagreements by task.
    """

    starts: str
    sessions: int
    undated: int
    known: Mapping[str, int]
    measures: Mapping[str, Sums]


class TrendSums(NamedTuple):
    """Tasks with counted sessions, and the sum of u² over them, u being Σ(x − mean x)(y − rate) over a task's sessions.

    `u` is the sum over all.
    """

    clusters: int
    u: float
    uu: float


def has_human_outcomes(connection: Connection, audit_id: str) -> bool:
    """Whether a person said of any session whether it did its task."""
    query = """
        SELECT EXISTS (
            SELECT 1 FROM standing_checks
            WHERE audit_id = :audit AND scope = 'outcome' AND source = 'human' AND passed IS NOT NULL
        )
    """
    return bool(connection.scalar(text(query), {"audit": audit_id}))


def hold_sessions(connection: Connection, audit_id: str, judge_id: str | None, by: Step, since: str | None) -> None:
    """Hold the sessions of the audit that began on the day `since` or later, by the first day of their period (UTC).

    Satisfied is a mean score of the judge on the good side of its threshold; unknown without a judge or threshold.
    Success and what people say are the latest of the best source, as in `trajectory_outcomes`.
    """
    connection.execute(text(f"DROP TABLE IF EXISTS {SESSIONS}"))
    counted = (*KNOWN, *(f"{kind}_{name}" for name in MEASURES for kind in "kn"))
    columns = ", ".join(f"{name} INTEGER NOT NULL" for name in counted)
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {SESSIONS} (
            starts VARCHAR NOT NULL, task_id VARCHAR NOT NULL, sessions INTEGER NOT NULL, undated INTEGER NOT NULL,
            {columns}
        )
        """)
    )
    known = ", ".join(f"SUM({_when(condition)})" for condition in KNOWN.values())
    measures = ", ".join(f"SUM({_when(f'{k}')}), SUM({_when(n)})" for k, n in MEASURES.values())
    query = text(f"""
        INSERT INTO {SESSIONS} (starts, task_id, sessions, undated, {", ".join(counted)})
        WITH scores AS (
            SELECT trajectory_id, AVG(score) AS score FROM verdicts
            WHERE audit_id = :audit AND pair_id IS NULL AND judge_id = :judge AND score IS NOT NULL
            GROUP BY trajectory_id
        ),
        said AS (
            SELECT trajectory_id, source, CASE WHEN passed THEN 1 ELSE 0 END AS passed, ROW_NUMBER() OVER (
                PARTITION BY trajectory_id, CASE source WHEN 'human' THEN 1 ELSE 0 END
                ORDER BY CASE source WHEN 'verifier' THEN 1 WHEN 'label' THEN 2 ELSE 3 END, created_at DESC, check_id
            ) AS place
            FROM standing_checks
            WHERE audit_id = :audit AND scope = 'outcome' AND passed IS NOT NULL
                AND source IN ('human', 'verifier', 'label', 'reward')
        ),
        outcomes AS (
            SELECT trajectory_id, MAX(CASE WHEN source = 'human' THEN passed END) AS human,
                MAX(CASE WHEN source <> 'human' THEN passed END) AS success
            FROM said WHERE place = 1 GROUP BY trajectory_id
        ),
        sessions AS (
            SELECT t.task_id, COALESCE(t.occurred_at, t.created_at) AS began, o.success, o.human,
                CASE WHEN t.occurred_at IS NULL THEN 1 ELSE 0 END AS undated,
                CASE WHEN s.score IS NULL OR j.threshold IS NULL THEN NULL
                    WHEN {satisfied("s.score")} THEN 1 ELSE 0 END AS satisfied
            FROM trajectories t
            LEFT JOIN outcomes o ON o.trajectory_id = t.trajectory_id
            LEFT JOIN scores s ON s.trajectory_id = t.trajectory_id
            LEFT JOIN judges j ON j.audit_id = :audit AND j.judge_id = :judge
            WHERE t.audit_id = :audit
        )
        SELECT {_starts(connection, by)} AS starts, task_id, COUNT(*), SUM(undated), {known}, {measures}
        FROM sessions WHERE {_starts(connection, "day")} >= :since GROUP BY 1, task_id
    """)
    connection.execute(query, {"audit": audit_id, "judge": judge_id or "", "since": since or ""})


def _when(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"


def _starts(connection: Connection, by: Step) -> str:
    """The first day of the period as YYYY-MM-DD; weeks begin on Monday. SQLite keeps times as such text."""
    if connection.dialect.name == "postgresql":
        return f"to_char(date_trunc('{by}', began AT TIME ZONE 'UTC'), 'YYYY-MM-DD')"
    day = "substr(began, 1, 10)"
    return {"day": day, "week": f"date({day}, 'weekday 0', '-6 days')", "month": "substr(began, 1, 7) || '-01'"}[by]


def period_counts(connection: Connection) -> list[SessionCounts]:
    """The sessions held, by period in order; periods without any are left out."""
    return [
        _counts(row) for row in connection.execute(text(f"{_added(SESSIONS, 'starts')} GROUP BY starts ORDER BY 1"))
    ]


def total_counts(connection: Connection) -> SessionCounts:
    """The sessions held, all together: the tasks of all periods are one cluster each."""
    names = ("sessions", "undated", *KNOWN, *(f"{kind}_{name}" for name in MEASURES for kind in "kn"))
    summed = ", ".join(f"SUM({name}) AS {name}" for name in names)
    by_task = f"(SELECT task_id, {summed} FROM {SESSIONS} GROUP BY task_id) AS by_task"
    return _counts(connection.execute(text(_added(by_task, "''"))).one())


def _added(source: str, starts: str) -> str:
    plain = ", ".join(f"SUM({name})" for name in ("sessions", "undated", *KNOWN))
    return f"SELECT {starts}, {plain}, {', '.join(sums_of(measure) for measure in MEASURES)} FROM {source}"


def _counts(row: Sequence[object]) -> SessionCounts:
    starts, *found = row
    sessions, undated, *rest = (int(str(value or 0)) for value in found)
    sums = rest[len(KNOWN) :]
    return SessionCounts(
        starts=str(starts),
        sessions=sessions,
        undated=undated,
        known=dict(zip(KNOWN, rest, strict=False)),
        measures={name: Sums(*sums[6 * place : 6 * place + 6]) for place, name in enumerate(MEASURES)},
    )


def trend_sums(
    connection: Connection, measure: str, places: Mapping[str, float], mean: float, rate: float
) -> TrendSums:
    """How a measure of `MEASURES` goes with the place x of its period (`places`), by task."""
    connection.execute(text(f"DROP TABLE IF EXISTS {PLACES}"))
    connection.execute(text(f"CREATE TEMPORARY TABLE {PLACES} (starts VARCHAR PRIMARY KEY, x FLOAT NOT NULL)"))
    rows = [{"starts": starts, "x": place} for starts, place in places.items()]
    connection.execute(text(f"INSERT INTO {PLACES} (starts, x) VALUES (:starts, :x)"), rows)
    query = text(f"""
        WITH by_task AS (
            SELECT SUM((p.x - :mean) * (s.k_{measure} - :rate * s.n_{measure})) AS u
            FROM {SESSIONS} s JOIN {PLACES} p ON p.starts = s.starts
            WHERE s.n_{measure} > 0 GROUP BY s.task_id
        )
        SELECT COUNT(*), COALESCE(SUM(u), 0), COALESCE(SUM(u * u), 0) FROM by_task
    """)
    clusters, u, uu = connection.execute(query, {"mean": mean, "rate": rate}).one()
    return TrendSums(int(clusters), float(u), float(uu))

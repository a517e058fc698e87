"""An audit reduced for a summary: one row per pair and judge, from which everything on pairs is grouped.

Temporary tables, which go with the connection's transaction. What is long or said of many pairs is held once: tasks,
agents, and what the calls come to (`reduced_kinds`); `REDUCED` is a view that puts them together by name. Its rows come
in the order of judge, task and bucket of ability, so that SQLite groups by these, or by the first of them, without
sorting. Columns that a query does not name cost it nothing.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from misjudge_storage import reduced_kinds as kinds
from misjudge_storage.errors import InvalidInput
from misjudge_storage.gap_tallies import SHIFTS, shift
from misjudge_storage.reduced_episodes import ACTORS, CLUSTERED, EPISODES, KEYED, NUMBERED, TASKS, hold_episodes

REDUCED = "audit_summary"
JUDGES = "audit_judges"
CALLS = "audit_calls"
LABELS = "audit_labelled"
ROWS = "audit_rows"
SEGMENTS = "audit_segments"

_PAIR_KEY = {"sqlite": "p.rowid", "postgresql": "p.pair_id"}
"""What names a pair in a number where there is one: rows in its order lie together, which ids in no order do not."""
_KEY_TYPE = {"sqlite": "INTEGER", "postgresql": "VARCHAR"}
_PER_JUDGE = 1 << 32
_BUCKETS = ("near", "wide")
_PER_TASK = len(_BUCKETS) + 1
_NEAR_BELOW = 0.099999999


def reduce_audit(connection: Connection, audit_id: str) -> None:
    """Make the view of the reduced audit: a row per pair and judge, and one for a pair that nobody judged.

    `turns` are those of the longer episode, `model_a` and `model_b` the base models of the agents as stated. `calls_*`
    count calls that were read as A, B or tie, un-swapped, and those that could not be read; `ab_*` and `ba_*` by the
    order shown. `score_a` and `score_b` are means over the calls of the pair. Raises InvalidInput where a judge was
    asked about one pair more than `MOST_CALLS` times.
    """
    hold_episodes(connection, audit_id)
    _number_judges(connection, audit_id)
    _hold_labels(connection, audit_id)
    _hold_calls(connection, audit_id)
    _hold_rows(connection, audit_id)
    _hold_segments(connection)
    _make_view(connection, audit_id)


def _number_judges(connection: Connection, audit_id: str) -> None:
    connection.execute(text(f"CREATE TEMPORARY TABLE {JUDGES} (judge_no INTEGER PRIMARY KEY, judge_id VARCHAR UNIQUE)"))
    found = connection.scalars(text("SELECT judge_id FROM judges WHERE audit_id = :audit"), {"audit": audit_id})
    rows = [{"number": number, "judge": judge_id} for number, judge_id in enumerate((None, *sorted(found)))]
    connection.execute(text(f"INSERT INTO {JUDGES} (judge_no, judge_id) VALUES (:number, :judge)"), rows)


def _hold_labels(connection: Connection, audit_id: str) -> None:
    """What people, and the labels of a data set, say of a pair by majority."""
    columns = "pair_id VARCHAR PRIMARY KEY, human INTEGER, label INTEGER"
    connection.execute(text(f"CREATE TEMPORARY TABLE {LABELS} ({columns})"))
    said = kinds.PREFERENCES
    of_source = ", ".join(f"MAX(CASE WHEN source = '{source}' THEN said END)" for source in ("human", "label"))
    connection.execute(
        text(f"""
        INSERT INTO {LABELS} (pair_id, human, label)
        WITH votes AS (
            SELECT pair_id, source, SUM(a) AS a, SUM(b) AS b, SUM(t) AS t FROM label_votes
            WHERE audit_id = :audit GROUP BY pair_id, source
        ),
        led AS (
            SELECT pair_id, source, CASE WHEN a > b AND a > t THEN {said["A"]} WHEN b > a AND b > t THEN {said["B"]}
                WHEN t > a AND t > b THEN {said["tie"]} ELSE {said["split"]} END AS said
            FROM votes
        )
        SELECT pair_id, {of_source} FROM led GROUP BY pair_id
        """),
        {"audit": audit_id},
    )


_SUMS = ", ".join(
    f"COALESCE(SUM(CASE WHEN {shown} THEN {kinds.call(slot)} END), {kinds.ABSENT}) AS {slot}"
    for slot, shown in {
        "ab": "order_shown = 'AB' AND NOT reduced",
        "ba": "order_shown = 'BA' AND NOT reduced",
        "un": "order_shown IS NULL AND NOT reduced",
        "bo": "reduced",
    }.items()
)
_SLOTS = ", ".join(kinds.SLOTS)


def _hold_calls(connection: Connection, audit_id: str) -> None:
    """Add up the calls by pair and judge, as an index has them in order, and put the sums in the order of the pairs."""
    dialect = connection.dialect.name
    key = _PAIR_KEY[dialect]
    columns = ", ".join(f"{slot} BIGINT NOT NULL" for slot in kinds.SLOTS)
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {CALLS} (
            pair_no {_KEY_TYPE[dialect]} NOT NULL, judge_no INTEGER NOT NULL, {columns}, calls INTEGER NOT NULL,
            score_a FLOAT, score_b FLOAT
        )
        """)
    )
    given = {"audit": audit_id}
    held = connection.execute(
        text(f"""
        INSERT INTO {CALLS} (pair_no, judge_no, {_SLOTS}, calls, score_a, score_b)
        SELECT {key}, j.judge_no, {_SLOTS}, calls, score_a, score_b
        FROM (
            SELECT pair_id, judge_id, {_SUMS}, COUNT(*) AS calls, AVG(score_a) AS score_a, AVG(score_b) AS score_b
            FROM verdicts WHERE audit_id = :audit AND pair_id IS NOT NULL GROUP BY pair_id, judge_id
        ) v
        CROSS JOIN {JUDGES} j
        CROSS JOIN pairs p
        WHERE j.judge_id = v.judge_id AND p.audit_id = :audit AND p.pair_id = v.pair_id
        ORDER BY 2, 1
        """),
        given,
    ).rowcount
    _refuse_too_many(connection)
    asked = connection.scalar(text(f"SELECT COUNT(*) FROM {JUDGES} WHERE judge_id IS NOT NULL"))
    pairs = connection.scalar(text("SELECT COUNT(*) FROM pairs WHERE audit_id = :audit"), given)
    if asked == 1 and held == pairs:
        return
    absent = ", ".join([str(kinds.ABSENT)] * len(kinds.SLOTS))
    connection.execute(
        text(f"""
        INSERT INTO {CALLS} (pair_no, judge_no, {_SLOTS}, calls)
        SELECT {key}, 0, {absent}, 0 FROM pairs p
        WHERE p.audit_id = :audit AND NOT EXISTS (
            SELECT 1 FROM verdicts v WHERE v.audit_id = p.audit_id AND v.pair_id = p.pair_id
        )
        """),
        given,
    )


def _refuse_too_many(connection: Connection) -> None:
    most = connection.scalar(text(f"SELECT MAX(calls) FROM {CALLS}")) or 0
    if most > kinds.MOST_CALLS:
        raise InvalidInput(
            f"A judge was asked {most:,} times about one pair, and a summary adds up at most {kinds.MOST_CALLS:,} "
            "verdicts of a judge on a pair. Import fewer repeats of it."
        )


def _hold_rows(connection: Connection, audit_id: str) -> None:
    dialect = connection.dialect.name
    kinds.make_patterns(connection, NUMBERED[dialect], CALLS)
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {ROWS} (
            segment_no BIGINT NOT NULL, pair_no {_KEY_TYPE[dialect]} NOT NULL, kind_no BIGINT NOT NULL,
            score_shift INTEGER, reward_shift INTEGER, actor_a INTEGER NOT NULL, actor_b INTEGER NOT NULL,
            turns INTEGER, reward_lead FLOAT, score_a FLOAT, score_b FLOAT, PRIMARY KEY (segment_no, pair_no)
        ) {CLUSTERED[dialect]}
        """)
    )
    labelled = connection.scalar(text(f"SELECT EXISTS (SELECT 1 FROM {LABELS})"))
    said = ("l.human", "l.label") if labelled else ("0", "0")
    kind = kinds.kind_number("n.pattern_no", "a.outcome", "b.outcome", "(a.reward - b.reward)", *said)
    connection.execute(
        text(f"""
        INSERT INTO {ROWS} (
            segment_no, pair_no, kind_no, {", ".join(SHIFTS)}, actor_a, actor_b, turns, reward_lead, score_a, score_b
        )
        SELECT (c.judge_no * {_PER_JUDGE} + a.task_no) * {_PER_TASK} + {_BUCKET}, c.pair_no, {kind},
            {shift("(c.score_a - c.score_b)")}, {shift("(a.reward - b.reward)")}, a.actor_no, b.actor_no,
            CASE WHEN b.turns > a.turns THEN b.turns ELSE COALESCE(a.turns, b.turns) END,
            a.reward - b.reward, c.score_a, c.score_b
        FROM {CALLS} c
        CROSS JOIN pairs p
        CROSS JOIN {EPISODES} a
        CROSS JOIN {EPISODES} b
        CROSS JOIN {kinds.PATTERNS} n
        {f"LEFT JOIN {LABELS} l ON l.pair_id = p.pair_id" if labelled else ""}
        WHERE {_PAIR_KEY[dialect]} = c.pair_no AND p.audit_id = :audit AND a.trajectory_id = p.trajectory_a
            AND b.trajectory_id = p.trajectory_b AND {" AND ".join(f"n.{slot} = c.{slot}" for slot in kinds.SLOTS)}
        """),
        {"audit": audit_id},
    )
    connection.execute(text(f"DROP TABLE {CALLS}"))
    kinds.make_kinds(connection, KEYED[dialect], ROWS)


_BUCKET = f"""
    CASE COALESCE(p.ability_bucket, CASE WHEN p.gap_source = 'ability' THEN
        CASE WHEN p.reward_gap < {_NEAR_BELOW} THEN 'near' ELSE 'wide' END END)
        WHEN 'near' THEN 1 WHEN 'wide' THEN 2 ELSE 0 END
"""


def _hold_segments(connection: Connection) -> None:
    """The judges, tasks and buckets of the rows, by name, and in order of these."""
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {SEGMENTS} (
            segment_no {KEYED[connection.dialect.name]}, judge_id VARCHAR, task_id VARCHAR NOT NULL,
            ability_bucket VARCHAR, subset VARCHAR, category VARCHAR, language VARCHAR
        )
        """)
    )
    connection.execute(
        text(f"""
        INSERT INTO {SEGMENTS} (segment_no, judge_id, task_id, ability_bucket, subset, category, language)
        SELECT r.segment_no, j.judge_id, t.task_id,
            CASE r.segment_no % {_PER_TASK} WHEN 1 THEN 'near' WHEN 2 THEN 'wide' END, t.subset, t.category, t.language
        FROM (SELECT DISTINCT segment_no FROM {ROWS}) r
        JOIN {TASKS} t ON t.task_no = r.segment_no / {_PER_TASK} % {_PER_JUDGE}
        JOIN {JUDGES} j ON j.judge_no = r.segment_no / {_PER_TASK} / {_PER_JUDGE}
        """)
    )
    for name, columns in {
        "task": "judge_id, task_id, ability_bucket",
        "subset": "judge_id, subset, task_id, ability_bucket",
    }.items():
        connection.execute(text(f"CREATE INDEX {SEGMENTS}_by_{name} ON {SEGMENTS} ({columns})"))


def _make_view(connection: Connection, audit_id: str) -> None:
    """What is held apart and seldom asked for is looked up by row: a join would cost every query, asked for or not."""
    known = ", ".join(f"k.{name}" for name in (*kinds.COLUMNS, *kinds.PACKED))
    of_audit = "p.audit_id = '{}'".format(audit_id.replace("'", "''"))
    key = _PAIR_KEY[connection.dialect.name]
    of_pair = ", ".join(
        f"(SELECT p.{name} FROM pairs p WHERE {of_audit} AND {key} = r.pair_no) AS {name}"
        for name in ("pair_id", "trial", "trajectory_a", "trajectory_b")
    )
    of_agents = ", ".join(
        f"(SELECT a.{name} FROM {ACTORS} a WHERE a.actor_no = r.actor_{side}) AS {shown}_{side}"
        for name, shown in (("agent", "agent"), ("base_model", "model"))
        for side in "ab"
    )
    connection.execute(
        text(f"""
        CREATE TEMPORARY VIEW {REDUCED} AS
        SELECT s.judge_id, s.task_id, s.ability_bucket, s.subset, s.category, s.language, r.pair_no, r.score_shift,
            r.reward_shift, r.actor_a, r.actor_b, {of_pair}, {of_agents},
            r.turns, r.score_a, r.score_b, r.score_a - r.score_b AS score_lead, ABS(r.score_a - r.score_b) AS score_gap,
            r.reward_lead, ABS(r.reward_lead) AS reward_gap, {known}
        FROM {SEGMENTS} s
        CROSS JOIN {ROWS} r
        CROSS JOIN {kinds.KINDS} k
        WHERE r.segment_no = s.segment_no AND k.kind_no = r.kind_no
        """)
    )

"""An audit reduced for a summary: one row per pair and judge, from which everything on pairs is grouped.

Temporary tables, which go with the connection's transaction. What is long or said of many pairs is held once: tasks,
agents, and what the calls come to (`reduced_kinds`); `REDUCED` is a view that puts them together by name. Its rows come
in the order of judge, task and bucket of ability, so that SQLite groups by these, or by the first of them, without
sorting. Columns that a query does not name cost it nothing.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from misjudge_storage import reduced_kinds as kinds
from misjudge_storage.cutoffs import NEAR_BELOW
from misjudge_storage.errors import InvalidInput
from misjudge_storage.reduced_episodes import ACTORS, EPISODES, TASKS, hold_episodes
from misjudge_storage.temporary import CLUSTERED, KEYED

REDUCED = "audit_summary"
JUDGES = "audit_judges"
CALLS = "audit_calls"
LABELS = "audit_labelled"
ROWS = "audit_rows"
SEGMENTS = "audit_segments"

PAIR_KEY = {"sqlite": "p.rowid", "postgresql": "p.pair_id"}
"""What names a pair in a number where there is one: rows in its order lie together, which ids in no order do not."""
_KEY_TYPE = {"sqlite": "INTEGER", "postgresql": "VARCHAR"}
PER_JUDGE = PER_SIDE = 1 << 32
BUCKETS = ("near", "wide")
PER_TASK = len(BUCKETS) + 1


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


_SLOTS = ", ".join(kinds.SLOTS)
_OF_A_PAIR = """
    SELECT pair_id, judge_id, {calls}, AVG(score_a) AS score_a, AVG(score_b) AS score_b FROM verdicts
    WHERE audit_id = :audit AND pair_id IS NOT NULL GROUP BY pair_id, judge_id
"""
_SHORT = f"""
    SELECT g.pair_id, j.judge_no, g.pattern_no, g.score_a, g.score_b
    FROM ({_OF_A_PAIR.format(calls=f"{kinds.SHORT} AS pattern_no")}) g CROSS JOIN {JUDGES} j
    WHERE j.judge_id = g.judge_id
"""
_LONG = f"""
    SELECT c.pair_id, j.judge_no, n.pattern_no, c.score_a, c.score_b
    FROM {CALLS} c CROSS JOIN {JUDGES} j CROSS JOIN {kinds.PATTERNS} n
    WHERE j.judge_id = c.judge_id AND {" AND ".join(f"n.{slot} = c.{slot}" for slot in kinds.SLOTS)}
"""
_UNJUDGED = f"""
    SELECT u.pair_id, 0 AS judge_no, {kinds.NO_CALLS} AS pattern_no, CAST(NULL AS FLOAT) AS score_a,
        CAST(NULL AS FLOAT) AS score_b
    FROM pairs u WHERE u.audit_id = :audit AND NOT EXISTS (
        SELECT 1 FROM verdicts x WHERE x.audit_id = u.audit_id AND x.pair_id = u.pair_id
    )
"""


def _hold_rows(connection: Connection, audit_id: str) -> None:
    """Add up the calls by pair and judge, as an index has them in order. They are of few patterns, which have numbers
    of their own where their orders are known and they are not many; else they are numbered.
    """
    _make_rows(connection)
    filled = _fill_rows(connection, audit_id, _SHORT)
    kinds.hold_keys(connection, ROWS)
    if kinds.any_too_long(connection):
        connection.execute(text(f"DELETE FROM {ROWS}"))
        _hold_calls(connection, audit_id)
        kinds.number_patterns(connection, CALLS)
        filled = _fill_rows(connection, audit_id, _LONG)
        connection.execute(text(f"DROP TABLE {CALLS}"))
        kinds.hold_keys(connection, ROWS)
    else:
        kinds.read_patterns(connection)
    if not _all_judged_by_one(connection, audit_id, filled) and _fill_rows(connection, audit_id, _UNJUDGED):
        kinds.hold_keys(connection, ROWS)
    kinds.make_kinds(connection)


def _make_rows(connection: Connection) -> None:
    dialect = connection.dialect.name
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {ROWS} (
            segment_no BIGINT NOT NULL, pair_no {_KEY_TYPE[dialect]} NOT NULL, kind_key BIGINT NOT NULL,
            sides BIGINT NOT NULL, turns INTEGER, reward_lead FLOAT, score_a FLOAT, score_b FLOAT,
            PRIMARY KEY (segment_no, pair_no)
        ) {CLUSTERED[dialect]}
        """)
    )


def _fill_rows(connection: Connection, audit_id: str, calls: str) -> int:
    """Add a row for each of `calls`, which hold pair_id, judge_no, pattern_no and scores; the number that there are."""
    labelled = connection.scalar(text(f"SELECT EXISTS (SELECT 1 FROM {LABELS})"))
    said = ("l.human", "l.label") if labelled else ("0", "0")
    lead = "(a.reward - b.reward)"
    gold = kinds.gold_number("a.outcome", "b.outcome", lead, *said)
    filled = connection.execute(
        text(f"""
        INSERT INTO {ROWS} (segment_no, pair_no, kind_key, sides, turns, reward_lead, score_a, score_b)
        SELECT (v.judge_no * {PER_JUDGE} + a.task_no) * {PER_TASK} + {_BUCKET}, {PAIR_KEY[connection.dialect.name]},
            {kinds.key("v.pattern_no", gold)}, a.actor_no * {PER_SIDE} + b.actor_no,
            CASE WHEN b.turns > a.turns THEN b.turns ELSE COALESCE(a.turns, b.turns) END, {lead}, v.score_a, v.score_b
        FROM ({calls}) v
        CROSS JOIN pairs p
        CROSS JOIN {EPISODES} a
        CROSS JOIN {EPISODES} b
        {f"LEFT JOIN {LABELS} l ON l.pair_id = p.pair_id" if labelled else ""}
        WHERE p.audit_id = :audit AND p.pair_id = v.pair_id AND a.trajectory_id = p.trajectory_a
            AND b.trajectory_id = p.trajectory_b
        ORDER BY 1, 2
        """),
        {"audit": audit_id},
    )
    return filled.rowcount


def _all_judged_by_one(connection: Connection, audit_id: str, judged: int) -> bool:
    """Whether there is one judge, and it has `judged` every pair: no other pair need be looked for."""
    asked = connection.scalar(text(f"SELECT COUNT(*) FROM {JUDGES} WHERE judge_id IS NOT NULL"))
    pairs = connection.scalar(text("SELECT COUNT(*) FROM pairs WHERE audit_id = :audit"), {"audit": audit_id})
    return bool(asked == 1 and judged == pairs)


def _hold_calls(connection: Connection, audit_id: str) -> None:
    columns = ", ".join(f"{slot} BIGINT NOT NULL" for slot in kinds.SLOTS)
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {CALLS} (
            pair_id VARCHAR NOT NULL, judge_id VARCHAR NOT NULL, {columns}, calls INTEGER NOT NULL,
            score_a FLOAT, score_b FLOAT
        )
        """)
    )
    summed = ", ".join(f"COALESCE(SUM({kinds.call(slot)}), 0) AS {slot}" for slot in kinds.SLOTS)
    names = f"pair_id, judge_id, {_SLOTS}, calls, score_a, score_b"
    connection.execute(
        text(f"""
        INSERT INTO {CALLS} ({names})
        SELECT {names} FROM ({_OF_A_PAIR.format(calls=f"{summed}, COUNT(*) AS calls")}) g
        """),
        {"audit": audit_id},
    )
    _refuse_too_many(connection)


def _refuse_too_many(connection: Connection) -> None:
    most = connection.scalar(text(f"SELECT MAX(calls) FROM {CALLS}")) or 0
    if most > kinds.MOST_CALLS:
        raise InvalidInput(
            f"A judge was asked {most:,} times about one pair, and a summary adds up at most {kinds.MOST_CALLS:,} "
            "verdicts of a judge on a pair. Import fewer repeats of it."
        )


_BUCKET = f"""
    CASE COALESCE(p.ability_bucket, CASE WHEN p.gap_source = 'ability' THEN
        CASE WHEN p.reward_gap < {NEAR_BELOW} THEN 'near' ELSE 'wide' END END)
        WHEN 'near' THEN 1 WHEN 'wide' THEN 2 ELSE 0 END
"""


def _hold_segments(connection: Connection) -> None:
    """The judges, tasks and buckets of the rows, by name, in order of these, and how many `pairs` each has."""
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {SEGMENTS} (
            segment_no {KEYED[connection.dialect.name]}, judge_id VARCHAR, task_id VARCHAR NOT NULL,
            ability_bucket VARCHAR, subset VARCHAR, category VARCHAR, language VARCHAR, pairs BIGINT NOT NULL
        )
        """)
    )
    connection.execute(
        text(f"""
        INSERT INTO {SEGMENTS} (segment_no, judge_id, task_id, ability_bucket, subset, category, language, pairs)
        SELECT r.segment_no, j.judge_id, t.task_id,
            CASE r.segment_no % {PER_TASK} WHEN 1 THEN 'near' WHEN 2 THEN 'wide' END, t.subset, t.category, t.language,
            r.pairs
        FROM (SELECT segment_no, COUNT(*) AS pairs FROM {ROWS} GROUP BY segment_no) r
        JOIN {TASKS} t ON t.task_no = r.segment_no / {PER_TASK} % {PER_JUDGE}
        JOIN {JUDGES} j ON j.judge_no = r.segment_no / {PER_TASK} / {PER_JUDGE}
        """)
    )
    for name, columns in {
        "task": "judge_id, task_id, ability_bucket",
        "subset": "judge_id, subset, task_id, ability_bucket",
    }.items():
        connection.execute(text(f"CREATE INDEX {SEGMENTS}_by_{name} ON {SEGMENTS} ({columns})"))


def _make_view(connection: Connection, audit_id: str) -> None:
    """What is held apart and seldom asked for is looked up by row: a join would cost every query, asked for or not."""
    known = ", ".join(f"k.{name}" for name in kinds.COLUMNS)
    of_audit = "p.audit_id = '{}'".format(audit_id.replace("'", "''"))
    key = PAIR_KEY[connection.dialect.name]
    of_pair = ", ".join(
        f"(SELECT p.{name} FROM pairs p WHERE {of_audit} AND {key} = r.pair_no) AS {name}"
        for name in ("pair_id", "trial", "trajectory_a", "trajectory_b")
    )
    of_agents = ", ".join(
        f"(SELECT a.{name} FROM {ACTORS} a WHERE a.actor_no = {number}) AS {shown}_{side}"
        for name, shown in (("agent", "agent"), ("base_model", "model"))
        for side, number in {"a": f"r.sides / {PER_SIDE}", "b": f"r.sides % {PER_SIDE}"}.items()
    )
    connection.execute(
        text(f"""
        CREATE TEMPORARY VIEW {REDUCED} AS
        SELECT s.judge_id, s.task_id, s.ability_bucket, s.subset, s.category, s.language,
            r.segment_no, r.pair_no, r.kind_key, {of_pair}, {of_agents},
            r.turns, r.score_a, r.score_b, r.score_a - r.score_b AS score_lead, ABS(r.score_a - r.score_b) AS score_gap,
            r.reward_lead, ABS(r.reward_lead) AS reward_gap, {known}
        FROM {SEGMENTS} s
        CROSS JOIN {ROWS} r
        CROSS JOIN {kinds.KINDS} k
        WHERE r.segment_no = s.segment_no AND k.kind_key = r.kind_key
        """)
    )

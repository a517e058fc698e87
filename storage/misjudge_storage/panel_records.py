"""What several judges say of the same pairs, counted in the store: no pair is loaded to be counted.

After `summary_records.reduce_audit`, `hold_panel` or `hold_cascade` fills a temporary table with one row a pair; the
rest counts what it holds. What the judges' verdicts come to is not decided here: `ballots` gives the few different
ones that there are, and `rule_outcomes` counts the pairs by what they were ruled to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, bindparam, text

from misjudge_storage.summary_records import REDUCED, sums_of
from misjudge_storage.summary_values import Ballot, Outcomes, PanelSize, PanelStatus, Sums

PANEL = "audit_panel"
RULINGS = "audit_panel_rulings"
ESCALATED = "audit_escalated"

_LEAD = """
    CASE WHEN r.status <> 'unscored' AND j.scale_high > j.scale_low THEN
        CASE j.better WHEN 'lower' THEN -1 ELSE 1 END * r.score_lead / (j.scale_high - j.scale_low) END
"""
"""How much better A is than B for one judge, as a share of its scale. An unscored judge has no lead, even where one of
its orders has scores: what stands first would count."""
_SAID = f"""
    SELECT r.pair_id, r.task_id, r.gold, r.decidable, r.judge_id, COALESCE(r.pref, r.status) AS said, {_LEAD} AS lead
    FROM {REDUCED} r
    JOIN judges j ON j.audit_id = :audit AND j.judge_id = r.judge_id
    WHERE r.judge_id IN :judges
"""
_NEXT_TO_NOTHING = 1e-9
"""Leads that cancel out need not do so to the last bit in floating point."""
_BALLOT = ", ".join(Ballot._fields)
_STATUSES = {
    "decided": "said IN ('A', 'B')",
    **{status: f"said = '{status}'" for status in ("tie", "inconsistent", "split", "unscored")},
}


def hold_panel(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> None:
    """Hold the pairs that all of these judges judged."""
    columns = ", ".join(f"{name} INTEGER NOT NULL" for name in ("decidable", *Ballot._fields[:-1]))
    connection.execute(text(f"DROP TABLE IF EXISTS {PANEL}"))
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {PANEL} (
            pair_id VARCHAR PRIMARY KEY, task_id VARCHAR NOT NULL, gold VARCHAR, {columns}, lead VARCHAR NOT NULL
        )
        """)
    )
    _hold_more(connection, audit_id, judge_ids)


def hold_cascade(
    connection: Connection, audit_id: str, first: str, panel: Sequence[str], asked: Mapping[str, bool]
) -> int:
    """Hold the pairs of a cascade that `first` judged: an escalated one by what the panel says, once all of it judged
    the pair, any other by what `first` says. The number of escalated ones among them.

    `asked` are the pairs of the cascade: whether each is escalated. What the panel says of others is none of its own.
    """
    connection.execute(text(f"DROP TABLE IF EXISTS {ESCALATED}"))
    columns = "pair_id VARCHAR PRIMARY KEY, escalated INTEGER NOT NULL"
    connection.execute(text(f"CREATE TEMPORARY TABLE {ESCALATED} ({columns})"))
    rows = [{"pair_id": pair_id, "escalated": int(escalated)} for pair_id, escalated in asked.items()]
    if rows:
        connection.execute(text(f"INSERT INTO {ESCALATED} (pair_id, escalated) VALUES (:pair_id, :escalated)"), rows)
    hold_panel(connection, audit_id, panel)
    to_panel = f"""
        SELECT e.pair_id FROM {ESCALATED} e JOIN {REDUCED} r ON r.pair_id = e.pair_id
        WHERE e.escalated = 1 AND r.judge_id = :first
    """
    connection.execute(text(f"DELETE FROM {PANEL} WHERE pair_id NOT IN ({to_panel})"), {"first": first})
    _hold_more(connection, audit_id, [first])
    connection.execute(text(f"DELETE FROM {PANEL} WHERE pair_id NOT IN (SELECT pair_id FROM {ESCALATED})"))
    held = f"SELECT COALESCE(SUM(e.escalated), 0) FROM {PANEL} p JOIN {ESCALATED} e ON e.pair_id = p.pair_id"
    return int(connection.execute(text(held)).scalar_one())


def _hold_more(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> None:
    """Add the pairs that all of these judges judged, except those that are held."""
    votes = ", ".join(
        f"SUM(CASE WHEN said = '{said}' THEN 1 ELSE 0 END)" for said in ("A", "B", "tie", "inconsistent", "unscored")
    )
    query = text(f"""
        INSERT INTO {PANEL} (pair_id, task_id, gold, decidable, {_BALLOT})
        SELECT pair_id, MIN(task_id), MIN(gold), MIN(decidable), {votes},
            CASE WHEN COUNT(lead) < COUNT(*) THEN 'unknown' WHEN ABS(SUM(lead)) < {_NEXT_TO_NOTHING} THEN 'tie'
                WHEN SUM(lead) > 0 THEN 'A' ELSE 'B' END
        FROM ({_SAID}) AS said
        WHERE NOT EXISTS (SELECT 1 FROM {PANEL} held WHERE held.pair_id = said.pair_id)
        GROUP BY pair_id HAVING COUNT(*) = :number
    """)
    given = {"audit": audit_id, "judges": list(judge_ids), "number": len(judge_ids)}
    connection.execute(query.bindparams(bindparam("judges", expanding=True)), given)


def panel_size(connection: Connection) -> PanelSize:
    """How many pairs are held."""
    query = f"SELECT COUNT(*), COALESCE(SUM(decidable), 0) FROM {PANEL}"
    return PanelSize(*map(int, connection.execute(text(query)).one()))


def ballots(connection: Connection) -> list[Ballot]:
    """The different ballots of the pairs held: few, however many pairs there are."""
    return [Ballot(*row) for row in connection.execute(text(f"SELECT DISTINCT {_BALLOT} FROM {PANEL}"))]


def rule_outcomes(connection: Connection, rulings: Mapping[str, Mapping[Ballot, PanelStatus]]) -> dict[str, Outcomes]:
    """Name of a rule → the pairs held by what each ballot is under it; none where none are held."""
    votes = ", ".join(f"{name} INTEGER NOT NULL" for name in Ballot._fields[:-1])
    connection.execute(text(f"DROP TABLE IF EXISTS {RULINGS}"))
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {RULINGS} (
            {votes}, lead VARCHAR NOT NULL, name VARCHAR NOT NULL, said VARCHAR NOT NULL, PRIMARY KEY ({_BALLOT}, name)
        )
        """)
    )
    rows = [
        {**ballot._asdict(), "name": name, "said": said}
        for name, ruled in rulings.items()
        for ballot, said in ruled.items()
    ]
    if not rows:
        return {}
    values = ", ".join(f":{name}" for name in (*Ballot._fields, "name", "said"))
    connection.execute(text(f"INSERT INTO {RULINGS} ({_BALLOT}, name, said) VALUES ({values})"), rows)
    same = " AND ".join(f"v.{name} = p.{name}" for name in Ballot._fields)
    source = f"SELECT v.name, p.task_id, p.gold, p.decidable, v.said FROM {PANEL} p JOIN {RULINGS} v ON {same}"
    return _outcomes(connection, source, {})


def judge_outcomes(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> dict[str, Outcomes]:
    """Judge id → the pairs held by what this judge alone says of them."""
    return _alone(connection, audit_id, judge_ids, "judge_id")


def pooled_outcomes(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> Outcomes | None:
    """The verdicts of these judges on the pairs held, all together; None where there is none."""
    return _alone(connection, audit_id, judge_ids, "'all'").get("all")


def _alone(connection: Connection, audit_id: str, judge_ids: Sequence[str], name: str) -> dict[str, Outcomes]:
    source = f"""
        SELECT {name} AS name, said.task_id, said.gold, said.decidable, said.said
        FROM ({_SAID}) AS said JOIN {PANEL} held ON held.pair_id = said.pair_id
    """
    return _outcomes(connection, source, {"audit": audit_id, "judges": list(judge_ids)})


def judges_with_scores(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> set[str]:
    """Those of these judges that give scores, on a scale that is known, to any of the pairs held."""
    query = text(f"""
        SELECT DISTINCT judge_id FROM ({_SAID}) AS said JOIN {PANEL} held ON held.pair_id = said.pair_id
        WHERE said.lead IS NOT NULL
    """).bindparams(bindparam("judges", expanding=True))
    return set(connection.scalars(query, {"audit": audit_id, "judges": list(judge_ids)}))


def _outcomes(connection: Connection, source: str, given: Mapping[str, object]) -> dict[str, Outcomes]:
    """Name → outcomes, of a query with name, task_id, gold, decidable and said."""
    tallies = ", ".join(f"SUM(CASE WHEN {held} THEN 1 ELSE 0 END) AS {name}" for name, held in _STATUSES.items())
    decided = "decidable = 1 AND said IN ('A', 'B')"
    query = text(f"""
        WITH by_task AS (
            SELECT name, task_id, {tallies}, SUM(CASE WHEN {decided} AND said <> gold THEN 1 ELSE 0 END) AS k_wrong,
                SUM(CASE WHEN {decided} THEN 1 ELSE 0 END) AS n_wrong
            FROM ({source}) AS said GROUP BY name, task_id
        )
        SELECT name, {", ".join(f"SUM({name})" for name in _STATUSES)}, {sums_of("wrong")} FROM by_task GROUP BY name
    """)
    if "judges" in given:
        query = query.bindparams(bindparam("judges", expanding=True))
    found = {}
    for name, decided, tie, inconsistent, split, unscored, *sums in connection.execute(query, dict(given)):
        wrong = Sums(*map(int, sums))
        found[name] = Outcomes(int(decided), int(tie), int(inconsistent), int(split), int(unscored), wrong)
    return found

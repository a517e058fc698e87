"""What several labellers (people, data sets, judges) say of the same pairs, counted in the store.

After `summary_records.reduce_audit`, `hold_labels` fills a temporary table with one row a pair and labeller: of people
their latest label, of judges what their verdict decides. The rest groups it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from sqlalchemy import Connection, bindparam, text

from misjudge_storage.summary_records import REDUCED
from misjudge_storage.task_moments import Moments, moment_columns, read_moments, width

LABELS = "audit_labels"
SAID = ("A", "B", "tie")
"""The labels by their numbers in the table."""
LabellerKind = Literal["human", "label", "judge"]
_PLACES: Mapping[int, LabellerKind] = {0: "human", 1: "label", 2: "judge", 3: "judge"}
"""People come first in a couple, then data sets, then judges; 3 are judges that are not counted among all."""
_CELLS = tuple(f"cell_{first}{second}" for first in range(3) for second in range(3))
_WRONG = ("both_wrong", "first_wrong", "second_wrong", "none_wrong")
_NOMINAL = ("agreed", "said_0", "said_1", "said_2")
_SCORED = ("within", "n", "s", "q")


class Labeller(NamedTuple):
    """Who labelled pairs; judges by their label. `counted`: among all labellers."""

    kind: LabellerKind
    name: str
    counted: bool


class CoupleCounts(NamedTuple):
    """Two labellers on the pairs that both labelled, by task: how often each two labels (the first one's down the rows,
    as in `SAID`), and of decidable pairs that both decided, who was wrong: both, the first or second only, none.
    """

    first: Labeller
    second: Labeller
    cells: Moments
    wrong: Moments


class GroupLabels(NamedTuple):
    """Pairs with two labels or more of a group of labellers: people, judges, or all; see `stats.krippendorff_alpha`."""

    group: str
    pairs: int
    moments: Moments


class ScoredUnits(NamedTuple):
    """Pairs or trajectories that two judges or more scored; see `stats.krippendorff_alpha`."""

    units: int
    moments: Moments


def has_labels(connection: Connection, audit_id: str) -> bool:
    """Whether anybody but judges labelled pairs."""
    query = "SELECT 1 FROM gold_labels WHERE audit_id = :audit LIMIT 1"
    return connection.scalar(text(query), {"audit": audit_id}) is not None


def hold_labels(connection: Connection, audit_id: str, aside: Collection[str] = ()) -> None:
    """Hold the labels. `aside` are the judges (ids) that are compared, but not counted among all."""
    connection.execute(text(f"DROP TABLE IF EXISTS {LABELS}"))
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {LABELS} (
            pair_id VARCHAR NOT NULL, task_id VARCHAR NOT NULL, place INTEGER NOT NULL, labeller VARCHAR NOT NULL,
            said INTEGER NOT NULL, wrong INTEGER
        )
        """)
    )
    query = text(f"""
        INSERT INTO {LABELS} (pair_id, task_id, place, labeller, said, wrong)
        SELECT l.pair_id, p.task_id, CASE l.source WHEN 'human' THEN 0 ELSE 1 END, l.labeller, {_number("l.pref")},
            CAST(NULL AS INTEGER)
        FROM (
            SELECT pair_id, source, labeller, pref, ROW_NUMBER() OVER (
                PARTITION BY pair_id, source, labeller ORDER BY created_at DESC, label_id
            ) AS place
            FROM gold_labels WHERE audit_id = :audit
        ) l
        JOIN pairs p ON p.audit_id = :audit AND p.pair_id = l.pair_id
        WHERE l.place = 1 AND l.pref <> 'split'
        UNION ALL
        SELECT s.pair_id, s.task_id, CASE WHEN s.judge_id IN :aside THEN 3 ELSE 2 END, j.label, {_number("s.pref")},
            CASE WHEN s.decidable = 1 AND s.pref <> 'tie' THEN CASE WHEN s.pref = s.gold THEN 0 ELSE 1 END END
        FROM {REDUCED} s JOIN judges j ON j.audit_id = :audit AND j.judge_id = s.judge_id
        WHERE s.pref IS NOT NULL
    """)
    # No judge has the id "": of an empty list Postgres cannot tell the type.
    given = {"audit": audit_id, "aside": ["", *aside]}
    connection.execute(query.bindparams(bindparam("aside", expanding=True)), given)
    connection.execute(text(f"CREATE INDEX {LABELS}_by_pair ON {LABELS} (pair_id)"))


def _number(pref: str) -> str:
    return f"CASE {pref} WHEN 'A' THEN 0 WHEN 'B' THEN 1 ELSE 2 END"


def labellers(connection: Connection) -> Sequence[Labeller]:
    """Who labelled any pair, people first."""
    query = f"SELECT DISTINCT place, labeller FROM {LABELS} ORDER BY place, labeller"
    return [_labeller(*row) for row in connection.execute(text(query))]


def labels_in_use(connection: Connection) -> int:
    """How many different labels anybody gave."""
    return int(connection.execute(text(f"SELECT COUNT(DISTINCT said) FROM {LABELS}")).scalar_one())


def couples(connection: Connection, judge: str | None = None, *, only_judges: bool = False) -> Sequence[CoupleCounts]:
    """Every two labellers with pairs in common; `judge`: of those with this one, `only_judges`: of two judges."""
    cells = ", ".join(
        f"SUM(CASE WHEN a.said = {name[-2]} AND b.said = {name[-1]} THEN 1 ELSE 0 END) AS {name}" for name in _CELLS
    )
    wrong = ", ".join(
        f"SUM(CASE WHEN a.wrong = {a} AND b.wrong = {b} THEN 1 ELSE 0 END) AS {name}"
        for name, (a, b) in zip(_WRONG, ((1, 1), (1, 0), (0, 1), (0, 0)), strict=True)
    )
    both = f"{' + '.join(_WRONG)} > 0"
    which = "a.place >= 2" if only_judges else "1 = 1"
    if judge is not None:
        which += " AND ((a.place >= 2 AND a.labeller = :judge) OR (b.place >= 2 AND b.labeller = :judge))"
    query = f"""
        WITH by_task AS (
            SELECT a.place AS first_place, a.labeller AS first, b.place AS second_place, b.labeller AS second,
                {cells}, {wrong}
            FROM {LABELS} a JOIN {LABELS} b ON b.pair_id = a.pair_id
                AND (a.place < b.place OR (a.place = b.place AND a.labeller < b.labeller))
            WHERE {which}
            GROUP BY a.place, a.labeller, b.place, b.labeller, a.task_id
        )
        SELECT first_place, first, second_place, second, {moment_columns(_CELLS)}, {moment_columns(_WRONG, both)}
        FROM by_task GROUP BY first_place, first, second_place, second ORDER BY 1, 2, 3, 4
    """
    given = {} if judge is None else {"judge": judge}
    return [
        CoupleCounts(
            _labeller(row[0], row[1]),
            _labeller(row[2], row[3]),
            read_moments(row[4:], len(_CELLS)),
            read_moments(row[4 + width(len(_CELLS)) :], len(_WRONG)),
        )
        for row in connection.execute(text(query), given)
    ]


def group_labels(connection: Connection) -> Sequence[GroupLabels]:
    """People (of data sets none), judges, and all three kinds together, but for the judges that are set aside."""
    groups = {"people": "place = 0", "judges": "place = 2", "all": "place <= 2"}
    counts = ", ".join(
        f"SUM(CASE WHEN {which} AND said = {said} THEN 1 ELSE 0 END) AS {name}_{said}"
        for name, which in groups.items()
        for said in range(3)
    )
    each = " UNION ALL ".join(
        f"SELECT '{name}' AS name, task_id, {name}_0 AS said_0, {name}_1 AS said_1, {name}_2 AS said_2 FROM units"
        for name in groups
    )
    m = "(said_0 + said_1 + said_2)"
    alike = " + ".join(f"said_{said} * (said_{said} - 1)" for said in range(3))
    query = f"""
        WITH units AS (SELECT pair_id, task_id, {counts} FROM {LABELS} GROUP BY pair_id, task_id),
        by_task AS (
            SELECT name, task_id, COUNT(*) AS pairs, SUM(1.0 * ({alike}) / ({m} - 1)) AS agreed,
                SUM(said_0) AS said_0, SUM(said_1) AS said_1, SUM(said_2) AS said_2
            FROM ({each}) g WHERE {m} > 1 GROUP BY name, task_id
        )
        SELECT name, SUM(pairs), {moment_columns(_NOMINAL)} FROM by_task GROUP BY name ORDER BY name
    """
    return [
        GroupLabels(row[0], int(row[1]), read_moments(row[2:], len(_NOMINAL)))
        for row in connection.execute(text(query))
    ]


_SHARE = "j.scale_high > j.scale_low"
_TURNED = "CASE j.better WHEN 'lower' THEN -1.0 ELSE 1.0 END"
_LEADS = f"""
    SELECT s.pair_id AS unit, s.task_id,
        {_TURNED} * s.score_lead / CASE WHEN {_SHARE} THEN j.scale_high - j.scale_low ELSE 1 END AS v
    FROM {REDUCED} s JOIN judges j ON j.audit_id = :audit AND j.judge_id = s.judge_id
    WHERE s.judge_id IN :judges AND s.status <> 'unscored' AND s.score_lead IS NOT NULL
"""
_SCORES = f"""
    SELECT s.trajectory_id AS unit, t.task_id,
        CASE WHEN {_SHARE} AND j.better = 'lower' THEN (j.scale_high - s.score) / (j.scale_high - j.scale_low)
            WHEN {_SHARE} THEN (s.score - j.scale_low) / (j.scale_high - j.scale_low)
            ELSE {_TURNED} * s.score END AS v
    FROM (
        SELECT judge_id, trajectory_id, AVG(score) AS score FROM verdicts
        WHERE audit_id = :audit AND judge_id IN :judges AND trajectory_id IS NOT NULL AND score IS NOT NULL
        GROUP BY judge_id, trajectory_id
    ) s
    JOIN judges j ON j.audit_id = :audit AND j.judge_id = s.judge_id
    JOIN trajectories t ON t.trajectory_id = s.trajectory_id
"""


def scored_leads(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> ScoredUnits:
    """How much better these judges score side A of each pair than side B, as shares of their scales where known."""
    return _scored(connection, _LEADS, audit_id, judge_ids)


def scored_trajectories(connection: Connection, audit_id: str, judge_ids: Sequence[str]) -> ScoredUnits:
    """The scores that these judges give to each trajectory, as shares of their scales where known."""
    return _scored(connection, _SCORES, audit_id, judge_ids)


def _scored(connection: Connection, scores: str, audit_id: str, judge_ids: Sequence[str]) -> ScoredUnits:
    query = text(f"""
        WITH units AS (
            SELECT unit, task_id, COUNT(*) AS m, SUM(v) AS s, SUM(v * v) AS q FROM ({scores}) v
            GROUP BY unit, task_id HAVING COUNT(*) > 1
        ),
        by_task AS (
            SELECT task_id, COUNT(*) AS units, SUM((m * q - s * s) / (m - 1)) AS within, SUM(m) AS n, SUM(s) AS s,
                SUM(q) AS q
            FROM units GROUP BY task_id
        )
        SELECT COALESCE(SUM(units), 0), {moment_columns(_SCORED)} FROM by_task
    """).bindparams(bindparam("judges", expanding=True))
    row = connection.execute(query, {"audit": audit_id, "judges": list(judge_ids)}).one()
    units = int(row[0])
    return ScoredUnits(units, read_moments(row[1:], len(_SCORED)) if units else Moments(0, (), ()))


def _labeller(place: int, name: str) -> Labeller:
    return Labeller(_PLACES[place], name, place <= 2)

"""What several labellers (people, data sets, judges) say of the same pairs, counted in the store.

After `summary_records.reduce_audit`, `hold_labels` fills a temporary table with one row a pair and labeller: of people
their latest label, of judges what their verdict decides. The rest groups it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, text

from misjudge_storage.couple_sums import CoupleSums, Two
from misjudge_storage.reduced_audit import REDUCED
from misjudge_storage.row_chunks import NOTHING, Ints
from misjudge_storage.summary_values import LabellerKind
from misjudge_storage.task_moments import Moments, moment_columns, read_moments

LABELS = "audit_labels"
SAID = ("A", "B", "tie")
"""The labels by their numbers in the table."""
_PLACES: Mapping[int, LabellerKind] = {0: "human", 1: "label", 2: "judge", 3: "judge"}
"""People come first in a couple, then data sets, then judges; 3 are judges that are not counted among all."""
_NOMINAL = ("agreed", "said_0", "said_1", "said_2")
_SCORED = ("within", "n", "s", "q")


class Labeller(NamedTuple):
    """Who labelled pairs; judges by their label. `counted`: among all labellers."""

    kind: LabellerKind
    name: str
    counted: bool


class Couple(NamedTuple):
    """Two labellers; people come first, then data sets, then judges."""

    first: Labeller
    second: Labeller


class Couples:
    """What two of some labellers said of the same pairs, by task."""

    def __init__(self, among: Sequence[Labeller], said: CoupleSums, right: CoupleSums) -> None:
        self._numbers = {one: number for number, one in enumerate(among)}
        self._said, self._right = said, right
        self.labelled, self.decided = (
            [Couple(among[two.first], among[two.second]) for two in sums.with_any()] for sums in (said, right)
        )
        """The couples that labelled pairs in common, and those of judges that both decided a decidable pair."""
        self._labelled_with, self._decided_with = (_by_judge(some) for some in (self.labelled, self.decided))

    def labelled_with(self, judge: str) -> Sequence[Couple]:
        """Those of `labelled` that this judge is one of."""
        return self._labelled_with.get(judge, [])

    def decided_with(self, judge: str) -> Sequence[Couple]:
        """Those of `decided` that this judge is one of."""
        return self._decided_with.get(judge, [])

    def table(self, couple: Couple) -> Sequence[float]:
        """How often each two labels were given, the first one's down the rows, as in `SAID`."""
        return self._said.totals(self._of(couple))

    def cells(self, couple: Couple) -> Moments:
        """The moments of `table`."""
        return self._said.moments(self._of(couple))

    def wrong(self, couple: Couple) -> Moments:
        """Of the decidable pairs that both decided, who was wrong: both, the first or second only, none."""
        return self._right.moments(self._of(couple))

    def _of(self, couple: Couple) -> Two:
        return Two(*(self._numbers[one] for one in couple))


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


def _by_judge(couples: Sequence[Couple]) -> dict[str, list[Couple]]:
    found: defaultdict[str, list[Couple]] = defaultdict(list)
    for couple in couples:
        for name in {one.name for one in couple if one.kind == "judge"}:
            found[name].append(couple)
    return dict(found)


def couples(connection: Connection, *, only_judges: bool = False) -> Couples:
    """Every two labellers, or every two judges."""
    among = [one for one in labellers(connection) if one.kind == "judge" or not only_judges]
    return _couples(connection, among, None, "place >= 2" if only_judges else "1 = 1")


def couples_with(connection: Connection, judge: Labeller) -> Couples:
    """The couples of this judge with any other labeller."""
    among = labellers(connection)
    of_mine = f"pair_id IN (SELECT pair_id FROM {LABELS} WHERE place >= 2 AND labeller = :judge)"
    return _couples(connection, among, among.index(judge), of_mine, judge=judge.name)


def _couples(
    connection: Connection, among: Sequence[Labeller], only: int | None, which: str, **given: object
) -> Couples:
    said, right = CoupleSums(len(among), len(SAID), only), CoupleSums(len(among), 2, only)
    query = f"SELECT task_id, pair_id, place, labeller, said, wrong FROM {LABELS} WHERE {which} ORDER BY 1, 2"
    # By a cursor of the server's on Postgres, so that no client holds all of them.
    rows = connection.execute(text(query).execution_options(yield_per=_ROWS_AT_A_TIME), given)
    for block in _blocks(rows, {one: number for number, one in enumerate(among)}):
        said.add(block.task, block.said)
        right.add(block.task, block.right)
    return Couples(among, said, right)


_ROWS_AT_A_TIME = 1 << 14
_LABELS_AT_A_TIME = 1 << 18


class _Block(NamedTuple):
    """Pairs of whole tasks: the number of the task of each, and by labeller and pair the label and whether it is right
    (1) or wrong (0), or NOTHING.
    """

    task: Ints
    said: Ints
    right: Ints


def _blocks(rows: Iterable[Sequence[Any]], numbers: Mapping[Labeller, int]) -> Iterator[_Block]:
    """The labels in order of tasks and pairs, some at a time."""
    tasks: list[int] = []
    found: list[tuple[int, int, int, int]] = []
    for number, (_, of_task) in enumerate(groupby(rows, itemgetter(0))):
        for _, of_pair in groupby(of_task, itemgetter(1)):
            found.extend(
                (numbers[_labeller(place, name)], len(tasks), said, NOTHING if wrong is None else 1 - wrong)
                for _, _, place, name, said, wrong in of_pair
            )
            tasks.append(number)
        if len(tasks) * len(numbers) >= _LABELS_AT_A_TIME:
            yield _block(tasks, found, len(numbers))
            tasks, found = [], []
    if tasks:
        yield _block(tasks, found, len(numbers))


def _block(tasks: Sequence[int], labels: Sequence[tuple[int, int, int, int]], labellers: int) -> _Block:
    who, pair, *values = np.array(labels, dtype=np.int64).T
    said, right = np.full((2, labellers, len(tasks)), NOTHING, dtype=np.int64)
    said[who, pair], right[who, pair] = values
    return _Block(np.array(tasks, dtype=np.int64), said, right)


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


@lru_cache(maxsize=1024)
def _labeller(place: int, name: str) -> Labeller:
    return Labeller(_PLACES[place], name, place <= 2)

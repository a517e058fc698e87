"""Where a judge and the evidence disagree: how many pairs and episodes, and the first of them by id. No transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.cutoffs import satisfied
from misjudge_storage.reduced_audit import REDUCED
from misjudge_storage.reduced_kinds import KINDS
from misjudge_storage.row_chunks import Chunk, ReducedFacts, judge_of
from misjudge_storage.task_cells import GroupedSums

PairConflict = Literal["strict", "unsupported", "missed"]

_FAILED = "CASE pref WHEN 'A' THEN success_a ELSE success_b END = 0"
_OTHER = "COALESCE(CASE pref WHEN 'A' THEN success_b ELSE success_a END, 0) = 0"
_KINDS: Mapping[PairConflict, str] = {
    "strict": "decidable = 1 AND pref IN ('A', 'B') AND pref <> gold",
    "unsupported": f"decidable = 0 AND pref IN ('A', 'B') AND {_FAILED} AND {_OTHER}",
    "missed": "decidable = 1 AND status IN ('tie', 'inconsistent')",
}
_AMONG: Mapping[PairConflict, str] = {
    "strict": "decidable = 1 AND pref IN ('A', 'B')",
    "unsupported": "decidable = 0 AND pref IN ('A', 'B')",
    "missed": "decidable = 1 AND status <> 'unscored'",
}
_SCORES = """
    scores AS (
        SELECT trajectory_id, AVG(score) AS score FROM verdicts
        WHERE audit_id = :audit AND judge_id = :judge AND trajectory_id IS NOT NULL AND score IS NOT NULL
        GROUP BY trajectory_id
    )
"""


class Found(NamedTuple):
    """`k` conflicts, of the `n` verdicts that could have been one."""

    k: int
    n: int


ConflictCounts = Mapping[PairConflict, Found]
"""What one judge's pairs hold. `strict`: it picked the side that gold says is the worse one, of its picks on decidable
pairs. `unsupported`: it picked a side that failed, and the other failed too or nothing is known of it; of its picks on
other pairs. `missed`: gold names a side and it named none (tie or inconsistent), of the decidable pairs it was read on.
"""


class ConflictPair(NamedTuple):
    """A pair by its ids, with what the judge and the evidence say of it."""

    pair_id: str
    task_id: str
    agent_a: str
    agent_b: str
    status: str
    pref: str | None
    gold: str | None
    gold_source: str | None
    score_a: float | None
    score_b: float | None
    reward_gap: float | None
    ability_bucket: str | None


class ConflictEpisode(NamedTuple):
    """An episode by its ids that failed and satisfied the judge with this mean score."""

    trajectory_id: str
    task_id: str
    agent: str
    score: float


class ConflictCounting:
    """Counts the conflicts of each judge."""

    def __init__(self, facts: ReducedFacts) -> None:
        self._facts = facts
        conditions = [condition for kind in _KINDS for condition in (_KINDS[kind], _AMONG[kind])]
        self._columns = facts.of_kinds([f"CASE WHEN {condition} THEN 1 ELSE 0 END" for condition in conditions])
        self._found = GroupedSums()

    def add(self, chunk: Chunk, last: int) -> None:
        self._found.add([judge_of(chunk.unit)], [column[chunk.kind] for column in self._columns])

    def conflicts(self) -> dict[str, ConflictCounts]:
        """Judge id → its conflicts."""
        found: dict[str, ConflictCounts] = {}
        for (judge,), totals in self._found.groups.items():
            judge_id = self._facts.judges[judge]
            if judge_id is not None:
                pairs = zip(map(int, totals[::2]), map(int, totals[1::2]), strict=True)
                found[judge_id] = {name: Found(k, n) for name, (k, n) in zip(_KINDS, pairs, strict=True)}
        return found


def conflict_pairs(connection: Connection, judge_id: str, kind: PairConflict, most: int) -> Sequence[ConflictPair]:
    """The first of them: where both orders say the same before where one is a tie, the widest apart in the judge's own
    scores first, near pairs before others.
    """
    # The names of a pair are looked up one by one: of the first pairs alone.
    order = """
        CASE status WHEN 'decided' THEN 0 WHEN 'weak' THEN 1 ELSE 2 END, both_orders DESC,
        COALESCE(score_gap, -1) DESC, CASE ability_bucket WHEN 'near' THEN 0 ELSE 1 END, r.pair_no
    """
    query = f"""
        WITH first AS (
            SELECT r.segment_no, r.pair_no FROM {REDUCED} r
            WHERE judge_id = :judge AND kind_key IN (SELECT kind_key FROM {KINDS} WHERE {_KINDS[kind]})
            ORDER BY {order} LIMIT :most
        )
        SELECT pair_id, task_id, agent_a, agent_b, status, pref, gold, gold_source, score_a, score_b,
            reward_gap, ability_bucket
        FROM first f CROSS JOIN {REDUCED} r WHERE r.segment_no = f.segment_no AND r.pair_no = f.pair_no ORDER BY {order}
    """
    rows = connection.execute(text(query), {"judge": judge_id, "most": most}).mappings()
    return [ConflictPair(**row) for row in rows]


def satisfied_failures(connection: Connection, audit_id: str, judge_id: str, most: int) -> Sequence[ConflictEpisode]:
    """The first failed episodes that satisfied this judge by the threshold of its scale: the best scored first, then by
    id.
    """
    query = f"""
        WITH {_SCORES}
        SELECT s.trajectory_id, o.task_id, o.agent, s.score
        FROM scores s
        JOIN judges j ON j.audit_id = :audit AND j.judge_id = :judge
        JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
        WHERE o.success = 0 AND {satisfied("s.score")}
        ORDER BY CASE j.better WHEN 'lower' THEN s.score ELSE -s.score END, s.trajectory_id
        LIMIT :most
    """
    given = {"audit": audit_id, "judge": judge_id, "most": most}
    return [ConflictEpisode(*row) for row in connection.execute(text(query), given)]

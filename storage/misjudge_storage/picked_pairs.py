"""Pairs that are decidable only since reviews chose them: rates that count them are of no fair sample.

Reviews choose pairs on which a judge contradicted itself or was satisfied with what failed, on which it is wrong more
often than on others.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reduced_audit import PAIR_KEY, REDUCED, ROWS, SEGMENTS
from misjudge_storage.reduced_kinds import MEASURES

PICKED = "audit_picked"


class Picked(NamedTuple):
    """Decidable pairs of one judge that were picked, and its calls on them that were read."""

    pairs: int
    calls: int


_FAIR = "({alias}.source <> 'human' OR {alias}.stream IS NULL OR {alias}.stream <> 'chosen')"
"""Said otherwise than by a label of the chosen stream."""
_OF_SOURCE = "{alias}.scope = 'outcome' AND {alias}.source IN ('human', 'verifier', 'label', 'reward')"


def _differ(said: str) -> str:
    """Whether fair checks say something else of both sides of the pair `p`."""
    known = " AND ".join(
        f"{side}.trajectory_id = p.trajectory_{side} AND {(_FAIR + ' AND ' + _OF_SOURCE).format(alias=side)}"
        for side in "ab"
    )
    return f"EXISTS (SELECT 1 FROM standing_checks a, standing_checks b WHERE {known} AND a.{said} <> b.{said})"


_CHOSEN = "audit_id = :audit AND source = 'human' AND stream = 'chosen'"
_CHECKED = f"SELECT trajectory_id FROM checks WHERE {_CHOSEN}"
_REVIEWED = f"""
    SELECT pair_id FROM gold_labels WHERE {_CHOSEN}
    UNION SELECT pair_id FROM pairs WHERE audit_id = :audit AND trajectory_a IN ({_CHECKED})
    UNION SELECT pair_id FROM pairs WHERE audit_id = :audit AND trajectory_b IN ({_CHECKED})
"""
_LABELLED = f"""EXISTS (
    SELECT 1 FROM gold_labels l
    WHERE l.audit_id = p.audit_id AND l.pair_id = p.pair_id AND l.pref <> 'tie' AND {_FAIR.format(alias="l")}
)"""


def hold_picked(connection: Connection, audit_id: str) -> bool:
    """Hold the pairs, after `reduce_audit`, of which nothing but labels of the chosen stream says that a side is
    better; whether there are any.
    """
    key = PAIR_KEY[connection.dialect.name]
    connection.execute(text(f"DROP TABLE IF EXISTS {PICKED}"))
    connection.execute(text(f"CREATE TEMPORARY TABLE {PICKED} AS SELECT {key} AS pair_no FROM pairs p WHERE 1 = 0"))
    given = {"audit": audit_id}
    if connection.scalar(text("SELECT 1 FROM reviews WHERE audit_id = :audit LIMIT 1"), given) is None:
        return False
    held = connection.execute(
        text(f"""
        INSERT INTO {PICKED} (pair_no)
        SELECT {key} FROM pairs p
        WHERE p.audit_id = :audit AND p.pair_id IN ({_REVIEWED})
            AND NOT {_LABELLED} AND NOT {_differ("passed")} AND NOT {_differ("reward")}
        """),
        given,
    )
    return held.rowcount > 0


_IS_PICKED = f"decidable = 1 AND pair_no IN (SELECT pair_no FROM {PICKED})"


def count_picked(connection: Connection) -> dict[str | None, Picked]:
    """Judge id → its decidable pairs among those held; None: of pairs that nobody judged."""
    query = f"""
        SELECT judge_id, COUNT(*), SUM({MEASURES["wrong_calls"][1]}) FROM {REDUCED} WHERE {_IS_PICKED} GROUP BY judge_id
    """
    return {judge_id: Picked(int(pairs), int(calls)) for judge_id, pairs, calls in connection.execute(text(query))}


def count_distinct(connection: Connection) -> int:
    """How many decidable pairs are held, whoever judged them."""
    query = f"SELECT COUNT(DISTINCT pair_no) FROM {REDUCED} WHERE {_IS_PICKED}"
    return int(connection.scalar(text(query)) or 0)


def leave_out_picked(connection: Connection) -> None:
    """Take the pairs that are held out of the reduced audit."""
    connection.execute(text(f"DELETE FROM {ROWS} WHERE pair_no IN (SELECT pair_no FROM {PICKED})"))
    left = f"(SELECT COUNT(*) FROM {ROWS} r WHERE r.segment_no = {SEGMENTS}.segment_no)"
    connection.execute(text(f"UPDATE {SEGMENTS} SET pairs = {left}"))
    connection.execute(text(f"DELETE FROM {SEGMENTS} WHERE pairs = 0"))

"""Which replies on pairs could not be read: by the agents of the pair, and by the order shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.reduced_audit import REDUCED
from misjudge_storage.reduced_episodes import ACTORS

_AB = "(ab_a + ab_b + ab_tie)"
_BA = "(ba_a + ba_b + ba_tie)"


class MissingReplies(NamedTuple):
    """Calls of a judge on pairs of two agents, and the `unscored` ones of them.

    Of the pairs that were asked in both orders (`both`), the AB call is unscored in `lost_ab`, the BA call in
    `lost_ba`, both of them in `lost_both`. Gold says A of `gold_a` of the `decidable` ones.
    """

    judge_id: str
    agent_a: str
    agent_b: str
    calls: int
    unscored: int
    both: int
    lost_ab: int
    lost_ba: int
    lost_both: int
    decidable: int
    gold_a: int


def missing_replies(connection: Connection) -> Sequence[MissingReplies]:
    """By judge and two agents, of the reduced audit."""
    counted = ", ".join(
        f"SUM(CASE WHEN both_orders = 1{lost} THEN 1 ELSE 0 END)"
        for lost in ("", f" AND {_AB} = 0", f" AND {_BA} = 0", f" AND {_AB} = 0 AND {_BA} = 0")
    )
    names = ", ".join(MissingReplies._fields[3:])
    query = f"""
        WITH counted (judge_id, actor_a, actor_b, {names}) AS (
        SELECT judge_id, actor_a, actor_b,
            SUM(calls_a + calls_b + calls_tie + calls_unscored), SUM(calls_unscored), {counted},
            SUM(decidable), SUM(CASE WHEN gold = 'A' THEN 1 ELSE 0 END)
        FROM {REDUCED} WHERE judge_id IS NOT NULL GROUP BY judge_id, actor_a, actor_b
        )
        SELECT c.judge_id, a.agent, b.agent, {", ".join(f"SUM(c.{name})" for name in MissingReplies._fields[3:])}
        FROM counted c JOIN {ACTORS} a ON a.actor_no = c.actor_a JOIN {ACTORS} b ON b.actor_no = c.actor_b
        GROUP BY c.judge_id, a.agent, b.agent ORDER BY 1, 2, 3
    """
    return [MissingReplies(*row[:3], *map(int, row[3:])) for row in connection.execute(text(query))]

"""Which replies on pairs could not be read: by the agents of the pair, and by the order shown."""

from __future__ import annotations

from typing import NamedTuple

from misjudge_storage.row_chunks import Chunk, ReducedFacts, judge_of
from misjudge_storage.task_cells import GroupedSums

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


def _of_both(lost: str = "") -> str:
    return f"CASE WHEN both_orders = 1{lost} THEN 1 ELSE 0 END"


_COLUMNS = (
    "calls_a + calls_b + calls_tie + calls_unscored",
    "calls_unscored",
    _of_both(),
    _of_both(f" AND {_AB} = 0"),
    _of_both(f" AND {_BA} = 0"),
    _of_both(f" AND {_AB} = 0 AND {_BA} = 0"),
    "decidable",
    "CASE WHEN gold = 'A' THEN 1 ELSE 0 END",
)


class MissingCounting:
    """Counts replies by judge and the two agents of the pair."""

    def __init__(self, facts: ReducedFacts) -> None:
        self._facts = facts
        self._columns = facts.of_kinds([f"COALESCE({column}, 0)" for column in _COLUMNS])
        self._agents = facts.of_actors("agent")
        self._found = GroupedSums()

    def add(self, chunk: Chunk, last: int) -> None:
        sides = [self._agents.of[actor] for actor in (chunk.actor_a, chunk.actor_b)]
        self._found.add([judge_of(chunk.unit), *sides], [column[chunk.kind] for column in self._columns])

    def replies(self) -> list[MissingReplies]:
        """By judge and agents, in order of these."""
        names = self._agents.names
        return sorted(
            MissingReplies(judge_id, names[a], names[b], *map(int, totals))
            for (judge, a, b), totals in self._found.groups.items()
            if (judge_id := self._facts.judges[judge]) is not None
        )

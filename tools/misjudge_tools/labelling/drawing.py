"""The lots of a pair: which stream it is of, its place there, whether two people label it, which side is shown first.

All follow from the audit's secret, so that nobody chooses and a session goes on where it was. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from misjudge_storage.hashing import fence_token
from misjudge_storage.review_records import Stream
from misjudge_storage.types import Order

RANDOM_SHARE: Final = 0.5
"""The probability with which a pair is of the random stream. Those are never shown for being informative: what is left
of others after somebody picked from them is no random sample of all.
"""
DOUBLED_SHARE: Final = 0.2
"""The probability with which a pair goes to two people."""
WEIGHTS: Final[Mapping[Stream, float | None]] = {"random": 1 / RANDOM_SHARE, "chosen": None}
"""The inverse of the probability with which a pair came to be in its stream; None where that says nothing."""


class Drawn(NamedTuple):
    """The stream of a pair, and its place there: from 0 to 1, lower ones come first."""

    stream: Stream
    place: float


def drawn(secret: str, pair_id: str) -> Drawn:
    """The lot of this pair."""
    lot = _lot(secret, "stream", pair_id)
    if lot < RANDOM_SHARE:
        return Drawn("random", lot / RANDOM_SHARE)
    return Drawn("chosen", (lot - RANDOM_SHARE) / (1 - RANDOM_SHARE))


@lru_cache(maxsize=1 << 17)
def is_doubled(secret: str, pair_id: str) -> bool:
    """Whether two people label it, so that it can be seen how far people agree."""
    return _lot(secret, "doubled", pair_id) < DOUBLED_SHARE


def order_for(secret: str, pair_id: str, reviewer: str) -> Order:
    """Which side this reviewer sees first."""
    return "AB" if _lot(secret, "order", pair_id, reviewer) < 0.5 else "BA"


def token_for(secret: str, audit_id: str, pair_id: str, reviewer: str) -> str:
    """What this reviewer knows the pair by. It says nothing of it, and no spreadsheet takes it for a number."""
    return f"rev_{fence_token(secret, 'review', audit_id, pair_id, reviewer)}"


def stream_of_turn(secret: str, reviewer: str, turn: int) -> Stream:
    """From which stream the reviewer's pair of this number (from 0) comes: of every two one is random, in any order."""
    first = _lot(secret, "turn", reviewer, turn // 2) < 0.5
    return "random" if first == (turn % 2 == 0) else "chosen"


def _lot(secret: str, *parts: str | int) -> float:
    """An even number from 0 to 1."""
    return int(fence_token(secret, "lot", *parts), 16) / 16**16

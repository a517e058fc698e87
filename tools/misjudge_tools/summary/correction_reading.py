"""What a summary counts of shares that labels can correct, read from the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import correction_counts as counted
from misjudge_storage.correction_counts import Basis, Corrections


class CorrectionCounts(NamedTuple):
    """What rests on a judge, and the shares with any label among it."""

    basis: Basis
    shares: Sequence[Corrections]


def read_checked(connection: Connection, audit_id: str) -> CorrectionCounts | None:
    """The episodes that models checked; None where they checked none."""
    if not counted.has_candidates(connection, audit_id):
        return None
    basis = counted.episode_basis(connection, audit_id)
    shares = counted.checked_successes(connection, audit_id) if basis.labelled and basis.unlabelled else ()
    return CorrectionCounts(basis, shares)


def read_wins(connection: Connection, audit_id: str, judge_id: str) -> CorrectionCounts:
    """The pairs of a judge, of a reduced audit."""
    basis = counted.pair_basis(connection, audit_id, judge_id)
    if not (basis.labelled and basis.unlabelled):
        return CorrectionCounts(basis, ())
    by_agent = counted.agent_wins(connection, audit_id, judge_id)
    # Of two agents, each row by agent is that of the couple.
    couples = counted.couple_wins(connection, audit_id, judge_id) if len(by_agent) > 2 else ()
    return CorrectionCounts(basis, [*by_agent, *couples])

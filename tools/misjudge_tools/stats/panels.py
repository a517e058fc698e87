"""What the verdicts of several judges on one pair come to, and how often that is the side that failed.

A panel is split where its judges are known to disagree; that is neither a tie (they call the sides alike) nor
inconsistent (they contradict themselves) nor unscored (too few of their replies could be read to say).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import Field

from misjudge_storage.summary_values import Ballot, Outcomes, PanelStatus
from misjudge_storage.types import Value
from misjudge_tools.stats.misselection import DecidedRate, decided_rate
from misjudge_tools.stats.rates import ClusterSums

Rule = Literal["majority", "unanimity", "mean_score"]
Pairs = Annotated[int, Field(ge=0)]


def majority(ballot: Ballot) -> PanelStatus:
    """What more than half of the judges say."""
    return _agreed(ballot, sum(_votes(ballot).values(), ballot.unscored) // 2 + 1)


def unanimity(ballot: Ballot) -> PanelStatus:
    """What all judges say."""
    return _agreed(ballot, sum(_votes(ballot).values(), ballot.unscored))


def mean_score(ballot: Ballot) -> PanelStatus:
    """The side with the higher mean score, each judge's scores as shares of its scale; unscored where one gave none."""
    return "unscored" if ballot.lead == "unknown" else ballot.lead


RULES: Mapping[Rule, Callable[[Ballot], PanelStatus]] = {
    "majority": majority,
    "unanimity": unanimity,
    "mean_score": mean_score,
}


def _votes(ballot: Ballot) -> Mapping[PanelStatus, int]:
    return {"A": ballot.a, "B": ballot.b, "tie": ballot.tie, "inconsistent": ballot.inconsistent}


def _agreed(ballot: Ballot, needed: int) -> PanelStatus:
    """What at least `needed` judges say; unscored while those that could not be read might make up the number."""
    status, most = max(_votes(ballot).items(), key=lambda vote: vote[1])
    if most >= needed:
        return status
    return "unscored" if most + ballot.unscored >= needed else "split"


class PanelOutcome(Value):
    """Pairs by how they ended, and how often the side that was picked is the one that failed.

    `decided` counts all pairs that ended as A or B; `misselection` is over the decidable ones of them.
    """

    decided: Pairs
    tie: Pairs
    inconsistent: Pairs
    split: Pairs
    unscored: Pairs
    misselection: DecidedRate


def panel_outcome(counts: Outcomes, decidable: int) -> PanelOutcome:
    """The outcome of counted pairs, `decidable` of which have a better side. Clusters are tasks."""
    return PanelOutcome(
        decided=counts.decided,
        tie=counts.tie,
        inconsistent=counts.inconsistent,
        split=counts.split,
        unscored=counts.unscored,
        misselection=decided_rate(ClusterSums(*counts.wrong), decidable),
    )

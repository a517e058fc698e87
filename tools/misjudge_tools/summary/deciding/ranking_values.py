"""Whether a judge ranks agents as their rewards do, as values: rates over agent pairs, never over items."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.stats.ranking import Abstention, ByBaseModel, CutRow, Disagreement


class RankingSection(Value):
    """Agent pairs, never to be set beside item-level rates; see `stats.ranking`.

    `gate` says what ranks the agents: their mean score (of the form gate, else of satisfaction), or the share of
    decided pairs they won.
    """

    of: Literal["agent pairs"] = "agent pairs"
    spearman: float | None
    spearman_low: float | None = None
    spearman_high: float | None = None
    near: Disagreement
    wide: Disagreement
    agents: int
    gate: Literal["mean gate score", "mean score", "win share"]
    against: Literal["order_rank", "reward"]
    cut: float
    reward_ties: int
    gate_ties: int
    cuts: tuple[CutRow, ...] = ()
    by_base_model: ByBaseModel | None = None
    abstention: Abstention | None = None
    resampled: Literal["base models", "agents"] | None = None
    units: int | None = None
    resamples: int | None = None
    why: dict[str, str] = Field(default_factory=dict)

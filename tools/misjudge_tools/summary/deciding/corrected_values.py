"""What rests on a judge or a model's check, corrected by human labels."""

from __future__ import annotations

from typing import Literal

from misjudge_storage.types import Value
from misjudge_tools.stats.correction import Corrected
from misjudge_tools.stats.rates import Count


class CorrectedRow(Corrected):
    """One share that rests on a judge. `success`: how often `agent` (None: all) did its task, by models' checks;
    `win_rate`: how often `agent` is the better one, of its pairs with `other` (None: with any), by the judge. A tie is
    no win of either.
    """

    estimand: Literal["success", "win_rate"]
    agent: str | None
    other: str | None


class CorrectionBasis(Value):
    """Of the pairs that the judge scored, or of the episodes that models checked: those with a label, those that rest
    on the judge alone, and those whose outcome is known otherwise, which are in no row.
    """

    labelled: Count
    unlabelled: Count
    known_otherwise: Count


class CorrectedSection(Value):
    """What rests on a judge or a model's check, corrected by labels; misselection never is, since it needs gold.

    `assumes_random`: that the labelled ones are a random sample is taken for granted, since none was drawn by reviews;
    `assumption` says what holds. `success`
    and `win_rate` are what the rows are of; one that is missing is None for the reason under `why`.
    """

    rows: tuple[CorrectedRow, ...]
    success: CorrectionBasis | None
    win_rate: CorrectionBasis | None
    assumes_random: bool
    assumption: str
    why: dict[str, str]

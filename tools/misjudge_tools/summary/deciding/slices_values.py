"""Where the judge is wrong: by category, turns, models, language."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Count, Rate

Dimension = Literal["category", "turns", "models", "agents", "language", "subset"]


class Slice(Value):
    """Single-call misselection of the `n` pairs (of which some are decidable) with one value of a dimension.

    `difference` is that to the judge's other pairs, with an interval that counts tasks; its `p` is that of no
    difference (clustered score test, two-sided), `p_adjusted` after Benjamini-Hochberg over all slices of all
    dimensions, and `stands_out` where that is at most 5 %. `why` is why there is no p.
    """

    dimension: Dimension
    value: str
    n: Count
    decidable: Count
    misselection: Rate
    difference: Effect
    stands_out: bool
    why: str | None = None


class LeftOut(Value):
    """Values of a dimension that are no rows, because others have more decided calls, and the pairs that have them."""

    values: Count
    pairs: Count


class SlicesSection(Value):
    """Rows by dimension, the largest slices first, turns in their order. `left_out` are further values of a dimension.

    A dimension with one value is none, and `why` says what is missing. Turns are those of the longer episode. Models
    are those of both sides, agents where no models are stated. The slices that are tested are `tests`.
    """

    rows: tuple[Slice, ...]
    tests: Count
    left_out: dict[str, LeftOut] = Field(default_factory=dict)
    why: dict[str, str] = Field(default_factory=dict)

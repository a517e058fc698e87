"""Is the judge worse where the sides are near: near minus wide, for each gap."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Count, Rate

Gap = Literal["ability", "reward", "judge_score"]


class GapDifference(Value):
    """Single-call misselection on the pairs of the nearest bucket of a gap, and on those of all farther ones together.

    `near_pairs` and `far_pairs` are decidable ones; of the `tasks`, `tasks_with_both` have calls on both. `difference`
    is near minus far; its `p` is that of near not being worse, one-sided: by task-clustered permutation (`test`:
    `enumerated` or `permuted`), but never less than that of the clustered score test, which stands alone where there
    are very many tasks (`score`). `near_is_worse` at 5 %; where it is not shown, `smallest_seen` is the difference that
    this audit would have shown with 80 % power, None where none. `circular`: the gap is of the judge's own scores.
    `notes` say what to know and check, `why` what could not be worked out.
    """

    gap: Gap
    circular: bool
    near_bucket: str
    near_range: str
    far_buckets: tuple[str, ...]
    near: Rate
    far: Rate
    near_pairs: Count
    far_pairs: Count
    tasks: Count
    tasks_with_both: Count
    difference: Effect
    test: Literal["enumerated", "permuted", "score"] | None
    near_is_worse: bool
    smallest_seen: float | None = None
    notes: tuple[str, ...] = ()
    why: str | None = None


class GapsSection(Value):
    """A row for each gap that the audit has; `why` says of the others what is missing."""

    rows: tuple[GapDifference, ...]
    why: dict[str, str] = Field(default_factory=dict)

"""Pairs on which the judge and the evidence disagree, by their ids."""

from __future__ import annotations

from misjudge_storage.types import Value
from misjudge_tools.stats.rates import Count


class ConflictRow(Value):
    """A pair, and what the judge (`pref`; None: inconsistent) and the evidence (`gold`) say of it.

    `margin` is how much better the judge scored its pick than the other side, of its raw scale; without a pick, A than
    B. `gap` is |reward A − reward B|, not of the judge's own scores.
    """

    uri: str
    pair_id: str
    task_id: str
    agent_a: str
    agent_b: str
    status: str
    pref: str | None
    gold: str | None
    gold_source: str | None
    margin: float | None
    gap: float | None
    ability_bucket: str | None


class EpisodeRow(Value):
    """A failed episode that satisfied the judge with this score."""

    uri: str
    trajectory_id: str
    task_id: str
    agent: str
    score: float


class PairConflicts(Value):
    """`k` of `n`, and the first of them by certainty: no tie in either order, then the widest in the judge's scores."""

    k: Count
    n: Count
    rows: tuple[ConflictRow, ...]


class EpisodeConflicts(Value):
    """`k` of `n`, and the first of them, the best scored first."""

    k: Count
    n: Count
    rows: tuple[EpisodeRow, ...]


class ConflictsSection(Value):
    """Where the judge and the evidence disagree, both ways; no text of a transcript.

    `strict`: it picked the side that gold says is the worse one, of its picks on decidable pairs; these are the
    misselected pairs. `unsupported`: it picked a side that failed where the other failed too, or is not known, of its
    picks on other pairs. `missed`: gold names a side and it named none, of the decidable pairs that were scored.
    `satisfied_failed`: failed episodes that satisfied it, of all that satisfied it. `more` is how to see the others.
    """

    strict: PairConflicts | None = None
    unsupported: PairConflicts | None = None
    missed: PairConflicts | None = None
    satisfied_failed: EpisodeConflicts | None = None
    more: str

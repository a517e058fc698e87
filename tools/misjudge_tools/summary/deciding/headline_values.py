"""The verdict in plain words, and the numbers that carry it."""

from __future__ import annotations

from typing import Literal

from misjudge_storage.types import Value
from misjudge_tools.stats.misselection import Misselection
from misjudge_tools.stats.rates import Count, Rate, Share
from misjudge_tools.summary.stopping_values import StoppingFacts

Grade = Literal["do_not_use", "not_near", "usable", "abstains", "one_sided", "undecided", "no_gold"]
"""`do_not_use`: wrong too often; `not_near`: on near pairs; `usable`: under the limit; `abstains`: under
the limit, but it decides too few pairs; `one_sided`: it looks right, but so would one answer to everything;
`undecided`: too few pairs to say; `no_gold`: nothing says which side was better. Of a judge that judged no pair and
scores single sessions, the same by how many of those that satisfied it had failed.
"""


class WorstCase(Value):
    """The share of the `n` decidable pairs that would be misselected if every undecided one were right (`at_best`), or
    wrong (`at_worst`). A tie, an inconsistent and an unscored pair are undecided.
    """

    n: Count
    undecided: Count
    at_best: Share
    at_worst: Share


class MissingArm(Value):
    """Calls that could not be read, of the `calls` in one order (`order AB`, A shown first) or with one agent.

    `p_adjusted` is that of no difference between this arm and the others, after Benjamini-Hochberg; None where it
    cannot be told.
    """

    arm: str
    calls: Count
    unscored: Count
    share: Share
    p_adjusted: Share | None = None


class HeadlineSection(Value):
    """What the audit comes to. The first sentence of `verdict` says whether the judge may be used, `would_change` what
    would change that. `limit` is the share of misselected that a usable judge stays under; of a judge that judged no
    pair, the share of failed among the sessions that satisfied it, which is `satisfied_failed`. `failed_known`: the
    worse side of every decidable pair is known to have failed. `picked`: pairs that are decidable only by labels of the
    chosen stream.

    `ends` are pairs by how they ended. `stopping`: runs ended where enough was known, None where none might. `missing`
    holds the arms, `asymmetric` those whose replies are missing more often than others: what is left is then no fair
    sample.
    """

    grade: Grade
    verdict: tuple[str, ...]
    would_change: tuple[str, ...]
    limit: Share
    misselection: Misselection | None
    satisfied_failed: Rate | None = None
    failed_known: bool = True
    picked: Count = 0
    near: Misselection | None = None
    wide: Misselection | None = None
    gap: str | None = None
    worst_case: WorstCase | None = None
    ends: dict[str, Count]
    unscored: dict[str, Count]
    stopping: StoppingFacts | None = None
    missing: tuple[MissingArm, ...] = ()
    asymmetric: tuple[str, ...] = ()

"""What a gate answers."""

from __future__ import annotations

from typing import Literal

from misjudge_storage.types import Value
from misjudge_tools.stats.gates import Outcome
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.rates import Count, Rate, Share
from misjudge_tools.summary.deciding.policies_values import Counted

AbilityGap = Literal["near", "wide"]
IntervalKind = Literal["fixed", "anytime"]


class GateResult(Value):
    """The answer to whether a judge may be used. `verdict` is a sentence for people, `exit_code` that of the command.

    `misselection` is of single calls, or with a `policy` of what that decides; `counted` says what its k and n count,
    over so many `tasks`; `interval` whether it holds for a number of pairs fixed beforehand, or at any time. `coverage`
    is the share of the decidable `pairs` that is decided; `picked_left_out` are decidable, too, but only by labels of
    the chosen stream, which are no fair sample. `failed_known`: the worse side of every decidable pair is known to have
    failed.

    `smallest_passing` is the least number of independent observations that passes, without any error. `pairs_needed`:
    about how many decidable pairs more it takes at this rate where the gate cannot tell; None where it can, or where no
    number would do. `difference` is how much more often it is right than `baseline_judge` in the audit `baseline`, on
    the pairs of both. `reasons` say what could not be told.
    """

    audit: str
    judge: str
    marked: str | None = None
    outcome: Outcome
    exit_code: int
    verdict: str
    limit: Share
    at: AbilityGap | None = None
    policy: str | None = None
    counted: Counted
    misselection: Rate
    interval: IntervalKind
    tasks: Count
    pairs: Count
    picked_left_out: Count = 0
    failed_known: bool = True
    coverage: Share | None
    min_coverage: Share
    smallest_passing: Count
    pairs_needed: Count | None = None
    baseline: str | None = None
    baseline_judge: str | None = None
    difference: PairedDifference | None = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

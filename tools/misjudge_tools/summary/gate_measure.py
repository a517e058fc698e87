"""What a gate holds against its limit, out of the sections of a summary."""

from __future__ import annotations

from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_tools.stats.rates import NONE, Rate, clustered_rate
from misjudge_tools.summary.deciding.policies_values import ANY_MARGIN, MARGINS, Counted, PoliciesSection
from misjudge_tools.summary.gate_values import IntervalKind
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.values import Sections

NOTHING = clustered_rate(NONE)


class Measured(NamedTuple):
    """A rate over the decidable `pairs` of so many tasks; `why` it is not known, or cannot be relied on."""

    rate: Rate = NOTHING
    counted: Counted = "calls"
    interval: IntervalKind = "fixed"
    tasks: int = 0
    pairs: int = 0
    coverage: float | None = None
    why: str | None = None


def of_calls(of: Judged, found: Sections, at: str | None) -> Measured:
    """Single calls, a tie counting as not wrong; covered is what both orders decide."""
    if of.group is None or found.misselection is None:
        return Measured(why=_missing(found, "misselection", at))
    wrong, tasks = found.misselection, of.group.measures["wrong_calls"].clusters
    plain = Rate(rate=wrong.rate, k=wrong.k, n=wrong.n, low=wrong.low, high=wrong.high)
    return Measured(
        rate=plain,
        interval=wrong.interval,
        tasks=tasks,
        pairs=of.group.decidable,
        coverage=wrong.decided.coverage,
    )


def of_policy(of: Judged, found: Sections, name: str, at: str | None) -> Measured:
    """What a policy decides. Raises InvalidInput for one that there is not."""
    if of.group is None or found.policies is None:
        return Measured(why=_missing(found, "policies", at))
    row = next((row for row in found.policies.rows if row.policy == name), None)
    if row is None:
        raise InvalidInput(f"There is no policy {name[:60]!r} for this judge.{_instead(name, found.policies)}")
    if row.misselection is None or row.why is not None:
        return Measured(counted=row.counted, why=row.why)
    return Measured(
        rate=row.misselection,
        counted=row.counted,
        tasks=row.tasks or 0,
        pairs=(row.decidable or 0) if row.counted == "pairs" else of.group.decidable,
        coverage=row.coverage,
        why=found.policies.why.get("region"),
    )


def _instead(name: str, found: PoliciesSection) -> str:
    untried = next((row.why for row in found.rows if row.policy == ANY_MARGIN), None)
    if untried is not None and name.startswith(MARGINS):
        return f" {untried}"
    return f" Policies are: {', '.join(row.policy for row in found.rows)}."


def _missing(found: Sections, section: str, at: str | None) -> str:
    if at is not None:
        return f"No decidable pair that this judge judged is known to be {at}: declare it in the pairing (a|b={at})."
    return found.why.get(section, "Nothing is counted.")

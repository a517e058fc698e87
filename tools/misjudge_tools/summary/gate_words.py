"""The answer of a gate as one sentence."""

from __future__ import annotations

from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.deciding.verdict_phrases import WORSE
from misjudge_tools.summary.gate_values import GateResult


def verdict(result: GateResult) -> str:
    """The outcome with the numbers that it rests on."""
    says = {"pass": _passes, "fail": _fails, "coverage": _covers_too_little, "inconclusive": _cannot_tell}
    return says[result.outcome](result)


def _passes(result: GateResult) -> str:
    return f"Pass: {_picked(result)}. The upper bound is at most the limit of {_percent(result.limit)}."


def _fails(result: GateResult) -> str:
    worse = "" if result.difference is None else _worse(result, result.difference)
    low = result.misselection.low
    above = low is not None and low > result.limit
    over = f" Even the lower bound is above the limit of {_percent(result.limit)}." if above else ""
    return f"Fail: {_picked(result)}.{over}{worse}"


def _covers_too_little(result: GateResult) -> str:
    return (
        f"Coverage too low: {_who(result)} decided {_percent(result.coverage)} of {_pairs(result)}, and at least "
        f"{_percent(result.min_coverage)} are asked for."
    )


def _cannot_tell(result: GateResult) -> str:
    if result.reasons:
        return f"Inconclusive: {' '.join(result.reasons)}"
    return f"Inconclusive: {_picked(result)}. {_needed(result)}"


def _needed(result: GateResult) -> str:
    if result.pairs_needed is None:
        return f"The rate is too close to the limit of {_percent(result.limit)} for any number of pairs to tell."
    number = "1 decidable pair" if result.pairs_needed == 1 else f"{result.pairs_needed} decidable pairs"
    return f"About {number} more at this rate would tell whether it keeps the limit of {_percent(result.limit)}."


def _picked(result: GateResult) -> str:
    """Who was wrong how often."""
    at = f" of {result.at} pairs" if result.at else ""
    worse = WORSE[result.failed_known].en
    return f"{_who(result)} picked {worse} in {_counts(result.misselection, result.counted)}{at}"


def _counts(rate: Rate, counted: str) -> str:
    noun = counted[:-1] if rate.n == 1 else counted
    if rate.rate is None or rate.low is None or rate.high is None:
        return f"{rate.k} of {rate.n} {noun}"
    interval = f"95 % {100 * rate.low:.1f}–{_percent(rate.high)}"
    # A mean over tasks is not k of n.
    if abs(rate.rate - rate.k / rate.n) > 1e-9:
        return f"{_percent(rate.rate)} of {rate.n} {noun}, as a mean over tasks ({interval})"
    return f"{rate.k} of {rate.n} {noun} ({_percent(rate.rate)}, {interval})"


def _who(result: GateResult) -> str:
    return f"judge {_one_line(result.judge)}" + (f" by {result.policy}" if result.policy else "")


def _one_line(label: str | None) -> str:
    """A label may hold line breaks, and must not look like a line of its own."""
    return " ".join((label or "").split())


def _pairs(result: GateResult) -> str:
    at = f" {result.at}" if result.at else ""
    return "1 decidable pair" if result.pairs == 1 else f"{result.pairs} decidable{at} pairs"


def _worse(result: GateResult, found: PairedDifference) -> str:
    if found.low is None or found.high is None or found.difference is None or found.high >= 0:
        return ""
    pairs = "1 pair" if found.n == 1 else f"{found.n} pairs"
    then = f"judge {_one_line(result.baseline_judge)} in audit {result.baseline}"
    return (
        f" It got worse than {then}: on {pairs} of both audits it is right {_points(-found.difference)} less often "
        f"(95 % {-100 * found.high:.1f}–{_points(-found.low)})."
    )


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"

"""The section `policies`."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_storage.policy_counts import PolicyCounts
from misjudge_storage.summary_values import JudgeFacts, Sums
from misjudge_tools.stats.policies import LIMIT, Candidate, Region, certify, margins
from misjudge_tools.stats.rates import ClusterSums, NoData
from misjudge_tools.summary.deciding.policies_values import ANY_MARGIN, MARGINS, PoliciesSection, PolicyRow
from misjudge_tools.summary.deciding.policy_costs import Work, policy_row, work_of
from misjudge_tools.summary.deciding.policy_panels import panel_rows
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.sections import NO_GOLD, NO_PAIRS

NO_BOTH = "No pair was asked in both orders: judge with orders=both (--orders both)."
NO_REPEATS = "No order was asked twice: judge with repeats=2 (--repeats 2) or more."
NO_SCORES = "No pair that was asked in both orders has scores: judge with a prompt that asks for them, or import them."
NO_SCALE = (
    "Margins need scores of both sides on a stated scale: judge with a prompt that asks for scores, or import score_a "
    "and score_b with their scale (--score-range LOW-HIGH)."
)
ADAPTIVE = (
    "A run of this audit stopped by what it had seen, and a region and the intervals of policies take the number of "
    "pairs as fixed beforehand: judge without stop to certify one."
)
NO_PRICE = (
    "No call of a judge that the rule asks has a known price: state prices in misjudge.toml before judging, or import "
    "the cost of calls."
)


def policies_section(of: Judged, limit: float = LIMIT) -> PoliciesSection | NoData:
    """What it costs to trust the judge by this rule or that, and where it may be trusted."""
    if of.paired is None:
        return NO_PAIRS
    found = of.counts.policies.get(of.paired.judge_id)
    if found is None:
        return NO_PAIRS if of.group is None else NO_GOLD
    rows = (*_own_rows(of, of.paired, found), *panel_rows(of, of.paired))
    unpriced = any(row.why is None and row.cost_per_pair is None for row in rows)
    adaptive = bool(of.counts.adaptive)
    return PoliciesSection(
        rows=rows,
        region=None if adaptive else trusted_region(of.paired, found, limit),
        why={**({"cost": NO_PRICE} if unpriced else {}), **({"region": ADAPTIVE} if adaptive else {})},
    )


def trusted_region(judge: JudgeFacts, counts: PolicyCounts, limit: float = LIMIT) -> Region:
    """The loosest of the nested rules that is certified: the largest margin first, then both orders, then one call."""
    both = [
        *(
            Candidate(margin_name(margin), ClusterSums(*sums), _share(sums, counts.both_pairs), margin)
            for margin, sums in reversed(list(zip(margins(judge.low, judge.high), counts.margins, strict=False)))
            if counts.both_scored
        ),
        Candidate("both_orders", ClusterSums(*counts.both_orders), _share(counts.both_orders, counts.both_pairs)),
    ]
    one = Candidate("one_call", ClusterSums(*counts.one_call), _share(counts.one_call, counts.calls))
    return certify([*(both if counts.both_pairs else ()), one], limit)


def margin_name(margin: float) -> str:
    """How the rule with this margin is called."""
    return f"{MARGINS}{margin:g}"


def _share(sums: Sums, decidable: int) -> float | None:
    return sums.n / decidable if decidable else None


def _own_rows(of: Judged, judge: JudgeFacts, counts: PolicyCounts) -> Iterator[PolicyRow]:
    """The rules that need no other judge."""
    call = work_of(of.counts, judge.judge_id).per_call
    yield policy_row("one_call", counts.one_call, counts.calls, call, counted="calls")
    if not counts.both_pairs:
        yield PolicyRow(policy="both_orders", why=NO_BOTH)
    else:
        yield policy_row("both_orders", counts.both_orders, counts.both_pairs, call.times(2))
    if not counts.repeated_pairs:
        yield PolicyRow(policy="repeats", why=NO_REPEATS)
    else:
        asked = call.times(counts.repeated_calls / counts.repeated_pairs)
        yield policy_row("repeats", counts.repeats, counts.repeated_pairs, asked)
    yield from _margin_rows(judge, counts, call.times(2))


def _margin_rows(judge: JudgeFacts, counts: PolicyCounts, work: Work) -> Iterator[PolicyRow]:
    tried = margins(judge.low, judge.high)
    if not tried or not counts.both_scored:
        missing = NO_SCALE if not tried else NO_SCORES if counts.both_pairs else NO_BOTH
        yield PolicyRow(policy=ANY_MARGIN, why=missing)
        return
    for margin, sums in zip(tried, counts.margins, strict=False):
        yield policy_row(margin_name(margin), sums, counts.both_pairs, work).model_copy(update={"margin": margin})

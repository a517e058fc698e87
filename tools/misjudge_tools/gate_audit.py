"""`gate_audit`: whether a judge may be used, as an answer that a script can act on."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.picked_pairs import leave_out_picked
from misjudge_storage.policy_counts import keep_only, subsets
from misjudge_tools.deps import Deps
from misjudge_tools.requests import GateRequest, SummarizeRequest
from misjudge_tools.results import MARK_EPISODES, judged_mark, marks
from misjudge_tools.stats.gates import EXIT_CODES, Outcome, outcome, still_needed
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.power import smallest_passing
from misjudge_tools.summary.assemble import sections_of
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.policies_values import ANY_MARGIN, MARGINS
from misjudge_tools.summary.gate_measure import Measured, of_calls, of_policy
from misjudge_tools.summary.gate_values import GateResult
from misjudge_tools.summary.gate_words import verdict
from misjudge_tools.summary.judged import Entry, Judged
from misjudge_tools.summary.panel_counts import CascadeCounts, listed
from misjudge_tools.summary.sections import unfinished_warnings
from misjudge_tools.summary.values import Sections

SAMPLE = "So the answer is about a sample of what was planned."
POLICIES = ("one_call", "both_orders", "repeats", "panel_majority", "panel_unanimity", "cascade")
MIXED = (
    "A run of this audit stops near and wide pairs apart, so that their mix depends on what was seen: gate each, with "
    "--at near and --at wide."
)
ADAPTIVE = (
    "A run of this audit may stop by what it has seen, and the comparison with a baseline takes the number of pairs as "
    "fixed beforehand."
)
LEFT_OUT = (
    "Left out: {n} pairs that are decidable only by labels of pairs that reviews chose for looking suspicious. What "
    "was picked is no sample of the others."
)
ALL_LEFT_OUT = (
    "Every decidable pair is so only by labels of pairs that reviews chose for looking suspicious: have pairs labelled "
    "that are drawn at random (misjudge label AUDIT --only random)."
)
OF_PANELS = ("panel_majority", "panel_unanimity", "cascade")


class _Drift(NamedTuple):
    """How the judge compares with `judge` of the baseline; `why` it cannot be told."""

    difference: PairedDifference | None = None
    judge: str | None = None
    why: str | None = None

    @property
    def worse(self) -> bool:
        return self.difference is not None and self.difference.high is not None and self.difference.high < 0


async def gate_audit(request: GateRequest, deps: Deps) -> GateResult:
    """Hold how often a judge picks the side that failed against a limit. Raises NotFound or InvalidInput."""
    return await asyncio.to_thread(gate, request, deps.store)


def gate(request: GateRequest, store: Store) -> GateResult:
    """As `gate_audit`, in this thread."""
    question = SummarizeRequest(audit=request.audit, judge=request.judge, baseline=request.baseline)
    with store.read() as connection:
        counts = AuditCounts(connection, question)
        chosen = _chosen(counts, request.judge)
        # Before anything else is counted, so that every number is of these pairs.
        keep_only(counts.reduced, at=request.at, subset=chosen.subset)
        of = Judged(counts, chosen._replace(subset=None))
        left_out = counts.picked[of.paired.judge_id].pairs if of.paired and of.paired.judge_id in counts.picked else 0
        if counts.picked:
            leave_out_picked(counts.reduced)
        return _answer(of, chosen.label, request, left_out)


def _chosen(counts: AuditCounts, label: str | None) -> Entry:
    """The judge of pairs that is asked for, else the only one; a label with a subset names that subset, too."""
    labels = list(dict.fromkeys(judge.label for judge in counts.judged if judge.form == "pairwise"))
    if not labels:
        raise NotFound(f"Audit {counts.audit!r} has no judge of pairs yet. Judge its pairs, or import verdicts.")
    known = listed(labels)
    if label is None:
        if len(labels) > 1:
            raise InvalidInput(f"Audit {counts.audit!r} has several judges: choose one (--judge LABEL). {known}")
        return Entry(labels[0], labels[0], None)
    if label in labels:
        return Entry(label, label, None)
    parts = {
        f"{judge}/{name}": (judge, name) for name in subsets(counts.connection, counts.audit_id) for judge in labels
    }
    if label not in parts:
        raise NotFound(f"Audit {counts.audit!r} has no judge {label!r} of pairs. {known}")
    return Entry(label, *parts[label])


def _answer(of: Judged, label: str, request: GateRequest, left_out: int) -> GateResult:
    wanted = {"misselection", *(["policies"] if request.policy else []), *(["drift"] if request.baseline else [])}
    found = sections_of(of, wanted)
    if request.policy is None:
        measured = of_calls(of, found, request.at)
        if request.at is None and of.counts.adaptive and _mixed(of):
            measured = measured._replace(why=MIXED)
    else:
        _refuse_unknown(request.policy)
        measured = of_policy(of, found, request.policy, request.at)
        if of.counts.adaptive:
            measured = measured._replace(interval="anytime")
    if left_out and not measured.pairs:
        measured = measured._replace(why=ALL_LEFT_OUT)
    drift = _drift(found) if request.baseline else _Drift()
    if request.baseline and of.counts.adaptive:
        drift = drift._replace(why=ADAPTIVE)
    said = _outcome(measured, drift, request)
    tells = said != "inconclusive" or measured.why or drift.why
    limit = request.max_misselection
    result = GateResult(
        audit=request.audit,
        judge=label,
        marked=_marked(of, request.policy),
        outcome=said,
        exit_code=EXIT_CODES[said],
        verdict="",
        limit=limit,
        at=request.at,
        policy=request.policy,
        counted=measured.counted,
        misselection=measured.rate,
        interval=measured.interval,
        tasks=measured.tasks,
        pairs=measured.pairs,
        picked_left_out=left_out,
        failed_known=of.counts.worse_failed,
        coverage=measured.coverage,
        min_coverage=request.min_coverage,
        smallest_passing=smallest_passing(limit),
        pairs_needed=None if tells else still_needed(measured.rate, measured.pairs, limit),
        baseline=request.baseline,
        baseline_judge=drift.judge,
        difference=drift.difference,
        reasons=tuple(why for why in (measured.why, drift.why) if why),
        warnings=(
            *unfinished_warnings(of.counts.unfinished),
            *([SAMPLE] if of.counts.unfinished else []),
            *([LEFT_OUT.format(n=left_out)] if left_out else []),
        ),
    )
    return result.model_copy(update={"verdict": verdict(result)})


def _refuse_unknown(policy: str) -> None:
    """Before anything is counted: a name that no audit has is no answer of a gate."""
    if policy not in POLICIES and not policy.startswith(MARGINS):
        raise InvalidInput(f"There is no policy {policy[:60]!r}. Policies are: {', '.join(POLICIES)}, {ANY_MARGIN}.")


def _mixed(of: Judged) -> bool:
    """Whether pairs of several buckets are there, of which a run may have stopped one before another."""
    return len({group.bucket for group in of.counts.buckets if group.gap == "ability"}) > 1


def _outcome(measured: Measured, drift: _Drift, request: GateRequest) -> Outcome:
    """What cannot be told is never a pass, and in an adaptive audit neither a failure."""
    said = outcome(measured.rate, measured.coverage, request.max_misselection, request.min_coverage, worse=drift.worse)
    untold = measured.why or drift.why
    return "inconclusive" if untold and (said == "pass" or measured.interval == "anytime") else said


def _drift(found: Sections) -> _Drift:
    if found.drift is None:
        return _Drift(why=found.why.get("drift"))
    return _Drift(found.drift.difference, found.drift.baseline_judge, found.drift.why.get("difference"))


def _marked(of: Judged, policy: str | None) -> str | None:
    """What of it is made up: what the judges say that it rests on, and the episodes."""
    counts, labels = of.counts, {of.entry.judge} if of.entry else set()
    if policy in OF_PANELS and counts.panel is not None:
        run = counts.panel.cascade
        labels |= {*counts.panel.judges, *(run.panel if isinstance(run, CascadeCounts) else ())}
    made_up = [judge.simulated for judge in counts.judges if judge.form == "pairwise" and judge.label in labels]
    return marks(judged_mark(sum(made_up), len(made_up)), MARK_EPISODES if counts.simulated_episodes else None)

"""The section `drift`: a judge in this audit against the same one in a baseline audit."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from misjudge_storage import drift_counts as store
from misjudge_storage.drift_counts import DriftSums, DriftTotals, JudgeSetup
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Value
from misjudge_tools.stats.drift import Drift, parts
from misjudge_tools.stats.paired import PairedCounts, paired_difference
from misjudge_tools.stats.probes import PairedSums, paired_effect
from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.summary.deciding.changes import agent_changes, judge_changes, task_content_changes
from misjudge_tools.summary.deciding.drift_values import DriftSection, Matched, Moved, TaskDrift
from misjudge_tools.summary.judged import Judged

MOST_LABELS = 10
NO_BASELINE = NoData(
    why="No baseline is named. Name an earlier audit of this store to compare with: baseline=AUDIT (--baseline AUDIT)."
)
NO_PAIRS = NoData(why="This judge judged no pair, so there is nothing to compare.")
NOT_COMPARED = (
    "No shared pair is both decidable in both audits and scored by both judges. Import labels, success or rewards."
)
NO_ANCHORS = (
    "No compared pair has the same transcripts and the same gold in both audits, so what the judge did cannot be told "
    "from what the agents did. Judge pairs of the baseline again: import them into this audit, too."
)
NOTHING_ALIKE = "No shared pair has the same transcripts in both audits."


def drift_section(of: Judged) -> DriftSection | NoData:
    """What changed since the baseline, and what of it the judge did. Raises NotFound and InvalidInput."""
    name, baseline, connection = of.counts.question.baseline, of.counts.baseline_id, of.counts.connection
    if name is None or baseline is None:
        return NO_BASELINE
    if baseline == of.counts.audit_id:
        raise InvalidInput(
            f"{name!r} is this audit itself. Name another one as baseline; judges of one audit are compared in the "
            "sections agreement and panel."
        )
    if of.paired is None:
        return NO_PAIRS
    here, there = store.pair_judges(connection, of.counts.audit_id), store.pair_judges(connection, baseline)
    judge = next((one for one in here if one.judge_id == of.paired.judge_id), None)
    if judge is None:
        return NO_PAIRS
    if not there:
        return NoData(why=f"In the baseline {name!r} no judge judged a pair. Judge it, or name another one.")
    other = counterpart(judge, here, there)
    if other is None:
        return _no_counterpart(of, judge, name, there)
    store.hold_drift(of.counts.reduced, judge.judge_id, other.judge_id)
    totals = store.drift_totals(connection)
    if not totals.shared:
        return NoData(
            why=f"The baseline {name!r} shares no pair with this audit: none of its {totals.only_before} pairs has the "
            "same task, trial and agents as one here."
        )
    return _section(connection, of.counts.audit_id, baseline, name, judge, other, totals)


def counterpart(judge: JudgeSetup, here: Sequence[JudgeSetup], there: Sequence[JudgeSetup]) -> JudgeSetup | None:
    """The judge of the baseline that goes by the same name, `NAME@FINGERPRINT` being one of NAME; else the only one,
    where each audit has only one.
    """
    same = [one for one in there if one.label == judge.label]
    alike = same or [one for one in there if _stem(one) == _stem(judge)]
    if len(alike) == 1:
        return alike[0]
    return there[0] if len(here) == len(there) == 1 else None


def _stem(judge: JudgeSetup) -> str:
    """The label without what makes it unique where an audit has a judge of one name by several fingerprints."""
    return judge.label.removesuffix(f"@{judge.judge_id.removeprefix('jdg_')[:6]}")


def _no_counterpart(of: Judged, judge: JudgeSetup, name: str, there: Sequence[JudgeSetup]) -> NoData:
    """Raises InvalidInput where a single judge was asked for; beside others it is no error."""
    labels = ", ".join(repr(one.label) for one in there[:MOST_LABELS])
    more = f" and {len(there) - MOST_LABELS} more" if len(there) > MOST_LABELS else ""
    said = (
        f"Which judge of the baseline {name!r} to compare {judge.label!r} with cannot be told: its judges of pairs are "
        f"{labels}{more}. Choose one that both audits have (judge=LABEL)."
    )
    if of.beside:
        return NoData(why=said)
    raise InvalidInput(said)


def _section(
    connection: Connection,
    audit_id: str,
    baseline_id: str,
    name: str,
    judge: JudgeSetup,
    other: JudgeSetup,
    totals: DriftTotals,
) -> DriftSection:
    tasks = store.task_changes(connection, audit_id, baseline_id)
    agents = (store.agent_setups(connection, one) for one in (audit_id, baseline_id))
    found = DriftSection(
        baseline=name,
        judge=judge.label,
        baseline_judge=other.label,
        fingerprint=judge.judge_id,
        baseline_fingerprint=other.judge_id,
        changed=(*judge_changes(judge, other), *agent_changes(*agents), *task_content_changes(tasks)),
        tasks=TaskDrift(
            shared=tasks.shared,
            changed=tasks.changed,
            only_here=tasks.only_now,
            only_baseline=tasks.only_before,
        ),
        pairs=_matched(totals),
        moved=clustered_rate(ClusterSums(*store.moved_sums(connection, "all"))),
        moves=tuple(Moved(**one._asdict()) for one in store.moves(connection)),
        anchors_moved=clustered_rate(ClusterSums(*store.moved_sums(connection, "alike"))) if totals.alike else None,
    )
    return _with_difference(found, connection)


def _matched(totals: DriftTotals) -> Matched:
    renamed = {
        field: getattr(totals, field.replace("_here", "_now").replace("_baseline", "_before"))
        for field in Matched.model_fields
    }
    return Matched(**renamed)


def _with_difference(found: DriftSection, connection: Connection) -> DriftSection:
    why = {} if found.anchors_moved is not None else {"anchors_moved": NOTHING_ALIKE}
    whole = store.drift_sums(connection, "all")
    if not whole.now.n:
        missing = ("right", "baseline_right", "difference", "single_call", "anchors", "parts")
        return found.model_copy(update={"why": {**why, **dict.fromkeys(missing, NOT_COMPARED)}})
    anchors = store.drift_sums(connection, "anchors") if found.pairs.anchors else None
    known: dict[str, Value | None] = {
        "right": clustered_rate(ClusterSums(*whole.now)),
        "baseline_right": clustered_rate(ClusterSums(*whole.before)),
        "difference": paired_difference(PairedCounts(whole.gained, whole.lost, _paired(whole))),
        "single_call": paired_effect(_calls(whole)),
    }
    if anchors is None or not anchors.now.n:
        return found.model_copy(update={**known, "why": {**why, **dict.fromkeys(("anchors", "parts"), NO_ANCHORS)}})
    others = store.drift_sums(connection, "others")
    known["anchors"] = paired_difference(PairedCounts(anchors.gained, anchors.lost, _paired(anchors)))
    known["parts"] = parts(Drift(_paired(anchors), _paired(others)))
    return found.model_copy(update={**known, "why": why})


def _paired(sums: DriftSums) -> PairedSums:
    squares = sums.gained + sums.lost
    return PairedSums(sums.now.clusters, sums.now.n, sums.d, squares, sums.dd, sums.dn, sums.now.nn)


def _calls(sums: DriftSums) -> PairedSums:
    now = sums.now
    return PairedSums(now.clusters, now.n, sums.call_d, sums.call_squares, sums.call_dd, sums.call_dn, now.nn)

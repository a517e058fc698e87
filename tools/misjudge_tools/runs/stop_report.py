"""What adaptive stopping came to in a run: what was decided, and what that saved. Reads the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection

from misjudge_storage import run_progress, run_records, stopping_records
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.run_records import RunRow
from misjudge_storage.stopping_records import BucketDecision, SparedCells
from misjudge_tools.judging.choice import judge_of, label_of
from misjudge_tools.runs.spec import RunSpec, read_spec
from misjudge_tools.runs.stop_rule import Bucket, saved
from misjudge_tools.summary.stopping_values import StoppedBucket, StoppingFacts


def stopping_report(connection: Connection, run: RunRow, spec: RunSpec) -> StoppingFacts | None:
    """What a run decided and was spared so far; None where it does not stop early."""
    if spec.stop is None:
        return None
    labels = {judge_fingerprint(judge_of(one)): label_of(one) for one in spec.judges}
    return stopping_facts(connection, [run.run_id], labels)


def stopping_facts(connection: Connection, run_ids: Sequence[str], labels: Mapping[str, str]) -> StoppingFacts | None:
    """As `stopping_report`, of runs together, the latest first, whose judges have these labels by id; None where the
    plan of none was noted. What was spared and asked all the same, by whatever run, is not saved.
    """
    known = [run_id for run_id in run_ids if stopping_records.planned(connection, run_id) is not None]
    if not known:
        return None
    left_out = [one for run_id in known for one in stopping_records.spared(connection, run_id)]
    cell_ids = sorted({cell_id for one in left_out for cell_id in one.cells})
    asked = run_progress.stored_cells(connection, cell_ids) | run_records.planned_by(connection, known, cell_ids)
    decisions: dict[Bucket, BucketDecision] = {}
    for run_id in known:
        for one in stopping_records.decisions(connection, run_id):
            decisions.setdefault(Bucket(one.judge_id, one.bucket), one)
    return StoppingFacts(
        stopped=tuple(_stopped(labels, one, left_out, asked) for one in decisions.values()),
        **saved(left_out, asked, stopping_records.pairs_asked(connection, known))._asdict(),
    )


def _stopped(
    labels: Mapping[str, str], decision: BucketDecision, left_out: Sequence[SparedCells], asked: Collection[str]
) -> StoppedBucket:
    place = (decision.judge_id, decision.bucket)
    mine = saved([one for one in left_out if (one.judge_id, one.bucket) == place], asked, ())
    return StoppedBucket(
        judge=labels.get(decision.judge_id, decision.judge_id),
        bucket=decision.bucket,
        tasks=decision.tasks,
        low=decision.low,
        high=decision.high,
        pairs=mine.pairs_saved,
        calls=mine.calls_saved,
    )


def why_stopped(connection: Connection, run: RunRow) -> str | None:
    """Why a run is done that was spared something, as a sentence; None where it was spared nothing."""
    spec = read_spec(run.request_json, run.run_id)
    found = stopping_report(connection, run, spec)
    return None if found is None else reason_of(found, judges=len(spec.judges))


def reason_of(found: StoppingFacts, *, judges: int) -> str | None:
    """As `why_stopped`, of what was found about a run of so many judges."""
    if not found.stopped:
        return None
    decided = "; ".join(
        f"{one.judge}, {_pairs_of(one.bucket)}, after {_number(one.tasks, 'task')}: {100 * one.low:.1f}–"
        f"{100 * one.high:.1f} % wrong"
        for one in found.stopped
    )
    counted = [
        _number(found.pairs_saved, "pair"),
        _number(found.calls_saved, "call") + (" of all judges" if judges > 1 else ""),
        *([_number(found.episodes_saved, "episode")] if found.episodes_saved else []),
    ]
    spared = f"{', '.join(counted[:-1])} and {counted[-1]}"
    return f"enough is known of {decided} (95 % at any number of tasks). Saved: {spared}."


def _pairs_of(bucket: str) -> str:
    return f"{bucket} pairs"


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

"""What adaptive stopping came to in a run: what was decided, and what that saved. Reads the store."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from misjudge_storage import stopping_records
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.run_records import RunRow
from misjudge_storage.stopping_records import BucketDecision, StopPlan
from misjudge_tools.judging.choice import judge_of, label_of
from misjudge_tools.runs.spec import RunSpec, read_spec
from misjudge_tools.runs.stop_rule import Bucket, bucket_name
from misjudge_tools.summary.stopping_values import StoppedBucket, StoppingFacts


def stopping_report(connection: Connection, run: RunRow, spec: RunSpec) -> StoppingFacts | None:
    """What a run decided and was spared so far; None where it does not stop early."""
    if spec.stop is None:
        return None
    return stopping_facts(
        connection, run.run_id, {judge_fingerprint(judge_of(one)): label_of(one) for one in spec.judges}
    )


def stopping_facts(connection: Connection, run_id: str, labels: Mapping[str, str]) -> StoppingFacts | None:
    """As `stopping_report`, of a run whose judges have these labels by id; None where its plan was not noted."""
    plan = stopping_records.planned(connection, run_id)
    if plan is None:
        return None
    left = stopping_records.plan_left(connection, run_id)
    decisions = stopping_records.decisions(connection, run_id)
    return StoppingFacts(
        stopped=_stopped(connection, run_id, plan, decisions, labels) if decisions else (),
        pairs_saved=plan.pairs - left.pairs,
        calls_saved=plan.calls - left.calls,
        episodes_saved=plan.episodes - left.episodes,
    )


def _stopped(
    connection: Connection,
    run_id: str,
    plan: StopPlan,
    decisions: list[BucketDecision],
    labels: Mapping[str, str],
) -> tuple[StoppedBucket, ...]:
    left = stopping_records.buckets_left(connection, run_id)
    declared = any(one.bucket is not None for one in left)
    now = {Bucket(one.judge_id, bucket_name(one.bucket, any_declared=declared)): one for one in left}
    planned = {Bucket(one.judge_id, one.bucket): one for one in plan.buckets}
    return tuple(
        StoppedBucket(
            judge=labels.get(one.judge_id, one.judge_id),
            bucket=one.bucket,
            tasks=one.tasks,
            low=one.low,
            high=one.high,
            pairs=planned[bucket].pairs - now[bucket].pairs,
            calls=planned[bucket].calls - now[bucket].calls,
        )
        for one in decisions
        for bucket in (Bucket(one.judge_id, one.bucket),)
    )


def why_stopped(connection: Connection, run: RunRow) -> str | None:
    """Why a run is done that was spared something, as a sentence; None where it was spared nothing."""
    found = stopping_report(connection, run, read_spec(run.request_json, run.run_id))
    if found is None or not found.stopped:
        return None
    decided = "; ".join(
        f"{one.judge}, {_pairs_of(one.bucket)}, after {_number(one.tasks, 'task')}: {100 * one.low:.1f}–"
        f"{100 * one.high:.1f} % wrong"
        for one in found.stopped
    )
    counted = [
        _number(found.pairs_saved, "pair"),
        _number(found.calls_saved, "call"),
        *([_number(found.episodes_saved, "episode")] if found.episodes_saved else []),
    ]
    saved = f"{', '.join(counted[:-1])} and {counted[-1]}"
    return f"enough is known of {decided} (95 % at any number of tasks). Saved: {saved}."


def _pairs_of(bucket: str) -> str:
    return f"{bucket} pairs"


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

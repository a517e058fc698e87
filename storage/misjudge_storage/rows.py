"""Values to table rows: ids by the hashing contract, in one place.

A row is a plain dict, ready for a Core insert. `content_hash` is what must be equal when a row with the
same id comes again; a difference is a Conflict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from misjudge_storage.columns import utc_now
from misjudge_storage.hashing import canonical, digest
from misjudge_storage.types import (
    Check,
    GoldLabel,
    Judge,
    Log,
    PairKey,
    Rule,
    Satisfaction,
    Task,
    Trajectory,
    Verdict,
    utc_time,
)

Row = dict[str, Any]
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """The text as any database keeps it: NUL (which Postgres refuses) and lone surrogates become U+FFFD."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def audit_id(name: str) -> str:
    """Id of the audit with this name."""
    return digest("aud", name)


def judge_fingerprint(judge: Judge) -> str:
    """Hash of model, effective parameters, prompt, rubric, scale and protocol; two verdicts compare only when equal."""
    facts = judge.model_dump(exclude=set() if judge.origin == "imported" else {"label"})
    return digest("jdg", facts)


def cell_id(audit: str, judge_id: str, subject: str, order: str | None, repeat: int) -> str:
    """Id of the smallest unit of judging. `subject` is a pair (which fixes task, trial and agents) or a trajectory."""
    return digest("cell", [audit, judge_id, subject, order, repeat])


def task_row(audit: str, task: Task) -> Row:
    facts = task.model_dump()
    return {**facts, "audit_id": audit, "content_hash": digest("tsk", facts), "created_at": utc_now()}


def rubric_id(rules: Sequence[Rule]) -> str:
    """Id of the set of these rules: their whole content, in order."""
    return digest("rub", [[rule.text, rule.hard, rule.high_level] for rule in rules])


def rubric_rows(rules: Sequence[Rule]) -> tuple[Row, list[Row]]:
    """The row of the set, and those of its rules."""
    identity = rubric_id(rules)
    numbered = [{**rule.model_dump(), "rubric_id": identity, "rule": n} for n, rule in enumerate(rules, 1)]
    return {"rubric_id": identity, "number": len(rules), "created_at": utc_now()}, numbered


def task_rubric_row(audit: str, task_id: str, rules: Sequence[Rule]) -> Row:
    """Its gold rules, which an audit never changes: to compare wordings is what the library is for."""
    identity = rubric_id(rules)
    keys = {"audit_id": audit, "task_id": task_id}
    return {**keys, "rubric_id": identity, "created_at": utc_now()}


def trajectory_content(trajectory: Trajectory) -> str | None:
    """Canonical text of the messages, None where the source kept no transcript."""
    if trajectory.messages is None:
        return None
    return canonical([m.model_dump(exclude_defaults=True) | {"role": m.role} for m in trajectory.messages])


def trajectory_row(audit: str, trajectory: Trajectory, home: str) -> Row:
    """`home` tells apart episodes that the source neither numbers nor transcribes (the pair and side, or the line)."""
    content = trajectory_content(trajectory)
    unnamed = content is None and trajectory.trial is None
    identity = [audit, trajectory.task_id, trajectory.agent, trajectory.trial, home if unnamed else content]
    turns = None if trajectory.messages is None else sum(m.role == "user" for m in trajectory.messages)
    return {
        **trajectory.model_dump(exclude={"messages", "flags", "setup", "changes"}),
        "trajectory_id": digest("trj", identity),
        "audit_id": audit,
        "messages_json": content,
        "turns": turns,
        "flags_json": canonical(list(trajectory.flags)) if trajectory.flags else None,
        "setup_json": trajectory.setup,
        "changes_json": trajectory.changes,
        "created_at": utc_now(),
    }


def rollout_id(audit: str, task_id: str, agent: str, trial: int, setup: str) -> str:
    """Id of the trajectory that an agent is to make, and of the cell for it: known before there is any content."""
    return digest("trj", ["rollout", audit, task_id, agent, trial, setup])


def check_row(audit: str, trajectory_id: str, check: Check, number: int = 0) -> Row:
    """`number` as in `gold_row`."""
    facts = check.model_dump()
    return {
        **facts,
        "check_id": digest("chk", [trajectory_id, check.verifier, check.source, check.scope, *_numbered(number)]),
        "audit_id": audit,
        "trajectory_id": trajectory_id,
        "content_hash": digest("chk", [check.passed, check.reward]),
        "created_at": utc_now(),
    }


def derived_pair_id(audit: str, task_id: str, trial: int | None, trajectory_a: str, trajectory_b: str) -> str:
    """Id of a pair whose source gives none but keeps both transcripts: the same content is the same pair."""
    return digest("pair", [audit, task_id, trial, trajectory_a, trajectory_b])


def pair_row(audit: str, pair_id: str, task_id: str, key: PairKey, trajectory_a: str, trajectory_b: str) -> Row:
    facts = key.model_dump(exclude={"pair_id", "repeats"})
    sides = {"task_id": task_id, "trajectory_a": trajectory_a, "trajectory_b": trajectory_b}
    return {
        **facts,
        **sides,
        "audit_id": audit,
        "pair_id": pair_id,
        "content_hash": digest("pr", {**facts, **sides}),
        "created_at": utc_now(),
    }


def gold_row(audit: str, pair_id: str, label: GoldLabel, number: int = 0) -> Row:
    """A source labels a pair once, and its label has no `number`; what a reviewer says of it is numbered from 1."""
    return {
        **label.model_dump(),
        "label_id": digest("lab", [audit, pair_id, label.labeller, label.source, *_numbered(number)]),
        "audit_id": audit,
        "pair_id": pair_id,
        "content_hash": digest("lab", label.pref),
        "created_at": utc_now(),
    }


def _numbered(number: int) -> list[int]:
    return [number] if number else []


def judge_row(audit: str, judge: Judge) -> Row:
    scale = judge.scale
    return {
        **judge.model_dump(exclude={"scale"}),
        "audit_id": audit,
        "judge_id": judge_fingerprint(judge),
        "scale_low": scale.low,
        "scale_high": scale.high,
        "threshold": scale.threshold,
        "better": scale.better,
        "created_at": utc_now(),
    }


def verdict_row(audit: str, judge_id: str, pair_id: str, verdict: Verdict, repeat: int | None = None) -> Row:
    """`repeat` overrides the verdict's own number."""
    number = verdict.repeat if repeat is None else repeat
    facts = verdict.model_dump(exclude={"judge", "order", "repeat"})
    # A reduced row stands beside single calls without being one of them.
    order = "both" if verdict.reduced else verdict.order
    return {
        **facts,
        "verdict_id": cell_id(audit, judge_id, pair_id, order, number),
        "audit_id": audit,
        "judge_id": judge_id,
        "pair_id": pair_id,
        "trajectory_id": None,
        "order_shown": verdict.order,
        "repeat": number,
        "score": None,
        "log_id": None,
        "content_hash": digest("ver", [verdict.status, verdict.winner, verdict.score_a, verdict.score_b]),
        "created_at": utc_now(),
    }


def probe_row(audit: str, judge_id: str, cell: str, pair_id: str, variant: str, verdict: Verdict) -> Row:
    """A verdict on a pair of which something was changed on purpose; `variant` says what (see `ProbeVerdict`)."""
    probe, _, changed = variant.partition(":")
    return {
        **verdict.model_dump(exclude={"judge", "order", "reduced", "flip"}),
        "probe_verdict_id": cell,
        "audit_id": audit,
        "judge_id": judge_id,
        "pair_id": pair_id,
        "probe": probe.partition(".")[0],
        "variant": variant,
        "side": changed.partition(".")[0] or None,
        "order_shown": verdict.order,
        "log_id": None,
        "created_at": utc_now(),
    }


def satisfaction_row(audit: str, judge_id: str, trajectory_id: str, score: Satisfaction) -> Row:
    return {
        **score.model_dump(exclude={"judge"}),
        "verdict_id": cell_id(audit, judge_id, trajectory_id, None, score.repeat),
        "audit_id": audit,
        "judge_id": judge_id,
        "pair_id": None,
        "trajectory_id": trajectory_id,
        "order_shown": None,
        "status": "unscored" if score.score is None else "scored",
        "winner": None,
        "score_a": None,
        "score_b": None,
        "reduced": False,
        "contradicts_scores": False,
        "log_id": None,
        "content_hash": digest("ver", [score.score, score.unscored_reason]),
        "created_at": utc_now(),
    }


def log_content(log: Log) -> Row:
    """What an imported log says, from which its id is made."""
    # Columns that came later say nothing of an imported call, and would change the ids of those that are stored.
    return log.model_dump(exclude={"reply_key", "cached_from", "retry_after_s", "shown_json"})


def log_row(audit: str, log: Log, identity: Any, **links: str | None) -> Row:
    """`identity` makes the id; `links` are run_id, cell_id, pair_id, trajectory_id, judge_id where they apply."""
    blank = dict.fromkeys(("run_id", "cell_id", "pair_id", "trajectory_id", "judge_id"))
    return {
        **blank,
        **log.model_dump(exclude={"created_at"}),
        **links,
        "log_id": digest("log", [audit, identity]),
        "audit_id": audit,
        "created_at": utc_now() if log.created_at is None else utc_time(log.created_at),
    }

"""The section `conflicts`."""

from __future__ import annotations

from misjudge_storage.conflict_rows import ConflictPair, Found, PairConflict, conflict_pairs, satisfied_failures
from misjudge_storage.summary_values import JudgeFacts
from misjudge_tools.results import record_uri
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.conflicts_values import (
    ConflictRow,
    ConflictsSection,
    EpisodeConflicts,
    EpisodeRow,
    PairConflicts,
)
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.sections import satisfaction_section

ALONE, AMONG_OTHERS = 20, 5
"""Rows of a kind where nothing else is asked for, and beside other sections."""
NOTHING = NoData(
    why="Nothing can contradict this judge: no pair with a pick has evidence, and no score of an episode with a known "
    "outcome has a threshold. Import labels or success, or judge satisfaction."
)


def conflicts_section(of: Judged) -> ConflictsSection | NoData:
    """Pairs on which the judge and the evidence disagree, by their ids."""
    counts = of.counts
    most = ALONE if counts.question.sections == ["conflicts"] else AMONG_OTHERS
    pairs = {} if of.paired is None else _pairs(of, of.paired, most)
    episodes = None if of.satisfied_by is None else _episodes(of, of.satisfied_by, most)
    if not any(one.n for one in pairs.values()) and episodes is None:
        return NOTHING
    return ConflictsSection(
        strict=pairs.get("strict"),
        unsupported=pairs.get("unsupported"),
        missed=pairs.get("missed"),
        satisfied_failed=episodes,
        more=f"misjudge read {record_uri(counts.audit, 'pairs', '').rstrip('/')}",
    )


def _pairs(of: Judged, judge: JudgeFacts, most: int) -> dict[PairConflict, PairConflicts]:
    found = of.counts.conflicts.get(judge.judge_id, {})
    return {kind: _of_kind(of, judge, kind, number, most) for kind, number in found.items()}


def _of_kind(of: Judged, judge: JudgeFacts, kind: PairConflict, number: Found, most: int) -> PairConflicts:
    counts = of.counts
    rows = conflict_pairs(counts.reduced, judge.judge_id, kind, most) if number.k else ()
    lower = judge.better == "lower"
    return PairConflicts(k=number.k, n=number.n, rows=tuple(_row(counts.audit, one, lower=lower) for one in rows))


def _row(audit: str, pair: ConflictPair, *, lower: bool) -> ConflictRow:
    return ConflictRow(
        uri=record_uri(audit, "pairs", pair.pair_id),
        pair_id=pair.pair_id,
        task_id=pair.task_id,
        agent_a=pair.agent_a,
        agent_b=pair.agent_b,
        status=pair.status,
        pref=pair.pref,
        gold=pair.gold,
        gold_source=pair.gold_source,
        margin=_margin(pair, lower=lower),
        gap=pair.reward_gap,
        ability_bucket=pair.ability_bucket,
    )


def _margin(pair: ConflictPair, *, lower: bool) -> float | None:
    if pair.score_a is None or pair.score_b is None:
        return None
    lead = pair.score_a - pair.score_b
    return -lead if (pair.pref == "B") != lower else lead


def _episodes(of: Judged, judge: JudgeFacts, most: int) -> EpisodeConflicts | None:
    """None where no score of a known outcome has a threshold to satisfy."""
    counts = of.counts
    known = satisfaction_section(judge, counts.scores, counts.satisfaction)
    if isinstance(known, NoData) or known.satisfied is None or known.satisfied_failed is None:
        return None
    rows = (
        satisfied_failures(counts.connection, counts.audit_id, judge.judge_id, most) if known.satisfied_failed else ()
    )
    return EpisodeConflicts(
        k=known.satisfied_failed,
        n=known.satisfied,
        rows=tuple(
            EpisodeRow(
                uri=record_uri(counts.audit, "trajectories", one.trajectory_id),
                trajectory_id=one.trajectory_id,
                task_id=one.task_id,
                agent=one.agent,
                score=one.score,
            )
            for one in rows
        ),
    )

"""Probing a planted judge over HTTP counts just what its draws say: prompts, store and SQL add nothing of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.probe_records import ProbedJudge, ProbeTask, probed_judge
from misjudge_storage.types import Check, Episode, PairKey, Preference, Record, Side, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.simulated_bias import draws_of
from misjudge_tools.probe_judge import probe_judge
from misjudge_tools.probing.variants import PROBES, read_variant
from misjudge_tools.requests import ProbeRequest
from misjudge_tools.stats.probes import ProbeCounts, TaskTally
from misjudge_tools.summary.values import ProbesSection
from operations import opened, rows
from planted import PLANTED
from planted_counts import PAIRS_PER_TASK, Changed, Item, Pair, drawn_kinds, probe_counts, seen_in
from planted_items import MODEL, OWN, Kind, facts_under, said_by, task_of, truth_of, verdict

AUDITS, TASKS = 20, 6
ITEMS = TASKS * PAIRS_PER_TASK
BIAS = PLANTED.model_copy(update={"parse_failure": 0.03, "seed": 11})
JUDGE = "simulated:" + ",".join(f"{name}={value}" for name, value in BIAS.model_dump(exclude_defaults=True).items())
MODELS = {True: "qwen-plus", False: "gpt-4.1"}
STORED = """
    SELECT v.pair_id, v.variant, v.order_shown, v.repeat, v.winner, p.task_id, l.rendered_hash
    FROM probe_verdicts v
    JOIN pairs p ON p.audit_id = v.audit_id AND p.pair_id = v.pair_id
    JOIN judge_logs l ON l.log_id = v.log_id
    WHERE v.audit_id = :audit ORDER BY v.pair_id, v.variant, v.repeat
"""
JUDGES = "SELECT judge_id FROM judges WHERE audit_id = :audit"


class Probed(NamedTuple):
    """One audit after its probing: the kinds of its pairs, what was counted of it, and its verdicts as stored."""

    kinds: dict[str, Kind]
    section: ProbesSection
    judge: ProbedJudge
    stored: list[dict[str, Any]]


def kinds_of(random: Random) -> dict[str, Kind]:
    """Kinds by pair id; `t1.0` is of the task `t1`."""
    drawn = {f"t{task}": drawn_kinds(random) for task in range(TASKS)}
    return {f"{task}.{nth}": kind for task, kinds in drawn.items() for nth, kind in enumerate(kinds)}


def record_of(kind: Kind, pair_id: str) -> Record:
    task_id, _, trial = pair_id.partition(".")

    def episode(side: Side) -> Episode:
        return Episode(
            trajectory=Trajectory(
                task_id=task_id,
                agent=f"agent {side} of {pair_id}",
                base_model=MODELS[kind.own == side],
                trial=int(trial),
                messages=said_by(kind, side),
            ),
            checks=(Check(verifier="state", source="verifier", passed=truth_of(kind, side).success),),
        )

    pair = PairKey(pair_id=pair_id, trial=int(trial))
    return Record(line=1, task=task_of(task_id), episodes=(episode("A"), episode("B")), pair=pair)


async def probed(deps: Deps, number: int) -> Probed:
    name, kinds = f"audit {number}", kinds_of(Random(number))
    with deps.store.write() as connection:
        audit_id = ensure_audit(connection, name, number, secret=f"secret {number}")
        ingest(connection, audit_id, "test", [record_of(kind, pair_id) for pair_id, kind in kinds.items()])
    request = ProbeRequest(audit=name, judge=JUDGE, items=ITEMS)
    result = await probe_judge(request, deps)
    while result.run.state == "running":
        result = await probe_judge(request, deps)
    assert (result.run.state, result.items, result.not_applicable, result.simulated) == ("done", ITEMS, {}, True)
    assert result.run.total == ITEMS * (2 + len(PROBES))
    (judge_id,) = (row["judge_id"] for row in rows(deps.store, JUDGES, audit=audit_id))
    with deps.store.read() as connection:
        judge = probed_judge(connection, audit_id, judge_id)
    assert result.probes is not None and judge is not None
    return Probed(kinds, result.probes, judge, rows(deps.store, STORED, audit=audit_id))


def said(row: dict[str, Any], kinds: dict[str, Kind]) -> Preference | None:
    """What the judge must have said: from the facts of the pair and the draws of the prompt, by its hash."""
    draw = draws_of(BIAS, MODEL, row["rendered_hash"])
    if draw("parse_failure") < BIAS.parse_failure:
        return None
    variant, order = read_variant(row["variant"]), row["order_shown"]
    return verdict(BIAS, draw, facts_under(BIAS, kinds[row["pair_id"]], row["pair_id"], variant, order), order)


def pairs_of(audit: Probed) -> Iterator[Pair]:
    """The items of an audit, with the verdicts that must have come."""
    by_pair: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in audit.stored:
        by_pair[row["pair_id"]].append(row)
    for pair_id, found in by_pair.items():
        base, again = (said(row, audit.kinds) for row in found if row["variant"].startswith("baseline"))
        changed = [row for row in found if not row["variant"].startswith("baseline")]
        item = Item(found[0]["task_id"], base, again, [_changed(row, audit) for row in changed])
        yield Pair(audit.kinds[pair_id], item)


def _changed(row: dict[str, Any], audit: Probed) -> Changed:
    variant = read_variant(row["variant"])
    side = row["order_shown"][0] if variant.probe == "swapped_order" else variant.side
    return Changed(variant.probe, said(row, audit.kinds), side)


def tallies(counts: Iterable[ProbeCounts]) -> dict[str, tuple[list[TaskTally], int]]:
    return {one.probe: (sorted(one.tasks), one.left_out) for one in counts}


def as_counted(probes: Sequence[ProbeTask]) -> dict[str, tuple[list[TaskTally], int]]:
    """The same from the counts of the data base."""
    found: defaultdict[str, list[TaskTally]] = defaultdict(list)
    left_out: defaultdict[str, int] = defaultdict(int)
    for one in probes:
        flips = (one.items, one.gained, one.lost, one.flips, one.baseline_flips)
        unscored = (one.replied, one.unscored, one.baseline_unscored, one.newly_unscored, one.newly_scored)
        tally = TaskTally(*flips, one.half_shift / 2, one.quarter_squares / 4, *unscored)
        found[one.probe].append(tally)
        left_out[one.probe] += one.left_out
    return {probe: (sorted(tasks), left_out[probe]) for probe, tasks in found.items()}


@pytest.mark.slow
async def test_audits_over_http_count_what_the_draws_of_the_judge_say(tmp_path: Path) -> None:
    unscored = 0
    async with opened(tmp_path / "s.db", concurrency=16) as deps:
        for number in range(AUDITS):
            audit = await probed(deps, number)
            assert [row["winner"] for row in audit.stored] == [said(row, audit.kinds) for row in audit.stored]
            pairs = list(pairs_of(audit))
            counts, seen = probe_counts(pair.item for pair in pairs), seen_in(pairs)
            assert tallies(counts) == as_counted(audit.judge.probes)
            assert {row.probe: row for row in audit.section.rows} == seen.rows
            assert (audit.section.items, audit.section.family, audit.section.instability) == (
                ITEMS,
                OWN,
                seen.instability,
            )
            assert audit.section.self_preference == seen.self_preference
            unscored += sum(row["winner"] is None for row in audit.stored)
    assert unscored > 0, "what holds no verdict is left out on both ways"

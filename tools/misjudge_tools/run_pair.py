"""`run_pair`: two agents on one task. Recorded trajectories in, a checked and judged row out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from misjudge_storage import judging_records, queries
from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import digest
from misjudge_storage.rows import audit_id, judge_fingerprint
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Check, Episode, Message, PairKey, Record, Task, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.verifiers import check_episode
from misjudge_tools.judge import given_messages, refuse_same
from misjudge_tools.judging.choice import JudgingSpec, asked_at, choose_judge, judge_of
from misjudge_tools.requests import RunPairRequest
from misjudge_tools.results import MARK, RunPairResult, RunReport
from misjudge_tools.runs import planning
from misjudge_tools.runs import report as runs
from misjudge_tools.runs.plan import pair_cells


async def run_pair(request: RunPairRequest, deps: Deps) -> RunPairResult:
    """Store two recorded trajectories of one task with their checks, and ask the judge in both orders.

    Raises InvalidInput, MissingKey or Conflict before anything is asked.
    """
    spec = choose_judge(
        request.judge, "pairwise", request.language, deps.models, to_ask=not request.dry_run, reuse=request.reuse
    )
    record = pair_record(request)
    judge_id = judge_fingerprint(judge_of(spec))
    plan = list(pair_cells(audit_id(request.audit), judge_id, [_pair_id(record)], request.repeats))
    if request.dry_run:
        run = await asyncio.to_thread(planning.planned_report, deps, "run_pair", request, spec, plan, stored=False)
        return _result(deps, spec, record, run)
    planned = await asyncio.to_thread(planning.store_plan, deps, "run_pair", spec, request, plan, record)
    run = await runs.carry_out(deps, planned.run_id, request.wait_s)
    return await asyncio.to_thread(_stored_result, deps, spec, record, run, plan)


def pair_record(request: RunPairRequest) -> Record:
    """The request as a record: side A is agent_a. Raises InvalidInput."""
    if request.checks and (request.success_a is not None or request.success_b is not None):
        raise InvalidInput("Give either checks or the known success_a and success_b, not both.")
    a, b = given_messages(request.trajectory_a), given_messages(request.trajectory_b)
    refuse_same(a, b)
    if request.agent_a == request.agent_b:
        raise InvalidInput("agent_a and agent_b have the same name. Name two agents, or two versions of one.")
    task = Task(
        task_id=request.task_id,
        prompt=request.task_prompt,
        success_criteria=request.success_criteria,
        hard_constraints=request.hard_constraints,
        category=request.category,
    )
    sides = ((request.agent_a, a, request.success_a), (request.agent_b, b, request.success_b))
    episodes = tuple(_episode(request, agent, messages, success) for agent, messages, success in sides)
    pair_id = _named_pair(request)
    return Record(line=1, task=task, episodes=episodes, pair=PairKey(pair_id=pair_id, trial=request.trial))


def _named_pair(request: RunPairRequest) -> str:
    """An id that people can read, or a digest where that would be too long or could mean two pairs."""
    named = f"{request.task_id}#{request.trial}:{request.agent_a}|{request.agent_b}"
    if len(named) <= 400 and "|" not in request.agent_a + request.agent_b:
        return named
    return digest("pair", [request.task_id, request.trial, request.agent_a, request.agent_b])


def _episode(request: RunPairRequest, agent: str, messages: Sequence[Message], success: bool | None) -> Episode:
    trajectory = Trajectory(task_id=request.task_id, agent=agent, trial=request.trial, messages=tuple(messages))
    checks = check_episode(request.checks, messages)
    if success is not None:
        checks = (Check(verifier="given", source=request.success_source, passed=success),)
    return Episode(trajectory=trajectory, checks=checks)


def _stored_result(
    deps: Deps, spec: JudgingSpec, record: Record, run: RunReport, plan: Sequence[PlannedCell]
) -> RunPairResult:
    judge_id = judge_fingerprint(judge_of(spec))
    with deps.store.read() as connection:
        rows = queries.read_pair_rows(connection, audit_id(run.audit), _pair_id(record))
        verdicts = judging_records.read_verdicts(connection, [cell.cell_id for cell in plan])
    row = next((row for row in rows if row["judge_fingerprint"] == judge_id), None)
    return _result(deps, spec, record, run).model_copy(update={"row": row, "verdicts": runs.shown_verdicts(verdicts)})


def _result(deps: Deps, spec: JudgingSpec, record: Record, run: RunReport) -> RunPairResult:
    checks_a, checks_b = (tuple(c.model_dump(exclude={"source"}) for c in e.checks) for e in record.episodes)
    return RunPairResult(
        simulated=spec.kind == "simulated",
        marked=MARK if spec.kind == "simulated" else None,
        asked_at=asked_at(spec, deps.models),
        run=run,
        row=None,
        checks_a=checks_a,
        checks_b=checks_b,
        next=f"summarize_audit(audit='{run.audit}')" if run.state == "done" else run.next,
    )


def _pair_id(record: Record) -> str:
    assert record.pair is not None and record.pair.pair_id is not None
    return record.pair.pair_id

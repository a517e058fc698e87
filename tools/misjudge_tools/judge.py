"""`judge`: which of two was better, or how good one was, asked blind and in both orders."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from misjudge_storage import judging_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.hashing import canonical, digest
from misjudge_storage.rows import audit_id, judge_fingerprint
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Episode, Message, PairKey, Record, Task, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.ways import asked_at
from misjudge_tools.interchange.messages import read_messages
from misjudge_tools.judging.choice import JudgingSpec, choose_judge, judge_of
from misjudge_tools.requests import JudgeRequest, Transcript
from misjudge_tools.results import MARK, JudgeResult, RunReport
from misjudge_tools.runs import planning
from misjudge_tools.runs import report as runs
from misjudge_tools.runs.plan import in_random_order, pair_cells, trajectory_cells
from misjudge_tools.runs.spec import RunSpec

SHOWN = 12
"""Verdicts that a result holds; the rest is read by summarize_audit or read_record."""


async def judge(request: JudgeRequest, deps: Deps) -> JudgeResult:
    """Ask a judge about stored pairs (or trajectories), or about two responses given in the request.

    Raises MissingKey, NotFound, InvalidInput before anything is asked.
    """
    spec = choose_judge(
        request.judge, request.form, request.language, deps.models, to_ask=not request.dry_run, reuse=request.reuse
    )
    given = given_record(request)
    cells = await asyncio.to_thread(_plan, request, spec, given, deps.store)
    plan = planning.Plan(RunSpec(judges=(spec,)), cells, () if given is None else (given,))
    if request.dry_run:
        run = await asyncio.to_thread(planning.planned_report, deps, "judge", request, plan)
        return _result(deps, spec, run, len(cells) - run.total, ())
    planned = await asyncio.to_thread(planning.store_plan, deps, "judge", request, plan)
    run = await runs.carry_out(deps, planned.run_id, request.wait_s)
    return await asyncio.to_thread(_result, deps, spec, run, planned.already_stored, cells)


def _plan(request: JudgeRequest, spec: JudgingSpec, given: Record | None, store: Store) -> list[PlannedCell]:
    audit, judge_id = audit_id(request.audit), judge_fingerprint(judge_of(spec))
    if given is not None and given.pair is not None:
        return list(pair_cells(audit, judge_id, [str(given.pair.pair_id)], request.repeats))
    with store.read() as connection:
        seed = judging_records.read_audit(connection, request.audit).seed
        found = judging_records.transcribed_trajectories(connection, audit)
        sessions = len(found)
        if spec.form == "pairwise":
            found = judging_records.transcribed_pairs(connection, audit)
    subjects = in_random_order(seed, found)
    if request.pair_ids is not None:
        subjects = _chosen(request.pair_ids, subjects)
    if not subjects and sessions:
        raise InvalidInput(
            f"Audit {request.audit!r} holds {sessions} transcripts but no pair of them. Judge each one with "
            "form=satisfaction (--form satisfaction), or compare two with run_pair."
        )
    if not subjects:
        raise InvalidInput(
            f"Audit {request.audit!r} holds no transcripts to judge. Import responses with their text "
            "(for a table: --map a=…,b=…), or give response_a and response_b."
        )
    cells = trajectory_cells if spec.form == "satisfaction" else pair_cells
    return list(cells(audit, judge_id, subjects, request.repeats))


def _chosen(wanted: Sequence[str], there: Sequence[str]) -> list[str]:
    missing = sorted(set(wanted) - set(there))
    if missing:
        raise NotFound(
            f"{len(missing)} of the pairs asked for are not stored with both transcripts, such as {missing[0]!r}. "
            f"Pairs with transcripts: {', '.join(sorted(there)[:5]) or 'none'}{' …' if len(there) > 5 else ''}"
        )
    asked = set(wanted)
    return [subject for subject in there if subject in asked]


def given_record(request: JudgeRequest) -> Record | None:
    """The pair that the request itself holds, if it does. Raises InvalidInput when it is only half there."""
    if request.response_a is None and request.response_b is None:
        if request.pair_ids and request.form == "satisfaction":
            raise InvalidInput(
                "pair_ids chooses pairs, and satisfaction is judged of single trajectories; leave it out."
            )
        return None
    if request.response_a is None or request.response_b is None or not request.task_prompt:
        raise InvalidInput("To judge responses given here, give task_prompt, response_a and response_b together.")
    if request.form == "satisfaction" or request.pair_ids:
        raise InvalidInput("Responses given here are judged pairwise; leave out form=satisfaction and pair_ids.")
    task = Task(
        task_id=digest("task", [request.task_prompt, request.success_criteria]),
        prompt=request.task_prompt,
        success_criteria=request.success_criteria,
    )
    a, b = (given_messages(response) for response in (request.response_a, request.response_b))
    refuse_same(a, b)
    pair_id = digest("pair", [task.task_id, _text(a), _text(b)])
    episodes = tuple(
        Episode(trajectory=Trajectory(task_id=task.task_id, agent=agent, messages=messages))
        for agent, messages in (("given A", a), ("given B", b))
    )
    return Record(line=1, task=task, episodes=episodes, pair=PairKey(pair_id=pair_id))


def given_messages(response: Transcript) -> tuple[Message, ...]:
    """A response as messages; plain text is one assistant message. Raises InvalidInput."""
    if isinstance(response, str):
        return (Message(role="assistant", content=response),)
    try:
        return read_messages(response)
    except ValueError as error:
        raise InvalidInput(f"The messages given cannot be read: {error}") from error


def refuse_same(a: Sequence[Message], b: Sequence[Message]) -> None:
    """Raises InvalidInput where both sides are one trajectory: no judge can be right or wrong on it."""
    if _text(a) == _text(b):
        raise InvalidInput("Both sides hold the same trajectory, so neither can be better. Give two different ones.")


def _text(messages: Sequence[Message]) -> str:
    return canonical([message.model_dump() for message in messages])


def _result(deps: Deps, spec: JudgingSpec, run: RunReport, already: int, plan: Sequence[PlannedCell]) -> JudgeResult:
    judge = judge_of(spec)
    with deps.store.read() as connection:
        verdicts = judging_records.read_verdicts(connection, [cell.cell_id for cell in plan[:SHOWN]])
        label = judging_records.read_judge_label(connection, audit_id(run.audit), judge_fingerprint(judge))
    done = run.state == "done"
    return JudgeResult(
        simulated=spec.simulated,
        marked=MARK if spec.simulated else None,
        judge=label or judge.label,
        asked_at=asked_at(spec, deps.models),
        form=spec.form,
        run=run,
        already_stored=already,
        verdicts=runs.shown_verdicts(verdicts),
        verdicts_left_out=max(len(plan) - SHOWN, 0),
        next=f"summarize_audit(audit='{run.audit}')" if done else run.next,
    )

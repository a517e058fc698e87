"""`judge`: which of two was better, or how good one was, asked blind and in both orders."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sqlalchemy import Connection

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
from misjudge_tools.judging.choice import JudgingSpec, judge_of
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.judging.prompt_warnings import prompt_warnings
from misjudge_tools.requests import JudgeRequest, Transcript
from misjudge_tools.results import JudgeResult, RunReport, judged_mark
from misjudge_tools.runs import planning
from misjudge_tools.runs import report as runs
from misjudge_tools.runs.judges import asked_cascade, asked_judges, asked_orders, refuse_orders
from misjudge_tools.runs.plan import in_random_order, pair_cells, trajectory_cells
from misjudge_tools.runs.reply_warnings import reply_warnings
from misjudge_tools.runs.spec import RunSpec
from misjudge_tools.runs.stop_plan import asked_stop
from misjudge_tools.summary.kinship import asked_now, shared_warnings, stated_families

SHOWN = 12
"""Verdicts that a result holds; the rest is read by summarize_audit or read_record."""


async def judge(request: JudgeRequest, deps: Deps) -> JudgeResult:
    """Ask a judge about stored pairs (or trajectories), or about two responses given in the request.

    Raises MissingKey, NotFound, InvalidInput before anything is asked.
    """
    plan = await asyncio.to_thread(_plan, request, deps)
    if request.dry_run:
        run = await asyncio.to_thread(planning.planned_report, deps, "judge", request, plan)
        return _result(deps, plan, run, len(plan.cells) - run.total, ())
    planned = await asyncio.to_thread(planning.store_plan, deps, "judge", request, plan)
    run = await runs.carry_out(deps, planned.run_id, request.wait_s)
    cells = await asyncio.to_thread(planning.asked_cells, deps.store, plan)
    return await asyncio.to_thread(_result, deps, plan, run, planned.already_stored, cells)


def _plan(request: JudgeRequest, deps: Deps) -> planning.Plan:
    judges, cascade = asked_judges(request, request.form, deps), asked_cascade(request, request.form)
    refuse_orders(request, request.form)
    given, stop = given_record(request), asked_stop(request, request.form)
    if given is not None and stop is not None:
        raise InvalidInput("stop says when enough is known of many tasks, and one pair is given here: leave it out.")
    cells = _cells(request, [judge_fingerprint(judge_of(judge)) for judge in judges], given, deps.store)
    spec = RunSpec(judges=judges, cascade=cascade, orders=request.orders, stop=stop)
    plan = planning.Plan(spec, cells, () if given is None else (given,))
    return planning.in_stop(deps.store, request.audit, planning.in_cascade(deps.store, request.audit, plan))


def _cells(request: JudgeRequest, judge_ids: Sequence[str], given: Record | None, store: Store) -> list[PlannedCell]:
    audit = audit_id(request.audit)
    if given is not None and given.pair is not None:
        subjects = [str(given.pair.pair_id)]
        with store.read() as connection:
            orders = asked_orders(request, 0, subjects, connection, audit)
        return list(pair_cells(audit, judge_ids, subjects, request.repeats, orders))
    with store.read() as connection:
        seed = judging_records.read_audit(connection, request.audit).seed
        subjects = _subjects(request, connection, audit, seed)
        if FORMS[request.form].compares:
            orders = asked_orders(request, seed, subjects, connection, audit)
            return list(pair_cells(audit, judge_ids, subjects, request.repeats, orders))
    return list(trajectory_cells(audit, request.form, judge_ids, subjects, request.repeats))


def _subjects(request: JudgeRequest, connection: Connection, audit: str, seed: int) -> list[str]:
    """The pairs or trajectories to judge, in the audit's random order. Raises InvalidInput or NotFound."""
    found = judging_records.transcribed_trajectories(connection, audit)
    sessions = len(found)
    if FORMS[request.form].compares:
        found = judging_records.transcribed_pairs(connection, audit)
    subjects = in_random_order(seed, found)
    if request.pair_ids is not None:
        subjects = named_pairs(request.pair_ids, subjects)
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
    return subjects


def named_pairs(wanted: Sequence[str], there: Sequence[str]) -> list[str]:
    """Those of the pairs there that are wanted, in their order. Raises NotFound where one is missing."""
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
        if request.pair_ids and not FORMS[request.form].compares:
            raise InvalidInput(
                f"pair_ids chooses pairs, and {request.form} is judged of single trajectories; leave it out."
            )
        return None
    if request.response_a is None or request.response_b is None or not request.task_prompt:
        raise InvalidInput("To judge responses given here, give task_prompt, response_a and response_b together.")
    if not FORMS[request.form].compares or request.pair_ids:
        raise InvalidInput(f"Responses given here are judged pairwise; leave out form={request.form} and pair_ids.")
    task = given_task(request.task_prompt, request.success_criteria)
    return given_pair(task, request.response_a, request.response_b)


def given_task(prompt: str, success_criteria: str = "") -> Task:
    """A task that a request holds: what it says is its id."""
    task_id = digest("task", [prompt, success_criteria])
    return Task(task_id=task_id, prompt=prompt, success_criteria=success_criteria)


def given_pair(task: Task, response_a: Transcript, response_b: Transcript) -> Record:
    """Two responses that a request holds, as a pair: what they say is its id. Raises InvalidInput."""
    a, b = (given_messages(response) for response in (response_a, response_b))
    refuse_same(a, b)
    pair_id = digest("pair", [task.task_id, _text(a), _text(b)])
    episodes = (given_episode(task, "given A", a), given_episode(task, "given B", b))
    return Record(line=1, task=task, episodes=episodes, pair=PairKey(pair_id=pair_id))


def given_episode(task: Task, agent: str, messages: tuple[Message, ...]) -> Episode:
    """One response that a request holds, under the name of an agent."""
    return Episode(trajectory=Trajectory(task_id=task.task_id, agent=agent, messages=messages))


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


def _result(deps: Deps, plan: planning.Plan, run: RunReport, already: int, cells: Sequence[PlannedCell]) -> JudgeResult:
    judges = plan.spec.judges
    with deps.store.read() as connection:
        verdicts = judging_records.read_verdicts(connection, [cell.cell_id for cell in cells[:SHOWN]])
        labels = [stored_label(connection, run.audit, judge) for judge in judges]
    done = run.state == "done"
    return JudgeResult(
        simulated=any(judge.simulated for judge in judges),
        marked=judged_mark(sum(judge.simulated for judge in judges), len(judges)),
        judge=", ".join(labels),
        asked_at="; ".join(dict.fromkeys(asked_at(judge, deps.models) for judge in judges)),
        form=judges[0].form,
        run=run,
        already_stored=already,
        warnings=(
            *reply_warnings(deps.store, run),
            *prompt_warnings(judges),
            *shared_warnings(asked_now(judges), stated_families(deps.models)),
        ),
        verdicts=runs.shown_verdicts(verdicts),
        verdicts_left_out=max(len(cells) - SHOWN, 0),
        next=f"summarize_audit(audit='{run.audit}')" if done else run.next,
    )


def stored_label(connection: Connection, audit: str, spec: JudgingSpec) -> str:
    """The name of a judge in an audit, or the one that it would get."""
    judge = judge_of(spec)
    return judging_records.read_judge_label(connection, audit_id(audit), judge_fingerprint(judge)) or judge.label

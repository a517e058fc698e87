"""The plan of a call of `score_rubrics`: who writes, matches and applies which rubrics. Asks nobody, stores nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import rubric_library
from misjudge_storage.errors import InvalidInput
from misjudge_storage.rows import audit_id, judge_fingerprint
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.deps import Deps
from misjudge_tools.judging.choice import JudgingSpec, RubricSource, judge_of, label_of, template_of
from misjudge_tools.judging.prompt_warnings import prompt_warnings
from misjudge_tools.requests import ScoreRubricsRequest
from misjudge_tools.rubrics.arguments import MATCHING, applied, writes
from misjudge_tools.rubrics.given import given_work
from misjudge_tools.rubrics.plan import by_task, draft_cells, draft_id, match_cells, with_drafts
from misjudge_tools.rubrics.subjects import (
    IN_WORDS,
    Subjects,
    given_subjects,
    stored_subjects,
    what_is_counted,
)
from misjudge_tools.runs.judges import asked_matchers, asked_writers, with_rules
from misjudge_tools.runs.plan import both_orders, fixed_order, pair_cells, trajectory_cells
from misjudge_tools.runs.planning import Plan
from misjudge_tools.runs.spec import RubricWork, RunSpec

NAME_CHARS = 80
"""Of what a judge's label says of the rules that it applies."""


class Work(NamedTuple):
    """A planned piece of work: whom it asks, what of how many `samples`, and what to know of that."""

    plan: Plan
    samples: int
    counted: str
    left_out: dict[str, int]
    warnings: tuple[str, ...]


def planned_work(request: ScoreRubricsRequest, deps: Deps) -> Work:
    """What a request whose arguments go together asks of whom. Raises MissingKey, NotFound or InvalidInput."""
    given, audit = given_work(request), audit_id(request.audit)
    writers = asked_writers(request, deps) if writes(request) else ()
    matchers = asked_matchers(request, deps) if request.action in MATCHING else ()
    with deps.store.read() as connection:
        sources = _sources(request, writers, connection)
        if given is None:
            subjects = stored_subjects(request, connection)
        else:
            subjects = given_subjects(request, connection, audit, given)
    judges = with_rules(request, request.form, sources, deps)
    spec = RunSpec(
        judges=judges,
        orders="fixed" if request.official else "both",
        rubrics=RubricWork(writers=writers, matchers=matchers) if writers else None,
    )
    return Work(
        Plan(spec, _cells(audit, spec, subjects), () if given is None else (given,)),
        subjects.number,
        what_is_counted(request),
        dict(subjects.left_out),
        (*_warnings(request, subjects), *prompt_warnings(spec.asked), *_unlike(judges), *_lenient(writers, matchers)),
    )


def _sources(
    request: ScoreRubricsRequest, writers: Sequence[JudgingSpec], connection: Connection
) -> list[RubricSource | None]:
    """Whose rules the judge applies, None for none. Raises NotFound for what the library does not hold."""
    sources: list[RubricSource | None] = []
    for name in applied(request):
        if name == "self":
            sources.extend(_written(writer, named=request.writers is not None) for writer in writers)
        elif name == "human":
            sources.append(RubricSource(kind="human", name=name))
        elif name == "none":
            sources.append(None)
        else:
            rubric_id = rubric_library.find(connection, name)
            sources.append(RubricSource(kind="library", name=name[:NAME_CHARS], rubric_id=rubric_id))
    if len(set(applied(request))) < len(applied(request)):
        raise InvalidInput("A rubric is named twice. Name each one once.")
    return sources


def _written(writer: JudgingSpec, *, named: bool) -> RubricSource:
    name = f"self:{label_of(writer)}"[:NAME_CHARS] if named else "self"
    return RubricSource(kind="self", name=name, writer_id=judge_fingerprint(judge_of(writer)))


def _cells(audit: str, spec: RunSpec, subjects: Subjects) -> list[PlannedCell]:
    work = spec.rubrics or RubricWork()
    writers = [judge_fingerprint(judge_of(writer)) for writer in work.writers]
    matchers = [judge_fingerprint(judge_of(matcher)) for matcher in work.matchers]
    stages = (
        draft_cells(audit, writers, subjects.tasks),
        match_cells(audit, matchers, writers, subjects.tasks),
        *(_judged(audit, judge, subjects) for judge in spec.judges),
    )
    return by_task(subjects.tasks, stages, subjects.task_of)


def _judged(audit: str, judge: JudgingSpec, subjects: Subjects) -> Iterator[PlannedCell]:
    judge_id = judge_fingerprint(judge_of(judge))
    if judge.form == "pairwise":
        orders = fixed_order if judge.forced else both_orders
        cells = pair_cells(audit, [judge_id], subjects.judged, 1, orders)
    else:
        cells = trajectory_cells(audit, judge.form, [judge_id], subjects.judged, 1)
    writer_id = None if judge.rubrics is None else judge.rubrics.writer_id
    if writer_id is None:
        return cells
    return with_drafts(cells, {one: draft_id(audit, writer_id, subjects.task_of[one]) for one in subjects.judged})


def _warnings(request: ScoreRubricsRequest, subjects: Subjects) -> Iterator[str]:
    counted = what_is_counted(request)
    if request.samples is not None and subjects.there < request.samples:
        yield f"There are {subjects.there} {counted} to take, not {request.samples}: all of them are taken."
    for reason, number in subjects.left_out.items():
        yield f"Left out: {number} of the {counted}, because {IN_WORDS[reason]}."


def _unlike(judges: Sequence[JudgingSpec]) -> Iterator[str]:
    """A judge without rules beside one with, where a prompt of people's own is in force for one of them only: of the
    shipped ones either says the same but for the rules.
    """
    without = [judge for judge in judges if judge.rubrics is None]
    ruled = [judge for judge in judges if judge.rubrics is not None]
    if without and ruled and any(judge.prompt is not None for judge in judges):
        plain, other = (template_of(specs[0]).version for specs in (without, ruled))
        yield (
            f"Without rules {label_of(without[0])} is asked with the prompt {plain}, with rules with {other}: what "
            "differs between them is more than the rules. Go by human against self, or ask without prompts of your own."
        )


def _lenient(writers: Sequence[JudgingSpec], matchers: Sequence[JudgingSpec]) -> Iterator[str]:
    """A matcher that reads its own rules; what is made up is not warned of."""
    written = {writer.model.casefold() for writer in writers if not writer.simulated}
    own = [label_of(one) for one in matchers if not one.simulated and one.model.casefold() in written]
    if own:
        yield (
            f"{own[0]} matches rules that it wrote itself and may be lenient with them. Name another matcher "
            "(--matcher), or a second one to check it."
        )

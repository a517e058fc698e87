"""`score_rubrics`: rules that models write, matched with the ones that people wrote, and applied by a judge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sqlalchemy import Connection

from misjudge_storage import judging_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.rubric_details import AppliedRubric, WrittenRubric, applied_rubrics, written_rubrics
from misjudge_storage.rubric_records import audits_with_gold_rules
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.ways import asked_at
from misjudge_tools.judge import stored_label
from misjudge_tools.judging.choice import JudgingSpec
from misjudge_tools.requests import ScoreRubricsRequest
from misjudge_tools.results import RunReport, judged_mark
from misjudge_tools.rubric_library import rubric_library
from misjudge_tools.rubrics.arguments import LIBRARY, library_request, refuse_needless
from misjudge_tools.rubrics.library_values import RubricLibraryResult
from misjudge_tools.rubrics.own_part import Asked, part_of
from misjudge_tools.rubrics.plan import GENERATE, MATCH
from misjudge_tools.rubrics.results import DraftShown, RubricsResult, RuleShown, RuleVerdictShown, RulingShown
from misjudge_tools.rubrics.work import Work, planned_work
from misjudge_tools.runs import planning
from misjudge_tools.runs import report as runs
from misjudge_tools.runs.reply_warnings import reply_warnings
from misjudge_tools.runs.spec import RubricWork
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.rubric_values import RubricsSection
from misjudge_tools.summary.rubrics import rubrics_section

OPERATION = "score_rubrics"
GOING_ON = frozenset({"planned", *runs.OPEN_STATES})
DRAFTS_SHOWN = 4
RULINGS_SHOWN = 6
"""Results that an answer holds itself: a pair under no, own and human rules in both orders."""
MOST_NAMED = 5


async def score_rubrics(request: ScoreRubricsRequest, deps: Deps) -> RubricsResult | RubricLibraryResult:
    """Look after the library, or do a piece of work (see `rubric_run`). Raises InvalidInput for needless arguments."""
    if request.action == LIBRARY:
        refuse_needless(request)
        return await rubric_library(library_request(request), deps)
    return await rubric_run(request, deps)


async def rubric_run(request: ScoreRubricsRequest, deps: Deps) -> RubricsResult:
    """Write rules for tasks, match them with their gold rules, judge with rules, or all of it to measure the gap.

    What is stored is not asked again. Raises MissingKey, NotFound, InvalidInput or Conflict before anything is asked.
    """
    refuse_needless(request)
    if not request.audit:
        audit = await asyncio.to_thread(only_audit_with_gold_rules, deps.store)
        request = request.model_copy(update={"audit": audit})
    work = await asyncio.to_thread(planned_work, request, deps)
    if request.dry_run:
        run = await asyncio.to_thread(planning.planned_report, deps, OPERATION, request, work.plan)
        return await asyncio.to_thread(_result, deps, request, work, run, len(work.plan.cells) - run.total)
    planned = await asyncio.to_thread(planning.store_plan, deps, OPERATION, request, work.plan)
    run = await runs.carry_out(deps, planned.run_id, request.wait_s)
    return await asyncio.to_thread(_result, deps, request, work, run, planned.already_stored)


def only_audit_with_gold_rules(store: Store) -> str:
    """The audit that is meant where none is named. Raises InvalidInput where there are several, or none."""
    with store.read() as connection:
        names = audits_with_gold_rules(connection)
    if len(names) == 1:
        return names[0]
    if not names:
        raise InvalidInput(
            "No audit holds gold rules. Import some: misjudge import rubricbench FILE --audit NAME, or see "
            "docs/rubrics.md."
        )
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    raise InvalidInput(f"Several audits hold gold rules; name one: {', '.join(names[:MOST_NAMED])}{more}.")


def _result(deps: Deps, request: ScoreRubricsRequest, work: Work, run: RunReport, already: int) -> RubricsResult:
    spec = work.plan.spec
    crafts, simulated = spec.rubrics or RubricWork(), sum(one.simulated for one in spec.asked)
    drafts, judged = _shown_cells(request, work)
    counted = run.state not in GOING_ON and request.action != "generate" and request.form == "pairwise"
    with deps.store.read() as connection:
        asked = Asked(*(_labels(connection, run.audit, one) for one in (spec.judges, crafts.writers, crafts.matchers)))
        return RubricsResult(
            simulated=simulated > 0,
            marked=judged_mark(simulated, len(spec.asked)),
            action=request.action,
            **asked._asdict(),
            asked_at=_asked_at(deps, work),
            run=run,
            already_stored=already,
            samples=work.samples,
            samples_are=work.counted,
            not_taken=work.left_out,
            warnings=(*reply_warnings(deps.store, run), *work.warnings),
            rubrics=_section(deps.store, run.audit, asked) if counted else None,
            drafts=tuple(_draft(one) for one in written_rubrics(connection, drafts[:DRAFTS_SHOWN])),
            drafts_left_out=max(len(drafts) - DRAFTS_SHOWN, 0),
            rulings=_rulings(connection, judged[:RULINGS_SHOWN]),
            rulings_left_out=max(len(judged) - RULINGS_SHOWN, 0),
            next=f"summarize_audit(audit='{run.audit}', sections=['rubrics'])" if run.state == "done" else run.next,
        )


def _shown_cells(request: ScoreRubricsRequest, work: Work) -> tuple[list[str], list[str]]:
    """Ids of the rubrics and of the verdicts that are results themselves; of a gap over many the numbers are."""
    given = request.task_prompt is not None
    cells = work.plan.cells
    drafts = [
        cell.cell_id for cell in cells if cell.kind == GENERATE and (given or request.action in {"generate", "match"})
    ]
    crafts = {GENERATE, MATCH}
    judged = [cell.cell_id for cell in cells if cell.kind not in crafts and (given or request.action == "apply")]
    return drafts, judged


def _labels(connection: Connection, audit: str, specs: Sequence[JudgingSpec]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stored_label(connection, audit, spec) for spec in specs))


def _asked_at(deps: Deps, work: Work) -> dict[str, str]:
    spec = work.plan.spec
    crafts = spec.rubrics or RubricWork()
    roles = {"judge": spec.judges, "writer": crafts.writers, "matcher": crafts.matchers}
    return {
        role: "; ".join(dict.fromkeys(asked_at(one, deps.models) for one in specs))
        for role, specs in roles.items()
        if specs
    }


def _section(store: Store, audit: str, asked: Asked) -> RubricsSection | None:
    found = rubrics_section(store, audit)
    return None if isinstance(found, NoData) else part_of(found, asked)


def _draft(one: WrittenRubric) -> DraftShown:
    facts = {
        name: value for name, value in one._asdict().items() if name in DraftShown.model_fields and name != "rules"
    }
    rules = tuple(RuleShown(text=rule.text, hard=rule.hard, high_level=rule.high_level) for rule in one.rules)
    return DraftShown(**facts, rules=rules, log=one.log_id)


def _rulings(connection: Connection, verdict_ids: Sequence[str]) -> tuple[RulingShown, ...]:
    applied = applied_rubrics(connection, verdict_ids)
    shown = []
    for verdict_id in verdict_ids:
        for stored in judging_records.read_verdicts(connection, [verdict_id]):
            (verdict,) = runs.shown_verdicts([stored])
            passed = None if stored.score is None else stored.score >= 1
            shown.append(_ruling(RulingShown(verdict=verdict, passed=passed), applied.get(verdict_id)))
    return tuple(shown)


def _ruling(shown: RulingShown, applied: AppliedRubric | None) -> RulingShown:
    if applied is None:
        return shown
    rules = tuple(RuleVerdictShown(**rule._asdict()) for rule in applied.rules)
    facts = {
        "says": applied.says,
        "conflict": applied.conflict,
        "left_out": applied.left_out,
        "unscored": applied.unscored,
    }
    return shown.model_copy(update={**facts, "rules": rules})

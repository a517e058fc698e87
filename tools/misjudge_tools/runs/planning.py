"""How a run is planned: its cells minus what is stored, its limits, and whom it attaches to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import run_progress, run_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import Conflict, InvalidInput
from misjudge_storage.hashing import canonical
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest
from misjudge_storage.planned_pairs import other_setups, plan_pairs, refuse_other_pairs
from misjudge_storage.rows import Row, audit_id
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_storage.types import Record
from misjudge_tools.deps import Deps
from misjudge_tools.judging.choice import judge_of
from misjudge_tools.requests import AskingRequest, Limits
from misjudge_tools.results import RunReport
from misjudge_tools.runs.budget import Budget, refuse_unpriced
from misjudge_tools.runs.cascade import terms_of
from misjudge_tools.runs.cascade_plan import beside_run, following_cells, kept_cells, parted
from misjudge_tools.runs.cascade_report import planned_cascade
from misjudge_tools.runs.expected import expected_use, most_paid_calls, pricings_of
from misjudge_tools.runs.plan import minus_stored
from misjudge_tools.runs.request_sizes import OF_RUBRICS
from misjudge_tools.runs.rollout_plan import Cast
from misjudge_tools.runs.spec import RunSpec, judges_named, read_spec, run_marks
from misjudge_tools.runs.stop_plan import StopWork, asked_about_pairs, is_plan_of, note, saved_from_start, weighed

FREE_CALLS = 200
"""More planned calls than this to a gateway that may cost money need `max_calls` or `max_usd`."""


class Plan(NamedTuple):
    """What a run is to do: its cells in order. `records` come with the request, `pairs` are made as it goes.

    `cast` is who makes its rollouts, None where it makes none. `possible` are the panel's cells of a cascade that may
    follow from what the first judge says. `stopping` is what a run that stops early is spared from the start.
    """

    spec: RunSpec
    cells: Sequence[PlannedCell]
    records: Sequence[Record] = ()
    pairs: Sequence[Row] = ()
    cast: Cast | None = None
    possible: Sequence[PlannedCell] = ()
    stopping: StopWork | None = None


class PlannedRun(NamedTuple):
    """A stored run, and how many cells of its plan had a result before."""

    run_id: str
    already_stored: int


def budget_of(limits: Limits) -> Budget:
    """The limits of a request as a budget."""
    return Budget.model_validate({name: getattr(limits, name) for name in Budget.model_fields})


def in_cascade(store: Store, audit: str, plan: Plan) -> Plan:
    """A plan with every judge's cells; where it is a cascade, what its panel may be spared is no more than possible."""
    terms = terms_of(plan.spec)
    if terms is None:
        return plan
    with store.read() as connection:
        cells, possible = parted(connection, audit_id(audit), terms, plan.cells, plan.pairs)
    return plan._replace(cells=cells, possible=possible)


def in_stop(store: Store, audit: str, plan: Plan) -> Plan:
    """A plan without what is needless where it is to stop once enough is known."""
    if plan.spec.stop is None:
        return plan
    with store.read() as connection:
        cells, stopping = weighed(connection, audit_id(audit), plan.spec.stop, plan.cells, plan.pairs)
    return plan._replace(cells=cells, stopping=stopping)


def planned_report(deps: Deps, operation: str, request: AskingRequest, plan: Plan) -> RunReport:
    """The answer to a dry run: the calls by role, and what they cost where the price is known.

    Raises InvalidInput for a limit that cannot be kept.
    """
    budget = budget_of(request)
    _refuse_unpriced(deps, plan, budget)
    with deps.store.read() as connection:
        _refuse_other_setups(connection, audit_id(request.audit), plan)
        refuse_other_pairs(connection, plan.pairs)
        cascade = planned_cascade(connection, audit_id(request.audit), plan.spec, plan.cells, plan.pairs)
    stored = stored_cells(deps.store, [*plan.cells, *plan.possible])
    open_cells, possible = minus_stored(plan.cells, stored), minus_stored(plan.possible, stored)
    roles = expected_use(deps, request.audit, plan.spec, plan.cast, open_cells, possible)
    return RunReport(
        run="",
        audit=request.audit,
        operation=operation,
        judge=judges_named(plan.spec),
        state="planned",
        done=0,
        total=len(open_cells),
        plan=roles,
        most_cost=_total(role.most_cost for role in roles),
        about_cost=_total(role.about_cost for role in roles),
        limits=budget.model_dump(exclude_none=True),
        cascade=cascade,
        **({} if plan.stopping is None else saved_from_start(plan.stopping, plan.cells)._asdict()),
        simulated=run_marks(plan.spec) is not None,
        next="call again without dry_run",
    )


def _total(costs: Iterable[float | None]) -> float | None:
    """USD of all roles together, None where that of one is not known."""
    known = list(costs)
    return None if not known or None in known else sum(cost for cost in known if cost is not None)


def _refuse_unpriced(deps: Deps, plan: Plan, budget: Budget) -> None:
    for pricing in pricings_of(plan.spec, plan.cast, deps.models):
        refuse_unpriced(budget, pricing)


def stored_cells(store: Store, plan: Sequence[PlannedCell]) -> set[str]:
    """Which cells of a plan have a stored result."""
    with store.read() as connection:
        return run_progress.stored_cells(connection, [cell.cell_id for cell in plan])


def asked_cells(store: Store, plan: Plan) -> list[PlannedCell]:
    """The cells of a plan, with those of a cascade's panel that came to be asked, without those that were spared."""
    if plan.stopping is not None:
        stored = stored_cells(store, plan.cells)
        return [cell for cell in plan.cells if cell.cell_id in stored]
    asked = stored_cells(store, plan.possible)
    return [*plan.cells, *(cell for cell in plan.possible if cell.cell_id in asked)]


def store_plan(deps: Deps, operation: str, request: AskingRequest, plan: Plan, seed: int = 0) -> PlannedRun:
    """Store the run of this plan minus what is stored, with the records that the request itself gave, all or nothing.

    A `request_key` that is known attaches to its run. `seed` is that of an audit that is begun with this run.
    Raises InvalidInput or Conflict.
    """
    audit, budget = audit_id(request.audit), budget_of(request)
    _refuse_unpriced(deps, plan, budget)
    with deps.store.write() as connection:
        stored = run_progress.stored_cells(connection, [cell.cell_id for cell in (*plan.cells, *plan.possible)])
        already = sum(cell.cell_id in stored for cell in plan.cells)
        kept = kept_cells(plan.spec, plan.cells) if plan.stopping is None else asked_about_pairs(plan.cells)
        cells: Sequence[PlannedCell] = minus_stored(plan.cells, stored - kept)
        known = None if request.request_key is None else run_records.run_with_key(connection, request.request_key)
        if known is not None:
            return _attach(connection, known, operation, plan, cells, budget)
        for run_id in run_records.runs_under_way(connection, audit):
            left = _beside(connection, run_id, plan, cells, stored)
            if _to_do(plan, cells, stored) and not _to_do(plan, left, stored):
                return PlannedRun(run_id, already)  # the same work is under way: attach, do not pay twice
            cells = left
        pair_ids = {cell.pair_id for cell in cells}
        possible = [cell for cell in plan.possible if cell.pair_id in pair_ids]
        _refuse_unbounded(connection, audit, plan, minus_stored([*cells, *possible], stored), budget)
        ensure_audit(connection, request.audit, seed)
        _refuse_other_setups(connection, audit, plan)
        ingest(connection, audit, operation, plan.records)
        for judge in plan.spec.asked:
            ensure_judge(connection, audit, judge_of(judge))
        run_id = run_records.create_run(
            connection,
            audit,
            operation,
            plan.spec.model_dump_json(),
            request.request_key,
            cells,
            budget_json=budget_json(budget),
        )
        plan_pairs(connection, run_id, plan.pairs)
        if plan.stopping is not None:
            note(connection, run_id, plan.stopping)
        return PlannedRun(run_id, already)


def _beside(
    connection: Connection, run_id: str, plan: Plan, cells: Sequence[PlannedCell], stored: set[str]
) -> Sequence[PlannedCell]:
    """The cells of a plan without those that are left to a run under way; of one that stops early with all that tell
    how much is known.
    """
    left = beside_run(connection, run_id, plan.spec, cells)
    if plan.stopping is None:
        return left
    beside = {cell.cell_id for cell in left} | stored
    return [cell for cell in cells if cell.cell_id in beside]


def _to_do(plan: Plan, cells: Sequence[PlannedCell], stored: set[str]) -> Sequence[PlannedCell]:
    """What makes a plan one that is under way where that has all of it."""
    return cells if plan.stopping is None else minus_stored(cells, stored)


def _refuse_other_setups(connection: Connection, audit: str, plan: Plan) -> None:
    """Raises Conflict where an agent of another set-up has done a planned task in this audit."""
    if plan.cast is None:
        return
    for made in other_setups(connection, audit, plan.cast.planned(audit)):
        raise Conflict(
            f"Agent {made['agent']!r} has done task {made['task_id']!r} in this audit with another set-up (model, "
            "prompt, seed, simulated user or suite). An audit compares like with like: use another audit name."
        )


def budget_json(budget: Budget) -> str | None:
    """A budget as stored with its run; None where nothing is limited."""
    return None if budget.unlimited else canonical(budget.model_dump(exclude_none=True))


def set_limits(connection: Connection, run: RunRow, wanted: Budget) -> None:
    """New limits take the place of the old ones of their kind; the others stay."""
    if wanted.unlimited:
        return
    before = {} if run.budget_json is None else json.loads(run.budget_json)
    merged = Budget.model_validate({**before, **wanted.model_dump(exclude_none=True)})
    run_records.set_budget(connection, run.run_id, budget_json(merged))


def _refuse_unbounded(
    connection: Connection, audit: str, plan: Plan, cells: Sequence[PlannedCell], budget: Budget
) -> None:
    """Raises InvalidInput for a large plan to a paid gateway without a ceiling."""
    planned, estimated = most_paid_calls(connection, audit, plan.spec, plan.cast, cells)
    if planned > FREE_CALLS and budget.max_calls is None and budget.max_usd is None:
        fewer = plan.cast is not None or plan.possible or plan.stopping is not None
        up_to = "about " if estimated else "up to " if fewer else ""
        given = f" ({OF_RUBRICS})" if estimated else ""
        goes_on = " A run that ends at its limit can be resumed." if estimated else ""
        raise InvalidInput(
            f"This takes {up_to}{planned} calls to a gateway that may cost money{given}. Call again with "
            f"max_calls={planned} (--max-calls {planned}) or max_usd, or with dry_run=true (--dry-run) to see the "
            f"plan.{goes_on}"
        )


def _attach(
    connection: Connection,
    run_id: str,
    operation: str,
    plan: Plan,
    open_cells: Sequence[PlannedCell],
    budget: Budget,
) -> PlannedRun:
    """The run of a repeated call, under its limits. Raises Conflict where its key was used for other work."""
    run = run_records.read_run(connection, run_id)
    if not run.live:  # what works on it keeps the limits it began with
        set_limits(connection, run, budget)
    mine = run_records.cell_ids(connection, run_id)
    same = run.operation == operation and read_spec(run.request_json, run.run_id) == plan.spec
    expected = mine | following_cells(plan.spec, open_cells)
    if plan.stopping is not None:
        whole = is_plan_of(connection, run_id, plan.stopping)
    else:
        whole = all(cell.cell_id in expected for cell in open_cells)
    if not same or not whole:
        raise Conflict(
            f"This request_key belongs to run {run_id}, which has another plan. Use a new key, or leave it out."
        )
    return PlannedRun(run_id, sum(cell.cell_id not in mine for cell in plan.cells))

"""How a run is planned: its cells minus what is stored, its limits, and whom it attaches to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import judging_records, run_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import Conflict, InvalidInput
from misjudge_storage.hashing import canonical
from misjudge_storage.ingest import ensure_audit, ensure_judge, ingest
from misjudge_storage.rows import audit_id
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_storage.types import Record
from misjudge_tools.deps import Deps
from misjudge_tools.judging.choice import JudgingSpec, judge_of, pricing_of
from misjudge_tools.judging.showing import Showing
from misjudge_tools.requests import JudgingRequest, Limits
from misjudge_tools.results import RunReport
from misjudge_tools.runs.budget import Budget, refuse_unpriced
from misjudge_tools.runs.feed import CHUNK
from misjudge_tools.runs.plan import minus_stored

FREE_CALLS = 200
"""More planned calls than this to a gateway that may cost money need `max_calls` or `max_usd`."""


class PlannedRun(NamedTuple):
    """A stored run, and how many cells of its plan had a result before."""

    run_id: str
    already_stored: int


def budget_of(limits: Limits) -> Budget:
    """The limits of a request as a budget."""
    return Budget.model_validate({name: getattr(limits, name) for name in Budget.model_fields})


def planned_report(
    deps: Deps, operation: str, request: JudgingRequest, spec: JudgingSpec, plan: Sequence[PlannedCell], *, stored: bool
) -> RunReport:
    """The answer to a dry run: the calls, and what they cost at most where the price is known.

    `stored` says that the subjects of the plan are in the store, so that their size can be seen. Raises InvalidInput
    for a limit that cannot be kept.
    """
    budget = budget_of(request)
    refuse_unpriced(budget, pricing_of(spec, deps.models), spec.model)
    open_cells = minus_stored(plan, stored_cells(deps.store, plan))
    return RunReport(
        run="",
        audit=request.audit,
        operation=operation,
        judge=judge_of(spec).label,
        state="planned",
        done=0,
        total=len(open_cells),
        most_cost=_most_cost(deps, spec, request.audit, open_cells) if stored else None,
        limits=budget.model_dump(exclude_none=True),
        simulated=spec.kind == "simulated",
        next="call again without dry_run",
    )


def _most_cost(deps: Deps, spec: JudgingSpec, audit: str, cells: Sequence[PlannedCell]) -> float | None:
    """USD for asking each once and getting the longest reply; a tokenizer never makes more tokens than bytes."""
    pricing = pricing_of(spec, deps.models)
    if not pricing.known:
        return None
    with deps.store.read() as connection:
        showing = Showing(deps.store, judging_records.read_audit(connection, audit), spec, with_truth=False)
    total = 0.0
    for start in range(0, len(cells), CHUNK):
        for shown in showing.show(cells[start : start + CHUNK]).values():
            total += pricing.of(shown.size, spec.max_tokens).usd or 0.0
    return total


def stored_cells(store: Store, plan: Sequence[PlannedCell]) -> set[str]:
    """Which cells of a plan have a stored result."""
    with store.read() as connection:
        return judging_records.stored_cells(connection, [cell.cell_id for cell in plan])


def store_plan(
    deps: Deps,
    operation: str,
    spec: JudgingSpec,
    request: JudgingRequest,
    plan: Sequence[PlannedCell],
    given: Record | None = None,
) -> PlannedRun:
    """Store the run of this plan minus what is stored, with the record that the request itself gave, all or nothing.

    A `request_key` that is known attaches to its run. Raises InvalidInput or Conflict.
    """
    audit, budget = audit_id(request.audit), budget_of(request)
    refuse_unpriced(budget, pricing_of(spec, deps.models), spec.model)
    with deps.store.write() as connection:
        stored = judging_records.stored_cells(connection, [cell.cell_id for cell in plan])
        cells = minus_stored(plan, stored)
        known = None if request.request_key is None else run_records.run_with_key(connection, request.request_key)
        if known is not None:
            return _attach(connection, known, operation, spec, plan, cells, budget)
        for run_id in run_records.runs_under_way(connection, audit):
            theirs = run_records.cell_ids(connection, run_id)
            if cells and all(cell.cell_id in theirs for cell in cells):
                return PlannedRun(run_id, len(stored))  # the same work is under way: attach, do not pay twice
            cells = minus_stored(cells, theirs)
        _refuse_unbounded(spec, len(cells), budget)
        if given is not None:
            ingest(connection, ensure_audit(connection, request.audit), operation, [given])
        ensure_judge(connection, audit, judge_of(spec))
        run_id = run_records.create_run(
            connection,
            audit,
            operation,
            spec.model_dump_json(),
            request.request_key,
            cells,
            budget_json=budget_json(budget),
        )
        return PlannedRun(run_id, len(stored))


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


def _refuse_unbounded(spec: JudgingSpec, planned: int, budget: Budget) -> None:
    """Raises InvalidInput for a large plan to a paid gateway without a ceiling."""
    if spec.kind == "gateway" and planned > FREE_CALLS and budget.max_calls is None and budget.max_usd is None:
        raise InvalidInput(
            f"This takes {planned} calls to a gateway that may cost money. Call again with max_calls={planned} "
            f"(--max-calls {planned}) or max_usd, or with dry_run=true (--dry-run) to see the plan."
        )


def _attach(
    connection: Connection,
    run_id: str,
    operation: str,
    spec: JudgingSpec,
    plan: Sequence[PlannedCell],
    open_cells: Sequence[PlannedCell],
    budget: Budget,
) -> PlannedRun:
    """The run of a repeated call, under its limits. Raises Conflict where its key was used for other work."""
    run = run_records.read_run(connection, run_id)
    if not run.live:  # what works on it keeps the limits it began with
        set_limits(connection, run, budget)
    mine = run_records.cell_ids(connection, run_id)
    same = (run.operation, run.request_json) == (operation, spec.model_dump_json())
    if not same or any(cell.cell_id not in mine for cell in open_cells):
        raise Conflict(
            f"This request_key belongs to run {run_id}, which has another plan. Use a new key, or leave it out."
        )
    return PlannedRun(run_id, sum(cell.cell_id not in mine for cell in plan))

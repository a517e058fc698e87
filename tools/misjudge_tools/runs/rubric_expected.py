"""What a plan asks of who writes and matches rubrics: calls, and what they come to. Reads the store, asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.rubric_records import stored_drafts
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Role
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.judging.choice import JudgingSpec, judge_of, label_of
from misjudge_tools.results import RolePlan
from misjudge_tools.runs.cell_calls import text_bytes
from misjudge_tools.runs.request_sizes import (
    OF_REPLIES,
    OF_RUBRICS,
    USUAL_RUBRIC,
    USUAL_RULE_TOKENS,
    USUAL_RULES,
    Costs,
    Size,
    costs_of,
)
from misjudge_tools.runs.rubric_cells import calls_of, given_to, too_long


class Expected(NamedTuple):
    """Calls of one model: those that will be sent, None where what they ask about is not stored, or, not `certain`,
    such as the usual rubric of a task takes.
    """

    number: int
    calls: tuple[Size, ...] | None
    certain: bool


def expected_calls(connection: Connection, audit_id: str, spec: JudgingSpec, cells: Sequence[PlannedCell]) -> Expected:
    """The calls of a plan's open cells that ask this model to write or to match."""
    judge_id = judge_fingerprint(judge_of(spec))
    mine = [cell for cell in cells if cell.actor_id == judge_id]
    wanted = [cell.draft_id for cell in mine if cell.draft_id is not None]
    missing = set(wanted) - stored_drafts(connection, wanted).keys()
    try:
        sent = tuple(size for cell in mine for size in _sizes(connection, audit_id, spec, cell))
    except InvalidInput:  # the tasks come with the request
        each = USUAL_RULES if spec.form == "rubric_match" else 1
        return Expected(each * len(mine), None, certain=not missing)
    return Expected(len(sent), sent, certain=not missing)


def _sizes(connection: Connection, audit_id: str, spec: JudgingSpec, cell: PlannedCell) -> list[Size]:
    given = given_to(connection, audit_id, cell)
    if cell.draft_id is not None and given.draft is None:
        given = given._replace(rules=USUAL_RUBRIC)
    rules = {"rubric_generate": USUAL_RULES, "rubric_match": 1}.get(spec.form, len(given.asked))
    calls = calls_of(spec, "", cell, given)  # whatever keys the fences, they are of one length
    return [
        Size(text_bytes(call), call.max_tokens or spec.max_tokens, rules * USUAL_RULE_TOKENS)
        for call in calls
        if not too_long(spec, call)
    ]


def rubric_role(
    store: Store, audit_id: str, spec: JudgingSpec, pricing: Pricing, cells: Sequence[PlannedCell]
) -> RolePlan:
    """What this model is asked for the open cells of a plan."""
    with store.read() as connection:
        expected = expected_calls(connection, audit_id, spec, cells)
    writes = spec.form == "rubric_generate"
    role: Role = "rubric_generate" if writes else "rubric_match"
    costs = Costs() if expected.calls is None else costs_of(pricing, expected.calls, certain=expected.certain)
    return RolePlan(
        role=role,
        model=label_of(spec),
        form=spec.form,
        calls=expected.number,
        estimated=not expected.certain,
        most_cost=costs.most,
        about_cost=costs.about,
        assumes=() if costs.about is None else (OF_RUBRICS if writes or not expected.certain else OF_REPLIES,),
    )

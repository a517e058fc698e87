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
from misjudge_storage.types import Role, Rule
from misjudge_tools.gateway.calls import Call
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.judging.choice import JudgingSpec, judge_of, label_of
from misjudge_tools.results import RolePlan
from misjudge_tools.runs.cell_calls import text_bytes
from misjudge_tools.runs.rubric_cells import calls_of, given_to, too_long

USUAL_RULES = 6
"""Rules of a usual generated rubric, where it is not stored yet. For estimates only, as the ones that follow."""
USUAL_RULE_BYTES = 80
USUAL_RULE_TOKENS = 30
"""Of a reply, for each rule that is written or matched."""
BYTES_A_TOKEN = 4
_USUAL = tuple(Rule(text=f"{number}".ljust(USUAL_RULE_BYTES, "x")) for number in range(USUAL_RULES))


class Expected(NamedTuple):
    """Calls of one model: those that will be sent, None where what they ask about is not stored, or, not `certain`,
    such as the usual rubric of a task takes.
    """

    number: int
    calls: tuple[Call, ...] | None
    certain: bool


def expected_calls(connection: Connection, audit_id: str, spec: JudgingSpec, cells: Sequence[PlannedCell]) -> Expected:
    """The calls of a plan's open cells that ask this model to write or to match."""
    judge_id = judge_fingerprint(judge_of(spec))
    mine = [cell for cell in cells if cell.actor_id == judge_id]
    wanted = [cell.draft_id for cell in mine if cell.draft_id is not None]
    missing = set(wanted) - stored_drafts(connection, wanted).keys()
    try:
        calls = [call for cell in mine for call in _calls(connection, audit_id, spec, cell)]
    except InvalidInput:  # the tasks come with the request
        each = USUAL_RULES if spec.form == "rubric_match" else 1
        return Expected(each * len(mine), None, certain=each == 1)
    sent = tuple(call for call in calls if not too_long(spec, call))
    return Expected(len(sent), sent, certain=not missing)


def _calls(connection: Connection, audit_id: str, spec: JudgingSpec, cell: PlannedCell) -> list[Call]:
    given = given_to(connection, audit_id, cell)
    if cell.draft_id is not None and given.draft is None:
        given = given._replace(rules=_USUAL)
    return calls_of(spec, "", cell, given)  # whatever keys the fences, they are of one length


def rubric_role(
    store: Store, audit_id: str, spec: JudgingSpec, pricing: Pricing, cells: Sequence[PlannedCell]
) -> RolePlan:
    """What this model is asked for the open cells of a plan."""
    with store.read() as connection:
        expected = expected_calls(connection, audit_id, spec, cells)
    role: Role = "rubric_generate" if spec.form == "rubric_generate" else "rubric_match"
    planned = RolePlan(role=role, model=label_of(spec), form=spec.form, calls=expected.number)
    if expected.calls is None or not pricing.known:
        return planned
    if expected.certain:
        # A tokenizer never makes more tokens than bytes.
        costs = [pricing.of(text_bytes(call), call.max_tokens).usd for call in expected.calls]
        return planned.model_copy(update={"most_cost": sum(cost or 0.0 for cost in costs)})
    rules = 1 if spec.form == "rubric_match" else USUAL_RULES
    about = [pricing.of(text_bytes(call) // BYTES_A_TOKEN, rules * USUAL_RULE_TOKENS).usd for call in expected.calls]
    return planned.model_copy(update={"about_cost": sum(cost or 0.0 for cost in about)})

"""What a cascade came to: who decided about which pairs, and what that saved. Reads the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from misjudge_storage import cascade_records
from misjudge_storage.rows import Row
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_tools.results import CascadeReport
from misjudge_tools.runs.cascade import REASONS, Asked, Standing, Terms, by_pair, panel_cells, terms_of
from misjudge_tools.runs.cascade_plan import questions_in
from misjudge_tools.runs.spec import RunSpec


def cascade_report(connection: Connection, run: RunRow, spec: RunSpec) -> CascadeReport | None:
    """How the cascade of a run stands; None where it is none."""
    terms = terms_of(spec)
    if terms is None:
        return None
    asked = by_pair(cascade_records.questions(connection, run.run_id, terms.first_id))
    return _report(connection, run.audit_id, terms, asked)


def escalated_pairs(connection: Connection, run_id: str, terms: Terms) -> dict[str, bool]:
    """Pair → whether the panel is asked about it, of all pairs about which a run asks the first judge."""
    asked = by_pair(cascade_records.questions(connection, run_id, terms.first_id))
    return {pair_id: standing in REASONS for pair_id, standing in _standings(connection, terms, asked).items()}


def planned_cascade(
    connection: Connection, audit_id: str, spec: RunSpec, cells: Sequence[PlannedCell], pairs: Sequence[Row]
) -> CascadeReport | None:
    """How a cascade stands that is not begun; None where the plan is none."""
    terms = terms_of(spec)
    if terms is None:
        return None
    return _report(connection, audit_id, terms, questions_in(connection, audit_id, terms, cells, pairs))


def _report(connection: Connection, audit_id: str, terms: Terms, asked: Mapping[str, Asked]) -> CascadeReport:
    standings = _standings(connection, terms, asked)
    numbers = Counter(standings.values())
    clear = {pair_id: one for pair_id, one in asked.items() if standings[pair_id] == "clear"}
    saved = _saved(connection, audit_id, terms, clear)
    return CascadeReport(
        judge=terms.judge,
        pairs=len(asked),
        decided=len(clear),
        escalated={reason: numbers[reason] for reason in REASONS if numbers[reason]},
        calls_saved=saved.total(),
        usd_saved=_worth(connection, audit_id, saved),
    )


def _standings(connection: Connection, terms: Terms, asked: Mapping[str, Asked]) -> dict[str, Standing]:
    said = cascade_records.said(connection, [cell.cell_id for one in asked.values() for cell in one.cells])
    return {pair_id: one.standing(said, terms) for pair_id, one in asked.items()}


def _saved(connection: Connection, audit_id: str, terms: Terms, clear: Mapping[str, Asked]) -> Counter[str]:
    """Judge of the panel → calls that were not made about these pairs. A verdict that is there all the same was one."""
    questions = sum(len(one.cells) for one in clear.values())
    saved = Counter({judge_id: questions for judge_id in terms.panel_ids})
    judged = cascade_records.judged_by(connection, audit_id, terms.panel_ids)
    for pair_id in clear.keys() & set(judged.values()):
        saved.subtract(cell.actor_id for cell in panel_cells(audit_id, terms, clear[pair_id]) if cell.cell_id in judged)
    return saved


def _worth(connection: Connection, audit_id: str, saved: Counter[str]) -> float | None:
    """USD, None where it is not known what a call to one of the judges costs."""
    costs = cascade_records.mean_call_costs(connection, audit_id, list(saved))
    calls = {judge_id: number for judge_id, number in saved.items() if number}
    if not calls.keys() <= costs.keys():
        return None
    return sum(number * costs[judge_id] for judge_id, number in calls.items())

"""How a cascade is planned: what is asked for certain, what may follow, and what other runs under way do of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import cascade_records, run_records
from misjudge_storage.cascade_records import Question
from misjudge_storage.rows import Row
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.runs.cascade import Asked, Terms, by_pair, terms_of
from misjudge_tools.runs.plan import minus_stored
from misjudge_tools.runs.spec import RunSpec, read_spec


class Parted(NamedTuple):
    """The cells of a cascade: those that are asked for certain, and those that may follow."""

    cells: list[PlannedCell]
    possible: list[PlannedCell]


def parted(
    connection: Connection, audit_id: str, terms: Terms, cells: Sequence[PlannedCell], pairs: Sequence[Row]
) -> Parted:
    """Every judge's cells without those of the panel about pairs that the first judge decides alone, or may decide.

    `pairs` are those that the run itself makes.
    """
    asked = questions_in(connection, audit_id, terms, cells, pairs)
    said = cascade_records.said(connection, [cell.cell_id for one in asked.values() for cell in one.cells])
    standings = {pair_id: one.standing(said, terms) for pair_id, one in asked.items()}
    whole = Parted([], [])
    for cell in cells:
        standing = standings[str(cell.pair_id)] if cell.actor_id in terms.panel_ids else None
        if standing == "open":
            whole.possible.append(cell)
        elif standing != "clear":
            whole.cells.append(cell)
    return whole


def questions_in(
    connection: Connection, audit_id: str, terms: Terms, cells: Sequence[PlannedCell], pairs: Sequence[Row]
) -> dict[str, Asked]:
    """What a plan asks the first judge about each pair."""
    mine = [cell for cell in cells if cell.actor_id == terms.first_id]
    declared = cascade_records.buckets(connection, audit_id, list({str(cell.pair_id) for cell in mine}))
    declared |= {row["pair_id"]: row["ability_bucket"] for row in pairs}
    return by_pair(Question(cell, declared.get(str(cell.pair_id))) for cell in mine)


def kept_cells(spec: RunSpec, cells: Sequence[PlannedCell]) -> set[str]:
    """The cells that a run keeps although they are stored: those about the pairs of a cascade, which say what it is
    about and how much of that is done.
    """
    terms = terms_of(spec)
    judges = () if terms is None else (terms.first_id, *terms.panel_ids)
    return {cell.cell_id for cell in cells if cell.actor_id in judges}


def following_cells(spec: RunSpec, cells: Sequence[PlannedCell]) -> set[str]:
    """The cells to which a run comes by itself: those of a cascade's panel."""
    terms = terms_of(spec)
    return set() if terms is None else {cell.cell_id for cell in cells if cell.actor_id in terms.panel_ids}


def beside_run(
    connection: Connection, run_id: str, spec: RunSpec, cells: Sequence[PlannedCell]
) -> Sequence[PlannedCell]:
    """The cells of a plan without those that are left to a run under way; none where that one does all of it.

    A run that is the same cascade does all that follows from a pair. To another cascade the first judge's verdicts
    matter as well, so those cells stay in the plan.
    """
    theirs = run_records.cell_ids(connection, run_id)
    terms = terms_of(spec)
    if terms is None:
        return minus_stored(cells, theirs)
    done_there = _pairs_done_by(connection, run_id, terms, cells)
    return [
        cell
        for cell in cells
        if cell.pair_id not in done_there and (cell.actor_id == terms.first_id or cell.cell_id not in theirs)
    ]


def _pairs_done_by(connection: Connection, run_id: str, terms: Terms, cells: Sequence[PlannedCell]) -> set[str]:
    """The pairs about which a run that goes by the same asks the first judge the same."""
    run = run_records.read_run(connection, run_id)
    other = terms_of(read_spec(run.request_json, run_id))
    if other is None or _unordered(other) != _unordered(terms):
        return set()
    theirs = by_pair(cascade_records.questions(connection, run_id, terms.first_id))
    mine = by_pair(Question(cell, None) for cell in cells if cell.actor_id == terms.first_id)
    return {pair_id for pair_id, one in mine.items() if pair_id in theirs and _ids(theirs[pair_id]) == _ids(one)}


def _unordered(terms: Terms) -> tuple[str, frozenset[str], float]:
    return terms.first_id, frozenset(terms.panel_ids), terms.margin


def _ids(asked: Asked) -> set[str]:
    return {cell.cell_id for cell in asked.cells}

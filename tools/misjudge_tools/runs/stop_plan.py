"""How a run is planned that stops where enough is known: what it is spared from the start, and what is noted of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import run_progress, stopping_records
from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import digest
from misjudge_storage.rows import Row
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.stopping_records import BucketDecision, Place, Question, SparedCells, StopPlan
from misjudge_storage.types import Form
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.requests import JudgingRequest, Stop
from misjudge_tools.runs.stop_rule import Saved, Walk, needless, saved, spared_cells, units_of, walked
from misjudge_tools.runs.stopping import AT_ONCE, evidence_of


class StopWork(NamedTuple):
    """What a plan is spared since enough is known of some buckets already, and which these are.

    `plan` is the digest of all cells that the request stands for.
    """

    plan: str
    spared: Sequence[SparedCells] = ()
    decisions: Sequence[BucketDecision] = ()


class Weighed(NamedTuple):
    """The cells of a plan by task, without what it is spared."""

    cells: Sequence[PlannedCell]
    work: StopWork


def asked_stop(request: JudgingRequest, form: Form) -> Stop | None:
    """When the run of a request may stop, None: not before its end.

    Raises InvalidInput for a stop that says nothing, of a form that compares nothing, or of a cascade.
    """
    stop = request.stop
    if stop is None:
        return None
    if stop.width is None and stop.threshold is None:
        raise InvalidInput(
            "stop needs a width (--stop-width 0.2: stop where the interval is that narrow), a threshold "
            "(--stop-threshold 0.1: stop where the rate is surely above or below it), or both."
        )
    if not FORMS[form].compares:
        raise InvalidInput(
            f"stop goes by wrong choices between two responses, and {form} is judged of single trajectories. Leave it "
            "out, or use form=pairwise."
        )
    if request.cascade:
        raise InvalidInput(
            "A cascade already chooses which pairs are asked about by what its first judge says, so stop cannot go by "
            "the rest. Leave out either cascade or stop."
        )
    return stop


def weighed(
    connection: Connection,
    audit_id: str,
    stop: Stop,
    cells: Sequence[PlannedCell],
    pairs: Sequence[Row],
) -> Weighed:
    """A plan without what is needless by what is stored. `pairs` are those that the run itself makes."""
    asked = [cell for cell in cells if cell.pair_id is not None]
    places = {str(row["pair_id"]): Place(row["task_id"], row["ability_bucket"]) for row in pairs}
    places |= stopping_records.places(connection, audit_id, list({str(cell.pair_id) for cell in asked}))
    cells = _by_task(cells, places)
    units = units_of(Question(cell, places[str(cell.pair_id)]) for cell in cells if cell.pair_id is not None)
    read = partial(evidence_of, connection, audit_id)
    walks = {bucket: walked(Walk(), bucket, mine, stop, read, (), AT_ONCE) for bucket, mine in units.items()}
    decided = [bucket for bucket, walk in walks.items() if walk.decision is not None]
    stored = run_progress.stored_cells(connection, [cell.cell_id for cell in cells]) if decided else set()
    without = {bucket: needless(units[bucket], stored) for bucket in decided}
    spared = {cell.cell_id for mine in without.values() for cell in mine}
    served = _served_only(cells, pairs, spared, stored) if spared else set()
    decisions = [walk.decision for walk in walks.values() if walk.decision is not None]
    noted = spared_cells(without, [cell for cell in cells if cell.cell_id in served])
    work = StopWork(digest("plan", sorted(cell.cell_id for cell in cells)), noted, decisions)
    return Weighed([cell for cell in cells if cell.cell_id not in spared | served], work)


def _by_task(cells: Sequence[PlannedCell], places: Mapping[str, Place]) -> Sequence[PlannedCell]:
    """All repeats of a task together, where nothing but pairs is judged: else no task is complete before the last."""
    if any(cell.pair_id is None for cell in cells):
        return cells  # by task as it is
    ranks: dict[str, int] = {}
    for cell in cells:
        ranks.setdefault(places[str(cell.pair_id)].task_id, len(ranks))
    return sorted(cells, key=lambda cell: ranks[places[str(cell.pair_id)].task_id])


def _served_only(
    cells: Sequence[PlannedCell], pairs: Sequence[Row], spared: Collection[str], stored: Collection[str]
) -> set[str]:
    """The open episodes, and scores of single ones, of whose pairs nothing is left, as `stopping_records` has them."""
    left = {cell.pair_id for cell in cells if cell.pair_id is not None and cell.cell_id not in spared}
    sides = {row["pair_id"]: (row["trajectory_a"], row["trajectory_b"]) for row in pairs}
    needed = {side for pair_id, both in sides.items() if pair_id in left for side in both}
    needless = {side for both in sides.values() for side in both} - needed
    return {
        cell.cell_id
        for cell in cells
        if cell.pair_id is None and cell.cell_id not in stored and (cell.trajectory_id or cell.cell_id) in needless
    }


def saved_from_start(work: StopWork, cells: Sequence[PlannedCell]) -> Saved:
    """What a plan with these cells is spared by what is known already."""
    return saved(work.spared, (), {cell.pair_id for cell in cells if cell.pair_id is not None})


def note(connection: Connection, run_id: str, work: StopWork) -> None:
    """Note with a new run what it was asked, and what is decided already and spared."""
    stopping_records.note_plan(connection, run_id, StopPlan(plan=work.plan))
    stopping_records.note_spared(connection, run_id, work.spared)
    for decision in work.decisions:
        stopping_records.note_decision(connection, run_id, decision)


def is_plan_of(connection: Connection, run_id: str, work: StopWork) -> bool:
    """Whether a run was planned for the very same request."""
    planned = stopping_records.planned(connection, run_id)
    return planned is not None and planned.plan == work.plan


def asked_about_pairs(cells: Sequence[PlannedCell]) -> set[str]:
    """The cells that a run keeps although they are stored: they tell how much is known."""
    return {cell.cell_id for cell in cells if cell.pair_id is not None}

"""A cascade at work: what the first judge says lets a run ask the panel, in the transaction that stores it.

So no crash comes between a verdict and what follows from it, and only what is stored decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from misjudge_storage import cascade_records, judging_records
from misjudge_storage.judging_records import CellResult, Kept
from misjudge_storage.leases import Lease, holds
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_tools.runs.cascade import REASONS, Asked, Terms, by_pair, panel_cells, terms_of
from misjudge_tools.runs.spec import read_spec


class Escalating:
    """Stores the results of a run under its lease; of a cascade also the cells of the panel that follow from them."""

    def __init__(self, run: RunRow, lease: Lease) -> None:
        self._run = run
        self._lease = lease
        self._terms = terms_of(read_spec(run.request_json, run.run_id))
        self._asked: Mapping[str, Asked] = {}

    @property
    def may_add(self) -> bool:
        """Whether cells may come to the run."""
        return self._terms is not None

    def catch_up(self, connection: Connection) -> int:
        """Add what follows from all verdicts that are stored, whoever stored them; the number of cells added.

        To be done before results are stored.
        """
        if self._terms is None or not holds(connection, self._lease):
            return 0
        self._asked = by_pair(cascade_records.questions(connection, self._run.run_id, self._terms.first_id))
        return self._escalate(connection, self._terms, self._asked.values())

    def store(self, connection: Connection, results: Sequence[CellResult]) -> Kept:
        """As `store_results`."""
        kept = judging_records.store_results(connection, results, self._lease)
        if self._terms is None or not kept.held:
            return kept
        verdicts = [result.verdict for result in results if result.verdict is not None]
        pairs = {verdict["pair_id"] for verdict in verdicts if verdict["judge_id"] == self._terms.first_id}
        asked = [self._asked[pair_id] for pair_id in sorted(pairs & self._asked.keys())]
        return kept._replace(added=self._escalate(connection, self._terms, asked))

    def left_elsewhere(self, connection: Connection) -> bool:
        """Whether another run asks the panel something that follows here."""
        return self._terms is not None and bool(_missing(connection, self._run, self._terms, self._asked.values()))

    def _escalate(self, connection: Connection, terms: Terms, asked: Iterable[Asked]) -> int:
        missing = _missing(connection, self._run, terms, asked)
        if not missing:
            return 0
        taken = cascade_records.of_other_runs(connection, self._run, list(missing))
        new = [cell for cell_id, cell in missing.items() if cell_id not in taken]
        return cascade_records.add_cells(connection, self._run.run_id, new)


def unasked(connection: Connection, run: RunRow) -> bool:
    """Whether a run is a cascade whose rule names pairs that it does not ask the panel about, and nobody has asked."""
    terms = terms_of(read_spec(run.request_json, run.run_id))
    if terms is None:
        return False
    asked = by_pair(cascade_records.questions(connection, run.run_id, terms.first_id))
    return bool(_missing(connection, run, terms, asked.values()))


def _missing(connection: Connection, run: RunRow, terms: Terms, asked: Iterable[Asked]) -> dict[str, PlannedCell]:
    """The panel's cells, by id, about those of the pairs that the rule names: neither in the run nor stored."""
    asked = list(asked)
    said = cascade_records.said(connection, [cell.cell_id for one in asked for cell in one.cells])
    named = {
        cell.cell_id: cell
        for one in asked
        if one.standing(said, terms) in REASONS
        for cell in panel_cells(run.audit_id, terms, one)
    }
    there = cascade_records.planned(connection, run.run_id, list(named))
    there |= cascade_records.said(connection, [cell_id for cell_id in named if cell_id not in there]).keys()
    return {cell_id: cell for cell_id, cell in named.items() if cell_id not in there}

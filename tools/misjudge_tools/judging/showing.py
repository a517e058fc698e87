"""What a judge is shown of each cell, and what is true of it. Reads the store, asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from misjudge_storage import judging_records as records
from misjudge_storage.engine import Store
from misjudge_storage.hashing import digest, template_hash
from misjudge_storage.judging_records import AuditRow, PairSubject, PairTruth, SideTruth, TrajectorySubject
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Order, Task
from misjudge_tools.gateway.simulated_judge import Truth
from misjudge_tools.judging.choice import JudgingSpec, reply_schema, template_of
from misjudge_tools.judging.pairing import show_one, show_pair, transcript
from misjudge_tools.judging.prompts import RenderedPrompt, render


class Shown(NamedTuple):
    """What a cell's judge gets to see. `content` is its hash without the fence, which differs by audit.

    `size` is all that is sent, in bytes; `truth` is only ever told to the simulated gateway.
    """

    task_id: str
    prompt: RenderedPrompt
    size: int
    content: str
    truth: Mapping[str, Truth]


class Showing:
    """The prompts of one judge on one audit. `with_truth` also reads who did the job."""

    def __init__(self, store: Store, audit: AuditRow, spec: JudgingSpec, *, with_truth: bool) -> None:
        self.template = template_of(spec)
        self._store = store
        self._audit = audit
        self._pairwise = spec.form == "pairwise"
        self._fixed_size = len(self.template.system.encode()) + len(reply_schema(spec) or "")
        self._with_truth = with_truth

    def show(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        """What each cell's judge will see, by cell id."""
        return self._pairs(cells) if self._pairwise else self._trajectories(cells)

    def _pairs(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        wanted = sorted({cell.pair_id for cell in cells if cell.pair_id is not None})
        with self._store.read() as connection:
            found = records.read_pair_subjects(connection, self._audit.audit_id, wanted)
            known = records.read_pair_truths(connection, self._audit.audit_id, wanted) if self._with_truth else []
        truths = {truth.pair_id: truth for truth in known}
        sides = {s.pair_id: (s, transcript(s.task, s.a), transcript(s.task, s.b)) for s in found}
        return {
            cell.cell_id: self._pair(cell, *sides[cell.pair_id or ""], truths.get(cell.pair_id or "")) for cell in cells
        }

    def _pair(
        self, cell: PlannedCell, subject: PairSubject, side_a: str, side_b: str, known: PairTruth | None
    ) -> Shown:
        order: Order = cell.order_shown or "AB"
        pair = show_pair(self._audit.secret, subject.pair_id, order, cell.repeat, side_a, side_b)
        truth = {}
        if known is not None:
            first, second = (known.a, known.b) if order == "AB" else (known.b, known.a)
            truth = _truth(((pair.a.text, first), (pair.b.text, second)))
        values = {"response_a": pair.a.text, "response_b": pair.b.text}
        return self._shown(subject.task, values, (pair.a.inner, pair.b.inner), truth)

    def _trajectories(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        wanted = sorted({cell.trajectory_id for cell in cells if cell.trajectory_id is not None})
        with self._store.read() as connection:
            found = records.read_trajectory_subjects(connection, self._audit.audit_id, wanted)
            known = records.read_successes(connection, self._audit.audit_id, wanted) if self._with_truth else {}
        subjects = {subject.trajectory_id: subject for subject in found}
        return {
            cell.cell_id: self._trajectory(
                cell, subjects[cell.trajectory_id or ""], known.get(cell.trajectory_id or "")
            )
            for cell in cells
        }

    def _trajectory(self, cell: PlannedCell, subject: TrajectorySubject, known: SideTruth | None) -> Shown:
        inner = transcript(subject.task, subject.messages)
        fenced = show_one(self._audit.secret, subject.trajectory_id, cell.repeat, inner)
        truth = {} if known is None else _truth(((fenced.text, known),))
        return self._shown(subject.task, {"response": fenced.text}, (inner,), truth)

    def _shown(
        self, task: Task, responses: Mapping[str, str], inner: Sequence[str], truth: Mapping[str, Truth]
    ) -> Shown:
        about = {"task": task.prompt, "criteria": task.success_criteria, "constraints": task.hard_constraints}
        prompt = render(self.template, {**about, **responses})
        size = self._fixed_size + len(prompt.user.encode("utf-8", "replace"))
        return Shown(task.task_id, prompt, size, digest("shown", [about, *inner]), truth)


def _truth(sides: Iterable[tuple[str, SideTruth]]) -> dict[str, Truth]:
    """By the transcript with its fence: two agents may have said the same, and only the fence is a side's own."""
    return {template_hash(fenced): Truth(success=known.success, skill=known.skill) for fenced, known in sides}

"""Who does the cells of a run: its judges, the rollouts of its agents, and who writes and matches rubrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.judging_records import StoredReply
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.judging.session import JudgingSession
from misjudge_tools.judging.showing import Shown
from misjudge_tools.runs.budget import Estimate
from misjudge_tools.runs.rollout_session import RolloutSession
from misjudge_tools.runs.rubric_cells import RUBRIC_KINDS
from misjudge_tools.runs.rubric_session import RubricSession


class MostUsed(NamedTuple):
    """The most that a cell can have used, of which task."""

    task_id: str
    most: Estimate


class RunSession:
    """The judges of a run by fingerprint, with open gateways, its rollouts and its rubrics where it makes any."""

    def __init__(
        self,
        judges: Sequence[JudgingSession],
        rollouts: RolloutSession | None,
        rubrics: RubricSession | None = None,
    ) -> None:
        self.judges = tuple(judges)
        self.rollouts = rollouts
        self.rubrics = rubrics
        self._judges = {judge.judge_id: judge for judge in judges}

    @property
    def concurrency(self) -> int:
        """How many cells may be in work at a time."""
        most = [judge.way.concurrency for judge in self.judges]
        most += [others.concurrency for others in (self.rollouts, self.rubrics) if others is not None]
        return max(most, default=1)

    @property
    def labels(self) -> dict[str, str]:
        """What people call its judges, and who writes and matches rubrics, by fingerprint."""
        mine = {judge.judge_id: judge.judge.label for judge in self.judges}
        return mine if self.rubrics is None else {**mine, **self.rubrics.labels}

    @property
    def pricings(self) -> list[Pricing]:
        """What each model that is asked costs."""
        mine = [judge.way.pricing for judge in self.judges]
        others = (self.rollouts, self.rubrics)
        return mine + [pricing for other in others if other is not None for pricing in other.pricings]

    def judge_of(self, cell: PlannedCell) -> JudgingSession:
        """The judge that a cell asks. Raises InvalidInput where the run was changed and names none."""
        if cell.actor_id not in self._judges:
            raise InvalidInput("The run's plan names a judge that its specification does not have. Begin it anew.")
        return self._judges[cell.actor_id]

    def rubrics_of(self, cell: PlannedCell) -> RubricSession:
        """Who writes or matches the rubric of a cell. Raises InvalidInput where the run was changed and names none."""
        if self.rubrics is None:
            raise InvalidInput("The run's plan names rubrics that its specification does not have. Begin it anew.")
        return self.rubrics

    def task_of(self, cell: PlannedCell) -> str:
        """The task that a rollout or a rubric is of."""
        if cell.task_id is not None:
            return cell.task_id
        assert self.rollouts is not None
        return self.rollouts.key(cell).task.task_id

    def estimates(self, cells: Sequence[PlannedCell]) -> Iterator[MostUsed]:
        """The most that each of these cells, which are no rollouts, can have used. Reads the store."""
        judged = [cell for cell in cells if cell.kind not in RUBRIC_KINDS]
        shown = self.show(judged)
        for cell in judged:
            mine = shown[cell.cell_id]
            yield MostUsed(mine.task_id, self.judge_of(cell).estimate(mine))
        for cell in cells:
            if cell.kind in RUBRIC_KINDS:
                yield MostUsed(self.task_of(cell), self.rubrics_of(cell).estimate(cell))

    def show(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        """What the judge of each cell will see, by cell id. Reads the store."""
        return {cell_id: shown for judge, mine in self._by_judge(cells) for cell_id, shown in judge.show(mine).items()}

    def stored_replies(self, cells: Sequence[PlannedCell], shown: Mapping[str, Shown]) -> dict[str, StoredReply]:
        """Replies of other audits to the same questions, by cell id, for judges that may take them. Reads the store."""
        return {
            cell_id: reply
            for judge, mine in self._by_judge(cells)
            if judge.spec.reuse
            for cell_id, reply in judge.stored_replies(mine, shown).items()
        }

    async def tell_truth(self, shown: Sequence[Shown]) -> None:
        """Let simulated judges know who did the job; nothing elsewhere."""
        for judge in self.judges:
            await judge.tell_truth(shown)

    def _by_judge(self, cells: Sequence[PlannedCell]) -> list[tuple[JudgingSession, list[PlannedCell]]]:
        groups: defaultdict[str, list[PlannedCell]] = defaultdict(list)
        for cell in cells:
            groups[cell.actor_id].append(cell)
        return [(self.judge_of(mine[0]), mine) for mine in groups.values()]

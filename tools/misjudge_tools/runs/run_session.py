"""Who does the cells of a run: its judges, and the rollouts of its agents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from misjudge_storage.errors import InvalidInput
from misjudge_storage.judging_records import StoredReply
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.judging.session import JudgingSession
from misjudge_tools.judging.showing import Shown
from misjudge_tools.runs.rollout_session import RolloutSession


class RunSession:
    """The judges of a run by fingerprint, with open gateways, and its rollouts where it makes any."""

    def __init__(self, judges: Sequence[JudgingSession], rollouts: RolloutSession | None) -> None:
        self.judges = tuple(judges)
        self.rollouts = rollouts
        self._judges = {judge.judge_id: judge for judge in judges}

    @property
    def concurrency(self) -> int:
        """How many cells may be in work at a time."""
        most = [judge.way.concurrency for judge in self.judges]
        if self.rollouts is not None:
            most.append(self.rollouts.concurrency)
        return max(most, default=1)

    @property
    def pricings(self) -> list[Pricing]:
        """What each model that is asked costs."""
        mine = [judge.way.pricing for judge in self.judges]
        return mine if self.rollouts is None else [*mine, *self.rollouts.pricings]

    def judge_of(self, cell: PlannedCell) -> JudgingSession:
        """The judge that a cell asks. Raises InvalidInput where the run was changed and names none."""
        if cell.actor_id not in self._judges:
            raise InvalidInput("The run's plan names a judge that its specification does not have. Begin it anew.")
        return self._judges[cell.actor_id]

    def task_of(self, cell: PlannedCell) -> str:
        """The task that a rollout is of."""
        assert self.rollouts is not None
        return self.rollouts.key(cell).task.task_id

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

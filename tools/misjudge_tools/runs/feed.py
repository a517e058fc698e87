"""The open cells of a run in order, read in chunks and shared by all who do them.

A cell waits until what it works on is stored: a generated rubric, or what it judges.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import run_records
from misjudge_storage.engine import Store
from misjudge_storage.judging_records import StoredReply
from misjudge_storage.planned_pairs import stored_subjects
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_tools.judging.showing import Shown
from misjudge_tools.runs.plan import ROLLOUT
from misjudge_tools.runs.rubric_cells import RUBRIC_KINDS
from misjudge_tools.runs.run_session import RunSession

CHUNK = 256
AHEAD = 8
"""Cells that each worker of a run that may stop early goes on beside one that takes long: no result of theirs counts
before that one's.
"""
Elsewhere = Callable[[Connection, Sequence[PlannedCell]], Collection[str]]
"""Which of some cells are left to another run."""


class Work(NamedTuple):
    """A cell to do: what its judge is shown (None: it is a rollout, or a rubric to be written or matched), a reply that
    answers it already, and how often it was tried before.
    """

    cell: PlannedCell
    task_id: str
    shown: Shown | None = None
    reply: StoredReply | None = None
    asked: int = 0


def nowhere(connection: Connection, cells: Sequence[PlannedCell]) -> Collection[str]:
    """No cell is left to another run."""
    return ()


class Feed:
    """Gives each open cell of the run to one worker, which says when it is finished with it."""

    def __init__(
        self,
        store: Store,
        session: RunSession,
        run: RunRow,
        stop: asyncio.Event,
        *,
        only_failed: bool,
        elsewhere: Elsewhere = nowhere,
        ahead: int | None = None,
    ) -> None:
        self._store = store
        self._session = session
        self._run = run
        self._stop = stop
        self._only_failed = only_failed
        self._elsewhere = elsewhere
        self._ahead = ahead
        self.left_out = False
        """Whether cells were left to another run."""
        self._changed = asyncio.Condition()
        self._ready: deque[Work] = deque()
        self._unshown: deque[PlannedCell] = deque()
        self._waiting: dict[str, list[PlannedCell]] = {}
        self._come: set[str] = set()
        self._spared: set[str] = set()
        self._back: dict[str, PlannedCell] = {}
        self._in_work: dict[int, PlannedCell] = {}
        self._set_aside: dict[str, Work] = {}
        self._last = 0
        self._read_all = False
        self._more = False
        self._ended = False
        self._judging_only = False

    @property
    def waits_for(self) -> str:
        """What there are cells for that is not stored; empty where there are none."""
        waiting = [cell for cells in self._waiting.values() for cell in cells]
        names = {"rubrics" if cell.draft_id is not None else "episodes" for cell in waiting}
        return " and ".join(sorted(names))

    def end(self) -> None:
        """Give out nothing more."""
        self._ended = True

    def only_judging(self) -> None:
        """Give out no further rollouts."""
        self._judging_only = True
        self._ready = deque(work for work in self._ready if work.cell.kind != ROLLOUT)

    def again(self, work: Work) -> None:
        """Put a cell that got no reply, and that its worker is not yet finished with, behind the others."""
        if work.cell.cell_id in self._spared:
            self._set_aside[work.cell.cell_id] = work  # it may come back to the run until its worker is finished
        elif work.cell.kind != ROLLOUT or not self._judging_only:
            self._ready.append(work)

    def arrived(self, subjects: Collection[str]) -> None:
        """What waited for these trajectories, pairs and generated rubrics can be done."""
        self._come.update(subjects)
        for subject in subjects:
            self._unshown.extend(self._waiting.pop(subject, ()))

    def spare(self, cell_ids: Collection[str]) -> None:
        """Give out none of these cells, which have left the run."""
        if not cell_ids:
            return
        self._spared.update(cell_ids)
        self._ready = deque(work for work in self._ready if work.cell.cell_id not in self._spared)
        self._unshown = deque(self._left(self._unshown))
        self._waiting = {subject: left for subject, cells in self._waiting.items() if (left := self._left(cells))}

    def back(self, cells: Iterable[PlannedCell]) -> None:
        """Give out those of these cells that were spared: they are in the run again, and what they judge is stored."""
        again = {cell.cell_id: cell for cell in cells if cell.cell_id in self._spared}
        self._spared.difference_update(again)
        in_work = {cell.cell_id for cell in self._in_work.values()}  # which its worker finishes
        self._back.update({cell_id: cell for cell_id, cell in again.items() if cell_id not in in_work})

    def _take_back(self) -> None:
        """Put before the others what came back; not what is read later anyway."""
        again = [cell for cell in self._back.values() if cell.seq <= self._last]
        self._unshown.extend(sorted(again, key=lambda cell: cell.seq))
        self._back.clear()

    def _left(self, cells: Iterable[PlannedCell]) -> list[PlannedCell]:
        return [cell for cell in cells if cell.cell_id not in self._spared]

    def added(self) -> None:
        """Cells have come to the run behind its last one."""
        self._read_all, self._more = False, True

    async def next(self) -> Work | None:
        """The next cell, to be followed by `finished`; None when none is left, or none is to be begun."""
        async with self._changed:
            while not (self._ended or self._stop.is_set()):
                if self._back:
                    self._take_back()
                if self._unshown:
                    await self._show()
                elif (work := self._taken()) is not None:
                    return work
                elif self._ready:  # too far ahead of what is being done
                    await self._changed.wait()
                elif not self._read_all:
                    await self._read_on()
                elif self._in_work:  # what is being done may let other cells begin, or come back
                    await self._changed.wait()
                else:
                    return None
            return None

    def _taken(self) -> Work | None:
        """The first that is ready and not too far ahead of what is being done."""
        oldest = min((cell.seq for cell in self._in_work.values()), default=None)
        last = None if oldest is None or self._ahead is None else oldest + self._ahead
        place = next((n for n, work in enumerate(self._ready) if last is None or work.cell.seq <= last), None)
        if place is None:
            return None
        work = self._ready[place]
        del self._ready[place]
        self._in_work[id(work)] = work.cell
        return work

    async def finished(self, work: Work) -> None:
        """A worker is done with what it was given."""
        async with self._changed:
            del self._in_work[id(work)]
            aside = self._set_aside.pop(work.cell.cell_id, None)
            if aside is not None and aside.cell.cell_id not in self._spared:
                self._ready.append(aside)
            self._changed.notify_all()

    async def _read_on(self) -> None:
        self._come.clear()
        self._more = False
        cells, stored, elsewhere = await asyncio.to_thread(self._load)
        stored |= self._come  # what was stored while the store was read
        self._read_all = not cells and not self._more
        self.left_out = self.left_out or bool(elsewhere)
        for cell in self._left(cells):  # some may have been spared while the store was read, or have come back
            self._back.pop(cell.cell_id, None)
            if cell.cell_id in elsewhere:
                continue
            subject = _subject(cell)
            if cell.kind == ROLLOUT and self._judging_only:
                continue
            if cell.kind == ROLLOUT:
                self._ready.append(Work(cell, self._session.task_of(cell)))
            elif subject is None or subject in stored:
                self._unshown.append(cell)
            else:
                self._waiting.setdefault(subject, []).append(cell)

    def _load(self) -> tuple[list[PlannedCell], set[str], Collection[str]]:
        """The next cells, which of their subjects are stored, and which of them are left to another run."""
        with self._store.read() as connection:
            cells = run_records.pending(connection, self._run.run_id, self._last, CHUNK, only_failed=self._only_failed)
            pairs = [cell.pair_id for cell in cells if cell.pair_id is not None]
            trajectories = [cell.trajectory_id for cell in cells if cell.trajectory_id is not None]
            drafts = [cell.draft_id for cell in cells if cell.draft_id is not None]
            stored = stored_subjects(connection, self._run.audit_id, pairs, trajectories, drafts)
            elsewhere = self._elsewhere(connection, cells)
        if cells:
            self._last = cells[-1].seq
        return cells, stored, elsewhere

    async def _show(self) -> None:
        """What waited goes before all else, and judging before rollouts: a run that ends early has judged what it has.

        What else can be begun keeps the order of the plan, so that such a run has done whole tasks.
        """
        # The last ones first, as each batch goes before those that were shown.
        cells = [self._unshown.pop() for _ in range(min(CHUNK, len(self._unshown)))][::-1]
        works = await asyncio.to_thread(self._shown, cells)
        await self._session.tell_truth([work.shown for work in works if work.shown is not None])
        self._ready.extendleft(work for work in reversed(works) if work.cell.cell_id not in self._spared)

    def _shown(self, cells: list[PlannedCell]) -> list[Work]:
        judging = [cell for cell in cells if cell.kind not in RUBRIC_KINDS]
        shown = self._session.show(judging)
        replies = self._session.stored_replies(judging, shown)
        return [
            Work(cell, shown[cell.cell_id].task_id, shown[cell.cell_id], replies.get(cell.cell_id))
            if cell.cell_id in shown
            else Work(cell, self._session.task_of(cell))
            for cell in cells
        ]


def _subject(cell: PlannedCell) -> str | None:
    """What has to be stored before the cell can be done."""
    return cell.draft_id or cell.pair_id or cell.trajectory_id

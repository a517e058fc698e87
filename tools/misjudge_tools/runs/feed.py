"""The open cells of a run in order, read in chunks and shared by all who ask them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from misjudge_storage import run_records
from misjudge_storage.engine import Store
from misjudge_storage.judging_records import StoredReply
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.judging.session import JudgingSession
from misjudge_tools.judging.showing import Shown

CHUNK = 256


class Work(NamedTuple):
    """A cell to do: what its judge is shown, a reply that answers it already, and how often it was asked before."""

    cell: PlannedCell
    shown: Shown
    reply: StoredReply | None = None
    asked: int = 0


class Feed:
    """Gives each open cell of the run to one asker; `reuse` looks for stored replies to the same question."""

    def __init__(
        self, store: Store, session: JudgingSession, run_id: str, stop: asyncio.Event, *, reuse: bool, only_failed: bool
    ) -> None:
        self._store = store
        self._session = session
        self._run_id = run_id
        self._stop = stop
        self._reuse = reuse
        self._only_failed = only_failed
        self._lock = asyncio.Lock()
        self._ready: deque[Work] = deque()
        self._last = 0
        self._read_all = False
        self._ended = False

    def end(self) -> None:
        """Give out nothing more."""
        self._ended = True

    def again(self, work: Work) -> None:
        """Put a cell that got no reply behind the others."""
        self._ready.append(work)

    async def next(self) -> Work | None:
        """The next cell; None when none is left, or none is to be begun."""
        async with self._lock:
            if not self._ready and not self._read_all:
                await self._read_on()
            if self._ended or self._stop.is_set() or not self._ready:
                return None
            return self._ready.popleft()

    async def _read_on(self) -> None:
        chunk = await asyncio.to_thread(self._load)
        self._read_all = not chunk
        self._session.tell_truth({work.cell.cell_id: work.shown for work in chunk})
        self._ready.extend(chunk)

    def _load(self) -> list[Work]:
        with self._store.read() as connection:
            cells = run_records.pending(connection, self._run_id, self._last, CHUNK, only_failed=self._only_failed)
        if not cells:
            return []
        self._last = cells[-1].seq
        shown = self._session.show(cells)
        replies = self._session.stored_replies(cells, shown) if self._reuse else {}
        return [Work(cell, shown[cell.cell_id], replies.get(cell.cell_id)) for cell in cells]

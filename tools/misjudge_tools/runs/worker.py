"""Executes runs in this process: plan minus stored, at any cell stoppable and resumable.

A run belongs to the process that claimed it. Cells are asked concurrently; each verdict and its attempts
are committed together before the cell counts as done, so a killed process loses no stored result and pays
again at most for the calls that were in flight.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import NamedTuple, TypeVar
from uuid import uuid4

from misjudge_storage import judging_records, run_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import GatewayError, MisjudgeError, RunStopped
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_storage.types import RunState
from misjudge_tools.judging.session import Judged, JudgingSession, Shown
from misjudge_tools.results import record_uri

log = logging.getLogger(__name__)
T = TypeVar("T")

CHUNK = 256
FIRST_REPLIES = 20
MOST_UNREADABLE = 4
"""A judge of which more than 20 % of the first 20 replies cannot be read stops the run."""
LOST_IN_A_ROW = 10
"""So many calls without a usable reply from the provider, one after the other, stop the run."""

OpenSession = Callable[[RunRow], AbstractAsyncContextManager[JudgingSession]]


class Ended(NamedTuple):
    """How a run ended in this process, and why it did not get to the end of its plan."""

    state: RunState
    reason: str | None


class _Active(NamedTuple):
    task: asyncio.Task[None]
    stop: asyncio.Event


class Worker:
    """The runs that this process works on. `open_session` gives a run its judge."""

    def __init__(self, store: Store, open_session: OpenSession, concurrency: int) -> None:
        self._store = store
        self._open_session = open_session
        self._concurrency = concurrency
        self._owner = uuid4().hex
        self._active: dict[str, _Active] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._unsaved: dict[str, Ended] = {}
        self._closing = False

    @property
    def active(self) -> tuple[str, ...]:
        """Ids of the runs that this process works on."""
        return tuple(self._active)

    async def start(self, run_id: str) -> None:
        """Work on the run, unless it is worked on already. Raises RunStopped when another process holds it."""
        beginning = self._starting.get(run_id)
        if beginning is None:
            beginning = self._starting[run_id] = asyncio.create_task(self._begin(run_id))
            beginning.add_done_callback(lambda _: self._starting.pop(run_id, None))
        # Shielded: a caller that is cancelled here must not leave a claimed run that nobody works on.
        await asyncio.shield(beginning)

    async def _begin(self, run_id: str) -> None:
        if run_id in self._active:
            active = self._active[run_id]
            if not active.stop.is_set():
                return
            await asyncio.wait([active.task])
        if not await self._write(partial(run_records.claim, run_id=run_id, owner=self._owner)):
            raise RunStopped(f"Run {run_id} is worked on by another process; `runs` wait shows its progress.")
        self._unsaved.pop(run_id, None)
        stop = asyncio.Event()
        # Not a child of the request's scope: a client that cancels or times out detaches, it does not stop the run.
        task = asyncio.create_task(self._work(run_id, stop), name=run_id)
        self._active[run_id] = _Active(task, stop)
        task.add_done_callback(lambda _: self._active.pop(run_id, None))

    async def wait(self, run_id: str, seconds: float) -> None:
        """Until the run ends in this process, at most `seconds`."""
        if run_id in self._active:
            await asyncio.wait([self._active[run_id].task], timeout=seconds)

    def stop(self, run_id: str) -> bool:
        """Let the calls in flight finish and start no more; False when the run is not active here."""
        if run_id not in self._active:
            return False
        self._active[run_id].stop.set()
        return True

    def unsaved_end(self, run_id: str) -> Ended | None:
        """How a run ended that the store could not take note of, such as on a full disk."""
        return self._unsaved.get(run_id)

    async def aclose(self, grace_s: float = 5) -> None:
        """Stop every run: drain what is in flight for `grace_s` seconds, then give up on it."""
        self._closing = True
        await asyncio.gather(*self._starting.values(), return_exceptions=True)
        active = list(self._active.values())
        for run in active:
            run.stop.set()
        if active:
            _, late = await asyncio.wait([run.task for run in active], timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _work(self, run_id: str, stop: asyncio.Event) -> None:
        ended = Ended("lost", "the process ended; resume it to go on")
        beat = asyncio.create_task(self._keep_lease(run_id, stop))
        try:
            ended = await self._execute(run_id, stop)
        except MisjudgeError as error:
            ended = Ended("failed", str(error))
            log.warning("run ended early: %s", type(error).__name__, extra={"run": run_id})
        except Exception as error:
            ended = Ended("failed", f"internal error ({type(error).__name__}); see the log")
            # Without the error's own text, which may quote a row: replies stay out of logs.
            place = "".join(traceback.format_tb(error.__traceback__))
            log.error("run failed: %s\n%s", type(error).__name__, place, extra={"run": run_id})
        finally:
            beat.cancel()
            await self._end(run_id, ended)

    async def _end(self, run_id: str, ended: Ended) -> None:
        state, reason = ended
        try:
            await self._write(partial(run_records.finish, run_id=run_id, owner=self._owner, state=state, reason=reason))
        except Exception as error:
            self._unsaved[run_id] = ended
            log.error("end of run not stored: %s", type(error).__name__, extra={"run": run_id})

    async def _execute(self, run_id: str, stop: asyncio.Event) -> Ended:
        with self._store.read() as connection:
            run = run_records.read_run(connection, run_id)
            before = run_records.progress(connection, run_id)
        if before.done == before.total:
            return Ended("done", None)
        async with self._open_session(run) as session:
            feed = _Feed(self._store, session, run_id, stop)
            tally = _Tally(run, before.done)
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._concurrency, before.total - before.done)):
                    group.create_task(self._ask_cells(feed, session, tally))
        if tally.trouble is not None:
            raise tally.trouble
        with self._store.read() as connection:
            after = run_records.progress(connection, run_id)
        if after.done == after.total:
            return Ended("done", None)
        if self._closing:
            return Ended("lost", "the process ended; resume it to go on")
        if tally.lost and not stop.is_set():
            return Ended("failed", f"{tally.lost} calls got no usable reply, the last one: {tally.last_loss}")
        return Ended("cancelled", "stopped; resume it to go on")

    async def _ask_cells(self, feed: _Feed, session: JudgingSession, tally: _Tally) -> None:
        try:
            while (work := await feed.next()) is not None:
                cell, shown = work
                judged = await session.ask(cell, shown)
                await self._write(partial(judging_records.store_result, result=judged.result))
                log.debug("cell stored", extra={"run": feed.run_id, "cell": cell.cell_id})
                tally.count(judged)
                if tally.trouble is not None:
                    feed.stop()
        except Exception as error:
            # The other askers finish what is in flight, so that nothing paid for is lost.
            tally.trouble = tally.trouble or error
            feed.stop()

    async def _keep_lease(self, run_id: str, stop: asyncio.Event) -> None:
        while True:
            await asyncio.sleep(run_records.RENEW_SECONDS)
            try:
                held = await self._write(partial(run_records.renew, run_id=run_id, owner=self._owner))
            except MisjudgeError:  # a store that is busy or full now may take the next one
                continue
            if not held:
                stop.set()
                return

    def _write(self, work: Callable[..., T]) -> Awaitable[T]:
        return asyncio.wrap_future(self._store.writer.submit(work))


class _Feed:
    """The open cells of a run in order, read in chunks, shared by all askers."""

    def __init__(self, store: Store, session: JudgingSession, run_id: str, stop: asyncio.Event) -> None:
        self.run_id = run_id
        self._store = store
        self._session = session
        self._stop = stop
        self._lock = asyncio.Lock()
        self._ready: deque[tuple[PlannedCell, Shown]] = deque()
        self._last = 0
        self._ended = False

    def stop(self) -> None:
        self._ended = True

    async def next(self) -> tuple[PlannedCell, Shown] | None:
        async with self._lock:
            if self._ended or self._stop.is_set():
                return None
            if not self._ready:
                await self._read_on()
            return self._ready.popleft() if self._ready else None

    async def _read_on(self) -> None:
        ready = await asyncio.to_thread(self._load)
        self._session.tell_truth({cell.cell_id: shown for cell, shown in ready})
        self._ready.extend(ready)

    def _load(self) -> list[tuple[PlannedCell, Shown]]:
        with self._store.read() as connection:
            cells = run_records.pending(connection, self.run_id, self._last, CHUNK)
        if not cells:
            return []
        self._last = cells[-1].seq
        shown = self._session.show(cells)
        return [(cell, shown[cell.cell_id]) for cell in cells]


class _Tally:
    """Counts what came back: a judge that cannot be read from the first, or is not to be reached, ends the run."""

    def __init__(self, run: RunRow, done: int) -> None:
        self.trouble: Exception | None = None
        self.lost = 0
        self.last_loss: GatewayError | None = None
        self._lost_in_a_row = 0
        self._audit = run.audit
        # A run that goes on behind its first replies was resumed by somebody who has seen them.
        self._replies = done
        self._unreadable: list[str] = []

    def count(self, judged: Judged) -> None:
        if judged.lost is not None:
            self._count_loss(judged.lost)
            return
        self._lost_in_a_row = 0
        if judged.readable is None or self._replies >= FIRST_REPLIES:
            return
        self._replies += 1
        if not judged.readable:
            self._unreadable.append(str(judged.result.logs[-1]["log_id"]))
        if self._replies == FIRST_REPLIES and len(self._unreadable) > MOST_UNREADABLE:
            examples = ", ".join(record_uri(self._audit, "logs", log_id) for log_id in self._unreadable[:3])
            self.trouble = RunStopped(
                f"{len(self._unreadable)} of the first {FIRST_REPLIES} replies hold no readable verdict, so the run "
                f"was stopped. Read three of them ({examples}), then change the judge or its prompt; resuming goes on."
            )

    def _count_loss(self, loss: GatewayError) -> None:
        self.lost += 1
        self.last_loss = loss
        self._lost_in_a_row += 1
        if loss.stops_run:
            self.trouble = self.trouble or loss
        elif self._lost_in_a_row == LOST_IN_A_ROW:
            self.trouble = self.trouble or RunStopped(
                f"{LOST_IN_A_ROW} calls one after the other got no usable reply, so the run was stopped: {loss} "
                "Resuming asks them again."
            )

"""The runs that this process works on: claimed, kept under lease, carried out, ended.

A run belongs to the process that claimed it. A killed process loses no stored result and pays again at most for
the calls that were in flight.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import NamedTuple, TypeVar
from uuid import uuid4

from sqlalchemy import Connection

from misjudge_storage import leases, run_progress, run_records, stopping_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import MisjudgeError, RunStopped
from misjudge_storage.leases import Lease
from misjudge_storage.run_records import RunRow
from misjudge_tools.gateway.clock import Clock, SystemClock
from misjudge_tools.runs.escalating import unasked
from misjudge_tools.runs.execution import TAKEN_OVER, Ended, Execution, Sitting, ledger_of
from misjudge_tools.runs.run_session import RunSession
from misjudge_tools.runs.stop_report import why_stopped

log = logging.getLogger(__name__)
T = TypeVar("T")

OpenSession = Callable[[RunRow], AbstractAsyncContextManager[RunSession]]


class _Claim(NamedTuple):
    """The lease of a run, and those on other runs of its audit that were there before."""

    lease: Lease
    ahead: Sequence[Lease]


def _claimed(connection: Connection, run_id: str, owner: str) -> _Claim | None:
    """Take a run over, without what became needless meanwhile; None where another owner holds it."""
    lease = leases.claim(connection, run_id, owner)
    if lease is None:
        return None
    stopping_records.leave_out_needless(connection, run_id)
    return _Claim(lease, leases.others_at_work(connection, lease))


class _Active:
    """A run at work here: `execution` once its models are open, `taken_over` when its lease is another's."""

    def __init__(self, claim: _Claim) -> None:
        self.lease = claim.lease
        self.ahead = claim.ahead
        self.stop = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.execution: Execution | None = None
        self.taken_over = False


class Worker:
    """The runs that this process works on. `open_session` gives a run its judges and agents, `clock` its waits."""

    def __init__(self, store: Store, open_session: OpenSession, clock: Clock | None = None) -> None:
        self._store = store
        self._open_session = open_session
        self._clock = clock or SystemClock()
        self._owner = uuid4().hex
        self._active: dict[str, _Active] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._unsaved: dict[str, Ended] = {}
        self._closing = False

    @property
    def active(self) -> tuple[str, ...]:
        """Ids of the runs that this process works on."""
        return tuple(self._active)

    async def start(self, run_id: str, *, only_failed: bool = False) -> None:
        """Work on the run (or only on its cells that failed), unless it is worked on already.

        Raises RunStopped when another process holds it.
        """
        beginning = self._starting.get(run_id)
        if beginning is None:
            beginning = self._starting[run_id] = asyncio.create_task(self._begin(run_id, only_failed))
            beginning.add_done_callback(lambda _: self._starting.pop(run_id, None))
        # Shielded: a caller that is cancelled here must not leave a claimed run that nobody works on.
        await asyncio.shield(beginning)

    async def _begin(self, run_id: str, only_failed: bool) -> None:
        if run_id in self._active:
            active = self._active[run_id]
            if not active.stop.is_set() or active.task is None:
                return
            await asyncio.wait([active.task])
        claim = await self._write(partial(_claimed, run_id=run_id, owner=self._owner))
        if claim is None:
            raise RunStopped(f"Run {run_id} is worked on by another process; `runs` wait shows its progress.")
        self._unsaved.pop(run_id, None)
        active = self._active[run_id] = _Active(claim)
        # Not a child of the request's scope: a client that cancels or times out detaches, it does not stop the run.
        active.task = asyncio.create_task(self._work(run_id, active, only_failed), name=run_id)
        active.task.add_done_callback(lambda _: self._active.pop(run_id, None))

    async def wait(self, run_id: str, seconds: float) -> None:
        """Until the run ends in this process, at most `seconds`."""
        active = self._active.get(run_id)
        if active is not None and active.task is not None:
            await asyncio.wait([active.task], timeout=seconds)

    def stop(self, run_id: str) -> bool:
        """Let the calls in flight finish and start no more; False when the run is not active here."""
        if run_id not in self._active:
            return False
        self._active[run_id].stop.set()
        return True

    def paused(self, run_id: str) -> str | None:
        """Why a run waits for the store, which cannot be told so itself."""
        active = self._active.get(run_id)
        return None if active is None or active.execution is None else active.execution.paused

    def unsaved_end(self, run_id: str) -> Ended | None:
        """How a run ended that the store could not take note of, such as on a full disk."""
        return self._unsaved.get(run_id)

    async def aclose(self, grace_s: float = 5) -> None:
        """Stop every run: drain what is in flight for `grace_s` seconds, then give up on it."""
        self._closing = True
        await asyncio.gather(*self._starting.values(), return_exceptions=True)
        tasks = [active.task for active in self._active.values() if active.task is not None]
        for active in self._active.values():
            active.stop.set()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _work(self, run_id: str, active: _Active, only_failed: bool) -> None:
        ended = Ended("lost", "the process ended; resume it to go on")
        beat = asyncio.create_task(self._keep_lease(active))
        try:
            ended = await self._execute(run_id, active, only_failed)
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
            await self._end(active.lease, ended)

    async def _end(self, lease: Lease, ended: Ended) -> None:
        state, reason = ended
        try:
            await self._write(partial(leases.finish, lease=lease, state=state, reason=reason))
        except Exception as error:
            if state in {"done", "cancelled"}:  # to say so would hide that the store takes nothing
                said = str(error) if isinstance(error, MisjudgeError) else f"{type(error).__name__}; see the log"
                ended = Ended("failed", f"the end of the run could not be stored: {said}")
            self._unsaved[lease.run_id] = ended
            log.error("end of run not stored: %s", type(error).__name__, extra={"run": lease.run_id})

    async def _execute(self, run_id: str, active: _Active, only_failed: bool) -> Ended:
        with self._store.read() as connection:
            run = run_records.read_run(connection, run_id)
            before = run_progress.progress(connection, run_id)
            cells = run_progress.cells_by_judge(connection, run_id)
            follows = unasked(connection, run)
            stopped = why_stopped(connection, run)
        if before.done == before.total and not follows:
            return Ended("done", stopped)
        async with self._open_session(run) as session:
            replies = {judge_id: mine.asked for judge_id, mine in cells.items()}
            sitting = Sitting(run, active.lease, active.stop, before, replies, only_failed, active.ahead)
            ledger = await asyncio.to_thread(ledger_of, self._store, run, session, self._clock)
            active.execution = Execution(self._store, session, sitting, ledger, self._clock)
            ended = await active.execution.carry_out()
        if active.taken_over:
            raise RunStopped(TAKEN_OVER)
        if self._closing and ended.state == "cancelled":
            return Ended("lost", "the process ended; resume it to go on")
        return ended

    async def _keep_lease(self, active: _Active) -> None:
        while True:
            await asyncio.sleep(leases.RENEW_SECONDS)
            try:
                renewal = await self._write(partial(leases.renew, lease=active.lease))
            except MisjudgeError:  # a store that is busy or full now may take the next one
                continue
            active.taken_over = not renewal.held
            if not renewal.held or renewal.stop_requested:
                active.stop.set()
            if not renewal.held:
                return

    def _write(self, work: Callable[..., T]) -> Awaitable[T]:
        return asyncio.wrap_future(self._store.writer.submit(work))

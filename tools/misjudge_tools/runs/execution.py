"""One run at work in this process: its open cells done concurrently, within its budget, through outages.

Each result and its attempts are committed together before the cell counts as done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import NamedTuple, TypeVar

from misjudge_storage import leases, planned_pairs, run_progress, run_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import GatewayError, RunStopped
from misjudge_storage.judging_records import CellResult
from misjudge_storage.leases import Lease
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_storage.types import Role, RunState
from misjudge_tools.gateway.billing import UNUSED
from misjudge_tools.gateway.clock import Clock
from misjudge_tools.judging.session import Judged
from misjudge_tools.judging.showing import Shown
from misjudge_tools.results import LIMIT_REACHED
from misjudge_tools.runs.budget import Budget, Estimate, Ledger, Refusal, Spent, refuse_unpriced
from misjudge_tools.runs.elsewhere import left_to_others
from misjudge_tools.runs.episode_room import EpisodeRoom, EpisodeUse, NoRoom
from misjudge_tools.runs.escalating import Escalating
from misjudge_tools.runs.feed import AHEAD, Feed, Work
from misjudge_tools.runs.first_replies import FirstReplies
from misjudge_tools.runs.outage import GatewayOutage, StoreOutage
from misjudge_tools.runs.paid import Leave, LimitReached, Paid, RunEnding
from misjudge_tools.runs.plan import ROLLOUT
from misjudge_tools.runs.run_session import RunSession
from misjudge_tools.runs.stop_report import why_stopped
from misjudge_tools.runs.stopping import Stopping

log = logging.getLogger(__name__)
T = TypeVar("T")

MOST_ASKED = 3
"""How often a cell is asked in one sitting before its loss counts; each asking has its own bounded attempts."""
UNKNOWN = Estimate(0, None)
"""Of a call that no limit asks about."""
TAKEN_OVER = "another process has taken the run over"


class Ended(NamedTuple):
    """How a run ended in this process, and why it did not get to the end of its plan."""

    state: RunState
    reason: str | None


class Sitting(NamedTuple):
    """One time that a run is worked on: under which lease, until `stop`, from where on, after how many replies of each
    judge to it, which of its cells, and `ahead` of it the claims on other runs of the audit.
    """

    run: RunRow
    lease: Lease
    stop: asyncio.Event
    before: run_progress.Progress
    replies: Mapping[str, int]
    only_failed: bool = False
    ahead: Sequence[Lease] = ()


class Execution:
    """Does the open cells of one run. `paused` says why it waits for the store, None while it does not."""

    def __init__(self, store: Store, session: RunSession, sitting: Sitting, ledger: Ledger, clock: Clock) -> None:
        self.paused: str | None = None
        self._store = store
        self._session = session
        self._run = sitting.run
        self._lease = sitting.lease
        self._escalating = Escalating(self._run, self._lease)
        self._stopping = Stopping(self._run, self._lease, self._escalating.store)
        self._store_results = self._stopping.store
        self._stop = sitting.stop
        self._feed = Feed(
            store,
            session,
            self._run,
            self._stop,
            only_failed=sitting.only_failed,
            elsewhere=partial(left_to_others, run_id=self._run.run_id, ahead=sitting.ahead),
            ahead=AHEAD * session.concurrency if self._stopping.may_spare else None,
        )
        self._before = sitting.before
        self._ledger = ledger
        self._gateway_outage = GatewayOutage(clock, self._stop, self._note)
        self._store_outage = StoreOutage(clock, self._pause)
        self._replies = FirstReplies(self._run.audit, session.labels, sitting.replies)
        self._trouble: Exception | None = None
        self._limit: str | None = None
        self._room = EpisodeRoom(ledger, clock)
        self._cut_off = 0
        self._left_out: set[str] = set()
        self._lost = 0
        self._last_loss: GatewayError | None = None

    async def carry_out(self) -> Ended:
        """Work until the plan is done, a limit is reached or the run is stopped. Raises what ended it early."""
        made = partial(planned_pairs.make_pairs, run_id=self._run.run_id)
        await self._store_outage.persist(lambda: self._write(made))
        if self._stopping.may_spare:
            await self._store_outage.persist(lambda: self._write(self._stopping.catch_up))
        await self._catch_up()
        await self._do_all()
        while self._trouble is None and await self._catch_up():  # another run has stored what a pair lacked
            await self._do_all()
        after, elsewhere, stopped = await asyncio.to_thread(self._after)
        if self._trouble is not None and (after.done < after.total or elsewhere):
            raise self._trouble
        if after.done == after.total and not elsewhere:
            return Ended("done", stopped)
        return self._ended_early(after, elsewhere)

    async def _catch_up(self) -> bool:
        """Whether cells came to the run from what others have stored."""
        if not self._escalating.may_add:
            return False
        added = await self._store_outage.persist(lambda: self._write(self._escalating.catch_up))
        if added:
            self._feed.added()
        return added > 0

    async def _do_all(self) -> None:
        open_cells = self._before.total - self._before.done
        at_once = self._session.concurrency
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once if self._escalating.may_add else min(at_once, open_cells)):
                group.create_task(self._do_cells())

    def _after(self) -> tuple[run_progress.Progress, bool, str | None]:
        """How far the run is, whether another one asks what follows here, and what it was spared."""
        with self._store.read() as connection:
            now = run_progress.progress(connection, self._run.run_id)
            elsewhere = self._escalating.left_elsewhere(connection)
            stopped = why_stopped(connection, self._run)
        return now, elsewhere or (self._feed.left_out and now.done < now.total), stopped

    def _ended_early(self, now: run_progress.Progress, elsewhere: bool) -> Ended:
        if self._last_loss is not None and now.done == self._before.done and not self._stop.is_set():
            # Whatever limit it came to: a higher one is not what helps.
            return Ended("failed", f"no call got a usable reply, the last one: {self._last_loss}")
        if self._limit is not None:
            limit = self._ledger.refused() or Refusal(True, self._limit)
            return Ended("cancelled", f"{LIMIT_REACHED}{limit.reason} {self._sample(now)} Go on with a higher limit.")
        if self._stop.is_set():
            return Ended("cancelled", "stopped; resume it to go on")
        if self._lost:
            lost = "1 call" if self._lost == 1 else f"{self._lost} calls"
            return Ended("failed", f"{lost} got no usable reply, the last one: {self._last_loss}")
        if self._left_out:
            left = f"{LIMIT_REACHED}max_usd_per_task is used up for {len(self._left_out)} of the tasks"
            return Ended("cancelled", f"{left}; {now.done} of {now.total} cells are done. Go on with a higher limit.")
        return Ended("cancelled", self._why_left(elsewhere))

    def _why_left(self, elsewhere: bool) -> str:
        if self._feed.waits_for:
            return f"what is left waits for {self._feed.waits_for} that another run makes; resume it after that one"
        if elsewhere:
            return "what is left is asked by another run; resume it after that one"
        return "the cells that had failed are done; resume it for the others"

    def _sample(self, now: run_progress.Progress) -> str:
        """What the cells that are done stand for."""
        if not now.done:
            return f"None of {now.total} cells is done."
        done = f"{now.done} of {now.total} cells are done, tasks in random order"
        if not self._cut_off:
            return f"{done}, so they are a sample."
        return (
            f"{done}, but {self._cut_off} episodes were cut off: such tend to be long, so the rest is no fair sample."
        )

    async def _do_cells(self) -> None:
        try:
            while (work := await self._next()) is not None:
                try:
                    async with self._gateway_outage.turn():
                        await self._do(work)
                finally:
                    await self._feed.finished(work)
        except Exception as error:
            # The others finish what is in flight, so that nothing paid for is lost.
            self._end(error)

    async def _next(self) -> Work | None:
        await self._store_outage.over()
        return await self._feed.next()

    async def _do(self, work: Work) -> None:
        if work.task_id in self._left_out:
            self._stopping.pass_over(work.cell, work.task_id)
            return
        if self._stop.is_set():
            return  # it waited out an outage until somebody stopped the run
        try:
            if work.shown is None:
                await (self._roll_out(work) if work.cell.kind == ROLLOUT else self._write_or_match(work))
            elif work.reply is not None:
                judge = self._session.judge_of(work.cell)
                await self._save(work.cell, judge.serve(work.cell, work.shown, work.reply))
            elif work.shown.unasked is not None:
                await self._save(work.cell, self._session.judge_of(work.cell).unasked(work.cell, work.shown))
            else:
                await self._judge(work, work.shown)
        except LimitReached as reached:
            self._cut_off += work.cell.kind == ROLLOUT
            self._refused(reached.refusal, work)
        except RunEnding:
            return

    async def _judge(self, work: Work, shown: Shown) -> None:
        judge = self._session.judge_of(work.cell)
        estimate = UNKNOWN if self._ledger.unlimited else judge.estimate(shown)
        await self._room.beside()
        async with self._leave(judge.role_of(work.cell), work.task_id, estimate) as leave:
            judged = await judge.ask(work.cell, shown)
            leave.used = judged.used
            # Before it is settled: whoever waits for its room must see what became of it.
            await self._take(work, judged)

    async def _roll_out(self, work: Work) -> None:
        rollouts = self._session.rollouts
        assert rollouts is not None
        free = not rollouts.asks_models(work.cell)
        try:
            async with nullcontext(EpisodeUse()) if free else self._room.begun(work.cell.actor_id) as use:
                leave, save = partial(self._leave, use=use), partial(self._save, work.cell)
                made = await rollouts.ask(work.cell, Paid(leave, save, self._gateway_outage.answered))
                use.whole = made.lost is None
                await self._take(work, made)
        except NoRoom as full:
            self._limit = self._limit or str(full)
            self._feed.only_judging()

    async def _write_or_match(self, work: Work) -> None:
        save = partial(self._save, work.cell)
        paid = Paid(self._leave, save, self._gateway_outage.answered)
        await self._take(work, await self._session.rubrics_of(work.cell).ask(work.cell, paid))

    @asynccontextmanager
    async def _leave(
        self, role: Role, task_id: str, estimate: Estimate, *, use: EpisodeUse | None = None
    ) -> AsyncIterator[Leave]:
        granted = await self._ledger.reserve(role, task_id, estimate)
        if isinstance(granted, Refusal):
            raise LimitReached(granted)
        if self._stop.is_set() or self._trouble is not None:  # it waited for room until the run was over
            self._ledger.settle(granted, UNUSED)
            raise RunEnding
        leave = Leave()
        try:
            yield leave
        finally:
            self._ledger.settle(granted, leave.used)
            if use is not None:
                use.add(leave.used, estimate)

    def _refused(self, refusal: Refusal, work: Work) -> None:
        if refusal.whole_run:
            self._limit = refusal.reason
            self._feed.end()
        else:
            self._left_out.add(work.task_id)
            self._stopping.pass_over(work.cell, work.task_id)

    async def _take(self, work: Work, judged: Judged) -> None:
        if judged.lost is None:
            await self._save(work.cell, judged.result)
            if work.shown is not None:
                await self._gateway_outage.answered()
            self._replies.count(work.cell, judged)
        else:
            await self._save(work.cell, self._after_loss(work, judged, judged.lost))
            trouble = judged.lost if judged.lost.stops_run else await self._gateway_outage.lost(judged.lost)
            if trouble is not None:
                self._end(trouble)
        if self._replies.trouble is not None:
            self._end(self._replies.trouble)

    def _after_loss(self, work: Work, judged: Judged, loss: GatewayError) -> CellResult:
        """What is stored of a lost call: only its attempts where the cell is asked again in this sitting."""
        down, self._last_loss = self._gateway_outage.down, loss
        if self._stop.is_set() or loss.stops_run:
            return CellResult(None, judged.result.logs)
        if loss.retryable and (down or work.asked + 1 < MOST_ASKED):
            self._feed.again(work._replace(asked=work.asked + (not down)))
            return CellResult(None, judged.result.logs)
        self._stopping.pass_over(work.cell, work.task_id)
        self._lost += 1
        return judged.result

    async def _save(self, cell: PlannedCell, result: CellResult) -> None:
        kept = await self._store_outage.persist(
            lambda: asyncio.wrap_future(self._store.writer.submit_part(self._store_results, result))
        )
        log.debug("cell stored", extra={"run": self._run.run_id, "cell": cell.cell_id})
        self._feed.arrived(kept.subjects)
        if kept.added:
            self._feed.added()
        self._feed.spare(kept.spared)
        self._feed.back(kept.back)
        if not kept.held:
            self._end(RunStopped(f"Run {self._run.run_id}: {TAKEN_OVER}."))

    def _end(self, trouble: Exception) -> None:
        self._trouble = self._trouble or trouble
        self._feed.end()

    def _pause(self, why: str | None) -> None:
        self.paused = why
        log.warning("run %s", why or "goes on", extra={"run": self._run.run_id})

    async def _note(self, why: str | None) -> None:
        log.warning("run %s", why or "goes on", extra={"run": self._run.run_id})
        await self._store_outage.persist(lambda: self._write(partial(leases.set_note, lease=self._lease, note=why)))

    def _write(self, work: Callable[..., T]) -> Awaitable[T]:
        return asyncio.wrap_future(self._store.writer.submit(work))


def ledger_of(store: Store, run: RunRow, session: RunSession, clock: Clock) -> Ledger:
    """What the run may still use. Raises InvalidInput for a limit in USD where a price is not known any more."""
    budget = Budget() if run.budget_json is None else Budget.model_validate_json(run.budget_json)
    for pricing in session.pricings:
        refuse_unpriced(budget, pricing)
    if budget.unlimited:
        return Ledger(budget, Spent(), {}, clock)
    with store.read() as connection:
        uses = run_progress.spent(connection, run.run_id)
        calls = run_progress.calls_made(connection, run.run_id)
        by_task = run_progress.spent_by_task(connection, run.run_id) if budget.max_usd_per_task else {}
        unknown = run_progress.cells_of_unknown_use(connection, run.run_id)
        cells = run_records.planned_cells(connection, run.run_id, unknown)
    tokens = sum((use.input_tokens or 0) + (use.output_tokens or 0) for use in uses)
    usd = sum(use.cost or 0.0 for use in uses)
    # As in the sitting that asked them: where the gateway states no usage, the most that a call can take counts.
    for task_id, most in session.estimates([cell for cell in cells if cell.kind != ROLLOUT]):
        tokens += most.tokens
        usd += most.usd or 0.0
        by_task[task_id] = by_task.get(task_id, 0.0) + (most.usd or 0.0)
    return Ledger(budget, Spent(calls, tokens, usd), by_task, clock)

"""The feed of a run's cells: what judges waits for what it judges, and nothing is forgotten."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from misjudge_storage import run_records
from misjudge_storage.cascade_records import add_cells
from misjudge_storage.engine import Store, open_store
from misjudge_storage.judging_records import StoredReply, store_results
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.judging.prompts import RenderedPrompt
from misjudge_tools.judging.showing import Shown
from misjudge_tools.rubrics.plan import GENERATE, MATCH
from misjudge_tools.runs.feed import CHUNK, Feed, Work
from misjudge_tools.runs.run_session import RunSession
from rollout_builders import RolloutRun, claimed, episode_made, rollout_run

TASKS = CHUNK // 3
"""Two rollouts and two judgings a task: more cells than one chunk holds."""


class Shows(RunSession):
    """Judges that see a word, since only the order of cells matters here."""

    def __init__(self, run: RolloutRun) -> None:
        super().__init__((), None)
        self._run = run

    def task_of(self, cell: PlannedCell) -> str:
        return cell.task_id or self._run.places[cell.cell_id][1]

    def show(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        word = RenderedPrompt("", "word")
        return {cell.cell_id: Shown("t", word, 4, cell.cell_id, {}) for cell in cells}

    def stored_replies(self, cells: Sequence[PlannedCell], shown: Mapping[str, Shown]) -> dict[str, StoredReply]:
        return {}


class HeldStore(Store):
    """A store whose readers are held at the end of what they read, while `hold` is set."""

    def __init__(self, real: Store) -> None:
        self.__dict__ = real.__dict__
        self.hold = threading.Event()
        self.reading = threading.Event()
        self.release = threading.Event()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with super().read() as connection:
            yield connection
        if self.hold.is_set():
            self.reading.set()
            assert self.release.wait(30)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HeldStore]:
    opened = HeldStore(open_store(tmp_path / "misjudge.db"))
    yield opened
    opened.close()


def feed_of(store: Store, run: RolloutRun) -> Feed:
    with store.read() as connection:
        row = run_records.read_run(connection, run.run_id)
    return Feed(store, Shows(run), row, asyncio.Event(), only_failed=False)


def made(store: Store, run: RolloutRun, task: str, *agents: str) -> frozenset[str]:
    """Store these agents' episodes of a task; what there is then to judge."""
    lease = claimed(store, run)
    with store.write() as connection:
        return store_results(connection, [episode_made(run, agent, task) for agent in agents], lease).subjects


async def taken(feed: Feed, number: int) -> list[Work]:
    works = [await feed.next() for _ in range(number)]
    return [work for work in works if work is not None]


async def test_what_is_stored_while_the_plan_is_read_is_judged_all_the_same(store: HeldStore) -> None:
    run = rollout_run(store, tasks=TASKS)
    feed = feed_of(store, run)
    rollouts = await taken(feed, 2 * TASKS)
    assert {work.cell.kind for work in rollouts} == {"rollout"}
    store.hold.set()
    judging = asyncio.create_task(feed.next())
    assert await asyncio.to_thread(store.reading.wait, 30)
    store.hold.clear()
    last = f"t{TASKS - 1}"
    feed.arrived(await asyncio.to_thread(made, store, run, last, "x", "y"))
    store.release.set()
    work = await judging
    assert work is not None and work.cell.pair_id == f"{last}:x|y"


async def test_a_judging_waits_until_both_sides_are_stored_and_then_goes_before_further_rollouts(
    store: HeldStore,
) -> None:
    run = rollout_run(store, tasks=2)
    feed = feed_of(store, run)
    await taken(feed, 1)
    feed.arrived(made(store, run, "t1", "x"))
    (second,) = await taken(feed, 1)
    assert second.cell.kind == "rollout"
    feed.arrived(made(store, run, "t1", "y"))
    judged = await taken(feed, 3)
    assert [work.cell.kind for work in judged] == ["pairwise", "pairwise", "rollout"]
    assert {work.cell.pair_id for work in judged[:2]} == {"t1:x|y"}


async def test_a_worker_waits_for_what_others_do_and_leaves_when_nothing_can_come(store: HeldStore) -> None:
    run = rollout_run(store)
    feed = feed_of(store, run)
    await taken(feed, 2)
    waiting = asyncio.create_task(feed.next())
    await feed.finished()
    assert not waiting.done()
    await feed.finished()
    assert await waiting is None
    assert feed.waits_for == "episodes", "its pair was never made"


async def test_cells_that_come_while_the_end_of_the_plan_is_read_are_given_out(store: HeldStore) -> None:
    run = rollout_run(store, made_elsewhere=("y",))
    feed = feed_of(store, run)
    await taken(feed, 1)
    store.hold.set()
    next_one = asyncio.create_task(feed.next())
    assert await asyncio.to_thread(store.reading.wait, 30)
    store.hold.clear()
    late = PlannedCell(run.trajectory("y"), "rollout", "agt_y", None, None, None, 0)
    await asyncio.to_thread(add, store, run, late)
    feed.added()
    store.release.set()
    work = await next_one
    assert work is not None and work.cell.cell_id == late.cell_id


async def test_what_is_spared_is_not_given_out_wherever_it_is_by_then(store: HeldStore) -> None:
    run = rollout_run(store, tasks=3)
    feed = feed_of(store, run)
    (first,) = await taken(feed, 1)
    feed.arrived(made(store, run, "t0", "x", "y"))
    (judging,) = await taken(feed, 1)
    ready = next(cell for cell in run.cells if cell.pair_id == "t0:x|y" and cell.cell_id != judging.cell.cell_id)
    waiting = [cell for cell in run.cells if cell.pair_id == "t1:x|y"]
    rollouts = [run.trajectory(agent, "t1") for agent in ("x", "y")]
    feed.spare({ready.cell_id, *[cell.cell_id for cell in waiting], *rollouts, first.cell.cell_id})
    feed.again(first)
    made(store, run, "t1", "x", "y")
    feed.arrived({"t1:x|y"})
    left = await taken(feed, 3)
    given = [run.places.get(work.cell.cell_id, (None, None))[1] for work in left]
    assert given == ["t0", "t2", "t2"], "the other episode of t0, and those of t2"
    feed.spare(())
    feed.end()
    assert await feed.next() is None and feed.waits_for == "episodes"


async def test_what_is_spared_while_the_plan_is_read_is_not_given_out(store: HeldStore) -> None:
    run = rollout_run(store, tasks=2)
    feed = feed_of(store, run)
    store.hold.set()
    first = asyncio.create_task(feed.next())
    assert await asyncio.to_thread(store.reading.wait, 30)
    store.hold.clear()
    feed.spare({run.trajectory("x", "t0")})
    store.release.set()
    work = await first
    assert work is not None and work.cell.cell_id == run.trajectory("y", "t0")


async def test_however_many_cells_waited_they_keep_the_order_of_the_plan(store: HeldStore) -> None:
    run = rollout_run(store)
    matchings = [
        PlannedCell(f"c{n:03}", MATCH, "m", None, None, None, 0, task_id="t0", draft_id="d") for n in range(CHUNK + 50)
    ]
    add(store, run, PlannedCell("d", GENERATE, "w", None, None, None, 0, task_id="t0"), *matchings)
    feed = feed_of(store, run)
    assert [work.cell.kind for work in await taken(feed, 3)] == [GENERATE, "rollout", "rollout"]
    store.hold.set()
    first = asyncio.create_task(feed.next())
    assert await asyncio.to_thread(store.reading.wait, 30)
    store.hold.clear()
    feed.arrived({"d"})  # while the rest of what waits for it is read
    store.release.set()
    given = [await first, *await taken(feed, len(matchings) - 1)]
    assert [work and work.cell.cell_id for work in given] == [cell.cell_id for cell in matchings]


def add(store: Store, run: RolloutRun, *cells: PlannedCell) -> None:
    with store.write() as connection:
        assert add_cells(connection, run.run_id, cells) == len(cells)

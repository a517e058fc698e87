"""The feed of a run's cells: what judges waits for what it judges, and nothing is forgotten."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def feed_of(store: Store, run: RolloutRun, ahead: int | None = None) -> Feed:
    with store.read() as connection:
        row = run_records.read_run(connection, run.run_id)
    return Feed(store, Shows(run), row, asyncio.Event(), only_failed=False, ahead=ahead)


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
    first, second = await taken(feed, 2)
    waiting = asyncio.create_task(feed.next())
    await feed.finished(first)
    assert not waiting.done()
    await feed.finished(second)
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


async def test_what_comes_back_is_given_out_once_wherever_it_was_by_then(store: HeldStore) -> None:
    run = rollout_run(store, made_elsewhere=("x", "y"))
    made(store, run, "t0", "x", "y")
    more = [PlannedCell(f"c{n}", MATCH, "m", None, None, None, 0, task_id="t0") for n in range(CHUNK)]
    add(store, run, *more)
    feed = feed_of(store, run)
    in_work, passed = await taken(feed, 1), [run.cells[1], *map(of(run), (3, 4))]
    unread = of(run)(CHUNK + 1)
    feed.spare({work.cell.cell_id for work in in_work} | {cell.cell_id for cell in (*passed, unread)})
    for _ in range(2):  # each of the results that were stored together tells of it
        feed.back([in_work[0].cell, *passed[:2], unread])
    given = await taken(feed, CHUNK)
    assert [work.cell.cell_id for work in given[:2]] == [cell.cell_id for cell in passed[:2]], "before the others"
    assert in_work[0].cell.cell_id not in {work.cell.cell_id for work in given}, "its worker is not finished with it"
    everything = {cell.cell_id for cell in (*run.cells, *more)} - {in_work[0].cell.cell_id, passed[2].cell_id}
    assert Counter(work.cell.cell_id for work in given) == Counter(everything)


def of(run: RolloutRun) -> Callable[[int], PlannedCell]:
    """The matching at a place of the plan, behind the two cells of its pair."""
    return lambda seq: PlannedCell(f"c{seq - 3}", MATCH, "m", None, None, None, 0, seq, task_id="t0")


async def test_a_call_that_was_lost_while_it_was_spared_is_asked_again_where_it_came_back(store: HeldStore) -> None:
    run = rollout_run(store, made_elsewhere=("x", "y"))
    made(store, run, "t0", "x", "y")
    feed = feed_of(store, run)
    first, second = await taken(feed, 2)
    feed.spare({first.cell.cell_id, second.cell.cell_id})
    for work in (first, second):
        feed.again(work._replace(asked=1))
    feed.back([first.cell])
    await feed.finished(first)
    (again,) = await taken(feed, 1)
    assert again == first._replace(asked=1)
    await feed.finished(second)
    await feed.finished(again)
    assert await feed.next() is None


async def test_beside_one_that_takes_long_no_more_is_given_out_than_may_be(store: HeldStore) -> None:
    run = rollout_run(store, tasks=4)
    feed = feed_of(store, run, ahead=3)
    given = await taken(feed, 4)
    assert [work.cell.seq for work in given] == [1, 2, 3, 4]
    waiting = asyncio.create_task(feed.next())
    for work in given[1:]:
        await feed.finished(work)
        assert not waiting.done(), "three beside the first"
    await feed.finished(given[0])
    fifth = await waiting
    assert fifth is not None and fifth.cell.seq == 5


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

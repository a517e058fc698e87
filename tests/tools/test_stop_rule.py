"""The rule of adaptive stopping, on what is stored or said to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import text

from misjudge_storage import stopping_records
from misjudge_storage.cascade_records import Said
from misjudge_storage.engine import Store, open_store
from misjudge_storage.ingest import ensure_judge
from misjudge_storage.judging_records import CellResult, Kept, store_results
from misjudge_storage.leases import claim
from misjudge_storage.rows import audit_id
from misjudge_storage.run_records import PlannedCell, create_run, read_run
from misjudge_storage.stopping_records import Place, Question
from misjudge_storage.types import Preference, Side
from misjudge_tools.judging.choice import choose_judge, judge_of
from misjudge_tools.requests import Stop
from misjudge_tools.runs.spec import RunSpec
from misjudge_tools.runs.stop_report import stopping_facts
from misjudge_tools.runs.stop_rule import (
    ALL,
    Bucket,
    Evidence,
    Saved,
    Unit,
    Walk,
    needless,
    saved,
    spared_cells,
    units_of,
    walked,
)
from misjudge_tools.runs.stopping import Stopping
from operations import NOWHERE, count, pair_records, stored

BUCKET = Bucket("j", ALL)
STOP = Stop(threshold=0.3)


def cell(pair: str, order: Any = "AB", judge: str = "j", repeat: int = 0) -> PlannedCell:
    return PlannedCell(f"{judge} {pair} {order} {repeat}", "pairwise", judge, pair, None, order, repeat)


def unit(task: str, *pairs: str) -> Unit:
    return Unit(task, tuple(cell(pair, order) for pair in pairs or (task,) for order in ("AB", "BA")))


def reader(said: Mapping[str, Preference | None], gold: Mapping[str, Side]) -> Any:
    """What is stored: of each pair the same verdict in both orders."""

    def read(units: Sequence[Unit]) -> Evidence:
        cells = [one for unit in units for one in unit.cells if one.pair_id in said]
        return Evidence({one.cell_id: Said(one.order_shown or "AB", said[str(one.pair_id)]) for one in cells}, gold)

    return read


def test_pairs_are_grouped_by_judge_bucket_and_task_in_the_order_of_the_plan() -> None:
    places = {"p": Place("t", "near"), "q": Place("t", "wide"), "r": Place("s", "near"), "u": Place("s", None)}
    questions = [Question(cell(pair, judge=judge), places[pair]) for judge in "jk" for pair in "rpqu"]
    found = units_of(questions)
    assert list(found) == [Bucket(judge, name) for judge in "jk" for name in ("near", "wide", "undeclared")]
    assert [one.task_id for one in found[Bucket("j", "near")]] == ["s", "t"]
    assert units_of([Question(cell("u"), places["u"])]) == {BUCKET: [Unit("s", (cell("u"),))]}


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_enough_is_known_after_the_first_tasks_that_say_so(at_once: int) -> None:
    units = [unit(f"t{n}") for n in range(30)]
    read = reader({f"t{n}": "B" for n in range(30)}, {f"t{n}": "A" for n in range(30)})
    walk = walked(Walk(), BUCKET, units, STOP, read, (), at_once)
    assert walk.decision is not None
    assert (walk.decision.tasks, walk.position) == (walk.decision.tasks, walk.decision.tasks)
    assert walked(walk, BUCKET, units, STOP, read, (), at_once) == walk, "it stays so"
    assert walked(Walk(), BUCKET, units[: walk.position - 1], STOP, read, (), at_once).decision is None


def test_tasks_behind_one_that_is_not_complete_do_not_count_unless_it_is_passed_over() -> None:
    units = [unit(f"t{n}") for n in range(30)]
    read = reader({f"t{n}": "B" for n in range(30) if n != 2}, {f"t{n}": "A" for n in range(30)})
    walk = walked(Walk(), BUCKET, units, STOP, read)
    assert (walk.position, walk.decision) == (2, None)
    onwards = walked(walk, BUCKET, units, STOP, read, {(BUCKET, "t2")})
    assert onwards.decision is not None and onwards.position == onwards.decision.tasks + 1
    assert walked(walk, BUCKET, units, STOP, read, {(Bucket("k", ALL), "t2")}) == walk


def test_a_task_counts_by_its_share_of_wrong_calls_and_only_where_something_was_scored() -> None:
    units = [unit("t0", "p", "q", "r"), unit("t1", "unread"), unit("t2", "undecidable"), unit("t3", "tie")]
    said: dict[str, Preference | None] = {
        "p": "B",
        "q": "A",
        "r": None,
        "unread": None,
        "undecidable": "A",
        "tie": "tie",
    }
    gold: dict[str, Side] = {name: "A" for name in said if name != "undecidable"}
    walk = walked(Walk(), BUCKET, units, STOP, reader(said, gold))
    assert walk.seen == {(2, 4): 1, (0, 2): 1} and walk.position == 4


def test_a_task_of_which_one_order_is_missing_is_not_complete() -> None:
    units = [unit("t0")]

    def read(units: Sequence[Unit]) -> Evidence:
        return Evidence({units[0].cells[0].cell_id: Said("AB", "B")}, {"t0": "A"})

    assert walked(Walk(), BUCKET, units, STOP, read).position == 0


def test_of_a_decided_bucket_all_is_needless_but_the_other_order_of_what_was_begun() -> None:
    twice = tuple(cell("p", order, repeat=repeat) for repeat in (0, 1) for order in ("AB", "BA"))
    units = [Unit("t", twice), unit("q")]
    stored_now = {units[0].cells[0].cell_id}
    assert needless(units, stored_now) == [*units[0].cells[2:], *units[1].cells], "also of another repeat"
    assert needless(units, ()) == [one for unit in units for one in unit.cells]


def test_what_is_saved_is_what_left_the_plan_and_is_not_asked_all_the_same() -> None:
    near = Bucket("j", "near"), [cell("p"), cell("p", "BA"), cell("q")]
    wide = Bucket("k", "wide"), [cell("p", judge="k"), cell("r", judge="k")]
    episodes = [PlannedCell(name, kind, "x", None, None, None, 0) for name, kind in (("e", "rollout"), ("s", "score"))]
    noted = spared_cells(dict([near, wide, (Bucket("l", "wide"), [])]), episodes)
    assert [(one.judge_id, one.bucket, one.kind, len(one.cells)) for one in noted] == [
        ("j", "near", "pairwise", 3),
        ("k", "wide", "pairwise", 2),
        (None, None, "rollout", 1),
        (None, None, "score", 1),
    ]
    assert saved(noted, (), ()) == Saved(3, 6, 1)
    assert saved(noted, (), {"r", "u"}) == Saved(2, 6, 1), "another judge is asked about it"
    assert saved(noted, {cell("p", "BA").cell_id, "e"}, ()) == Saved(2, 5, 0)


class Undone(Exception):
    """A transaction is given up."""


class AtWork(NamedTuple):
    """A run of a simulated judge over 30 pairs, each in both orders, that somebody works on."""

    store: Store
    run_id: str
    plan: list[PlannedCell]
    stopping: Stopping

    def stored(self, *places: int) -> Kept:
        """Store that the judge is wrong in these cells of the plan."""
        with self.store.write() as connection:
            return self.stopping.store(connection, [self.result(place) for place in places])

    def result(self, place: int) -> CellResult:
        one = self.plan[place]
        row = {
            "verdict_id": one.cell_id, "audit_id": audit_id("a"), "judge_id": one.actor_id, "pair_id": one.pair_id,
            "trajectory_id": None, "order_shown": one.order_shown, "repeat": one.repeat, "status": "decided",
            "winner": "B", "reasons": "", "reduced": False, "repaired": False, "contradicts_scores": False,
            "content_hash": "",
        }  # fmt: skip
        return CellResult(row, ())

    def catch_up(self) -> None:
        with self.store.write() as connection:
            self.stopping.catch_up(connection)

    def noted(self) -> int:
        with self.store.read() as connection:
            return len(stopping_records.decisions(connection, self.run_id))


@pytest.fixture
def at_work(tmp_path: Path) -> Iterator[AtWork]:
    spec = choose_judge("simulated", "pairwise", "en", NOWHERE, to_ask=True)
    store = open_store(tmp_path / "s.db")
    audit = stored(store, pair_records(30))
    with store.write() as connection:
        judge_id = ensure_judge(connection, audit, judge_of(spec))
        plan = [cell(f"p{n}", order, judge_id) for n in range(30) for order in ("AB", "BA")]
        with_stop = RunSpec(judges=(spec,), stop=STOP).model_dump_json()
        run_id = create_run(connection, audit, "judge", with_stop, None, plan)
    yield AtWork(store, run_id, plan, taken_up(store, run_id))
    store.close()


def taken_up(store: Store, run_id: str) -> Stopping:
    with store.write() as connection:
        lease = claim(connection, run_id, "me")
        run = read_run(connection, run_id)
    assert lease is not None
    return Stopping(run, lease, lambda c, results: store_results(c, results, lease))


def test_what_a_transaction_counted_that_was_undone_decides_nothing(at_work: AtWork) -> None:
    """Enough is seen only together with what is then rolled back; what is stored alone is weighed anew."""
    at_work.catch_up()
    with pytest.raises(Undone), at_work.store.write() as connection:
        assert at_work.stopping.store(connection, [at_work.result(place) for place in range(40)]).spared
        raise Undone
    assert not at_work.stored(0, 1).spared, "two verdicts are not enough"
    assert (count(at_work.store, "cells"), at_work.noted()) == (60, 0)
    assert len(at_work.stored(*range(2, 40)).spared) == 20
    assert (count(at_work.store, "cells"), at_work.noted()) == (40, 1)


def test_a_pair_that_was_begun_or_in_flight_gets_both_of_its_orders_whoever_goes_on(at_work: AtWork) -> None:
    at_work.catch_up()
    spared = at_work.stored(*range(20), 30).spared
    assert len(spared) == 60 - 20 - 2 and at_work.plan[31].cell_id not in spared
    late = at_work.stored(44)
    assert (late.spared, count(at_work.store, "cells")) == (frozenset(), 60 - 38 + 2)
    assert {cell.cell_id for cell in late.back} == {at_work.plan[place].cell_id for place in (44, 45)}, "both orders"
    resumed = at_work._replace(stopping=taken_up(at_work.store, at_work.run_id))
    resumed.catch_up()
    assert count(at_work.store, "cells", f"cell_id = '{at_work.plan[45].cell_id}'") == 1, "it is still to be asked"
    assert resumed.stored(45).spared == frozenset() and at_work.noted() == 1
    with at_work.store.read() as connection:
        assert stopping_facts(connection, [at_work.run_id], {}) is None, "what it was to do was not noted"


def test_who_lost_the_run_spares_nothing(at_work: AtWork) -> None:
    at_work.catch_up()
    with at_work.store.write() as connection:
        connection.execute(text("UPDATE runs SET owner = 'thief', epoch = epoch + 1"))
    at_work.catch_up()
    kept = at_work.stored(*range(40))
    assert (kept.held, kept.spared, count(at_work.store, "cells")) == (False, frozenset(), 60)


@pytest.mark.parametrize(("kind", "spares"), [("rollout", True), ("satisfaction", False)])
def test_a_task_whose_episode_cannot_be_made_now_is_passed_over(at_work: AtWork, kind: str, spares: bool) -> None:
    at_work.catch_up()
    at_work.stopping.pass_over(PlannedCell("e", kind, "x", None, None, None, 0), "task of p0")
    assert bool(at_work.stored(*range(2, 40)).spared) == spares


def test_a_task_whose_call_is_lost_is_passed_over(at_work: AtWork) -> None:
    at_work.catch_up()
    assert not at_work.stored(0, *range(2, 40)).spared
    at_work.stopping.pass_over(at_work.plan[1], "task of p0")
    assert at_work.plan[1].cell_id not in at_work.stored(40, 41).spared, "its pair was begun"
    assert at_work.noted() == 1

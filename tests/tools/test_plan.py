"""Plans: which cells a judging takes, in which order, with which ids."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.rows import cell_id
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.runs.plan import minus_stored, pair_cells, trajectory_cells

IDS = st.lists(st.text(max_size=5), unique=True, max_size=8)
REPEATS = st.integers(1, 4)


@given(IDS, REPEATS)
def test_each_pair_has_a_cell_for_every_order_and_repeat(pair_ids: list[str], repeats: int) -> None:
    plan = list(pair_cells("aud", "jdg", pair_ids, repeats))
    wanted = {(pair, order, repeat) for pair in pair_ids for order in ("AB", "BA") for repeat in range(repeats)}
    assert {(cell.pair_id, cell.order_shown, cell.repeat) for cell in plan} == wanted
    assert len(plan) == len(wanted) == len({cell.cell_id for cell in plan})


@given(IDS, REPEATS)
def test_each_trajectory_has_a_cell_for_every_repeat(ids: list[str], repeats: int) -> None:
    plan = list(trajectory_cells("aud", "jdg", ids, repeats))
    assert [(cell.trajectory_id, cell.repeat) for cell in plan] == [(one, n) for n in range(repeats) for one in ids]
    assert {(cell.pair_id, cell.order_shown, cell.kind) for cell in plan} <= {(None, None, "satisfaction")}
    assert len(plan) == len({cell.cell_id for cell in plan})


@given(IDS, REPEATS)
def test_the_two_orders_of_a_pair_stand_side_by_side_and_repeats_come_last(ids: list[str], repeats: int) -> None:
    plan = list(pair_cells("aud", "jdg", ids, repeats))
    assert all(a.pair_id == b.pair_id for a, b in zip(plan[::2], plan[1::2], strict=True))
    assert all(a.repeat <= b.repeat for a, b in pairwise(plan))


def test_the_id_of_a_cell_is_that_of_the_verdict_that_ends_it() -> None:
    ab, ba = pair_cells("aud", "jdg", ["p"], 1)
    assert ab.cell_id == cell_id("aud", "jdg", "p", "AB", 0)
    assert ba.cell_id == cell_id("aud", "jdg", "p", "BA", 0)
    (one,) = trajectory_cells("aud", "jdg", ["t"], 1)
    assert one.cell_id == cell_id("aud", "jdg", "t", None, 0)


def test_another_audit_or_judge_gives_other_cells() -> None:
    plans = [list(pair_cells(audit, judge, ["p"], 2)) for audit in ("a", "b") for judge in ("j", "k")]
    ids = [cell.cell_id for plan in plans for cell in plan]
    assert len(ids) == len(set(ids)) == 16


@given(IDS, REPEATS, st.data())
def test_what_is_stored_is_taken_off_the_plan_and_the_order_stays(
    ids: list[str], repeats: int, data: st.DataObject
) -> None:
    plan = list(pair_cells("aud", "jdg", ids, repeats))
    stored = {cell.cell_id for cell in plan if data.draw(st.booleans())} | {"cell of another run"}
    left: list[PlannedCell] = minus_stored(plan, stored)
    assert left == [cell for cell in plan if cell.cell_id not in stored]

"""Plans: which cells a judging takes, in which order, with which ids."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.rows import cell_id
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Form
from misjudge_tools.runs.plan import ORDERS, both_orders, minus_stored, pair_cells, trajectory_cells

IDS = st.lists(st.text(max_size=5), unique=True, max_size=8)
REPEATS = st.integers(1, 4)


JUDGES = st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=3)


@given(IDS, JUDGES, REPEATS)
def test_each_pair_has_a_cell_for_every_judge_order_and_repeat(ids: list[str], judges: list[str], repeats: int) -> None:
    plan = list(pair_cells("aud", judges, ids, repeats, both_orders))
    wanted = set(product(ids, judges, ("AB", "BA"), range(repeats)))
    assert {(cell.pair_id, cell.actor_id, cell.order_shown, cell.repeat) for cell in plan} == wanted
    assert len(plan) == len(wanted) == len({cell.cell_id for cell in plan})
    assert {cell.kind for cell in plan} <= {"pairwise"}


@given(IDS, JUDGES, REPEATS, st.sampled_from(["satisfaction", "gate", "proxy"]))
def test_each_trajectory_has_a_cell_for_every_judge_and_repeat(
    ids: list[str], judges: list[str], repeats: int, form: Form
) -> None:
    plan = list(trajectory_cells("aud", form, judges, ids, repeats))
    wanted = [(n, one, judge) for n in range(repeats) for one in ids for judge in judges]
    assert [(cell.repeat, cell.trajectory_id, cell.actor_id) for cell in plan] == wanted
    assert {(cell.pair_id, cell.order_shown, cell.kind) for cell in plan} <= {(None, None, form)}
    assert len(plan) == len({cell.cell_id for cell in plan})


@given(IDS, JUDGES, REPEATS)
def test_what_is_asked_of_a_pair_stands_side_by_side_and_repeats_come_last(
    ids: list[str], judges: list[str], repeats: int
) -> None:
    plan = list(pair_cells("aud", judges, ids, repeats, both_orders))
    wanted = [(n, one, judge, order) for n in range(repeats) for one in ids for judge in judges for order in ORDERS]
    assert [(cell.repeat, cell.pair_id, cell.actor_id, cell.order_shown) for cell in plan] == wanted


@given(IDS, JUDGES, REPEATS)
def test_a_panel_member_has_the_cells_that_it_would_have_alone(ids: list[str], judges: list[str], repeats: int) -> None:
    plan = list(pair_cells("aud", judges, ids, repeats, both_orders))
    for judge in judges:
        alone = list(pair_cells("aud", [judge], ids, repeats, both_orders))
        assert [cell for cell in plan if cell.actor_id == judge] == alone


def test_the_id_of_a_cell_is_that_of_the_verdict_that_ends_it() -> None:
    ab, ba = pair_cells("aud", ["jdg"], ["p"], 1, both_orders)
    assert ab.cell_id == cell_id("aud", "jdg", "p", "AB", 0)
    assert ba.cell_id == cell_id("aud", "jdg", "p", "BA", 0)
    (one,) = trajectory_cells("aud", "gate", ["jdg"], ["t"], 1)
    assert one.cell_id == cell_id("aud", "jdg", "t", None, 0)


def test_another_audit_or_judge_gives_other_cells() -> None:
    plans = [list(pair_cells(audit, [judge], ["p"], 2, both_orders)) for audit in ("a", "b") for judge in ("j", "k")]
    ids = [cell.cell_id for plan in plans for cell in plan]
    assert len(ids) == len(set(ids)) == 16


@given(IDS, REPEATS, st.data())
def test_what_is_stored_is_taken_off_the_plan_and_the_order_stays(
    ids: list[str], repeats: int, data: st.DataObject
) -> None:
    plan = list(pair_cells("aud", ["jdg"], ids, repeats, both_orders))
    stored = {cell.cell_id for cell in plan if data.draw(st.booleans())} | {"cell of another run"}
    left: list[PlannedCell] = minus_stored(plan, stored)
    assert left == [cell for cell in plan if cell.cell_id not in stored]

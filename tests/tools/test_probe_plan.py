"""Which cells a probing takes: its items, their order, the side that is changed, what cannot be changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.judging_records import PairSubject, Subject
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Message, Order, Task
from misjudge_tools.judging.prompts import Language
from misjudge_tools.probing.plan import PROBE, Asked, ProbePlan, drawn_side, in_item_order, language_of, plan_probes
from misjudge_tools.probing.variants import PROBES, SIDELESS, read_variant
from misjudge_tools.runs.plan import OPPOSITE, balanced_orders

SEED = 3


def subjects(number: int, *, criteria: str = "One. Two.", language: str | None = None) -> list[PairSubject]:
    """Pairs `p0`, `p1`, … with a tool result on either side."""
    said = (Message(role="tool", content="done"), Message(role="assistant", content="It is done."))
    return [
        PairSubject(f"p{n}", Task(task_id=f"t{n}", success_criteria=criteria, language=language), said, said)
        for n in range(number)
    ]


def planned(
    pairs: Sequence[PairSubject], probes: Sequence[str] = PROBES, language: Language = "en", unseen: str = ""
) -> ProbePlan:
    orders = balanced_orders(SEED, [pair.pair_id for pair in pairs], {})
    asked = Asked("aud", "jdg", probes, language, orders, drawn_side(SEED), frozenset({unseen}))
    return plan_probes(asked, pairs)


def of_pair(plan: ProbePlan, pair_id: str) -> list[PlannedCell]:
    return [cell for cell in plan.cells if cell.pair_id == pair_id]


def test_an_item_is_asked_twice_as_it_is_and_once_under_each_probe_in_its_one_order() -> None:
    plan = planned(subjects(6))
    assert (plan.items, plan.not_applicable, len(plan.cells)) == (6, {}, 6 * 16)
    assert {(cell.kind, cell.actor_id, cell.trajectory_id) for cell in plan.cells} == {(PROBE, "jdg", None)}
    for n in range(6):
        first, second, *changed = of_pair(plan, f"p{n}")
        assert [(cell.variant, cell.repeat) for cell in (first, second)] == [
            ("baseline.en.v1", 0),
            ("baseline.en.v1", 1),
        ]
        assert [read_variant(cell.variant or "").probe for cell in changed] == list(PROBES)
        assert {cell.repeat for cell in changed} == {0}
        order: Order = first.order_shown or "AB"
        for cell in (second, *changed):
            swapped = (cell.variant or "").startswith("swapped_order")
            assert cell.order_shown == (OPPOSITE[order] if swapped else order)
    assert len({cell.cell_id for cell in plan.cells}) == len(plan.cells)


def test_the_cells_of_an_item_stand_together_so_that_a_part_of_a_plan_is_whole_items() -> None:
    pairs = [cell.pair_id for cell in planned(subjects(5)).cells]
    assert pairs == [f"p{n}" for n in range(5) for _ in range(16)]


def test_orders_are_balanced_over_items_and_sides_over_the_plan() -> None:
    cells = planned(subjects(200)).cells
    shown = Counter(cell.order_shown for cell in cells if cell.repeat == 1)
    assert shown == {"AB": 100, "BA": 100}
    sides = Counter(read_variant(cell.variant or "").side for cell in cells)
    sided = len(PROBES) - len(SIDELESS - {"baseline"})
    assert sides[None] == 200 * 4 and sides["A"] + sides["B"] == 200 * sided
    assert abs(sides["A"] - sides["B"]) < 4 * (200 * sided) ** 0.5


def test_sides_differ_by_probe_and_by_the_audits_seed() -> None:
    found = {tuple(drawn_side(seed)(f"p{n}", "padding") for n in range(40)) for seed in range(3)}
    assert len(found) == 3
    assert len({tuple(drawn_side(0)(f"p{n}", probe) for n in range(40)) for probe in PROBES}) == len(PROBES)


@given(st.integers(1, 12), st.integers(1, 12), st.sets(st.sampled_from(PROBES), min_size=1))
def test_more_items_or_more_probes_leave_the_cells_before_as_they_are(few: int, more: int, some: set[str]) -> None:
    whole = {cell.cell_id: cell._replace(seq=0) for cell in planned(subjects(few + more)).cells}
    part = planned(subjects(few), [probe for probe in PROBES if probe in some])
    assert len(part.cells) == few * (2 + len(some))
    assert all(whole[cell.cell_id] == cell for cell in part.cells)


def test_what_a_probe_cannot_change_is_counted_and_not_asked() -> None:
    plain = [pair._replace(a=pair.a[1:], b=pair.b[1:]) for pair in subjects(4, criteria="One.")]
    plan = planned([*plain, *subjects(1)])
    assert plan.not_applicable == {"injected_tool": 4, "criteria_order": 4}
    assert [len(of_pair(plan, pair_id)) for pair_id in ("p1", "p3")] == [14, 14]


def test_a_pair_that_no_probe_can_change_is_no_item() -> None:
    plan = planned([*subjects(2, criteria="One."), *subjects(3)[2:]], ["criteria_order"])
    assert (plan.items, plan.not_applicable, len(plan.cells)) == (1, {"criteria_order": 2}, 3)
    assert planned(subjects(2, criteria=""), ["criteria_order"]).cells == ()


def test_a_probe_of_what_the_prompt_does_not_show_changes_nothing() -> None:
    plan = planned(subjects(2), unseen="criteria_order")
    assert (plan.not_applicable, len(plan.cells)) == ({"criteria_order": 2}, 2 * 15)


@pytest.mark.parametrize(
    ("stated", "spoken"),
    [
        *(("en", "en"), ("zh", "zh"), ("zh-CN", "zh"), ("EN_us", "en"), ("Chinese", "zh"), ("中文", "zh")),
        *(("english (US)", "en"), ("fr", None), ("", None), (None, None)),
    ],
)
def test_texts_are_in_the_language_of_the_task_or_of_the_request(stated: str | None, spoken: Language | None) -> None:
    for asked in ("en", "zh"):
        assert language_of(stated, asked) == (spoken or asked)
        cells = planned(subjects(1, language=stated), language=asked).cells
        assert {read_variant(cell.variant or "").language for cell in cells} == {spoken or asked}


def test_every_task_comes_before_the_second_pair_of_any() -> None:
    pairs = [Subject(f"t{task}.{pair}", f"t{task}") for task in range(9) for pair in range(1 + task % 3)]
    order = in_item_order(SEED, pairs)
    assert sorted(order) == sorted(pair.subject_id for pair in pairs)
    tasks = [pair_id.split(".")[0] for pair_id in order]
    assert len(set(tasks[:9])) == 9 and len(set(tasks[9:15])) == 6 and len(tasks[15:]) == 3
    assert tasks[:9] != sorted(tasks[:9])
    assert [task for task in tasks[:9] if task in tasks[9:15]] == tasks[9:15]
    assert in_item_order(SEED, pairs[::-1]) == order != in_item_order(SEED + 1, pairs)
    # Which of a task's pairs comes first is drawn, too: ids may stand for agents.
    assert {pair_id.split(".")[1] for pair_id in in_item_order(SEED, _many())[:40]} == {"0", "1", "2"}


def _many() -> list[Subject]:
    return [Subject(f"t{task}.{pair}", f"t{task}") for task in range(40) for pair in range(3)]

"""Plans of rubric work: every cell once, task by task, and the same tasks whoever is asked."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.run_records import PlannedCell
from misjudge_tools.rubrics.plan import GENERATE, MATCH, by_task, draft_cells, draft_id, match_cells, with_drafts
from misjudge_tools.runs.plan import both_orders, pair_cells, trajectory_cells

NAMES = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4, unique=True)


def whole_plan(
    tasks: Sequence[str], writers: Sequence[str], matchers: Sequence[str], judges: Sequence[str]
) -> list[PlannedCell]:
    """Drafts, matchings and two pairs of each task."""
    task_of = {f"{task}/{n}": task for task in tasks for n in range(2)}
    stages = (
        draft_cells("a", writers, tasks),
        match_cells("a", matchers, writers, tasks),
        pair_cells("a", judges, list(task_of), 1, both_orders),
    )
    return by_task(tasks, stages, task_of)


@given(NAMES, NAMES, NAMES, NAMES)
def test_a_plan_holds_every_cell_once(
    tasks: list[str], writers: list[str], matchers: list[str], judges: list[str]
) -> None:
    ids = [cell.cell_id for cell in whole_plan(tasks, writers, matchers, [f"judge {one}" for one in judges])]
    assert len(ids) == len(set(ids))
    assert len(ids) == len(tasks) * (len(writers) * (1 + len(matchers)) + 4 * len(judges))


@given(NAMES, NAMES, NAMES, NAMES)
def test_each_task_is_done_whole_before_the_next_and_what_waits_stands_behind_what_it_waits_for(
    tasks: list[str], writers: list[str], matchers: list[str], judges: list[str]
) -> None:
    plan = whole_plan(tasks, writers, matchers, judges)
    of_task = [cell.task_id or (cell.pair_id or "").rpartition("/")[0] for cell in plan]
    assert of_task == [task for task in tasks for _ in range(len(plan) // len(tasks))]
    place = {cell.cell_id: n for n, cell in enumerate(plan)}
    assert all(place[cell.draft_id] < place[cell.cell_id] for cell in plan if cell.draft_id is not None)
    stages = {GENERATE: 0, MATCH: 1, "pairwise": 2}
    for task in tasks:
        kinds = [stages[cell.kind] for cell, mine in zip(plan, of_task, strict=True) if mine == task]
        assert kinds == sorted(kinds)


@given(NAMES, NAMES, NAMES)
def test_other_judges_writers_and_matchers_do_the_same_tasks_in_the_same_order(
    tasks: list[str], one: list[str], other: list[str]
) -> None:
    mine, theirs = whole_plan(tasks, one, one, one), whole_plan(tasks, other, other, other)
    assert list(dict.fromkeys(cell.task_id for cell in mine if cell.task_id)) == tasks
    assert list(dict.fromkeys(cell.task_id for cell in theirs if cell.task_id)) == tasks


@given(NAMES, NAMES)
def test_a_draft_has_one_id_whoever_needs_it(tasks: list[str], writers: list[str]) -> None:
    drafts = {cell.cell_id: cell for cell in draft_cells("a", writers, tasks)}
    matched = [cell.draft_id for cell in match_cells("a", ["m"], writers, tasks)]
    assert matched == list(drafts)
    assert all(draft_id("a", cell.actor_id, cell.task_id or "") == key for key, cell in drafts.items())
    assert drafts.keys().isdisjoint(cell.cell_id for cell in draft_cells("another audit", writers, tasks))


def test_what_judges_by_written_rules_waits_for_those_of_its_own_task() -> None:
    pairs = with_drafts(pair_cells("a", ["j"], ["p", "q"], 1, both_orders), {"p": "draft p", "q": "draft q"})
    assert [(cell.pair_id, cell.order_shown, cell.draft_id) for cell in pairs] == [
        ("p", "AB", "draft p"),
        ("p", "BA", "draft p"),
        ("q", "AB", "draft q"),
        ("q", "BA", "draft q"),
    ]
    lone = with_drafts(trajectory_cells("a", "rubric", ["j"], ["t"], 1), {"t": "draft t"})
    assert [(cell.kind, cell.trajectory_id, cell.draft_id) for cell in lone] == [("rubric", "t", "draft t")]

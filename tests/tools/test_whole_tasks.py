"""Runs on rubrics that end early: what they stored is whole tasks, the first ones of the plan."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.run_progress import stored_cells
from misjudge_tools.deps import Deps
from misjudge_tools.requests import ScoreRubricsRequest
from misjudge_tools.runs.feed import CHUNK
from misjudge_tools.score_rubrics import rubric_run
from operations import Messages, PromptJudge, keyed, opened, rows, stored, verdict_text
from rubric_cell_parts import blocks, rubric_records, writes_and_matches

CELLS_A_TASK = 8
"""A rubric, its matching, and a pair in both orders with no rules, those of the model and people's."""
CALLS_A_TASK = 10
TASKS = CHUNK // CELLS_A_TASK + 8
"""More than one chunk holds."""
CELLS = """
    SELECT c.cell_id, COALESCE(c.task_id, p.task_id) AS task_id, l.cell_id IS NOT NULL AS asked
    FROM cells c LEFT JOIN pairs p ON p.pair_id = c.pair_id
    LEFT JOIN (SELECT DISTINCT cell_id FROM judge_logs) l ON l.cell_id = c.cell_id ORDER BY c.seq
"""


def said(messages: Messages) -> str:
    """As `writes_and_matches`; a judge that is shown rules gives each its verdict."""
    shown = blocks(messages)
    if "RESPONSE A" not in shown or "RULES" not in shown:
        return writes_and_matches(messages)
    number = len(shown["RULES"].splitlines())
    rules = [{"rule": n, "reason": "", "a": "meets", "b": "fails"} for n in range(1, number + 1)]
    return json.dumps({"rules": rules, **json.loads(verdict_text("A"))})


def progress_by_task(deps: Deps) -> dict[str, tuple[int, bool]]:
    """Task in the order of the plan → how many of its cells are stored, and whether any was begun."""
    cells: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for cell in rows(deps.store, CELLS):
        cells[cell["task_id"]].append(cell)
    with deps.store.read() as connection:
        done = {task: stored_cells(connection, [cell["cell_id"] for cell in mine]) for task, mine in cells.items()}
    return {task: (len(done[task]), bool(done[task]) or any(c["asked"] for c in mine)) for task, mine in cells.items()}


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("calls", [155, (TASKS - 4) * CALLS_A_TASK + 5])
async def test_a_gap_run_that_ends_early_has_done_whole_tasks(tmp_path: Path, concurrency: int, calls: int) -> None:
    async with (
        PromptJudge(said) as server,
        opened(tmp_path / "s.db", keyed(server.base_url), concurrency=concurrency) as deps,
    ):
        stored(deps.store, rubric_records(TASKS))
        asked = ScoreRubricsRequest(audit="a", action="gap", samples=TASKS, max_calls=calls)
        cut = await rubric_run(asked, deps)
        assert (cut.run.state, cut.run.total) == ("cancelled", TASKS * CELLS_A_TASK)
        progress = list(progress_by_task(deps).values())
        begun = [number for number, was_begun in progress if was_begun]
        assert begun == [number for number, _ in progress[: len(begun)]], "the first ones of the plan"
        unended = [number for number in begun if number < CELLS_A_TASK]
        assert len(unended) <= concurrency
        assert len(begun) - len(unended) >= calls // CALLS_A_TASK - concurrency
        assert cut.rubrics is not None and cut.rubrics.writers[0].total_gold > 0
        assert [gap for gap in cut.rubrics.gaps if gap.rubric_gap]
        ended = await rubric_run(asked.model_copy(update={"max_calls": 1_000}), deps)
        assert (ended.run.state, len(server.asked)) == ("done", TASKS * CALLS_A_TASK)

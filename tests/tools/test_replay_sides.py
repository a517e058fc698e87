"""A replay tells success and satisfaction of the picked sides only: said at the import and in every summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.requests import ImportRequest, SummarizeRequest
from misjudge_tools.results import FileReport
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.values import AuditSummary

PICKED = "the success of agents, and satisfaction against success,"


def call(number: int, **told: Any) -> dict[str, Any]:
    sides = {"pair_id": f"p{number}", "task_id": f"t{number}", "agent_left": "x", "agent_right": "y", "trial": 0}
    return {**sides, "blind_order": "A=left", "judge_choice": "A", **told}


async def bring(deps: Deps, folder: Path, format: str, *records: dict[str, Any]) -> FileReport:
    path = folder / f"{format}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    request = ImportRequest.model_validate({"audit": "a", "format": format, "paths": [str(path)]})
    return (await import_records(request, deps)).files[0]


def summary(deps: Deps) -> AuditSummary:
    return summarize(SummarizeRequest(audit="a", judge="user_sat"), deps.store)


@pytest.mark.parametrize("failed", [2, 70])
async def test_nothing_is_concluded_from_satisfaction_that_is_known_of_picked_sides(
    deps: Deps, tmp_path: Path, failed: int
) -> None:
    calls = [call(n, task_success=n >= failed, user_sat=0.9) for n in range(90)]
    report = await bring(deps, tmp_path, "replay", *calls)
    assert [PICKED in warning for warning in report.warnings] == [True]
    found = summary(deps)
    assert [PICKED in warning for warning in found.warnings] == [True]
    assert found.headline is None and found.why["headline"].startswith("Success is known of the sides that a judge")
    rows = found.recommendations.rows if found.recommendations else ()
    assert "tighten_rewards" not in {row.action for row in rows}
    assert found.satisfaction is not None and found.satisfaction.satisfied_failed == failed


async def test_a_replay_that_tells_no_success_needs_no_warning_at_its_import(deps: Deps, tmp_path: Path) -> None:
    assert (await bring(deps, tmp_path, "replay", call(0), call(1))).warnings == ()


async def test_where_the_other_sides_are_known_as_well_satisfaction_is_judged(deps: Deps, tmp_path: Path) -> None:
    sides = {"agent_a": "x", "agent_b": "y", "judge_pref": "A", "trial": 0, "user_sat_a": 0.9, "user_sat_b": 0.9}
    known = {"success_a": 1, "success_b": 1}
    pairs = [{"pair_id": f"p{n}", "task_id": f"t{n}", **sides, **known} for n in range(60)]
    await bring(deps, tmp_path, "pairs", *pairs)
    before = summary(deps)
    assert before.warnings == () and before.headline is not None and before.headline.grade == "usable"
    await bring(deps, tmp_path, "replay", *(call(n, judge="other", task_success=1, user_sat=0.9) for n in range(60)))
    after = summary(deps)
    assert after.warnings == () and after.headline is not None and after.headline.grade == "usable"

"""A run whose stored specification was changed from outside is refused in a sentence, and starts nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from live_parts import SHOP, on_run, ran, shop
from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from operations import NOWHERE, opened, rows

Spec = dict[str, Any]


def other_tasks(spec: Spec) -> None:
    spec["rollouts"]["tasks"] = ["nowhere"]


def many_trials(spec: Spec) -> None:
    spec["rollouts"]["trials"] = 10**9


def other_judge(spec: Spec) -> None:
    spec["judges"][0]["temperature"] = 1.0


def other_agent(spec: Spec) -> None:
    spec["rollouts"]["agents"][0]["name"] = "padder"


def suite_elsewhere(spec: Spec) -> None:
    spec["rollouts"]["suite"] = "/nowhere/else"


def junk(spec: Spec) -> None:
    spec.clear()
    spec["x"] = 1


async def changed(deps: Deps, run: str, change: Callable[[Spec], None]) -> None:
    (row,) = rows(deps.store, "SELECT request_json FROM runs WHERE run_id = :run", run=run)
    spec = json.loads(row["request_json"])
    change(spec)
    with deps.store.write() as connection:
        query = text("UPDATE runs SET request_json = :spec WHERE run_id = :run")
        connection.execute(query, {"spec": json.dumps(spec), "run": run})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_tasks, "names tasks that the suite"),
        (other_judge, "names a judge that its specification does not have"),
        (other_agent, "is set up otherwise than when this run was planned"),
        (suite_elsewhere, "is outside the folders that may be read"),
        (many_trials, "cannot be read"),
        (junk, "cannot be read"),
    ],
)
async def test_a_changed_run_is_refused_and_does_nothing(
    tmp_path: Path, change: Callable[[Spec], None], said: str
) -> None:
    suite = shop(tmp_path / "shop", 2)
    async with opened(tmp_path / "misjudge.db", NOWHERE, episodes=SHOP, roots=(tmp_path,)) as desk:
        begun = await ran(desk, suite=suite, max_calls=1)
        assert begun.run.state == "cancelled"
        before = rows(desk.store, "SELECT COUNT(*) AS n FROM judge_logs")
        await changed(desk, begun.run.run, change)
        try:
            report = await on_run(desk, "resume", begun.run.run)
        except InvalidInput as refused:
            assert said in str(refused)
        else:
            assert report.state == "failed" and said in (report.reason or "")
        assert rows(desk.store, "SELECT COUNT(*) AS n FROM judge_logs") == before

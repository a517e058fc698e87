"""What a person reads of a cascade: in the plan, at the end, and in the status of its run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from command import Misjudge
from misjudge_server.cascade_printing import cascade_lines, is_exact, planned_calls
from misjudge_storage.engine import open_store
from misjudge_tools.results import CascadeReport, RolePlan, RunReport
from operations import pair_records, stored

RUN = RunReport(run="run_1", audit="mine", operation="judge", judge="small, big", state="done", done=42, total=42)
CASCADE = CascadeReport(
    judge="small", pairs=12, decided=9, escalated={"near": 1, "low_margin": 2}, calls_saved=18, usd_saved=0.00421
)
COMMAND = ("judge", "mine", "--judge", "simulated:position=0.4", "--panel", "simulated:noise=0.1", "--cascade")


def line(run: dict[str, Any] | None = None, **values: Any) -> str:
    given = RUN.model_copy(update={"cascade": CASCADE.model_copy(update=values), **(run or {})})
    (said,) = cascade_lines(given)
    return said


@pytest.fixture
def mine(folder: Path) -> Path:
    """A folder whose store holds ten pairs in the audit `mine`."""
    store = open_store(folder / ".misjudge" / "misjudge.db")
    stored(store, pair_records(10), "mine")
    store.close()
    return folder


def test_a_line_says_who_decided_about_how_many_pairs_and_what_that_saved() -> None:
    assert line() == (
        "cascade: 9 of 12 pairs decided by small alone; panel asked about 3 (1 near, 2 low margin): "
        "18 calls saved, about 0.0042 USD"
    )


@pytest.mark.parametrize("usd", [None, 0.0])
def test_no_money_is_named_where_none_is_known_or_none_was_saved(usd: float | None) -> None:
    assert line(usd_saved=usd, calls_saved=1).endswith("(1 near, 2 low margin): 1 call saved")


def test_no_reason_is_named_where_there_is_none() -> None:
    said = line(pairs=1, decided=1, escalated={}, calls_saved=2, usd_saved=None)
    assert said == "cascade: 1 of 1 pair decided by small alone; panel asked about 0: 2 calls saved"


def test_a_plan_says_about_how_many_pairs_the_panel_is_asked_for_certain() -> None:
    assert line({"state": "planned"}) == (
        "cascade: small first; for certain the panel is asked about 3 of 12 pairs (1 near, 2 low margin)"
    )


def test_a_run_that_is_no_cascade_has_no_line() -> None:
    assert list(cascade_lines(RUN)) == []


def test_a_plan_says_how_many_calls_it_takes_at_least_and_at_most() -> None:
    first, panel, score = (
        RolePlan(role="judge", model=model, form=form, calls=calls)
        for model, form, calls in (("small", "pairwise", 24), ("big", "pairwise", 24), ("small", "gate", 6))
    )
    planned = RUN.model_copy(update={"total": 28, "plan": (first, panel), "cascade": CASCADE})
    assert planned_calls(planned) == "28 to 48 calls"
    assert [is_exact(planned, use) for use in (first, panel, score)] == [True, False, True]
    plain = planned.model_copy(update={"cascade": None, "total": 48})
    assert planned_calls(plain) == "48 calls" and is_exact(plain, panel)
    assert planned_calls(planned.model_copy(update={"total": 48})) == "48 calls"


def test_the_command_line_tells_of_a_cascade_before_and_after_and_in_the_status(mine: Path, misjudge: Misjudge) -> None:
    planned = misjudge(*COMMAND, "--dry-run")
    assert "20 to 40 calls" in planned.out and "for certain the panel is asked about 0 of 10 pairs" in planned.out
    done = misjudge(*COMMAND)
    said = re.search(r"cascade: (\d+) of 10 pairs decided by simulated:position=0.4 alone; panel asked", done.out)
    assert done.code == 0 and said is not None
    (run,) = json.loads(misjudge("runs", "--json").out)["runs"]
    assert run["cascade"]["decided"] == int(said[1]) == 10 - sum(run["cascade"]["escalated"].values())
    assert 0 < run["cascade"]["decided"] < 10
    status = misjudge("runs", "status", run["run"]).out
    assert f"cascade: {said[1]} of 10 pairs decided" in status


def test_a_cascade_of_single_trajectories_is_refused_in_a_sentence(mine: Path, misjudge: Misjudge) -> None:
    refused = misjudge(*COMMAND, "--form", "gate")
    assert refused.code != 0 and refused.err.count("\n") <= 3
    assert "gate is judged of single trajectories" in refused.err.replace("\n", " ")

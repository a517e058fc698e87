"""What a person reads of a run that stops early: in its plan, while it goes on, at its end, and in the summary."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from command import Misjudge
from misjudge_server.cascade_printing import is_exact, planned_calls
from misjudge_server.cli_options import stop_of
from misjudge_server.console import estimate
from misjudge_server.stopping_printing import stopping_lines
from misjudge_storage.engine import open_store
from misjudge_tools.results import RolePlan, RunReport
from misjudge_tools.stats.anytime import TaskShares
from misjudge_tools.stats.misselection import anytime, misselection
from misjudge_tools.stats.rates import independent
from misjudge_tools.summary.stopping_values import StoppedBucket
from operations import pair_records, stored

RUN = RunReport(run="run_1", audit="mine", operation="judge", judge="small", state="running", done=42, total=42)
FOUND = StoppedBucket(judge="small", bucket="near", tasks=12, low=0.312, high=0.7, pairs=1, calls=2)
COMMAND = ("judge", "mine", "--judge", "simulated:noise=1", "--stop-threshold", "0.3")


def lines(**values: Any) -> list[str]:
    saved = {"pairs_saved": 1, "calls_saved": 2, "episodes_saved": 0, "stopped": (FOUND,)}
    return list(stopping_lines(RUN.model_copy(update={**saved, **values})))


@pytest.fixture
def mine(folder: Path) -> Path:
    """A folder whose store holds forty pairs in the audit `mine`."""
    store = open_store(folder / ".misjudge" / "misjudge.db")
    stored(store, pair_records(40), "mine")
    store.close()
    return folder


def test_what_is_decided_stands_in_a_line_unless_the_reason_says_it() -> None:
    said = (
        "enough is known of small, near pairs: 31.2–70.0 % wrong after 12 tasks (95 % at any number of tasks); "
        "1 pair and 2 calls saved"
    )
    assert lines() == lines(state="cancelled", reason="limit reached") == lines(state="done") == [said]
    assert lines(state="done", reason="enough is known of …") == lines(stopped=()) == lines(pairs_saved=None) == []


def test_a_plan_says_that_it_is_the_most_and_what_is_left_out_of_it() -> None:
    most = "stops early where enough is known, so this is the most that it takes"
    assert lines(state="planned", calls_saved=0) == [most]
    assert lines(state="planned") == [f"{most}; 2 calls left out, as enough is known there"]
    planned = RUN.model_copy(update={"state": "planned", "total": 80, "pairs_saved": 0})
    assert planned_calls(planned) == "80 calls at most"
    assert not is_exact(planned, RolePlan(role="judge", model="small", form="pairwise", calls=80))


def test_a_rate_says_that_its_interval_holds_at_any_time() -> None:
    fixed = misselection(independent(3, 12), independent(3, 12), decidable=12, pairs=12)
    shares = [TaskShares(1, 1, 3), TaskShares(0, 1, 9)]
    found = anytime(fixed, shares, shares)
    assert "anytime" not in estimate(fixed)
    assert re.fullmatch(r"25.0 % \(3 of 12, 95 % \d+\.\d–\d+\.\d %, interval: anytime\)", estimate(found))
    assert "anytime" not in estimate(found.decided) and estimate(found.decided, anytime=True) == estimate(found)


@pytest.mark.parametrize(
    ("width", "threshold", "expected"),
    [(None, None, None), (0.2, None, {"width": 0.2}), (None, 0.1, {"threshold": 0.1})],
)
def test_a_stop_is_what_was_given_of_it(width: float | None, threshold: float | None, expected: object) -> None:
    assert stop_of(width, threshold) == expected


def test_the_command_line_tells_of_an_early_end_before_and_after(mine: Path, misjudge: Misjudge) -> None:
    planned = misjudge(*COMMAND, "--dry-run")
    assert "80 calls at most" in planned.out and "stops early where enough is known" in planned.out
    done = misjudge(*COMMAND)
    assert done.code == 0 and "enough is known of simulated:noise=1, all pairs, after" in done.out.replace("\n", " ")
    (run,) = json.loads(misjudge("runs", "--json").out)["runs"]
    assert run["total"] + run["calls_saved"] == 80 and run["calls_saved"] > 20 and len(run["stopped"]) == 1
    summary = misjudge("summarize", "mine")
    assert re.search(r"interval:[\s│]+anytime", summary.out)
    again = misjudge(*COMMAND, "--dry-run")
    assert "0 calls at most" in again.out and f"{run['calls_saved']} calls left out" in again.out.replace("\n", " ")


@pytest.mark.parametrize(("option", "value"), [("--stop-width", "1.5"), ("--stop-threshold", "0")])
def test_a_share_that_is_none_is_refused_in_a_sentence(mine: Path, misjudge: Misjudge, option: str, value: str) -> None:
    refused = misjudge("judge", "mine", "--judge", "simulated", option, value)
    assert refused.code == 2 and f"Argument 'stop.{option.removeprefix('--stop-')}' cannot be used" in refused.err


def test_a_live_run_takes_a_stop_from_its_options_and_its_file(mine: Path, misjudge: Misjudge) -> None:
    live = ("--agents", "diligent,smooth_talker", "--judge", "simulated", "--audit", "live", "--dry-run")
    by_option = misjudge("run", *live, "--stop-width", "0.2")
    assert by_option.code == 0 and "stops early where enough is known" in by_option.out + by_option.err
    (mine / "run.toml").write_text("stop = { threshold = 0.1 }\n", encoding="utf-8")
    by_file = misjudge("run", "run.toml", *live)
    assert by_file.code == 0 and "stops early where enough is known" in by_file.out + by_file.err

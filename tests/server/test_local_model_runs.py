"""The small local model as agent and as customer of the shipped suite. It fails, and the run does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest

import misjudge_tools.suites.support_desk as shipped
from command import Misjudge
from misjudge_tools.episodes.turns import EndReason
from misjudge_tools.gateway.local import local_available

TASKS = ("query_parcel_arrival", "booking_kayak_sunday", "refund_damaged_headlamp")
TURNS = 2
"""The model never comes to an end by itself, and takes seconds a turn."""

pytestmark = [
    pytest.mark.localmodel,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(local_available() is not None, reason="the local model is not installed"),
]


@pytest.fixture
def desk(folder: Path) -> Path:
    """The shipped suite with short conversations."""
    copy = folder / "desk"
    shutil.copytree(next(iter(shipped.__path__)), copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    file = copy / "tasks.jsonl"
    tasks = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    short = [json.dumps({**task, "max_turns": TURNS}, ensure_ascii=False) for task in tasks]
    file.write_text("\n".join(short) + "\n", encoding="utf-8")
    return copy


def test_the_local_model_drives_three_tasks_as_agent_and_customer_to_a_typed_end(
    misjudge: Misjudge, desk: Path
) -> None:
    flags = ("--suite", desk.name, "--tasks", ",".join(TASKS), "--user", "local", "--judge", "simulated")
    done = misjudge("run", "--agents", "local,smooth_talker", *flags, "--audit", "small", "--json")
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    assert (result["run"]["state"], result["pairs"]) == ("done", 3)
    for agent in result["agents"]:
        assert (agent["succeeded"], agent["failed"]) == (0, 3)
        assert sum(agent["ends"].values()) == 3 and set(agent["ends"]) <= set(get_args(EndReason))
    calls = {use["role"]: use["calls"] for use in result["run"]["spent"]}
    assert calls["agent"] >= 3 and calls["user_sim"] >= 1
    assert "SmolLM2" in result["asked_at"]["agent local"] and "SmolLM2" in result["asked_at"]["user_sim"]

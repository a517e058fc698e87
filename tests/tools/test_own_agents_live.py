"""Agents of the user's own in a run: what they do wrong is told, and what keeps them away is not held against them."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from live_parts import ALLOWED, on_run, ran, shop
from misjudge_tools.episodes.settings import CommandAgent, EpisodeSettings
from operations import NOWHERE, opened, rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs of these tests are shell scripts")


def own(*argv: str) -> EpisodeSettings:
    """An agent `mine` that is this program."""
    return EpisodeSettings(agents={"mine": CommandAgent(kind="command", argv=argv)}, allowed=ALLOWED)


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def test_a_program_that_is_not_there_leaves_its_episodes_open_and_resuming_makes_them(tmp_path: Path) -> None:
    suite, missing = shop(tmp_path / "shop", 2), tmp_path / "agent.sh"
    async with opened(tmp_path / "misjudge.db", NOWHERE, episodes=own(str(missing))) as desk:
        result = await ran(desk, suite=suite, agents=["mine", "diligent"])
        assert result.run.state == "failed"
        assert "Agent 'mine': The agent's program is not there. It cannot be started." in (result.run.reason or "")
        assert {one.agent for one in result.agents} == {"diligent"}, "nothing is said of the other one"
        program(missing, "echo 'The tent is yours.'")
        resumed = await on_run(desk, "resume", result.run.run)
        assert (resumed.state, resumed.done) == ("done", resumed.total)
        made = rows(desk.store, "SELECT DISTINCT end_reason FROM trajectories WHERE agent = 'mine'")
        assert made == [{"end_reason": "finished"}]


async def test_a_program_that_ends_badly_has_failed_and_the_reason_is_told(tmp_path: Path) -> None:
    suite, crashing = shop(tmp_path / "shop", 2), program(tmp_path / "agent.sh", "exit 3")
    said = "The agent's program ended with exit code 3."
    async with opened(tmp_path / "misjudge.db", NOWHERE, episodes=own(crashing)) as desk:
        result = await ran(desk, suite=suite, agents=["mine", "diligent"])
        assert result.run.state == "done"
        mine = next(one for one in result.agents if one.agent == "mine")
        assert (mine.failed, mine.ends, mine.trouble) == (2, {"agent_error": 2}, said)
        pair = (await ran(desk, suite=suite, agents=["mine", "diligent"], tasks=["en0"])).pair
        assert pair is not None and (pair.a.end_reason, pair.a.trouble, pair.b.trouble) == ("agent_error", said, None)

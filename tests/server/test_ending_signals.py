"""Signals that end a process: the programs of agents and checks end with it, and their folders go."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command import command, environment, launcher
from stdio_session import serving
from suite_folders import write

if sys.platform == "win32":
    pytest.skip("Windows has no signals that a process could handle", allow_module_level=True)

LIMIT_S = 100
SLEEPER = """
import os, subprocess, sys, time
alive = os.open(sys.argv[1], os.O_WRONLY)
open("left.txt", "w").close()
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], pass_fds=[alive])
os.write(alive, b"both run\\n")
time.sleep(120)
"""
TASK: dict[str, Any] = {
    "task_id": "sum", "category": "numbers", "opening": "What do 12 crates of 8 bottles hold?",
    "goal": "The number of bottles.", "success_criteria": "Says 96.", "checks": [{"kind": "says", "facts": [96]}],
}  # fmt: skip
SOLUTION = {"task_id": "sum", "steps": [{"say": "They hold 96 bottles."}]}
RUN = ("run", "--suite", "letters", "--agents", "sleeper,diligent", "--judge", "simulated", "--audit", "a")
# A shell that starts the tests in the background, or nohup, would let them, and what they start, ignore these.
HEEDING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
)
IGNORING_HANGUPS = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"


class Programs:
    """A working directory in which the agent `sleeper`, and the command `sleep` of checks, never come to an end."""

    def __init__(self, where: Path, *checks: dict[str, Any]) -> None:
        self._alive = where / "alive"
        os.mkfifo(self._alive)
        # Open for writing here too until a program holds it: before that it would be at its end.
        self._reading = open(os.open(self._alive, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        self._held: int | None = os.open(self._alive, os.O_WRONLY)
        self._lines = asyncio.StreamReader()
        self._process: Process | None = None
        self.where = where
        self.temporary = where / "temporary"
        self.temporary.mkdir()
        write(where / "letters", tasks=[{**TASK, "checks": checks or TASK["checks"]}], solutions=[SOLUTION])
        argv = json.dumps([sys.executable, "-c", SLEEPER, str(self._alive)])
        settings = f'[agents.sleeper]\nkind = "command"\nargv = {argv}\n[allow.commands]\nsleep = {argv}\n'
        where.joinpath("own.toml").write_text(settings, encoding="utf-8")
        self.env = environment(MISJUDGE_CONFIG=str(where / "own.toml"), TMPDIR=str(self.temporary))

    async def __aenter__(self) -> Programs:
        lines = asyncio.StreamReaderProtocol(self._lines)
        self._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: lines, self._reading)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._let_go()
        self._pipe.close()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.communicate()

    def _let_go(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    async def at_work(self) -> None:
        async with asyncio.timeout(LIMIT_S):
            assert await self._lines.readline() == b"both run\n"
        self._let_go()
        assert len(list(self.temporary.glob("*/left.txt"))) == 1

    async def gone(self) -> None:
        """Until no program holds the pipe open; then nothing of them may be left."""
        async with asyncio.timeout(LIMIT_S):
            assert await self._lines.read() == b""
        assert list(self.temporary.iterdir()) == []

    async def started(self, program: Sequence[str]) -> Process:
        self._process = await asyncio.create_subprocess_exec(
            *program, cwd=self.where, env=self.env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        return self._process

    def runs(self) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(self.where / ".misjudge" / "misjudge.db")) as store:
            return store.execute("SELECT run_id, state FROM runs").fetchall()


async def said(process: Process) -> str:
    async with asyncio.timeout(LIMIT_S):
        _, err = await process.communicate()
    return err.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
    ids=["SIGTERM", "SIGHUP", "SIGINT"],
)
async def test_a_run_that_is_told_to_end_ends_what_it_started_and_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    async with Programs(tmp_path) as programs:
        process = await programs.started([*launcher(HEEDING), *RUN])
        await programs.at_work()
        process.send_signal(number)
        told = re.search(
            r"stopped; what was stored stays\. Go on with: misjudge runs resume (\w+)\n", await said(process)
        )
        await programs.gone()
        assert process.returncode == code
        assert told is not None
        assert programs.runs() == [(told[1], "lost")]


@pytest.mark.slow
async def test_a_run_that_is_to_outlive_its_terminal_does(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        process = await programs.started([*launcher(IGNORING_HANGUPS), *RUN])
        await programs.at_work()
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert "stopped" in await said(process)
        await programs.gone()
        assert process.returncode == 143, "what came first was ignored"


@pytest.mark.slow
async def test_a_server_that_is_told_to_end_ends_what_it_started(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        async with serving(tmp_path, programs.env) as session:
            await session.initialize()
            await session.start_call(
                "run_pair", suite="letters", agents=["sleeper", "diligent"], judge="simulated", audit="a"
            )
            await programs.at_work()
            session.process.send_signal(signal.SIGTERM)
            assert await session.ended() == 0
            await programs.gone()
        assert [state for _, state in programs.runs()] == ["lost"]


async def test_a_suite_that_is_tried_ends_what_it_started(tmp_path: Path) -> None:
    async with Programs(tmp_path, {"kind": "command", "value": "sleep"}) as programs:
        process = await programs.started(command("suite", "letters"))
        await programs.at_work()
        process.send_signal(signal.SIGTERM)
        assert await said(process) == ""
        await programs.gone()
        assert process.returncode == 143

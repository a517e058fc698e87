from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes import settings
from misjudge_tools.episodes.command_agent import CommandAgent
from misjudge_tools.episodes.conversation import Surroundings
from misjudge_tools.episodes.processes import MOST_OUTPUT
from misjudge_tools.episodes.turns import AgentAway, AgentFailed, AgentReply
from rollout_parts import SHOP

TALK = (Message(role="user", content="I want a tent. 帐篷"),)
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX process groups")


def agent(folder: Path, program: str, *, env: Sequence[str] = (), timeout_s: float = 30) -> CommandAgent:
    argv = (sys.executable, "-c", textwrap.dedent(program))
    configured = settings.CommandAgent(kind="command", argv=argv, env=tuple(env), timeout_s=timeout_s)
    return CommandAgent(configured, Surroundings("Be kind.", SHOP.tools[:1], "session-1", (), folder))


async def failure(made: CommandAgent) -> str:
    with pytest.raises(AgentFailed) as found:
        await made.reply(TALK)
    return str(found.value)


async def test_it_reads_the_conversation_and_says_plain_text(tmp_path: Path) -> None:
    program = """
        import json, sys
        asked = json.load(sys.stdin)
        print(asked["session"], len(asked["tools"]), [m["role"] for m in asked["messages"]], end="\\n\\n")
    """
    assert await agent(tmp_path, program).reply(TALK) == AgentReply("session-1 1 ['system', 'user']")


@pytest.mark.parametrize(
    ("output", "reply"),
    [
        ('{"content": "Yes.", "tool_calls": []}', AgentReply("Yes.")),
        (
            '{"tool_calls": [{"id": "c", "function": {"name": "take", "arguments": "{}"}}]}',
            AgentReply("", (ToolCall(name="take", arguments="{}", id="c"),)),
        ),
        ('{"message": {"content": "Yes."}}', AgentReply("Yes.")),
        ('{"order": 7}', AgentReply('{"order": 7}')),
        ('{"order": ', AgentReply('{"order":')),
        ("[1, 2]", AgentReply("[1, 2]")),
        ("好的", AgentReply("好的")),
        ("", AgentReply("")),
    ],
)
async def test_its_output_is_a_known_form_or_what_it_says(tmp_path: Path, output: str, reply: AgentReply) -> None:
    program = f"import sys; sys.stdout.buffer.write({output.encode()!r})"
    assert await agent(tmp_path, program).reply(TALK) == reply


async def test_output_that_is_no_utf_8_is_read_with_marks(tmp_path: Path) -> None:
    assert await agent(tmp_path, "import sys; sys.stdout.buffer.write(b'a\\xff')").reply(TALK) == AgentReply("a\ufffd")


async def test_it_runs_in_the_rollouts_folder_and_keeps_temporary_files_there(tmp_path: Path) -> None:
    program = """
        import os, pathlib, tempfile
        pathlib.Path("note.txt").write_text("x")
        print(os.path.realpath(tempfile.gettempdir()) == os.path.realpath(os.getcwd()))
    """
    assert await agent(tmp_path, program).reply(TALK) == AgentReply("True")
    assert (tmp_path / "note.txt").read_text(encoding="utf-8") == "x"


async def test_it_sees_the_named_variables_and_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", "sk-secret-1234567890")
    monkeypatch.setenv("MY_AGENT_KEY", "mine")
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    seen: dict[str, Any] = json.loads(
        (await agent(tmp_path, program, env=["MY_AGENT_KEY", "NOT_SET"]).reply(TALK)).text
    )
    assert seen["MY_AGENT_KEY"] == "mine"
    assert seen["PATH"] == os.environ["PATH"]
    assert "TAOTOKEN_API_KEY" not in seen and "NOT_SET" not in seen
    assert "sk-secret" not in json.dumps(seen)


async def test_a_program_that_ends_badly_has_failed(tmp_path: Path) -> None:
    assert await failure(agent(tmp_path, "print('hidden'); raise SystemExit(3)")) == (
        "The agent's program ended with exit code 3."
    )


async def test_a_program_that_writes_to_its_error_output_has_not(tmp_path: Path) -> None:
    program = "import sys; sys.stderr.write('x' * 1_000_000); print('fine')"
    assert await agent(tmp_path, program).reply(TALK) == AgentReply("fine")


async def test_a_program_that_is_not_there_says_nothing_of_the_agent(tmp_path: Path) -> None:
    configured = settings.CommandAgent(kind="command", argv=("no-such-program-here",))
    missing = CommandAgent(configured, Surroundings("", (), "s", (), tmp_path))
    with pytest.raises(AgentAway, match="cannot be started"):
        await missing.reply(TALK)


async def test_a_program_that_writes_without_end_is_ended(tmp_path: Path) -> None:
    found = await failure(agent(tmp_path, "while True: print('x' * 10_000)"))
    assert f"more than {MOST_OUTPUT // 1_000_000} MB" in found


async def test_a_program_that_does_not_read_a_long_conversation_is_no_failure(tmp_path: Path) -> None:
    long = (Message(role="user", content="x" * 1_000_000),)
    assert await agent(tmp_path, "print('fine')").reply(long) == AgentReply("fine")


async def test_a_program_that_neither_reads_nor_ends_is_ended_in_its_time(tmp_path: Path) -> None:
    slow = agent(tmp_path, "import time; time.sleep(600)", timeout_s=0.3)
    with pytest.raises(AgentFailed, match=r"took longer than 0\.3 s"):
        await slow.reply((Message(role="user", content="x" * 1_000_000),))


PARENT = """
    import os, subprocess, sys
    alive = os.open("alive", os.O_WRONLY)
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(sleeper, stdout={stdout}, pass_fds=[alive])
    os.write(alive, b"both run\\n")
    {then}
"""


@pytest.fixture
def alive(tmp_path: Path) -> Path:
    """A pipe that a program and what it starts hold open: it can be read to its end when all of them are gone."""
    os.mkfifo(tmp_path / "alive")
    return tmp_path / "alive"


@posix
@pytest.mark.parametrize("stdout", ["None", "subprocess.DEVNULL"])
async def test_what_outlives_its_time_is_ended_with_all_that_it_started(alive: Path, stdout: str) -> None:
    ended = asyncio.create_task(asyncio.to_thread(alive.read_bytes))
    made = agent(alive.parent, PARENT.format(stdout=stdout, then="child.wait()"), timeout_s=2)
    assert "took longer than 2 s" in await failure(made)
    assert await ended == b"both run\n"


@posix
async def test_a_child_that_outlives_its_program_is_ended(alive: Path) -> None:
    ended = asyncio.create_task(asyncio.to_thread(alive.read_bytes))
    made = agent(alive.parent, PARENT.format(stdout="subprocess.DEVNULL", then="print('fine')"))
    assert await made.reply(TALK) == AgentReply("fine")
    assert await ended == b"both run\n"


@posix
async def test_a_cancelled_turn_ends_the_program_with_all_that_it_started(alive: Path) -> None:
    turn = asyncio.create_task(agent(alive.parent, PARENT.format(stdout="None", then="child.wait()")).reply(TALK))
    with await asyncio.to_thread(alive.open, "rb") as held:
        assert await asyncio.to_thread(held.readline) == b"both run\n"
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert await asyncio.to_thread(held.read) == b""

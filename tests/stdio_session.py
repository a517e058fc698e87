"""Speaks MCP with a `misjudge serve` in a process of its own, where a test must act between the messages."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from command import command
from hostile_start import INITIALIZE, INITIALIZED, Message

LIMIT_S = 60.0
LARGEST_LINE = 2**24


class Session:
    """One server process; every wait has a limit."""

    def __init__(self, process: Process, stderr: Path) -> None:
        self.process = process
        self._stderr = stderr
        self._number = 100

    async def send(self, message: Message | str) -> None:
        assert self.process.stdin is not None
        text = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(text.encode() + b"\n")
        await self.process.stdin.drain()

    async def receive(self) -> Message:
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            line = await self.process.stdout.readline()
        assert line, f"the server ended: {self.stderr}"
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    async def initialize(self) -> None:
        await self.send(INITIALIZE)
        await self.receive()
        await self.send(INITIALIZED)

    async def start_call(self, tool: str, **arguments: Any) -> int:
        """Send a call and return its id without waiting for the answer."""
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        await self.send({"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params})
        return self._number

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call that is answered next."""
        number = await self.start_call(tool, **arguments)
        message = await self.receive()
        assert message["id"] == number
        result = message["result"]
        assert isinstance(result, dict)
        return result

    async def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def ended(self) -> int:
        """The exit code, once the server has ended."""
        async with asyncio.timeout(LIMIT_S):
            return await self.process.wait()

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(encoding="utf-8", errors="replace")


@asynccontextmanager
async def serving(cwd: Path, env: Mapping[str, str]) -> AsyncIterator[Session]:
    """A server in `cwd`, killed at the end unless it has ended by then."""
    stderr = cwd / "stderr.txt"
    with stderr.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *command("serve"), cwd=cwd, env=dict(env), stdin=PIPE, stdout=PIPE, stderr=errors, limit=LARGEST_LINE
        )
    try:
        yield Session(process, stderr)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()

"""`misjudge serve`: the MCP server over stdio."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, cast

from mcp.server.stdio import stdio_server

from misjudge_server.app import LazyDeps, build_app
from misjudge_server.logs import set_up_logging
from misjudge_server.signals import ending_signals

if TYPE_CHECKING:
    from anyio import AsyncFile

HALF = re.compile("[\ud800-\udfff]")


def serve() -> None:
    """Serve until stdin closes, SIGTERM, SIGHUP or Ctrl-C, then drain the calls in flight.

    A second signal ends it at once. Only protocol messages reach stdout; logs go to stderr.
    """
    set_up_logging()
    asyncio.run(_serve())


async def _serve() -> None:
    deps = LazyDeps()
    server = build_app(deps)
    lines = _Lines()
    for number in (signal.SIGINT, *ending_signals()):
        signal.signal(number, lines.stop)
    stdin = cast("AsyncFile[str]", lines)  # of which the SDK uses no more than its lines
    try:
        async with stdio_server(stdin=stdin) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await deps.close()


class _Lines:
    """The lines of stdin up to its end, or to a signal.

    They are read by a daemon thread, since nothing else can leave a read that waits: the SDK's own reader would
    keep a server that was told to stop until its client wrote something.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="misjudge-stdin", daemon=True).start()

    def stop(self, number: int, _: FrameType | None) -> None:
        """Handle a signal: the same as the end of stdin."""
        signal.signal(number, signal.SIG_DFL)
        self._put(None)

    def _read(self) -> None:
        # Not sys.stdin: its lock, held by this thread, would be fatal at the interpreter's end.
        with open(sys.stdin.fileno(), encoding="utf-8", errors="replace", closefd=False) as file:
            for line in file:
                self._put(encodable(line))
        self._put(None)

    def _put(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody reads on
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line


def encodable(line: str) -> str:
    r"""The message with U+FFFD for half of a character, such as "\ud83d" from text cut within an emoji.

    The SDK reads no message that holds one, and would leave its request without any answer.
    """
    if "\\ud" not in line.lower():
        return line
    try:
        message = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):  # not for us to judge
        return line
    return HALF.sub("\ufffd", message) + "\n"

"""`misjudge serve`: the MCP server over stdio."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from mcp.server.stdio import stdio_server

from misjudge_server.app import LazyDeps, build_app
from misjudge_server.logs import set_up_logging


def serve() -> None:
    """Serve until stdin closes. Only protocol messages reach stdout; logs go to stderr."""
    set_up_logging()
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve())


async def _serve() -> None:
    deps = LazyDeps()
    server = build_app(deps)
    with suppress(NotImplementedError):  # Windows loops have no signal handlers
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except asyncio.CancelledError:
        pass  # SIGTERM: what is in flight is drained below
    finally:
        await deps.close()

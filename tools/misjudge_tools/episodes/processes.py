"""Runs a program of the user's own: once, in a folder, with few variables, and leaves nothing of it running."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

MOST_OUTPUT: Final = 1_000_000
"""Longest output, in bytes."""

_PASSED_ON: Final = ("PATH", "HOME", "LANG", "SYSTEMROOT", "PATHEXT", "USERPROFILE")
_TEMPORARY: Final = ("TMPDIR", "TEMP", "TMP")
_WIND_UP_S: Final = 5.0


class ProcessFailed(Exception):
    """It gave no result; the message is one sentence without its output."""


class NotStarted(ProcessFailed):
    """It did not begin."""


class Finished(NamedTuple):
    """A process that ended by itself, and its standard output."""

    exit_code: int
    output: bytes


def environment_for(folder: Path, names: Sequence[str] = ()) -> dict[str, str]:
    """What a program finds in its environment: what it needs to start, the named variables, and `folder` for its
    temporary files.
    """
    kept = {name: os.environ[name] for name in (*_PASSED_ON, *names) if name in os.environ}
    return {**dict.fromkeys(_TEMPORARY, str(folder)), **kept}


async def run_process(
    argv: Sequence[str], *, given: bytes, folder: Path, environment: Mapping[str, str], timeout_s: float
) -> Finished:
    """Runs it in `folder` with `given` on its standard input. Raises ProcessFailed where it cannot be started, takes
    longer than `timeout_s` seconds or writes too much. However this ends, its whole group of processes is ended.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=folder, env=environment, **_own_group()
        )
    except (OSError, ValueError):
        raise NotStarted("It cannot be started. Check that the first word names a program.") from None
    feeding = asyncio.create_task(_feed(process, given))
    try:
        async with asyncio.timeout(timeout_s):
            output = await _read(process)
            return Finished(await process.wait(), output)
    except TimeoutError:
        raise ProcessFailed(f"It took longer than {timeout_s:g} s.") from None
    finally:
        feeding.cancel()
        _kill_group(process)
        await _wound_up(process)


async def _feed(process: Process, given: bytes) -> None:
    assert process.stdin is not None
    # Not every program reads what it is given.
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(given)
        await process.stdin.drain()
    process.stdin.close()


async def _read(process: Process) -> bytes:
    assert process.stdout is not None
    output = bytearray()
    while chunk := await process.stdout.read(65_536):
        output += chunk
        if len(output) > MOST_OUTPUT:
            raise ProcessFailed(f"It wrote more than {MOST_OUTPUT // 1_000_000} MB.")
    return bytes(output)


async def _wound_up(process: Process) -> None:
    """Reads a dead process's pipe to its end, without which it is not waited for on every platform."""
    assert process.stdout is not None
    with suppress(TimeoutError):
        async with asyncio.timeout(_WIND_UP_S):
            while await process.stdout.read(65_536):
                pass
            await process.wait()


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _kill_group(process: Process) -> None:
    """Ends it with the processes that it started, also those that outlived it."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        # A group of one that has ended is gone; macOS then says that it may not be ended.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

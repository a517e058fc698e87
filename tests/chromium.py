"""Headless Chromium for tests, driven over its DevTools protocol; tests skip, saying so, where no browser is found.

`MISJUDGE_TEST_BROWSER` names its program where it is not one of the usual ones.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    *("--no-default-browser-check", "--hide-scrollbars", "--remote-debugging-port=0", "--mute-audio"),
)
"""Nothing that asks the network of its own accord. The sandbox cannot be had by root in a container."""
SECONDS: Final = 60


def browser_program() -> str:
    """The browser's program; skips the test where there is none."""
    named = os.environ.get("MISJUDGE_TEST_BROWSER")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("No Chromium was found: install it, or name its program in MISJUDGE_TEST_BROWSER.")
    return found


class Tab:
    """One page. `requests` are the addresses that it asked for, `complaints` what its console and its errors said."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self._socket = socket
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    async def start(self) -> None:
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.send(f"{domain}.enable")

    async def close(self) -> None:
        self._reader.cancel()
        await self._socket.close()

    async def open(self, address: str) -> None:
        """Go there and wait until all of it is loaded."""
        self._loaded.clear()
        await self.send("Page.navigate", url=address)
        async with asyncio.timeout(SECONDS):
            await self._loaded.wait()

    async def leads_on(self, doing: Awaitable[Any]) -> None:
        """Do what leads to another page and wait until all of that is loaded."""
        self._loaded.clear()
        await doing
        async with asyncio.timeout(SECONDS):
            await self._loaded.wait()

    async def shape(self, width: int, height: int = 900, scheme: Literal["light", "dark"] = "light") -> None:
        """Show pages this wide, in this colour scheme."""
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def without_script(self) -> None:
        """From the next page on, run no script."""
        await self.send("Emulation.setScriptExecutionDisabled", value=True)

    async def run(self, script: str) -> Any:
        """The value of an expression, awaited where it is a promise."""
        answer = await self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def press(self, key: str) -> None:
        """Press and let go of a key of one character, or one with a name, as Enter or Tab."""
        typed = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        await self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **typed)
        await self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def picture(self, path: Path, height: int | None = None) -> None:
        """A PNG of the page from its top, whole unless a height is given."""
        full = await self.run("Math.ceil(document.documentElement.getBoundingClientRect().height)")
        width = await self.run("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height or full, full), "scale": 1}
        shot = await self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    async def print_out(self, path: Path) -> None:
        """A PDF of the page on A4."""
        printed = await self.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)
        path.write_bytes(base64.b64decode(printed["data"]))

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the DevTools protocol, and its result."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(SECONDS):
            said = await answer
        assert "error" not in said, said["error"]
        result: dict[str, Any] = said["result"]
        return result

    async def _read(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                continue
            said = message.json()
            if "id" in said:
                self._waiting.pop(said["id"]).set_result(said)
            else:
                self._hear(said["method"], said["params"])

    def _hear(self, event: str, params: dict[str, Any]) -> None:
        match event:
            case "Page.loadEventFired":
                self._loaded.set()
            case "Page.javascriptDialogOpening":
                self.dialogs.append(params["message"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(params["args"]))
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])


@asynccontextmanager
async def chromium_tab(arguments: Sequence[str] = ()) -> AsyncIterator[Tab]:
    """A tab of a browser of its own, which ends with it."""
    program = browser_program()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            program,
            *QUIET,
            *arguments,
            f"--user-data-dir={profile}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            port = await _port(Path(profile) / "DevToolsActivePort", process)
            async with ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                    pages = [one for one in await answer.json() if one["type"] == "page"]
                async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    tab = Tab(socket)
                    try:
                        await tab.start()
                        yield tab
                    finally:
                        await tab.close()
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _port(file: Path, process: asyncio.subprocess.Process) -> int:
    """The port that the browser listens at, as it writes it down."""
    async with asyncio.timeout(SECONDS):
        while not (file.exists() and file.read_text(encoding="utf-8").strip()):
            assert process.returncode is None, "the browser ended before it listened"
            await asyncio.sleep(0.05)
    return int(file.read_text(encoding="utf-8").split()[0])

"""Checks of files, addresses and commands: only where the configuration allows, and never out of the folder."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from misjudge_tools.episodes import outside_checks
from misjudge_tools.episodes.outside_checks import command, file, http_status
from misjudge_tools.episodes.rules import RULE, CommandRule, FileRule, HttpRule
from misjudge_tools.episodes.told import Told

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")


def file_told(folder: Path | None, **values: Any) -> Told:
    rule = RULE.validate_python({"kind": "file", "path": "out/a.txt", **values})
    assert isinstance(rule, FileRule)
    return file(rule, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "room" / "out").mkdir(parents=True)
    (tmp_path / "room" / "out" / "a.txt").write_bytes("one\r\ntwo 三\n".encode())
    (tmp_path / "secret.txt").write_text("one", encoding="utf-8")
    return tmp_path / "room"


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        ({}, True),
        ({"exists": False}, False),
        ({"path": "out/b.txt"}, False),
        ({"path": "out/b.txt", "exists": False}, True),
        ({"path": "out/a.txt/b", "exists": False}, True),
        ({"path": "out"}, False),
        ({"path": "out", "exists": False}, False),
        ({"contains": "two 三"}, True),
        ({"contains": "three"}, False),
        ({"contains": "one\ntwo"}, True),
        ({"equals": "one\ntwo 三"}, True),
        ({"equals": "one\ntwo"}, False),
        ({"equals": "one\ntwo 三", "contains": "three"}, False),
    ],
)
def test_a_file_is_there_with_its_text(folder: Path, values: dict[str, Any], passed: bool) -> None:
    assert file_told(folder, **values).passed is passed


@pytest.mark.parametrize(
    "path", ["../secret.txt", "out/../../secret.txt", "a\0b", "x" * 3000, str(Path(__file__).resolve())]
)
def test_a_path_that_leads_out_is_never_followed(folder: Path, path: str) -> None:
    for exists in (True, False):
        assert file_told(folder, path=path, exists=exists).passed is False


@needs_links
def test_a_link_that_leads_out_is_not_followed(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to(folder.parent)
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "within.txt").symlink_to(folder / "out" / "a.txt")
    for path in ("link.txt", "up/secret.txt"):
        for exists in (True, False):
            told = file_told(folder, path=path, exists=exists)
            assert told == Told(False, "the path leads out of the folder")
    assert file_told(folder, path="loop").passed is False
    assert file_told(folder, path="within.txt", contains="two").passed is True


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert file_told(folder, path="pipe", contains="x") == Told(False, "it is not a file")


def test_a_file_that_is_too_large_is_not_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_checks, "MOST_BYTES", 5)
    assert file_told(folder, contains="one").passed is False
    assert file_told(folder).passed is True


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="every file can be read by this user")
def test_a_file_that_cannot_be_read_fails(folder: Path) -> None:
    (folder / "out" / "a.txt").chmod(0)
    assert file_told(folder, contains="one") == Told(False, "the file cannot be read")


def test_without_a_folder_no_file_is_known() -> None:
    assert file_told(None) == Told(None, "the rollout has no folder")


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(handler: Handler) -> AsyncIterator[str]:
    """A server on loopback; its host and port."""
    app = web.Application()
    app.router.add_get("/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"{host}:{port}"
    finally:
        await runner.cleanup()


async def status_told(url: str, *hosts: str, status: int = 200) -> Told:
    rule = RULE.validate_python({"kind": "http_status", "url": url, "status": status})
    assert isinstance(rule, HttpRule)
    return await http_status(rule, hosts)


async def test_an_allowed_host_is_asked_for_its_status() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=404 if request.path == "/gone" else 200, text="x" * 100_000)

    async with served(answer) as host:
        assert await status_told(f"http://{host}/here", host) == Told(True, "HTTP status 200")
        assert await status_told(f"http://{host}/gone", "127.0.0.1") == Told(False, "HTTP status 404")
        assert await status_told(f"http://{host}/gone", host, status=404) == Told(True, "HTTP status 404")
    assert asked == ["/here", "/gone", "/gone"]


@pytest.mark.parametrize(
    "hosts", [[], ["127.0.0.1:1"], ["localhost"], ["127.0.0"], ["example.com"], ["127.0.0.1.example.com"], ["*"]]
)
async def test_another_host_is_never_asked(hosts: list[str]) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response()

    async with served(answer) as host:
        told = await status_told(f"http://{host}/", *hosts)
    assert (told.passed, asked) == (None, [])
    assert "not allowed" in told.why


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://127.0.0.1/", "http://user:word@127.0.0.1/", "http://", "127.0.0.1", "http://[::1"],
)
async def test_what_is_no_plain_address_is_never_asked(url: str) -> None:
    assert (await status_told(url, "127.0.0.1", "", "::1")).passed is None


async def test_a_redirect_is_not_followed() -> None:
    async def away(request: web.Request) -> web.Response:
        assert request.path == "/start"
        raise web.HTTPFound("/elsewhere")

    async with served(away) as host:
        assert await status_told(f"http://{host}/start", host) == Told(False, "HTTP status 302")
        assert await status_told(f"http://{host}/start", host, status=302) == Told(True, "HTTP status 302")


async def test_no_answer_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = asyncio.Event()

    async def wait(_request: web.Request) -> web.Response:
        await ended.wait()
        return web.Response()

    monkeypatch.setattr(outside_checks, "HTTP_SECONDS", 0.05)
    async with served(wait) as host:
        told = await status_told(f"http://{host}/", host)
        ended.set()
    assert told == Told(None, "no answer within 0.05 s")
    assert await status_told(f"http://{host}/", host) == Told(None, "it could not be reached")


async def command_told(folder: Path | None, code: str, name: str = "check", exit_code: int = 0) -> Told:
    rule = RULE.validate_python({"kind": "command", "value": name, "exit_code": exit_code})
    assert isinstance(rule, CommandRule)
    return await command(rule, {"check": (sys.executable, "-c", code), "missing": ("no-such-program-7",)}, folder)


@pytest.mark.parametrize(
    ("code", "exit_code", "told"),
    [
        ("pass", 0, Told(True, "exit code 0")),
        ("raise SystemExit(3)", 3, Told(True, "exit code 3")),
        ("raise SystemExit(3)", 0, Told(False, "exit code 3")),
        ("import os; raise SystemExit(sorted(os.listdir()) != ['out'])", 0, Told(True, "exit code 0")),
        ("import sys; raise SystemExit(sys.stdin.read() != '')", 0, Told(True, "exit code 0")),
        ("import os; raise SystemExit('MISJUDGE_API_KEY' in os.environ)", 0, Told(True, "exit code 0")),
    ],
)
async def test_an_allowed_command_runs_in_the_folder(
    folder: Path, code: str, exit_code: int, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISJUDGE_API_KEY", "of nobody else")
    assert await command_told(folder, code, exit_code=exit_code) == told


async def test_only_a_command_that_is_allowed_by_its_name_runs(folder: Path) -> None:
    marks = f"open({str(folder / 'ran')!r}, 'w')"
    for name in ("other", sys.executable, f"{sys.executable} -c pass", "check; true"):
        assert (await command_told(folder, marks, name)).passed is None
    assert not (folder / "ran").exists()


async def test_a_command_that_gives_no_exit_code_is_unknown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await command_told(folder, "", "missing")).passed is None
    assert (await command_told(None, "")).passed is None
    monkeypatch.setattr(outside_checks, "COMMAND_SECONDS", 0.2)
    assert (await command_told(folder, "import time; time.sleep(60)")).passed is None


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals on Windows")
async def test_a_command_that_a_signal_ends_is_unknown(folder: Path) -> None:
    told = await command_told(folder, "import os; os.kill(os.getpid(), 9)")
    assert told == Told(None, "it was ended by a signal")

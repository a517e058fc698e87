"""Rules about what is outside of the transcript and the world: files, addresses and commands, where allowed."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import aiohttp

from misjudge_tools.episodes.posting import host_allowed
from misjudge_tools.episodes.processes import ProcessFailed, environment_for, run_process
from misjudge_tools.episodes.rules import CommandRule, FileRule, HttpRule
from misjudge_tools.episodes.told import Told

MOST_BYTES: Final = 10 * 2**20
"""Of a file whose text is compared."""
HTTP_SECONDS: Final = 10.0
COMMAND_SECONDS: Final = 60.0

_NO_FOLDER: Final = Told(None, "the rollout has no folder")


def file(rule: FileRule, folder: Path | None) -> Told:
    if folder is None:
        return _NO_FOLDER
    path = folder / rule.path
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            return Told(False, "the path leads out of the folder")
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Told(not rule.exists, "there is no such file")
    except (OSError, RuntimeError, ValueError):  # of a link that leads to itself, and of a NUL
        return Told(False, "the file cannot be reached")
    if not rule.exists:
        return Told(False, "the file exists")
    if not stat.S_ISREG(found.st_mode):
        return Told(False, "it is not a file")
    return _content(rule, path)


def _content(rule: FileRule, path: Path) -> Told:
    if rule.contains is None and rule.equals is None:
        return Told(True, "the file exists")
    try:
        with path.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError:
        return Told(False, "the file cannot be read")
    if len(data) > MOST_BYTES:
        return Told(False, f"the file has more than {MOST_BYTES // 2**20} MB")
    text = _lines_of(data.decode("utf-8-sig", "replace"))
    holds = (rule.contains is None or _lines_of(rule.contains) in text) and (
        rule.equals is None or _lines_of(rule.equals).rstrip("\n") == text.rstrip("\n")
    )
    return Told(holds, "its text is as expected" if holds else "its text is another")


def _lines_of(text: str) -> str:
    return text.replace("\r\n", "\n")


async def http_status(rule: HttpRule, hosts: Sequence[str]) -> Told:
    """Redirects are not followed: their own status is the answer."""
    if not host_allowed(rule.url, hosts):
        return Told(None, "the host is not allowed by the configuration, so it was not asked")
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=HTTP_SECONDS)) as session,
            session.get(rule.url, allow_redirects=False, headers={"User-Agent": "misjudge"}) as response,
        ):
            return Told(response.status == rule.status, f"HTTP status {response.status}")
    except TimeoutError:
        return Told(None, f"no answer within {HTTP_SECONDS:g} s")
    except (aiohttp.ClientError, OSError, ValueError):
        return Told(None, "it could not be reached")


async def command(rule: CommandRule, commands: Mapping[str, Sequence[str]], folder: Path | None) -> Told:
    argv = commands.get(rule.value)
    if not argv:
        return Told(None, "the configuration allows no command of this name, so it was not run")
    if folder is None:
        return _NO_FOLDER
    environment = await asyncio.to_thread(environment_for, folder)
    try:
        finished = await run_process(argv, given=b"", folder=folder, environment=environment, timeout_s=COMMAND_SECONDS)
    except ProcessFailed as error:
        return Told(None, str(error))
    if finished.exit_code < 0:
        return Told(None, "it was ended by a signal")
    return Told(finished.exit_code == rule.exit_code, f"exit code {finished.exit_code}")

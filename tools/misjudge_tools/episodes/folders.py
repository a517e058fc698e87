"""A folder for each rollout that needs one, removed with it; what a killed process left is removed by the next."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from misjudge_tools.episodes.removal import remove_folder
from misjudge_tools.episodes.rules import CommandRule, FileRule, Rule

_NAME = re.compile(r"misjudge-rollout-(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]{1,10})-[a-z0-9_]+")
_STALE_S = 86_400


def needs_folder(rules: Sequence[Rule]) -> bool:
    """Whether checks of an episode look at its folder."""
    return any(isinstance(rule, FileRule | CommandRule) for rule in rules)


@contextmanager
def rollout_folder() -> Iterator[Path]:
    """An empty folder that only this user can enter, for as long as the context is open."""
    _sweep_once()
    folder = Path(tempfile.mkdtemp(prefix=f"misjudge-rollout-{_host()}-{os.getpid()}-"))
    try:
        yield folder
    finally:
        remove_folder(folder)


def sweep_folders() -> None:
    """Removes the folders of this user's processes on this machine that are no more."""
    try:
        entries = list(os.scandir(tempfile.gettempdir()))
    except OSError:
        return
    for entry in entries:
        named = _NAME.fullmatch(entry.name)
        # Another container may share the folder: its processes cannot be seen from here.
        if named is None or named["host"] != _host():
            continue
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False) and _is_left(entry.stat(follow_symlinks=False), int(named["pid"])):
                remove_folder(Path(entry.path))


@cache
def _sweep_once() -> None:
    sweep_folders()


@cache
def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_left(found: os.stat_result, pid: int) -> bool:
    if sys.platform == "win32":  # no signal 0 there: os.kill would end the process
        return pid != os.getpid() and time.time() - found.st_mtime > _STALE_S
    return found.st_uid == os.getuid() and not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True

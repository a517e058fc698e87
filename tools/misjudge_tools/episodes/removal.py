"""Removes a folder, whatever a program that is not trusted has made in it."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

_LONGEST_S: Final = 10.0
"""How long one folder is worked on: a program that is left may fill it again and again."""
if sys.platform == "win32":
    _FOLDER = os.O_RDONLY  # never used: folders have no handles there
else:
    _FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK


def remove_folder(folder: Path) -> None:
    """Removes what stands there, of a link only the link. What cannot be removed stays; nothing is raised."""
    with suppress(OSError, RecursionError):
        if sys.platform == "win32":
            _remove_by_path(folder)
        else:
            _remove_by_handle(folder)


def _remove_by_handle(folder: Path) -> None:
    handle = _opened(folder)
    if handle is None:
        folder.unlink(missing_ok=True)
        return
    try:
        _empty(handle)
    finally:
        os.close(handle)
    folder.rmdir()


def _empty(top: int) -> None:
    """Removes what is in a folder. What stands in one of its folders is moved up first: however deep programs nest
    them (`shutil.rmtree` recurses before Python 3.13 and opens them all), two handles and short names are enough.
    """
    until = time.monotonic() + _LONGEST_S
    while any([_take_out(name, top) for name in os.listdir(top)]) and time.monotonic() < until:
        pass


def _take_out(name: str, top: int) -> bool:
    """Whether anything of it was removed, or moved up."""
    inner = _opened(name, top)
    if inner is None:
        return _done(os.unlink, name, dir_fd=top)
    try:
        moved = [_move_up(below, inner, top) for below in os.listdir(inner)]
    finally:
        os.close(inner)
    return _done(os.rmdir, name, dir_fd=top) or any(moved)


def _move_up(name: str, inner: int, top: int) -> bool:
    handle = _opened(name, inner)
    if handle is None:
        return _done(os.unlink, name, dir_fd=inner)
    os.close(handle)
    return _done(os.rename, name, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=top)


def _done(change: Callable[..., None], *names: str, **where: int) -> bool:
    try:
        change(*names, **where)
    except OSError:
        return False
    return True


def _opened(name: str | Path, at: int | None = None) -> int | None:
    """A handle of the folder, which may then be read and changed; None for what is none, as a link to one.

    A program may have taken such rights away from folders that it made.
    """
    try:
        handle = os.open(name, _FOLDER, dir_fd=at)
    except PermissionError:
        # Not every system can do it without following links; there the folder stays.
        with suppress(OSError, ValueError, NotImplementedError):
            os.chmod(name, 0o700, dir_fd=at, follow_symlinks=False)
            return os.open(name, _FOLDER, dir_fd=at)
        return None
    except OSError:
        return None
    with suppress(OSError):
        os.chmod(handle, 0o700)
    return handle


def _remove_by_path(folder: Path) -> None:
    # Without the prefix, Windows takes no path of more than 260 characters.
    where = f"\\\\?\\{folder.absolute()}"
    if _done(os.unlink, where):  # a link, or a junction
        return
    if sys.version_info >= (3, 12):
        shutil.rmtree(where, onexc=_once_more)
    else:
        shutil.rmtree(where, onerror=_once_more)


def _once_more(remove: Callable[..., object], path: str, _: object) -> None:
    with suppress(OSError):
        os.chmod(path, stat.S_IWRITE)  # files that only may be read are not removed there
        remove(path)

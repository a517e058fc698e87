"""Reads and replaces the clients' files: whole or not at all, through links, one set-up at a time."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from misjudge_storage.errors import Conflict, InvalidInput

PRIVATE: Final = 0o600
LIMIT_BYTES: Final = 100_000_000
LOCK_WAIT_S: Final = 10.0
_PAUSE_S: Final = 0.05


def read_bytes(path: Path) -> bytes | None:
    """What a file holds, None where there is none. Raises InvalidInput for what is no file or cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput(f"{path} is not a file. Move it away first; nothing was changed.")
        with path.open("rb") as file:
            found = file.read(LIMIT_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}). Nothing was changed.") from None
    if len(found) > LIMIT_BYTES:
        raise InvalidInput(f"{path} is larger than {LIMIT_BYTES // 10**6} MB. Nothing was changed.")
    return found


def as_text(data: bytes | None, path: Path) -> str:
    """The text of a file, empty where there is none. A byte order mark stays its first character."""
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text. Save it as UTF-8; nothing was changed.") from None


def replace(path: Path, before: bytes | None, after: bytes | None, *, mode: int = PRIVATE) -> None:
    """Put `after` in the place of `before`; None is no file. A new file gets `mode`, another one keeps its own.

    Raises Conflict where the file is no longer `before`, InvalidInput where it cannot be written.
    """
    target = Path(os.path.realpath(path))
    if before == after:
        return
    try:
        if before is not None and not stat.S_IMODE(target.stat().st_mode) & stat.S_IWUSR:
            raise InvalidInput(f"{path} is read-only. Make it writable, or change it by hand; nothing was changed.")
        if after is None:
            _refuse_if_changed(path, before)
            target.unlink()
        else:
            _write(path, target, before, after, mode)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written ({error.strerror}). Nothing was changed there.") from None


def clear_unfinished(path: Path) -> None:
    """Remove what a set-up that was killed left beside `path`, a copy with whatever keys are in it. Raises nothing.

    Only under the lock: then no set-up of this home writes there. One of another home fails and changes nothing.
    """
    target = Path(os.path.realpath(path))
    unfinished = re.compile(rf"\.{re.escape(target.name)}\.misjudge-[0-9a-f]{{12}}\.tmp")
    with suppress(OSError):
        for found in target.parent.iterdir():
            if unfinished.fullmatch(found.name):
                found.unlink(missing_ok=True)


def missing_folders(folder: Path) -> tuple[Path, ...]:
    """Those of a folder and the ones above it that are not there, the outermost first."""
    return tuple(one for one in (folder, *folder.parents) if not one.exists())[::-1]


def make_folders(missing: Sequence[Path]) -> None:
    """Make these folders, the outermost first; all or none. Raises InvalidInput."""
    try:
        for one in missing:
            one.mkdir(mode=0o700)
    except OSError as error:
        remove_folders(missing)
        said = f"The folder {missing[-1]} cannot be made ({error.strerror}). Nothing was changed."
        raise InvalidInput(said) from None


def remove_folders(folders: Sequence[Path]) -> None:
    """Remove those of the folders that are empty, the innermost first."""
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock whose file is `path`; the system lets go of it when a process dies. Raises Conflict."""
    deadline = time.monotonic() + LOCK_WAIT_S
    while (held := _try_lock(path)) is None:
        if time.monotonic() > deadline:
            raise Conflict("Another `misjudge setup` is at work. Wait for its end and run this again.")
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        _let_go(path, held)


def _try_lock(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        opened = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
    except FileNotFoundError:  # the folder went away between the two: another set-up ended
        return None
    except OSError as error:
        raise InvalidInput(f"{path.parent} cannot be written ({error.strerror}). Nothing was changed.") from None
    try:
        _lock(opened)
        # Whoever held it before may have removed the file, and another one made it anew.
        if os.path.samestat(os.fstat(opened), path.stat()):
            return opened
    except OSError:
        pass
    os.close(opened)
    return None


if sys.platform == "win32":
    import msvcrt

    def _lock(opened: int) -> None:
        msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)

    def _let_go(path: Path, held: int) -> None:
        os.close(held)
        with suppress(OSError):  # kept where another process has it open by now
            path.unlink()
else:
    import fcntl

    def _lock(opened: int) -> None:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _let_go(path: Path, held: int) -> None:
        with suppress(OSError):
            path.unlink()
        os.close(held)


def _write(path: Path, target: Path, before: bytes | None, after: bytes, mode: int) -> None:
    new = target.with_name(f".{target.name}.misjudge-{secrets.token_hex(6)}.tmp")
    opened = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), PRIVATE)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        _take_over(target, new, mode if before is None else None)
        _refuse_if_changed(path, before)
        os.replace(new, target)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def _take_over(target: Path, new: Path, mode: int | None) -> None:
    """Give the new file the mode and the owner of the one that it replaces, or the mode of a new one."""
    if mode is not None:
        new.chmod(mode)
        return
    found = target.stat()
    new.chmod(stat.S_IMODE(found.st_mode))
    if sys.platform != "win32" and (found.st_uid, found.st_gid) != (new.stat().st_uid, new.stat().st_gid):
        with suppress(OSError):
            os.chown(new, found.st_uid, found.st_gid)


def _refuse_if_changed(path: Path, before: bytes | None) -> None:
    if read_bytes(path) != before:
        raise Conflict(f"{path} was changed by another program just now; nothing was written. Run this again.")

"""Files that are there whole or not at all: written beside their place, and named when they are finished."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

from misjudge_storage.errors import InvalidInput
from misjudge_tools.interchange.confinement import lies_under

MARKER: Final = ".misjudge-export"
"""Tells a folder that was exported from any other: only such a one is replaced."""


def target(out: str, suffixes: Sequence[str], roots: Sequence[Path] | None) -> Path:
    """The place to write to: a file with one of these endings, or a folder where there are none.

    Raises InvalidInput for another ending, for a place outside `roots` (where they are given) and for one whose folder
    is not there.
    """
    path = Path(out)
    if roots is not None and not lies_under(path, roots):
        raise InvalidInput(
            f"{path} is outside the folders that may be written to ({', '.join(map(str, roots))}). "
            "Name a place there, or name its folder in MISJUDGE_ROOTS."
        )
    if suffixes and not path.name.lower().endswith(tuple(suffixes)):
        raise InvalidInput(f"This format is written to a file that ends in {' or '.join(suffixes)}. Name such a one.")
    if not path.name or path.name == ".." or "\0" in out:
        raise InvalidInput("Name a new file or folder to write to, such as exports/out.")
    if not path.parent.is_dir():
        raise InvalidInput(f"The folder {path.parent} does not exist. Make it first, or name another place.")
    return path


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A path beside `path` to write to. At the end it becomes `path`; after an error nothing is left of it.

    Raises InvalidInput where there is something already (a file is replaced with `force`) and for what the system
    refuses.
    """
    _refuse_taken(path, force=force, folder=False)
    beside = _beside(path)
    with _system(path):
        try:
            yield beside
            _flush(beside)
            if force:
                beside.replace(path)
            else:
                _name(beside, path)
        finally:
            beside.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path, *, force: bool) -> Iterator[Path]:
    """As `new_file`, with a folder. `force` replaces one that was exported before, whole, and no other folder."""
    _refuse_taken(path, force=force, folder=True)
    beside = _beside(path)
    with _system(path):
        try:
            beside.mkdir()
            yield beside
            (beside / MARKER).write_text("Written by misjudge; replaced as a whole.\n", encoding="utf-8")
            _put(beside, path, force=force)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _refuse_taken(path: Path, *, force: bool, folder: bool) -> None:
    if not os.path.lexists(path):
        return
    if folder and path.is_dir() and not path.is_symlink():
        if not any(path.iterdir()) and path.resolve() != Path.cwd():
            return
        if not (path / MARKER).is_file():
            raise InvalidInput(f"The folder {path} holds other files and is never replaced. Name a new folder.")
    elif folder or not path.is_file():
        raise InvalidInput(f"{path} is something else than an export, and is never replaced. Name a new place.")
    if not force:
        raise InvalidInput(f"{path} is there already. Name another place, or replace it with force (--force).")


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name[:40]}.{token_hex(8)}.tmp")


@contextmanager
def _system(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise InvalidInput(f"{path} was made by somebody else meanwhile, and is not overwritten. Try again.") from None
    except OSError as error:
        reason = error.strerror or "the system refused it"
        raise InvalidInput(f"{path} cannot be written ({reason}). Nothing is left of it; name another place.") from None


def _flush(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _name(beside: Path, path: Path) -> None:
    """Give a finished file its name. Raises FileExistsError where somebody took it meanwhile."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without links: the name is taken first
        path.open("xb").close()
        beside.replace(path)


def _put(beside: Path, path: Path, *, force: bool) -> None:
    """Give a finished folder its name; the one that was there comes back if that fails.

    Raises FileExistsError where somebody took the name meanwhile, and it is not to be replaced.
    """
    if not force:
        try:
            beside.rename(path)  # takes the place of an empty folder, and of no other
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR} or os.path.lexists(path):
                raise FileExistsError(path) from None
            raise
        return
    _refuse_taken(path, force=force, folder=True)
    if not os.path.lexists(path):
        beside.rename(path)
        return
    aside = _beside(path)
    path.rename(aside)
    try:
        beside.rename(path)
    except OSError:
        aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)

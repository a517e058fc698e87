"""Files that are there whole or not at all: written beside their place, and named when they are finished."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_tools.exporting.leftovers import beside_of, clear_dead
from misjudge_tools.interchange.confinement import lies_under
from misjudge_tools.interchange.written_names import has_ending, refuse_name

MARKER: Final = ".misjudge-export"
"""Tells a folder that was written here, and its kind, from any other: only one of the same kind is replaced."""
_NOTHING: Final = re.compile(rb"(?!)")
_LOOKED_AT: Final = 4096
"""Bytes by which a file is known."""
Roots = Sequence[Path] | None
"""The folders that may be written to; None where a person's own shell asks, which may write anywhere."""


class Part(NamedTuple):
    """A file that was written, by its path in its folder, and how many rows it has."""

    name: str
    rows: int


def target(out: str, suffixes: Sequence[str], roots: Roots, *, folder: bool = False) -> Path:
    """The place to write to: a file with one of these endings; with `folder`, also one without an ending: a folder.

    Raises InvalidInput for another ending, for a name that nothing of ours may have (see `refuse_name`), for a place
    outside `roots` (where they are given) and for one whose folder is not there.
    """
    path = Path(out)
    _refuse_outside(path, roots)
    if not path.name or path.name == "..":
        raise InvalidInput("Name a new file or folder to write to, such as exports/out.")
    _refuse_ending(path, suffixes, folder=folder)
    refuse_name(path, roots)
    if not path.parent.is_dir():
        raise InvalidInput(f"The folder {path.parent} does not exist. Make it first, or name another place.")
    return path


@contextmanager
def new_file(path: Path, *, force: bool, roots: Roots, ours: re.Pattern[bytes] | None = None) -> Iterator[Path]:
    """A path beside `path` to write to. At the end it becomes `path`; after an error nothing is left of it.

    Raises InvalidInput where there is something already and for what the system refuses. With `force` a file is
    replaced; where there are `roots`, only one that begins as `ours` do, or none.
    """
    place = _without_links(path, roots)

    def refuse_taken() -> None:
        _refuse_others(path, place, roots, ours)
        _refuse_taken(path, place, force=force, kind=None)

    refuse_taken()
    clear_dead(place)
    beside = beside_of(place)
    with _system(path):
        try:
            yield beside
            _flush(beside)
            _refuse_moved(path, place)
            if force:
                refuse_taken()
                beside.replace(place)
            else:
                _name(beside, place)
        finally:
            beside.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path, kind: str, *, force: bool, roots: Roots) -> Iterator[Path]:
    """As `new_file`, with a folder. `force` replaces one of the same `kind` that was written before, whole, and no
    other folder.
    """
    place = _without_links(path, roots)
    _refuse_taken(path, place, force=force, kind=kind)
    clear_dead(place)
    beside = beside_of(place)
    with _system(path):
        try:
            beside.mkdir()
            yield beside
            (beside / MARKER).write_text(_mark(kind), encoding="utf-8", newline="\n")
            _refuse_moved(path, place)
            _put(beside, path, place, force=force, kind=kind)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _refuse_ending(path: Path, suffixes: Sequence[str], *, folder: bool) -> None:
    if path.name.lower().endswith(tuple(suffixes)) or (folder and not has_ending(path.name)):
        return
    allowed = ["a folder (its name has no ending)"] if folder else []
    allowed += [f"a file that ends in {' or '.join(suffixes)}"] if suffixes else []
    raise InvalidInput(f"This is written to {' or to '.join(allowed)}. Name such a one.")


def _refuse_outside(path: Path, roots: Roots) -> None:
    if roots is not None and not lies_under(path, roots):
        raise InvalidInput(
            f"{path} is outside the folders that may be written to ({', '.join(map(str, roots))}). "
            "Name a place there, or name its folder in MISJUDGE_ROOTS."
        )


def _without_links(path: Path, roots: Roots) -> Path:
    """The place by its real folder, so that a link that is turned meanwhile leads nothing astray."""
    _refuse_outside(path, roots)
    place = path.parent.resolve() / path.name
    _refuse_outside(place, roots)
    refuse_name(place, roots)
    return place


def _refuse_moved(path: Path, place: Path) -> None:
    if place.parent.resolve() != place.parent:
        raise InvalidInput(f"The folder of {path} became a link meanwhile, so nothing was written. Name another place.")


def _refuse_others(path: Path, place: Path, roots: Roots, ours: re.Pattern[bytes] | None) -> None:
    """An agent may not be trusted to know what it replaces. An empty file is nobody's."""
    if roots is None or not os.path.lexists(place) or place.is_dir():
        return
    if place.is_symlink() or not place.is_file() or not begins(place, ours or _NOTHING, empty=True):
        raise InvalidInput(
            f"{path} is no file of this kind that misjudge wrote, so only a person may replace it, in a shell. "
            "Name a new place."
        )


def begins(place: Path, ours: re.Pattern[bytes], *, empty: bool = False) -> bool:
    """Whether a file begins as `ours` do; with `empty`, also one that holds nothing. False where it cannot be read."""
    try:
        with place.open("rb") as file:
            start = file.read(_LOOKED_AT)
    except (OSError, ValueError):  # a name that no file can have
        return False
    return ours.match(start) is not None if start else empty


def _refuse_taken(path: Path, place: Path, *, force: bool, kind: str | None) -> None:
    """`kind` of the folder that is to take the place; None: a file is."""
    if not os.path.lexists(place):
        return
    if kind is not None and place.is_dir() and not place.is_symlink():
        if not any(place.iterdir()) and place.resolve() != Path.cwd():
            return
        _refuse_other_folders(path, place, kind)
    elif kind is not None or not place.is_file():
        raise InvalidInput(f"{path} is something else than an export, and is never replaced. Name a new place.")
    if not force:
        raise InvalidInput(f"{path} is there already. Name another place, or replace it with force (--force).")


def _refuse_other_folders(path: Path, place: Path, kind: str) -> None:
    marker = place / MARKER
    if not marker.is_file():
        raise InvalidInput(f"The folder {path} holds other files and is never replaced. Name a new folder.")
    if not begins(marker, re.compile(re.escape(_mark(kind).encode()))):
        raise InvalidInput(
            f"The folder {path} holds another kind of output than {kind}, which never takes its place. Name a new "
            "folder, or remove that one yourself."
        )


def _mark(kind: str) -> str:
    return f"{kind}: written by misjudge, replaced as a whole by {kind} only.\n"


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
        try:
            beside.replace(path)
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _put(beside: Path, path: Path, place: Path, *, force: bool, kind: str) -> None:
    """Give a finished folder its name; the one that was there comes back if that fails.

    Raises FileExistsError where somebody took the name meanwhile, and it is not to be replaced.
    """
    if not force:
        try:
            beside.rename(place)  # takes the place of an empty folder, and of no other
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR} or os.path.lexists(place):
                raise FileExistsError(place) from None
            raise
        return
    _refuse_taken(path, place, force=force, kind=kind)
    if not os.path.lexists(place):
        beside.rename(place)
        return
    aside = beside_of(place, "old")
    place.rename(aside)
    try:
        beside.rename(place)
    except OSError:
        aside.rename(place)
        raise
    shutil.rmtree(aside, ignore_errors=True)

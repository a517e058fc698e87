"""Reports that were written before, found and read again: only files that begin as reports of misjudge do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from misjudge_storage.errors import NotFound
from misjudge_tools.interchange.confinement import refuse_outside
from misjudge_tools.interchange.text_files import read_text
from misjudge_tools.results import SCHEME
from misjudge_tools.write_report import OURS, SINGLE

MIME_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".json": "application/json",
}
LIMIT_BYTES: Final = 100_000_000
_LOOKED_AT: Final = 4096
"""Bytes by which a file is known."""
_MOST_ENTRIES: Final = 2_000
"""Names that are looked at: the working directory may be anything, a home as well."""
_FOLDERS_DEEP: Final = 2
_Roots = Sequence[Path] | None


class ReportFile(NamedTuple):
    """A report by its path: below the working directory where it lies there, else from the root on."""

    path: str
    mime_type: str
    size: int

    @property
    def uri(self) -> str:
        """The address that `read_record` takes."""
        return f"{SCHEME}reports/{quote(self.path, safe='')}"


class ReportText(NamedTuple):
    """A report and what it says."""

    file: ReportFile
    text: str


def report_files(roots: _Roots) -> list[ReportFile]:
    """The reports in these folders and those just below them, in the working directory where there are none."""
    names = _names([Path.cwd()] if roots is None else roots)
    found = map(_recognised, islice(names, _MOST_ENTRIES))
    return list(dict.fromkeys(report for report in found if report is not None))


def read_report(path: str, roots: _Roots) -> ReportText:
    """A report and its text. Raises InvalidInput for a place that is not allowed, NotFound where no report is."""
    place = Path(path)
    if roots is not None:
        refuse_outside(place, roots)
    found = _recognised(place)
    if found is None:
        raise NotFound(f"No report of misjudge lies there. {SCHEME}reports lists those that there are.")
    return ReportText(found, read_text(place, place.name, LIMIT_BYTES))


def _names(folders: Sequence[Path], deep: int = 1) -> Iterator[Path]:
    """Files first, then those of the folders in it; hidden ones and links are left out."""
    for folder in folders:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        seen = [entry for entry in entries if not entry.name.startswith(".") and not entry.is_symlink()]
        yield from (Path(entry.path) for entry in seen if not entry.is_dir())
        if deep < _FOLDERS_DEEP:
            yield from _names([Path(entry.path) for entry in seen if entry.is_dir()], deep + 1)


def _recognised(path: Path) -> ReportFile | None:
    format_ = SINGLE.get(path.suffix.lower())
    try:
        if format_ is None or not path.is_file():
            return None
        with path.open("rb") as file:
            begin = file.read(_LOOKED_AT)
        size = path.stat().st_size
    except (OSError, ValueError):
        return None
    if OURS[format_].match(begin) is None:
        return None
    return ReportFile(_shown(path), MIME_TYPES[path.suffix.lower()], size)


def _shown(path: Path) -> str:
    here = Path.cwd()
    try:
        return path.absolute().relative_to(here).as_posix()
    except ValueError:
        return path.absolute().as_posix()
